# SPDX-License-Identifier: Apache-2.0
"""What is special about real logs is found by the reader: traps that were met outside.

The logs are not part of the repository; see the fixture `shared`. What they are is said by
the YAML files of benchmark/identification_logs.
"""

from pathlib import Path

import numpy as np
import pytest

from robot_dynamics.bringup.commands.identify import load_robot
from robot_dynamics.errors import RecordingError
from robot_dynamics.identification.checks.plausibility import plausibility
from robot_dynamics.identification.dataset.bags import read_bag
from robot_dynamics.identification.dataset.dataset import load_dataset
from robot_dynamics.identification.dataset.settings import DatasetSettings, read_settings
from robot_dynamics.identification.signal_selection import compare_velocity
from robot_dynamics.model.robot import Robot

LOGS = Path(__file__).resolve().parents[2] / 'benchmark' / 'identification_logs'


@pytest.fixture(scope='module')
def load(shared):
    """Return a loader of robot and log by the name of a YAML, with other settings on request."""
    def loaded(name, **changes):
        settings, content = read_settings(LOGS / f'{name}.yaml')
        robot = load_robot(content, (LOGS, shared / 'data'))[1]
        if changes:
            settings = DatasetSettings(**{**vars(settings), **changes})
        return robot, load_dataset(shared / 'data' / content['source'], robot, settings)
    return loaded


def words(findings):
    return ' '.join(map(str, findings))


def test_a_bag_of_an_old_schema_without_metadata(load):
    """UR10: stamps begin at zero; nothing is to be dropped."""
    _robot, dataset = load('ur10')
    assert dataset.count == 3441
    assert dataset.counts == {}
    assert dataset.period == pytest.approx(0.008)
    assert dataset.has_velocity
    assert dataset.duration == pytest.approx(27.52, abs=0.02)


def test_a_driver_that_repeats_itself(load, shared):
    """Panda: states that were sent twice, a spike of torque at the start, other names."""
    robot, dataset = load('panda')
    path = shared / 'data' / 'data' / 'panda_unisa' / 'panda_exciting_trajectory.db3'
    names = {f'fer_joint{k}': f'panda_joint{k}' for k in range(1, 8)}
    log = read_bag(path, robot.joint_names, names)
    whole = np.concatenate([log.position, log.velocity, log.effort], axis=1)
    twice = int(np.sum(np.all(whole[1:] == whole[:-1], axis=1)))
    assert 13 <= twice <= 14
    assert dataset.counts['rows that repeat the one before'] == twice
    assert 1 <= dataset.counts['rows with a spike of effort'] <= 4
    assert 'repeat the one before' in words(dataset.findings)
    with pytest.raises(RecordingError, match='fer_joint1'):
        load_dataset(path, robot)


def test_currents_and_velocities_that_come_late(load):
    """TIAGO: amperes, jittered stamps, velocities 0.14 to 0.2 s late, wrists of few levels."""
    robot, dataset = load('tiago')
    lag, gain = compare_velocity(dataset)
    assert np.all((lag > 0.13) & (lag < 0.21))
    np.testing.assert_allclose(gain, 1.0, atol=0.05)
    findings = dataset.findings + plausibility(dataset, robot)
    assert 'velocity lags position by up to 0.19 s' in words(findings)
    assert 'differ from the usual' in words(findings)
    coarse = [finding.subject for finding in findings if 'levels' in finding.message]
    assert coarse == ['arm_5_joint, arm_6_joint, arm_7_joint']
    assert dataset.counts == {'rows outside the times asked for': 900}


def test_amperes_that_are_taken_for_torques(load):
    robot, dataset = load('tiago', effort_kind='torque', torque_constant=1.0, gear_ratio=1.0)
    assert 'look like amperes' in words(plausibility(dataset, robot))
    # Negative constants belong to motors that are mounted the other way round.
    robot, dataset = load('tiago', torque_constant=[1, .136, .136, .087, .087, .0613, .0613,
                                                    .0613])
    assert 'arm_3_joint' in words(f for f in plausibility(dataset, robot)
                                  if 'sign flipped' in f.message)


def test_tables_and_recordings_of_one_log_are_the_same(load, shared):
    """TIAGO: column names with a dash before them."""
    robot, dataset = load('tiago', times=(0.0, 44.9))
    settings, _ = read_settings(LOGS / 'tiago.yaml')
    files = {quantity: f'tiago_{quantity}.csv' for quantity in ('position', 'velocity', 'effort')}
    table = load_dataset(shared / 'data' / 'data' / 'tiago', robot, DatasetSettings(
        **{**vars(settings), 'files': files, 'times': (0.0, 44.9)}))
    for name in ('position', 'effort', 'time'):
        np.testing.assert_allclose(getattr(table.segments[0], name),
                                   getattr(dataset.segments[0], name), atol=1e-6)


def test_motor_angles_without_a_column_of_time(load):
    """TX40: 5 kHz, a wrist whose fifth joint turns the sixth motor, no velocities."""
    robot, dataset = load('tx40')
    assert dataset.count == 45_000
    assert dataset.period == pytest.approx(2e-4)
    assert not dataset.has_velocity
    assert dataset.axis_names[-1] == 'joint_6/motor'
    np.testing.assert_allclose(dataset.axes[-1], [0, 0, 0, 0, 1, 1])
    with pytest.raises(RecordingError, match='rate'):
        load('tx40', rate=None)
    # Motor angles taken for those of joints leave all limits, but are no degrees.
    _, wrong = load('tx40', position_side='joint')
    found = words(plausibility(wrong, robot))
    assert 'outside the limits' in found or 'look like degrees' in found


def test_velocities_that_are_in_time(load):
    """LWR4+: begins and ends in motion, where filters are not settled."""
    robot, dataset = load('lwr4')
    lag, _gain = compare_velocity(dataset)
    assert np.all(np.abs(lag) < 0.01)
    assert 'velocity' not in words(plausibility(dataset, robot))


def test_duty_cycles_as_unsigned_numbers(load, shared):
    """XL330: a load of 16 bits in two's complement, voltages as efforts, long standstills."""
    robot = Robot.from_urdf(LOGS / 'pendulum.urdf')
    path = shared / 'data' / 'data' / 'bam_xl330' / 'kp400_lift_and_drop.json'
    keys = {'time': 'timestamp', 'position': ['position'], 'velocity': ['speed'],
            'effort': ['load']}
    dataset = load_dataset(path, robot, DatasetSettings(keys=keys))
    assert 'unsigned numbers of 16 bits' in words(dataset.findings)
    dataset = load_dataset(path, robot, DatasetSettings(keys=keys, unsigned_bits=16))
    assert 'unsigned' not in words(dataset.findings)
    effort = np.concatenate([segment.effort for segment in dataset.segments])
    assert np.max(np.abs(effort)) == 885
    assert 'stands still' in words(plausibility(dataset, robot))
