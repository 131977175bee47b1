# SPDX-License-Identifier: Apache-2.0
"""Named tuples that methods of `Dynamics` return."""

from __future__ import annotations

from typing import NamedTuple

from robot_dynamics.model.arrays import FloatArray


class InverseDynamicsDerivatives(NamedTuple):
    """Derivatives of the efforts; row i is tau_i, column h is q_h, v_h or a_h."""

    #: d tau_i / d q_h, shape (..., n, n), N m/rad and the like.
    dtau_dq: FloatArray
    #: d tau_i / d v_h, shape (..., n, n).
    dtau_dv: FloatArray
    #: d tau_i / d a_h, the mass matrix, shape (..., n, n).
    M: FloatArray


class ForwardDynamicsDerivatives(NamedTuple):
    """Derivatives of the accelerations; row i is a_i, column h is q_h, v_h or tau_h."""

    #: d a_i / d q_h, shape (..., n, n).
    da_dq: FloatArray
    #: d a_i / d v_h, shape (..., n, n).
    da_dv: FloatArray
    #: d a_i / d tau_h = M^-1, shape (..., n, n).
    da_dtau: FloatArray


class InverseDynamicsRates(NamedTuple):
    """Efforts and their time derivatives, shape (..., n)."""

    #: N m or N.
    tau: FloatArray
    #: N m/s or N/s.
    tau_dot: FloatArray
    #: N m/s^2 or N/s^2.
    tau_ddot: FloatArray


class MatrixTimeDerivatives(NamedTuple):
    """M, C and g and their time derivatives: matrices (..., n, n) and vectors (..., n)."""

    M: FloatArray
    C: FloatArray
    g: FloatArray
    M_dot: FloatArray
    C_dot: FloatArray
    g_dot: FloatArray


class TimeDerivatives(NamedTuple):
    """Time derivatives of M and C, shape (..., n, n), and of g, shape (..., n)."""

    M_dot: FloatArray
    C_dot: FloatArray
    g_dot: FloatArray


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


class JacobianDerivatives(NamedTuple):
    """Derivatives of the Jacobian of a frame and of its rate; index h is that of q_h."""

    #: dJ_dq[h] = dJ/dq_h, shape (..., n, 6, n). It equals d(dJ/dt)/dv_h if each joint has one
    #: coordinate.
    dJ_dq: FloatArray
    #: dJdot_dq[h] = d(dJ/dt)/dq_h, shape (..., n, 6, n).
    dJdot_dq: FloatArray
