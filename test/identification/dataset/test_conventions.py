# SPDX-License-Identifier: Apache-2.0
import pytest

from robot_dynamics.identification.dataset.conventions import (
    find_columns,
    stem_of,
    time_columns,
    unit_of_time,
)


@pytest.mark.parametrize('column', [
    'elbow_position', 'elbow.pos', 'position_elbow', 'q_elbow', 'effort', '/a/elbow/position',
    'position[elbow]', 'elbow_position [rad]', 'measured_q_elbow', 'elbow/measured_position'])
def test_a_joint_and_a_quantity(column):
    found = find_columns([column], ['elbow'], {})
    assert found.places == ({} if column == 'effort' else {'position': (0,)})


@pytest.mark.parametrize('column', [
    'q_d[0]', 'target_q_0', 'cmd.dq_d[0]', 'tau_ext_hat_filtered[0]', 'actual_TCP_pose_0',
    'target_moment_0', 'position2'])
def test_commands_are_not_measurements(column):
    assert find_columns([column], ['elbow'], {}).places == {}


def test_numbers_count_joints_from_0_or_1_only():
    for columns, places in (('q1 q0', (1, 0)), ('q1 q2', (0, 1)), ('q2 q3', None),
                            ('q0 q1 q2', None), ('q0 q0', None),
                            ('joint_1_pos joint_2_pos', (0, 1))):
        found = find_columns(columns.split(), ['a', 'b'], {})
        assert found.places.get('position') == places, columns


def test_preferred_words_and_degrees():
    names = ['a_current', 'a_torque', 'a_position [deg]', 'a_velocity_deg']
    found = find_columns(names, ['a'], {})
    assert found.places == {'effort': (1,), 'position': (2,), 'velocity': (3,)}
    assert found.degrees == {'position', 'velocity'}


@pytest.mark.parametrize(('names', 'expected'), [
    (['x', 'Time [s]'], ((1,), 's')), (['timestamp_ns'], ((0,), 'ns')), (['x'], ((), None)),
    (['sec', 'nanosec'], ((0, 1), None)), (['%time', 'field.header.stamp'], ((0,), None)),
    (['__time', '/j/header/stamp/nanosec', '/j/header/stamp/sec'], ((2, 1), None)),
    (['__time', '/other/header/stamp'], ((0,), None))])
def test_columns_of_time(names, expected):
    assert time_columns(names, '/j/') == expected


def test_units_by_size():
    for step, start, unit in ((0.002, 0.0, 's'), (0.9, 5.0, 's'), (1.0, 0.0, 'ms'),
                              (8.0, 0.0, 'ms'), (200.0, 0.0, 'us'), (8000.0, 0.0, 'us'),
                              (1e6, 0.0, 'ns'), (5e6, 1.7e9, 'ns'), (8.0, 1.7e12, 'ms'),
                              (100.0, 1.7e15, 'us'), (0.5, 1.7e9, 's')):
        assert unit_of_time(step, start) == unit


def test_stems():
    assert stem_of('/joint_states/hand/effort [Nm]') == ('effort', 'hand')
    assert stem_of('load a') is None
