# SPDX-License-Identifier: Apache-2.0
"""States whose stamps tell no period of an arm: no windows are made of them."""

from unittest.mock import MagicMock

import numpy as np
import pytest
from std_srvs.srv import SetBool

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import resolve_robot
from robot_dynamics.nodes.observing.fault_watch import FAULT_PARAMETERS, FaultWatch
from robot_dynamics.nodes.ros.diagnostics import Level


@pytest.fixture
def watch():
    robot = Robot.from_urdf(resolve_robot('planar_2r'))
    values = {parameter.name: parameter.default for parameter in FAULT_PARAMETERS}
    return FaultWatch(MagicMock(), robot, Dynamics(robot), values)


def tell(watch, period, count=120):
    q, effort = np.array([0.3, -0.2]), np.array([1.0, 0.5])
    for k in range(count):
        watch.update(q, np.zeros(2), effort, period, period * k, int(1e9 * period * k), due=False)
    return watch.status()


def test_stamps_in_another_unit_are_told(watch):
    status = tell(watch, 2e-9)
    assert status.level == Level.WARN
    assert status.message == 'cannot be monitored: joint_states are 2e-09 s apart by their ' \
        'stamps; stamp them in s'
    # It begins as soon as they are right.
    assert 'cannot' not in tell(watch, 0.002).message


def test_stamps_in_s_are_watched(watch):
    assert 'cannot' not in tell(watch, 0.002).message


def learn(watch, wanted):
    return watch._on_learn(SetBool.Request(data=wanted), SetBool.Response())


def test_learning_ends_though_the_arm_was_stopped_first(watch):
    assert not learn(watch, False).success and learn(watch, False).message == 'was not learning'
    tell(watch, 0.002)
    assert learn(watch, True).success
    nobody = np.zeros(2)
    watch.update(np.array([0.3, -0.2]), nobody, nobody, 0.002, 1.0, 10**9, due=False)
    assert 'all efforts are zero' in learn(watch, True).message
    # Of too short a run nothing is taken over, and it is watched again.
    assert 'too little motion' in learn(watch, False).message
    assert 'learning' not in tell(watch, 0.002).message
