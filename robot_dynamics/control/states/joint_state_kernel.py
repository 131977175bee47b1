# SPDX-License-Identifier: Apache-2.0
"""The part of the joint state monitor that runs through the joints, compiled."""

from __future__ import annotations

import math

import numpy as np

from robot_dynamics.dynamics.kernels.loading import helper, kernel
from robot_dynamics.model.arrays import FloatArray

#: What `absorb` found.
ACCEPTED, WAITING, SKEW, NOT_FINITE, DUPLICATE, OUT_OF_ORDER, JUMP = range(7)

#: Where a velocity comes from.
UNKNOWN, ESTIMATED, MEASURED = range(3)

#: No joint of a working arm reads more than this: ten thousand turns, ten kilometres.
POSITION_BOUND = 1e5

#: A measured velocity is believed up to this multiple of the limit, a movement
#: between two samples up to that one.
VELOCITY_MARGIN = 3.0
SPEED_MARGIN = 1.5

#: Two stamps closer than this were one, before seconds became floats. s.
STAMP_RESOLUTION = 1e-7

#: A difference over less than this tells noise more than motion. s.
SHORTEST_DIFFERENCE = 5e-4


def new_pending(n: int) -> tuple[FloatArray, ...]:
    """Return the memory of what each joint last said: nothing yet.

    Returns
    -------
    stamps, reported, turns, q, v, effort : ndarray, shape (n,)
        Stamp (-inf: never), position as reported, full turns to add to it,
        unwrapped position, velocity, effort.
    origin : ndarray of int64, shape (n,)
        Where v comes from.
    fresh : ndarray of bool, shape (n,)
        Whether the joint spoke since the last complete state.
    """
    return (np.full(n, -np.inf), np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n),
            np.full(n, np.nan), np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.bool_))


@helper
def _turns_passed(step, continuous):
    """Return the whole turns in a step of a continuous joint, 0 for any other."""
    return round(step / (2.0 * math.pi)) if continuous else 0.0


@kernel('(i8[::1], f8[::1], f8[::1], f8[::1], f8, '
        'f8[::1], f8[::1], f8[::1], f8[::1], f8[::1], f8[::1], i8[::1], b1[::1], '
        'b1[::1], f8[::1], f8, f8, f8, f8[::1], f8[::1], f8[::1], i8[::1])')
def absorb(source, position, velocity, effort, stamp,
           stamps, reported, turns, q, v, tau, origin, fresh,
           continuous, speed, max_step, cutoff, state_skew,
           q_out, v_out, tau_out, origin_out):
    """Check one message joint by joint, merge it, and hand out a state once complete.

    First all joints are looked at, then all are written: a message that is turned
    away leaves no trace.

    A velocity that is missing is estimated by the filtered difference

        v <- v + (1 - exp(-w dt)) (dq/dt - v),

    the exact response of a first-order low pass of corner w (rad/s) to an input
    held over dt, which stays a mean for any dt. Where there is none to go on from,
    v is dq/dt, less what a `SHORTEST_DIFFERENCE` takes off it: the first two states may
    be a microsecond apart, and noise over that is a speed of any size.

    Parameters
    ----------
    source : ndarray of int64, shape (n,)
        Index of each joint in the message, -1 where it is not in it.
    position, velocity, effort : ndarray, shape (message,)
        The message; nan for what it does not tell.
    stamp : float
        Its stamp. s.
    stamps, reported, turns, q, v, tau, origin, fresh : ndarray, shape (n,)
        What `new_pending` returns.
    continuous : ndarray of bool, shape (n,)
        Which joints turn without end.
    speed : ndarray, shape (n,)
        Speed limits. rad/s or m/s.
    max_step, cutoff, state_skew : float
        Settings of the monitor: rad, rad/s, s.
    q_out, v_out, tau_out, origin_out : ndarray, shape (n,)
        The complete state, written only where it is new.

    Returns
    -------
    code : int
        What was found.
    joint : int
        The joint it is about, -1 where it is about none.
    newest : float
        The newest stamp of a complete state. s.
    implausible : bool
        Whether a measured velocity was not believed.
    known : bool
        Whether every velocity of a complete state is known.
    """
    n = source.size
    for i in range(n):
        k = source[i]
        if k < 0:
            continue
        # Comparisons are written so that NaN fails them.
        if not abs(position[k]) <= POSITION_BOUND:
            return NOT_FINITE, i, stamp, False, False
        dt = stamp - stamps[i]
        if dt < -STAMP_RESOLUTION:
            return OUT_OF_ORDER, i, stamp, False, False
        if dt < STAMP_RESOLUTION:
            return DUPLICATE, i, stamp, False, False
        step = position[k] - reported[i]
        step -= 2.0 * math.pi * _turns_passed(step, continuous[i])
        if not abs(step) <= max_step + SPEED_MARGIN * speed[i] * dt:
            return JUMP, i, stamp, False, False

    implausible = False
    for i in range(n):
        k = source[i]
        if k < 0:
            continue
        first = stamps[i] == -math.inf
        dt = stamp - stamps[i]
        step = position[k] - reported[i]
        if first:
            step = 0.0
            turns[i] = 0.0
        else:
            passed = _turns_passed(step, continuous[i])
            turns[i] -= passed
            step -= 2.0 * math.pi * passed
        reported[i] = position[k]
        q[i] = position[k] + 2.0 * math.pi * turns[i]
        measured = abs(velocity[k]) <= VELOCITY_MARGIN * speed[i]
        if measured:
            v[i] = velocity[k]
            origin[i] = MEASURED
        elif first:
            v[i] = 0.0
            origin[i] = UNKNOWN
        elif origin[i] == UNKNOWN:
            v[i] = (1.0 - math.exp(-dt / SHORTEST_DIFFERENCE)) * step / dt
            origin[i] = ESTIMATED
        else:
            v[i] += (1.0 - math.exp(-cutoff * dt)) * (step / dt - v[i])
            origin[i] = ESTIMATED
        implausible = implausible or (not measured and not math.isnan(velocity[k]))
        tau[i] = effort[k] if math.isfinite(effort[k]) else math.nan
        stamps[i] = stamp
        fresh[i] = True

    oldest, newest = math.inf, -math.inf
    for i in range(n):
        if not fresh[i]:
            return WAITING, i, newest, implausible, False
        oldest = min(oldest, stamps[i])
        newest = max(newest, stamps[i])
    if newest - oldest > state_skew:
        return SKEW, -1, newest, implausible, False
    known = True
    for i in range(n):
        known = known and origin[i] != UNKNOWN
        q_out[i] = q[i]
        v_out[i] = v[i]
        tau_out[i] = tau[i]
        origin_out[i] = origin[i]
        fresh[i] = False
    return ACCEPTED, -1, newest, implausible, known
