# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace

import numpy as np
import pytest

from robot_dynamics.control.feedback.gains import FeedbackGains
from robot_dynamics.control.feedback.linear_feedback import LinearFeedback
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import StateError

GAINS = FeedbackGains(bandwidth=40.0, error_rate=8.0, position_gain=3.0)


def make(robot):
    return LinearFeedback(robot, Dynamics(robot), GAINS)


def test_is_what_its_equations_say(arm3):
    feedback = make(arm3)
    q, v, q_d, v_d, a_d = np.random.default_rng(0).normal(size=(5, 3))
    effort = feedback.update(q, v, q_d, v_d, a_d)
    e, e_dot = q_d - q, v_d - v
    s = e_dot + 8.0 * e
    M = Dynamics(arm3).mass_matrix(q)
    np.testing.assert_allclose(feedback.e, e)
    np.testing.assert_allclose(feedback.e_dot, e_dot)
    np.testing.assert_allclose(feedback.s, s)
    np.testing.assert_allclose(feedback.v_r, v_d + 8.0 * e)
    np.testing.assert_allclose(feedback.v_r - v, s, atol=1e-12)
    np.testing.assert_allclose(feedback.a_r, a_d + 8.0 * e_dot)
    np.testing.assert_allclose(effort, 40.0 * M @ s + 3.0 * e)


def test_rotors_are_part_of_the_mass_matrix(arm3):
    geared = replace(arm3, armature=[0.5, 0.3, 0.2])
    q, v, q_d, v_d, a_d = np.random.default_rng(1).normal(size=(5, 3))
    plain, heavy = make(arm3), make(geared)
    difference = heavy.update(q, v, q_d, v_d, a_d) - plain.update(q, v, q_d, v_d, a_d)
    np.testing.assert_allclose(difference, 40.0 * geared.armature * plain.s)
    np.testing.assert_allclose(heavy.damping(q, v) - plain.damping(q, v),
                               -40.0 * geared.armature * v)


@pytest.mark.parametrize('turns', [-3, -1, 0, 1, 2])
def test_a_joint_that_turns_without_end_goes_the_short_way(turning_arm3, turns):
    feedback = make(turning_arm3)
    q = np.array([0.0, 0.0, 3.0 + 2.0 * np.pi * turns])
    q_d = np.array([0.0, 0.0, -3.0])
    feedback.update(q, np.zeros(3), q_d, np.zeros(3), np.zeros(3))
    assert feedback.e[2] == pytest.approx(2.0 * np.pi - 6.0)


def test_other_joints_go_the_way_that_is_left(arm3):
    feedback = make(arm3)
    feedback.update(np.array([0.0, 0.0, 3.0]), np.zeros(3), np.array([0.0, 0.0, -3.0]),
                    np.zeros(3), np.zeros(3))
    assert feedback.e[2] == -6.0


@pytest.mark.parametrize('value', [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize('place', range(5))
def test_what_is_not_finite_is_refused_by_name(arm3, place, value):
    vectors = list(np.random.default_rng(2).normal(size=(5, 3)))
    vectors[place][1] = value
    with pytest.raises(StateError, match='elbow has a state or desired motion that is not finite'):
        make(arm3).update(*vectors)


def test_arrays_of_any_kind_are_taken(arm3):
    vectors = np.random.default_rng(3).normal(size=(5, 3)).round(2)
    expected = make(arm3).update(*vectors).copy()
    frozen = vectors.copy()
    frozen.flags.writeable = False
    np.testing.assert_array_equal(make(arm3).update(*frozen), expected)
    np.testing.assert_array_equal(make(arm3).update(*np.asfortranarray(vectors)), expected)
    np.testing.assert_allclose(make(arm3).update(*vectors.astype(np.float32)), expected,
                               rtol=1e-5)
    np.testing.assert_array_equal(make(arm3).update(*vectors.tolist()), expected)


def test_damping_takes_energy(arm3):
    feedback = make(arm3)
    for q, v in np.random.default_rng(4).normal(size=(20, 2, 3)):
        assert feedback.damping(q, v) @ v < 0.0
