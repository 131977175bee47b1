# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace

import numpy as np
import pytest

from robot_dynamics.control.feedback.gains import FeedbackGains
from robot_dynamics.control.laws.model_based import ComputedTorqueController, PDGravityController
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import ControlError, ParameterError, StateError

GAINS = FeedbackGains(bandwidth=40.0, error_rate=8.0, position_gain=3.0)


def test_errors_of_the_true_arm_decay_as_chosen(arm3):
    """e_ddot + 48 e_dot + 320 e = 0 at any state, where the stiffness is left out."""
    controller = ComputedTorqueController(arm3, feedback=replace(GAINS, position_gain=0.0))
    dynamics = Dynamics(arm3)
    for q, v, q_d, v_d, a_d in np.random.default_rng(0).normal(size=(20, 5, 3)):
        tau = controller.update(q, v, q_d, v_d, a_d, 0.002, adapt=False)
        a = dynamics.forward_dynamics(q, v, tau)
        np.testing.assert_allclose(a_d - a + 48.0 * (v_d - v) + 320.0 * (q_d - q), 0.0, atol=1e-8)
        np.testing.assert_allclose(controller.tau_model + controller.tau_feedback, tau)


def test_rotors_friction_and_stiffness_are_part_of_it(arm3):
    rich = replace(arm3, armature=[0.3, 0.2, 0.1], damping=[1.0, 0.5, 0.1],
                   friction=[2.0, 1.0, 0.2])
    controller = ComputedTorqueController(rich, feedback=GAINS, coulomb_velocity=0.1)
    q, v, q_d, v_d, a_d = np.random.default_rng(1).normal(size=(5, 3))
    u = a_d + 48.0 * (v_d - v) + 320.0 * (q_d - q)
    expected = (Dynamics(arm3).inverse_dynamics(q, v, u) + rich.armature * u + 3.0 * (q_d - q)
                + rich.damping * v_d + rich.friction * np.tanh(v_d / 0.1))
    np.testing.assert_allclose(controller.update(q, v, q_d, v_d, a_d, 0.002, adapt=False),
                               expected)


def test_holds_and_is_safe_as_pd_and_gravity_do(arm3):
    ours, baseline = (law(arm3, feedback=GAINS)
                      for law in (ComputedTorqueController, PDGravityController))
    q, v, pose = np.random.default_rng(2).normal(size=(3, 3))
    np.testing.assert_array_equal(ours.holding_effort(q, v, pose),
                                  baseline.holding_effort(q, v, pose))
    np.testing.assert_array_equal(ours.safe_effort(q, v), baseline.safe_effort(q, v))


def test_a_joint_without_end_goes_the_short_way(turning_arm3):
    controller = ComputedTorqueController(turning_arm3, feedback=GAINS)
    still, q_d = np.zeros(3), np.array([0.0, 0.0, 0.1])
    near = controller.update(still, still, q_d, still, still, 0.002, adapt=False).copy()
    far = controller.update(still, still, q_d + [0, 0, 4 * np.pi], still, still, 0.002,
                            adapt=False)
    np.testing.assert_allclose(far, near, atol=1e-9)


def test_what_is_wrong_is_refused_by_name(arm3):
    with pytest.raises(ControlError, match='bandwidth'):
        ComputedTorqueController(arm3, period=0.02)
    with pytest.raises(ParameterError, match='coulomb_velocity'):
        ComputedTorqueController(arm3, coulomb_velocity=0.0)
    still = np.zeros(3)
    with pytest.raises(StateError, match='elbow'):
        ComputedTorqueController(arm3).update(np.array([0.0, np.nan, 0.0]), still, still, still,
                                              still, 0.002, adapt=False)
