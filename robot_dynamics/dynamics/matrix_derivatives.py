# SPDX-License-Identifier: Apache-2.0
"""Derivatives of M, C and g in time, state and parameters, for `Dynamics`."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.dynamics.samples import check_several, finished
from robot_dynamics.errors import ParameterError
from robot_dynamics.model.arrays import FloatArray

if TYPE_CHECKING:
    from robot_dynamics.dynamics.equations import Dynamics
    from robot_dynamics.dynamics.samples import Samples


#: Factorisations of C by name, with the number that kernels know them by.
FACTORISATIONS = {'christoffel': 0, 'garofalo': 1}

_IN_TIME = ('M', 'C', 'g', 'M_dot', 'C_dot', 'g_dot')


class StateDerivatives(NamedTuple):
    """Derivatives of M, C and g along q and v; index h is that of q_h or v_h."""

    #: dM_dq[h, i, j] = dM_ij/dq_h, shape (..., n, n, n).
    dM_dq: FloatArray
    #: dC_dq[h, i, j] = dC_ij/dq_h, shape (..., n, n, n).
    dC_dq: FloatArray
    #: dC_dv[h, i, j] = dC_ij/dv_h, shape (..., n, n, n).
    dC_dv: FloatArray
    #: dg_dq[h, i] = dg_i/dq_h, shape (..., n, n).
    dg_dq: FloatArray


class ParameterDerivatives(NamedTuple):
    """Derivatives of M, C and g along the inertial parameters; index p is that of pi_p."""

    #: dM_dpi[p, i, j] = dM_ij/dpi_p, shape (..., 10 nb, n, n).
    dM_dpi: FloatArray
    #: dC_dpi[p, i, j] = dC_ij/dpi_p, shape (..., 10 nb, n, n).
    dC_dpi: FloatArray
    #: dg_dpi[p, i] = dg_i/dpi_p, shape (..., 10 nb, n).
    dg_dpi: FloatArray


class TimeDerivatives(NamedTuple):
    """Time derivatives of M, C and g."""

    #: Shape (..., n, n).
    M_dot: FloatArray
    #: Shape (..., n, n).
    C_dot: FloatArray
    #: Shape (..., n).
    g_dot: FloatArray


class MatrixDerivatives:
    """Derivatives of M, C and g.

    Along a joint of several coordinates, d/dq_h is the derivative along the motion that
    unit velocity v_h makes: such velocities are no derivatives of coordinates.
    """

    @cached_property
    def _in_time(self: Dynamics) -> Any:
        # Imported at the first use, so that no control loop compiles them.
        from robot_dynamics.dynamics.kernels import time_derivatives
        return time_derivatives

    def time_derivatives(self: Dynamics, q: ArrayLike, v: ArrayLike, a: ArrayLike,
                         factorisation: str = 'christoffel') -> TimeDerivatives:
        """Differentiate M, C and g in time along a motion.

        Parameters
        ----------
        q, v, a : array_like, shape (..., n)
            Positions, velocities, accelerations.
        factorisation : {'christoffel', 'garofalo'}
            Which C; see `coriolis_matrix`.

        Returns
        -------
        TimeDerivatives
            M_dot and C_dot, shape (..., n, n), and g_dot, shape (..., n).

        Notes
        -----
        Garofalo, Ott, Albu-Schaeffer, "On the closed form computation of the dynamic
        matrices and their differentiations", eq. 25, computed directly::

            dM/dt = sum dJ^T/dt I J + J^T I dJ/dt
            dC/dt = sum dJ^T/dt (Psi J + I dJ/dt) + J^T I d2J/dt2
                    + J^T (dPsi/dt J + Psi dJ/dt)
            dg/dt = sum (dJ^T/dt I - J^T I adj) gamma

        (with adj of dv/dt = J a + dJ/dt v in dPsi/dt, where the paper prints J v).
        """
        number = _number_of(factorisation)
        *_, dM, dC, dg = self.matrix_time_derivatives(q, v, a)
        if number:
            _, dC = self._garofalo(self._gather(q=q, v=v, a=a))
        return TimeDerivatives(dM, dC, dg)

    def matrix_time_derivatives(self: Dynamics, q: ArrayLike, v: ArrayLike, a: ArrayLike,
                         out: tuple[FloatArray, ...] | None = None) -> tuple[FloatArray, ...]:
        """M, C and g and their time derivatives, in one pass.

        Parameters
        ----------
        q, v, a : array_like, shape (..., n)
            Positions, velocities, accelerations.
        out : tuple of six ndarrays, optional
            Where to write the results; they must share no memory.

        Returns
        -------
        M, C, g, M_dot, C_dot, g_dot : ndarrays
            Shapes (..., n, n) and (..., n). C is the Christoffel matrix; see `matrices` and
            `time_derivatives`.
        """
        kernels = self._in_time
        if self._is_direct:
            results = self._room_for_six() if out is None else check_several(out, _IN_TIME)
            try:
                if not kernels.matrix_time_derivatives.call(self._model, q, v, a, *results):
                    return results
            except TypeError:
                kernels.matrix_time_derivatives.load()
        samples = self._gather(q=q, v=v, a=a)
        count, b = len(samples.rows[0]), len(self._model) - 1
        M, C, dM, dC = (np.empty((count, b, b)) for _ in range(4))
        g, dg = np.empty((count, b)), np.empty((count, b))
        kernels.many_matrices_in_time.load()(
            self._model, *self._coupling.of_bodies(samples.rows), M, C, g, dM, dC, dg)
        matrix, efforts = self._coupling.matrix, self._coupling.efforts
        return finished(samples, (matrix(M), matrix(C), efforts(g), matrix(dM), matrix(dC),
                                  efforts(dg)), out, _IN_TIME)

    def state_derivatives(self: Dynamics, q: ArrayLike, v: ArrayLike,
                          factorisation: str = 'christoffel') -> StateDerivatives:
        """Differentiate M, C and g along the state.

        Parameters
        ----------
        q, v : array_like, shape (..., n)
            Positions and velocities.
        factorisation : {'christoffel', 'garofalo'}
            Which C; see `coriolis_matrix`.

        Returns
        -------
        StateDerivatives
            dM_dq, dC_dq and dC_dv, shape (..., n, n, n), and dg_dq, shape (..., n, n); the
            index of q_h or v_h comes first.

        Notes
        -----
        Garofalo, Ott, Albu-Schaeffer, "On the closed form computation of the dynamic
        matrices and their differentiations", eq. 24::

            dM/dq_h = sum dJ^T/dq_h I J + J^T I dJ/dq_h
            dC/dq_h = sum dJ^T/dq_h (Psi J + I dJ/dt) + J^T I d(dJ/dt)/dq_h
                      + J^T (Psi(dJ/dq_h v) J + Psi dJ/dq_h)
            dC/dv_h = sum J^T (Psi(J^h) J + I d(dJ/dt)/dv_h)
            dg/dq_h = sum (dJ^T/dq_h I - J^T I adj(J^h)) gamma

        where for the Christoffel matrix Psi(v) is
        1/2 (I adj(v) - adj(v)^T I + Hb(I v)), also linear in v.
        """
        from robot_dynamics.dynamics.kernels import state_derivatives
        number = _number_of(factorisation)
        samples = self._gather(q=q, v=v)
        count, b = len(samples.rows[0]), len(self._model) - 1
        dM, dCq, dCv = (np.empty((count, b, b, b)) for _ in range(3))
        dg = np.empty((count, b, b))
        state_derivatives.state_derivatives.load()(
            self._model, *self._coupling.of_bodies(samples.rows), number, dM, dCq, dCv, dg)
        tensor, matrix = self._coupling.tensor, self._coupling.matrix
        return StateDerivatives(*finished(
            samples, (tensor(dM), tensor(dCq), tensor(dCv), matrix(dg))))

    def parameter_derivatives(self: Dynamics, q: ArrayLike, v: ArrayLike,
                              factorisation: str = 'christoffel') -> ParameterDerivatives:
        """Differentiate M, C and g along the inertial parameters.

        Parameters
        ----------
        q, v : array_like, shape (..., n)
            Positions and velocities.
        factorisation : {'christoffel', 'garofalo'}
            Which C; see `coriolis_matrix`.

        Returns
        -------
        ParameterDerivatives
            dM_dpi and dC_dpi, shape (..., 10 nb, n, n), and dg_dpi, shape (..., 10 nb, n),
            in the order of `Robot.parameter_names`. M = sum_p dM_dpi[p] pi_p, likewise C, g.

        Notes
        -----
        Garofalo, Ott, Albu-Schaeffer, "On the closed form computation of the dynamic
        matrices and their differentiations", eq. 13, for column j::

            dM^j/dpi_h = J^T A(J^j)^h
            dC^j/dpi_h = J^T (A(adj J^j + dJ^j/dt)^h - adj^T A(J^j)^h)
            dg/dpi_h   = J^T A(gamma)^h

        (the dot in the second is lost in print).
        """
        from robot_dynamics.dynamics.kernels import parameter_derivatives
        number = _number_of(factorisation)
        samples = self._gather(q=q, v=v)
        count, b = len(samples.rows[0]), len(self._model) - 1
        p = len(self.robot.parameters)
        dM, dC = np.empty((count, p, b, b)), np.empty((count, p, b, b))
        dg = np.empty((count, p, b))
        parameter_derivatives.parameter_derivatives.load()(
            self._model, *self._coupling.of_bodies(samples.rows), number, dM, dC, dg)
        matrix, efforts = self._coupling.matrix, self._coupling.efforts
        return ParameterDerivatives(*finished(samples, (matrix(dM), matrix(dC), efforts(dg))))

    def _coriolis_matrix(self: Dynamics, q: ArrayLike, v: ArrayLike,
                         factorisation: str) -> FloatArray:
        """C in another factorisation than Christoffel's."""
        _number_of(factorisation)
        return self._garofalo(self._gather(q=q, v=v, a=np.zeros(self.n)))[0]

    def _garofalo(self: Dynamics, samples: Samples) -> tuple[FloatArray, ...]:
        """C and its time derivative, as Garofalo, Ott and Albu-Schaeffer factorise it."""
        from robot_dynamics.dynamics.kernels import coriolis
        count, b = len(samples.rows[0]), len(self._model) - 1
        C, dC = np.empty((count, b, b)), np.empty((count, b, b))
        coriolis.coriolis_in_time.load()(
            self._model, *self._coupling.of_bodies(samples.rows), FACTORISATIONS['garofalo'],
            C, dC)
        matrix = self._coupling.matrix
        return finished(samples, (matrix(C), matrix(dC)))

    def _room_for_six(self: Dynamics) -> tuple[FloatArray, ...]:
        n = self.n
        return (np.empty((n, n)), np.empty((n, n)), np.empty(n),
                np.empty((n, n)), np.empty((n, n)), np.empty(n))


def _number_of(factorisation: Any) -> int:
    """Return how kernels call a factorisation; refuse what is none."""
    try:
        return FACTORISATIONS[factorisation]
    except (KeyError, TypeError):
        raise ParameterError(f'is {factorisation!r}, which is no factorisation of C',
                             subject='factorisation',
                             remedy='choose among ' + ', '.join(FACTORISATIONS)) from None
