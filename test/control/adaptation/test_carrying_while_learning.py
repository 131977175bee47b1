# SPDX-License-Identifier: Apache-2.0
"""The adaptive law told of a payload: known, and no part of what is learnt."""

import numpy as np
import pytest

from robot_dynamics.control.adaptation.learning import PredictionError
from robot_dynamics.control.feedback.loaded_model import Payload
from robot_dynamics.control.laws.slotine_li import AdaptiveController
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.model.modify import with_payload

CUBE = Payload(1.5, (0.05, 0.02, 0.1), (0.004, 0.0, 0.0, 0.004, 0.0, 0.004))
PERIOD = 0.002


@pytest.fixture
def loaded(arm3):
    return with_payload(arm3, CUBE.mass, CUBE.com, CUBE.tensor)


def states(count):
    return np.random.default_rng(0).normal(size=(count, 5, 3))


def test_is_the_law_of_the_arm_with_its_load(arm3, loaded):
    told, knows, empty = (AdaptiveController(robot) for robot in (arm3, loaded, arm3))
    told.carry(CUBE.load_on(arm3), 0.0)
    for q, v, q_d, v_d, a_d in states(5):
        for controller in (told, knows, empty):
            controller.update(q, v, q_d, v_d, a_d, PERIOD, adapt=False)
        np.testing.assert_allclose(told.tau_model, knows.tau_model, atol=1e-9)
        # Its feedback stays that of the arm: the load may not be in the hand.
        np.testing.assert_array_equal(told.tau_feedback, empty.tau_feedback)
        still = np.zeros(3)
        for effort in (told.safe_effort(q, still), told.holding_effort(q, still, q)):
            np.testing.assert_allclose(effort, knows.safe_effort(q, still), atol=1e-9)
    np.testing.assert_allclose(told.parameters, knows.estimate, atol=1e-12)
    np.testing.assert_array_equal(told.estimate, AdaptiveController(arm3).estimate)


def test_nothing_jumps_and_nothing_is_learnt_on_the_way(arm3):
    controller = AdaptiveController(arm3)
    q, still = np.array([0.3, -0.5, 0.4]), np.zeros(3)
    q_d = q - 0.01

    def effort():
        return controller.update(q, still, q_d, still, still, PERIOD, adapt=True).copy()

    controller.update(q, still, q_d, still, still, PERIOD, adapt=False)
    before = controller.estimate.copy()
    controller.carry(CUBE.load_on(arm3), 0.5)
    efforts = []
    for _ in range(249):
        controller.advance(PERIOD)
        efforts.append(effort())
    np.testing.assert_array_equal(controller.estimate, before)
    whole = np.abs(efforts[-1] - efforts[0])
    assert whole.max() > 5.0
    assert np.all(np.abs(np.diff(efforts, axis=0)) <= 1.6 * PERIOD / 0.5 * whole.max())
    controller.advance(PERIOD)
    effort()
    assert not np.array_equal(controller.estimate, before)


def test_the_prediction_error_knows_of_the_load(arm3, loaded):
    """An arm that is as modelled, with the load it is told of: nothing to learn."""
    dynamics, true = Dynamics(arm3), Dynamics(loaded)
    prediction = PredictionError(dynamics, (), 10.0, np.zeros(3))
    prediction.known[:] = CUBE.load_on(arm3).ravel()
    rng = np.random.default_rng(1)
    v = rng.normal(size=3)
    prediction.skip(v)
    for _ in range(50):
        a, before = rng.normal(size=3), v
        v = before + PERIOD * a
        q = rng.normal(size=3)
        middle = 0.5 * (v + before)
        effort = true.inverse_dynamics(q - 0.5 * PERIOD * middle, middle, a)
        prediction.observe(q, v, effort, PERIOD)
    gradient = np.zeros(30)
    prediction.add_gradient(dynamics.parameters.copy(), 1.0, np.eye(3), gradient)
    np.testing.assert_allclose(gradient, 0.0, atol=1e-9)


def test_without_it_the_estimates_are_where_they_were(arm3):
    controller = AdaptiveController(arm3)
    controller.carry(CUBE.load_on(arm3), 0.0)
    controller.carry(np.zeros((3, 10)), 0.0)
    q, v, q_d, v_d, a_d = states(1)[0]
    controller.update(q, v, q_d, v_d, a_d, PERIOD, adapt=False)
    np.testing.assert_array_equal(controller.parameters, controller.estimate)
    np.testing.assert_array_equal(controller.estimate, AdaptiveController(arm3).estimate)
