# SPDX-License-Identifier: Apache-2.0
"""The compiled steps of `robot_dynamics.control.residual_scales` and `.fault_detector`."""

from __future__ import annotations

from robot_dynamics.dynamics.kernels.loading import kernel, part

# What goes on: the values of `robot_dynamics.control.fault_detector.Event`.
NOTHING, UNDECIDED, FAULT, CONTACT = 0, 1, 2, 3

#: Share of its threshold from which on a joint may be where an alarm comes from: a sound arm
#: hardly ever shows that much.
SUSPECT = 0.7


@part
def should_move(velocities, j, at, delay, slow):
    """Whether a joint moves, by a straight line through its velocities up to a while ago.

    It does if it was fast then, is fast now on that line, and has not turned round on it.
    A joint that has just been blocked still should move.
    """
    length, count = velocities.shape[0], delay + 1
    total, moment, square = 0.0, 0.0, 0.0
    for i in range(count):
        x = i - 0.5 * (count - 1)
        velocity = velocities[(at - 2 * delay + i) % length, j]
        total += velocity
        moment += x * velocity
        square += x * x
    slope = moment / square if square > 0.0 else 0.0
    then = total / count + 0.5 * delay * slope
    now = then + delay * slope
    return min(abs(then), abs(now)) > slow and then * now > 0.0


@kernel('void(float64[::1], float64[::1], int64[::1], int64, float64, float64[:, ::1],'
        ' float64[:, ::1], int64[::1], float64[:, ::1], int64[::1])')
def remember(r, v, windows, delay, slow, residuals, velocities, place, means, moving):
    """Take a residual in, and work out what is judged of it.

    Parameters
    ----------
    r, v : (n,)
        Residual and velocity.
    windows : (w,)
        Lengths of the means, increasing. Samples.
    delay : int
        Motion up to so long ago says whether a joint should move now. Samples.
    slow : float
        Speed up to which it counts as slow.
    residuals, velocities : (length, n)
        Rings of the past, of twice the delay at least.
    place : (2,)
        Where the next sample goes; how many are there.
    means : (w, n)
        Size of the mean of the last samples, 0 where they are too few.
    moving : (n,)
        1 where the joint should move.
    """
    length, n = residuals.shape
    at, count = place[0], min(place[1] + 1, length)
    known = count >= 2 * delay + 1
    for j in range(n):
        residuals[at, j], velocities[at, j] = r[j], v[j]
        moving[j] = 1 if known and should_move(velocities, j, at, delay, slow) else 0
        total, k = 0.0, 0
        for w in range(windows.size):
            means[w, j] = 0.0
            # Nothing is judged before it is known whether a joint should move.
            if windows[w] <= count and known:
                while k < windows[w]:
                    total += residuals[(at - k) % length, j]
                    k += 1
                means[w, j] = abs(total) / k
    place[0], place[1] = (at + 1) % length, count


@part
def threshold_of(thresholds, kind, w, j, inertia):
    """Return the lower one of the absolute threshold and that per inertia."""
    threshold = thresholds[0, kind, w, j]
    by_inertia = thresholds[1, kind, w, j] * inertia
    if 0.0 < by_inertia < threshold:
        threshold = by_inertia
    return threshold


@kernel('void(float64[:, ::1], float64[::1], int64[::1], float64[:, :, :, ::1], float64,'
        ' float64, float64, float64[:, ::1], float64[::1], int64[::1])')
def judge(means, inertia, moving, thresholds, now, window, spread, excess, since, event):
    """Say what goes on, by how far the means are above their thresholds.

    Parameters
    ----------
    means, moving
        As `remember` writes them.
    inertia : (n,)
        Length of each row of M.
    thresholds : (2, 2, w, n)
        In N m or N, and per inertia: the lower one counts. Each for slow joints, and for
        those that move.
    now : float
        Time. s.
    window : float
        From an alarm to the decision; and quiet for so long ends an event. s.
    spread : float
        Share of the first joint's weight that another one has in a contact.
    excess : (2, n)
        Largest mean over threshold of each joint; the same over the larger threshold of the
        two kinds, its weight.
    since : (2,)
        When the event began; when a mean was last above its threshold.
    event : (2,)
        Where it is, -1 where nothing goes on; what it is. Both are final with the decision.
    """
    first, is_alarm = -1, False
    for j in range(excess.shape[1]):
        excess[0, j] = excess[1, j] = 0.0
        for w in range(means.shape[0]):
            slow = threshold_of(thresholds, 0, w, j, inertia[j])
            fast = threshold_of(thresholds, 1, w, j, inertia[j])
            share = means[w, j] / (fast if moving[j] == 1 else slow)
            weight = means[w, j] / max(slow, fast)
            # Written so that NaN counts as nothing.
            if share > excess[0, j]:
                excess[0, j] = share
            if weight > excess[1, j]:
                excess[1, j] = weight
        # A fault throws other joints off: they stop or turn round where they should not, and
        # their friction with them. So weights count for where it is, too.
        if excess[0, j] > SUSPECT and (first < 0 or excess[0, j] * excess[1, j]
                                       > excess[0, first] * excess[1, first]):
            first = j
        is_alarm = is_alarm or excess[0, j] > 1.0
    if not is_alarm:
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
    before = event[0]
    if excess[0, first] * excess[1, first] > excess[0, before] * excess[1, before]:
        event[0] = first
    for j in range(excess.shape[1]):
        if j != event[0] and excess[0, j] > 1.0 \
                and excess[1, j] > spread * excess[1, event[0]]:
            event[1] = CONTACT
    if event[1] == UNDECIDED and now - since[0] >= window:
        event[1] = FAULT
