# SPDX-License-Identifier: Apache-2.0
"""Periodic references: finite Fourier series that start from rest.

Source of the form: J. Swevers, C. Ganseman, D. B. Tuekel, J. De Schutter and H. Van
Brussel, Optimal robot excitation and identification, IEEE Transactions on Robotics and
Automation 13(5), 1997, eq. (9).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.control.checks import count, finite_array, not_negative, positive
from robot_dynamics.control.motion.references import Reference
from robot_dynamics.errors import DimensionError, ParameterError, TrajectoryError
from robot_dynamics.model.arrays import FloatArray, real_array
from robot_dynamics.model.robot import Robot

#: Points a period of the highest harmonic at which extremes of a series are looked for, and in
#: the whole period at least.
POINTS_PER_HARMONIC, FEWEST_POINTS = 100, 4096
#: Range taken for a joint without position limits, about its centre. rad or m.
FREE_RANGE = math.pi / 2.0


class FourierSeries(Reference):
    r"""A periodic motion that begins at rest.

    .. math::

        q(\phi) = q_0 + \sum_{k=1}^{h} \frac{a_k}{k w} \sin(k w \phi)
                  + \frac{b_k}{k w} (1 - \cos(k w \phi)),  \quad w = 2 \pi f

    so that q = q_0 at phi = 0. Time is stretched at the beginning: dphi/dt rises from 0
    to 1 over `ramp` as 10 x^3 - 15 x^4 + 6 x^5, x = t/ramp, so that the motion starts
    with zero velocity and acceleration; then

        v = q' dphi/dt,   a = q'' (dphi/dt)^2 + q' d2phi/dt2

    are exact.

    Parameters
    ----------
    start : array_like, shape (n,)
        Pose q_0 at t = 0. rad or m.
    sine, cosine : array_like, shape (n, h)
        Velocity amplitudes a_k and b_k. rad/s or m/s.
    base_frequency : float
        f. Hz.
    ramp : float
        Duration of the start; 0 for none (q' is then the velocity at once). s.
    """

    def __init__(self, start: ArrayLike, sine: ArrayLike, cosine: ArrayLike, *,
                 base_frequency: float = 0.1, ramp: float = 2.0):
        self.start, self.sine, self.cosine = (
            np.array(finite_array(name, part)) for name, part in (
                ('start', start), ('sine', sine), ('cosine', cosine)))
        self.n = self.start.size
        if self.sine.ndim != 2 or self.sine.shape != self.cosine.shape \
                or self.start.shape != (self.sine.shape[0],) or self.n == 0:
            raise DimensionError(f'have shapes {self.sine.shape} and {self.cosine.shape} for '
                                 f'{self.n} joints', subject='sine and cosine',
                                 remedy='give both one row a joint and one column a harmonic')
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
            raise TrajectoryError('are too large for a float', subject='sine and cosine',
                                  remedy='give amplitudes of a speed, in SI units')
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
        """Return phi, dphi/dt and d2phi/dt2."""
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
    """Return a random exciting motion within a robot's limits.

    Each joint gets random amplitudes, then the largest scale at which position, speed
    and acceleration stay within bounds all the time.

    Parameters
    ----------
    robot : Robot
        The robot; its limits are kept.
    seed : int
        Seed of the amplitudes.
    start : array_like, shape (n,), optional
        Where the motion starts; where not given, where it is centred between the
        position limits (about zero for a joint that has none or room for it).
    harmonics : int
        Harmonics of the base frequency.
    base_frequency : float
        Hz.
    speed, acceleration : float
        Bounds for every joint; a robot's lower speed limit, less the margin, goes
        first. rad/s, rad/s^2.
    margin : float
        Distance kept from every limit, as a fraction of the joint's range, and of its
        speed limit.
    ramp : float
        Duration of the start. s.

    Raises
    ------
    TrajectoryError
        Where the start lies outside the position limits less the margin.
    """
    robot.require_single_coordinates('a Fourier series')
    speed = positive('speed', speed, 'rad/s')
    acceleration = positive('acceleration', acceleration, 'rad/s^2')
    margin, ramp = not_negative('margin', margin), not_negative('ramp', ramp, 's')
    harmonics = count('harmonics', harmonics)
    if not margin < 0.5:
        raise ParameterError(f'is {margin:g}', subject='margin',
                             remedy='set it below 0.5: twice of it is left out of each range')
    generator = np.random.default_rng(seed)
    shape = (robot.n, harmonics)
    sine, cosine = generator.standard_normal(shape), generator.standard_normal(shape)
    unit = FourierSeries(np.zeros(robot.n), sine, cosine, base_frequency=base_frequency, ramp=0.0)
    points = max(FEWEST_POINTS, POINTS_PER_HARMONIC * harmonics)
    q, v, a = unit.sample_many(np.arange(points) * unit.period / points)

    # At the nearest of N points an extreme of a series of degree h has lost at most the
    # fraction (pi h/N)^2/2 (Bernstein's inequality, twice), and as much of its half range.
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
    """Return position bounds less the margin; a joint without gets `FREE_RANGE` to each side."""
    centre = np.zeros(robot.n) if start is None else real_array(start, 'start')
    if centre.shape != (robot.n,):
        raise DimensionError(f'has shape {centre.shape}, not ({robot.n},)', subject='start',
                             remedy='give one position for each of: '
                                    + ', '.join(robot.joint_names))
    lower, upper = robot.limits.lower, robot.limits.upper
    both = np.isfinite(lower) & np.isfinite(upper)
    with np.errstate(invalid='ignore'):
        kept = np.where(both, margin * (upper - lower), 0.0)
    return (np.maximum(lower + kept, np.where(both, -np.inf, centre - FREE_RANGE)),
            np.minimum(upper - kept, np.where(both, np.inf, centre + FREE_RANGE)))


def _check_inside(robot: Robot, start: FloatArray, lower: FloatArray, upper: FloatArray) -> None:
    """Refuse a start from which there is no way in both directions."""
    for name, value, least, most in zip(robot.joint_names, start, lower, upper, strict=True):
        # Written so that NaN fails.
        if not least < value < most:
            raise TrajectoryError(f'{value:.3f} is not between {least:.3f} and {most:.3f}, the '
                                  'position limits less the margin', subject=name,
                                  remedy='move the arm away from its limit first, or let the '
                                         'motion choose its start')
