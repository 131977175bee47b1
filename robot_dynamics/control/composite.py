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

from robot_dynamics.control import law_kernels
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.model.robot import FloatArray, IntArray


class PredictionError:
    """Filtered regressor and effort, and the gradient they give.

    Parameters
    ----------
    dynamics : Dynamics
        Equations of the model.
    kinds : ndarray of int64, shape (k,)
        Joint terms that are learnt too, as indices into `JOINT_TERMS`.
    coulomb_velocity : float
        Speed below which Coulomb friction fades out. rad/s or m/s.
    cutoff : float
        Cut-off of the filter. Hz.
    known_rotors : ndarray, shape (n,)
        Rotor inertias that are taken for known: their effort is no error. kg m^2 or kg.
    """

    def __init__(self, dynamics: Dynamics, kinds: IntArray, coulomb_velocity: float,
                 cutoff: float, known_rotors: FloatArray):
        n = dynamics.n
        self._dynamics = dynamics
        self._kinds = kinds
        self._epsilon = coulomb_velocity
        self._rate = 2.0 * math.pi * cutoff
        self._rotors = np.array(known_rotors)
        self._interval = law_kernels.describe_interval.load()
        self._filter = law_kernels.filter_interval.load()
        self._add = law_kernels.add_prediction_error.load()
        self._sample = dynamics.regressor_buffer()
        # Everything filtered side by side: inertial columns, diagonals of the terms, effort.
        self._filtered = np.zeros((n, self._sample.shape[1] + len(kinds) + 1))
        #: Middle of the last interval: position, velocity, acceleration; then last velocity.
        self._motion = np.zeros((4, n))
        self._is_empty = self._is_first = True

    def reset(self) -> None:
        """Forget the last state and what the filter holds."""
        self._is_empty = self._is_first = True

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
        self._interval(q, v, dt, motion)
        self._dynamics.regressor(motion[0], motion[1], motion[2], out=self._sample)
        # The first sample fills the filter; after that it is exact for a constant input.
        share = 1.0 if self._is_empty else 1.0 - math.exp(-self._rate * dt)
        self._filter(self._sample, motion, effort, self._rotors, self._kinds, self._epsilon,
                     share, self._filtered)
        self._is_empty = False

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
        if not self._is_empty:
            self._add(self._filtered, len(self._kinds), estimate, weight, mass_matrix, gradient)
