# SPDX-License-Identifier: Apache-2.0
"""Common mistakes in a log, found by undoing each of them and fitting the equations again.

Two joints exchanged, one joint with the opposite sign or another unit, positions in degrees,
gravity in another direction, and late efforts change the equations of an arm. With such a mistake,
no masses and no friction explain the efforts; without it, they do. The masses of the description
are not used, only its kinematics.

The efforts of joint j are W_j x + F_j f_j, with the inertial parameters x of all bodies and
friction f_j: offset, viscous and dry friction, and a rotor. Bodies are physically consistent.
With r_j the unexplained fraction of their variance, the evidence for an alternative with r_j' is
sum_j log(r_j / r_j') / 2, half the logarithm of the ratio of likelihoods per sample.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import Finding, Severity
from robot_dynamics.identification.consistent import fit_consistent, prior_of
from robot_dynamics.identification.dataset.dataset import Dataset
from robot_dynamics.identification.signals import (
    WIDER,
    Motion,
    SignalSettings,
    by_lines,
    cutoff_of,
    low_pass,
    motions_of,
)
from robot_dynamics.identification.stops import on_stops
from robot_dynamics.model.arrays import BoolArray, FloatArray, IntArray
from robot_dynamics.model.robot import Robot, prismatic_joints

#: Factors by which an alternative has to reduce the errors, multiplied over the joints, to be
#: likely (a warning) and certain (an error). Right logs have factors below 1.55.
LIKELY, CERTAIN = 1.6, 2.5
#: Errors do not count below these fractions of the RMS effort of their joint, and of the largest
#: RMS effort of a joint.
EXACT, SMALL = 0.01, 0.005
#: Weight of the description, which keeps bodies consistent.
PRIOR_WEIGHT = 1.0
#: Least and largest factor of an effort in another unit.
OTHER_UNIT, MOST_UNIT = 2.0, 1e4
#: Largest lag of efforts that is searched, and its steps, s.
LONGEST_LAG, LAG_STEP = 0.5, 0.02
#: Speed of the smooth sign of dry friction relative to the RMS speed.
WIDTH = 0.03
# Samples of the equations, friction columns of a joint, and passes for the weights of joints.
_SAMPLES, _OWN, _PASSES = 400, 4, 2


@dataclass(frozen=True, eq=False)
class Samples:
    """Motion and efforts, shape (N, n), filtered alike, and a mask of joints off their stops."""

    q: FloatArray
    v: FloatArray
    a: FloatArray
    effort: FloatArray
    free: BoolArray

    def rows(self, kept: BoolArray, most: int) -> Samples:
        """Every so many of the rows of a mask, so that about ``most`` are left."""
        places = np.flatnonzero(kept)
        places = places[::max(1, len(places) // most)]
        return Samples(self.q[places], self.v[places], self.a[places], self.effort[places],
                       self.free[places])


@dataclass(frozen=True, eq=False)
class Alternative:
    """Samples and robot without a mistake, and the finding if it was one.

    With ``is_scaled``, efforts have another unit, and other errors are too small to count.
    """

    finding: Finding
    samples: Samples
    robot: Robot
    is_scaled: bool = False


def samples_of(dataset: Dataset, robot: Robot, lag: float = 0.0) -> Samples:
    """Samples of a log with a lag of efforts, s."""
    cutoff = cutoff_of(dataset)
    # Filters have not settled at the ends.
    parts = [[x[motion.trim:motion.count - motion.trim] for x in (
        motion.q, motion.v, motion.a, effort, ~on_stops(robot, dataset, motion, cutoff))]
        for motion, effort in _motions(dataset, lag)]
    return Samples(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def _motions(dataset: Dataset, lag: float = 0.0) -> list[tuple[Motion, FloatArray]]:
    """Motions of a log, and their efforts filtered as the positions."""
    cutoff = cutoff_of(dataset)
    return [(motion, low_pass(motion.effort, motion.rate, WIDER * cutoff))
            for motion in motions_of(dataset, SignalSettings(cutoff, lag=lag))]


def likely_mistake(dataset: Dataset, robot: Robot, lag: float = 0.0) -> Alternative | None:
    """The log without its most likely mistake, which is an error or a warning, if there is one.

    ``lag`` is that of the efforts, s.
    """
    samples = samples_of(dataset, robot, lag)
    samples = samples.rows(np.all(samples.free, axis=1), _SAMPLES)
    recorded = equations = _Equations(robot, samples)
    if not equations.are_enough:
        return None
    before = recorded.errors(samples.effort, is_consistent=True)
    best: Alternative | None = None
    most = float(np.log(LIKELY))
    for one in _alternatives(samples, robot, dataset.joint_names, recorded):
        if one.robot is not equations.robot or one.samples.q is not equations.q:
            equations = _Equations(one.robot, one.samples)
        effort = one.samples.effort
        start = before if not one.is_scaled else recorded.errors(
            samples.effort, is_consistent=True, floor=_floor(effort))
        # Errors with consistent bodies are larger than those with any bodies.
        if start - equations.errors(effort) > most:
            evidence = start - equations.errors(effort, is_consistent=True)
            if evidence > most:
                best, most = one, evidence
    if best is None:
        return None
    factor = float(np.exp(most))
    return replace(best, finding=replace(
        best.finding, severity=Severity.ERROR if factor > CERTAIN else Severity.WARNING,
        message=f'{best.finding.message}: the efforts fit this arm {factor:.2g} times better '
        'without that'))


def common_lag(dataset: Dataset, robot: Robot) -> float:
    """Lag of all efforts behind the positions to `LAG_STEP`, s; 0 if none is certain."""
    last = round(LONGEST_LAG / LAG_STEP)
    lags = LAG_STEP * np.arange(-last, last + 1)
    samples = samples_of(dataset, robot)
    free = np.all(samples.free, axis=1)
    equations = _Equations(robot, samples.rows(free, _SAMPLES))
    if not equations.are_enough:
        return 0.0
    motions = _motions(dataset)

    def moved(lag: float) -> FloatArray:
        shifted = [by_lines(motion.time[motion.trim:motion.count - motion.trim] + lag, motion.time,
                            effort) for motion, effort in motions]
        return replace(samples, effort=np.concatenate(shifted)).rows(free, _SAMPLES).effort

    best = float(min(lags, key=lambda lag: equations.errors(moved(lag))))
    before, after = (equations.errors(moved(lag), is_consistent=True) for lag in (0.0, best))
    return best if before - after > np.log(LIKELY) else 0.0


class _Equations:
    """Equations of a motion, with all inertial parameters and the friction of each joint."""

    def __init__(self, robot: Robot, samples: Samples):
        self.robot, self.q = robot, samples.q
        count, n = samples.q.shape
        rigid = 10 * robot.n_bodies
        self._W = np.zeros((n, count, rigid + _OWN * n))
        Y = Dynamics(robot).regressor(samples.q, samples.v, samples.a)
        self._W[:, :, :rigid] = Y.transpose(1, 0, 2)
        width = np.maximum(WIDTH * np.sqrt(np.mean(samples.v ** 2, axis=0)), 1e-9)
        for j in range(n):
            v, a = samples.v[:, j], samples.a[:, j]
            own = slice(rigid + _OWN * j, rigid + _OWN * (j + 1))
            self._W[j, :, own] = np.stack([np.ones(count), v, np.tanh(v / width[j]), a], axis=1)
        self._grams = np.matmul(self._W.transpose(0, 2, 1), self._W)

    @property
    def are_enough(self) -> bool:
        """Whether there are several times as many equations as parameters."""
        n, count, p = self._W.shape
        return n * count > 4 * p

    def errors(self, efforts: FloatArray, *, is_consistent: bool = False,
               floor: FloatArray | None = None) -> float:
        """sum_j log(r_j) / 2 of efforts of shape (N, n), with consistent bodies or any.

        r_j is at least ``floor``, (n,), by default that of the efforts.
        """
        return self._fit(self._grams, *self._products(efforts),
                         _floor(efforts) if floor is None else floor, is_consistent)[1]

    def factor(self, efforts: FloatArray, joint: int) -> float:
        """Factor between the effort of a joint and those that the other joints require.

        With its inverse as another unknown, the equations of the joint are homogeneous.
        """
        products, squares, total = self._products(efforts)
        size = np.sqrt(squares[joint])
        grams = np.pad(self._grams, ((0, 0), (0, 1), (0, 1)))
        grams[joint, -1, :-1] = grams[joint, :-1, -1] = -products[joint] / size
        grams[joint, -1, -1] = 1.0
        products = np.pad(products, ((0, 0), (0, 1)))
        products[joint] = squares[joint] = 0.0
        inverse = float(self._fit(grams, products, squares, total, _floor(efforts),
                                  False)[0][-1])
        return size / inverse if inverse > 0.0 else 1.0

    def _products(self, efforts: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """W_j^T tau_j, |tau_j|^2, and the same of tau_j without its mean."""
        return (np.einsum('jtp,tj->jp', self._W, efforts), np.sum(efforts ** 2, axis=0),
                _variation(efforts))

    def _fit(self, grams: FloatArray, products: FloatArray, squares: FloatArray,
             total: FloatArray, floor: FloatArray, is_consistent: bool
             ) -> tuple[FloatArray, float]:
        """Parameters and errors, by least squares weighted by the errors of the joints.

        With consistent bodies, friction that would drive a joint and negative rotors are left out.
        """
        left = np.ones(len(total))
        for _ in range(_PASSES):
            weights = self._W.shape[1] / (left * total)
            H, h = np.tensordot(weights, grams, 1), weights @ products
            x = self._consistent(H, h) if is_consistent else _least_squares(H, h)
            errors = squares - 2.0 * products @ x + np.einsum('p,jpq,q->j', x, grams, x)
            left = np.maximum(errors / total, floor)
        return x, 0.5 * float(np.sum(np.log(left)))

    def _consistent(self, H: FloatArray, h: FloatArray) -> FloatArray:
        prior = prior_of(self.robot.inertial_parameters)
        x = fit_consistent(H, h, prior, PRIOR_WEIGHT).x
        impossible = self._impossible(x)
        if len(impossible):
            H[impossible] = H[:, impossible] = h[impossible] = 0.0
            x = fit_consistent(H, h, prior, PRIOR_WEIGHT).x
        return x

    def _impossible(self, x: FloatArray) -> IntArray:
        """Columns of viscous and dry friction with negative power, and of negative rotors."""
        joints = np.arange(self.robot.n)
        viscous = 10 * self.robot.n_bodies + _OWN * joints + 1
        dry, rotor = viscous + 1, viscous + 2
        driving = x[viscous] * self._grams[joints, viscous, viscous] \
            + x[dry] * self._grams[joints, dry, viscous] < 0.0
        return np.concatenate([viscous[driving], dry[driving], rotor[x[rotor] < 0.0]])


def _variation(efforts: FloatArray) -> FloatArray:
    """|tau_j|^2 of efforts without their means, shape (n,)."""
    return np.maximum(np.sum((efforts - efforts.mean(axis=0)) ** 2, axis=0), 1e-300)


def _floor(efforts: FloatArray) -> FloatArray:
    """Fractions of the variance of efforts, (n,), below which errors do not count."""
    total = _variation(efforts)
    return np.minimum(EXACT ** 2 + SMALL ** 2 * np.max(total) / total, 1.0)


def _least_squares(H: FloatArray, h: FloatArray) -> FloatArray:
    """Shortest solution of scaled normal equations."""
    scale = 1.0 / np.sqrt(np.maximum(np.diag(H), 1e-300))
    sizes, axes = np.linalg.eigh(H * scale * scale[:, np.newaxis])
    kept = sizes > 1e-9 * sizes[-1]
    return scale * (axes[:, kept] @ ((scale * h) @ axes[:, kept] / sizes[kept]))


def _alternatives(samples: Samples, robot: Robot, names: tuple[str, ...],
                  equations: _Equations) -> Iterator[Alternative]:
    """Yield the log without each mistake; those with one motion follow each other."""
    q, v, a, effort = samples.q, samples.v, samples.a, samples.effort
    n = robot.n

    def changed(motion: tuple[FloatArray, FloatArray, FloatArray], efforts: FloatArray) -> Samples:
        return Samples(*motion, efforts, samples.free)

    def exchanged(i: int, j: int) -> list[int]:
        order = list(range(n))
        order[i], order[j] = j, i
        return order

    for j, name in enumerate(names):
        factor = equations.factor(effort, j)
        if OTHER_UNIT <= max(factor, 1.0 / factor) <= MOST_UNIT:
            yield Alternative(_unit(name, factor), changed(
                (q, v, a), effort / np.where(np.arange(n) == j, factor, 1.0)), robot,
                is_scaled=True)
    slides = prismatic_joints(robot)
    pairs = [(i, j) for i, j in combinations(range(n), 2) if slides[i] == slides[j]]
    for i, j in pairs:
        yield Alternative(_exchanged(names[i], names[j], 'efforts'),
                           changed((q, v, a), effort[:, exchanged(i, j)]), robot)
    if n > 1:
        yield Alternative(_error('effort', 'has its sign flipped in all joints',
                                  'multiply effort.sign by -1'),
                           changed((q, v, a), -effort), robot)
    for j, name in enumerate(names):
        sign = np.where(np.arange(n) == j, -1.0, 1.0)
        yield Alternative(_error(name, 'effort has its sign flipped',
                                  'multiply its effort.sign by -1'),
                           changed((q, v, a), effort * sign), robot)
    for i, j in pairs:
        order = exchanged(i, j)
        moved = (q[:, order], v[:, order], a[:, order])
        yield Alternative(_exchanged(names[i], names[j], 'columns'),
                           changed(moved, effort[:, order]), robot)
        yield Alternative(_exchanged(names[i], names[j], 'positions'), changed(moved, effort),
                           robot)
    for j, name in enumerate(names):
        sign = np.where(np.arange(n) == j, -1.0, 1.0)
        moved = (q * sign, v * sign, a * sign)
        yield Alternative(_error(name, 'position has the opposite sign of the description',
                                  'multiply its position.scale by -1'), changed(moved, effort),
                           robot)
        yield Alternative(_error(name, 'turns in the opposite direction of the description',
                                  'multiply its position.scale and effort.sign by -1'),
                           changed(moved, effort * sign), robot)
    unit = np.where(slides, 1.0, np.pi / 180.0)
    if np.any(unit != 1.0):
        yield Alternative(_error('position', 'looks like degrees',
                                  f'set position.scale: {np.pi / 180.0!r}'),
                           changed((q * unit, v * unit, a * unit), effort), robot)
    yield from _gravities(samples, robot, names)


def _gravities(samples: Samples, robot: Robot, names: tuple[str, ...]
               ) -> Iterator[Alternative]:
    """Yield the log of an arm with another mounting, and without gravity in its efforts."""
    size = float(np.linalg.norm(robot.gravity))
    if size == 0.0:
        return
    rest = np.zeros_like(samples.q)

    def pulled(mounted: Robot) -> BoolArray:
        """Mask of the joints on which gravity acts."""
        pull = np.abs(Dynamics(mounted).regressor(samples.q, rest, rest))
        return np.max(pull, axis=(0, 2)) > 1e-9 * size

    heavy = [name for name, one in zip(names, pulled(robot), strict=True) if one]
    yield Alternative(compensated_finding(', '.join(heavy)), samples,
                       robot.with_gravity((0.0, 0.0, 0.0)))
    for axis, sign in ((axis, sign) for axis in range(3) for sign in (1.0, -1.0)):
        mounted = robot.with_gravity(size * sign * np.eye(3)[axis])
        # Without an effect, it would be the same as efforts without gravity.
        if mounted.gravity @ robot.gravity < 0.9 * size ** 2 and np.any(pulled(mounted)):
            yield Alternative(
                _error('gravity', f'acts along {"+" if sign > 0.0 else "-"}{"xyz"[axis]} of the '
                       'base, not as described', 'describe the mounting: a fixed joint from a '
                       'level base link to the arm'), samples, mounted)


def _error(subject: str, message: str, remedy: str) -> Finding:
    return Finding(Severity.ERROR, subject, message, remedy)


def _exchanged(first: str, second: str, what: str) -> Finding:
    return _error(f'{first}, {second}', f'have their {what} exchanged',
                  'exchange the two in names' if what == 'columns' else
                  f'correct the order of the {what} (log.keys)')


def _unit(name: str, scale: float) -> Finding:
    return _error(name, f'efforts look like amperes or motor torques, {scale:.3g} times what the '
                  'other joints require', 'set effort.kind with torque_constant and gear_ratio '
                  'for it')


def compensated_finding(subject: str) -> Finding:
    """Finding on efforts without gravity."""
    return _error(subject, 'effort is already gravity-compensated: it does not change with the '
                  'pose', 'set effort.kind: gravity_compensated')
