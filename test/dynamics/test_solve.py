# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from robot_dynamics.dynamics.kernels.loading import kernel
from robot_dynamics.dynamics.kernels.solve import diagonalise


@kernel('void(f8[:, ::1], f8[:, ::1])', on_demand=True)
def eigen(A, V):
    diagonalise(A, V)


@pytest.mark.parametrize('spread', [0.0, 4.0, 12.0])
def test_eigenvalues_are_those_of_lapack(spread):
    random = np.random.default_rng(0)
    for n in (1, 2, 6, 7):
        Q = np.linalg.qr(random.normal(size=(n, n)))[0]
        A = (Q * 10.0 ** random.uniform(-spread, 0.0, n)) @ Q.T
        A = 0.5 * (A + A.T)
        D, V = A.copy(), np.empty((n, n))
        eigen.load()(D, V)
        values = np.diagonal(D)
        np.testing.assert_allclose(np.sort(values), np.linalg.eigvalsh(A), atol=1e-14)
        np.testing.assert_allclose(V.T @ V, np.eye(n), atol=1e-13)
        np.testing.assert_allclose((V * values) @ V.T, A, atol=1e-13)


def test_a_matrix_of_zeros_is_diagonal():
    D, V = np.zeros((6, 6)), np.empty((6, 6))
    eigen.load()(D, V)
    np.testing.assert_array_equal(V, np.eye(6))
    assert not D.any()
