# SPDX-License-Identifier: Apache-2.0
"""The compiled steps of `robot_dynamics.control.adaptation.gradient`."""

from __future__ import annotations

import numpy as np

from robot_dynamics.dynamics.kernels.loading import helper, kernel, part

#: Longest step of a body's estimate in one update, |dX|_F against 1 + tr X. Sound gains
#: move it by less than 0.01; more than this is a loop gone unstable.
LARGEST_RELATIVE_STEP = 0.3

#: Least eigenvalue of X after a projection: not zero, so that rounding stays inside.
CONE_FLOOR = 1e-9

#: Sweeps of Jacobi rotations; the fourth already finds nothing left in a 4x4 matrix.
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

#: How often a point is brought back to the bodies and to what is known, in turn.
SWEEPS = 8

#: How often a step is halved that is not admissible even so.
HALVINGS = 20

#: Slack of what counts as admissible: rounding, against Q and against a largest value.
SLACK = 1e-7


@kernel('i8(f8[::1], f8[::1], f8, f8[:, ::1], f8[::1], f8[::1])')
def propose(estimate, gradient, dt, constants, gains, target):
    """Write estimate + dt Gamma gradient to target; return an outcome.

    Parameters
    ----------
    estimate, gradient, target : (10 nb + m,)
        Bodies, then m joint terms.
    dt : float
        Time. s.
    constants : (nb, WIDTH)
        Of each body.
    gains : (m,)
        Of each joint term.
    """
    bodies = constants.shape[0]
    for k in range(gradient.size):
        if not np.isfinite(gradient[k]):
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
    """Move target to the nearest admissible point, and the estimate there; return an outcome.

    Arguments as for `propose`, and the least and largest values of the joint terms, (2, m).
    """
    for k in range(target.size):
        if not np.isfinite(target[k]):
            return NOT_FINITE
    admit(target, constants, ranges)
    for i in range(target.size):
        estimate[i] = target[i]
    return ACCEPTED


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
    """Whether the pseudo-inertia of body b is, by the pivots of its L D L^T.

    The mass is the first pivot, so that what is left is the second moment about the
    centre of mass.
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
def project_to_cone(target, b, constants):
    """Raise the eigenvalues of X = L^-1 P L^-T of body b to the floor: the nearest point."""
    o = 10 * b
    p, x = np.empty((4, 4)), np.empty((4, 4))
    vectors = np.eye(4)
    half = 0.5 * (target[o + 4] + target[o + 7] + target[o + 9])
    p[0, 0], p[1, 1], p[2, 2] = half - target[o + 4], half - target[o + 7], half - target[o + 9]
    p[0, 1] = p[1, 0] = -target[o + 5]
    p[0, 2] = p[2, 0] = -target[o + 6]
    p[1, 2] = p[2, 1] = -target[o + 8]
    p[3, 3] = target[o]
    for i in range(3):
        p[i, 3] = p[3, i] = target[o + 1 + i]
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
    target[o] = x[3, 3]
    for i in range(3):
        target[o + 1 + i] = x[i, 3]
    target[o + 4] = x[1, 1] + x[2, 2]
    target[o + 7] = x[0, 0] + x[2, 2]
    target[o + 9] = x[0, 0] + x[1, 1]
    target[o + 5], target[o + 6], target[o + 8] = -x[0, 1], -x[0, 2], -x[1, 2]


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
    """Zero a[p, q] by a plane rotation, and gather it in the eigenvectors.

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
