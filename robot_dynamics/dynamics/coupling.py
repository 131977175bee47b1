# SPDX-License-Identifier: Apache-2.0
"""Between the independent joints of a robot and the joints of its bodies.

Bodies follow the joints by v_b = S v, so by the principle of virtual work
tau = S^T tau_b, M = S^T M_b S and Y = S^T Y_b. S is constant, so C = S^T C_b S is the
Christoffel matrix of M. Positions follow by q_b = S q + s0 with the same S, but for joints of
several coordinates, which have more positions than velocities (`Robot.position_coupling`).
"""

from __future__ import annotations

import numpy as np

from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import Robot


def product(A: FloatArray, B: FloatArray) -> FloatArray:
    """Return A B; what is not finite travels without a warning, as in kernels."""
    with np.errstate(over='ignore', invalid='ignore'):
        return A @ B


class Coupling:
    """The maps of one robot; each returns its argument where the robot needs no map.

    All arrays may have leading batch axes.
    """

    def __init__(self, robot: Robot):
        self.is_direct = robot.is_directly_driven
        self._matrix = np.array(robot.coupling)
        of_positions, offset = robot.position_coupling
        self._of_positions, self._offset = np.array(of_positions), np.array(offset)

    def positions(self, q: FloatArray) -> FloatArray:
        """S q + s0, shape (..., positions of all bodies)."""
        return q if self.is_direct else product(q, self._of_positions.T) + self._offset

    def rates(self, v: FloatArray) -> FloatArray:
        """S v, shape (..., velocities of all bodies), for velocities and accelerations."""
        return v if self.is_direct else product(v, self._matrix.T)

    def of_bodies(self, rows: list[FloatArray]) -> list[FloatArray]:
        """Positions, then rates as many as there are, for the joints of bodies."""
        positions, *rates = rows
        return [self.positions(positions), *map(self.rates, rates)]

    def efforts(self, tau: FloatArray) -> FloatArray:
        """S^T tau_b, shape (..., n)."""
        return tau if self.is_direct else product(tau, self._matrix)

    def rows(self, Y: FloatArray) -> FloatArray:
        """S^T Y_b, shape (..., n, columns)."""
        return Y if self.is_direct else product(self._matrix.T, Y)

    def columns(self, J: FloatArray) -> FloatArray:
        """J_b S, shape (..., rows, n)."""
        return J if self.is_direct else product(J, self._matrix)

    def matrix(self, A: FloatArray) -> FloatArray:
        """S^T A_b S, shape (..., n, n)."""
        return A if self.is_direct else product(product(self._matrix.T, A), self._matrix)

    def tensor(self, A: FloatArray) -> FloatArray:
        """sum_b S[b, h] S^T A_b[b] S, shape (..., n, n, n), for the derivative of a matrix."""
        return A if self.is_direct else self.along(self.matrix(A))

    def along(self, A: FloatArray) -> FloatArray:
        """sum_b S[b, h] A[..., b, :, :], for the derivatives along the joints of bodies."""
        return A if self.is_direct else np.einsum('bh,...bij->...hij', self._matrix, A)
