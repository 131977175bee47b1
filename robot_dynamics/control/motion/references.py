# SPDX-License-Identifier: Apache-2.0
"""Desired motions as functions of time: rest, quintic moves, and one after the other."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence as SequenceOf
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.control.checks import (
    count,
    each_joint,
    finite_array,
    not_negative,
    number,
    positive,
)
from robot_dynamics.control.motion import polynomials
from robot_dynamics.errors import DimensionError, ParameterError, TrajectoryError
from robot_dynamics.model.arrays import FloatArray, real_array

#: Largest jump of position, velocity and acceleration between members of a `Sequence`.
CONTINUITY = 1e-6
#: Shortest time a quintic move takes, however short the way. s.
SHORTEST_MOVE = 0.1
#: And the longest one may take. s.
LONGEST_MOVE = 1e9


class Reference(ABC):
    """A desired motion q(t) with its exact derivatives, from t = 0 to `duration`.

    Before 0 it stands at its start, after `duration` at its end.
    """

    #: Number of joints.
    n: int
    #: When it ends, inf for one that never does. s.
    duration: float

    @abstractmethod
    def sample_into(self, t: float, q: FloatArray, v: FloatArray, a: FloatArray) -> None:
        """Write the motion at a time.

        Parameters
        ----------
        t : float
            Time since the start. s.
        q, v, a : ndarray, shape (n,)
            Where position, velocity and acceleration go.
        """

    def sample(self, t: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the motion at a time as new arrays q, v, a of shape (n,)."""
        q, v, a = np.empty(self.n), np.empty(self.n), np.empty(self.n)
        self.sample_into(t, q, v, a)
        return q, v, a

    def sample_many(self, times: ArrayLike) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the motion at m times as arrays of shape (m, n)."""
        times = np.asarray(times, dtype=np.float64)
        q, v, a = (np.empty((times.size, self.n)) for _ in range(3))
        for k, t in enumerate(times):
            self.sample_into(float(t), q[k], v[k], a[k])
        return q, v, a


class Hold(Reference):
    """Stand still.

    Parameters
    ----------
    q : array_like, shape (n,)
        Where.
    duration : float
        How long. s.
    """

    def __init__(self, q: ArrayLike, duration: float = math.inf):
        self._q = _pose('pose', q)
        self.n = self._q.size
        self.duration = number('duration', duration, 's')
        # Written so that NaN fails.
        if not self.duration >= 0.0:
            raise ParameterError(f'is {self.duration:g}', subject='duration',
                                 remedy='set it to zero or more, in s')

    def sample_into(self, t: float, q: FloatArray, v: FloatArray, a: FloatArray) -> None:
        """Write the pose and zeros."""
        q[:] = self._q
        v[:] = 0.0
        a[:] = 0.0


class PointToPoint(Reference):
    """Move from rest to rest along a straight line in joint space, by a quintic.

    q(t) = start + (goal - start)(10 x^3 - 15 x^4 + 6 x^5), x = t/duration. All joints
    start and end together.

    Parameters
    ----------
    start, goal : array_like, shape (n,)
        Poses. rad or m.
    velocity_limit, acceleration_limit : array_like, scalar or shape (n,)
        Bounds; nan for none. They choose the duration. rad/s, rad/s^2.
    duration : float, optional
        At least this long. s.
    """

    def __init__(self, start: ArrayLike, goal: ArrayLike, *, velocity_limit: ArrayLike = np.nan,
                 acceleration_limit: ArrayLike = np.nan, duration: float = SHORTEST_MOVE):
        start, goal = _pose('start', start), _pose('goal', goal)
        if start.shape != goal.shape:
            raise DimensionError(f'have shapes {start.shape} and {goal.shape}',
                                 subject='start and goal',
                                 remedy='give both one position a joint')
        self.n = start.size
        speed, acceleration = (_usable(name, value, self.n) for name, value in (
            ('velocity_limit', velocity_limit), ('acceleration_limit', acceleration_limit)))
        with np.errstate(over='ignore', invalid='ignore'):
            way = np.abs(goal - start)
            self.duration = float(max(
                positive('duration', duration, 's'),
                np.max(polynomials.QUINTIC_PEAK_SPEED * way / speed),
                np.max(np.sqrt(polynomials.QUINTIC_PEAK_ACCELERATION * way / acceleration))))
            still = np.zeros((1, self.n))
            self._coefficients = polynomials.quintic(np.array([self.duration]), start[None], still,
                                                     still, goal[None], still, still)[0]
        if not self.duration <= LONGEST_MOVE or not np.all(np.isfinite(self._coefficients)):
            raise TrajectoryError(f'goes {np.max(way):.3g} rad or m in {self.duration:.3g} s',
                                  subject='move', remedy='give a nearer goal, or other limits')
        self._goal = goal

    def sample_into(self, t: float, q: FloatArray, v: FloatArray, a: FloatArray) -> None:
        """Write the motion at a time."""
        if t < self.duration:
            q[:], v[:], a[:] = polynomials.evaluate(self._coefficients, max(t, 0.0))
        else:
            q[:] = self._goal
            v[:] = 0.0
            a[:] = 0.0


class Sequence(Reference):
    """One reference after another, where each begins as the one before it ends.

    Parameters
    ----------
    *members : Reference
        At least one; only the last may be endless.

    Raises
    ------
    TrajectoryError
        Where position, velocity or acceleration would jump.
    """

    def __init__(self, *members: Reference):
        if not members:
            raise TrajectoryError('has no member', subject='sequence',
                                  remedy='give at least one reference')
        self._members = members
        self.n = members[0].n
        self._starts = [0.0]
        for member, following in pairwise(members):
            _check_continuous(member, following)
            self._starts.append(self._starts[-1] + member.duration)
        self.duration = self._starts[-1] + members[-1].duration

    def sample_into(self, t: float, q: FloatArray, v: FloatArray, a: FloatArray) -> None:
        """Write the motion at a time."""
        index = len(self._starts) - 1
        while index > 0 and t < self._starts[index]:
            index -= 1
        self._members[index].sample_into(t - self._starts[index], q, v, a)


class Repeat(Reference):
    """The same closed motion again and again.

    Parameters
    ----------
    member : Reference
        It must end as it begins.
    times : int, optional
        How often; without end where not given.
    """

    def __init__(self, member: Reference, times: int | None = None):
        _check_continuous(member, member)
        if not member.duration > 0.0:
            raise TrajectoryError('takes no time', subject=type(member).__name__,
                                  remedy='repeat what has a duration')
        self._member = member
        self.n = member.n
        self.duration = math.inf if times is None else count('times', times) * member.duration

    def sample_into(self, t: float, q: FloatArray, v: FloatArray, a: FloatArray) -> None:
        """Write the motion at a time."""
        ended = t >= self.duration
        self._member.sample_into(self._member.duration if ended
                                 else max(t, 0.0) % self._member.duration, q, v, a)


def through_poses(poses: SequenceOf[ArrayLike], *, velocity_limit: ArrayLike,
                  acceleration_limit: ArrayLike, dwell: float = 0.0) -> Sequence:
    """Return quintic moves from pose to pose, with a rest at each.

    Parameters
    ----------
    poses : sequence of array_like, shape (n,)
        At least two poses. rad or m.
    velocity_limit, acceleration_limit : array_like, scalar or shape (n,)
        As for `PointToPoint`.
    dwell : float
        Rest at each pose but the first. s.
    """
    if len(poses) < 2:
        raise TrajectoryError('needs at least two poses', subject='poses',
                              remedy='give where the motion starts and where it goes')
    dwell = not_negative('dwell', dwell, 's')
    members: list[Reference] = []
    for start, goal in pairwise(poses):
        members.append(PointToPoint(start, goal, velocity_limit=velocity_limit,
                                    acceleration_limit=acceleration_limit))
        members.append(Hold(goal, dwell))
    return Sequence(*members)


def _pose(name: str, value: ArrayLike) -> FloatArray:
    """Return a pose of its own, shape (n,)."""
    pose = np.array(finite_array(name, value))
    if pose.ndim != 1 or pose.size == 0:
        raise DimensionError(f'has shape {pose.shape}', subject=name,
                             remedy='give one position a joint')
    return pose


def _usable(name: str, limits: ArrayLike, n: int) -> FloatArray:
    """Return limits of n joints with inf for nan, all of them positive."""
    limits = real_array(limits, name)
    limits = each_joint(name, np.where(np.isnan(limits), np.inf, limits), n)
    if not np.all(limits > 0.0):
        raise TrajectoryError('is not positive', subject=name,
                              remedy='give a limit above zero, or nan where there is none')
    return limits


def _check_continuous(member: Reference, following: Reference) -> None:
    """Refuse a jump between the end of one reference and the start of another."""
    if member.n != following.n:
        raise DimensionError(f'have {member.n} and {following.n} joints',
                             subject='members of a sequence',
                             remedy='let all of them move the same joints')
    if not math.isfinite(member.duration):
        raise TrajectoryError('never ends, so nothing can follow it',
                              subject=type(member).__name__,
                              remedy='put it at the end of the sequence')
    for name, end, start in zip(('position', 'velocity', 'acceleration'),
                                member.sample(member.duration), following.sample(0.0),
                                strict=True):
        gap = float(np.max(np.abs(end - start)))
        if not gap <= CONTINUITY:
            raise TrajectoryError(f'{name} jumps by {gap:.3g} between '
                                  f'{type(member).__name__} and {type(following).__name__}',
                                  subject='sequence',
                                  remedy='let each member begin where the one before it ends')
