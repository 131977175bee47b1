# SPDX-License-Identifier: Apache-2.0
r"""Small deviations from a trajectory, in continuous and in discrete time.

The state is x = (dq, dv), the input u = dtau. For a joint of several coordinates, dq is the twist
d, in the axes of the moved body, with g = g_0 exp(d) the pose and g_0 that of the trajectory. From
dg/dt = g v follows dd/dt = dv - ad(v) d: the deviation rotates with the velocity::

    dx/dt = A x + B u,    A = [[-ad(v), 1], [da/dq, da/dv]],    B = [[0], [da/dtau]]

With u constant over a period T (zero-order hold), x(k + 1) = Phi x(k) + Gamma u(k)::

    Phi   = exp(A T)               = 1 + A T + (A T)^2 / 2! + ...
    Gamma = int_0^T exp(A t) dt B  = T (1 + A T / 2! + (A T)^2 / 3! + ...) B

Van Winssen, deSilva, "Accurate trajectory control of robotic manipulators": eq. 5 with its
sign corrected, and the series of eqs. 13 and 14.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.errors import ParameterError, shown
from robot_dynamics.model.arrays import FloatArray, is_positive
from robot_dynamics.model.joints import JointType
from robot_dynamics.model.robot import Robot


@dataclass(frozen=True, eq=False)
class LinearModel:
    """Motion of small deviations: dx/dt = A x + B u with x = (dq, dv) and u = dtau.

    Attributes
    ----------
    A : ndarray, shape (..., 2 n, 2 n)
        1/s and 1/s^2.
    B : ndarray, shape (..., 2 n, n)
        Zeros above M^-1.

    Examples
    --------
    >>> from robot_dynamics import Dynamics, Robot
    >>> dynamics = Dynamics(Robot.from_urdf('planar_2r'))
    >>> model = dynamics.linearise([0.3, -0.2], [0.0, 0.0], a=[0.0, 0.0])
    >>> Phi, Gamma = model.discrete(0.002)
    >>> Phi.shape, Gamma.shape
    ((4, 4), (4, 2))
    """

    A: FloatArray
    B: FloatArray

    @classmethod
    def of(cls, turning: FloatArray, da_dq: FloatArray, da_dv: FloatArray,
           da_dtau: FloatArray) -> LinearModel:
        """Assemble A and B from blocks of shape (..., n, n)."""
        n = da_dq.shape[-1]
        A = np.zeros((*da_dq.shape[:-2], 2 * n, 2 * n))
        B = np.zeros((*da_dq.shape[:-2], 2 * n, n))
        A[..., :n, :n] = turning
        A[..., :n, n:] = np.eye(n)
        A[..., n:, :n], A[..., n:, n:] = da_dq, da_dv
        B[..., n:, :] = da_dtau
        return cls(A, B)

    def discrete(self, period: float, order: int | None = None) -> tuple[FloatArray, FloatArray]:
        """Phi and Gamma of x(k + 1) = Phi x(k) + Gamma u(k).

        Parameters
        ----------
        period : float
            Time T from one sample to the next, u being constant in between. s.
        order : int, optional
            Last power of A T in Phi; by default the exponential is computed to machine precision.

        Returns
        -------
        Phi : ndarray, shape (..., 2 n, 2 n)
            Derivative of the state after a period by the state before it.
        Gamma : ndarray, shape (..., 2 n, n)
            Derivative of the state after a period by the input.
        """
        period = _positive(period)
        if order is None:
            return self._exact(period)
        if isinstance(order, bool) or not isinstance(order, (int, np.integer)) or order < 1:
            raise ParameterError(f'must be a positive whole number, got {order!r}',
                                 subject='order', remedy='leave it out for the exponential')
        return self._by_series(period, int(order))

    def _exact(self, period: float) -> tuple[FloatArray, FloatArray]:
        """Phi and Gamma by the exponential of [[A, B], [0, 0]] T (Van Loan)."""
        from scipy.linalg import expm
        size, inputs = self.B.shape[-2:]
        augmented = np.zeros((*self.A.shape[:-2], size + inputs, size + inputs))
        augmented[..., :size, :size], augmented[..., :size, size:] = self.A, self.B
        flat = (augmented * period).reshape(-1, size + inputs, size + inputs)
        powers = np.array([expm(matrix) for matrix in flat]).reshape(augmented.shape)
        return (np.ascontiguousarray(powers[..., :size, :size]),
                np.ascontiguousarray(powers[..., :size, size:]))

    def _by_series(self, period: float, order: int) -> tuple[FloatArray, FloatArray]:
        """Phi and Gamma by powers of A T, up to the order in Phi, one less in its integral."""
        # Terms (A T)^k / k! of Phi, multiplied by T / (k + 1) in Gamma.
        term = np.broadcast_to(np.eye(self.A.shape[-1]), self.A.shape)
        Phi, integral = term, np.zeros_like(self.A)
        k = 0
        while k < order and np.any(term):
            k += 1
            integral = integral + term * (period / k)
            term = product(term, self.A * (period / k))
            Phi = Phi + term
            if not np.all(np.isfinite(term)):
                order = min(order, k + 1)  # what is not finite has gone everywhere by then
        return Phi, product(integral, self.B)


def product(A: FloatArray, B: FloatArray) -> FloatArray:
    """A B; values that are not finite propagate without a warning, as in kernels."""
    with np.errstate(over='ignore', invalid='ignore'):
        return A @ B


def motion_of_deviations(robot: Robot, v: ArrayLike) -> FloatArray:
    """-ad(v) of the joints with several coordinates, shape (..., n, n), else zeros."""
    v = np.asarray(v, dtype=np.float64)
    turning = np.zeros((*v.shape, v.shape[-1]))
    coordinates = robot.coordinates
    for k in coordinates.several:
        at = coordinates.velocities(k)
        turning[..., at, at] = -_ADJOINTS[coordinates.types[k]](v[..., at])
    return turning


def _positive(period: float) -> float:
    if not is_positive(period):
        raise ParameterError(f'must be a positive number, got {shown(period)}', subject='period',
                             remedy='give the time between two samples in seconds')
    return float(period)


def _cross(x: FloatArray) -> FloatArray:
    """Matrices of the vector product with x, shape (..., 3, 3)."""
    matrix = np.zeros((*x.shape, 3))
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        matrix[..., i, j], matrix[..., j, i] = -x[..., k], x[..., k]
    return matrix


def _of_floating(v: FloatArray) -> FloatArray:
    """Matrix ad of a twist (linear, angular)."""
    matrix = np.zeros((*v.shape, 6))
    matrix[..., :3, :3] = matrix[..., 3:, 3:] = _cross(v[..., 3:])
    matrix[..., :3, 3:] = _cross(v[..., :3])
    return matrix


def _of_planar(v: FloatArray) -> FloatArray:
    """Matrix ad of a twist (vx, vy, w) in a plane."""
    x, y, w = np.moveaxis(v, -1, 0)
    matrix = np.zeros((*v.shape, 3))
    matrix[..., 0, 1], matrix[..., 1, 0] = -w, w
    matrix[..., 0, 2], matrix[..., 1, 2] = y, -x
    return matrix


_ADJOINTS = {JointType.FLOATING: _of_floating, JointType.PLANAR: _of_planar,
             JointType.SPHERICAL: _cross}
