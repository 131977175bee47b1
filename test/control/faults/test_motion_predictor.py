# SPDX-License-Identifier: Apache-2.0
"""A sound arm innovations nobody, and an effort that nobody commanded does at once."""

from dataclasses import replace

import numpy as np
import pytest

from robot_dynamics.control.faults.motion_predictor import MotionFilter, MotionPredictor
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import ModelError
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import resolve_robot

PERIOD = 0.001
COULOMB = 0.4


def arm(name):
    robot = Robot.from_urdf(resolve_robot(name))
    return replace(robot, damping=np.full(robot.n, 0.3), friction=np.full(robot.n, COULOMB),
                   armature=np.full(robot.n, 0.05))


def innovations(robot, fault, seconds=0.4):
    """Return innovations (k, 2, n), their verdicts, inertias and the predictor of a motion."""
    dynamics, predictor = Dynamics(robot), MotionPredictor(robot, MotionFilter(PERIOD))
    phase, rows, verdicts, inertias = np.arange(robot.n), [], [], []

    def state(t):
        # Never slow: the sign of Coulomb friction is known.
        return (2.0 * t + 0.1 * np.sin(3.0 * t + phase), 2.0 + 0.3 * np.cos(3.0 * t + phase),
                -0.9 * np.sin(3.0 * t + phase))

    for k, t in enumerate(np.arange(0.0, seconds, PERIOD)):
        q, v, _ = state(t)
        middle = state(t - 0.5 * PERIOD)
        tau = dynamics.inverse_dynamics(*middle) \
            + robot.damping * middle[1] + COULOMB
        verdicts.append(predictor.update(dynamics.matrices(q, v), q, v, tau - fault * (t > 0.3),
                                         PERIOD if k else 0.0))
        rows.append(predictor.innovation.copy())
        inertias.append(predictor.inertia.copy())
    return np.array(rows), np.array(verdicts), inertias, predictor


@pytest.mark.parametrize('name', ['arm7', 'planar_3r', 'rpr'])
def test_a_sound_arm_surprises_nobody_and_an_effort_of_nobody_does(name):
    robot = arm(name)
    rows, verdicts, inertias, predictor = innovations(robot, 0.0)
    settled = predictor.filter.settled
    assert not np.any(verdicts[:settled + 1]) and np.all(verdicts[settled + 1:])
    assert np.abs(rows[settled:, 0]).max() < 1e-5 and np.abs(rows[settled:, 1]).max() < 2e-3
    effort = np.eye(robot.n)[0]
    faulty, *_ = innovations(robot, effort)
    # The first innovation is what the effort makes of the velocity in one period.
    first = np.flatnonzero(np.abs(faulty - rows).max(axis=(1, 2)) > 1e-9)[0]
    expected = PERIOD * np.linalg.solve(inertias[first], effort)
    np.testing.assert_allclose((faulty - rows)[first, 1], expected, rtol=0.05, atol=1e-5)


def test_a_joint_that_sticks_is_predicted_to_stick_and_to_break_loose():
    robot = replace(arm('planar_3r'), gravity=np.zeros(3))
    dynamics = Dynamics(robot)
    predictor = MotionPredictor(robot, MotionFilter(PERIOD))
    q, still = np.full(3, 0.3), np.zeros(3)
    matrices = dynamics.matrices(q, still)

    def moved(effort):
        predictor.reset()
        for k in range(50):
            predictor.update(matrices, q, still, np.array([0.0, 0.0, effort]),
                             PERIOD if k else 0.0)
        return np.abs(predictor.innovation[1]).max()

    assert moved(0.95 * COULOMB) < 1e-4
    assert moved(3.0 * COULOMB) > 1e-3
    predictor.correct_joints([[0.0] * 3, [0.0, 0.0, 3.0 * COULOMB], [0.0] * 3])
    assert moved(3.0 * COULOMB) < 1e-4
    # Never less than none.
    predictor.correct_joints(np.full((3, 3), -9.0))
    assert not np.any(predictor.friction)
    assert moved(0.5 * COULOMB) > 1e-4


def test_starts_over_after_a_gap_and_without_effort():
    robot = arm('planar_3r')
    dynamics = Dynamics(robot)
    predictor = MotionPredictor(robot, MotionFilter(PERIOD))
    q, still = np.full(3, 0.3), np.zeros(3)
    matrices = dynamics.matrices(q, still)
    holding = dynamics.gravity_torque(q)

    def settle():
        return [predictor.update(matrices, q, still, holding, PERIOD) for _ in range(40)]

    assert settle()[-1]
    for dt, effort in ((0.0, holding), (-1.0, holding), (PERIOD, np.full(3, np.nan))):
        assert not predictor.update(matrices, q, still, effort, dt)
        assert not np.any(predictor.innovation)
        verdicts = settle()
        assert not verdicts[0] and verdicts[-1]
    assert not predictor.update(matrices, q, np.full(3, np.inf), holding, PERIOD)


def test_an_inertia_that_is_none_tells_nothing():
    robot = replace(arm('planar_3r'), armature=np.zeros(3))
    predictor = MotionPredictor(robot, MotionFilter(PERIOD))
    still = np.zeros(3)
    assert not predictor.update((np.zeros((3, 3)), np.zeros((3, 3)), still), still, still, still,
                                PERIOD)


def test_joints_of_several_coordinates_are_refused():
    robot = Robot.from_urdf(resolve_robot('arm7'), floating_base=True)
    with pytest.raises(ModelError, match='motion predictor'):
        MotionPredictor(robot, MotionFilter(PERIOD))


def test_a_light_joint_with_much_damping_is_predicted():
    """Its speed is there at once: T D / I is 20, and explicit steps would be thrown about."""
    robot = arm('planar_3r')
    robot = replace(robot, damping=np.full(robot.n, 1.0), friction=np.zeros(robot.n),
                    armature=np.zeros(robot.n))
    predictor, n = MotionPredictor(robot, MotionFilter(0.002)), robot.n
    light, none = np.diag(np.full(n, 1e-4)), np.zeros((n, n))
    tau, v, q, worst = np.full(n, 0.5), np.zeros(n), np.zeros(n), 0.0
    for k in range(100):
        predictor.update((light, none, np.zeros(n)), q, v, tau, 0.002 if k else 0.0)
        worst = max(worst, np.abs(predictor.innovation[1]).max()) if k > 5 else 0.0
        v = tau + (v - tau) * np.exp(-20.0)
        q = q + 0.002 * v
    assert worst < 0.01
