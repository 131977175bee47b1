# SPDX-License-Identifier: Apache-2.0
"""The gradient update law: in the metric of the prior, kept physically consistent.

The estimate of a body is its 4x4 pseudo-inertia P (see `robot_dynamics.model.inertia`). Distances
are measured with a fixed matrix Q = L L^T > 0, the pseudo-inertia of the mass considered possible
for that body: in the coordinates X = L^-1 P L^-T a distance is ``|dX|_F``. This makes masses and
inertias, and heavy and light links, comparable in any units and frames. With y = Yr^T s the
gradient of a body, and U(y) the symmetric matrix for which tr(U P) = y . pi for every P, the
steepest descent in this metric is::

    dP/dt = gamma Q U(y) Q        or        dpi/dt = Gamma y

with Gamma constant, symmetric and positive definite. So V = 1/2 s^T M s + |X - X_true|_F^2 / (2
gamma) does not grow, and the gain of the loop does not change with the estimates.

The estimate is then moved to the nearest point, in the same metric, of convex sets that contain
the true parameters: a largest mass, a largest spread of mass, and P >= 0. A projection on a convex
set brings the estimate closer to every point of the set, so that V does not grow. Friction
coefficients and other joint terms follow the same law with a diagonal gain, within bounds. A
leakage sigma adds -sigma (pi - pi_0), which stops the drift due to unmodelled dynamics, at the
price of a small bias.

If some combinations are known, C (pi - pi_0) = 0, the gain of the steepest descent among the
others, and the projection of a point onto the known ones, are::

    Gamma_U = Gamma - Gamma C^T (C Gamma C^T)^-1 C Gamma
    pi_0 + (1 - Gamma C^T (C Gamma C^T)^-1 C) (pi - pi_0)

With N a basis of the null space of C, Gamma_U = N (N^T Gamma^-1 N)^-1 N^T: the law of Slotine and
Li in the coordinates a_U, with the Lyapunov function that belongs to it.

Laws without projection, and laws in base coordinates, keep their estimates within a ball about the
prior instead. Without projection pi only moves along Gamma Yr^T. In the metric of Gamma^-1 this is
orthogonal to all directions without effect on the efforts, so that only base parameters are learnt
and the others do not drift.

References
----------
J.-J. E. Slotine and W. Li, "On the adaptive control of robot manipulators", International Journal
of Robotics Research 6(3), 1987, eq. (12).

T. Lee, J. Kwon and F. C. Park, "A natural adaptive control law for robot manipulators", IROS 2018,
eqs. (14)-(18): the pseudo-inertia as coordinates. There the metric is that of the present
estimate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics.dynamics.kernels.loading import helper, kernel, part
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.inertia import (
    parameters_from_pseudo_inertia,
    project_to_consistent,
    pseudo_inertia,
)

#: Longest step of a body's estimate in one update, |dX|_F relative to 1 + tr X. With stable gains
#: a step is below 0.01; a longer one indicates an unstable loop.
LARGEST_RELATIVE_STEP = 0.3
#: Least eigenvalue of X after a projection: not zero, so that rounding stays inside.
CONE_FLOOR = 1e-9
#: Sweeps of Jacobi rotations; four are enough for a 4x4 matrix.
JACOBI_SWEEPS = 5
# Outcomes: the values of `robot_dynamics.control.adaptation.gradient.StepOutcome`.
ACCEPTED, NOT_FINITE, TOO_LARGE = 0, 1, 2
# Offsets in the row of constants of a body.
GAIN = 0          # 100, Gamma, row after row
TRACE = 100       # 10, weights with TRACE . pi = tr X
METRIC_GAIN = 110  # 1, gamma
LIMITED = 111     # 2 x 10, weights c of what is limited: mass, spread
LARGEST = 131     # 2, largest c . pi
WAY_BACK = 133    # 2 x 10, Gamma c / (c . Gamma c)
ROOT = 153        # 16, L with Q = L L^T, row after row
INVERSE = 169     # 16, L^-1
METRIC = 185      # 10, parameters of Q
WIDTH = 195
#: Alternating projections on the consistent bodies and on the known combinations.
SWEEPS = 8
#: Halvings of a step that is not admissible after these projections.
HALVINGS = 20
#: Tolerance of admissible values for rounding, relative to Q and to a largest value.
SLACK = 1e-7


class StepOutcome(IntEnum):
    """Outcome of one adaptation step."""

    ACCEPTED = ACCEPTED
    NOT_FINITE = NOT_FINITE
    TOO_LARGE = TOO_LARGE


_OUTCOMES = tuple(StepOutcome)


@dataclass(frozen=True, eq=False)
class BodyMetric:
    """Metric of the bodies' estimates, and their largest values.

    `matrices`, shape (nb, 4, 4), are Q of each body, positive definite (kg m^2, kg m, kg); `gain`
    is gamma, 1/J; `largest_mass`, shape (nb,), kg; `largest_spread`, shape (nb,), is the largest
    tr Sigma, the integral over the mass of the squared distance from the origin of the link frame,
    kg m^2.
    """

    matrices: FloatArray
    gain: float
    largest_mass: FloatArray
    largest_spread: FloatArray

    def gain_blocks(self) -> FloatArray:
        """Gamma of each body in its ten parameters, shape (nb, 10, 10).

        Column k is the parameters of gamma Q U(e_k) Q.
        """
        units = np.array([dual_matrix(unit) for unit in np.eye(10)])
        columns = self.matrices[:, None] @ units @ self.matrices[:, None]
        return self.gain * np.swapaxes(parameters_from_pseudo_inertia(columns), -1, -2)


@dataclass(frozen=True, eq=False)
class TermMetric:
    """Prior, gain (diagonal of Gamma) and range of the joint terms, shape (k, n) for k terms."""

    prior: FloatArray
    gain: FloatArray
    least: FloatArray
    largest: FloatArray


def dual_matrix(weights: FloatArray) -> FloatArray:
    """The symmetric U, shape (4, 4), with tr(U P) = weights . parameters for every P.

    `weights` are those of ``[m, mx, my, mz, Jxx, Jxy, Jxz, Jyy, Jyz, Jzz]``. From J = tr(Sigma) 1
    - Sigma: Sigma_xx counts in Jyy and Jzz, Sigma_xy is -Jxy.
    """
    m, mx, my, mz, xx, xy, xz, yy, yz, zz = weights
    return 0.5 * np.array([[2.0 * (yy + zz), -xy, -xz, mx],
                           [-xy, 2.0 * (xx + zz), -yz, my],
                           [-xz, -yz, 2.0 * (xx + yy), mz],
                           [mx, my, mz, 2.0 * m]])


def weights_from_dual(dual: FloatArray) -> FloatArray:
    """The ten weights with weights . parameters = tr(U P), the inverse of `dual_matrix`."""
    x, y, z = dual[0, 0], dual[1, 1], dual[2, 2]
    return np.array([dual[3, 3], 2.0 * dual[0, 3], 2.0 * dual[1, 3], 2.0 * dual[2, 3],
                     0.5 * (y + z - x), -2.0 * dual[0, 1], -2.0 * dual[0, 2],
                     0.5 * (x + z - y), -2.0 * dual[1, 2], 0.5 * (x + y - z)])


class Estimates:
    """Estimates of bodies and joint terms, their consistent prior and their metric."""

    def __init__(self, inertial: FloatArray, bodies: BodyMetric, terms: TermMetric):
        self.metric, self.term_metric = bodies, terms
        self._constants = body_constants(bodies)
        self.prior = np.concatenate([inertial.ravel(), np.ravel(terms.prior)])
        self.estimate = np.empty(self.prior.size)
        self.bodies = self.estimate[:inertial.size]
        self.terms = self.estimate[inertial.size:].reshape(terms.prior.shape)
        self._term_gains = np.ravel(terms.gain).astype(np.float64)
        self._term_ranges = np.stack([np.ravel(terms.least), np.ravel(terms.largest)])
        self._target = np.empty_like(self.estimate)
        # Kernel that moves estimates to an admissible target, and its further arguments.
        self._settle = settle
        self._admissible: tuple[Any, ...] = ()

    def reset(self) -> None:
        """Return to the prior."""
        self.estimate[:] = self.prior

    def gain(self) -> FloatArray:
        """Gamma before any restriction, shape (10 nb + k n, 10 nb + k n)."""
        return block_diagonal(self.metric.gain_blocks(), self.term_metric.gain)

    def precision(self) -> FloatArray:
        """Gamma^-1 before any restriction, shape (10 nb + k n, 10 nb + k n)."""
        return block_diagonal(np.linalg.inv(self.metric.gain_blocks()),
                              1.0 / self.term_metric.gain)

    def move_to(self, target: FloatArray) -> StepOutcome:
        """Move the estimates to the admissible ones nearest to a target, shape (10 nb + k n,).

        Nearest in the metric of the prior; the target must satisfy the known combinations. Unless
        the outcome is ``ACCEPTED`` the estimates are unchanged.
        """
        self._target[:] = target
        return _OUTCOMES[self._settle_target()]

    def _settle_target(self) -> int:
        return self._settle.call(self._target, self._constants, self._term_ranges,
                                 *self._admissible, self.estimate)


class Adaptation(Estimates):
    """The estimates and their gradient law.

    The prior, shape (nb, 10), is moved to the nearest physically consistent one. `constraints`,
    shape (k, p), are known combinations. With `keeps_bodies` every body's estimate stays
    physically consistent; otherwise all stay within a ball about the prior that contains the
    largest payload. `leakage` is sigma, the rate of the return to the prior, 1/s. `prior` and
    `estimate`, shape (p,), are in the order of `Dynamics.parameter_names`; `bodies`, shape (10
    nb,), and `terms`, shape (k, n), are parts of the estimate.
    """

    def __init__(self, prior: FloatArray, bodies: BodyMetric, terms: TermMetric, *,
                 constraints: FloatArray | None = None, keeps_bodies: bool = True,
                 leakage: float = 0.0):
        inertial = project_to_consistent(prior)
        super().__init__(inertial, bodies, terms)
        self.leakage = leakage
        self.keeps_bodies = keeps_bodies
        # Only the kernels of this law are loaded: each takes seconds to compile.
        self._propose, self._gain = propose, self._term_gains
        if constraints is not None and len(constraints):
            restriction = RestrictedGain(self.gain(), constraints)
            self._propose, self._gain = propose_restricted, restriction.gain
            self._settle = settle_restricted
            self._admissible = (self.prior, restriction.projection)
        if not keeps_bodies:
            self._settle = settle_in_ball
            self._admissible = (self.prior, _radius(bodies, inertial))
        self._propose.load()
        self._settle.load()
        self.reset()

    def step(self, gradient: FloatArray, dt: float) -> StepOutcome:
        """Move the estimates along a gradient for a time, s.

        The gradient is Yr^T s and the prediction error of a composite law. Unless the outcome is
        ``ACCEPTED`` the estimates are unchanged.
        """
        rejected = self._propose.call(self.estimate, gradient, dt, self._constants,
                                      self._gain, self._target)
        if not rejected and self.leakage > 0.0:
            # Exact over the step: no rate moves the estimate beyond the prior.
            self._target -= math.expm1(-self.leakage * dt) * (self.prior - self.estimate)
        return _OUTCOMES[rejected or self._settle_target()]


def block_diagonal(blocks: NDArray[np.floating], diagonal: ArrayLike = ()) -> FloatArray:
    """Matrix of blocks (nb, 10, 10), followed by a diagonal."""
    count = 10 * len(blocks)
    matrix = np.diag(np.concatenate([np.zeros(count), np.ravel(diagonal)]))
    for body, block in enumerate(blocks):
        part = slice(10 * body, 10 * body + 10)
        matrix[part, part] = block
    return matrix


def body_constants(metric: BodyMetric) -> FloatArray:
    """Constants of `propose`, one row per body."""
    rows = []
    gains = metric.gain_blocks()
    for body, matrix in enumerate(metric.matrices):
        root = np.linalg.cholesky(matrix)
        trace = weights_from_dual(np.linalg.inv(matrix))
        mass = np.eye(10)[0]
        spread = 0.5 * (np.eye(10)[4] + np.eye(10)[7] + np.eye(10)[9])  # tr Sigma = tr J / 2
        ways = [gains[body] @ c / (c @ gains[body] @ c) for c in (mass, spread)]
        rows.append(np.concatenate([
            gains[body].ravel(), trace, [metric.gain], mass, spread,
            [metric.largest_mass[body], metric.largest_spread[body]], *ways,
            root.ravel(), np.linalg.inv(root).ravel(), parameters_from_pseudo_inertia(matrix)]))
    return np.array(rows)


def _radius(metric: BodyMetric, prior: FloatArray) -> float:
    """|X|_F of X, the largest masses and spreads of all bodies less those of the prior."""
    P = pseudo_inertia(prior)
    mass = metric.largest_mass - P[:, 3, 3]
    spread = metric.largest_spread - np.trace(P[:, :3, :3], axis1=1, axis2=2)
    largest = np.zeros_like(P)
    largest[:, range(3), range(3)] = spread[:, None]
    largest[:, 3, 3] = mass
    inverse = np.linalg.inv(np.linalg.cholesky(metric.matrices))
    return float(np.linalg.norm(inverse @ largest @ np.swapaxes(inverse, -1, -2)))


class RestrictedGain:
    """Gain Gamma_U and projection 1 - Gamma C^T (C Gamma C^T)^-1 C for known combinations C."""

    def __init__(self, gain: FloatArray, constraints: FloatArray):
        # In parameters scaled to gain 1, because masses and inertias differ by orders of
        # magnitude.
        scale = np.sqrt(np.diag(gain))
        unit_gain = gain / np.outer(scale, scale)
        C = constraints * scale
        C = C / np.linalg.norm(C, axis=1, keepdims=True)
        back = unit_gain @ C.T @ np.linalg.inv(C @ unit_gain @ C.T)
        projection = np.eye(len(gain)) - back @ C
        restricted = projection @ unit_gain @ projection.T
        # Single known parameters: exactly zero, so that rounding cannot move them.
        alone = (constraints != 0.0).sum(axis=1) == 1
        fixed = np.flatnonzero(constraints[alone].any(axis=0))
        restricted[fixed], restricted[:, fixed] = 0.0, 0.0
        projection[fixed] = 0.0
        self.gain = np.ascontiguousarray(restricted * np.outer(scale, scale))
        self.projection = np.ascontiguousarray(projection * scale[:, None] / scale)


@kernel('i8(f8[::1], f8[::1], f8, f8[:, ::1], f8[::1], f8[::1])')
def propose(estimate, gradient, dt, constants, gains, target):
    """Write estimate + dt Gamma gradient to target, bodies then joint terms; return an outcome."""
    bodies = constants.shape[0]
    if not is_finite(gradient):
        return NOT_FINITE
    for b in range(bodies):
        if not move_body(estimate, gradient, dt, b, constants, target):
            return TOO_LARGE
    for k in range(gains.size):
        i = 10 * bodies + k
        target[i] = estimate[i] + dt * gains[k] * gradient[i]
    return ACCEPTED


@kernel('i8(f8[::1], f8[:, ::1], f8[:, ::1], f8[::1])')
def settle(target, constants, ranges, estimate):
    """Move the target to the nearest admissible point, and the estimate to it; return an outcome.

    `ranges`, shape (2, m), are the least and largest values of the joint terms.
    """
    if not is_finite(target):
        return NOT_FINITE
    admit(target, constants, ranges)
    for i in range(target.size):
        estimate[i] = target[i]
    return ACCEPTED


@part
def is_finite(vector):
    """Whether every entry of a vector is finite."""
    finite = True
    for i in range(vector.size):
        finite = finite and np.isfinite(vector[i])
    return finite


@part
def admit(target, constants, ranges):
    """Move target to the nearest admissible point: bodies, then ranges of joint terms."""
    bodies = constants.shape[0]
    for b in range(bodies):
        for limit in range(2):
            keep_below(target, b, constants, LIMITED + 10 * limit, LARGEST + limit,
                       WAY_BACK + 10 * limit)
        if not is_positive_definite(target, b):
            project_to_cone(target, b, constants)
    for k in range(ranges.shape[1]):
        i = 10 * bodies + k
        target[i] = min(max(target[i], ranges[0, k]), ranges[1, k])


@part
def move_body(estimate, gradient, dt, b, constants, target):
    """Write pi + dt Gamma y of body b to target; return whether the step is plausible.

    In the metric, |dX|_F^2 = gamma dt^2 (y . Gamma y).
    """
    power, trace = 0.0, 0.0
    for i in range(10):
        rate = 0.0
        for j in range(10):
            rate += constants[b, GAIN + 10 * i + j] * gradient[10 * b + j]
        power += rate * gradient[10 * b + i]
        trace += constants[b, TRACE + i] * estimate[10 * b + i]
        target[10 * b + i] = estimate[10 * b + i] + dt * rate
    length = dt * np.sqrt(constants[b, METRIC_GAIN] * max(power, 0.0))
    return length <= LARGEST_RELATIVE_STEP * (1.0 + max(trace, 0.0))


@part
def keep_below(target, b, constants, weights, largest, way_back):
    """Move body b to the half-space c . pi <= largest, the shortest way in the metric."""
    excess = -constants[b, largest]
    for i in range(10):
        excess += constants[b, weights + i] * target[10 * b + i]
    if excess > 0.0:
        for i in range(10):
            target[10 * b + i] -= excess * constants[b, way_back + i]


@helper
def is_positive_definite(target, b):
    """Whether the pseudo-inertia of body b is positive definite, by the pivots of its L D L^T.

    The mass is the first pivot; the rest is the second moment about the centre of mass.
    """
    o = 10 * b
    m, mx, my, mz = target[o], target[o + 1], target[o + 2], target[o + 3]
    if not m > 0.0:
        return False
    half = 0.5 * (target[o + 4] + target[o + 7] + target[o + 9])
    xx = half - target[o + 4] - mx * mx / m
    yy = half - target[o + 7] - my * my / m
    zz = half - target[o + 9] - mz * mz / m
    xy = -target[o + 5] - mx * my / m
    xz = -target[o + 6] - mx * mz / m
    yz = -target[o + 8] - my * mz / m
    if not xx > 0.0:
        return False
    yy -= xy * xy / xx
    yz -= xy * xz / xx
    zz -= xz * xz / xx
    return yy > 0.0 and zz * yy > yz * yz


@part
def read_pseudo_inertia(estimate, b, P):
    """Write the pseudo-inertia of body b to P."""
    o = 10 * b
    half = 0.5 * (estimate[o + 4] + estimate[o + 7] + estimate[o + 9])
    P[0, 0], P[1, 1] = half - estimate[o + 4], half - estimate[o + 7]
    P[2, 2], P[3, 3] = half - estimate[o + 9], estimate[o]
    P[0, 1] = P[1, 0] = -estimate[o + 5]
    P[0, 2] = P[2, 0] = -estimate[o + 6]
    P[1, 2] = P[2, 1] = -estimate[o + 8]
    for i in range(3):
        P[i, 3] = P[3, i] = estimate[o + 1 + i]


@part
def write_parameters(P, target, b):
    """Write the parameters of a pseudo-inertia to body b of target."""
    o = 10 * b
    target[o] = P[3, 3]
    target[o + 1], target[o + 2], target[o + 3] = P[0, 3], P[1, 3], P[2, 3]
    target[o + 4], target[o + 7] = P[1, 1] + P[2, 2], P[0, 0] + P[2, 2]
    target[o + 9] = P[0, 0] + P[1, 1]
    target[o + 5], target[o + 6], target[o + 8] = -P[0, 1], -P[0, 2], -P[1, 2]


@part
def project_to_cone(target, b, constants):
    """Raise the eigenvalues of X = L^-1 P L^-T of body b to the floor: the nearest point."""
    p, x = np.empty((4, 4)), np.empty((4, 4))
    vectors = np.eye(4)
    read_pseudo_inertia(target, b, p)
    congruence(constants, b, INVERSE, p, x)
    for _ in range(JACOBI_SWEEPS):
        for i in range(3):
            for j in range(i + 1, 4):
                rotate(x, vectors, i, j)
    for i in range(4):
        for j in range(4):
            total = 0.0
            for k in range(4):
                total += max(x[k, k], CONE_FLOOR) * vectors[i, k] * vectors[j, k]
            p[i, j] = total
    congruence(constants, b, ROOT, p, x)
    write_parameters(x, target, b)


@part
def congruence(constants, b, root, matrix, out):
    """Write T A T^T for a lower triangular T among the constants of body b."""
    work = np.empty((4, 4))
    for i in range(4):
        for j in range(4):
            total = 0.0
            for k in range(j + 1):
                total += matrix[i, k] * constants[b, root + 4 * j + k]
            work[i, j] = total
    for i in range(4):
        for j in range(i, 4):
            total = 0.0
            for k in range(i + 1):
                total += constants[b, root + 4 * i + k] * work[k, j]
            out[i, j] = total
            out[j, i] = total


@part
def rotate(a, vectors, p, q):
    """Zero a[p, q] by a plane rotation, and apply it to the eigenvectors.

    Source: G. H. Golub and C. F. Van Loan, Matrix Computations, 4th edition, 8.5.2.
    """
    if a[p, q] != 0.0:
        theta = 0.5 * (a[q, q] - a[p, p]) / a[p, q]
        tangent = 1.0 / (abs(theta) + np.sqrt(1.0 + theta * theta))
        if theta < 0.0:
            tangent = -tangent
        c = 1.0 / np.sqrt(1.0 + tangent * tangent)
        s = tangent * c
        for k in range(4):
            left, right = a[k, p], a[k, q]
            a[k, p], a[k, q] = c * left - s * right, s * left + c * right
            left, right = vectors[k, p], vectors[k, q]
            vectors[k, p], vectors[k, q] = c * left - s * right, s * left + c * right
        for k in range(4):
            upper, lower = a[p, k], a[q, k]
            a[p, k], a[q, k] = c * upper - s * lower, s * upper + c * lower


@kernel('i8(f8[::1], f8[::1], f8, f8[:, ::1], f8[:, ::1], f8[::1])', on_demand=True)
def propose_restricted(estimate, gradient, dt, constants, gain, target):
    """Write estimate + dt Gamma_U gradient to target; return an outcome."""
    count, inertial = gradient.size, 10 * constants.shape[0]
    if not is_finite(gradient):
        return NOT_FINITE
    power, largest_trace = 0.0, 0.0
    for i in range(count):
        rate = 0.0
        for j in range(count):
            rate += gain[i, j] * gradient[j]
        target[i] = estimate[i] + dt * rate
        if i < inertial:
            power += rate * gradient[i]
    for b in range(constants.shape[0]):
        trace = 0.0
        for i in range(10):
            trace += constants[b, TRACE + i] * estimate[10 * b + i]
        largest_trace = max(largest_trace, trace)
    # |dX|_F of all bodies together, as in `move_body` of each.
    length = dt * np.sqrt(constants[0, METRIC_GAIN] * max(power, 0.0))
    return ACCEPTED if length <= LARGEST_RELATIVE_STEP * (1.0 + largest_trace) else TOO_LARGE


@kernel('i8(f8[::1], f8[:, ::1], f8[:, ::1], f8[::1], f8[:, ::1], f8[::1])', on_demand=True)
def settle_restricted(target, constants, ranges, prior, projection, estimate):
    """Move the estimate near the target, within the consistent bodies and the known combinations.

    Alternating projections on the two sets bring a point closer to every common point. A remaining
    violation is corrected by halving the step from the previous estimate.
    """
    count = target.size
    if not is_finite(target):
        return NOT_FINITE
    work = np.empty(count)
    for _ in range(SWEEPS):
        if is_admissible(target, constants, ranges):
            break
        admit(target, constants, ranges)
        for i in range(count):
            work[i] = prior[i]
            for j in range(count):
                work[i] += projection[i, j] * (target[j] - prior[j])
        for i in range(count):
            target[i] = work[i]
    for _ in range(HALVINGS):
        if is_admissible(target, constants, ranges):
            for i in range(count):
                estimate[i] = target[i]
            break
        for i in range(count):
            target[i] = 0.5 * (target[i] + estimate[i])
    return ACCEPTED


@part
def is_admissible(target, constants, ranges):
    """Whether every body is physically consistent, to rounding, and every value in its range."""
    bodies = constants.shape[0]
    raised = np.empty(target.size)
    for b in range(bodies):
        for i in range(10):
            raised[10 * b + i] = target[10 * b + i] + SLACK * constants[b, METRIC + i]
    good = True
    for b in range(bodies):
        good = good and is_positive_definite(raised, b)
        for limit in range(2):
            value = 0.0
            for i in range(10):
                value += constants[b, LIMITED + 10 * limit + i] * target[10 * b + i]
            good = good and value <= (1.0 + SLACK) * constants[b, LARGEST + limit]
    for k in range(ranges.shape[1]):
        slack = SLACK * (ranges[1, k] - ranges[0, k])
        value = target[10 * bodies + k]
        good = good and ranges[0, k] - slack <= value <= ranges[1, k] + slack
    return good


@kernel('i8(f8[::1], f8[:, ::1], f8[:, ::1], f8[::1], f8, f8[::1])', on_demand=True)
def settle_in_ball(target, constants, ranges, prior, radius, estimate):
    """Move the estimate to the point nearest to target within a ball about the prior.

    All bodies are moved towards the prior by the same factor, which preserves the base
    coordinates; joint terms stay in their ranges. ``radius`` bounds |X - X_0|_F of all bodies
    together.
    """
    inertial = 10 * constants.shape[0]
    if not is_finite(target):
        return NOT_FINITE
    way, p, x = np.empty(inertial), np.empty((4, 4)), np.empty((4, 4))
    for i in range(inertial):
        way[i] = target[i] - prior[i]
    distance = 0.0
    for b in range(constants.shape[0]):
        read_pseudo_inertia(way, b, p)
        congruence(constants, b, INVERSE, p, x)
        for i in range(4):
            for j in range(4):
                distance += x[i, j] * x[i, j]
    share = 1.0 if distance <= radius * radius else radius / np.sqrt(distance)
    for i in range(inertial):
        estimate[i] = prior[i] + share * way[i]
    for k in range(ranges.shape[1]):
        i = inertial + k
        estimate[i] = min(max(target[i], ranges[0, k]), ranges[1, k])
    return ACCEPTED
