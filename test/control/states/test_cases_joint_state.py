# SPDX-License-Identifier: Apache-2.0
"""Reported joint state faults, each with its right answer message by message."""

import csv

import numpy as np
import pytest

from robot_dynamics.control.session.modes import Cause, Mode
from robot_dynamics.control.session.session import ControlSession, SessionSettings, StepClock
from robot_dynamics.control.states.joint_state import (
    JointStateMonitor,
    Note,
    Outcome,
    Reason,
    VelocitySource,
)

JOINTS = ('shoulder', 'elbow', 'wrist')
WHY = {
    'velocity length 2 of 3': Reason.LENGTH, 'position length 2 of 3': Reason.LENGTH,
    'no joint of ours': Reason.FOREIGN, 'elbow position': Reason.NOT_FINITE,
    'duplicate': Reason.DUPLICATE, 'out of order': Reason.OUT_OF_ORDER,
    '5 s in the future': Reason.FUTURE, '1.41 s old': Reason.STALE,
}
GROUP = ('js_empty_and_mismatched', 'js_nan_startup', 'js_partial_and_foreign', 'js_stamps')


@pytest.fixture
def monitor():
    return JointStateMonitor(JOINTS, [False] * 3)


@pytest.mark.parametrize('name', GROUP)
def test_each_message_is_used_or_not(name, monitor, read_case):
    expected, messages = read_case(name)
    assert len(messages) == len(expected['per_message'])
    for message, decision in zip(messages, expected['per_message'], strict=True):
        verdict = monitor.update(*message)
        wanted = {True: Outcome.ACCEPTED, False: Outcome.REJECTED,
                  'partial': Outcome.PARTIAL}[decision['use']]
        assert verdict.outcome is wanted
        if decision['use'] is not False:
            continue
        if decision['why'] == 'no position':
            assert verdict.reason in (Reason.NO_POSITION, Reason.NOT_FINITE)
        else:
            assert verdict.reason is WHY[decision['why']]


def test_missing_velocity_is_estimated_and_effort_is_not_available(monitor, read_case):
    expected, messages = read_case('js_empty_and_mismatched')
    for message, decision in zip(messages, expected['per_message'], strict=True):
        if not monitor.update(*message).accepted:
            continue
        assert not monitor.effort_available
        if decision['velocity'] == 'unknown on first sample':
            assert not monitor.velocity_known
            continue
        np.testing.assert_allclose(monitor.v, decision['velocity'], atol=expected['tolerance'])
        source = {'estimated': VelocitySource.ESTIMATED,
                  'measured': VelocitySource.MEASURED}[decision['how']]
        assert monitor.velocity_sources == (source,) * 3


def test_a_rejected_message_leaves_the_state_alone(monitor, read_case):
    _, messages = read_case('js_empty_and_mismatched')
    for message in messages:
        monitor.update(*message)
    np.testing.assert_array_equal(monitor.q, [0.4, 0.0, 0.0])
    np.testing.assert_array_equal(monitor.v, [10.0, 0.0, 0.0])


def test_starting_hardware_names_the_joint_without_a_position(monitor, read_case):
    expected, messages = read_case('js_nan_startup')
    verdicts = []
    for message, decision in zip(messages, expected['per_message'], strict=True):
        verdicts.append(monitor.update(*message))
        if decision['use']:
            assert monitor.effort_available == decision['effort_available']
            np.testing.assert_array_equal(monitor.v, np.zeros(3))
    assert verdicts[2].joint == 'elbow'
    assert 'elbow' in str(verdicts[2])
    np.testing.assert_array_equal(monitor.effort, [1.0, 2.0, 0.1])


def test_no_command_leaves_while_hardware_starts(arm3, pd_controller, read_case):
    expected, messages = read_case('js_nan_startup')
    session = ControlSession(arm3, pd_controller, SessionSettings(period=0.01))
    for message, decision in zip(messages, expected['per_message'], strict=True):
        command = session.on_joint_state(*message)
        assert (command is not None) == decision['use']
        if command is not None:
            assert np.isfinite(command.effort).all()


def test_partial_messages_are_merged(monitor, read_case):
    expected, messages = read_case('js_partial_and_foreign')
    for message in messages[:-1]:
        monitor.update(*message)
    # Two of three joints have moved on, but no state says so yet.
    np.testing.assert_array_equal(monitor.q, [0.1, 0.2, 0.3])
    assert monitor.update(*messages[-1]).accepted
    np.testing.assert_array_equal(monitor.q, expected['per_message'][-1]['q'])
    np.testing.assert_array_equal(monitor.v, [0.5, 0.0, 0.0])
    assert monitor.stamp == pytest.approx(20.051)


def test_foreign_messages_do_not_feed_the_watchdog(arm3, pd_controller, read_case):
    _, messages = read_case('js_partial_and_foreign')
    session = ControlSession(arm3, pd_controller, SessionSettings(period=0.01))
    session.on_joint_state(*messages[0])
    for k in range(30):
        session.on_joint_state(20.003 + 0.01 * k, 20.003 + 0.01 * k, ['gripper_finger'], [0.02])
        session.on_tick(20.003 + 0.01 * k)
    assert session.mode is Mode.SAFE
    assert session.cause is Cause.STATES_STOPPED
    assert 'no joint of this arm' in session.reason


def test_stamps(monitor, read_case):
    expected, messages = read_case('js_stamps')
    for message, decision in zip(messages, expected['per_message'], strict=True):
        before = monitor.stamp
        accepted = monitor.update(*message).accepted
        if accepted:
            assert monitor.stamp > before
        if 'dt' in decision:
            np.testing.assert_allclose(monitor.v, 1.0, atol=1e-9)
            assert monitor.dt == pytest.approx(decision['dt'], abs=1e-9)
        if decision.get('time') == 'receive':
            assert monitor.stamp == message[0]
    assert monitor.notes[Note.NO_STAMP] == 2


def test_watchdog(arm3, pd_controller, read_case):
    expected, messages = read_case('loop_watchdog')
    numbers = expected['numbers']
    session = ControlSession(arm3, pd_controller, SessionSettings(
        period=0.01, state_timeout=numbers['state_timeout'], resume_after=10))
    waiting = list(messages)
    safe_at, safe_commands, held_again_at = None, [], None
    for tick in np.arange(60.0, 61.1, 0.01):
        while waiting and waiting[0][0] <= tick + 1e-9:
            session.on_joint_state(*waiting.pop(0))
            if safe_at is not None and session.mode is Mode.HOLDING and held_again_at is None:
                held_again_at = session.monitor.stamp
        command = session.on_tick(tick)
        if session.mode is Mode.SAFE and safe_at is None:
            safe_at = tick
        if command is not None:
            assert command.is_safe
            safe_commands.append(command.effort.copy())
    assert numbers['last_good'] < safe_at <= numbers['hold_not_later_than'] + 1e-9
    assert len(safe_commands) >= 5
    np.testing.assert_array_equal(safe_commands, np.tile(pd_controller.gravity, (5, 1)))
    # The tenth good state after the gap.
    assert held_again_at == pytest.approx(numbers['resumes_at'] + 0.09)
    assert not any(pd_controller.adapted)


def test_without_being_told_to_resume_it_stays_safe(arm3, pd_controller, read_case):
    _, messages = read_case('loop_watchdog')
    session = ControlSession(arm3, pd_controller, SessionSettings(period=0.01))
    for message in messages:
        session.on_tick(message[0])
        session.on_joint_state(*message)
    assert session.mode is Mode.SAFE
    session.reactivate()
    session.on_joint_state(61.1, 61.1, JOINTS, [0.1, 0.2, 0.0], [0.0] * 3, [0.0] * 3)
    assert session.mode is Mode.HOLDING


def test_jittering_cycles_count_for_a_bounded_time(cases, read_case):
    folder = cases / 'loop_jitter'
    with (folder / 'cycle_period.csv').open() as file:
        periods = [float(row['dt']) for row in csv.DictReader(file)]
    clock = StepClock(0.004)
    assert clock.max_dt == pytest.approx(0.02)
    steps = [clock.step(dt) for dt in periods]
    assert sum(periods) == pytest.approx(1.954615, abs=2e-6)
    assert sum(steps) == pytest.approx(1.622615, abs=2e-6)
    assert clock.overruns == 2
    assert clock.empty_steps == 1
    assert clock.worst == pytest.approx(0.3)


def test_nothing_is_learnt_from_empty_short_or_long_steps(cases):
    clock = StepClock(0.004)
    for dt, regular in ((0.004, True), (0.0, False), (0.0002, False), (0.072, False),
                        (0.3, False), (0.011, True), (0.0125, False), (float('nan'), False),
                        (-0.004, False)):
        assert 0.0 <= clock.step(dt) <= clock.max_dt
        assert clock.is_regular == regular
