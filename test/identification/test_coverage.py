# SPDX-License-Identifier: Apache-2.0
"""Whether the whole pipeline finds what is true, and says how sure it is.

A short version of ``benchmark/identification_coverage.py``, which has 100 runs of each robot.
"""

import numpy as np
import pytest

from robot_dynamics.control.motion.references import exciting_fourier
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.identification.dataset.dataset import dataset_from_arrays
from robot_dynamics.identification.rigid import EstimateSettings, identify
from robot_dynamics.model.modify import with_scaled_masses
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import resolve_robot

VISCOUS, COULOMB, WIDTH = 0.8, 1.5, 0.05
FRICTION = {'viscous': VISCOUS, 'coulomb': COULOMB}


def settings(cutoff):
    return EstimateSettings(friction=('offset', 'viscous', 'coulomb'), gravity='known', lag=0.0,
                            armature=True, coulomb_width=WIDTH, strength=10.0, cutoff=cutoff)


class Moved:
    """A shipped robot in an exciting motion."""

    def __init__(self, name, seconds, rate):
        self.robot = Robot.from_urdf(resolve_robot(name))
        self.described = with_scaled_masses(self.robot, 1.2)
        self.t = np.arange(int(seconds * rate)) / rate
        motion = exciting_fourier(self.robot, 0, base_frequency=0.1)
        self.q, v, a = motion.sample_many(self.t)
        self.tau = (Dynamics(self.robot).inverse_dynamics(self.q, v, a) + VISCOUS * v
                    + COULOMB * np.tanh(v / WIDTH))

    def found(self, cutoff, noise=None):
        q, tau = self.q, self.tau
        if noise is not None:
            random = np.random.default_rng(noise)
            count = 2.0 * np.pi / 2 ** 17
            q = np.round(q / count) * count
            size = np.sqrt(np.mean(tau ** 2, axis=0))
            tau = tau + 0.02 * size * random.normal(size=tau.shape)
        return identify(dataset_from_arrays(self.described, self.t, q, tau), self.described,
                        settings(cutoff))

    def truth(self, found):
        return found.base.values(np.concatenate([self.robot.parameters, [
            FRICTION.get(feature.term, 0.0) for feature in found.model.features]]))


@pytest.mark.slow
@pytest.mark.parametrize('name', ['puma560', 'arm7', 'rpr'])
def test_without_noise_it_is_exact(name):
    arm = Moved(name, 2.5, 1000.0)
    found = arm.found(450.0)
    truth = arm.truth(found)
    assert len(truth) > 10
    np.testing.assert_allclose(found.base_values, truth, rtol=0.0,
                               atol=1e-8 * np.max(np.abs(truth)))


@pytest.mark.parametrize('cutoff', [3.0, None])
def test_filtered_exact_data_are_within_the_deviations(cutoff):
    """Regressors, friction columns and efforts are filtered alike."""
    arm = Moved('rpr', 20.0, 200.0)
    found = arm.found(cutoff)
    np.testing.assert_array_less(np.abs(found.base_values - arm.truth(found)),
                                 3.0 * found.base_deviations)


@pytest.mark.slow
@pytest.mark.parametrize(('name', 'runs'), [('puma560', 3), ('arm7', 3), ('rpr', 8)])
def test_stated_deviations_are_honest(name, runs):
    """Some 130 to 200 base parameters: 98 % within three deviations, and no more than that."""
    arm = Moved(name, 20.0, 200.0)
    z = []
    for seed in range(runs):
        found = arm.found(3.0, seed)
        z.append((found.base_values - arm.truth(found)) / found.base_deviations)
    z = np.concatenate(z)
    assert len(z) > 100
    assert np.mean(np.abs(z) <= 3.0) >= 0.98
    # Neither much too narrow nor much too wide.
    assert 0.7 < np.sqrt(np.mean(z ** 2)) < 1.3


def test_deviations_of_single_parameters_include_the_description():
    """Masses that are 20 % off where the recording determines combinations only."""
    arm = Moved('rpr', 20.0, 200.0)
    z = []
    for seed in range(4):
        found = arm.found(3.0, seed)
        truth = np.concatenate([arm.robot.parameters, [
            FRICTION.get(feature.term, 0.0) for feature in found.model.features]])
        z.append((found.model.parameters - truth) / np.sqrt(np.diag(found.covariance)))
        assert found.description_deviation == pytest.approx(0.3, abs=0.1)
    z = np.concatenate(z)
    assert np.mean(np.abs(z) <= 3.0) >= 0.98
    assert np.sqrt(np.mean(z ** 2)) > 0.4
