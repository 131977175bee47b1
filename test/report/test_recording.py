# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from robot_dynamics.errors import RecordingError
from robot_dynamics.report.recording import TORQUE_PARTS, read_recording


def test_reads_every_topic_in_the_order_of_the_arm(run):
    assert run.controller == 'adaptive_controller'
    assert run.states.names == tuple(f'joint{i}' for i in range(1, 8))
    assert run.errors.names == run.commands.names == run.states.names
    assert len(run.states) == len(run.errors) == len(run.estimates) == 1200
    assert tuple(run.parts) == TORQUE_PARTS
    # Errors and commands are recorded in reverse order of the joints.
    size = np.abs(run.errors.position).max(axis=0)
    np.testing.assert_allclose(size, 0.02 * np.arange(1, 8), rtol=1e-3)
    np.testing.assert_allclose(run.commands.effort, run.torque.effort, rtol=1e-12)


def test_time_starts_at_the_first_state(run):
    np.testing.assert_allclose(run.states.time, np.arange(1200) / 100, atol=1e-9)
    # Receptions are as late as that of the first state, so they agree with the stamps.
    np.testing.assert_allclose(run.estimates.time, run.states.time, atol=1e-9)
    np.testing.assert_allclose(run.command_times, run.states.time, atol=1e-9)


def test_times_of_reception_are_those_of_a_slow_arm(make_bag):
    run = read_recording(make_bag(seconds=3.0, slowness=2.5, modes=((0.0, 'tracking'),
                                                                    (2.0, 'safe'))))
    np.testing.assert_allclose(run.estimates.time, run.states.time, atol=1e-9)
    np.testing.assert_allclose(run.command_times, run.states.time, atol=1e-9)
    np.testing.assert_allclose([time for time, _ in run.modes], [0.0, 2.0], atol=1e-9)


def test_what_was_not_recorded_is_empty(make_bag):
    run = read_recording(make_bag(seconds=1.0, with_description=False,
                                  with_inverse_dynamics=False, with_timing=False))
    assert run.description is None
    assert run.parts == {} and run.torque is None
    assert len(run.timing) == 0


def test_a_namespace_is_taken_off(make_bag):
    run = read_recording(make_bag(namespace='/left', seconds=1.0))
    assert run.controller == 'adaptive_controller'
    assert run.description.startswith('<?xml')


@pytest.mark.slow
def test_the_mcap_file_alone_is_enough(bag):
    file = next(bag.glob('*.mcap'))
    assert len(read_recording(file).states) == 1200


def test_a_missing_recording_is_named(tmp_path):
    with pytest.raises(RecordingError, match=r'nothing.*does not exist.*give the folder'):
        read_recording(tmp_path / 'nothing')


def test_what_is_no_recording_is_refused(tmp_path):
    (tmp_path / 'x.mcap').write_bytes(b'not a recording')
    with pytest.raises(RecordingError, match='cannot be read'):
        read_recording(tmp_path / 'x.mcap')


def test_a_recording_without_an_arm_is_refused(cases):
    folder = cases / 'ident_bag' / 'run_mcap'
    with pytest.raises(RecordingError, match='record the topics of a controller'):
        read_recording(folder)
