# SPDX-License-Identifier: Apache-2.0
"""The report's two-link manipulator: matrices, gains and simulated cases, recomputed apart."""

from __future__ import annotations

import math

import numpy as np
import pytest

from benchmark.lq_gains import one_step_gain
from robot_dynamics.control.feedback.loaded_model import FeedforwardModel
from robot_dynamics.control.feedback.sampled_loop import closed_loop, spectral_radii
from robot_dynamics.control.laws.feedforward_lq import FeedforwardLQController
from robot_dynamics.control.lq.certificate import ModelErrors
from robot_dynamics.control.lq.design import Schedule, weight_of_time_constant
from robot_dynamics.control.lq.rules import OneStepRule
from robot_dynamics.dynamics import Dynamics

EXACT = {'rtol': 1e-9, 'atol': 1e-9}
#: Powers of A T after which nothing is left of them at T = 0.01 s.
MANY = 12


@pytest.fixture
def points(two_link_reference):
    return two_link_reference['operating_points']


def motion_of(point):
    return tuple(np.array(point[name]) for name in ('theta', 'theta_dot', 'theta_ddot'))


def test_linear_model_and_series(two_link, points):
    dynamics, model = Dynamics(two_link), FeedforwardModel(two_link)
    for point in points:
        motion = motion_of(point)
        np.testing.assert_allclose(model.feedforward(*motion), point['tau'], **EXACT)
        linear = model.linearise(*motion)
        np.testing.assert_allclose(linear.dtau_dq, point['dtau_dtheta'], **EXACT)
        np.testing.assert_allclose(linear.dtau_dv, point['df_dthetadot'], **EXACT)
        for found in (linear.linear_model(),
                      dynamics.linearise(motion[0], motion[1], a=motion[2])):
            np.testing.assert_allclose(found.A, point['A'], **EXACT)
            np.testing.assert_allclose(found.B, point['B'], **EXACT)
            for order in (None, MANY):
                Phi, Gamma = found.discrete(point['T'], order)
                np.testing.assert_allclose(Phi, point['Phi'], **EXACT)
                np.testing.assert_allclose(Gamma, point['Gamma'], **EXACT)
            np.testing.assert_allclose(found.discrete(point['T'], 3)[0],
                                       point['Phi_series_order3'], **EXACT)
            # The file counts its orders by the last power of A in either.
            np.testing.assert_allclose(found.discrete(point['T'], 4)[1],
                                       point['Gamma_series_order3'], rtol=1e-9, atol=1e-15)


def test_gains_of_formula_and_loop(two_link, points):
    model = FeedforwardModel(two_link)
    for point in points:
        for reference in point['LQ'].values():
            Q = np.diag(reference['Q']) if np.ndim(reference['Q']) == 2 else reference['Q']
            K = one_step_gain(point['Phi'], point['Gamma'], Q)
            np.testing.assert_allclose(K, reference['K'], **EXACT)
            rule = OneStepRule(2, point['T'], Q[2] / Q[0], order=MANY)
            fast = np.empty((2, 4))
            rule.gain(model.linearise(*motion_of(point)), fast)
            np.testing.assert_allclose(fast, reference['K'], **EXACT)


def test_spectrum_with_model_errors(two_link, wrong_two_link, two_link_reference, points):
    """Section 2.3.1 of the report: gains of the wrong model on the true arm."""
    T = points[0]['T']
    for point, spectra in zip(points, two_link_reference['closed_loop_spectrum_with_model_error'],
                              strict=True):
        motion = tuple(x[None] for x in motion_of(point))
        true = FeedforwardModel(two_link).linearise(*motion)
        wrong = FeedforwardModel(wrong_two_link).linearise(*motion)
        for name, ratio in (('identity', 1.0), ('position_weighted', 1e-4)):
            K = OneStepRule(2, T, ratio, order=MANY).gains_at(wrong)
            matrix = closed_loop(true, K, T, 0.0)
            found = np.sort(np.abs(np.linalg.eigvals(matrix[0])))
            np.testing.assert_allclose(found, np.sort(np.abs(spectra[name])), atol=1e-9)
            assert spectral_radii(matrix)[0] == found[-1]


class TipLine:
    """The straight line of the tip with a quintic time law, as motion of the joints."""

    def __init__(self, reference):
        parameters, line = reference['meta']['parameters'], reference['trajectory']
        self.l1, self.l2 = parameters['l1'], parameters['l2']
        self.start, self.end = np.array(line['pA']), np.array(line['pB'])
        self.duration = line['TF']
        self.length = float(np.linalg.norm(self.end - self.start))

    def tip(self, q):
        return np.array([self.l1 * math.cos(q[0]) + self.l2 * math.cos(q[0] + q[1]),
                         self.l1 * math.sin(q[0]) + self.l2 * math.sin(q[0] + q[1])])

    def sample(self, t):
        x = min(max(t / self.duration, 0.0), 1.0)
        s = x**3 * (10.0 - 15.0 * x + 6.0 * x * x)
        rate = 30.0 * x * x * (1.0 - x)**2 / self.duration
        change = 60.0 * x * (1.0 - x) * (1.0 - 2.0 * x) / self.duration**2
        way = self.end - self.start
        return self.joints(self.start + s * way, rate * way, change * way)

    def joints(self, p, v, a):
        cosine = (p @ p - self.l1**2 - self.l2**2) / (2.0 * self.l1 * self.l2)
        elbow = math.acos(cosine)
        q = np.array([math.atan2(p[1], p[0]) - math.atan2(
            self.l2 * math.sin(elbow), self.l1 + self.l2 * math.cos(elbow)), elbow])
        s1, s12, c1, c12 = (math.sin(q[0]), math.sin(q[0] + q[1]), math.cos(q[0]),
                            math.cos(q[0] + q[1]))
        J = np.array([[-self.l1 * s1 - self.l2 * s12, -self.l2 * s12],
                      [self.l1 * c1 + self.l2 * c12, self.l2 * c12]])
        w = np.linalg.solve(J, v)
        w12 = w[0] + w[1]
        J_dot = np.array([[-self.l1 * c1 * w[0] - self.l2 * c12 * w12, -self.l2 * c12 * w12],
                          [-self.l1 * s1 * w[0] - self.l2 * s12 * w12, -self.l2 * s12 * w12]])
        return q, w, np.linalg.solve(J, a - J_dot @ w)


class Run:
    """One simulated case; the plant by Runge-Kutta steps between samples."""

    def __init__(self, plant, line, law, *, disturbance=0.0, period=0.01, substeps=10):
        self.dynamics, self.line, self.law = Dynamics(plant), line, law
        self.disturbance, self.period, self.substeps = disturbance, period, substeps
        self.rows, self.joint_errors, self.tip_errors = [], [], []

    def until(self, end):
        """Sample, answer, integrate; up to a time or an error of 3 rad."""
        q, v, _ = self.line.sample(0.0)
        for k in range(round(end / self.period) + 1):
            t = k * self.period
            q_d, v_d, a_d = self.line.sample(t)
            away = float(np.linalg.norm(self.line.tip(q) - self.line.tip(q_d)))
            self.rows.append([t, *q, *v, away])
            self.joint_errors.append(np.abs(q - q_d))
            self.tip_errors.append(away)
            if np.abs(q - q_d).max() > 3.0:
                break
            if k < round(end / self.period):
                q, v = self.step(q, v, self.effort(q, v, q_d, v_d, a_d))
        return self

    def effort(self, q, v, q_d, v_d, a_d):
        tau = self.law.update(q, v, q_d, v_d, a_d, self.period, adapt=True)
        return tau + self.disturbance * self.law.tau_model

    def step(self, q, v, tau):
        h, a = self.period / self.substeps, self.dynamics.forward_dynamics
        for _ in range(self.substeps):
            k1 = v, a(q, v, tau)
            k2 = v + 0.5 * h * k1[1], a(q + 0.5 * h * k1[0], v + 0.5 * h * k1[1], tau)
            k3 = v + 0.5 * h * k2[1], a(q + 0.5 * h * k2[0], v + 0.5 * h * k2[1], tau)
            k4 = v + h * k3[1], a(q + h * k3[0], v + h * k3[1], tau)
            q, v = (x + h / 6.0 * (p + 2.0 * r + 2.0 * s + u) for x, p, r, s, u
                    in zip((q, v), k1, k2, k3, k4, strict=True))
        return q, v


#: q_v of the one-step minimiser with q_p = 1: the report's Q = 1, and that of a time
#: constant of two periods, 20 ms.
WEIGHTS = {'feedforward_only': None, 'ff_plus_LQ_Q_identity': 1.0,
           'ff_plus_LQ_Q_position_weighted': weight_of_time_constant(0.01, 0.02)}
CASES = [(case, law) for case in ('nominal', 'disturbance_7pct',
                                  'model_error_7pct_length_9pct_inertia') for law in WEIGHTS]


def law_of(robot, weight):
    """The law as the report has it: no delay, a new gain in each sample, nothing judged."""
    never = 1e9
    schedule = Schedule(eps0=never, eps2=2.0 * never) if weight is None \
        else Schedule(update_period=0.0, eps2=never)
    return Uncertified(robot, rule=OneStepRule(2, 0.01, weight or 1.0, order=MANY),
                       schedule=schedule, period=0.01, delay=0.0,
                       errors=ModelErrors(0.0, 0.0, 0.0))


class Uncertified(FeedforwardLQController):
    """Takes gains that no arm is to get."""

    def certify(self):
        pass


@pytest.mark.parametrize(('case', 'name'), CASES)
def test_simulated_cases(two_link, wrong_two_link, two_link_reference, case, name):
    reference = two_link_reference['simulations'][case][name]
    model = wrong_two_link if case.startswith('model_error') else two_link
    line = TipLine(two_link_reference)
    run = Run(two_link, line, law_of(model, WEIGHTS[name]),
              disturbance=0.07 if case.startswith('disturbance') else 0.0).until(line.duration)
    errors, away = np.array(run.joint_errors), np.array(run.tip_errors)
    diverged = reference['diverged_at']
    wanted = np.array(reference['trajectory_t_th1_th2_w1_w2_carterr'])
    rows = np.array(run.rows)
    if diverged is None:
        np.testing.assert_allclose(rows[::10], wanted, atol=1e-6)
        np.testing.assert_allclose(errors.max(axis=0), reference['max_joint_error'], atol=1e-6)
        percent = 100.0 * away.max() / line.length
        assert percent == pytest.approx(reference['max_cartesian_error_percent_of_path'],
                                        abs=1e-4)
        if name.endswith('position_weighted'):
            assert percent <= {'n': 0.01, 'd': 0.05, 'm': 0.03}[case[0]]
        return
    # As far as nothing has blown up, and then when it does.
    early = wanted[wanted[:, -1] < 0.05]
    np.testing.assert_allclose(rows[:10 * len(early):10], early, atol=1e-6)
    assert rows[-1, 0] == pytest.approx(diverged, abs=0.011)


def test_the_reference_trajectory_is_this_one(two_link_reference):
    line = TipLine(two_link_reference)
    for sample in two_link_reference['trajectory']['samples']:
        for found, name in zip(line.sample(sample['t']), ('theta', 'theta_dot', 'theta_ddot'),
                               strict=True):
            np.testing.assert_allclose(found, sample[name], **EXACT)
