# SPDX-License-Identifier: Apache-2.0
"""Desired motions as functions of time: rests, quintic moves, sequences and Fourier series."""

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
from robot_dynamics.control.motion.piecewise import (
    QUINTIC_PEAK_ACCELERATION,
    QUINTIC_PEAK_SPEED,
    evaluate,
    quintic,
)
from robot_dynamics.errors import DimensionError, ParameterError, TrajectoryError
from robot_dynamics.model.arrays import FloatArray, real_array
from robot_dynamics.model.robot import Robot

#: Largest permitted jump of position, velocity and acceleration between members of a `Sequence`.
CONTINUITY = 1e-6
#: Shortest duration of a quintic move. s.
SHORTEST_MOVE = 0.1
#: Longest duration of a quintic move. s.
LONGEST_MOVE = 1e9
#: Points at which extremes of a series are searched: per period of the highest harmonic, and least
#: number per base period.
POINTS_PER_HARMONIC, FEWEST_POINTS = 100, 4096
#: Distance from the centre to either end of the range of a joint without limits. rad or m.
FREE_RANGE = math.pi / 2.0


class Reference(ABC):
    """A desired motion q(t) with its exact derivatives, from t = 0 to `duration`.

    Before 0 it is at rest at its start, after `duration` at its end.
    """

    #: Number of joints.
    n: int
    #: Time at which it ends, inf for endless. s.
    duration: float

    @abstractmethod
    def sample_into(self, t: float, q: FloatArray, v: FloatArray, a: FloatArray) -> None:
        """Write the motion at a time.

        Parameters
        ----------
        t : float
            Time since the start. s.
        q, v, a : ndarray, shape (n,)
            Receive position, velocity and acceleration.
        """

    def sample(self, t: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Motion at a time as new arrays q, v, a of shape (n,)."""
        q, v, a = np.empty(self.n), np.empty(self.n), np.empty(self.n)
        self.sample_into(t, q, v, a)
        return q, v, a

    def sample_many(self, times: ArrayLike) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Motion at m times as arrays of shape (m, n)."""
        times = np.asarray(times, dtype=np.float64)
        q, v, a = (np.empty((times.size, self.n)) for _ in range(3))
        for k, t in enumerate(times):
            self.sample_into(float(t), q[k], v[k], a[k])
        return q, v, a


class Hold(Reference):
    """A rest at a pose.

    Parameters
    ----------
    q : array_like, shape (n,)
        The pose. rad or m.
    duration : float
        Its duration. s.

    Examples
    --------
    >>> Hold([0.1, 0.2], duration=2.0).sample(1.0)[0]
    array([0.1, 0.2])
    """

    def __init__(self, q: ArrayLike, duration: float = math.inf):
        self._q = _pose('pose', q)
        self.n = self._q.size
        self.duration = number('duration', duration, 's')
        # Written so that NaN fails.
        if not self.duration >= 0.0:
            raise ParameterError(f'must be zero or more, got {self.duration:g}',
                                 subject='duration', remedy='set it in s')

    def sample_into(self, t: float, q: FloatArray, v: FloatArray, a: FloatArray) -> None:
        """Write the pose and zeros."""
        q[:] = self._q
        v[:] = 0.0
        a[:] = 0.0


class PointToPoint(Reference):
    """A quintic move from rest to rest along a straight line in joint space.

    q(t) = start + (goal - start)(10 x^3 - 15 x^4 + 6 x^5), x = t/duration. All joints start and
    end together.

    Parameters
    ----------
    start, goal : array_like, shape (n,)
        Poses. rad or m.
    velocity_limit, acceleration_limit : array_like, scalar or shape (n,)
        Limits from which the duration follows, nan for none. rad/s, rad/s^2.
    duration : float, optional
        Least duration. s.

    Examples
    --------
    >>> move = PointToPoint([0.0, 0.0], [1.0, -1.0], velocity_limit=1.875)
    >>> move.duration
    1.0
    >>> q, v, a = move.sample(0.5)
    >>> q, v
    (array([ 0.5, -0.5]), array([ 1.875, -1.875]))
    """

    def __init__(self, start: ArrayLike, goal: ArrayLike, *, velocity_limit: ArrayLike = np.nan,
                 acceleration_limit: ArrayLike = np.nan, duration: float = SHORTEST_MOVE):
        start, goal = _pose('start', start), _pose('goal', goal)
        if start.shape != goal.shape:
            raise DimensionError(f'must have the same shape, got {start.shape} and {goal.shape}',
                                 subject='start and goal',
                                 remedy='give both one position per joint')
        self.n = start.size
        speed, acceleration = (_usable(name, value, self.n) for name, value in (
            ('velocity_limit', velocity_limit), ('acceleration_limit', acceleration_limit)))
        with np.errstate(over='ignore', invalid='ignore'):
            way = np.abs(goal - start)
            self.duration = float(max(
                positive('duration', duration, 's'),
                np.max(QUINTIC_PEAK_SPEED * way / speed),
                np.max(np.sqrt(QUINTIC_PEAK_ACCELERATION * way / acceleration))))
            still = np.zeros((1, self.n))
            self._coefficients = quintic(np.array([self.duration]), start[None], still,
                                                     still, goal[None], still, still)[0]
        if not self.duration <= LONGEST_MOVE or not np.all(np.isfinite(self._coefficients)):
            raise TrajectoryError(f'must end within {LONGEST_MOVE:g} s, got {np.max(way):.3g} '
                                  f'rad or m in {self.duration:.3g} s', subject='move',
                                  remedy='choose a nearer goal or higher limits')
        self._goal = goal

    def sample_into(self, t: float, q: FloatArray, v: FloatArray, a: FloatArray) -> None:
        """Write the motion at a time."""
        if t < self.duration:
            q[:], v[:], a[:] = evaluate(self._coefficients, max(t, 0.0))
        else:
            q[:] = self._goal
            v[:] = 0.0
            a[:] = 0.0


class Sequence(Reference):
    """References one after another; each must begin as the previous one ends.

    Parameters
    ----------
    *members : Reference
        At least one; only the last may be endless.

    Raises
    ------
    TrajectoryError
        If position, velocity or acceleration would jump.

    Examples
    --------
    >>> motion = Sequence(Hold([0.0], 1.0), PointToPoint([0.0], [1.0], duration=2.0))
    >>> motion.duration, motion.sample(2.0)[0]
    (3.0, array([0.5]))
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
    """A closed motion, repeated.

    Parameters
    ----------
    member : Reference
        It must end as it begins.
    times : int, optional
        Number of repetitions; endless by default.

    Examples
    --------
    >>> there_and_back = through_poses([[0.0], [1.0], [0.0]], velocity_limit=1.0,
    ...                                acceleration_limit=10.0)
    >>> Repeat(there_and_back, times=3).duration == 3 * there_and_back.duration
    True
    """

    def __init__(self, member: Reference, times: int | None = None):
        _check_continuous(member, member)
        if not member.duration > 0.0:
            raise TrajectoryError('must have a duration above 0', subject=type(member).__name__,
                                  remedy='repeat another reference')
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
    """Quintic moves from pose to pose, with a rest at each.

    Parameters
    ----------
    poses : sequence of array_like, shape (n,)
        At least two poses. rad or m.
    velocity_limit, acceleration_limit : array_like, scalar or shape (n,)
        As for `PointToPoint`.
    dwell : float
        Rest at each pose but the first. s.

    Examples
    --------
    >>> through_poses([[0.0], [1.0], [0.0]], velocity_limit=1.875,
    ...               acceleration_limit=100.0, dwell=0.5).duration
    3.0
    """
    if len(poses) < 2:
        raise TrajectoryError(f'must be at least two, got {len(poses)}', subject='poses',
                              remedy='give the start and at least one goal')
    dwell = not_negative('dwell', dwell, 's')
    members: list[Reference] = []
    for start, goal in pairwise(poses):
        members.append(PointToPoint(start, goal, velocity_limit=velocity_limit,
                                    acceleration_limit=acceleration_limit))
        members.append(Hold(goal, dwell))
    return Sequence(*members)


def _pose(name: str, value: ArrayLike) -> FloatArray:
    """Pose as a new array, shape (n,)."""
    pose = np.array(finite_array(name, value))
    if pose.ndim != 1 or pose.size == 0:
        raise DimensionError(f'must have shape (n,), got {pose.shape}', subject=name,
                             remedy='give one position per joint')
    return pose


def _usable(name: str, limits: ArrayLike, n: int) -> FloatArray:
    """Limits of n joints with inf for nan; all must be positive."""
    limits = real_array(limits, name)
    limits = each_joint(name, np.where(np.isnan(limits), np.inf, limits), n)
    if not np.all(limits > 0.0):
        raise TrajectoryError('must be positive', subject=name,
                              remedy='give a limit above zero, or nan for an unlimited joint')
    return limits


def _check_continuous(member: Reference, following: Reference) -> None:
    """Reject a jump between the end of one reference and the start of another."""
    if member.n != following.n:
        raise DimensionError('must have the same number of joints, got '
                             f'{member.n} and {following.n}', subject='members of a sequence',
                             remedy='give references of the same robot')
    if not math.isfinite(member.duration):
        raise TrajectoryError('is endless and cannot be followed by another reference',
                              subject=type(member).__name__,
                              remedy='make it the last one')
    for name, end, start in zip(('position', 'velocity', 'acceleration'),
                                member.sample(member.duration), following.sample(0.0),
                                strict=True):
        gap = float(np.max(np.abs(end - start)))
        if not gap <= CONTINUITY:
            raise TrajectoryError(f'has a jump of {name} by {gap:.3g} between '
                                  f'{type(member).__name__} and {type(following).__name__}',
                                  subject='sequence',
                                  remedy='begin each member where the one before it ends')


class FourierSeries(Reference):
    r"""A periodic motion that begins at rest: a finite Fourier series.

    .. math::

        q(\phi) = q_0 + \sum_{k=1}^{h} \frac{a_k}{k w} \sin(k w \phi)
                  + \frac{b_k}{k w} (1 - \cos(k w \phi)),  \quad w = 2 \pi f

    so that q = q_0 at phi = 0. At the beginning time is scaled: dphi/dt rises from 0 to 1 over
    `ramp` as 10 x^3 - 15 x^4 + 6 x^5, x = t/ramp, so that the motion starts with zero velocity and
    acceleration. v = q' dphi/dt and a = q'' (dphi/dt)^2 + q' d2phi/dt2 are exact.

    Parameters
    ----------
    start : array_like, shape (n,)
        Pose q_0 at t = 0. rad or m.
    sine, cosine : array_like, shape (n, h)
        Velocity amplitudes a_k and b_k. rad/s or m/s.
    base_frequency : float
        f. Hz.
    ramp : float
        Duration of that ramp; 0 for none, so that the motion starts with velocity q'. s.

    References
    ----------
    J. Swevers, C. Ganseman, D. B. Tuekel, J. De Schutter and H. Van Brussel, "Optimal robot
    excitation and identification", IEEE Transactions on Robotics and Automation 13(5), 1997, eq.
    (9).

    Examples
    --------
    >>> series = FourierSeries([0.0], sine=[[0.5]], cosine=[[0.0]], base_frequency=0.5)
    >>> series.period, series.sample(0.0)
    (2.0, (array([0.]), array([0.]), array([0.])))
    """

    def __init__(self, start: ArrayLike, sine: ArrayLike, cosine: ArrayLike, *,
                 base_frequency: float = 0.1, ramp: float = 2.0):
        self.start, self.sine, self.cosine = (
            np.array(finite_array(name, part)) for name, part in (
                ('start', start), ('sine', sine), ('cosine', cosine)))
        self.n = self.start.size
        if self.sine.ndim != 2 or self.sine.shape != self.cosine.shape \
                or self.start.shape != (self.sine.shape[0],) or self.n == 0:
            raise DimensionError(f'must have shape (n, h), got {self.sine.shape} and '
                                 f'{self.cosine.shape} for {self.n} joints',
                                 subject='sine and cosine',
                                 remedy='give both one row per joint and one column per harmonic')
        self.base_frequency = positive('base_frequency', base_frequency, 'Hz')
        self.ramp = not_negative('ramp', ramp, 's')
        self.duration = math.inf
        self._w = 2.0 * math.pi * self.base_frequency * np.arange(1, self.sine.shape[1] + 1)
        # Rows of q, q' and q'' over (1, sin k w phi, cos k w phi).
        a, b = self.sine, self.cosine
        nothing = np.zeros((self.n, 1))
        with np.errstate(over='ignore', invalid='ignore'):
            constant = (self.start + (b / self._w).sum(axis=1))[:, None]
            self._rows = np.concatenate((
                np.hstack((constant, a / self._w, -b / self._w)),
                np.hstack((nothing, b, a)),
                np.hstack((nothing, -a * self._w, b * self._w))))
            is_finite = np.isfinite(np.abs(self._rows).sum())
        if not is_finite:
            raise TrajectoryError('must be smaller: they overflow', subject='sine and cosine',
                                  remedy='give velocity amplitudes in SI units')
        self._basis = np.ones(1 + 2 * self._w.size)
        self._value = np.empty(3 * self.n)

    @property
    def period(self) -> float:
        """Period of the motion. s."""
        return 1.0 / self.base_frequency

    def sample_into(self, t: float, q: FloatArray, v: FloatArray, a: FloatArray) -> None:
        """Write the motion at a time."""
        phi, rate, change = self._phase(max(t, 0.0))
        n, harmonics = self.n, self._w.size
        angle = self._w * phi
        np.sin(angle, out=self._basis[1:1 + harmonics])
        np.cos(angle, out=self._basis[1 + harmonics:])
        value = np.dot(self._rows, self._basis, out=self._value)
        slope = value[n:2 * n]
        q[:] = value[:n]
        np.multiply(slope, rate, out=v)
        np.multiply(value[2 * n:], rate * rate, out=a)
        a += slope * change

    def _phase(self, t: float) -> tuple[float, float, float]:
        """phi, dphi/dt and d2phi/dt2."""
        if t >= self.ramp:
            return t - 0.5 * self.ramp, 1.0, 0.0
        x = t / self.ramp
        return (self.ramp * x**4 * (2.5 - 3.0 * x + x * x),
                x**3 * (10.0 - 15.0 * x + 6.0 * x * x),
                30.0 * x * x * (1.0 - x)**2 / self.ramp)


def exciting_fourier(robot: Robot, seed: int, *, start: ArrayLike | None = None,
                     harmonics: int = 5, base_frequency: float = 0.1, speed: float = 0.9,
                     acceleration: float = 3.0, margin: float = 0.1,
                     ramp: float = 2.0) -> FourierSeries:
    """Random exciting motion within a robot's limits.

    Each joint gets random amplitudes, scaled as much as position, speed and acceleration limits
    permit at all times.

    Parameters
    ----------
    robot : Robot
        The robot; its limits are kept.
    seed : int
        Seed of the amplitudes.
    start : array_like, shape (n,), optional
        Start of the motion; by default the motion is centred between the position limits (about
        zero for a joint without limits).
    harmonics : int
        Harmonics of the base frequency.
    base_frequency : float
        Hz.
    speed, acceleration : float
        Bounds for every joint; a lower speed limit of the robot, less the margin, takes
        precedence. rad/s, rad/s^2.
    margin : float
        Distance from every limit, as a fraction of the joint's range, and of its speed limit.
    ramp : float
        Duration of the start. s.

    Raises
    ------
    TrajectoryError
        If the start lies outside the position limits less the margin.

    Examples
    --------
    >>> import numpy as np
    >>> from robot_dynamics import Robot
    >>> motion = exciting_fourier(Robot.from_urdf('planar_2r'), seed=0, speed=0.9)
    >>> q, v, a = motion.sample_many(np.linspace(0.0, 30.0, 500))
    >>> bool(np.abs(v).max() <= 0.9)
    True
    """
    robot.require_single_coordinates('a Fourier series')
    speed = positive('speed', speed, 'rad/s')
    acceleration = positive('acceleration', acceleration, 'rad/s^2')
    margin, ramp = not_negative('margin', margin), not_negative('ramp', ramp, 's')
    harmonics = count('harmonics', harmonics)
    if not margin < 0.5:
        raise ParameterError(f'must be below 0.5, got {margin:g}', subject='margin',
                             remedy='the margin applies at both ends of a range')
    generator = np.random.default_rng(seed)
    shape = (robot.n, harmonics)
    sine, cosine = generator.standard_normal(shape), generator.standard_normal(shape)
    unit = FourierSeries(np.zeros(robot.n), sine, cosine, base_frequency=base_frequency, ramp=0.0)
    points = max(FEWEST_POINTS, POINTS_PER_HARMONIC * harmonics)
    q, v, a = unit.sample_many(np.arange(points) * unit.period / points)

    # At the nearest of N points, a series of degree h is below its extreme by at most the fraction
    # (pi h/N)^2/2 of its half range (Bernstein's inequality, twice).
    missed = 0.5 * (math.pi * harmonics / points)**2
    peak_v, peak_a = (np.abs(x).max(axis=0) / (1.0 - missed) for x in (v, a))
    low, high = q.min(axis=0), q.max(axis=0)
    low, high = low - missed * (high - low), high + missed * (high - low)

    # The ramp adds q' d2phi/dt2, at most 15/8 of the speed over the ramp, to the acceleration.
    added = (15.0 / 8.0) * peak_v / ramp if ramp > 0.0 else 0.0
    scale = np.minimum(np.fmin(speed, (1.0 - margin) * robot.limits.velocity) / peak_v,
                       acceleration / (peak_a + added))
    lower, upper = _usable_range(robot, margin, start)
    if start is None:
        scale = np.minimum(scale, (upper - lower) / (high - low))
        start = 0.5 * (lower + upper - scale * (low + high))
    else:
        start = real_array(start, 'start')
        _check_inside(robot, start, lower, upper)
        # The unit series begins at 0, so high > 0 > low.
        scale = np.minimum(scale, np.minimum((upper - start) / high, (lower - start) / low))
    return FourierSeries(start, scale[:, None] * sine, scale[:, None] * cosine,
                         base_frequency=base_frequency, ramp=ramp)


def _usable_range(robot: Robot, margin: float, start: ArrayLike | None
                  ) -> tuple[FloatArray, FloatArray]:
    """Position limits less the margin; `FREE_RANGE` to either side for a joint without limits."""
    centre = np.zeros(robot.n) if start is None else real_array(start, 'start')
    if centre.shape != (robot.n,):
        raise DimensionError(f'must have shape ({robot.n},), got {centre.shape}', subject='start',
                             remedy='give one position for each of: '
                                    + ', '.join(robot.joint_names))
    lower, upper = robot.limits.lower, robot.limits.upper
    both = np.isfinite(lower) & np.isfinite(upper)
    with np.errstate(invalid='ignore'):
        kept = np.where(both, margin * (upper - lower), 0.0)
    return (np.maximum(lower + kept, np.where(both, -np.inf, centre - FREE_RANGE)),
            np.minimum(upper - kept, np.where(both, np.inf, centre + FREE_RANGE)))


def _check_inside(robot: Robot, start: FloatArray, lower: FloatArray, upper: FloatArray) -> None:
    """Reject a start at or beyond a bound."""
    for name, value, least, most in zip(robot.joint_names, start, lower, upper, strict=True):
        # Written so that NaN fails.
        if not least < value < most:
            raise TrajectoryError(f'must start between {least:.3f} and {most:.3f}, the position '
                                  f'limits less the margin, got {value:.3f}', subject=name,
                                  remedy='move the arm away from its limit first, or omit '
                                         'the start to the motion')
