# SPDX-License-Identifier: Apache-2.0
"""Gains of the feedback that change while the arm moves, and how much they may."""

from __future__ import annotations

import numpy as np
import pytest
from rcl_interfaces.srv import SetParametersAtomically
from rclpy.parameter import Parameter
from std_msgs.msg import Float64MultiArray, String

from robot_dynamics.nodes.ros import qos

pytest.importorskip('mujoco', reason='the simulated arm needs MuJoCo')

NODE = 'pd_gravity_controller'
POSE = [0.3, 0.5, -0.4, -1.2, 0.3, 1.2, 0.2]


def change(observer, **values):
    return observer.call(SetParametersAtomically, f'{NODE}/set_parameters_atomically',
                         SetParametersAtomically.Request(parameters=[
                             Parameter(f'feedback.{name}', value=value).to_parameter_msg()
                             for name, value in values.items()])).result


@pytest.mark.parametrize(('given', 'changed', 'refused'), [
    ({}, {'bandwidth': 40.0, 'error_rate': 20.0}, {'bandwidth': 900.0}),
    ({}, {'stiffness': 5.0}, {'stiffness': [1.0, 2.0]}),
    ({'stiffness': 300.0, 'damping': [40.0] * 4 + [25.0] * 3}, {'stiffness': [400.0] * 7},
     {'damping': 1e4})])
def test_gains_change_without_a_jump_and_are_refused_with_the_bound(
        start_in_lock_step, observer, given, changed, refused):
    modes = observer.collect(String, f'{NODE}/mode', qos.latched())
    commands = observer.collect(Float64MultiArray, 'effort_controller/commands', qos.command())
    start_in_lock_step('simulated_arm', robot='arm7', initial_position=POSE,
                       coulomb_friction=[0.5])
    start_in_lock_step(NODE, robot='arm7', **{f'feedback.{name}': value
                                              for name, value in given.items()})
    assert observer.spin(60.0, lambda: bool(modes) and modes[-1].data == 'tracking')
    seen = len(commands)
    answer = change(observer, **changed)
    assert answer.successful, answer.reason
    answer = change(observer, **refused)
    assert not answer.successful
    assert any(word in answer.reason for word in ('set it to', 'divide', 'must have 1 or 7'))
    assert observer.spin(60.0, lambda: len(commands) > seen + 300)
    efforts = np.array([message.data for message in commands[seen:]])
    assert np.abs(np.diff(efforts, axis=0)).max() < 1.0
    assert modes[-1].data == 'tracking'
