# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace

import numpy as np
import pytest

from robot_dynamics.control.feedback.gains import FeedbackGains
from robot_dynamics.control.laws.model_based import PDGravityController
from robot_dynamics.control.laws.slotine_li import AdaptiveController
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import ControlError

GAINS = FeedbackGains(bandwidth=40.0, error_rate=8.0, position_gain=3.0)


@pytest.fixture
def controller(arm3):
    return PDGravityController(arm3, feedback=GAINS)


def test_is_gravity_and_feedback(arm3, controller):
    q, v, q_d, v_d, a_d = np.random.default_rng(0).normal(size=(5, 3))
    tau = controller.update(q, v, q_d, v_d, a_d, 0.002, adapt=True)
    dynamics = Dynamics(arm3)
    expected = (dynamics.gravity_torque(q) + 40.0 * dynamics.mass_matrix(q)
                @ (v_d - v + 8.0 * (q_d - q)) + 3.0 * (q_d - q))
    np.testing.assert_allclose(tau, expected)
    np.testing.assert_allclose(controller.tau_model + controller.tau_feedback, tau)
    np.testing.assert_allclose(controller.s, v_d - v + 8.0 * (q_d - q))
    np.testing.assert_allclose(controller.e, q_d - q)
    np.testing.assert_allclose(controller.e_dot, v_d - v)


def test_learns_nothing(controller):
    q, v, q_d, v_d, a_d = np.random.default_rng(0).normal(size=(5, 3))
    first = controller.update(q, v, q_d, v_d, a_d, 0.002, adapt=True).copy()
    for _ in range(10):
        controller.note_applied(np.zeros(3))
        last = controller.update(q, v, q_d, v_d, a_d, 0.002, adapt=True)
    controller.reset(q, v)
    np.testing.assert_array_equal(last, first)
    assert controller.estimate.size == len(controller.estimate_names) == 0
    assert not controller.frozen


def test_its_feedback_is_that_of_the_adaptive_law_to_the_last_digit(arm3, controller):
    geared = replace(arm3, armature=[0.3, 0.2, 0.1])
    adaptive = AdaptiveController(geared, feedback=GAINS)
    baseline = PDGravityController(geared, feedback=GAINS)
    for q, v, q_d, v_d, a_d in np.random.default_rng(1).normal(size=(10, 5, 3)):
        adaptive.update(q, v, q_d, v_d, a_d, 0.002, adapt=False)
        baseline.update(q, v, q_d, v_d, a_d, 0.002, adapt=False)
        np.testing.assert_array_equal(adaptive.tau_feedback, baseline.tau_feedback)


def test_holds_a_pose_by_feedback_and_gravity(arm3, controller):
    q, v, pose = np.random.default_rng(2).normal(size=(3, 3))
    still = np.zeros(3)
    np.testing.assert_allclose(controller.holding_effort(q, v, pose),
                               controller.update(q, v, pose, still, still, 0.0, adapt=False))
    np.testing.assert_allclose(controller.holding_effort(pose, still, pose),
                               Dynamics(arm3).gravity_torque(pose))


def test_is_safe_by_gravity_and_damping(arm3, controller):
    q, v = np.random.default_rng(3).normal(size=(2, 3))
    dynamics = Dynamics(arm3)
    np.testing.assert_allclose(controller.safe_effort(q, v), dynamics.gravity_torque(q)
                               - 40.0 * dynamics.mass_matrix(q) @ v)


def test_a_bandwidth_too_high_for_the_period_is_refused(arm3):
    with pytest.raises(ControlError, match='bandwidth'):
        PDGravityController(arm3, period=0.02)
