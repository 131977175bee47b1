# SPDX-License-Identifier: Apache-2.0
"""Spring and damper of an end effector, and their forces as a sampled loop bears them.

`robot_dynamics.control.laws.cartesian_impedance` has the law, and its sources.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robot_dynamics.control.checks import check_fields, positive
from robot_dynamics.control.feedback.gains import FEEDBACK_MARGIN, RATE_MARGIN
from robot_dynamics.control.motion.pose_setpoint import length_of
from robot_dynamics.dynamics.kernels.algebra import cross
from robot_dynamics.dynamics.kernels.loading import kernel, routine
from robot_dynamics.dynamics.kernels.pose import quaternion_axes
from robot_dynamics.dynamics.kernels.solve import SOLVED, diagonalise, factorise, substitute_rows
from robot_dynamics.errors import ParameterError
from robot_dynamics.model.arrays import FloatArray, store

#: Largest stiffness of a mode over its inertia times R^2.
STIFFEST = RATE_MARGIN / FEEDBACK_MARGIN
#: Rate below which the damping ratio of a mode decreases, as a share of R.
SLOWEST_SHARE = 0.01
#: Apparent over true inertia beyond which a direction is lost.
LOST = 20.0
#: Largest sine of half the angle between link and desired pose, where its moment is largest.
LARGEST_SINE = math.sin(math.pi / 4.0)
#: Bounds of divisors.
SMALLEST_ETA, TINY = 1e-12, 1e-300
#: Bounds of stiffness and damping: along and about an axis, N/m, N m/rad, N s/m, N m s/rad.
STIFFNESS_BOUNDS, DAMPING_BOUNDS = ((1.0, 5000.0), (0.1, 500.0)), ((0.0, 2000.0), (0.0, 200.0))
#: Bounds of the damping ratio.
RATIO_BOUNDS = (0.4, 2.0)


@dataclass(frozen=True)
class Impedance:
    """Spring and damper of an end effector, along and about the axes of the base.

    Parameters
    ----------
    stiffness, rotational_stiffness : sequence of float, length 3
        Diagonal of K. N/m, N m/rad.
    damping_ratio : float
        zeta of every mode, where no damping is given.
    damping, rotational_damping : sequence of float, length 3 or 0
        Diagonal of D, both or none; none for that of the damping ratio. N s/m, N m s/rad.

    Raises
    ------
    ParameterError
        Where a value is missing or out of bounds.

    Examples
    --------
    Stiff in the plane, soft along the vertical:

    >>> Impedance(stiffness=(2000.0, 2000.0, 300.0)).values[:6]
    array([2000., 2000.,  300.,   30.,   30.,   30.])
    """

    stiffness: Sequence[float] = (600.0,) * 3
    rotational_stiffness: Sequence[float] = (30.0,) * 3
    damping_ratio: float = 1.0
    damping: Sequence[float] = ()
    rotational_damping: Sequence[float] = ()

    def __post_init__(self) -> None:
        for name, bounds in zip(('stiffness', 'rotational_stiffness'), STIFFNESS_BOUNDS,
                                strict=True):
            store(self, name, _along_axes(name, getattr(self, name), bounds))
        if len(self.damping) or len(self.rotational_damping):
            for name, bounds in zip(('damping', 'rotational_damping'), DAMPING_BOUNDS,
                                    strict=True):
                store(self, name, _along_axes(name, getattr(self, name), bounds))
        check_fields(self, positive, damping_ratio='')
        low, high = RATIO_BOUNDS
        if not low <= self.damping_ratio <= high:
            raise ParameterError(f'must be within {low:g} to {high:g}, got '
                                 f'{self.damping_ratio:g}', subject='damping_ratio',
                                 remedy='1 is without overshoot')

    @property
    def values(self) -> FloatArray:
        """Diagonals of K and of D, zeta, and the share of D beside zeta, shape (14,)."""
        is_given = float(len(self.damping) > 0)
        damping = (*self.damping, *self.rotational_damping) if is_given else (0.0,) * 6
        return np.array([*self.stiffness, *self.rotational_stiffness, *damping,
                         self.damping_ratio, is_given])


class SpringDamper:
    """Diagonals of an `Impedance` that change linearly to those of another; `values` has both."""

    def __init__(self, impedance: Impedance):
        self.values = impedance.values
        self._target, self._slope, self._left = self.values, np.zeros_like(self.values), 0.0

    def change_to(self, impedance: Impedance, seconds: float) -> None:
        """Change to another impedance, from the present one on, in a time, s."""
        self._target, self._left = impedance.values, seconds
        self._slope = (self._target - self.values) / seconds

    def advance(self, dt: float) -> None:
        """Continue the change for a time, s."""
        if self._left > 0.0:
            self._left -= dt
            self.values = self._target - max(self._left, 0.0) * self._slope


def _along_axes(name: str, values: Sequence[float], bounds: tuple[float, float]
                ) -> tuple[float, ...]:
    """Three values within bounds; raises a ParameterError for others."""
    array = np.array(values, dtype=np.float64)
    if array.shape != (3,) or not np.all((array >= bounds[0]) & (array <= bounds[1])):
        raise ParameterError(f'must be three numbers within {bounds[0]:g} to {bounds[1]:g}, got '
                             + ', '.join(f'{value:g}' for value in array.ravel()), subject=name,
                             remedy='give one for each of the axes x, y and z of the base')
    return tuple(array.tolist())


@routine
def find_modes(A, diagonal, root, squares, V):
    """Write G^1/2, and eigenvalues and vectors of G^1/2 A G^1/2."""
    scaled = np.empty((6, 6))
    for i in range(6):
        root[i] = math.sqrt(diagonal[i])
    for i in range(6):
        for j in range(6):
            scaled[i, j] = root[i] * A[i, j] * root[j]
    diagonalise(scaled, V)
    for i in range(6):
        # Rounding may make the mobility of a lost direction negative.
        squares[i] = max(scaled[i, i], 0.0)


@routine
def add_modal(root, V, gains, x, share, out):
    """Add s G^1/2 V diag(gains) V^T G^1/2 x to a vector."""
    for k in range(6):
        amplitude = 0.0
        for i in range(6):
            amplitude += V[i, k] * root[i] * x[i]
        amplitude *= share * gains[k]
        for i in range(6):
            out[i] += root[i] * V[i, k] * amplitude


@kernel('i8(f8[:, ::1], f8[:, ::1], f8[::1], f8[:, ::1], f8[:, ::1], f8[:, ::1])',
        on_demand=True)
def find_inertia(M, J, scale, response, mobility, inertia):
    """Write M^-1 J^T, A = J M^-1 J^T, and Lambda without lost directions.

    `scale` is the root of the true inertias. Returns SOLVED, or a joint that moves no inertia.
    """
    n = M.shape[0]
    factor, V, squares, root = np.empty((n, n)), np.empty((6, 6)), np.empty(6), np.empty(6)
    for i in range(n):
        for j in range(n):
            factor[i, j] = M[i, j]
        for k in range(6):
            response[i, k] = J[k, i]
    bad = factorise(factor)
    if bad != SOLVED:
        return bad
    substitute_rows(factor, response)
    for i in range(6):
        for j in range(6):
            total = 0.0
            for k in range(n):
                total += J[i, k] * response[k, j]
            mobility[i, j] = total
    find_modes(mobility, scale**2, root, squares, V)
    for i in range(6):
        for j in range(6):
            total = 0.0
            for k in range(6):
                size = squares[k]
                inverse = 1.0 / size if size * LOST >= 1.0 else LOST**2 * size
                total += V[i, k] * inverse * V[j, k]
            inertia[i, j] = root[i] * total * root[j]
    return SOLVED


@routine
def find_forces(mobility, values, most, error, rate, spring, damper):
    """Write K e and D e_dot of `Impedance.values`, with modes kept within the rate R, `most`.

    Returns the smallest share of its stiffness that a mode has.
    """
    V, squares, root, gains = np.empty((6, 6)), np.empty(6), np.empty(6), np.empty(6)
    ratio, given = values[12], values[13]
    # With K^1/2 A K^1/2 = V diag(w^2) V^T, Q = K^1/2 V diag(1/w).
    find_modes(mobility, values[:6], root, squares, V)
    softened = 1.0
    for k in range(6):
        gains[k] = min(1.0, STIFFEST * most**2 / max(squares[k], TINY))
        softened = min(softened, gains[k])
        spring[k], damper[k] = 0.0, 0.0
    add_modal(root, V, gains, error, 1.0, spring)
    for k in range(6):
        square = max(squares[k], (SLOWEST_SHARE * most)**2)
        gains[k] = min(2.0 * ratio * math.sqrt(square), most) / square
    add_modal(root, V, gains, rate, 1.0 - given, damper)
    if given > 0.0:
        find_modes(mobility, values[6:12], root, squares, V)
        for k in range(6):
            gains[k] = min(1.0, most / max(squares[k], TINY))
        add_modal(root, V, gains, rate, given, damper)
    return softened


@kernel('f8(f8[:, ::1], f8[::1], f8, f8[::1], f8[:, ::1], f8[::1], f8[::1], f8[::1], f8[::1], '
        'f8[::1])', on_demand=True)
def find_wrench(mobility, values, most, largest, pose, position, quaternion, rate, wrench,
                shares):
    """Write force and moment of spring and damper, and the shares of spring and angle left.

    The spring is cut at the `largest` force and moment. Returns the smallest share of its
    stiffness that a mode has.
    """
    error, spring = np.empty(6), np.empty(6)
    axes = quaternion_axes(quaternion[0], quaternion[1], quaternion[2], quaternion[3])
    turn = np.empty((3, 3))
    for i in range(3):
        error[i] = position[i] - pose[i, 3]
        for j in range(3):
            turn[i, j] = 0.0
            for k in range(3):
                turn[i, j] += axes[k][i] * pose[j, k]
    eta = 0.5 * math.sqrt(max(1.0 + turn[0, 0] + turn[1, 1] + turn[2, 2], SMALLEST_ETA))
    error[3] = (turn[2, 1] - turn[1, 2]) / (2.0 * eta)
    error[4] = (turn[0, 2] - turn[2, 0]) / (2.0 * eta)
    error[5] = (turn[1, 0] - turn[0, 1]) / (2.0 * eta)
    softened = find_forces(mobility, values, most, error, rate, spring, wrench)
    # 2 (eta K epsilon - epsilon x K epsilon); `error` has 2 epsilon.
    moment = (spring[3], spring[4], spring[5])
    across = cross((error[3], error[4], error[5]), moment)
    for i in range(3):
        spring[3 + i] = eta * moment[i] - 0.5 * across[i]
    for part in range(2):
        size = length_of(spring[3 * part:3 * part + 3])
        share = min(1.0, largest[part] / max(size, TINY))
        shares[part] = share
        for i in range(3 * part, 3 * part + 3):
            wrench[i] += share * spring[i]
    shares[1] = min(shares[1], 2.0 * LARGEST_SINE / max(length_of(error[3:]), TINY))
    return softened
