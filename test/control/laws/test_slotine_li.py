# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace

import numpy as np
import pytest

from robot_dynamics.control.feedback.gains import AdaptationGains, FeedbackGains
from robot_dynamics.control.laws.model_based import PDGravityController
from robot_dynamics.control.laws.slotine_li import AdaptiveController
from robot_dynamics.control.motion.references import exciting_fourier
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import ControlError, InertiaError, StateError
from robot_dynamics.model.inertia import check_body
from robot_dynamics.model.modify import with_payload, with_scaled_masses
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import shipped_robots
from test.control.adaptation.distances import distance

FEEDBACK = FeedbackGains(bandwidth=40.0, error_rate=8.0, position_gain=3.0)


@pytest.fixture
def mimicking(arm3):
    """`arm3` with a wrist that turns half as far as the elbow, the other way, and a bit."""
    text = arm3.to_urdf()
    joint = text.index('name="wrist"')
    end = text.index('</joint>', joint)
    return Robot.from_urdf(text[:end] + '<mimic joint="elbow" multiplier="-0.5" offset="0.2"/>'
                           + text[end:])


def shipped(name):
    return Robot.from_urdf(shipped_robots()[name])


def states(robot, seed, count=1):
    """Random q, v, q_d, v_d, a_d, near enough to each other to be plausible."""
    random = np.random.default_rng(seed)
    for _ in range(count):
        q, v, a_d = random.normal(size=(3, robot.n))
        yield q, v, q + 0.1 * random.normal(size=robot.n), v + 0.3 * random.normal(
            size=robot.n), a_d


def test_is_what_its_equations_say(arm3):
    described = replace(arm3, damping=[0.3, 0.2, 0.1], friction=[1.0, 0.5, 0.2],
                        armature=[0.03, 0.02, 0.01])
    law = AdaptiveController(described, feedback=FEEDBACK)
    dynamics = Dynamics(described)
    for q, v, q_d, v_d, a_d in states(arm3, 0, 5):
        tau = law.update(q, v, q_d, v_d, a_d, 0.0, adapt=False)
        e, e_dot = q_d - q, v_d - v
        v_r, a_r, s = v_d + 8.0 * e, a_d + 8.0 * e_dot, e_dot + 8.0 * e
        M, C, g = dynamics.matrices(q, v)
        friction = described.damping * v_r + described.friction * np.tanh(v_r / 0.05)
        np.testing.assert_allclose(tau, M @ a_r + C @ v_r + g + friction + 40.0 * M @ s + 3.0 * e)
        np.testing.assert_allclose(law.tau_model + law.tau_feedback, tau)
        np.testing.assert_allclose(law.s, s)


def lyapunov_function(law, robot, q, v, q_d, v_d, damping):
    """1/2 s^T M s + 1/2 K_P |e|^2 + 1/2 |pi - pi_true|^2 in the metric of the law."""
    e = q_d - q
    s = v_d - v + 8.0 * e
    return (0.5 * s @ Dynamics(robot).mass_matrix(q) @ s + 1.5 * e @ e
            + distance(law.adaptation, robot.inertial_parameters, damping[None]))


@pytest.mark.parametrize('name', ['arm3', 'mimicking', 'arm7', 'rpr', 'puma560'])
def test_lyapunov_function_falls_as_the_proof_says(name, request):
    known = name in ('arm7', 'rpr', 'puma560')
    model = shipped(name) if known else request.getfixturevalue(name)
    # Whether the estimates start away from the boundary of what bodies can be.
    is_inside = all(check_body(body).is_definite for body in model.inertial_parameters)
    model = replace(model, damping=np.full(model.n, 0.7))
    true = with_scaled_masses(model, 0.8)
    damping = np.linspace(0.5, 1.0, model.n)
    gains = AdaptationGains(composite=0.0, terms=('viscous',))
    dynamics = Dynamics(true)
    for q, v, q_d, v_d, a_d in states(model, 1, 5):
        h = 1e-7
        law = AdaptiveController(model, feedback=FEEDBACK, adaptation=gains, period=h, delay=0.0,
                                 allow_unphysical=True)
        before = lyapunov_function(law, true, q, v, q_d, v_d, damping)
        tau = law.update(q, v, q_d, v_d, a_d, h, adapt=True)
        assert not law.frozen
        a = dynamics.forward_dynamics(q, v, tau - damping * v)
        after = lyapunov_function(law, true, q + h * v + 0.5 * h * h * a, v + h * a,
                                  q_d + h * v_d + 0.5 * h * h * a_d, v_d + h * a_d, damping)
        expected = -(law.s @ (law.feedback.mass_matrix * 40.0 + np.diag(damping)) @ law.s
                     + 8.0 * 3.0 * law.e @ law.e)
        assert expected < 0.0
        if is_inside:
            assert (after - before) / h == pytest.approx(expected, rel=1e-3)
        else:
            # A projection takes away more.
            assert (after - before) / h < expected * (1.0 - 1e-3)


def test_with_the_true_model_it_does_what_computed_torque_does(arm3):
    law = AdaptiveController(arm3)
    q, v, a_d = np.random.default_rng(2).normal(size=(3, 3))
    tau = law.update(q, v, q, v, a_d, 0.0, adapt=True)
    np.testing.assert_allclose(Dynamics(arm3).forward_dynamics(q, v, tau), a_d)


def track(robot, true, law, seconds, friction=0.0, dt=0.002, seed=0):
    """RMS error of the last third of a simulated exciting motion, by our own equations."""
    dynamics, reference = Dynamics(true), exciting_fourier(robot, seed)
    q, v, _ = reference.sample(0.0)
    errors = []
    for k in range(round(seconds / dt)):
        q_d, v_d, a_d = reference.sample(k * dt)
        errors.append(q_d - q)
        tau = law.update(q, v, q_d, v_d, a_d, dt if k else 0.0, adapt=True).copy()
        law.note_applied(tau)
        for _ in range(2):
            a = dynamics.forward_dynamics(q, v, tau - friction * np.tanh(v / 0.05))
            v = v + 0.5 * dt * a
            q = q + 0.5 * dt * v
    return float(np.sqrt(np.mean(np.array(errors[-len(errors) // 3:])**2)))


# The RPR moves level: without gravity to be wrong about, little is to be gained.
@pytest.mark.slow
@pytest.mark.parametrize(('name', 'ratio'), [('arm3', 30.0), ('mimicking', 30.0), ('rpr', 8.0),
                                             ('planar_2r', 30.0)])
def test_learns_a_payload_and_wrong_masses(name, ratio, request):
    robot = request.getfixturevalue(name) if name in ('arm3', 'mimicking') else shipped(name)
    true = with_payload(with_scaled_masses(robot, 1.0 / 1.3), 0.8, (0.1, 0.02, 0.05),
                        frame=robot.body_names[-1])
    without = track(robot, true, PDGravityController(robot), 6.0)
    law = AdaptiveController(robot, allow_unphysical=True)
    assert track(robot, true, law, 6.0) < without / ratio
    assert not law.frozen
    for parameters in law.adaptation.bodies.reshape(-1, 10):
        assert check_body(parameters).is_consistent


def test_learns_friction(arm3):
    without = track(arm3, arm3, PDGravityController(arm3), 6.0, friction=np.array([2.0, 1.0, 0.3]))
    law = AdaptiveController(arm3)
    assert track(arm3, arm3, law, 6.0, friction=np.array([2.0, 1.0, 0.3])) < without / 30.0
    coulomb = law.estimate[[law.estimate_names.index(f'{joint}/coulomb')
                            for joint in arm3.joint_names]]
    np.testing.assert_allclose(coulomb, [2.0, 1.0, 0.3], rtol=0.1)


def test_the_parts_of_the_law_each_help(arm3):
    true = with_payload(arm3, 1.5, (0.1, 0.0, 0.1))
    gradient_alone = track(arm3, true, AdaptiveController(
        arm3, adaptation=AdaptationGains(composite=0.0)), 6.0)
    assert track(arm3, true, AdaptiveController(arm3), 6.0) < 0.5 * gradient_alone
    assert gradient_alone < 0.2 * track(arm3, true, PDGravityController(arm3), 6.0)


def test_a_new_payload_is_learnt_as_the_first_was(arm3):
    law = AdaptiveController(arm3)
    track(arm3, arm3, law, 6.0)
    law.reset(np.zeros(3), np.zeros(3))
    loaded = with_payload(arm3, 1.0, (0.1, 0.0, 0.1))
    assert track(arm3, loaded, law, 6.0) < track(arm3, loaded, PDGravityController(arm3),
                                                 6.0) / 15.0


def test_nothing_changes_while_it_may_not_adapt(arm3):
    law = AdaptiveController(arm3, adaptation=AdaptationGains(composite=0.0))
    before = law.estimate.copy()
    for q, v, q_d, v_d, a_d in states(arm3, 3, 20):
        law.update(q, v, q_d, v_d, a_d, 0.002, adapt=False)
    np.testing.assert_array_equal(law.estimate, before)
    assert not law.frozen
    law.update(q, v, q_d, v_d, a_d, 0.002, adapt=True)
    assert np.any(law.estimate != before)


@pytest.mark.parametrize(('dt', 'reason'), [(0.0, ''), (-0.002, ''), (np.nan, ''),
                                            (0.05, 'the time step is too long')])
def test_nothing_is_learnt_from_a_step_that_is_none(arm3, dt, reason):
    law = AdaptiveController(arm3)
    before = law.estimate.copy()
    for q, v, q_d, v_d, a_d in states(arm3, 4, 3):
        tau = law.update(q, v, q_d, v_d, a_d, dt, adapt=True)
        assert np.all(np.isfinite(tau))
    np.testing.assert_array_equal(law.estimate, before)
    assert law.frozen_reason == reason
    law.update(q, v, q_d, v_d, a_d, 0.002, adapt=True)
    assert not law.frozen
    assert np.any(law.estimate != before)


def test_nothing_is_learnt_from_an_error_that_is_implausible(arm3):
    law = AdaptiveController(arm3, adaptation=AdaptationGains(largest_sliding=2.0))
    before = law.estimate.copy()
    zero = np.zeros(3)
    law.update(zero, zero, np.array([0.0, 0.2, 0.0]), zero, zero, 0.002, adapt=True)
    law.note_applied(Dynamics(arm3).gravity_torque(zero))
    assert law.frozen_reason == 'the tracking error is implausibly large'
    np.testing.assert_array_equal(law.estimate, before)
    law.update(zero, zero, np.array([0.0, 0.1, 0.0]), zero, zero, 0.002, adapt=True)
    assert not law.frozen
    assert np.any(law.estimate != before)


def refuse_a_step(law):
    """Make the law refuse a step, with an acceleration no arm has."""
    n = law.robot.n
    q = np.full(n, 0.3)
    law.update(q, np.zeros(n), q + 0.05, np.zeros(n), np.full(n, 1e12), 0.002, adapt=True)


def test_a_refused_step_freezes_the_estimates_until_they_are_released(arm3):
    law = AdaptiveController(arm3, adaptation=AdaptationGains(composite=0.0))
    before = law.estimate.copy()
    refuse_a_step(law)
    assert law.frozen_reason == 'a step of the estimates was implausibly large'
    for q, v, q_d, v_d, a_d in states(arm3, 5, 5):
        tau = law.update(q, v, q_d, v_d, a_d, 0.002, adapt=True)
        assert np.all(np.isfinite(tau))
        assert law.frozen
    np.testing.assert_array_equal(law.estimate, before)
    law.release()
    law.update(q, v, q_d, v_d, a_d, 0.002, adapt=True)
    assert not law.frozen
    assert np.any(law.estimate != before)


def test_a_torque_that_is_not_finite_is_never_learnt(arm3):
    law = AdaptiveController(arm3)
    for q, v, q_d, v_d, a_d in states(arm3, 6, 5):
        law.update(q, v, q_d, v_d, a_d, 0.002, adapt=True)
        law.note_applied(np.array([0.0, np.nan, 0.0]))
    assert law.frozen_reason == 'a step of the estimates was not finite'
    assert np.all(np.isfinite(law.estimate))
    assert np.all(np.isfinite(law.update(q, v, q_d, v_d, a_d, 0.002, adapt=True)))


def test_a_state_that_is_not_finite_is_refused_and_leaves_no_trace(arm3):
    law, other = AdaptiveController(arm3), AdaptiveController(arm3)
    for k, (q, v, q_d, v_d, a_d) in enumerate(states(arm3, 7, 10)):
        if k == 5:
            with pytest.raises(StateError, match='shoulder'):
                law.update(np.array([np.nan, 0.0, 0.0]), v, q_d, v_d, a_d, 0.002, adapt=True)
        law.update(q, v, q_d, v_d, a_d, 0.002, adapt=True)
        other.update(q, v, q_d, v_d, a_d, 0.002, adapt=True)
    np.testing.assert_array_equal(law.estimate, other.estimate)


def test_what_was_applied_counts_not_what_was_asked_for(arm3):
    # Still, with a torque that is what gravity asks for: nothing to learn, whatever the
    # controller wanted to do about an error it was not allowed to correct.
    law = AdaptiveController(arm3, adaptation=AdaptationGains(largest_sliding=1e9))
    q, zero = np.array([0.3, 0.2, 0.1]), np.zeros(3)
    gravity = Dynamics(arm3).gravity_torque(q)
    for _ in range(100):
        law.update(q, zero, q + 0.1, zero, zero, 0.002, adapt=False)
        law.note_applied(gravity)
    filtered = law.learning.prediction.filtered
    error = filtered[:, -1] - filtered[:, :-1] @ law.estimate
    assert np.max(np.abs(error)) < 1e-9
    for _ in range(100):
        law.update(q, zero, q + 0.1, zero, zero, 0.002, adapt=False)
    filtered = law.learning.prediction.filtered
    error = filtered[:, -1] - filtered[:, :-1] @ law.estimate
    assert np.max(np.abs(error)) > 1.0


def test_noise_of_a_joint_that_stands_still_teaches_nothing(arm3):
    # The last joint is held, and what is measured of its velocity is noise: it has no
    # friction and no rotor whose efforts could be told from that.
    terms = ('viscous', 'armature')
    law = AdaptiveController(arm3, adaptation=AdaptationGains(law='composite', terms=terms))
    random, moves = np.random.default_rng(0), np.array([1.0, 1.0, 0.0])
    for k in range(1000):
        t = 0.002 * k
        q_d, v_d, a_d = (x * moves for x in (np.sin(t), np.cos(t), -np.sin(t)))
        law.update(q_d, v_d + 0.005 * random.standard_normal(3), q_d, v_d, a_d, 0.002, adapt=True)
    of_last = [law.estimate_names.index(f'{arm3.joint_names[2]}/{term}') for term in terms]
    np.testing.assert_allclose(law.learning.prediction.filtered[2, of_last], 0.0, atol=1e-12)


def test_reset_keeps_what_was_learnt_and_forget_does_not(arm3):
    law = AdaptiveController(arm3)
    before = law.estimate.copy()
    track(arm3, with_payload(arm3, 1.0, (0.1, 0.0, 0.1)), law, 2.0)
    learnt = law.estimate.copy()
    law.reset(np.zeros(3), np.zeros(3))
    np.testing.assert_array_equal(law.estimate, learnt)
    assert np.any(learnt != before)
    refuse_a_step(law)
    law.forget()
    np.testing.assert_array_equal(law.estimate, before)
    assert not law.frozen


def test_an_arm_moved_anew_after_a_refused_step_starts_over_from_the_model(arm3):
    law = AdaptiveController(arm3)
    before = law.estimate.copy()
    track(arm3, with_payload(arm3, 1.0, (0.1, 0.0, 0.1)), law, 2.0)
    refuse_a_step(law)
    assert law.frozen and np.any(law.estimate != before)
    law.reset(np.zeros(3), np.zeros(3))
    np.testing.assert_array_equal(law.estimate, before)
    assert not law.frozen
    track(arm3, with_payload(arm3, 1.0, (0.1, 0.0, 0.1)), law, 0.5)
    assert np.any(law.estimate != before)


def test_holds_by_the_gravity_it_has_learnt(arm3):
    law = AdaptiveController(arm3)
    loaded = with_payload(arm3, 1.0, (0.1, 0.0, 0.1))
    track(arm3, loaded, law, 6.0)
    q, zero = np.array([0.3, -0.4, 0.5]), np.zeros(3)
    true = Dynamics(loaded).gravity_torque(q)
    assert np.max(np.abs(Dynamics(arm3).gravity_torque(q) - true)) > 3.0
    np.testing.assert_allclose(law.holding_effort(q, zero, q), true, atol=0.1)
    np.testing.assert_allclose(law.safe_effort(q, zero), true, atol=0.1)


def test_is_safe_by_the_gravity_of_the_model_where_the_estimates_are_in_doubt(arm3):
    law = AdaptiveController(arm3)
    track(arm3, with_payload(arm3, 1.0, (0.1, 0.0, 0.1)), law, 2.0)
    refuse_a_step(law)
    q, v = np.array([0.3, -0.4, 0.5]), np.array([1.0, -1.0, 0.5])
    dynamics = Dynamics(arm3)
    np.testing.assert_allclose(law.safe_effort(q, v), dynamics.gravity_torque(q)
                               - 60.0 * dynamics.mass_matrix(q) @ v)


def test_holding_and_safe_efforts_learn_nothing(arm3):
    law = AdaptiveController(arm3)
    before = law.estimate.copy()
    for q, v, q_d, _, _ in states(arm3, 8, 5):
        law.holding_effort(q, v, q_d)
        law.safe_effort(q, v)
    np.testing.assert_array_equal(law.estimate, before)


def test_estimates_have_names(arm3):
    law = AdaptiveController(arm3)
    assert len(law.estimate_names) == len(law.estimate) == 36
    assert law.estimate_names[0] == 'upper/m'
    assert law.estimate_names[-1] == 'wrist/coulomb'
    plain = AdaptiveController(arm3, adaptation=AdaptationGains(terms=()))
    assert plain.estimate_names == arm3.parameter_names


def test_estimates_start_from_the_description(arm3):
    described = replace(arm3, damping=[0.3, 0.2, 0.1], friction=[1.0, 0.5, 0.2])
    np.testing.assert_allclose(AdaptiveController(described).estimate, np.concatenate(
        [arm3.parameters, described.damping, described.friction]), rtol=1e-12)


def test_an_unphysical_model_is_refused_by_name_unless_it_is_allowed(arm3):
    parameters = arm3.inertial_parameters.copy()
    parameters[1, 0] = -1.0
    broken = arm3.with_parameters(parameters)
    with pytest.raises(InertiaError, match='fore cannot be a rigid body: the mass is negative'):
        AdaptiveController(broken)
    law = AdaptiveController(broken, allow_unphysical=True)
    for body in law.adaptation.bodies.reshape(-1, 10):
        assert check_body(body).is_consistent


def test_the_frequency_changes_the_gain_smoothly(arm3):
    law = AdaptiveController(arm3, adaptation=AdaptationGains(law='gradient', frequency=10.0))
    state = next(states(arm3, 0))

    def step():
        law.update(*state, 0.002, adapt=True)
        moved = law.estimate - law.adaptation.prior
        law.forget()
        return moved

    slow = step()
    law.change_frequency(20.0, 0.2)
    law.advance(0.1)
    np.testing.assert_allclose(step(), 2.5 * slow, rtol=1e-6, atol=1e-12)
    law.advance(0.2)
    np.testing.assert_allclose(step(), 4.0 * slow, rtol=1e-6, atol=1e-12)
    with pytest.raises(ControlError, match='stability limit of 173 rad/s; set it to'):
        law.change_frequency(200.0, 0.2)
    # Feedback that is too slow for the present frequency.
    with pytest.raises(ControlError, match='frequency'):
        law.check_frequency(20.0, FeedbackGains(bandwidth=0.5, error_rate=0.1))
    law.advance(0.2)
    np.testing.assert_allclose(step(), 4.0 * slow, rtol=1e-6, atol=1e-12)


def test_gains_that_are_unstable_at_this_period_are_refused(arm3):
    with pytest.raises(ControlError, match='frequency'):
        AdaptiveController(arm3, period=0.004, delay=0.02, feedback=FeedbackGains(bandwidth=20.0))
    with pytest.raises(ControlError, match='bandwidth'):
        AdaptiveController(arm3, period=0.02)


def test_equal_inputs_give_equal_outputs(arm3):
    one, other = AdaptiveController(arm3), AdaptiveController(arm3)
    for q, v, q_d, v_d, a_d in states(arm3, 9, 50):
        np.testing.assert_array_equal(one.update(q, v, q_d, v_d, a_d, 0.002, adapt=True),
                                      other.update(q, v, q_d, v_d, a_d, 0.002, adapt=True))
