# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from robot_dynamics import Dynamics, Robot
from robot_dynamics.control import PDGravityController
from robot_dynamics.control.session.safe_command import (
    SafeCommand,
    SafeKind,
    SafeLevel,
    SafeMotion,
)
from robot_dynamics.control.session.supervisor import BOTH, NONE, POSITION, VELOCITY

PERIOD, RATE = 0.002, 60.0
Q = np.array([0.3, 0.4])
HONEST = np.array([NONE, NONE])


@pytest.fixture(scope='module')
def robot():
    return Robot.from_urdf('planar_2r')


@pytest.fixture
def motion(robot):
    return SafeMotion(robot, RATE, PERIOD)


def begin(motion, v, slope, lies):
    v, slope, lies = np.array(v), np.array(slope), np.array(lies)
    motion.begin(Q, v, slope, lies)
    motion.update(Q, v, slope, lies, PERIOD, 0.0)
    return motion.v.tolist()


def test_a_wrong_signal_damps_nothing(motion):
    assert begin(motion, [1.0, -1.0], [1.0, -1.0], HONEST) == [1.0, -1.0]
    # Of two that disagree and may both be right the lower, and none if even the sign differs.
    assert begin(motion, [1.0, -1.0], [0.5, 1.0], HONEST) == [0.5, 0.0]
    assert begin(motion, [3.0, -1.0], [0.5, -1.0], [VELOCITY, NONE]) == [0.5, -1.0]
    decayed = begin(motion, [0.0, 0.0], [2.0, 0.0], [BOTH, NONE])
    assert decayed == pytest.approx([2.0 * np.exp(-RATE * PERIOD), 0.0])


def test_a_position_that_drifts_is_replaced_by_the_integral_of_the_velocity(motion):
    lies = np.array([POSITION, NONE])
    motion.begin(Q, np.zeros(2), np.zeros(2), lies)
    for k in range(500):
        v = np.array([0.1, 0.0])
        motion.update(Q + 0.01 * k, v, np.array([5.1, 0.0]), lies, PERIOD, 0.0)
    assert motion.v[0] == pytest.approx(0.1)
    assert motion.q[0] == pytest.approx(Q[0] + 0.1 * 500 * PERIOD)
    assert motion.q[1] == Q[1] + 0.01 * 499


@pytest.mark.parametrize('age', [0.0, 0.01, 0.04, 0.12, 1.0])
def test_damping_is_stable_at_any_age(motion, age):
    """A joint of unit inertia, damped by its velocity of some time ago."""
    past = [np.array([1.0, 0.0])] * (round(age / PERIOD) + 1)
    motion.begin(Q, past[0], past[0], HONEST)
    v, fastest = 1.0, 0.0
    for _ in range(4000):
        motion.update(Q, past[0], past[0], HONEST, PERIOD, age)
        v -= PERIOD * RATE * motion.v[0]
        past = [*past[1:], np.array([v, 0.0])]
        fastest = max(fastest, abs(v))
    assert fastest <= 1.0 and abs(v) < 0.5


def test_without_states_the_arm_is_braked_and_then_at_rest(motion):
    motion.begin(Q, np.array([1.0, -2.0]), np.array([1.0, -2.0]), HONEST)
    speeds = []
    while not motion.coast(PERIOD):
        speeds.append(motion.v.copy())
    assert np.all(np.diff(np.abs(speeds), axis=0) < 0.0)
    assert 0.02 < len(speeds) * PERIOD < 0.2
    np.testing.assert_allclose(motion.q, Q + np.array([1.0, -2.0]) / RATE, rtol=0.2)


def test_energy_that_rises_takes_damping_and_gravity_away(robot, motion):
    law = PDGravityController(robot)
    command = SafeCommand(law, 2, SafeKind.GRAVITY)
    gravity = Dynamics(robot).gravity_torque(Q)
    motion.begin(Q, np.zeros(2), np.zeros(2), HONEST)
    levels = []
    for k in range(100):
        v = np.full(2, 0.1 * k)
        motion.update(Q, v, v, HONEST, PERIOD, 0.0)
        effort = command.effort(motion.q, motion.v, motion).copy()
        if motion.level is SafeLevel.UNDAMPED:
            np.testing.assert_allclose(effort, gravity)
        elif motion.level is SafeLevel.ZERO:
            np.testing.assert_array_equal(effort, 0.0)
        levels.append(motion.level)
    assert list(dict.fromkeys(levels)) == [SafeLevel.FULL, SafeLevel.UNDAMPED, SafeLevel.ZERO]


def test_a_velocity_that_is_known_again_is_damped(motion):
    """A joint that was taken to be at rest and shows its speed has gained no energy."""
    motion.begin(Q, np.zeros(2), np.zeros(2), HONEST)
    for _ in range(100):
        v = np.array([4.0, -3.0])
        motion.update(Q, v, v, HONEST, PERIOD, 0.0)
        assert motion.level is SafeLevel.FULL
        assert motion.v.tolist() == [4.0, -3.0]


def test_an_arm_that_is_braked_keeps_its_level(robot, motion):
    motion.begin(Q, np.full(2, 2.0), np.full(2, 2.0), HONEST)
    for k in range(500):
        v = np.full(2, 2.0 * np.exp(-0.02 * k))
        motion.update(Q, v, v, HONEST, PERIOD, 0.0)
    # Pushed by hand afterwards, slowly.
    for _ in range(500):
        motion.update(Q, np.full(2, 0.2), np.full(2, 0.2), HONEST, PERIOD, 0.0)
    assert motion.level is SafeLevel.FULL


def test_a_joint_that_moves_against_its_command_is_released(robot, motion):
    command = SafeCommand(PDGravityController(robot), 2, SafeKind.GRAVITY)
    motion.begin(Q, np.zeros(2), np.zeros(2), HONEST)
    motion.released[0] = True
    effort = command.effort(motion.q, motion.v, motion)
    gravity = Dynamics(robot).gravity_torque(Q)
    assert effort.tolist() == [0.0, gravity[1]]
