# SPDX-License-Identifier: Apache-2.0
"""Normal equations and triangular factors of stacked regressors, without the stack."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.errors import ParameterError
from robot_dynamics.model.arrays import FloatArray, IntArray, real_array


class NormalEquations(NamedTuple):
    """Normal equations of W x = tau in p columns: W^T W x = W^T tau.

    To combine recordings, add the fields.

    Parameters
    ----------
    W_W : ndarray, shape (p, p)
        W^T W.
    W_tau : ndarray, shape (p,)
        W^T tau.
    tau_tau : float
        tau^T tau.
    """

    W_W: FloatArray
    W_tau: FloatArray
    tau_tau: float


class Factor(NamedTuple):
    """Triangular factor of [W tau]: |W x - tau|^2 = |R x - z|^2 + rest^2.

    Parameters
    ----------
    R : ndarray, shape (p, p)
        Upper triangular with a nonnegative diagonal; R^T R = W^T W.
    z : ndarray, shape (p,)
        Right-hand side; R^T z = W^T tau.
    rest : float
        Norm of the residual: the part of tau outside the span of W.
    """

    R: FloatArray
    z: FloatArray
    rest: float


def summed(shares: Iterable[FloatArray], p: int) -> NormalEquations:
    """Normal equations from the products [W tau]^T [W tau] of pieces, shape (p + 1, p + 1)."""
    G = np.zeros((p + 1, p + 1))
    for share in shares:
        G += share
    W_W = np.triu(G[:p, :p])
    return NormalEquations(W_W + np.triu(W_W, 1).T, G[:p, p].copy(), float(G[p, p]))


def merged(triangles: Iterable[FloatArray], p: int) -> Factor:
    """Triangular factor of all rows from those of pieces, shape (p + 1, p + 1) each."""
    whole = None
    for triangle in triangles:
        whole = triangle if whole is None else triangle_of(np.vstack([whole, triangle]))
    if whole is None:
        whole = np.zeros((p + 1, p + 1))
    whole *= np.where(np.diag(whole) < 0.0, -1.0, 1.0)[:, np.newaxis]
    return Factor(whole[:p, :p].copy(), whole[:p, p].copy(), float(whole[p, p]))


def triangle_of(rows: FloatArray) -> FloatArray:
    """Square triangular factor of rows, padded with rows of zeros."""
    missing = max(rows.shape[1] - rows.shape[0], 0)
    triangle: Any = np.linalg.qr(np.pad(rows, ((0, missing), (0, 0))), mode='r')
    return triangle


def check_columns(columns: Sequence[int] | None, width: int) -> IntArray:
    """The columns to keep; all of them for None."""
    if columns is None:
        return np.arange(width)
    remedy = f'give distinct whole numbers from 0 to {width - 1}'
    numbers = real_array(columns, 'columns', remedy)
    if (numbers.ndim != 1 or np.asarray(columns).dtype == bool
            or not np.all((numbers >= 0) & (numbers < width) & (numbers == np.floor(numbers)))):
        raise ParameterError('must be columns of the regressor', subject='columns',
                             remedy=remedy)
    kept = numbers.astype(np.int64)
    if len(np.unique(kept)) != len(kept):
        raise ParameterError('names a column twice', subject='columns', remedy=remedy)
    return kept


def check_weights(weights: ArrayLike) -> FloatArray:
    """Weights of squared errors."""
    array = real_array(weights, 'weights')
    if not np.all((array >= 0.0) & (array < np.inf)):
        raise ParameterError('must be finite and not negative', subject='weights',
                             remedy='give the inverse of a variance for each joint or row')
    return array
