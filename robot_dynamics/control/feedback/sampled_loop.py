# SPDX-License-Identifier: Apache-2.0
"""The sampled and delayed loop of a linear feedback: its transition matrix and eigenvalues.

With the gain K, a sampling period T and a delay d = l T + d' from a state to the effort that
answers it, the last l + 1 efforts are states as well::

    x(k + 1) = Phi x(k) + Phi(T - d') Gamma(d') u(k - l - 1) + Gamma(T - d') u(k - l)
    u(k)     = -K x(k)

A gain with an integral of positions has one more state, z(k + 1) = z(k) + T q(k). The loop is
stable if all eigenvalues of the matrix of these equations are within the unit circle.

References
----------
K. J. Astrom and B. Wittenmark, "Computer-controlled systems", section 2.3.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.control.feedback.loaded_model import LinearPoint
from robot_dynamics.dynamics.linearisation import LinearModel
from robot_dynamics.model.arrays import FloatArray


def closed_loop(point: LinearPoint | LinearModel, K: FloatArray, period: float, delay: float
                ) -> FloatArray:
    """Transition matrix of state and past efforts under a feedback, shape (k, m, m).

    For the arm at k points and gains (k, n, 2 n), or (k, n, 3 n) with an integral. m is 2 n, plus
    n for each past period within the delay, plus n for an integral, which follows the state.
    """
    model = point if isinstance(point, LinearModel) else point.linear_model()
    n, size = K.shape[-2:]
    whole = int(np.floor(delay / period + 1e-9))
    part = max(delay - whole * period, 0.0)
    is_split = part > 1e-9 * period
    past = whole + is_split
    matrix = np.zeros((*K.shape[:-2], size + n * past, size + n * past))
    if is_split:
        Phi_late, Gamma_early = model.discrete(part)
        Phi_rest, Gamma_now = model.discrete(period - part)
        Phi, Gamma_before = Phi_rest @ Phi_late, Phi_rest @ Gamma_early
    else:
        Phi, Gamma_now = model.discrete(period)
    state = Phi.shape[-1]
    matrix[..., :state, :state] = Phi
    if size > state:
        matrix[..., state:size, :n] = period * np.eye(n)
        matrix[..., state:size, state:size] = np.eye(n)
    # Columns: the state, u(k - 1), u(k - 2), ...
    def column(steps: int) -> slice:
        return slice(size + n * (steps - 1), size + n * steps)
    if whole == 0:
        matrix[..., :state, :size] -= Gamma_now @ K
    else:
        matrix[..., :state, column(whole)] += Gamma_now
    if is_split:
        matrix[..., :state, column(whole + 1)] += Gamma_before
    if past:
        matrix[..., column(1), :size] = -K
    for steps in range(2, past + 1):
        matrix[..., column(steps), column(steps - 1)] = np.eye(n)
    return matrix


def dominant_eigenvalues(matrices: FloatArray) -> NDArray[np.complex128]:
    """The eigenvalue of the largest magnitude of each matrix; nan where it is not finite."""
    finite = np.all(np.isfinite(matrices), axis=(-2, -1))
    dominant = np.full(matrices.shape[:-2], np.nan, dtype=np.complex128)
    eigenvalues = np.linalg.eigvals(matrices[finite])
    largest = np.abs(eigenvalues).argmax(axis=-1)
    dominant[finite] = np.take_along_axis(eigenvalues, largest[..., None], axis=-1)[..., 0]
    return dominant


def spectral_radii(matrices: FloatArray) -> FloatArray:
    """Largest magnitude of an eigenvalue of each matrix; nan where it is not finite."""
    return np.abs(dominant_eigenvalues(matrices))
