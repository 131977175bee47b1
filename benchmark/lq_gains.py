# SPDX-License-Identifier: Apache-2.0
"""Feedback gains of discrete linear models, by formula: the plain statements.

u(k) = -K x(k) for x(k + 1) = Phi x(k) + Gamma u(k). What a control loop computes instead,
to the same result, is in `robot_dynamics.control.lq.rules`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.errors import ControlError, DimensionError
from robot_dynamics.model.arrays import FloatArray, real_array

#: Weights beyond it, and below its inverse, leave no room for their products.
LARGEST_WEIGHT = 1e100


def one_step_gain(Phi: ArrayLike, Gamma: ArrayLike, Q: ArrayLike) -> FloatArray:
    """Return K = (Gamma^T Q Gamma)^-1 Gamma^T Q Phi.

    The minimiser of x(k + 1)^T Q x(k + 1): greedy, it does not look further.

    Parameters
    ----------
    Phi : array_like, shape (m, m)
        Transition matrix.
    Gamma : array_like, shape (m, n)
        Input matrix.
    Q : array_like, shape (m, m) or (m,)
        Weights, positive semi-definite; a vector is a diagonal.

    Returns
    -------
    ndarray, shape (n, m)
        K.

    Raises
    ------
    ControlError
        Where Gamma^T Q Gamma is singular: the weighted state cannot be reached in a step.

    Notes
    -----
    Van Winssen, deSilva, eq. 10 without its trailing x(k).
    """
    Phi, Gamma = _system(Phi, Gamma)
    Q = _weights(Q, Phi.shape[0], 'Q')
    weighted = Gamma.T @ Q
    reached = weighted @ Gamma
    scale = 1.0 / np.sqrt(np.maximum(np.diagonal(reached), np.finfo(np.float64).tiny))
    # Scaled, so that heavy and light joints count alike in what is called singular.
    scaled = scale[:, None] * reached * scale
    if not np.all(np.isfinite(scaled)) or np.linalg.cond(scaled) > 1e12:
        raise ControlError('Gamma^T Q Gamma has no inverse', subject='one-step gain',
                           remedy='give every position or velocity a positive weight')
    return scale[:, None] * np.linalg.solve(scaled, scale[:, None] * (weighted @ Phi))


def riccati_gain(Phi: ArrayLike, Gamma: ArrayLike, Q: ArrayLike, R: ArrayLike
                 ) -> tuple[FloatArray, FloatArray]:
    """Return the gain of the infinite horizon, and the cost matrix.

    The minimiser of sum_k x^T Q x + u^T R u for k from 0 to infinity.

    Parameters
    ----------
    Phi : array_like, shape (m, m)
        Transition matrix.
    Gamma : array_like, shape (m, n)
        Input matrix.
    Q : array_like, shape (m, m) or (m,)
        Weights of the state, positive semi-definite; a vector is a diagonal.
    R : array_like, shape (n, n) or (n,)
        Weights of the input, positive definite; a vector is a diagonal.

    Returns
    -------
    K : ndarray, shape (n, m)
        (R + Gamma^T X Gamma)^-1 Gamma^T X Phi.
    X : ndarray, shape (m, m)
        Solution of the discrete algebraic Riccati equation: the cost from x is x^T X x.

    Raises
    ------
    ControlError
        Where there is none: the model cannot be stabilised, or R is not positive definite.
    """
    from scipy.linalg import solve_discrete_are
    Phi, Gamma = _system(Phi, Gamma)
    Q, R = _weights(Q, Phi.shape[0], 'Q'), _input_weights(R, Gamma.shape[1])
    try:
        X = solve_discrete_are(Phi, Gamma, Q, R)
    except (np.linalg.LinAlgError, ValueError) as error:
        raise ControlError(f'has no solution: {error}', subject='Riccati equation',
                           remedy='make R positive definite and Q positive semi-definite') \
            from None
    return _gain_of_cost(Phi, Gamma, R, X), X


def finite_riccati_gains(Phi: ArrayLike, Gamma: ArrayLike, Q: ArrayLike, R: ArrayLike,
                         X_end: ArrayLike) -> FloatArray:
    """Return the gains of a finite horizon, one a step.

    The minimiser of x(N)^T X_end x(N) + sum_k x^T Q x + u^T R u for k from 0 to N - 1, the
    model being another one in each step.

    Parameters
    ----------
    Phi : array_like, shape (N, m, m)
        Transition matrices.
    Gamma : array_like, shape (N, m, n)
        Input matrices.
    Q, R : array_like
        Weights, as for `riccati_gain`.
    X_end : array_like, shape (m, m) or (m,)
        Weights of the last state.

    Returns
    -------
    ndarray, shape (N, n, m)
        K(0) to K(N - 1).
    """
    Phis, Gammas = _systems(Phi, Gamma)
    Q, R = _weights(Q, Phis.shape[-1], 'Q'), _input_weights(R, Gammas.shape[-1])
    X = _weights(X_end, Phis.shape[-1], 'X_end')
    gains = np.empty((len(Phis), Gammas.shape[2], Phis.shape[2]))
    for k in range(len(Phis) - 1, -1, -1):
        gains[k] = _gain_of_cost(Phis[k], Gammas[k], R, X)
        closed = Phis[k] - Gammas[k] @ gains[k]
        # Joseph's form: stays symmetric and positive semi-definite.
        X = Q + gains[k].T @ R @ gains[k] + closed.T @ X @ closed
    return gains


def _gain_of_cost(Phi: FloatArray, Gamma: FloatArray, R: FloatArray, X: FloatArray) -> FloatArray:
    ahead = Gamma.T @ X
    return np.linalg.solve(R + ahead @ Gamma, ahead @ Phi)


def _system(Phi: ArrayLike, Gamma: ArrayLike) -> tuple[FloatArray, FloatArray]:
    Phi, Gamma = real_array(Phi, 'Phi'), real_array(Gamma, 'Gamma')
    if Phi.ndim != 2 or Gamma.ndim != 2:
        raise _wrong('Phi and Gamma', (Phi.shape, Gamma.shape), '(m, m) and (m, n)')
    Phis, Gammas = _systems(Phi[None], Gamma[None])
    return Phis[0], Gammas[0]


def _systems(Phi: ArrayLike, Gamma: ArrayLike) -> tuple[FloatArray, FloatArray]:
    Phi, Gamma = real_array(Phi, 'Phi'), real_array(Gamma, 'Gamma')
    if (Phi.ndim != 3 or Gamma.ndim != 3 or Phi.shape[1] != Phi.shape[2] or Phi.shape[1] == 0
            or Gamma.shape[:2] != Phi.shape[:2] or Gamma.shape[2] == 0):
        raise _wrong('Phi and Gamma', (Phi.shape, Gamma.shape), '(..., m, m) and (..., m, n)')
    _finite(Phi, 'Phi')
    _finite(Gamma, 'Gamma')
    return Phi, Gamma


def _weights(value: ArrayLike, size: int, name: str) -> FloatArray:
    """Return weights as a symmetric matrix."""
    array = real_array(value, name)
    if array.shape == (size,):
        array = np.diag(array)
    if array.shape != (size, size):
        raise _wrong(name, (array.shape,), f'({size},) or ({size}, {size})')
    _finite(array, name)
    if not np.allclose(array, array.T, rtol=1e-9, atol=1e-9 * np.abs(array).max(initial=0.0)):
        raise ControlError('is not symmetric', subject=name, remedy='give a symmetric matrix')
    largest = np.abs(array).max()
    if largest and not 1.0 / LARGEST_WEIGHT <= largest <= LARGEST_WEIGHT:
        raise ControlError(f'is of the size of {largest:g}, and products of weights are too large '
                           'or too small for numbers', subject=name,
                           remedy='scale all weights by one factor')
    if np.linalg.eigvalsh(array)[0] < -1e-9 * largest:
        raise ControlError('is not positive semi-definite', subject=name,
                           remedy='give weights from zero up')
    return array


def _input_weights(value: ArrayLike, size: int) -> FloatArray:
    """Return weights by which every input costs something."""
    array = _weights(value, size, 'R')
    if np.linalg.eigvalsh(array)[0] <= 0.0:
        raise ControlError('is not positive definite', subject='R',
                           remedy='give every input a weight above zero')
    return array


def _finite(array: FloatArray, name: str) -> None:
    if not np.all(np.isfinite(array)):
        raise ControlError('holds numbers that are not finite', subject=name,
                           remedy='linearise at states and motions that are finite')


def _wrong(name: str, shapes: Sequence[tuple[int, ...]], wanted: str) -> DimensionError:
    return DimensionError('has shape ' + ' and '.join(map(str, shapes)), subject=name,
                          remedy=f'give {wanted}')
