# SPDX-License-Identifier: Apache-2.0
"""States whose stamps tell no period of an arm: no windows are made of them."""

from unittest.mock import MagicMock

import numpy as np
import pytest
from std_srvs.srv import SetBool

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import ParameterError
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
    q = np.array([0.3, -0.2])
    effort = watch._observer.dynamics.gravity_torque(q)
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


def test_learnt_thresholds_that_see_little_are_reported(watch):
    tell(watch, 0.002)
    limits = watch._robot.limits.effort
    sharp, blunt = (np.concatenate([np.full(10, 1e-3), np.full(20, share * limits.max()),
                                    np.full(15, 6.0)]) for share in (1e-4, 0.05))
    for thresholds, level in ((sharp, Level.OK), (blunt, Level.WARN)):
        watch.on_parameters({**watch._values, 'faults.thresholds': list(thresholds)})
        status = watch.status()
        assert status.level == level
    assert status.message == ('the smallest effort visible within 20 ms is large, N m or N: '
                              + ', '.join(f'{name} {0.3 * limits.max():.2g} of {limit:.2g}'
                                          for name, limit in zip(watch._robot.joint_names, limits,
                                                                 strict=True)))
    # Thresholds that a user has given are as large as wanted.
    watch.on_parameters({**watch._values, 'faults.thresholds': list(limits)})
    status = watch.status()
    assert status.level == Level.OK
    assert f'visible effort of {watch._robot.joint_names[0]}, N m or N' in status.values
    assert status.values['payload beyond the description, kg'] == '0.00'


def test_a_wrong_number_of_armatures_is_named(watch):
    with pytest.raises(ParameterError, match=r'faults\.armature must have 2 values, got 3'):
        watch.check({**watch._values, 'faults.armature': [1.0, 1.0, 1.0]})


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
