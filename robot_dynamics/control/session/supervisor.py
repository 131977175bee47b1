# SPDX-License-Identifier: Apache-2.0
r"""Supervision of an arm: whether it moves as its states and its commands say.

Three tests need no model and no knowledge of friction or payload:

*Consistency.* A position has to move by the integral of its velocity. With the reported v and a
memory of :math:`T_c`,

.. math:: \dot d = \dot q - v - d / T_c, \qquad |d_i| \le d_0 + T_l \max |v_i|

where :math:`T_l` is the lag of a filtered velocity that is allowed. A wrong sign, a stuck
velocity, a drifting or jumping encoder leave these bounds within some hundredths of a second.

*Following.* While a reference moves by `STUCK_DISTANCE`, its joint has to move by a tenth of that.
A brake that is closed, a frozen encoder and an arm in a protective stop do not.

*Lateness.* The states must not be older than the feedback tolerates, see `LatenessCounter`.

One needs the model, and acts while an arm at rest is taken over:

*Obedience.* The effort that acts, by the inverse dynamics of the measured motion, must not oppose
the commanded one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from robot_dynamics.control.session.modes import Cause
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.dynamics.kernels.loading import kernel
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import Robot

#: Memory of the consistency test, and the lag of a filtered velocity that it allows. s.
MEMORY, VELOCITY_LAG = 0.15, 0.015
#: Difference of positions that it always allows, of a joint with this speed limit or more (in
#: proportion for slower joints): noise and resolution. rad or m, rad/s or m/s.
LEAST_DIFFERENCE, LEAST_AT_SPEED = 0.015, 2.0
#: Corner frequency of the filter on the speed of a position. Hz.
SLOPE_CUTOFF = 30.0
#: Time between two states from which on they are not compared. s.
LONGEST_STEP = 0.05
#: Inconsistent states in a row that are a fault, not a single wrong measurement.
INCONSISTENT_STATES = 3
#: Distance of a reference within which its joint has to begin to move, of a joint with the speed
#: limit above, and the share of it that counts as movement. rad or m.
STUCK_DISTANCE, MOVED_SHARE = 0.03, 0.1
#: Share of an effort limit that friction may take: a weaker feedback need not move a joint.
FRICTION_SHARE = 0.05
#: Speed below which a joint stands still. rad/s or m/s.
STILL = 0.03
#: Window of the obedience test, s; share of the effort limit from which on a command is compared;
#: share of the command that has to act against it.
OBEDIENCE_WINDOW, COMPARED_SHARE, REVERSED_SHARE = 0.01, 0.1, -0.4
#: States, and time in s, over which late ones are counted, the shorter of both; share of late ones
#: at which the session goes safe, and at which it returns. Single late states do no harm.
COUNTED_STATES, COUNTED_TIME, TOO_MANY_LATE, FEW_LATE = 25, 0.2, 0.4, 0.05
#: States in a row that are older than twice that age, after which the session goes safe.
VERY_LATE_STATES = 2
#: Sudden change of the speed of a position, over the speed limit, that shows a faulty encoder; a
#: contradiction without one is put down to the velocity.
POSITION_JUMP = 0.15
#: Which measurement of a joint is wrong.
NONE, VELOCITY, POSITION, BOTH = range(4)
#: Rows of the memory of `follow`: position, reference and effort when the joint moved last;
#: impulse beyond that effort and time since; velocity then.
ANCHOR, REFERENCE, HELD_BY, IMPULSE, BLIND, MOVED_AT = range(6)


@dataclass(frozen=True)
class Finding:
    """What is wrong with an arm: cause of the safe mode, joint (-1 for all), detail in words."""

    cause: Cause
    joint: int
    detail: str


class MotionSupervisor:
    """Compare measured positions with velocities, and motions with references and commands.

    Parameters
    ----------
    robot : Robot
        The arm.

    Attributes
    ----------
    slope : ndarray, shape (n,)
        Velocities from positions alone, filtered. rad/s or m/s.
    speed : ndarray, shape (n,)
        Of this and the reported velocity the larger size. rad/s or m/s.
    unseen : ndarray, shape (n,)
        Distance that a joint with a frozen encoder may have moved. rad or m.
    stamp : float
        Stamp of the last state that repeats none, s.
    is_repeated : bool
        Whether the last state repeats a motion: the driver publishes faster than it reads, or has
        lost its arm, and nothing new is known.
    lies : ndarray of int, shape (n,)
        Which measurement of each joint was found wrong since `begin`: NONE, VELOCITY, POSITION or
        BOTH.

    Examples
    --------
    A velocity that is reported with the wrong sign:

    >>> import numpy as np
    >>> from robot_dynamics import Robot
    >>> supervisor = MotionSupervisor(Robot.from_urdf('planar_2r'))
    >>> supervisor.begin(np.zeros(2), 0.0)
    >>> for k in range(1, 51):
    ...     q, v = np.array([0.002 * k, 0.0]), np.array([-1.0, 0.0])
    ...     finding = supervisor.check_state(q, v, 0.002 * k)
    ...     if finding is not None:
    ...         break
    >>> k, finding.joint
    (10, 0)
    """

    def __init__(self, robot: Robot):
        n = robot.n
        self._names = robot.joint_names
        speed = robot.limits.velocity
        share = np.where(np.isnan(speed), 1.0, np.minimum(speed / LEAST_AT_SPEED, 1.0))
        self._least = LEAST_DIFFERENCE * share
        self.stuck_distance = STUCK_DISTANCE * share
        effort = np.nan_to_num(robot.limits.effort, nan=np.inf)
        self._friction, self._compared = FRICTION_SHARE * effort, COMPARED_SHARE * effort
        self._dynamics = Dynamics(robot)
        self.slope, self.speed = np.zeros((2, n))
        self.lies = np.zeros(n, dtype=np.int64)
        self.is_repeated = False
        self._jumps = np.zeros((3, n))
        self.lasting_jump = POSITION_JUMP * np.nan_to_num(speed, nan=LEAST_AT_SPEED)
        self._q, self._v, self._difference, self._fast = np.zeros((4, n))
        self._in_row = np.zeros(n, dtype=np.int64)
        self._following, self.unseen = np.zeros((6, n)), np.zeros(n)
        self._v_before, self._commanded = np.zeros(n), np.zeros(n)
        self._window, self.stamp = 0.0, -math.inf
        #: Joint that did not follow, -1 for none.
        self._left_behind = -1
        self._compare, self._follow = compare.load(), follow.load()

    def begin(self, q: FloatArray, stamp: float) -> None:
        """Start over at a position, shape (n,), of a stamp, s; `lies` stay."""
        self._q[:], self.stamp = q, stamp
        for array in (self._v, self.slope, self.speed, self._difference, self._fast,
                      self._in_row, self._jumps):
            array[:] = 0
        self._window, self.is_repeated = -1.0, False

    def forget_lies(self) -> None:
        """Trust every measurement again."""
        self.lies[:] = 0
        self._left_behind = -1
        self.unseen[:] = 0.0

    def begin_following(self, q: FloatArray, q_d: FloatArray, effort: FloatArray) -> None:
        """Expect the arm to follow a reference from here on, where this effort held it."""
        self._following[:] = 0.0
        self._following[[ANCHOR, REFERENCE, HELD_BY]] = q, q_d, effort

    def check_state(self, q: FloatArray, v: FloatArray, stamp: float) -> Finding | None:
        """Compare a state of a stamp, s, with the one before."""
        dt = stamp - self.stamp
        if not 0.0 < dt < LONGEST_STEP:
            self.begin(q, stamp)
            self._v[:] = self.slope[:] = self._jumps[2] = v
            np.abs(v, out=self.speed)
            return None
        self.is_repeated = np.array_equal(q, self._q) and np.array_equal(v, self._v) \
            and bool(np.any(np.abs(v) > STILL))
        if self.is_repeated:
            return None
        self.stamp = stamp
        joint = self._compare(q, v, dt, self._least, self._q, self._v, self.slope,
                              self.speed, self._difference, self._fast, self._in_row, self._jumps,
                              self.lasting_jump, self.lies)
        stays = self._left_behind
        if stays >= 0 and abs(q[stays] - self._following[ANCHOR, stays]) \
                > MOVED_SHARE * self.stuck_distance[stays]:
            # Its brake has opened, or its encoder measures again.
            self.lies[stays], self._left_behind = NONE, -1
        if joint < 0:
            return None
        return Finding(Cause.INCONSISTENT, joint, f'{self._names[joint]} reports {v[joint]:.3g} '
                       f'and moves by {self.slope[joint]:.3g} a second')

    def check_following(self, q: FloatArray, q_d: FloatArray, effort: FloatArray,
                        dt: float) -> Finding | None:
        """Find a joint that stays where it is while its reference moves.

        `effort`, shape (n,), is the one commanded since the state before, `dt` seconds earlier, N
        m or N.
        """
        memory = self._following
        joint = self._follow(q, self._v, q_d, effort, dt, self.stuck_distance, self._friction,
                             memory)
        if joint < 0:
            return None
        asked = np.abs(q_d - memory[REFERENCE])
        if np.count_nonzero(asked > MOVED_SHARE * self.stuck_distance) > 1 \
                and np.abs(self.slope).max() < STILL:
            return Finding(Cause.NOT_FOLLOWING, -1, 'the arm stands still while its reference '
                           f'moves ({self._names[joint]} by {asked[joint]:.3f}); it is in a '
                           'protective stop, paused, or its effort controller is inactive')
        self.lies[joint], self._left_behind = BOTH, joint
        # The speed that it has, and how far it went, if it is free and its encoder is frozen.
        gained = memory[IMPULSE, joint] / self._dynamics.mass_matrix(q)[joint, joint]
        self.slope[joint] = memory[MOVED_AT, joint] + gained
        self.unseen[joint] = memory[BLIND, joint] * (memory[MOVED_AT, joint] + gained / 3.0)
        return Finding(Cause.NOT_FOLLOWING, joint, f'{self._names[joint]} stays at {q[joint]:.3f} '
                       f'while its reference moved by {asked[joint]:.3f}; its brake is closed, '
                       'its encoder is frozen, or friction is stronger than the feedback')

    def check_obedience(self, q: FloatArray, v: FloatArray, dt: float,
                        effort: FloatArray) -> Finding | None:
        """Find a joint that moves against its command.

        `effort`, shape (n,), is the total effort commanded since the state before, N m or N.
        """
        if not 0.0 <= self._window < OBEDIENCE_WINDOW:
            self._window = 0.0
            self._v_before[:] = v
            self._commanded[:] = 0.0
            return None
        self._window += dt
        self._commanded += dt * effort
        if self._window < OBEDIENCE_WINDOW:
            return None
        commanded = self._commanded / self._window
        acting = self._dynamics.inverse_dynamics(q, v, (v - self._v_before) / self._window)
        against = (acting * np.sign(commanded) < REVERSED_SHARE * np.abs(commanded)) \
            & (np.abs(commanded) > self._compared) & (np.abs(v) > STILL)
        if not against.any():
            return None
        joint = int(np.argmax(against * np.abs(commanded)))
        return Finding(Cause.MOVES_AGAINST, joint, f'{self._names[joint]} moves as by '
                       f'{acting[joint]:.3g} where {commanded[joint]:.3g} was commanded; check '
                       'the sign of its effort; it oscillates where rotors are set too large or '
                       'efforts act late')


class LatenessCounter:
    """Share of states that are older than a feedback tolerates.

    A state after a gap counts for the time of the gap, in which the last effort acted.
    `longest_delay` is the age up to which the loop is stable, s; `age` is the recent age, which
    falls slowly, s.
    """

    def __init__(self, longest_delay: float):
        self.longest_delay = longest_delay
        self._share = 0.0
        self._very_late = 0
        self.age = 0.0
        self.is_late = False

    def count(self, age: float, dt: float) -> bool:
        """Count a state of some age that came some time after the last, s; return `is_late`."""
        self.age = max(age, self.age - self.age / COUNTED_STATES)
        weight = min(1.0, max(1.0 / COUNTED_STATES, dt / COUNTED_TIME))
        self._share += ((age > self.longest_delay) - self._share) * weight
        self._very_late = self._very_late + 1 if age > 2.0 * self.longest_delay else 0
        self.is_late = self._very_late >= VERY_LATE_STATES \
            or self._share > (FEW_LATE if self.is_late else TOO_MANY_LATE)
        return self.is_late


@kernel('i8(f8[::1], f8[::1], f8, f8[::1], f8[::1], f8[::1], f8[::1], f8[::1], f8[::1], '
        'f8[::1], i8[::1], f8[:, ::1], f8[::1], i8[::1])')
def compare(q, v, dt, least, q_before, v_before, slope, speed, difference, fast, in_row,
            jumps, lasting_jump, lies):
    """Update slopes and differences; return the joint that is most inconsistent, or -1.

    `fast` is the largest recent speed that both agree on. `jumps` are the largest recent changes
    of the speed of the position and of the velocity from one state to the next, and the last speed
    of the position. All but this are forgotten within the memory. The measurement that jumped is
    the wrong one.
    """
    keep = math.exp(-dt / MEMORY)
    blend = 1.0 - math.exp(-2.0 * math.pi * SLOPE_CUTOFF * dt)
    worst, joint = 1.0, -1
    for i in range(q.size):
        step = q[i] - q_before[i]
        jumps[0, i] = max(keep * jumps[0, i], abs(step / dt - jumps[2, i]))
        jumps[2, i] = step / dt
        jumps[1, i] = max(keep * jumps[1, i], abs(v[i] - v_before[i]))
        slope[i] += blend * (step / dt - slope[i])
        difference[i] = keep * difference[i] + step - 0.5 * (v[i] + v_before[i]) * dt
        q_before[i], v_before[i] = q[i], v[i]
        speed[i] = max(abs(v[i]), abs(slope[i]))
        fast[i] = max(keep * fast[i], min(abs(v[i]), abs(slope[i])))
        excess = abs(difference[i]) / (least[i] + VELOCITY_LAG * fast[i])
        in_row[i] = in_row[i] + 1 if excess > 1.0 else 0
        if in_row[i] < INCONSISTENT_STATES:
            continue
        if lies[i] == NONE:
            lies[i] = POSITION if jumps[0, i] > max(lasting_jump[i], jumps[1, i]) else VELOCITY
        if excess > worst:
            worst, joint = excess, i
    return joint


@kernel('i8(f8[::1], f8[::1], f8[::1], f8[::1], f8, f8[::1], f8[::1], f8[:, ::1])')
def follow(q, v, q_d, effort, dt, distance, friction, memory):
    """Update the memory; return the joint that its reference left behind farthest, or -1.

    `distance` and `friction` are those of a reference and of an effort after which a joint has to
    move.
    """
    worst, joint = 1.0, -1
    for i in range(q.size):
        memory[IMPULSE, i] += dt * (effort[i] - memory[HELD_BY, i])
        memory[BLIND, i] += dt
        asked = abs(q_d[i] - memory[REFERENCE, i])
        if abs(q[i] - memory[ANCHOR, i]) > MOVED_SHARE * max(asked, distance[i]):
            memory[ANCHOR, i], memory[REFERENCE, i], memory[HELD_BY, i] = q[i], q_d[i], effort[i]
            memory[IMPULSE, i], memory[BLIND, i], memory[MOVED_AT, i] = 0.0, 0.0, v[i]
        elif asked > worst * distance[i] and abs(effort[i] - memory[HELD_BY, i]) > friction[i]:
            worst, joint = asked / distance[i], i
    return joint
