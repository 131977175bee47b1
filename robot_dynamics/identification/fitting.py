# SPDX-License-Identifier: Apache-2.0
"""Fits of one model to some blocks of a recording, weighted by what each joint's errors are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robot_dynamics.identification.estimators.consistent import fit_consistent
from robot_dynamics.model.arrays import FloatArray

#: Weights and parameters are computed in turn so many times.
PASSES = 3


@dataclass(frozen=True, eq=False)
class Fit:
    """Parameters and what is left of the efforts.

    Parameters
    ----------
    x : ndarray, shape (p,)
        Parameters.
    weights : ndarray, shape (n,)
        Inverse variance of the errors of each joint.
    errors : ndarray, shape (n,)
        Sum of their squares, N^2 m^2.
    steps : int
        Newton steps of the last pass.
    """

    x: FloatArray
    weights: FloatArray
    errors: FloatArray
    steps: int


def squared_errors(products: FloatArray, x: FloatArray) -> FloatArray:
    """Return |A x - y|^2 from products [A y]^T [A y] of shape (..., p + 1, p + 1)."""
    z = np.append(x, -1.0)
    return np.maximum(products @ z @ z, 0.0)


def variances(errors: FloatArray, products: FloatArray, rows: FloatArray) -> FloatArray:
    """Return the variance of the errors of each joint, of a floor on.

    A millionth of the effort: a simulated arm without noise has no errors at all.
    """
    return np.maximum(errors, 1e-12 * products[:, -1, -1] + 1e-300) / np.maximum(rows, 1.0)


def fit(products: FloatArray, prior: FloatArray, strength: float, rows: FloatArray,
        start: Fit | None = None, passes: int = PASSES) -> Fit:
    """Fit a model.

    Parameters
    ----------
    products : ndarray, shape (n, p + 1, p + 1)
        Products of each joint.
    prior : ndarray, shape (nb, 4, 4)
        Pseudo-inertias of the description.
    strength : float
        Of the pull towards them.
    rows : ndarray, shape (n,)
        Rows of each joint.
    start : Fit, optional
        Where to begin.
    passes : int
        Times that weights are computed from the errors of the pass before. Those of an
        unconstrained fit would be too high where the motion says little.

    Returns
    -------
    Fit
        The fit.
    """
    x = None if start is None else start.x
    # First all joints by their efforts, so that no unit and no strong joint decides.
    weights = (rows / np.maximum(products[:, -1, -1], 1e-300) * 100.0 if start is None
               else start.weights)
    for _ in range(passes):
        whole = np.tensordot(weights, products, 1)
        found = fit_consistent(whole[:-1, :-1], whole[:-1, -1], prior, strength, x)
        x, errors = found.x, squared_errors(products, found.x)
        weights = 1.0 / variances(errors, products, rows)
    return Fit(x, weights, errors, found.steps)
