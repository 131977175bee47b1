# SPDX-License-Identifier: Apache-2.0
"""Unknown payloads leave the residual; pushes and faults stay in it."""

from __future__ import annotations

import numpy as np
import pytest

from robot_dynamics.control.faults.load_estimator import LoadEstimator
from robot_dynamics.control.faults.motion_predictor import MotionFilter, MotionPredictor
from robot_dynamics.control.faults.residuals import MomentumObserver
from robot_dynamics.control.motion.references import exciting_fourier
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.model.modify import with_payload
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import resolve_robot

PERIOD = 0.002


class Watched:
    """An arm that follows a motion exactly, with an observer of its model."""

    def __init__(self, robot: Robot):
        self.robot = robot
        self.observer = MomentumObserver(robot, Dynamics(robot))
        self.estimator = LoadEstimator(self.observer,
                                       MotionPredictor(robot, MotionFilter(PERIOD)))
        self.motion, self.steps = exciting_fourier(robot, seed=1), 0

    def run(self, seconds, true=None, extra=lambda q: 0.0):
        """Move for a time with the efforts of the true arm, without `extra` external efforts."""
        dynamics = Dynamics(true or self.robot)
        for _ in range(round(seconds / PERIOD)):
            q, v, a = self.motion.sample(self.steps * PERIOD)
            dt = PERIOD if self.steps else 0.0
            effort = dynamics.inverse_dynamics(q, v, a) - extra(q)
            self.observer.update(q, v, effort, dt)
            self.estimator.update(q, v, dt)
            self.steps += 1
        return np.abs(self.observer.residual).max()


@pytest.fixture
def watched():
    return Watched(Robot.from_urdf(resolve_robot('arm7')))


@pytest.mark.parametrize('com', [(0.0, 0.0, 0.15), (0.1, 0.05, 0.15)])
def test_a_payload_is_found_and_leaves_the_residual(watched, com):
    laden = with_payload(watched.robot, 2.0, com, frame='flange')
    assert watched.run(0.05, laden) > 5.0
    assert watched.run(3.0, laden) < 1.5
    assert watched.estimator.mass == pytest.approx(2.0, abs=0.15)


def test_a_payload_in_use_becomes_more_exact_and_its_doubt_smaller(watched):
    laden = with_payload(watched.robot, 2.0, (0.0, 0.0, 0.15), frame='flange')
    assert not watched.estimator.doubt.any()
    watched.run(0.5, laden)
    early = watched.estimator.doubt.max()
    watched.run(7.5, laden)
    assert watched.estimator.mass == pytest.approx(2.0, abs=0.01)
    assert 0.0 < watched.estimator.doubt.max() < 0.5 * early
    assert watched.run(0.1, laden) < 0.1


def test_states_of_a_fault_do_not_change_a_payload_in_use(watched):
    laden = with_payload(watched.robot, 2.0, (0.0, 0.0, 0.15), frame='flange')
    watched.run(3.0, laden)
    before, watched.estimator.refines = watched.estimator.mass, False
    bias = 0.01 * watched.robot.limits.effort * np.eye(7)[3]
    watched.run(3.0, laden, extra=lambda q: bias)
    assert watched.estimator.mass == before


def test_a_payload_put_down_is_forgotten(watched):
    watched.run(2.0, with_payload(watched.robot, 2.0, (0.0, 0.0, 0.15), frame='flange'))
    assert watched.estimator.mass > 1.8
    watched.run(2.0)
    assert watched.estimator.mass == 0.0 and not watched.estimator.doubt.any()
    assert watched.observer.dynamics.robot is watched.robot


def test_nothing_changes_without_a_payload(watched):
    watched.run(2.0)
    assert watched.estimator.mass == 0.0


def test_a_push_to_the_side_is_not_a_payload(watched):
    dynamics = Dynamics(watched.robot)
    force = np.array([0.0, 30.0, 0.0])
    left = watched.run(3.0, extra=lambda q: dynamics.jacobian(q, 'flange')[:3].T @ force)
    assert watched.estimator.mass == 0.0 and left > 5.0


@pytest.mark.parametrize('joint', range(7))
def test_an_effort_of_one_joint_is_not_a_payload(watched, joint):
    effort = 0.25 * watched.robot.limits.effort[joint]
    watched.run(3.0, extra=lambda q: effort * np.eye(7)[joint])
    assert watched.estimator.mass == 0.0
    assert watched.observer.residual[joint] == pytest.approx(effort, abs=0.1)


def test_a_payload_that_no_body_can_be_is_not_used(watched):
    """A push upward is a negative mass, larger than that of the last link."""
    dynamics = Dynamics(watched.robot)
    force = np.array([0.0, 0.0, 60.0])
    watched.run(2.0, extra=lambda q: dynamics.jacobian(q, 'flange')[:3].T @ force)
    assert watched.estimator.mass == 0.0


def test_few_joints_have_no_payload(watched):
    """Four numbers explain nearly every effort of three joints."""
    few = Watched(Robot.from_urdf(resolve_robot('planar_3r')))
    few.run(1.0, with_payload(few.robot, 2.0, (0.1, 0.0, 0.0)))
    assert few.estimator.mass == 0.0 and not few.estimator.spread.any()


def test_other_equations_change_the_residual_at_once(watched):
    laden = with_payload(watched.robot, 2.0, (0.0, 0.0, 0.15), frame='flange')
    q, rest = np.full(7, 0.5), np.zeros(7)
    dynamics, heavier = watched.observer.dynamics, Dynamics(laden)
    effort = heavier.gravity_torque(q)
    for k in range(200):
        watched.observer.update(q, rest, effort, PERIOD if k else 0.0)
    change = dynamics.gravity_torque(q) - effort
    np.testing.assert_allclose(watched.observer.residual, change, atol=1e-6)
    watched.observer.change_model(heavier, change)
    for _ in range(3):
        np.testing.assert_allclose(watched.observer.update(q, rest, effort, PERIOD), 0.0,
                                   atol=1e-6)
