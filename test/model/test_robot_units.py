# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest

from robot_dynamics.model.robot import Robot, effort_units, position_units, prismatic_joints
from robot_dynamics.model.shipped import resolve_robot


def test_of_an_arm_that_turns_and_slides():
    robot = Robot.from_urdf(resolve_robot('rpr'))
    np.testing.assert_array_equal(prismatic_joints(robot), [False, True, False])
    assert position_units(robot) == ('rad', 'm', 'rad')
    assert effort_units(robot) == ('N m', 'N', 'N m')


@pytest.mark.parametrize('joints', [['joint2', 'joint1'], ['joint3', 'joint2']])
def test_in_the_order_of_the_joints_that_are_used(joints):
    robot = Robot.from_urdf(resolve_robot('rpr'), joints=joints)
    assert position_units(robot) == tuple('m' if name == 'joint2' else 'rad' for name in joints)
