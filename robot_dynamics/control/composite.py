# SPDX-License-Identifier: Apache-2.0
"""The prediction error of a composite law: what the applied effort says of the estimates.

Over one sampling interval the mean acceleration is known from two velocities, without a
derivative of a measured signal at one instant. With Y_m the regressor at the middle of
the interval and tau the effort that acted during it, both through the same first-order
low-pass filter, the estimates should satisfy tau_f = Y_f pi. Their gradient

    Y_f^T W (tau_f - Y_f pi)        W = diag(w / (omega_D M_ii))

is added to Yr^T s; it only ever lowers V, whatever the tracking error does.

References
----------
J.-J. E. Slotine and W. Li, "Composite adaptive control of robot manipulators",
Automatica 25(4), 1989, eqs. (16)-(20).
"""

from __future__ import annotations

import math

import numpy as np

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.dynamics.kernels.loading import kernel
from robot_dynamics.model.robot import FloatArray


class PredictionError:
    """Filtered regressor and effort, and the gradient they give.

    Parameters
    ----------
    dynamics : Dynamics
        Equations of the model.
    terms : tuple of str
        Joint terms that are learnt too.
    cutoff : float
        Cut-off of the filter. Hz.
    known_rotors : ndarray, shape (n,)
        Rotor inertias that are taken for known; their effort is subtracted.
    """

    def __init__(self, dynamics: Dynamics, terms: tuple[str, ...], cutoff: float,
                 known_rotors: FloatArray):
        self._dynamics = dynamics
        self._terms = terms
        self._rate = 2.0 * math.pi * cutoff
        self._rotors = known_rotors
        self._add = add_prediction_error.load()
        self._sample = dynamics.regressor_buffer(terms)
        self._regressor = np.zeros_like(self._sample)
        self._effort = np.zeros(dynamics.n)
        self._v = np.zeros(dynamics.n)
        self._is_empty = self._is_first = True

    def reset(self) -> None:
        """Forget the last state and what the filter holds."""
        self._is_empty = self._is_first = True

    def skip(self, v: FloatArray) -> None:
        """Take note of a velocity after an interval that says nothing, e.g. a gap."""
        self._v[:] = v
        self._is_first = False

    def observe(self, q: FloatArray, v: FloatArray, effort: FloatArray, dt: float) -> None:
        """Take in one interval.

        Parameters
        ----------
        q, v : ndarray, shape (n,)
            State at its end.
        effort : ndarray, shape (n,)
            Effort that acted during it. N m or N.
        dt : float
            Its length. s.
        """
        if self._is_first:
            self.skip(v)
            return
        middle = 0.5 * (v + self._v)
        acceleration = (v - self._v) / dt
        self._dynamics.regressor(q - 0.5 * dt * middle, middle, acceleration, self._terms,
                                 self._sample)
        # The first sample fills the filter; afterwards it is exact for a constant input.
        share = 1.0 if self._is_empty else 1.0 - math.exp(-self._rate * dt)
        self._regressor += share * (self._sample - self._regressor)
        self._effort += share * (effort - self._rotors * acceleration - self._effort)
        self._is_empty = False
        self._v[:] = v

    def add_gradient(self, estimate: FloatArray, weight: float, mass_matrix: FloatArray,
                     gradient: FloatArray) -> None:
        """Add Y_f^T W (tau_f - Y_f pi) to a gradient, with W_ii = weight / M_ii.

        Parameters
        ----------
        estimate, gradient : ndarray, shape (10 nb + k n,)
            pi, and where to add.
        weight : float
            1/(N m s/rad) per 1/(kg m^2).
        mass_matrix : ndarray, shape (n, n)
            M.
        """
        if not self._is_empty:
            self._add(self._regressor, self._effort, estimate, weight, mass_matrix, gradient)


@kernel('void(f8[:,::1], f8[::1], f8[::1], f8, f8[:,::1], f8[::1])')
def add_prediction_error(regressor, effort, estimate, weight, mass_matrix, gradient):
    """Add Y^T W (tau - Y pi) to the gradient, W_ii = weight / M_ii."""
    for i in range(effort.size):
        error = effort[i]
        for k in range(estimate.size):
            error -= regressor[i, k] * estimate[k]
        error *= weight / mass_matrix[i, i]
        for k in range(estimate.size):
            gradient[k] += regressor[i, k] * error
