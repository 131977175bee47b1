# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace

import numpy as np
import pytest

from robot_dynamics.control.feedback.loaded_model import FeedforwardModel
from robot_dynamics.control.feedback.sampled_loop import (
    closed_loop,
    dominant_eigenvalues,
    spectral_radii,
)

T = 0.002


@pytest.mark.parametrize('delay', [0.0, 0.0007, 0.002, 0.0034, 0.006])
def test_the_matrix_is_what_a_simulation_does(arm3, delay):
    """Integrate the linear model finely, with each torque coming late, and compare."""
    arm = replace(arm3, armature=[0.4, 0.2, 0.02], damping=[2.0, 1.0, 0.1])
    random = np.random.default_rng(0)
    point = FeedforwardModel(arm).linearise(*random.normal(size=(3, 1, 3)))
    K = np.concatenate([900.0 * point.M, 60.0 * point.M], axis=-1)
    linear = point.linear_model()
    fine = T / 20.0
    Phi, Gamma = linear.discrete(fine)
    matrix = closed_loop(point, K, T, delay)[0]
    past = (matrix.shape[0] - 6) // 3
    z = random.normal(size=matrix.shape[0])
    torques = {-k - 1: z[6 + 3 * k:9 + 3 * k] for k in range(past)}
    x = z[:6].copy()
    late = round(delay / fine)
    for k in range(5):
        torques[k] = -K[0] @ x
        z = matrix @ z
        for step in range(20):
            sample = (20 * k + step - late) // 20
            x = Phi[0] @ x + Gamma[0] @ torques[sample]
        np.testing.assert_allclose(z[:6], x, rtol=1e-8, atol=1e-8 * np.abs(x).max())


def test_the_largest_eigenvalue_and_nan_of_none():
    matrices = np.array([[[2.0, 0.0], [0.0, -3.0]], [[np.nan, 0.0], [0.0, 1.0]]])
    np.testing.assert_allclose(dominant_eigenvalues(matrices), [-3.0, np.nan])
    np.testing.assert_allclose(spectral_radii(matrices), [3.0, np.nan])
    turning = dominant_eigenvalues(np.array([[[0.0, 1.0], [-0.25, 0.0]]]))
    np.testing.assert_allclose([turning.real[0], abs(turning.imag[0])], [0.0, 0.5], atol=1e-12)
