# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace

import numpy as np
import pytest

from robot_dynamics.control.feedback.gains import FeedbackGains
from robot_dynamics.control.laws.guiding import GuidingController, GuidingSettings
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import ControlError, ParameterError, StateError

GAINS = FeedbackGains(bandwidth=40.0, error_rate=8.0)
FREE = GuidingSettings(damping=0.0, grip=0.0, largest_speed=3.0)
POSE, STILL = np.array([0.3, -0.5, 0.4]), np.zeros(3)


def effort(controller, q, v, dt=0.002):
    return controller.update(q, v, STILL, STILL, STILL, dt, adapt=False).copy()


def make(robot, **settings):
    controller = GuidingController(robot, feedback=GAINS, settings=replace(FREE, **settings))
    controller.reset(POSE, STILL)
    return controller


def test_bare_it_is_gravity_and_nothing_else(arm3):
    v = np.array([0.5, -0.4, 0.3])
    np.testing.assert_allclose(effort(make(arm3), POSE, v), Dynamics(arm3).gravity_torque(POSE))


def test_damping_slows_every_joint_at_one_rate(arm3):
    v = np.array([0.5, -0.4, 0.3])
    controller, dynamics = make(arm3, damping=2.5), Dynamics(arm3)
    rest = effort(controller, POSE, v) - dynamics.gravity_torque(POSE)
    np.testing.assert_allclose(np.linalg.solve(dynamics.mass_matrix(POSE), rest), -2.5 * v)
    controller.adjust(damping=0.5)
    rest = effort(controller, POSE, v) - dynamics.gravity_torque(POSE)
    np.testing.assert_allclose(np.linalg.solve(dynamics.mass_matrix(POSE), rest), -0.5 * v)


def test_damping_too_much_for_the_rate_is_refused_and_changes_nothing(arm3):
    slow = {'period': 0.05, 'delay': 0.0,
            'feedback': FeedbackGains(bandwidth=10.0, error_rate=2.0)}
    with pytest.raises(ParameterError, match='damping is 15 1/s, too large') as caught:
        GuidingController(arm3, settings=replace(FREE, damping=15.0), **slow)
    assert caught.value.remedy == 'set it to 12 1/s or less'
    controller = GuidingController(arm3, settings=replace(FREE, damping=12.0), **slow)
    with pytest.raises(ParameterError, match='damping is 13 1/s'):
        controller.adjust(damping=13.0, friction_help=0.5)
    assert (controller.settings.damping, controller.settings.friction_help) == (12.0, 0.0)


def test_helps_against_the_share_of_friction_that_was_asked_for(arm3):
    rough = replace(arm3, damping=[1.0, 0.5, 0.1], friction=[2.0, 1.0, 0.2])
    v = np.array([0.5, -0.4, 0.3])
    helped = effort(make(rough, friction_help=0.8, coulomb_velocity=0.1), POSE, v)
    friction = rough.damping * v + rough.friction * np.tanh(v / 0.1)
    np.testing.assert_allclose(helped - effort(make(rough), POSE, v), 0.8 * friction)


def test_takes_over_what_the_pose_took_to_hold(arm3):
    """The first effort is the last that held the pose, though the model knows not of it all."""
    controller = make(arm3, grip=3.0)
    q = POSE + [0.004, 0.003, -0.002]
    held = controller.holding_effort(q, STILL, POSE).copy()
    controller.reset(q, STILL)
    np.testing.assert_allclose(effort(controller, q, STILL, dt=0.0), held, atol=1e-9)
    np.testing.assert_array_equal(controller.rest, q)
    # Only the pose held last counts, and only once.
    controller.reset(q, STILL)
    assert not np.any(controller.offset)


def test_takes_over_so_much_and_no_more(arm3):
    controller = make(arm3, largest_handover=0.1)
    controller.holding_effort(POSE + 0.5, STILL, POSE)
    controller.reset(POSE + 0.5, STILL)
    np.testing.assert_allclose(np.abs(controller.offset).max(), 6.0)
    assert np.all(np.abs(controller.offset) <= 0.1 * arm3.limits.effort)


def test_grip_is_a_spring_that_gives_way(arm3):
    """As long as it sticks, the feedback of holding; then a constant acceleration."""
    controller, dynamics = make(arm3, grip=3.2), Dynamics(arm3)
    most = 3.2 / (40.0 * 8.0)

    def acceleration(q):
        rest = effort(controller, q, STILL) - dynamics.gravity_torque(q)
        return np.linalg.solve(dynamics.mass_matrix(q), rest)

    near = POSE + [0.5 * most, -0.6 * most, 0.0]
    np.testing.assert_allclose(acceleration(near), -320.0 * (near - POSE), atol=1e-9)
    np.testing.assert_allclose(acceleration(POSE), 0.0, atol=1e-9)
    np.testing.assert_allclose(acceleration(POSE + 0.3), -3.2)
    np.testing.assert_allclose(controller.rest, POSE + 0.3 - most)


def test_what_rests_does_not_creep_for_all_the_noise(arm3):
    controller, rng = make(arm3, grip=3.2), np.random.default_rng(0)
    most = 3.2 / (40.0 * 8.0)
    for _ in range(5000):
        noise = rng.normal(size=(2, 3))
        effort(controller, POSE + 0.5 * most + 1e-4 * noise[0], 0.05 * noise[1])
    np.testing.assert_array_equal(controller.rest, POSE)


def test_giving_way_is_no_jump(arm3):
    """Pulled at a steady speed from sticking into slipping."""
    controller, dynamics = make(arm3, grip=3.2), Dynamics(arm3)
    v, q, seen = np.array([0.05, 0.05, 0.05]), POSE.copy(), []
    for _ in range(300):
        q = q + 0.002 * v
        rest = effort(controller, q, v) - dynamics.gravity_torque(q)
        seen.append(np.linalg.solve(dynamics.mass_matrix(q), rest))
    # The spring alone changes by 320 * 0.05 * 0.002 a sample.
    assert np.abs(np.diff(seen, axis=0)).max() < 0.2
    np.testing.assert_allclose(seen[-1], -3.2, rtol=0.03)


def test_brakes_what_is_too_fast(arm3):
    controller, dynamics = make(arm3, largest_speed=(0.5, 0.5, 0.2)), Dynamics(arm3)
    v = np.array([0.4, -0.7, 0.3])
    rest = effort(controller, POSE, v) - dynamics.gravity_torque(POSE)
    np.testing.assert_allclose(np.linalg.solve(dynamics.mass_matrix(POSE), rest),
                               [0.0, 40.0 * 0.2, -40.0 * 0.1], atol=1e-9)


def test_brakes_ahead_of_a_joint_limit_and_turns_back_behind_it(arm3):
    controller, dynamics = make(arm3), Dynamics(arm3)

    def acceleration(shoulder, speed):
        q, v = np.array([shoulder, -0.5, 0.4]), np.array([speed, 0.0, 0.0])
        rest = effort(controller, q, v) - dynamics.gravity_torque(q)
        return np.linalg.solve(dynamics.mass_matrix(q), rest)[0]

    upper = arm3.limits.upper[0]
    assert acceleration(upper - 0.1, 1.0) == pytest.approx(-40.0 * (1.0 - 0.8))
    assert acceleration(upper - 0.1, -1.0) == pytest.approx(0.0)
    assert acceleration(upper + 0.1, 0.0) == pytest.approx(-320.0 * 0.1)
    assert acceleration(arm3.limits.lower[0] - 0.1, 0.0) == pytest.approx(320.0 * 0.1)


def test_gives_up_an_arm_that_runs_away(arm3):
    controller = make(arm3, largest_speed=0.5)
    with pytest.raises(ControlError, match=r'elbow.*1\.1 rad'):
        effort(controller, POSE, np.array([0.9, -1.1, 0.0]))


def test_a_joint_without_end_is_held_where_it_is(turning_arm3):
    controller = make(turning_arm3, grip=3.2)
    first = effort(controller, POSE + [0.0, 0.0, 0.002], STILL)
    again = effort(controller, POSE + [0.0, 0.0, 0.002 + 2 * np.pi], STILL)
    np.testing.assert_allclose(again, first, atol=1e-9)


def test_knows_a_state_that_is_none(arm3):
    with pytest.raises(StateError, match='wrist'):
        effort(make(arm3), np.array([0.0, 0.0, np.nan]), STILL)


@pytest.mark.parametrize(('settings', 'wanted'), [
    ({'damping': -1.0}, 'damping'), ({'grip': np.nan}, 'grip'),
    ({'friction_help': 1.0}, 'friction_help'), ({'largest_speed': 0.0}, 'largest_speed'),
    ({'largest_speed': (1.0, np.inf, 1.0)}, 'largest_speed'),
    ({'largest_speed': (1.0, 1.0)}, 'largest_speed'), ({'coulomb_velocity': 0.0}, 'coulomb'),
    ({'largest_handover': -0.1}, 'largest_handover')])
def test_settings_that_cannot_be_are_refused(arm3, settings, wanted):
    with pytest.raises(ParameterError, match=wanted):
        make(arm3, **settings)
    controller = make(arm3, damping=0.3)
    with pytest.raises(ParameterError, match='damping'):
        controller.adjust(damping=-1.0)
    assert controller.settings.damping == 0.3


@pytest.mark.parametrize('pattern', [(5, 5, 5), (5, 7.5, 2, 5), (2, 2, 9), (1, 10)])
def test_a_sliding_joint_does_not_grip_when_states_come_unevenly(arm3, pattern):
    """A late state leaves the next one a short step; it slides like any other."""
    controller = make(arm3, grip=2.0, damping=1.0)
    q, v = POSE.copy(), np.array([0.4, 0.0, 0.0])
    dynamics, pushes = Dynamics(arm3), []
    for dt in 1e-3 * np.array(pattern * 50):
        q[0] += dt * v[0]
        felt = effort(controller, q, v, dt) - dynamics.gravity_torque(q)
        pushes.append(np.linalg.solve(dynamics.mass_matrix(q), felt)[0])
    # Breakaway and damping, which it comes near without a jerk.
    late = np.array(pushes[len(pushes) // 2:])
    np.testing.assert_allclose(late, -2.0 - 1.0 * 0.4, atol=0.01)
    assert np.abs(np.diff(late)).max() < 1e-4
