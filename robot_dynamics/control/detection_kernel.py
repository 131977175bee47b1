# SPDX-License-Identifier: Apache-2.0
"""The compiled steps of `robot_dynamics.control.residual_scales` and `.fault_detector`."""

from __future__ import annotations

from robot_dynamics.dynamics.kernels.loading import kernel

# What goes on: the values of `robot_dynamics.control.fault_detector.Event`.
NOTHING, UNDECIDED, FAULT, CONTACT = 0, 1, 2, 3


@kernel('void(float64[::1], float64[::1], int64[::1], int64, float64, float64[:, ::1],'
        ' float64[:, ::1], int64[::1], float64[:, ::1], int64[::1])')
def remember(r, v, windows, delay, slow, residuals, speeds, place, means, moving):
    """Take a residual in, and work out what is judged of it.

    Parameters
    ----------
    r, v : (n,)
        Residual and velocity.
    windows : (w,)
        Lengths of the means, increasing. Samples.
    delay : int
        How long ago it counts whether a joint moved. Samples.
    slow : float
        Speed up to which it counts as slow.
    residuals, speeds : (length, n)
        Rings of the past.
    place : (2,)
        Where the next sample goes; how many are there.
    means : (w, n)
        Size of the mean of the last samples, 0 where they are too few.
    moving : (n,)
        1 where the joint moved that long ago.
    """
    length, n = residuals.shape
    at, count = place[0], min(place[1] + 1, length)
    then = (at - delay) % length if count > delay else -1
    for j in range(n):
        residuals[at, j], speeds[at, j] = r[j], abs(v[j])
        moving[j] = 1 if then >= 0 and speeds[then, j] > slow else 0
        total, k = 0.0, 0
        for w in range(windows.size):
            means[w, j] = 0.0
            # Nothing is judged before it is known whether a joint moved.
            if windows[w] <= count and then >= 0:
                while k < windows[w]:
                    total += residuals[(at - k) % length, j]
                    k += 1
                means[w, j] = abs(total) / k
    place[0], place[1] = (at + 1) % length, count


@kernel('void(float64[:, ::1], int64[::1], float64[:, :, ::1], float64, float64, float64,'
        ' float64[::1], float64[::1], int64[::1])')
def judge(means, moving, thresholds, now, window, spread, excess, since, event):
    """Say what goes on, by how far the means are above their thresholds.

    Parameters
    ----------
    means, moving
        As `remember` writes them.
    thresholds : (2, w, n)
        For slow joints, and for those that move.
    now : float
        Time. s.
    window : float
        From an alarm to the decision; and quiet for so long ends an event. s.
    spread : float
        Share of the first joint's excess that another one has in a contact.
    excess : (n,)
        Largest mean over threshold of each joint.
    since : (2,)
        When the event began; when a mean was last above its threshold.
    event : (2,)
        First joint, -1 where nothing goes on; what it is.
    """
    first = 0
    for j in range(excess.size):
        excess[j] = 0.0
        for w in range(means.shape[0]):
            share = means[w, j] / thresholds[moving[j], w, j]
            # Written so that NaN counts as nothing.
            if share > excess[j]:
                excess[j] = share
        if excess[j] > excess[first]:
            first = j
    if not excess[first] > 1.0:
        if event[0] >= 0 and now - since[1] > window:
            event[0], event[1] = -1, NOTHING
        elif event[1] == UNDECIDED and now - since[0] >= window:
            event[1] = FAULT
        return
    if event[0] < 0:
        event[0], event[1] = first, UNDECIDED
        since[0] = now
    since[1] = now
    if event[1] != UNDECIDED:
        return
    for j in range(excess.size):
        if j != event[0] and excess[j] > 1.0 and excess[j] > spread * excess[event[0]]:
            event[1] = CONTACT
    if event[1] == UNDECIDED and now - since[0] >= window:
        event[1] = FAULT
