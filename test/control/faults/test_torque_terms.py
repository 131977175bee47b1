# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from robot_dynamics.control.faults.residuals import TorqueTerms
from robot_dynamics.control.motion.references import exciting_fourier
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import ParameterError
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import resolve_robot

PERIOD = 0.002


@pytest.fixture(scope='module')
def robot() -> Robot:
    robot = Robot.from_urdf(resolve_robot('arm7'))
    return replace(robot, damping=np.linspace(0.5, 1.0, 7), friction=np.linspace(1.0, 0.2, 7),
                   armature=np.linspace(0.1, 0.3, 7))


@pytest.fixture(scope='module')
def dynamics(robot) -> Dynamics:
    return Dynamics(robot)


def true_effort(robot, dynamics, q, v, a):
    return (dynamics.inverse_dynamics(q, v, a) + robot.damping * v
            + robot.friction * np.tanh(v / 0.05))


def follow(robot, dynamics, terms, seconds, offset=0.0):
    """Feed an exact motion; yield the true acceleration and effort at every state."""
    motion = exciting_fourier(robot, seed=1)
    for k in range(int(seconds / PERIOD)):
        q, v, a = motion.sample(k * PERIOD)
        effort = true_effort(robot, dynamics, q, v, a) + offset
        terms.update(q, v, effort, PERIOD if k else 0.0)
        yield a, effort


def test_parts_add_up_to_the_torque_of_the_motion(robot, dynamics):
    terms = TorqueTerms(robot, dynamics, cutoff=200.0)
    errors, efforts = [], []
    for a, effort in follow(robot, dynamics, terms, 5.0):
        total = terms.gravity + terms.coriolis + terms.inertial + terms.friction
        np.testing.assert_allclose(terms.torque, total, atol=1e-12)
        errors.append(terms.acceleration - a)
        efforts.append(terms.torque - effort)
    # What is missing is the delay of the low-pass, 0.8 ms, and half a period.
    assert np.abs(errors[100:]).max() < 0.02
    assert np.abs(efforts[100:]).max() < 0.1


def test_the_residual_compares_what_belongs_together(robot, dynamics):
    # A low cutoff: the acceleration is 16 ms late, the residual must not be.
    terms = TorqueTerms(robot, dynamics, cutoff=10.0)
    residuals, late = [], []
    for _, effort in follow(robot, dynamics, terms, 5.0):
        residuals.append(terms.residual.copy())
        late.append(effort - terms.torque)
    worst, naive = np.abs(residuals[100:]).max(), np.abs(late[100:]).max()
    assert worst < 0.05
    assert naive > 3.0 * worst


def test_the_residual_is_what_the_model_does_not_know(robot, dynamics):
    terms = TorqueTerms(robot, dynamics)
    offset = np.arange(7.0)
    for _ in follow(robot, dynamics, terms, 2.0, offset):
        pass
    np.testing.assert_allclose(terms.residual, offset, atol=0.05)


def test_without_measured_effort_there_is_no_residual_and_it_comes_back(robot, dynamics):
    terms = TorqueTerms(robot, dynamics)
    q, zero = np.array([0.3, 0.5, -0.4, -1.2, 0.3, 1.6, 0.2]), np.zeros(7)
    terms.update(q, zero, np.full(7, np.nan), 0.0)
    terms.update(q, zero, np.full(7, np.nan), PERIOD)
    assert np.isnan(terms.residual).all() and np.isfinite(terms.torque).all()
    terms.update(q, zero, dynamics.gravity_torque(q) + 1.0, PERIOD)
    np.testing.assert_allclose(terms.residual, 1.0, atol=1e-9)


def test_after_a_gap_the_filter_starts_over(robot, dynamics):
    terms = TorqueTerms(robot, dynamics)
    q, v = np.full(7, 0.1), np.full(7, 0.2)
    terms.update(q, np.zeros(7), np.zeros(7), 0.0)
    terms.update(q, v, np.zeros(7), PERIOD)
    assert np.abs(terms.acceleration).min() > 1.0
    terms.update(q, v, np.zeros(7), 0.0)
    np.testing.assert_array_equal(terms.acceleration, 0.0)


@pytest.mark.parametrize('setting', ['cutoff', 'coulomb_velocity'])
def test_settings_that_cannot_be_are_refused(robot, dynamics, setting):
    with pytest.raises(ParameterError, match=setting):
        TorqueTerms(robot, dynamics, **{setting: 0.0})
