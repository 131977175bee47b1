# SPDX-License-Identifier: Apache-2.0
"""Gains of the feedback that change while the arm moves, and how much they may."""

from __future__ import annotations

import signal

import numpy as np
import pytest
from rcl_interfaces.srv import SetParametersAtomically
from rclpy.parameter import Parameter
from std_msgs.msg import Float64MultiArray, String

from robot_dynamics.nodes.ros import qos

pytest.importorskip('mujoco', reason='the simulated arm needs MuJoCo')

PD, ADAPTIVE = 'pd_gravity_controller', 'adaptive_controller'
POSE = [0.3, 0.5, -0.4, -1.2, 0.3, 1.2, 0.2]


def change(observer, node, values):
    return observer.call(SetParametersAtomically, f'{node}/set_parameters_atomically',
                         SetParametersAtomically.Request(parameters=[
                             Parameter(name, value=value).to_parameter_msg()
                             for name, value in values.items()])).result


@pytest.mark.parametrize(('node', 'given', 'changed', 'refused'), [
    (PD, {}, {'feedback.bandwidth': 40.0, 'feedback.error_rate': 20.0},
     {'feedback.bandwidth': 900.0}),
    (PD, {}, {'feedback.stiffness': 5.0}, {'feedback.stiffness': [1.0, 2.0]}),
    (PD, {'feedback.stiffness': 300.0, 'feedback.damping': [40.0] * 4 + [25.0] * 3},
     {'feedback.stiffness': [400.0] * 7}, {'feedback.damping': 1e4}),
    (ADAPTIVE, {}, {'adaptation.frequency': 30.0}, {'adaptation.frequency': 500.0}),
    # Stable as a feedback alone, but not with the loop through the estimates.
    (ADAPTIVE, {}, {'feedback.bandwidth': 50.0}, {'feedback.bandwidth': 4.0})])
def test_gains_change_without_a_jump_and_are_refused_with_the_bound(
        start_in_lock_step, observer, node, given, changed, refused):
    modes = observer.collect(String, f'{node}/mode', qos.latched())
    commands = observer.collect(Float64MultiArray, 'effort_controller/commands', qos.command())
    start_in_lock_step('simulated_arm', robot='arm7', initial_position=POSE,
                       coulomb_friction=[0.5], wait_for_commands=9.0)
    controller = start_in_lock_step(node, robot='arm7', state_timeout=10.0, **given)
    assert observer.spin(60.0, lambda: bool(modes) and modes[-1].data == 'tracking')
    seen = len(commands)
    answer = change(observer, node, changed)
    assert answer.successful, answer.reason
    answer = change(observer, node, refused)
    assert not answer.successful
    assert any(word in answer.reason for word in ('set it to', 'divide', 'must have 1 or 7'))
    assert observer.spin(60.0, lambda: len(commands) > seen + 300)
    efforts = np.array([message.data for message in commands[seen:]])
    assert np.abs(np.diff(efforts, axis=0)).max() < 1.0
    assert modes[-1].data == 'tracking', controller.stop()


@pytest.mark.parametrize(('wait', 'timeout', 'after'), [
    (1.5, 2.0, 'safe'), (9.0, 10.0, 'tracking')])
def test_an_arm_that_waits_longer_than_its_controller_stands_still_is_not_left(
        start_in_lock_step, observer, wait, timeout, after):
    """A machine that gives a process no time for three seconds."""
    modes = observer.collect(String, f'{PD}/mode', qos.latched())
    commands = observer.collect(Float64MultiArray, 'effort_controller/commands', qos.command())
    start_in_lock_step('simulated_arm', robot='arm7', initial_position=POSE,
                       wait_for_commands=wait)
    controller = start_in_lock_step(PD, robot='arm7', state_timeout=timeout)
    assert observer.spin(60.0, lambda: bool(modes) and modes[-1].data == 'tracking')
    controller.process.send_signal(signal.SIGSTOP)
    observer.spin(3.0)
    controller.process.send_signal(signal.SIGCONT)
    seen = len(commands)
    assert observer.spin(60.0, lambda: len(commands) > seen + 100)
    assert modes[-1].data == after


def test_a_long_timeout_of_the_states_is_for_simulated_time(start, observer):
    output = start(PD, robot='arm7', state_timeout=3.0).wait()
    assert output[0] != 0 and 'state_timeout must be 2 s or less' in output[2]
