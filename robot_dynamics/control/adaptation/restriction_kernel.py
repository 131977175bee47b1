# SPDX-License-Identifier: Apache-2.0
"""The compiled steps of an adaptation that leaves alone what is known."""

from __future__ import annotations

import numpy as np

from robot_dynamics.control.adaptation.gradient_kernel import (
    ACCEPTED,
    HALVINGS,
    INVERSE,
    LARGEST,
    LARGEST_RELATIVE_STEP,
    LIMITED,
    METRIC,
    METRIC_GAIN,
    NOT_FINITE,
    SLACK,
    SWEEPS,
    TOO_LARGE,
    TRACE,
    admit,
    is_positive_definite,
)
from robot_dynamics.dynamics.kernels.loading import kernel, part


@kernel('i8(f8[::1], f8[::1], f8, f8[:, ::1], f8[:, ::1], f8[::1])', on_demand=True)
def propose_restricted(estimate, gradient, dt, constants, gain, target):
    """Write estimate + dt Gamma_U gradient to target; return an outcome.

    Parameters
    ----------
    estimate, gradient, target : (10 nb + m,)
        Bodies, then m joint terms.
    dt : float
        Time. s.
    constants : (nb, WIDTH)
        Of each body, see `adaptation_kernel`.
    gain : (10 nb + m, 10 nb + m)
        Gamma_U.
    """
    count, inertial = gradient.size, 10 * constants.shape[0]
    for k in range(count):
        if not np.isfinite(gradient[k]):
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
    # |dX|_F of all bodies together, as in `adaptation_kernel.move_body` of each.
    length = dt * np.sqrt(constants[0, METRIC_GAIN] * max(power, 0.0))
    return ACCEPTED if length <= LARGEST_RELATIVE_STEP * (1.0 + largest_trace) else TOO_LARGE


@kernel('i8(f8[::1], f8[:, ::1], f8[:, ::1], f8[::1], f8[:, ::1], f8[::1])', on_demand=True)
def settle_restricted(target, constants, ranges, prior, projection, estimate):
    """Move the estimate near target, among the bodies that have what is known.

    Projections on the two sets in turn bring a point closer to every common point. What
    little is then missing is made up for on the way back to the estimate before.
    """
    count = target.size
    for k in range(count):
        if not np.isfinite(target[k]):
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
    """Whether every body is one, to rounding, and every value in its range."""
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
    """Move the estimate to the point next to target that is not too far from the prior.

    All bodies together are moved towards the prior, so that no combination moves alone;
    joint terms keep their ranges. ``radius`` bounds |X - X_0|_F of all bodies together.
    """
    inertial = 10 * constants.shape[0]
    for k in range(target.size):
        if not np.isfinite(target[k]):
            return NOT_FINITE
    d, p, work = np.empty(10), np.empty((4, 4)), np.empty((4, 4))
    distance = 0.0
    for b in range(constants.shape[0]):
        distance += squared_distance(target, prior, b, constants, d, p, work)
    share = 1.0 if distance <= radius * radius else radius / np.sqrt(distance)
    for i in range(inertial):
        estimate[i] = prior[i] + share * (target[i] - prior[i])
    for k in range(ranges.shape[1]):
        i = inertial + k
        estimate[i] = min(max(target[i], ranges[0, k]), ranges[1, k])
    return ACCEPTED


@part
def squared_distance(target, prior, b, constants, d, p, work):
    """Return |L^-1 dP L^-T|_F^2 of body b, for the difference of its parameters.

    d (10,), p and work (4, 4) are for work.
    """
    o = 10 * b
    for i in range(10):
        d[i] = target[o + i] - prior[o + i]
    half = 0.5 * (d[4] + d[7] + d[9])
    p[0, 0], p[1, 1], p[2, 2], p[3, 3] = half - d[4], half - d[7], half - d[9], d[0]
    p[0, 1] = p[1, 0] = -d[5]
    p[0, 2] = p[2, 0] = -d[6]
    p[1, 2] = p[2, 1] = -d[8]
    for i in range(3):
        p[i, 3] = p[3, i] = d[1 + i]
    total = 0.0
    for i in range(4):
        for j in range(4):
            work[i, j] = 0.0
            for k in range(i + 1):
                work[i, j] += constants[b, INVERSE + 4 * i + k] * p[k, j]
    for i in range(4):
        for j in range(4):
            entry = 0.0
            for k in range(j + 1):
                entry += work[i, k] * constants[b, INVERSE + 4 * j + k]
            total += entry * entry
    return total
