# SPDX-License-Identifier: Apache-2.0
"""The compiled steps of `robot_dynamics.control.faults.unexplained` and `.fault_detector`."""

from __future__ import annotations

import math

from robot_dynamics.dynamics.kernels.loading import kernel, routine
from robot_dynamics.dynamics.kernels.solve import SOLVED, factorise, substitute


@kernel('void(float64[:, ::1], int64[::1], float64[:, :, ::1], float64[:, :, ::1], int64[::1],'
        ' float64[:, ::1])')
def explain(surprise, lengths, weights, ring, place, acceleration):
    """Take a surprise in, and work out the accelerations that would explain the last ones.

    Parameters
    ----------
    surprise : (2, n)
        In position and velocity.
    lengths : (w,)
        Of the windows, increasing.
    weights : (w, length, 2)
        Of surprises, the newest first.
    ring : (length, 2, n)
        Surprises of the past.
    place : (2,)
        Where the next one goes; how many are there.
    acceleration : (w, n)
        Of each window; 0 where surprises are too few.
    """
    size, n = ring.shape[0], ring.shape[2]
    at = place[0]
    for j in range(n):
        ring[at, 0, j], ring[at, 1, j] = surprise[0, j], surprise[1, j]
    count = min(place[1] + 1, size)
    for w in range(lengths.size):
        for j in range(n):
            acceleration[w, j] = 0.0
        if lengths[w] > count:
            continue
        for k in range(lengths[w]):
            row = at - k if at >= k else at - k + size
            for j in range(n):
                acceleration[w, j] += weights[w, k, 0] * ring[row, 0, j] \
                    + weights[w, k, 1] * ring[row, 1, j]
    place[0], place[1] = (at + 1) % size, count


@routine
def weigh_window(acceleration, inertia, noise, effort, slow, work, share):
    """Write the share of each joint in one window, and return that of all together, squared.

    With f = M a and its covariance R the fault f_i of joint i alone is at its most likely
    for f_i = (R^-1 f)_i / (R^-1)_ii, and twice the logarithm of how much likelier that makes
    what is seen is (R^-1 f)_i^2 / (R^-1)_ii. Its root, with the sign of f_i, is the share of
    the joint. That of all is f^T R^-1 f.

    Returns
    -------
    float
        0 where something is not finite.
    """
    n = acceleration.size
    R, inverse, f = work[0], work[1], work[2, 0]
    for i in range(n):
        f[i] = 0.0
        for k in range(n):
            f[i] += inertia[i, k] * acceleration[k]
        for j in range(i + 1):
            total = 0.0
            for k in range(n):
                total += inertia[i, k] * inertia[j, k] * noise[k] * noise[k]
            R[i, j] = total
        R[i, i] += effort[slow[i], i] ** 2
        share[i] = 0.0
        for j in range(n):
            inverse[i, j] = 1.0 if i == j else 0.0
    if factorise(R) != SOLVED:
        return 0.0
    whole = 0.0
    for i in range(n):
        substitute(R, inverse[i])
        total = 0.0
        for j in range(n):
            total += inverse[i, j] * f[j]
        whole += f[i] * total
        share[i] = total / math.sqrt(inverse[i, i])
    if math.isfinite(whole):
        return max(whole, 0.0)
    for i in range(n):
        share[i] = 0.0
    return 0.0


@kernel('void(float64[:, ::1], float64[:, ::1], float64[:, ::1], float64[:, :, ::1], int64[::1],'
        ' float64[:, :, ::1], float64[:, ::1], float64[::1])')
def weigh(acceleration, inertia, noise, effort, slow, work, shares, whole):
    """Write the shares of the joints in each window, and those of all together.

    Parameters
    ----------
    acceleration : (w, n)
        As `explain` writes it.
    inertia : (n, n)
        M.
    noise, effort : (w, n), (2, w, n)
        As in `robot_dynamics.control.faults.tolerances.Tolerances`.
    slow : (n,)
        1 where a joint is slow.
    work : (3, n, n)
        Room for matrices.
    shares, whole : (w, n), (w,)
        In standard deviations.
    """
    for w in range(acceleration.shape[0]):
        whole[w] = math.sqrt(weigh_window(acceleration[w], inertia, noise[w], effort[:, w], slow,
                                          work, shares[w]))


@kernel('int64(float64[:, ::1], float64[:, ::1], float64[:, ::1], float64[:, :, ::1], int64[::1],'
        ' float64[:, ::1], float64[::1], float64[:, :, ::1], float64[:, ::1], float64[::1],'
        ' float64[::1])')
def judge(acceleration, inertia, noise, effort, slow, limit, limit_whole, work, shares, whole,
          excess):
    """Work out how far the shares are above their limits.

    Parameters
    ----------
    acceleration, inertia, noise, effort, slow, work, shares, whole
        As for `weigh`.
    limit, limit_whole : (w, n), (w,)
        Of shares.
    excess : (n + 1,)
        Largest share over limit of each joint, and of all together.

    Returns
    -------
    int
        The window in which most is above its limit, -1 where nothing is.
    """
    windows, n = acceleration.shape
    first, largest = -1, 1.0
    excess[:] = 0.0
    for w in range(windows):
        whole[w] = math.sqrt(weigh_window(acceleration[w], inertia, noise[w], effort[:, w], slow,
                                          work, shares[w]))
        of_window = whole[w] / limit_whole[w]
        excess[n] = max(excess[n], of_window)
        for j in range(n):
            share = abs(shares[w, j]) / limit[w, j]
            excess[j] = max(excess[j], share)
            of_window = max(of_window, share)
        if of_window > largest:
            first, largest = w, of_window
    return first
