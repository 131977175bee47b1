# SPDX-License-Identifier: Apache-2.0
"""The prediction error of a composite law: what the applied effort says of the estimates.

Over one sampling interval the mean acceleration is known from two velocities. With Y_m
the regressor at the middle of the interval and tau the effort that acted during it, both
through the same first-order low-pass filter, true parameters satisfy tau_f = Y_f pi. The
gradient of the weighted squared error::

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
from robot_dynamics.dynamics.kernels.loading import kernel, part
from robot_dynamics.model.arrays import FloatArray


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
        Rotor inertias that are taken for known: their effort is no error. kg m^2 or kg.

    Attributes
    ----------
    filtered : ndarray, shape (n, 10 nb + k n + 1)
        Y_f and, in the last column, tau_f.
    known : ndarray, shape (10 nb + k n,)
        Parameters that are known on top of those estimated, such as those of a payload:
        their effort is taken off tau before it is filtered. To be overwritten in place.
    """

    def __init__(self, dynamics: Dynamics, terms: tuple[str, ...], cutoff: float,
                 known_rotors: FloatArray):
        self._dynamics = dynamics
        self._terms = terms
        self._rate = 2.0 * math.pi * cutoff
        self._rotors = np.array(known_rotors)
        self._describe = describe_interval.load()
        self._filter = filter_interval.load()
        self._add = add_prediction_error.load()
        self._sample = dynamics.regressor_buffer(terms)
        self.filtered = np.zeros((dynamics.n, self._sample.shape[1] + 1))
        self.known = np.zeros(self._sample.shape[1])
        # Middle of the last interval: q, v, a; then the velocity at its end.
        self._motion = np.zeros((4, dynamics.n))
        self._middle = tuple(self._motion[:3])
        self._is_first = True

    def reset(self) -> None:
        """Forget the last state and what the filter holds."""
        self.filtered[:] = 0.0
        self._is_first = True

    def skip(self, v: FloatArray) -> None:
        """Take note of a velocity after an interval that says nothing, e.g. a gap."""
        self._motion[3] = v
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
        motion = self._motion
        self._describe(q, v, dt, motion)
        self._dynamics.regressor(*self._middle, self._terms, self._sample)
        # From zero on: regressor and effort are late alike, and what is true of the ones
        # not filtered is true of these from the first sample.
        share = 1.0 - math.exp(-self._rate * dt)
        self._filter(self._sample, motion, effort, self._rotors, self.known, share,
                     self.filtered)

    def add_gradient(self, estimate: FloatArray, weight: float, mass_matrix: FloatArray,
                     gradient: FloatArray) -> None:
        """Add Y_f^T W (tau_f - Y_f pi) to a gradient, with W_ii = weight / M_ii.

        Parameters
        ----------
        estimate, gradient : ndarray, shape (10 nb + k n,)
            pi, and where to add.
        weight : float
            w / omega_D. s.
        mass_matrix : ndarray, shape (n, n)
            M.
        """
        self._add(self.filtered, estimate, weight, mass_matrix, gradient)


@kernel('void(f8[::1], f8[::1], f8, f8[:, ::1])')
def describe_interval(q, v, dt, motion):
    """Write the middle of an interval from the state at its end and the velocity before."""
    for i in range(q.size):
        before = motion[3, i]
        motion[1, i] = 0.5 * (v[i] + before)
        # By the mean velocity, not by the position before: that may have turned over 2 pi.
        motion[0, i] = q[i] - 0.5 * dt * motion[1, i]
        motion[2, i] = (v[i] - before) / dt
        motion[3, i] = v[i]


@kernel('void(f8[:, ::1], f8[:, ::1], f8[::1], f8[::1], f8[::1], f8, f8[:, ::1])')
def filter_interval(sample, motion, effort, rotors, known, share, filtered):
    """Move what is filtered by a share of the way to the new interval."""
    last = sample.shape[1]
    for i in range(sample.shape[0]):
        moved = effort[i] - rotors[i] * motion[2, i] - row_times(sample, i, known)
        filtered[i, last] += share * (moved - filtered[i, last])
        for k in range(np.uint64(last)):
            filtered[i, k] += share * (sample[i, k] - filtered[i, k])


@kernel('void(f8[:, ::1], f8[::1], f8, f8[:, ::1], f8[::1])')
def add_prediction_error(filtered, estimate, weight, mass_matrix, gradient):
    """Add Y^T W (tau - Y pi) to the gradient, W_ii = weight / M_ii."""
    last = estimate.size
    for i in range(filtered.shape[0]):
        error = filtered[i, last] - row_times(filtered, i, estimate)
        error *= weight / mass_matrix[i, i]
        for k in range(np.uint64(last)):
            gradient[k] += filtered[i, k] * error


@part
def row_times(matrix, i, x):
    """Return the product of the first entries of a row with x.

    In four sums side by side: an addition waits for none but the fourth before it.
    """
    whole = np.uint64(x.size - x.size % 4)
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    for k in range(np.uint64(0), whole, np.uint64(4)):
        a += matrix[i, k] * x[k]
        b += matrix[i, k + np.uint64(1)] * x[k + np.uint64(1)]
        c += matrix[i, k + np.uint64(2)] * x[k + np.uint64(2)]
        d += matrix[i, k + np.uint64(3)] * x[k + np.uint64(3)]
    total = (a + b) + (c + d)
    for k in range(whole, np.uint64(x.size)):
        total += matrix[i, k] * x[k]
    return total
