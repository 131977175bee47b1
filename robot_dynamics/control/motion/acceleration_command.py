# SPDX-License-Identifier: Apache-2.0
r"""Joint accelerations for an acceleration of the end effector, within bounds.

.. math::

    \ddot p = J(q) u + \dot J(q) v, \qquad
    u = \arg\min \|u - u_0\| \;\; \text{with} \;\; J u = \ddot p - \dot J v, \;
    u_{min} \le u \le u_{max}

Source: A. De Luca, Robotics 2, July 12, 2021, Exercise 1, eqs. 3-5. Its Algorithm 1 saturates the
largest command once. It fails in solvable cases if bounds differ between joints or several joints
have to be saturated. This solver finds the solution for any redundancy and any dimension of the
task, if there is one.

With a rank-revealing factorisation of the Jacobian, every solution of J w = b is w = w0 + N z: the
solution of least norm and a part in the null space, with orthonormal columns of N. The bounds
define a polytope in the space of z. The solution is its point nearest to zero, found by the dual
method of D. Goldfarb and A. Idnani, "A numerically stable dual method for solving strictly convex
quadratic programs", Mathematical Programming 27, 1983: starting at the nearest point without
bounds, violated bounds are enforced one after another. The distance grows with every step, so that
the search ends, at the solution or at a bound that contradicts the active ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics.control.checks import each_joint, finite_array
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.dynamics.kernels.loading import kernel, routine
from robot_dynamics.errors import ControlError, DimensionError
from robot_dynamics.model.arrays import FloatArray

# Outcomes.
EXACT, UNREACHABLE, OUT_OF_BOUNDS, STALLED = 0, 1, 2, 3
#: Singular directions of the task below this share of the largest one are neglected.
RANK_TOLERANCE = 1e-10
#: Part of a task that no acceleration reaches, relative to the task or to 1.
RANGE_TOLERANCE = 1e-9
#: Excess over a bound that counts as rounding, relative to the accelerations or to 1.
BOUND_TOLERANCE = 1e-11
#: Share of a self-motion below which a joint counts as fixed by the task and the active bounds.
DEPENDENT = 1e-9
#: Largest number of changes of the set of active bounds, per joint.
MOST_CHANGES = 50


class Outcome(Enum):
    """Outcome of an acceleration command."""

    #: The task is met within the bounds.
    EXACT = EXACT
    #: The Jacobian is singular and no acceleration meets the task, even without bounds. The result
    #: is the least acceleration within the bounds that comes nearest to the task.
    UNREACHABLE = UNREACHABLE
    #: No acceleration within the bounds meets the task, or comes as near to it as without bounds.
    OUT_OF_BOUNDS = OUT_OF_BOUNDS


@dataclass(frozen=True)
class AccelerationCommand:
    """Joint accelerations u, nan without a solution, rad/s^2 or m/s^2, and their outcome.

    `held` is -1 for a joint at its lower bound, 1 at its upper, else 0; without a solution, it
    marks the bounds that contradict the task.
    """

    u: FloatArray
    outcome: Outcome
    held: NDArray[np.int8]

    @property
    def meets_task(self) -> bool:
        """Whether the end effector gets the desired acceleration."""
        return self.outcome is Outcome.EXACT


class AccelerationSolver:
    """Solver for control loops of n joints, without checks of the arguments.

    See `bounded_acceleration` for single calls.
    """

    def __init__(self, n: int):
        self._solve = solve.load()
        self.u = np.zeros(n)
        self.held = np.zeros(n, dtype=np.int8)
        self._still = np.zeros(n)

    def solve(self, J: FloatArray, task: FloatArray, lower: FloatArray, upper: FloatArray,
              preferred: FloatArray | None = None) -> Outcome:
        """Write the solution to `u` and `held`; return its outcome. See `bounded_acceleration`.

        The Jacobian must be contiguous, and no upper bound below the lower one. Raises a
        ControlError if the search does not end, as with NaN.
        """
        nearest_to = self._still if preferred is None else preferred
        outcome = self._solve(J, task, nearest_to, lower, upper, self.u, self.held)
        if outcome == STALLED:
            raise ControlError('could not be solved', subject='task',
                               remedy='check Jacobian, task and bounds for NaN')
        if outcome == OUT_OF_BOUNDS:
            self.u[:] = np.nan
        return Outcome(outcome)


def minimum_norm_acceleration(J: ArrayLike, task: ArrayLike) -> AccelerationCommand:
    """Least joint acceleration for a task, without bounds: u = J^# task. De Luca, eq. 4."""
    return bounded_acceleration(J, task, np.inf)


def bounded_acceleration(J: ArrayLike, task: ArrayLike, upper: ArrayLike,
                         lower: ArrayLike | None = None, *, preferred: ArrayLike = 0.0
                         ) -> AccelerationCommand:
    """Least joint acceleration for a task within bounds, rad/s^2 or m/s^2.

    Parameters
    ----------
    J : array_like, shape (m, n)
        Jacobian of the task; it may be singular, m >= 1.
    task : array_like, shape (m,)
        Acceleration of the task minus J_dot v.
    upper : array_like, scalar or shape (n,)
        Largest accelerations; inf without a bound. rad/s^2 or m/s^2.
    lower : array_like, scalar or shape (n,), optional
        Least accelerations; -upper by default.
    preferred : array_like, scalar or shape (n,)
        The solution is the nearest to this.

    Raises
    ------
    DimensionError, ControlError
        If shapes or values are invalid.

    Examples
    --------
    >>> command = bounded_acceleration([[1.0, 1.0]], [3.0], upper=[1.0, 5.0])
    >>> command.u, command.held
    (array([1., 2.]), array([1, 0], dtype=int8))
    """
    J = finite_array('Jacobian', J)
    if J.ndim != 2 or 0 in J.shape:
        raise DimensionError(f'must have shape (m, n), got {J.shape}', subject='Jacobian',
                             remedy='give one row per task coordinate and one column per joint')
    m, n = J.shape
    task = finite_array('task', task)
    if task.shape != (m,):
        raise DimensionError(f'must have shape ({m},), got {task.shape}', subject='task',
                             remedy='give one value for each row of the Jacobian')
    highest = each_joint('upper bounds', upper, n)
    lowest = -highest if lower is None else each_joint('lower bounds', lower, n)
    if not np.all(lowest <= highest):
        joint = int(np.argmin(lowest <= highest))
        raise ControlError(f'must not be below the lower ones, got {lowest[joint]:g} to '
                           f'{highest[joint]:g} for joint {joint}', subject='upper bounds',
                           remedy='swap them')
    nearest_to = finite_array('preferred', each_joint('preferred', preferred, n))
    solver = AccelerationSolver(n)
    outcome = solver.solve(np.ascontiguousarray(J), task, lowest, highest, nearest_to)
    return AccelerationCommand(solver.u, outcome, solver.held)


def end_effector_acceleration(dynamics: Dynamics, q: ArrayLike, v: ArrayLike, link: str,
                              acceleration: ArrayLike, upper: ArrayLike = np.inf,
                              lower: ArrayLike | None = None) -> AccelerationCommand:
    """Least joint acceleration within bounds for a desired acceleration of a link.

    Parameters
    ----------
    dynamics : Dynamics
        The robot's equations.
    q, v : array_like, shape (n,)
        State.
    link : str
        A link or frame.
    acceleration : array_like, shape (3,) or (6,)
        Acceleration of the frame's origin, m/s^2, and, with six values, angular acceleration,
        rad/s^2, in base axes. Zeros keep the velocity constant.
    upper, lower : array_like
        As for `bounded_acceleration`.

    Examples
    --------
    >>> import numpy as np
    >>> from robot_dynamics import Dynamics, Robot
    >>> robot = Robot.from_urdf('arm7')
    >>> dynamics, q, link = Dynamics(robot), np.full(7, 0.4), robot.body_names[-1]
    >>> command = end_effector_acceleration(dynamics, q, np.zeros(7), link, [0.0, 0.0, 1.0])
    >>> command.meets_task, (dynamics.jacobian(q, link)[:3] @ command.u).round(6) + 0.0
    (True, array([0., 0., 1.]))
    """
    dynamics.robot.require_single_coordinates('acceleration commands')
    wanted = finite_array('acceleration', acceleration)
    if wanted.shape not in ((3,), (6,)):
        raise DimensionError(f'must have shape (3,) or (6,), got {wanted.shape}',
                             subject='acceleration', remedy='give the linear acceleration, or '
                             'linear and angular acceleration')
    q, v = finite_array('q', q), finite_array('v', v)
    J = dynamics.jacobian(q, link)[:wanted.size]
    bias = dynamics.jacobian_dot(q, v, link)[:wanted.size] @ v
    return bounded_acceleration(J, wanted - bias, upper, lower)


@kernel('i8(f8[:, ::1], f8[::1], f8[::1], f8[::1], f8[::1], f8[::1], int8[::1])',
        on_demand=True, nogil=True)
def solve(J, b, preferred, lower, upper, u, held):
    """Write the u nearest to preferred with J u = b and lower <= u <= upper.

    If b is not in the range of J, it is replaced by the nearest vector that is. `held` gets -1 for
    u at its lower bound, 1 at its upper; without a solution, it marks contradicting bounds.
    Returns EXACT, UNREACHABLE (the nearest task was taken), OUT_OF_BOUNDS or STALLED.
    """
    m, n = J.shape
    wanted = np.empty(m)
    for i in range(m):
        wanted[i] = b[i]
        for j in range(n):
            wanted[i] -= J[i, j] * preferred[j]
    least, kernel_basis, reached = solve_task(J, wanted)
    outcome = EXACT if reached else UNREACHABLE
    lowest, highest = np.empty(n), np.empty(n)
    for j in range(n):
        held[j] = 0
        lowest[j] = lower[j] - preferred[j] - least[j]
        highest[j] = upper[j] - preferred[j] - least[j]
    z = np.zeros(kernel_basis.shape[1])
    found = nearest_point(kernel_basis, lowest, highest, least, z, held)
    if found != EXACT:
        return found
    for j in range(n):
        u[j] = preferred[j] + least[j]
        for k in range(z.size):
            u[j] += kernel_basis[j, k] * z[k]
        if held[j] < 0:
            u[j] = lower[j]
        elif held[j] > 0:
            u[j] = upper[j]
        else:
            u[j] = min(max(u[j], lower[j]), upper[j])
    return outcome


@routine
def solve_task(J, b):
    """The least w with J w nearest to b, a basis of the null space, and whether J w = b."""
    m, n = J.shape
    A = np.empty((n, m))
    for i in range(m):
        for j in range(n):
            A[j, i] = J[i, j]
    order = np.arange(m)
    scales = np.empty(min(n, m))
    rank = triangulate(A, order, scales)
    right = np.empty(m)
    largest = 1.0
    for i in range(m):
        right[i] = b[order[i]]
        largest = max(largest, abs(b[i]))
    w = np.zeros(n)
    reached = True
    if rank < m:
        reached = nearest_in_range(A, rank, right, w) <= RANGE_TOLERANCE * largest
    else:
        for i in range(rank):
            w[i] = right[i]
            for k in range(i):
                w[i] -= A[k, i] * w[k]
            w[i] /= A[i, i]
    basis = np.zeros((n, n - rank))
    for k in range(n - rank):
        basis[rank + k, k] = 1.0
        turn_back(A, scales, rank, basis[:, k])
    turn_back(A, scales, rank, w)
    return w, basis, reached


@routine
def triangulate(A, order, scales):
    """Bring A P to Q R by reflections with column pivoting; return the rank.

    R is stored on and above the diagonal, the reflections I - scale x x^T, x = (1, ...), below.
    """
    rows, columns = A.shape
    first = 0.0
    for k in range(min(rows, columns)):
        best, longest = k, -1.0
        for c in range(k, columns):
            length = 0.0
            for r in range(k, rows):
                length += A[r, c] * A[r, c]
            if length > longest:
                best, longest = c, length
        longest = np.sqrt(longest)
        if k == 0:
            first = longest
        if not longest > RANK_TOLERANCE * first:
            return k
        if best != k:
            order[k], order[best] = order[best], order[k]
            for r in range(rows):
                A[r, k], A[r, best] = A[r, best], A[r, k]
        head = A[k, k]
        diagonal = -longest if head > 0.0 else longest
        scales[k] = (diagonal - head) / diagonal
        for r in range(k + 1, rows):
            A[r, k] /= head - diagonal
        A[k, k] = diagonal
        for c in range(k + 1, columns):
            total = A[k, c]
            for r in range(k + 1, rows):
                total += A[r, k] * A[r, c]
            total *= scales[k]
            A[k, c] -= total
            for r in range(k + 1, rows):
                A[r, c] -= total * A[r, k]
    return min(rows, columns)


@routine
def turn_back(A, scales, rank, x):
    """Write Q x to x."""
    for k in range(rank - 1, -1, -1):
        total = x[k]
        for r in range(k + 1, x.size):
            total += A[r, k] * x[r]
        total *= scales[k]
        x[k] -= total
        for r in range(k + 1, x.size):
            x[r] -= total * A[r, k]


@routine
def nearest_in_range(A, rank, right, w):
    """Write the y with R^T y nearest to right to w[:rank]; return the largest residual.

    R^T, lower trapezoidal of full column rank, is brought to Z S by Gram-Schmidt, twice.
    """
    m = right.size
    Z, S = np.empty((rank, m)), np.zeros((rank, rank))
    for k in range(rank):
        for i in range(m):
            Z[k, i] = A[k, i] if i >= k else 0.0
        orthogonalise(Z, S, k)
    missing = right.copy()
    y = np.zeros(rank)
    for _ in range(2):
        for k in range(rank):
            share = 0.0
            for i in range(m):
                share += Z[k, i] * missing[i]
            y[k] += share
            for i in range(m):
                missing[i] -= share * Z[k, i]
    for k in range(rank - 1, -1, -1):
        w[k] = y[k]
        for i in range(k + 1, rank):
            w[k] -= S[k, i] * w[i]
        w[k] /= S[k, k]
    largest = 0.0
    for i in range(m):
        largest = max(largest, abs(missing[i]))
    return largest


@routine
def orthogonalise(Z, S, k):
    """Make row k of Z orthonormal to those before; S gets its components. Returns its length."""
    width = Z.shape[1]
    for _ in range(2):
        for j in range(k):
            share = 0.0
            for i in range(width):
                share += Z[j, i] * Z[k, i]
            S[j, k] += share
            for i in range(width):
                Z[k, i] -= share * Z[j, i]
    length = 0.0
    for i in range(width):
        length += Z[k, i] * Z[k, i]
    length = np.sqrt(length)
    S[k, k] = length
    if length > 0.0:
        for i in range(width):
            Z[k, i] /= length
    return length


@routine
def nearest_point(N, lowest, highest, least, z, held):
    """Write the z nearest to zero with lowest <= N z <= highest; return an outcome.

    N has one row per joint, of norm at most 1; z and held must be zero initially. Rounding of the
    accelerations `least` is part of the tolerance of the bounds.
    """
    n, width = N.shape
    active = np.empty(width + 1, dtype=np.int64)
    side = np.empty(width + 1)
    price = np.empty(width + 1)
    count = 0
    size = 1.0
    for j in range(n):
        size = max(size, abs(least[j]))
    for _ in range(MOST_CHANGES * (n + 1)):
        worst, worst_side, excess = most_violated(N, lowest, highest, z, size, active, count)
        if worst < 0:
            settle(N, lowest, highest, active, side, count, z)
            return EXACT
        price[count] = 0.0
        outcome, count = hold(N, worst, worst_side, excess, active, side, price, count, z)
        for j in range(n):
            held[j] = 0
        for k in range(count):
            held[active[k]] = -1 if side[k] > 0.0 else 1
        if outcome != EXACT:
            held[worst] = -1 if worst_side > 0.0 else 1
            return outcome
    return STALLED


@routine
def most_violated(N, lowest, highest, z, size, active, count):
    """The most violated bound that is not active: joint or -1, side, excess."""
    n, width = N.shape
    worst, side, excess = -1, 0.0, BOUND_TOLERANCE * size
    for j in range(n):
        is_held = False
        for k in range(count):
            is_held = is_held or active[k] == j
        if is_held:
            continue
        value = 0.0
        for i in range(width):
            value += N[j, i] * z[i]
        if lowest[j] - value > excess:
            worst, side, excess = j, 1.0, lowest[j] - value
        if value - highest[j] > excess:
            worst, side, excess = j, -1.0, value - highest[j]
    return worst, side, excess


@routine
def hold(N, joint, joint_side, excess, active, side, price, count, z):
    """Move z until one more bound is active, releasing others; return outcome and count."""
    width = z.size
    Z, S = np.empty((width + 1, width)), np.empty((width + 1, width + 1))
    shares = np.empty(width + 1)
    cost = 0.0
    while True:
        # The new normal comes last: its component orthogonal to the others is the search
        # direction.
        S[:] = 0.0
        for k in range(count):
            for i in range(width):
                Z[k, i] = side[k] * N[active[k], i]
            orthogonalise(Z, S, k)
        for i in range(width):
            Z[count, i] = joint_side * N[joint, i]
        length = orthogonalise(Z, S, count)
        is_free = length > DEPENDENT
        for k in range(count - 1, -1, -1):
            shares[k] = S[k, count]
            for j in range(k + 1, count):
                shares[k] -= S[k, j] * shares[j]
            shares[k] /= S[k, k]
        release, partial = -1, np.inf
        for k in range(count):
            if shares[k] > 0.0 and price[k] / shares[k] < partial:
                release, partial = k, price[k] / shares[k]
        full = excess / (length * length) if is_free else np.inf
        step = min(partial, full)
        if step == np.inf:
            return OUT_OF_BOUNDS, count
        for k in range(count):
            price[k] = max(0.0, price[k] - step * shares[k])
        cost += step
        if is_free:
            for i in range(width):
                z[i] += step * length * Z[count, i]
            excess -= step * length * length
        if full <= partial:
            active[count], side[count], price[count] = joint, joint_side, cost
            return EXACT, count + 1
        count -= 1
        for k in range(release, count):
            active[k], side[k], price[k] = active[k + 1], side[k + 1], price[k + 1]


@routine
def settle(N, lowest, highest, active, side, count, z):
    """Recompute the z nearest to zero on the active bounds, to remove accumulated rounding."""
    width = z.size
    Z, S = np.empty((count, width)), np.zeros((count, count))
    z[:] = 0.0
    y = np.empty(count)
    for k in range(count):
        for i in range(width):
            Z[k, i] = N[active[k], i]
        orthogonalise(Z, S, k)
        y[k] = lowest[active[k]] if side[k] > 0.0 else highest[active[k]]
        for j in range(k):
            y[k] -= S[j, k] * y[j]
        y[k] /= S[k, k]
        for i in range(width):
            z[i] += y[k] * Z[k, i]
