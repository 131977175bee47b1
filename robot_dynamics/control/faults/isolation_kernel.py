# SPDX-License-Identifier: Apache-2.0
"""The compiled step of `robot_dynamics.control.faults.fault_isolator`."""

from __future__ import annotations

import math

from robot_dynamics.control.faults.prediction_kernel import (
    ACTING,
    CORRECTED,
    HOLDING,
    MEASURED,
    PREDICTED,
    REMAINDER,
)
from robot_dynamics.dynamics.kernels.loading import kernel, routine
from robot_dynamics.dynamics.kernels.solve import SOLVED, factorise, substitute

#: Time in which dry friction may bring a joint to rest that turns round: until then it is
#: anything between one direction and the other. s.
STOPPING = 0.01
#: Standard deviations of velocity noise by which a joint must be thrown off before its friction
#: is no more what was predicted.
THROWN = 3.0
#: When, within the time between two states, something changed is not known: the mean over that
#: time is off by the change times this (a uniform distribution).
BETWEEN = 1.0 / math.sqrt(12.0)
#: Rows of the sums: impulse that is known of, spread of what happens between states, elapsed
#: time (first entry), dry and viscous friction at the last state; and vectors that are worked
#: with, the last of them zero.
IMPULSE, BETWEEN_STATES, ELAPSED, FRICTION, NOW, EXCESS, SOLUTION, UNIT, NONE = range(9)
SUMS = 9


@routine
def friction_at(inertia, motion, friction, noise, work, known, unknown):
    """Write the friction at a state: what is known of it, and how far not, by suspect.

    Were joint i faulty, joint j would be off its prediction by h_ji / h_ii times what joint i
    is, with h the inverse of the inertia. Only so far friction of joint j is other than
    predicted, and only while it moves so slowly that friction may have turned it round.

    Returns
    -------
    bool
        Whether there is an inverse of the inertia.
    """
    n = noise.size
    factor, inverse = work[0], work[1]
    for i in range(n):
        for j in range(n):
            factor[i, j] = inertia[i, j]
            inverse[i, j] = 1.0 if i == j else 0.0
    if factorise(factor) != SOLVED:
        return False
    for i in range(n):
        substitute(factor, inverse[i])
    for j in range(n):
        dry = friction[1, j]
        slow = math.sqrt(noise[j] ** 2 + (dry * STOPPING / inertia[j, j]) ** 2)
        direction = math.erf(motion[MEASURED, j] / (math.sqrt(2.0) * slow))
        change = direction - math.erf(motion[PREDICTED, j] / (math.sqrt(2.0) * slow))
        known[j] = motion[HOLDING, j] - dry * change - friction[0, j] * motion[MEASURED, j]
        free = dry * math.sqrt(max(1.0 - direction * direction, 0.0))
        for i in range(n):
            off = inverse[i, j] / inverse[i, i] \
                * (motion[MEASURED, i] - motion[PREDICTED, i]) / (THROWN * noise[j])
            unknown[i, j] = free * (1.0 - math.exp(-0.5 * off * off))
    return True


@routine
def left_unexplained(covariance, more, more_of, suspect, f, R, solved, unit):
    """Return what a fault of one joint leaves of f, squared in standard deviations.

    f^T R^-1 f - (R^-1 f)_i^2 / (R^-1)_ii with R the covariance and the squares of more + more_of
    on its diagonal; all of f^T R^-1 f without a suspect (-1). Below zero where R is none.
    """
    n = f.size
    for i in range(n):
        for j in range(i + 1):
            R[i, j] = covariance[i, j]
        R[i, i] += (more[i] + more_of[i]) ** 2
        solved[i], unit[i] = f[i], 1.0 if i == suspect else 0.0
    if factorise(R) != SOLVED:
        return -1.0
    substitute(R, solved)
    total = 0.0
    for i in range(n):
        total += f[i] * solved[i]
    if suspect >= 0:
        substitute(R, unit)
        total -= solved[suspect] ** 2 / unit[suspect]
    return max(total, 0.0)


@kernel('boolean(float64[:, :, ::1], float64[:, :, ::1], float64[::1], int64, int64,'
        ' float64[:, ::1], float64[::1], float64, float64[::1], float64[:, ::1],'
        ' float64[:, ::1], float64[:, :, ::1], float64[::1], float64[:, :, ::1])')
def compare(inertias, motions, steps, newest, count, friction, noise, start, effort,
            anchor, sums, thrown, left, work):
    """Take the last states, and weigh at the newest what a fault of each joint leaves.

    Parameters
    ----------
    inertias, motions : (size, n, n), (size, 6, n)
        Of the last states, as `control.faults.motion_predictor` has them, in a ring.
    steps : (size,)
        Time since the state before. s.
    newest, count : int
        Row of the newest state; how many of the newest are taken.
    friction : (2, n)
        Viscous and Coulomb.
    noise : (n,)
        Standard deviation of a measured velocity. rad/s or m/s.
    start : float
        That of the velocity at the beginning, as a share of it.
    effort : (n,)
        Standard deviation of efforts that the model does not know. N m or N.
    anchor : (n + 1, n)
        Inertia and momentum at the state from which on there may be a fault; written where
        no time has elapsed since, from the state before those taken.
    sums : (9, n)
        See the rows' names.
    thrown : (2, n, n)
        Spread of friction by suspect and joint: impulse, and at the last state.
    left : (n + 1,)
        Grows by what a fault of each joint leaves, and by all there is without one.
    work : (4, n, n)
        Room for matrices.

    Returns
    -------
    bool
        Whether the newest state could be weighed.
    """
    n, size = noise.size, inertias.shape[0]
    unknown, covariance, known, f = work[2], work[3], sums[NOW], sums[EXCESS]
    if not sums[ELAPSED, 0] > 0.0:
        row = (newest - count) % size
        for i in range(n):
            anchor[n, i] = 0.0
            for j in range(n):
                anchor[i, j] = inertias[row, i, j]
                anchor[n, i] += anchor[i, j] * motions[row, CORRECTED, j]
        if not friction_at(inertias[row], motions[row], friction, noise, work, sums[FRICTION],
                           thrown[1]):
            return False
    for back in range(count - 1, -1, -1):
        row = (newest - back) % size
        before = (row - 1) % size
        if not friction_at(inertias[row], motions[row], friction, noise, work, known, unknown):
            return False
        half = 0.5 * steps[row]
        sums[ELAPSED, 0] += steps[row]
        for j in range(n):
            acting = motions[row, ACTING, j], motions[before, ACTING, j]
            rest = motions[row, REMAINDER, j], motions[before, REMAINDER, j]
            sums[IMPULSE, j] += half * (acting[0] + acting[1] + rest[0] + rest[1] + known[j]
                                        + sums[FRICTION, j])
            sums[BETWEEN_STATES, j] += BETWEEN * steps[row] * (
                abs(acting[0] - acting[1]) + abs(rest[0] - rest[1])
                + abs(known[j] - sums[FRICTION, j]))
            sums[FRICTION, j] = known[j]
            for i in range(n):
                thrown[0, i, j] += half * (unknown[i, j] + thrown[1, i, j])
                thrown[1, i, j] = unknown[i, j]
    M = inertias[newest]
    for i in range(n):
        f[i] = -anchor[n, i] - sums[IMPULSE, i]
        for j in range(n):
            f[i] += M[i, j] * motions[newest, MEASURED, j]
        for j in range(i + 1):
            total = 0.0
            for k in range(n):
                total += (M[i, k] * M[j, k] + start * start * anchor[i, k] * anchor[j, k]) \
                    * noise[k] * noise[k]
            covariance[i, j] = total
        covariance[i, i] += (effort[i] * sums[ELAPSED, 0]) ** 2
    for suspect in range(n + 1):
        is_joint = suspect < n
        rest_of = left_unexplained(
            covariance, sums[BETWEEN_STATES], thrown[0, suspect] if is_joint else sums[NONE],
            suspect if is_joint else -1, f, work[0], sums[SOLUTION], sums[UNIT])
        if not (rest_of >= 0.0 and math.isfinite(rest_of)):
            return False
        left[suspect] += rest_of
    return True
