# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace

import numpy as np
import pytest

from robot_dynamics.control.adaptation.learning import PredictionError
from robot_dynamics.dynamics import Dynamics

PERIOD = 0.001


class Swing:
    """The arm on a given smooth motion, and the effort that acts between two samples."""

    def __init__(self, robot, terms=()):
        self.robot, self.dynamics, self.terms = robot, Dynamics(robot), terms
        self.amplitude = np.array([0.5, -0.8, 1.1])

    def state(self, t):
        w = np.array([2.0, 3.0, 4.0])
        return (self.amplitude * np.sin(w * t), self.amplitude * w * np.cos(w * t),
                -self.amplitude * w**2 * np.sin(w * t))

    def effort(self, t):
        q, v, a = self.state(t)
        Y = self.dynamics.regressor(q, v, a, self.terms)
        return Y @ self.dynamics.parameter_vector(self.terms) + self.robot.armature * a

    def feed(self, prediction, start, end, shift=0.0):
        for k in range(round(start / PERIOD), round(end / PERIOD)):
            q, v, _ = self.state(k * PERIOD)
            prediction.observe(q + shift, v, self.effort((k - 0.5) * PERIOD), PERIOD)


def relative_error(prediction, parameters):
    """Error of the filtered prediction against the filtered effort."""
    error = prediction.filtered[:, -1] - prediction.filtered[:, :-1] @ parameters
    return np.max(np.abs(error)) / np.max(np.abs(prediction.filtered[:, -1]))


@pytest.mark.parametrize('terms', [(), ('viscous', 'coulomb'), ('armature', 'offset')])
def test_true_parameters_predict_the_effort_from_the_first_sample_on(arm3, terms):
    described = replace(arm3, damping=[0.3, 0.2, 0.1], friction=[1.0, 0.5, 0.2])
    swing = Swing(described, terms)
    prediction = PredictionError(swing.dynamics, terms, 10.0, np.zeros(3))
    true = swing.dynamics.parameter_vector(terms)
    for end in (2, 3, 10, 1000):
        prediction.reset()
        swing.feed(prediction, 0.0, end * PERIOD)
        assert np.max(np.abs(prediction.filtered)) > 0.0
        # Second order in the period: 1e-3 of 4 rad/s.
        assert relative_error(prediction, true) < 2e-5


def test_wrong_parameters_do_not(arm3):
    swing = Swing(arm3)
    prediction = PredictionError(swing.dynamics, (), 10.0, np.zeros(3))
    swing.feed(prediction, 0.0, 0.5)
    assert relative_error(prediction, 1.1 * arm3.parameters) > 0.05


def test_known_rotors_are_no_error(arm3):
    geared = replace(arm3, armature=[0.5, 0.3, 0.2])
    swing = Swing(geared)
    prediction = PredictionError(swing.dynamics, (), 10.0, geared.armature)
    swing.feed(prediction, 0.0, 0.5)
    assert relative_error(prediction, geared.parameters) < 2e-5


def test_a_joint_that_turns_over_makes_no_error(turning_arm3):
    swing = Swing(turning_arm3)
    prediction = PredictionError(swing.dynamics, (), 10.0, np.zeros(3))
    swing.feed(prediction, 0.0, 0.2)
    swing.feed(prediction, 0.2, 0.4, shift=np.array([0.0, 0.0, -2.0 * np.pi]))
    assert relative_error(prediction, turning_arm3.parameters) < 2e-5


def test_a_gap_is_left_out(arm3):
    swing = Swing(arm3)
    prediction = PredictionError(swing.dynamics, (), 10.0, np.zeros(3))
    swing.feed(prediction, 0.0, 0.2)
    prediction.skip(swing.state(0.5 - PERIOD)[1])
    swing.feed(prediction, 0.5, 0.7)
    assert relative_error(prediction, arm3.parameters) < 2e-5


def test_the_filter_has_the_cutoff_it_should(arm3):
    swing = Swing(arm3)
    prediction = PredictionError(swing.dynamics, (), 2.0, np.zeros(3))
    still, effort = np.zeros(3), np.ones(3)
    prediction.skip(still)
    # One time constant, 1/(2 pi 2 Hz).
    for _ in range(round(1.0 / (4.0 * np.pi) / PERIOD)):
        prediction.observe(still, still, effort, PERIOD)
    np.testing.assert_allclose(prediction.filtered[:, -1], 1.0 - np.exp(-1.0), rtol=0.01)


def test_the_gradient_is_that_of_the_weighted_error(arm3):
    terms = ('viscous',)
    swing = Swing(arm3, terms)
    prediction = PredictionError(swing.dynamics, terms, 10.0, np.zeros(3))
    swing.feed(prediction, 0.0, 0.3)
    estimate = 1.2 * swing.dynamics.parameter_vector(terms) + 0.01
    gradient = np.full(estimate.size, 3.0)
    M = swing.dynamics.mass_matrix(np.zeros(3))
    prediction.add_gradient(estimate, 0.25, M, gradient)
    Y, tau = prediction.filtered[:, :-1], prediction.filtered[:, -1]
    expected = 3.0 + Y.T @ (0.25 / np.diag(M) * (tau - Y @ estimate))
    np.testing.assert_allclose(gradient, expected, rtol=1e-10)
