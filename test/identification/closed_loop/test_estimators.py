# SPDX-License-Identifier: Apache-2.0
"""Output error and instrumental variables where noise of accelerations biases least squares."""

import numpy as np
import pytest

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.identification.closed_loop.estimators import CLOSED_LOOP, refined
from robot_dynamics.identification.dataset.dataset import dataset_from_arrays
from robot_dynamics.identification.dataset.settings import DatasetSettings
from robot_dynamics.identification.model_selection import ModelSelector
from robot_dynamics.identification.observation_matrix import Stack
from robot_dynamics.identification.rigid import EstimateSettings, base_estimate, identify
from robot_dynamics.identification.signals import SignalSettings
from robot_dynamics.model.modify import with_scaled_masses

TERMS = ('offset', 'viscous')
#: Noise of positions, rad, and of efforts, N m.
NOISE = (2e-3, 0.2)
RUNS = 8


@pytest.fixture(scope='module')
def recorded(three):
    """A motion that a controller follows exactly: its reference has the efforts fed forward."""
    t, q, v, a = three.motion(seconds=20.0)
    tau = Dynamics(three.robot).inverse_dynamics(q, v, a) + 2.0 * v
    P, D = np.array([400.0, 600.0, 100.0]), np.array([40.0, 60.0, 10.0])
    # tau = P (q_d - q) + D (dq_d/dt - v) is a differential equation of e = q_d - q.
    e, period = np.zeros_like(q), t[1]
    decay = np.exp(-P / D * period)
    e[0] = tau[0] / P
    for k in range(1, len(t)):
        # Exact for efforts that are linear in time.
        slope = (tau[k] - tau[k - 1]) / period
        steady = (tau[k - 1] - slope * D / P) / P
        e[k] = steady + slope * period / P + decay * (e[k - 1] - steady)
    return three.robot, t, q, tau, q + e, DatasetSettings(proportional=P, derivative=D)


def log(recorded, seed):
    robot, t, q, tau, reference, settings = recorded
    random = np.random.default_rng(seed)
    return dataset_from_arrays(robot, t, q + NOISE[0] * random.normal(size=q.shape),
                               tau + NOISE[1] * random.normal(size=q.shape), settings=settings,
                               reference=reference)


@pytest.fixture(scope='module')
def errors(recorded):
    """Errors of the base parameters of each estimator, shape (runs, r), with a high cut-off."""
    robot, signals = recorded[0], SignalSettings(10.0)
    found = {}
    for seed in range(RUNS):
        stack = Stack(robot, log(recorded, seed), signals, TERMS)
        selector = ModelSelector(stack, 12, (), {'viscous': TERMS})
        first = selector.choose(np.arange(12), ('viscous',), (1.0,), 'known')
        for name in ('wls', *CLOSED_LOOP):
            chosen = first if name == 'wls' else refined(selector, first, np.arange(12), name)
            base, linear = base_estimate(stack, chosen, name, signals, TERMS)
            true = np.concatenate([robot.parameters, [
                2.0 if feature.term == 'viscous' else 0.0 for feature in chosen.model.features]])
            # In standard deviations of weighted least squares.
            scale = found.setdefault('scale', np.sqrt(np.diag(linear.covariance)))
            found.setdefault(name, []).append((linear.x - base.matrix @ true) / scale)
    return {name: np.array(found[name]) for name in ('wls', *CLOSED_LOOP)}


def test_noise_of_accelerations_biases_least_squares_alone(errors):
    bias = {name: np.sqrt(np.mean(np.mean(one, axis=0) ** 2)) for name, one in errors.items()}
    # The mean of unbiased errors is within two of its standard deviations.
    for name in CLOSED_LOOP:
        scatter = np.sqrt(np.mean(np.var(errors[name], axis=0, ddof=1) / RUNS))
        assert bias[name] < 2.0 * scatter, name
        assert bias['wls'] > 3.0 * bias[name], name


@pytest.mark.parametrize('estimator', CLOSED_LOOP)
def test_an_identification_by_name(recorded, estimator):
    robot = recorded[0]
    found = identify(log(recorded, 0), with_scaled_masses(robot, 1.3), EstimateSettings(
        estimator=estimator, friction=TERMS, armature=False, gravity='known', cutoff=5.0, lag=0.0))
    assert found.estimator == estimator and found.is_consistent
    assert found.validation.total < 0.05
    assert list(found.friction('viscous').values()) == pytest.approx([2.0] * 3, abs=0.3)
    (choice,) = (one for one in found.choices if one.what == 'estimator')
    assert choice.value == estimator and 'of consistent' in choice.reason
    ours, true, described = (Dynamics(one).inverse_dynamics(*np.ones((3, 3))) for one in (
        found.identified_robot(), robot, with_scaled_masses(robot, 1.3)))
    assert np.linalg.norm(ours - true) < 0.2 * np.linalg.norm(described - true)
