# SPDX-License-Identifier: Apache-2.0
"""Limits of a motion, their check at all times, and motions within them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.control.checks import positive
from robot_dynamics.control.motion.references import FREE_RANGE
from robot_dynamics.errors import DimensionError, ParameterError, TrajectoryError
from robot_dynamics.identification.excitation.curves import Basis, RestToRest
from robot_dynamics.identification.excitation.effort_bound import EffortEnclosure
from robot_dynamics.model.arrays import BoolArray, FloatArray
from robot_dynamics.model.robot import Robot

#: Relative rounding by which a limit may be exceeded.
ROUNDING = 1e-9
#: Tolerance of rest and of a pose, rad/s or m/s, and so on.
REST = 1e-6
#: Distance of an arm in poses of shape (m, n) from the nearest obstacle, shape (m,), m, and
#: the name of that obstacle.
Clearance = Callable[[FloatArray], tuple[FloatArray, str]]

_QUANTITIES = ('position', 'velocity', 'acceleration')
# Bisections of a scale, and the smallest useful scale.
_HALVINGS, _SMALLEST = 8, 1e-3
#: Largest step of a joint between two checked poses, and the largest number of them.
STEP, MOST_POSES = 0.02, 20_000


@dataclass(frozen=True, eq=False)
class MotionLimits:
    """Limits of n joints.

    Parameters
    ----------
    joint_names : tuple of str, length n
        The joints.
    lower, upper : ndarray, shape (n,)
        Positions, rad or m.
    velocity, acceleration : ndarray, shape (n,)
        Largest magnitudes, rad/s and rad/s^2, or m/s and m/s^2.
    effort : ndarray, shape (n,)
        Largest magnitudes, inf without a limit, N m or N.

    Examples
    --------
    >>> from robot_dynamics import Robot
    >>> from robot_dynamics.identification import MotionLimits
    >>> limits = MotionLimits.for_robot(Robot.from_urdf('urdf/arm7.urdf'), [0.0] * 7, scale=0.5)
    >>> limits.n
    7
    """

    joint_names: tuple[str, ...]
    lower: FloatArray
    upper: FloatArray
    velocity: FloatArray
    acceleration: FloatArray
    effort: FloatArray

    def __post_init__(self) -> None:
        object.__setattr__(self, 'joint_names', tuple(self.joint_names))
        for name in ('lower', 'upper', 'velocity', 'acceleration', 'effort'):
            array = np.array(getattr(self, name), dtype=np.float64)
            if array.shape != (self.n,):
                raise DimensionError(f'must have shape ({self.n},), got {array.shape}',
                                     subject=f'{name} limits', remedy='give one value for each '
                                     'of: ' + ', '.join(self.joint_names))
            object.__setattr__(self, name, array)
        for name in ('velocity', 'acceleration', 'effort'):
            # Written so that NaN is wrong; only efforts may be unlimited.
            values = getattr(self, name)
            good = (values > 0.0) & ((values < np.inf) | (name == 'effort'))
            self._require(good, name, f'give {name} limits above zero')
        self._require((self.lower < self.upper) & np.isfinite(self.upper - self.lower),
                      'position', 'give a range: a lower limit and a larger upper one')

    @property
    def n(self) -> int:
        """Number of joints."""
        return len(self.joint_names)

    @classmethod
    def for_robot(cls, robot: Robot, start: ArrayLike, *, scale: float = 0.9,
                  acceleration: ArrayLike = 5.0, speed: ArrayLike = np.inf) -> MotionLimits:
        """Limits of a motion of a robot.

        Parameters
        ----------
        robot : Robot
            The robot.
        start : array_like, shape (n,)
            Start of the motion; centre of the range of a joint without limits.
        scale : float
            Fraction of position ranges (about their middle), speeds and efforts, up to 1.
        acceleration : array_like, scalar or shape (n,)
            Largest acceleration, which descriptions do not contain, rad/s^2 or m/s^2.
        speed : array_like, scalar or shape (n,)
            Largest speed if the limit of the joint is not lower, rad/s or m/s; required for joints
            without a limit.
        """
        robot.require_single_coordinates('excitation')
        if not 0.0 < positive('scale', scale) <= 1.0:
            raise ParameterError(f'must be above 0 and at most 1, got {scale:g}',
                                 subject='scale', remedy='give a fraction of the limits')
        limits, n = robot.limits, robot.n
        begin = np.asarray(start, dtype=np.float64)
        if begin.shape != (n,) or not np.all(np.isfinite(begin)):
            raise DimensionError(f'must be {n} finite positions, got {begin}',
                                 subject='start', remedy='give one position for '
                                 'each of: ' + ', '.join(robot.joint_names))
        both = np.isfinite(limits.lower) & np.isfinite(limits.upper)
        with np.errstate(invalid='ignore'):
            cut = np.where(both, 0.5 * (1.0 - scale) * (limits.upper - limits.lower), 0.0)
        lower = np.maximum(limits.lower + cut, np.where(both, -np.inf, begin - FREE_RANGE))
        upper = np.minimum(limits.upper - cut, np.where(both, np.inf, begin + FREE_RANGE))
        velocity = np.fmin(scale * limits.velocity, np.broadcast_to(speed, n))
        unknown = [name for name, value in zip(robot.joint_names, velocity, strict=True)
                   if not np.isfinite(value)]
        if unknown:
            raise ParameterError('has no speed limit', subject=', '.join(unknown),
                                 remedy='give a speed, or write <limit velocity="..."> into '
                                        'the URDF')
        effort = np.where(np.isnan(limits.effort), np.inf, scale * limits.effort)
        return cls(robot.joint_names, lower, upper, velocity,
                   np.broadcast_to(acceleration, n), effort)

    def tightened(self, share: float) -> MotionLimits:
        """A fraction of these limits; position ranges about their middle."""
        cut = 0.5 * (1.0 - share) * (self.upper - self.lower)
        return replace(self, lower=self.lower + cut, upper=self.upper - cut,
                       velocity=share * self.velocity, acceleration=share * self.acceleration,
                       effort=share * self.effort)

    def check_start(self, start: FloatArray) -> None:
        """Raise TrajectoryError for a pose outside the range."""
        for name, value, low, high in zip(self.joint_names, start, self.lower, self.upper,
                                          strict=True):
            # Written so that NaN fails.
            if not low < value < high:
                raise TrajectoryError(f'must start between {low:.4g} and {high:.4g}, the usable '
                                      f'part of its range, got {value:.4g}', subject=name,
                                      remedy='move the arm away from the limit first, or use '
                                             'more of the limits')

    def _require(self, good: BoolArray, what: str, remedy: str) -> None:
        if not np.all(good):
            raise ParameterError(f'has no usable {what} limit',
                                 subject=self.joint_names[int(np.argmin(good))], remedy=remedy)


@dataclass(frozen=True, eq=False)
class Use:
    """Used fraction of each limit, shape (n,) each; 1 is the limit."""

    position: FloatArray
    velocity: FloatArray
    acceleration: FloatArray
    effort: FloatArray

    @property
    def largest(self) -> float:
        """The largest of all."""
        return float(max(np.max(part) for part in (self.position, self.velocity,
                                                   self.acceleration, self.effort)))


def use_of(curve: RestToRest, limits: MotionLimits, efforts: EffortEnclosure | None = None) -> Use:
    """Used fraction of each limit at any time of a motion; efforts count as 0 if not given."""
    low, high = curve.extremes(0)
    middle, half = 0.5 * (limits.upper + limits.lower), 0.5 * (limits.upper - limits.lower)
    taken = np.zeros(limits.n) if efforts is None else efforts.largest(curve)
    return Use(np.maximum(high - middle, middle - low) / half,
               curve.largest(1) / limits.velocity, curve.largest(2) / limits.acceleration,
               taken / limits.effort)


def check_limits(curve: RestToRest, limits: MotionLimits, efforts: EffortEnclosure | None = None,
                 ) -> Use:
    """Used fraction of each limit; raises TrajectoryError if a motion ever exceeds one."""
    if curve.n != limits.n:
        raise DimensionError(f'moves {curve.n} joints', subject='motion',
                             remedy=f'give one that moves {limits.n}: '
                                    + ', '.join(limits.joint_names))
    used = use_of(curve, limits, efforts)
    for derivative, quantity in enumerate(_QUANTITIES):
        share = getattr(used, quantity)
        if not np.all(share <= 1.0 + ROUNDING):
            _refuse(curve, limits, derivative, int(np.argmax(share)))
    if efforts is not None and not np.all(used.effort <= 1.0 + ROUNDING):
        joint = int(np.argmax(used.effort))
        when, value = efforts.worst(curve, joint)
        raise TrajectoryError(f'effort {value:.4g} at {when:.3f} s is beyond '
                              f'{limits.effort[joint]:.4g}', subject=limits.joint_names[joint],
                              remedy='make the motion slower or smaller')
    return used


def check_rest(curve: RestToRest, limits: MotionLimits, pose: ArrayLike | None = None) -> None:
    """Raise TrajectoryError unless a motion begins and ends at rest, and at a pose if given."""
    for derivative, quantity in ((1, 'velocity'), (2, 'acceleration')):
        for when in (0.0, curve.duration):
            values = curve.evaluate([when], derivative)[0]
            if not np.all(np.abs(values) <= REST):
                joint = int(np.argmax(np.abs(values)))
                raise TrajectoryError(f'{quantity} is {values[joint]:.4g} at {when:.3f} s, not 0',
                                      subject=limits.joint_names[joint],
                                      remedy='use a motion that begins and ends at rest')
    if pose is None:
        return
    away = np.abs(curve.evaluate([0.0])[0] - np.asarray(pose, dtype=np.float64))
    if not np.all(away <= REST):
        joint = int(np.argmax(away))
        raise TrajectoryError(f'position is {away[joint]:.4g} away from the arm at 0.000 s',
                              subject=limits.joint_names[joint],
                              remedy='move the arm there first, as the excitation node does')


def _refuse(curve: RestToRest, limits: MotionLimits, derivative: int, joint: int) -> None:
    """Raise TrajectoryError at the time of the largest excess of a joint."""
    times = np.linspace(0.0, curve.duration, 20001)
    values = curve.evaluate(times, derivative)[:, joint]
    name = _QUANTITIES[derivative]
    low, high = (limits.lower[joint], limits.upper[joint]) if derivative == 0 else \
        (-getattr(limits, name)[joint], getattr(limits, name)[joint])
    worst = int(np.argmax(np.maximum(values - high, low - values)))
    raise TrajectoryError(f'{name} {values[worst]:.4g} at {times[worst]:.3f} s is beyond '
                          f'{(low if values[worst] < 0.5 * (low + high) else high):.4g}',
                          subject=limits.joint_names[joint],
                          remedy='make the motion slower or smaller, or start elsewhere')


def units(basis: Basis, limits: MotionLimits) -> FloatArray:
    """Distance that each joint can move within one wave of a basis, shape (n,), rad or m."""
    wave = 2.0 * basis.duration / (basis.count + 2)
    return np.minimum.reduce((0.5 * (limits.upper - limits.lower),
                              limits.velocity * wave / (2.0 * np.pi),
                              limits.acceleration * (wave / (2.0 * np.pi)) ** 2))


def random_motion(basis: Basis, start: FloatArray, limits: MotionLimits,
                  efforts: EffortEnclosure, random: np.random.Generator,
                  clearance: Clearance | None = None) -> RestToRest:
    """A random motion, scaled to the limits of every joint."""
    x = random.normal(size=(basis.count, len(start)))
    unit = RestToRest(basis, np.zeros(len(start)), x)
    low, high = unit.extremes(0)
    scale = np.minimum.reduce((
        (limits.upper - start) / high, (limits.lower - start) / low,
        limits.velocity / unit.largest(1), limits.acceleration / unit.largest(2)))
    return shrunk(RestToRest(basis, start, scale * x), limits, efforts, clearance)


def shrunk(motion: RestToRest, limits: MotionLimits, efforts: EffortEnclosure,
           clearance: Clearance | None = None) -> RestToRest:
    """A motion, or its largest scaled copy about its start that is within all limits.

    Raises
    ------
    TrajectoryError
        If no scale is within the limits: the arm cannot even be held at its start.
    """
    def part(scale: float) -> RestToRest:
        return RestToRest(motion.basis, motion.start, scale * motion.coefficients)

    def keeps(scale: float) -> bool:
        candidate = part(scale)
        return use_of(candidate, limits, efforts).largest <= 1.0 and (
            clearance is None or is_clear(candidate, clearance))

    if keeps(1.0):
        return motion
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if keeps(middle) else (low, middle)
    if low < _SMALLEST:
        raise TrajectoryError('leaves no room to move: efforts there are at their limits, or '
                              'the arm is in contact', subject='start',
                              remedy='start elsewhere, or use more of the limits')
    return part(low)


def is_clear(motion: RestToRest, clearance: Clearance) -> bool:
    """Whether a motion is free of contact."""
    return bool(np.all(clearance(poses_of(motion))[0] > 0.0))


def poses_of(motion: RestToRest) -> FloatArray:
    """Poses of a motion at most `STEP` apart in every joint, shape (m, n)."""
    count = min(MOST_POSES, 2 + int(motion.duration * np.max(motion.largest(1)) / STEP))
    return motion.evaluate(np.linspace(0.0, motion.duration, count))
