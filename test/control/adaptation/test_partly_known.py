# SPDX-License-Identifier: Apache-2.0
"""Partly known dynamics, against a reference worked out by hand and as a closed loop."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from robot_dynamics.control.adaptation.partial_knowledge import PartialKnowledge
from robot_dynamics.control.feedback.gains import AdaptationGains
from robot_dynamics.control.feedback.linear_feedback import JointGains
from robot_dynamics.control.laws.slotine_li import AdaptiveController
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.dynamics.base_parameters import base_parameters, structural_base
from robot_dynamics.errors import ControlError, DimensionError, ParameterError, StateError
from robot_dynamics.model.inertia import check_body
from robot_dynamics.model.modify import with_payload, with_scaled_masses
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import resolve_robot
from test.control.adaptation.distances import distance

#: What the exercise does not know of links 1 and 2, up to combinations that act as one.
UNKNOWN = ('link1/Jzz', 'link2/mx', 'link2/m')
#: Known by the drawing: no centre of mass beside the axes, no motion out of the plane.
KNOWN = PartialKnowledge(links=('link3',), parameters=tuple(
    f'{link}/{name}' for link in ('link1', 'link2')
    for name in ('m', 'mx', 'my', 'mz', 'Jxx', 'Jxy', 'Jxz', 'Jyy', 'Jyz', 'Jzz')
    if f'{link}/{name}' not in UNKNOWN))


@pytest.fixture(scope='module')
def reference(shared):
    return json.loads((shared / 'reference' / 'ref_rpr.json').read_text())


@pytest.fixture(scope='module')
def rpr():
    return Robot.from_urdf(resolve_robot('rpr'))


def columns(robot, names):
    known = robot.parameter_names
    return [known.index(name) for name in names]


def test_regressors_and_matrices_are_those_of_the_exercise(rpr, reference):
    dynamics = Dynamics(rpr)
    law = AdaptiveController(rpr, allow_unphysical=True, known=KNOWN,
                             adaptation=AdaptationGains(terms=()))
    pi = np.array(dynamics.parameters)
    for state in reference['states']:
        q, v, v_r, a_r = (np.array(state[name]) for name in ('q', 'qd', 'qdr', 'qddr'))
        M, C, _ = dynamics.matrices(q, v)
        np.testing.assert_allclose(M, state['M'], atol=1e-12)
        np.testing.assert_allclose(C, state['S'], atol=1e-12)
        Y_U, _ = law.known_and_unknown(q, v, v_r, a_r)
        order = columns(rpr, UNKNOWN)
        Y_U = Y_U[:, np.argsort(np.argsort(order))]
        np.testing.assert_allclose(Y_U, state['Y_U'], atol=1e-12)
        # Jzz of link 2 acts with that of link 1: the exercise counts it as unknown.
        moved = pi.copy()
        moved[columns(rpr, ('link1/Jzz',))] += pi[columns(rpr, ('link2/Jzz',))]
        moved[columns(rpr, ('link2/Jzz',))] = 0.0
        moved[columns(rpr, UNKNOWN)] = 0.0
        Y = dynamics.slotine_li_regressor(q, v, v_r, a_r)
        np.testing.assert_allclose(Y @ moved, np.array(state['Y_K']) @ reference['aK'],
                                   atol=1e-12)
        np.testing.assert_allclose(
            Y_U @ reference['aU'] + np.array(state['Y_K']) @ reference['aK'], M @ a_r + C @ v_r,
            atol=1e-12)
        # M_U and S_U: the part of a robot that consists of nothing else.
        unknown = np.zeros(30)
        unknown[columns(rpr, UNKNOWN)] = reference['aU']
        part = Dynamics(rpr.with_parameters(unknown.reshape(3, 10)))
        M_U, S_U, _ = part.matrices(q, v)
        a1, a2, a3 = reference['aU']
        np.testing.assert_allclose(M_U, np.diag([a1 + 2.0 * q[1] * a2 + q[1]**2 * a3, a3, 0.0]),
                                   atol=1e-12)
        coriolis = a2 + q[1] * a3
        np.testing.assert_allclose(S_U, [[coriolis * v[1], coriolis * v[0], 0.0],
                                         [-coriolis * v[0], 0.0, 0.0], [0.0, 0.0, 0.0]],
                                   atol=1e-12)
        np.testing.assert_allclose(M_U @ a_r + S_U @ v_r, Y_U @ reference['aU'], atol=1e-12)


def test_the_unknown_base_parameters_are_those_of_the_exercise(rpr, reference):
    dynamics = Dynamics(rpr)
    names = ('link1/Jzz', 'link2/Jzz', 'link2/mx', 'link2/m')
    chosen = columns(rpr, names)
    q, v, a = np.random.default_rng(0).normal(size=(3, 50, 3))
    W = dynamics.regressor(q, v, a)[..., chosen].reshape(-1, len(names))
    base = base_parameters(W, names, method='gauss_jordan')
    assert base.base_names == ('link1/Jzz + link2/Jzz', 'link2/mx', 'link2/m')
    np.testing.assert_allclose(base.values(dynamics.parameters[chosen]), reference['aU'],
                               atol=1e-12)


def desired(t):
    """The motion of the reference: q_d, v_d, a_d."""
    offset, amplitude, w = np.array([0.0, 0.9, 0.2]), np.array([0.8, 0.3, 0.9]), \
        np.array([1.0, 0.8, 1.3])
    return (offset + amplitude * np.sin(w * t), amplitude * w * np.cos(w * t),
            -amplitude * w * w * np.sin(w * t))


@pytest.mark.slow
def test_the_closed_loop_is_that_of_the_reference_and_its_lyapunov_function_never_grows(
        rpr, reference):
    expected = reference['adaptive_simulation']
    K_P, K_D, gamma = (np.array(expected[name]) for name in ('KP', 'KD', 'Gamma'))
    law = AdaptiveController(rpr, feedback=JointGains(K_P, K_D), known=KNOWN,
                             adaptation=AdaptationGains(terms=(), frequency=2.0),
                             allow_unphysical=True)
    dynamics, order = law.dynamics, columns(rpr, UNKNOWN)
    N = np.eye(30)[:, order]
    true = np.array(reference['aU'])
    pi = np.array(rpr.parameters)
    pi[columns(rpr, ('link2/Jzz',))] = 0.0

    def closed_loop(t, x):
        q, v = x[:3], x[3:6]
        pi[order] = x[6:]
        law.estimate[:] = pi
        tau = law.update(q, v, *desired(t), 0.0, adapt=False)
        Y = dynamics.slotine_li_regressor(q, v, law.feedback.v_r, law.feedback.a_r)
        Y_U, Y_K_a_K = Y @ N, Y @ np.where(N.any(axis=1), 0.0, pi)
        # The form of the exercise: K_P e + K_D e_dot.
        form = Y_U @ x[6:] + Y_K_a_K + K_P * law.e + K_D * law.e_dot
        assert np.abs(tau - form).max() < 1e-9
        return np.concatenate([v, dynamics.forward_dynamics(q, v, tau), gamma * (Y_U.T @ law.s)])

    def lyapunov(t, x):
        q_d, v_d, _ = desired(t)
        e = q_d - x[:3]
        s = v_d - x[3:6] + K_P / K_D * e
        return (0.5 * s @ dynamics.mass_matrix(x[:3]) @ s + e @ (K_P * e)
                + 0.5 * np.sum((true - x[6:])**2 / gamma))

    run = solve_ivp(closed_loop, (0.0, 20.0), expected['x0'], method='DOP853', rtol=1e-11,
                    atol=1e-13, dense_output=True)
    for k, t in enumerate(expected['t']):
        x = run.sol(t)
        np.testing.assert_allclose(x[:3], expected['q'][k], atol=1e-6)
        np.testing.assert_allclose(x[6:], expected['ahatU'][k], atol=1e-6)
        assert lyapunov(t, x) == pytest.approx(expected['V'][k], abs=1e-6)
    values = np.array([lyapunov(t, x) for t, x in zip(run.t, run.y.T, strict=True)])
    assert np.diff(values).max() < 1e-9
    assert values[-1] < 0.4 * values[0]


def moving(robot, seed=0, steps=300, dt=0.002):
    """States and desired motions of a shaking arm that follows badly."""
    random = np.random.default_rng(seed)
    phase, w = random.uniform(0.0, 6.0, (2, robot.n)), random.uniform(1.0, 4.0, robot.n)
    for k in range(steps):
        t = k * dt
        q_d, v_d = 0.5 * np.sin(w * t + phase[0]), 0.5 * w * np.cos(w * t + phase[0])
        lag = 0.05 * np.sin(2.0 * t + phase[1])
        yield q_d - lag, v_d - 0.1 * np.cos(2.0 * t + phase[1]), q_d, v_d, -w * w * q_d


@pytest.mark.parametrize('law', ['gradient', 'projection', 'dead_zone', 'composite', 'memory'])
@pytest.mark.parametrize('known', [
    PartialKnowledge(links=('upper',)),
    PartialKnowledge(parameters=('hand/m', 'fore/Jyy', 'elbow/coulomb')),
    PartialKnowledge(combinations=('upper/Jyy + 0.16 fore/m + 0.16 hand/m',
                                   'fore/mx + 0.3 hand/m'))])
def test_what_is_known_stays_and_the_rest_is_learnt(arm3, law, known):
    controller = AdaptiveController(arm3, known=known, adaptation=AdaptationGains(law=law))
    C = known.constraints(arm3, controller.estimate_names)
    true = Dynamics(with_payload(arm3, 0.4, (0.1, 0.0, 0.05)))
    prior = controller.estimate.copy()
    for q, v, q_d, v_d, a_d in moving(arm3):
        controller.update(q, v, q_d, v_d, a_d, 0.002, adapt=True)
        controller.note_applied(true.inverse_dynamics(q, v, a_d))
        assert not controller.frozen
    np.testing.assert_allclose(C @ controller.estimate, C @ prior, atol=1e-9)
    assert np.abs(controller.estimate - prior).max() > 1e-3
    if law != 'gradient':
        for body in controller.adaptation.bodies.reshape(-1, 10):
            assert check_body(body, tolerance=1e-5).is_consistent


def test_a_payload_is_weighed_where_the_rest_is_known(arm3):
    loaded = with_payload(arm3, 0.5, (0.12, 0.0, 0.03), frame='hand')
    law = AdaptiveController(arm3, known=PartialKnowledge(links=('upper', 'fore')),
                             adaptation=AdaptationGains(terms=()))
    track(law, loaded, 4.0)
    mass = law.adaptation.bodies.reshape(-1, 10)[2, 0] - arm3.inertial_parameters[2, 0]
    assert mass == pytest.approx(0.5, rel=0.05)


def track(law, true, seconds, dt=0.002):
    """Let the law track a motion on the true arm; return the RMS error of the last third."""
    dynamics, n = Dynamics(true), true.n
    w, phase = np.linspace(1.5, 3.5, n), np.arange(n)
    q, v, errors = 0.6 * np.sin(phase), 0.6 * w * np.cos(phase), []
    for k in range(round(seconds / dt)):
        q_d, v_d = 0.6 * np.sin(w * k * dt + phase), 0.6 * w * np.cos(w * k * dt + phase)
        errors.append(q_d - q)
        tau = law.update(q, v, q_d, v_d, -w * w * 0.6 * np.sin(w * k * dt + phase),
                         dt if k else 0.0, adapt=True).copy()
        law.note_applied(tau)
        for _ in range(2):
            v = v + 0.5 * dt * dynamics.forward_dynamics(q, v, tau)
            q = q + 0.5 * dt * v
    return float(np.sqrt(np.mean(np.array(errors[-len(errors) // 3:])**2)))


@pytest.mark.parametrize('law', ['gradient', 'memory'])
def test_in_base_coordinates_nothing_drifts_that_efforts_do_not_depend_on(arm3, law):
    gains = AdaptationGains(law=law, coordinates='base')
    controller = AdaptiveController(arm3, adaptation=gains)
    base = structural_base(controller.dynamics, gains.terms)
    gamma = controller.adaptation.gain()
    true = with_payload(with_scaled_masses(arm3, 0.8), 0.5, (0.1, 0.0, 0.05))
    error = track(controller, true, 3.0)
    moved = controller.estimate - controller.adaptation.prior
    assert np.abs(moved).max() > 1e-2
    # Gamma P^T spans what has moved: its part outside is rounding.
    lift = gamma @ base.matrix.T @ np.linalg.inv(base.matrix @ gamma @ base.matrix.T)
    np.testing.assert_allclose(lift @ base.values(moved), moved, atol=1e-8)
    assert error < 0.01


def test_estimates_in_base_coordinates_stay_in_a_ball(arm3):
    controller = AdaptiveController(arm3, adaptation=AdaptationGains(
        law='gradient', coordinates='base', largest_payload=1e-3, terms=()))
    adaptation = controller.adaptation
    for _ in range(2000):
        adaptation.step(np.full(adaptation.estimate.size, 5.0), 0.002)
    away = distance(adaptation, arm3.inertial_parameters, adaptation.term_metric.prior)
    for _ in range(2000):
        adaptation.step(np.full(adaptation.estimate.size, 5.0), 0.002)
    assert distance(adaptation, arm3.inertial_parameters,
                               adaptation.term_metric.prior) == pytest.approx(away, rel=1e-6)


def test_constant_gains_that_are_wrong_are_refused(arm3):
    good = JointGains((50.0, 30.0, 3.0), (10.0, 5.0, 0.3))
    gains = AdaptationGains(frequency=5.0)
    AdaptiveController(arm3, feedback=good, adaptation=gains)
    with pytest.raises(ControlError, match='damping damps some motion'):
        AdaptiveController(arm3, feedback=replace(good, damping=(10.0, 5.0, 50.0)))
    stiff = replace(good, stiffness=(50.0, 1500.0, 3.0))
    warning = AdaptiveController(arm3, feedback=stiff, adaptation=gains).feedback.warning
    assert warning.startswith('leaves little margin: stiffness of elbow is 300 1/s times')
    assert warning.endswith('divide it by 2 or more')
    with pytest.raises(ControlError, match='stiffness of elbow is 3e'):
        AdaptiveController(arm3, feedback=replace(good, stiffness=(50.0, 15000.0, 3.0)))
    with pytest.raises(DimensionError, match='shoulder, elbow, wrist'):
        AdaptiveController(arm3, feedback=JointGains((1.0,), (1.0,)))
    for bad in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(ParameterError, match='stiffness'):
            JointGains((1.0, bad, 1.0), (1.0, 1.0, 1.0))
    law = AdaptiveController(arm3, feedback=good, adaptation=gains)
    zero = np.zeros(3)
    with pytest.raises(StateError, match='elbow'):
        law.update(np.array([0.0, np.nan, 0.0]), zero, zero, zero, zero, 0.0, adapt=True)
    np.testing.assert_allclose(law.safe_effort(zero, np.ones(3)),
                               law.dynamics.gravity_torque(zero) - good.damping)
