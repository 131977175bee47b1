# SPDX-License-Identifier: Apache-2.0
"""Derivatives of inverse and forward dynamics and linear models, for `Dynamics`."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.dynamics.linearisation import LinearModel, motion_of_deviations
from robot_dynamics.dynamics.samples import check_several, finished
from robot_dynamics.errors import ParameterError
from robot_dynamics.model.arrays import FloatArray

if TYPE_CHECKING:
    from robot_dynamics.dynamics.equations import Dynamics


_NAMES = ('dtau_dq', 'dtau_dv', 'M')


class EffortDerivatives:
    """Derivatives of inverse and forward dynamics.

    Along a joint of several coordinates, d/dq_h is the derivative along the motion that
    unit velocity v_h makes: such velocities are no derivatives of coordinates.
    """

    @cached_property
    def _effort_kernels(self: Dynamics) -> Any:
        # Imported at the first use, so that no control loop compiles them.
        from robot_dynamics.dynamics.kernels import effort_derivatives
        return effort_derivatives

    def inverse_dynamics_derivatives(self: Dynamics, q: ArrayLike, v: ArrayLike, a: ArrayLike,
                                     out: tuple[FloatArray, FloatArray, FloatArray] | None = None,
                                     ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Differentiate the inverse dynamics tau = M a + C v + g.

        Parameters
        ----------
        q, v, a : array_like, shape (..., n)
            Positions, velocities, accelerations.
        out : tuple of three ndarrays, optional
            Where to write the results; they must share no memory.

        Returns
        -------
        dtau_dq : ndarray, shape (..., n, n)
            dtau_dq[i, h] = d tau_i/d q_h, N m/rad and the like.
        dtau_dv : ndarray, shape (..., n, n)
            dtau_dv[i, h] = d tau_i/d v_h.
        M : ndarray, shape (..., n, n)
            d tau/d a, the mass matrix.

        Notes
        -----
        ::

            dtau/dq_h = dM/dq_h a + dC/dq_h v + dg/dq_h
            dtau/dv_h = dC/dv_h v + C e_h

        computed without these tensors in O(n d) for a tree of depth d: Singh, Russell,
        Wensing, "Efficient analytical derivatives of rigid-body dynamics using spatial
        vector algebra". Equal to Garofalo, Ott, Albu-Schaeffer, "On the closed form
        computation of the dynamic matrices and their differentiations", eq. 24.
        """
        kernels = self._effort_kernels
        if self._is_direct:
            n = self.n
            results = ((np.empty((n, n)), np.empty((n, n)), np.empty((n, n))) if out is None
                       else check_several(out, _NAMES))
            try:
                if not kernels.effort_derivatives.call(self._model, q, v, a, *results):
                    return results
            except TypeError:
                kernels.effort_derivatives.load()
        samples = self._gather(q=q, v=v, a=a)
        count, b = len(samples.rows[0]), len(self._model) - 1
        dq, dv, M = (np.empty((count, b, b)) for _ in range(3))
        kernels.many_effort_derivatives.load()(
            self._model, *self._coupling.of_bodies(samples.rows), dq, dv, M)
        matrix = self._coupling.matrix
        return finished(samples, (matrix(dq), matrix(dv), matrix(M)), out, _NAMES)

    def forward_dynamics_derivatives(self: Dynamics, q: ArrayLike, v: ArrayLike, tau: ArrayLike,
                                     ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Differentiate the forward dynamics a = M^-1 (tau - C v - g).

        Parameters
        ----------
        q, v, tau : array_like, shape (..., n)
            Positions, velocities, joint efforts.

        Returns
        -------
        da_dq : ndarray, shape (..., n, n)
            da_dq[i, h] = d a_i/d q_h = -[M^-1 dtau/dq]_ih at the acceleration a.
        da_dv : ndarray, shape (..., n, n)
            da_dv[i, h] = d a_i/d v_h = -[M^-1 dtau/dv]_ih.
        da_dtau : ndarray, shape (..., n, n)
            M^-1.

        Raises
        ------
        ModelError
            When M is not positive definite; names the joint.

        Notes
        -----
        tau = tau(q, v, a(q, v, tau)) differentiated: Sohl, Bobrow, "A recursive multibody
        dynamics and sensitivity algorithm for branched kinematic chains"; Singh, Russell,
        Wensing (see `inverse_dynamics_derivatives`).
        """
        return self._acceleration_derivatives(q, v, self.forward_dynamics(q, v, tau))

    def linearise(self: Dynamics, q: ArrayLike, v: ArrayLike, *, tau: ArrayLike | None = None,
                  a: ArrayLike | None = None) -> LinearModel:
        """Linear model of small deviations from a point of a trajectory.

        Parameters
        ----------
        q, v : array_like, shape (..., n)
            Positions and velocities of the point.
        tau : array_like, shape (..., n), optional
            Joint efforts there; or give ``a``.
        a : array_like, shape (..., n), optional
            Accelerations there; or give ``tau``.

        Returns
        -------
        LinearModel
            A and B of dx/dt = A x + B u with x = (dq, dv), u = dtau; and of them the
            model for a period, `LinearModel.discrete`.

        Notes
        -----
        ::

            A = [[0, 1], [-M^-1 dtau/dq, -M^-1 dtau/dv]],   B = [[0], [M^-1]]

        Van Winssen, deSilva, "Accurate trajectory control of robotic manipulators", eq. 5,
        with the sign of A corrected. Joints of several coordinates deviate by
        dq = `Robot.difference`, whose rate turns with their velocity: see
        `robot_dynamics.dynamics.linearisation`.
        """
        if (tau is None) == (a is None):
            raise ParameterError('are both given' if tau is not None else 'are both missing',
                                 subject='tau and a',
                                 remedy='give the efforts or the accelerations of the point')
        if a is None:
            a = self.forward_dynamics(q, v, tau)
        da_dq, da_dv, da_dtau = self._acceleration_derivatives(q, v, a)
        v = np.broadcast_to(np.asarray(v, dtype=np.float64), da_dq.shape[:-1])
        return LinearModel.of(motion_of_deviations(self.robot, v), da_dq, da_dv, da_dtau)

    def _acceleration_derivatives(self: Dynamics, q: ArrayLike, v: ArrayLike, a: ArrayLike,
                                  ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Differentiate the acceleration where it is known."""
        from robot_dynamics.dynamics.kernels import solve_columns
        n = self.n
        dtau_dq, dtau_dv, M = self.inverse_dynamics_derivatives(q, v, a)
        results = np.empty_like(M), np.empty_like(M), np.empty_like(M)
        try:
            joint = solve_columns.divide_by_inertia.call(self._model, M, dtau_dq, dtau_dv,
                                                         *results)
        except TypeError:
            solve_columns.divide_by_inertia.load()
            joint = solve_columns.REFUSED
        if joint >= solve_columns.NO_INERTIA:
            self._refuse_to_accelerate(self._gather(q=q).rows[0], joint - solve_columns.NO_INERTIA)
        if joint == solve_columns.DONE:
            return results
        both = np.empty((*M.shape[:-1], 3 * n))
        both[..., :n], both[..., n:2 * n], both[..., 2 * n:] = -dtau_dq, -dtau_dv, np.eye(n)
        joint = solve_columns.solve_columns.load()(M.reshape(-1, n, n),
                                                   both.reshape(-1, n, 3 * n))
        if joint != solve_columns.SOLVED:
            self._refuse_to_accelerate(self._gather(q=q).rows[0], joint)
        return tuple(np.ascontiguousarray(both[..., k * n:(k + 1) * n]) for k in range(3))
