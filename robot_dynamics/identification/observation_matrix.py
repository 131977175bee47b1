# SPDX-License-Identifier: Apache-2.0
"""Filtered equations of a recording, with the columns of all candidate terms.

The columns of an equation of joint j are the effects of each inertial parameter and friction term
on the effort of that joint, and that effort. All are filtered by the same low-pass and sampled at
twice its cut-off, so that errors of neighbouring rows are nearly independent. Models then use some
of these columns, without reading the recording again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace

import numpy as np

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import RecordingError
from robot_dynamics.identification.dataset.dataset import Dataset
from robot_dynamics.identification.friction import (
    LOADED,
    check_terms,
    columns_of,
    options_of,
)
from robot_dynamics.identification.signals import (
    Motion,
    SignalSettings,
    low_pass,
    motions_of,
    settling,
)
from robot_dynamics.identification.stops import on_stops
from robot_dynamics.model.arrays import BoolArray, FloatArray, IntArray
from robot_dynamics.model.robot import Robot

#: Rows per second as a multiple of the cut-off, which is about the noise bandwidth of the filter:
#: errors of neighbouring rows are then almost uncorrelated.
ROWS_PER_CUTOFF = 2.0
# Samples per filtered piece.
_PIECE = 4096


@dataclass(frozen=True)
class Feature:
    """A friction column: axis of the dataset, term, and width or length (0 for a term without)."""

    axis: int
    term: str
    option: float


@dataclass(frozen=True, eq=False)
class JointRows:
    """Equations A x = y of one joint, with the indices of the columns of A in the `Stack`."""

    columns: IntArray
    A: FloatArray
    y: FloatArray


class Stack:
    """Equations of all joints.

    Columns: the 10 nb inertial parameters without gravity, then the effects of 4 nb of them (mass
    and first moment) under unit gravity along x, y and z, then the features: friction ``terms``
    of each axis. Rows of a joint slower than ``velocity_threshold`` are not used. If
    ``coulomb_width`` is given, it is the only width of the smooth sign; otherwise several are
    prepared. ``loads``, (10 nb,), are the inertial parameters for the loads of the axes, those of
    the robot if not given. ``like`` is a stack of the same log, with the features and used rows to
    take over, and ``motions`` replace those of the log.

    Attributes
    ----------
    features : tuple of Feature
        Friction columns.
    joints : tuple of JointRows
        Equations.
    time : ndarray, shape (m,)
        Times of the rows, s.
    used, on_stops : ndarray of bool, shape (m, n)
        Rows of each joint that are used, and rows at a mechanical stop.
    """

    def __init__(self, robot: Robot, dataset: Dataset, settings: SignalSettings,
                 terms: Sequence[str], *, velocity_threshold: float = 0.0,
                 coulomb_width: float | None = None, like: Stack | None = None,
                 loads: FloatArray | None = None,
                 motions: tuple[Motion, ...] | None = None):
        self.robot, self.dataset, self.settings = robot, dataset, settings
        self.terms = check_terms(terms)
        self.motions = motions_of(dataset, settings) if motions is None else motions
        self._dynamics: list[Dynamics] = []
        self._ancestry = _moved(robot)
        plain = tuple(term for term in self.terms if term not in LOADED)
        loaded = tuple(term for term in self.terms if term in LOADED)
        speeds = self.speeds()
        self.features: tuple[Feature, ...] = like.features if like is not None else tuple(
            Feature(axis, term, option) for term in (*plain, *loaded)
            for axis in range(len(dataset.axes)) for option
            in options_of(term, speeds[axis], coulomb_width))
        self._unloaded: dict[tuple[int, tuple[int, ...]], FloatArray] = {}
        self.time = np.concatenate([motion.time[outer][kept] for motion in self.motions
                                    for outer, kept in self._pieces(motion)] or [np.zeros(0)])
        if len(self.time) < 8:
            raise RecordingError(f'is too short: {dataset.duration:.3g} s, {len(self.time)} '
                                 'equations per joint', subject=dataset.source,
                                 remedy='record some more seconds, and give times in s')
        self.on_stops: BoolArray = self._rows_on_stops() if like is None else like.on_stops
        self._moving = np.abs(self.speeds_of_rows()) >= velocity_threshold
        self.used: BoolArray = self._moving & ~self.on_stops if like is None else like.used
        self.joints = self._equations()
        self._write_features(plain)
        # Loads and gravity of the columns of each load-dependent term.
        self._loads: dict[str, tuple[bytes, bytes]] = dict.fromkeys(loaded, (b'', b''))
        self.with_loads(robot.parameters if loads is None else loads)

    @property
    def n_rigid(self) -> int:
        """Number of inertial parameters."""
        return 10 * self.robot.n_bodies

    @property
    def first_feature(self) -> int:
        """Index of the column of the first feature."""
        return 22 * self.robot.n_bodies

    @property
    def rate(self) -> float:
        """Rows per second, Hz."""
        return row_rate(self.motions[0].rate, self.settings.cutoff)

    def speeds(self) -> FloatArray:
        """RMS speed of each axis, shape (k,), rad/s or m/s."""
        squares = sum(np.sum((motion.v @ self.dataset.axes.T) ** 2, axis=0)
                      for motion in self.motions)
        return np.sqrt(squares / sum(motion.count for motion in self.motions))

    def with_loads(self, parameters: FloatArray, gravity: FloatArray | None = None,
                   terms: Collection[str] = tuple(LOADED)) -> tuple[str, ...]:
        """Compute the columns of load-dependent friction for other inertial parameters.

        Returns those of the ``terms`` with columns that have changed.
        """
        gravity = self.robot.gravity if gravity is None else gravity
        loads = parameters.tobytes(), gravity.tobytes()
        stale = tuple(term for term, last in self._loads.items()
                      if term in terms and last != loads)
        if stale:
            self._write_features(stale, Dynamics(self.robot.with_parameters(
                parameters).with_gravity(gravity), armature=False))
            self._loads.update(dict.fromkeys(stale, loads))
        return stale

    def places(self, joint: JointRows, terms: Collection[str]) -> IntArray:
        """Places of the columns of some terms in the equations of a joint."""
        features = [k for k, feature in enumerate(self.features) if feature.term in terms]
        return np.flatnonzero(np.isin(joint.columns, self.first_feature + np.array(features)))

    def speeds_of_rows(self) -> FloatArray:
        """Velocities at the times of the rows, shape (m, n)."""
        return np.concatenate([motion.v[outer][keep] for motion in self.motions
                               for outer, keep in self._pieces(motion)])

    def without_rows(self) -> Stack:
        """Names of the columns alone, small enough for `NormalEquations` of other processes."""
        out = copy(self)
        out.dataset = replace(self.dataset, segments=())
        out.motions, out._dynamics, out._unloaded = (), [], {}
        out.joints = tuple(JointRows(one.columns, one.A[:0].copy(), one.y[:0].copy())
                           for one in self.joints)
        out.time, none = np.zeros(0), np.zeros((0, self.robot.n), dtype=bool)
        out.used, out.on_stops, out._moving = none, none, none
        return out

    def take_back(self, joint: int) -> None:
        """Use the equations of a joint that is not at a stop."""
        self.on_stops[:, joint] = False
        self.used[:, joint] = self._moving[:, joint]

    def _rows_on_stops(self) -> BoolArray:
        """Mask of the rows at which each joint is at a stop, shape (m, n)."""
        rows = []
        for motion in self.motions:
            lying = on_stops(self.robot, self.dataset, motion, self.settings.cutoff)
            rows += [lying[outer][keep] for outer, keep in self._pieces(motion)]
        return np.concatenate(rows)

    def _equations(self) -> tuple[JointRows, ...]:
        """Equations of all joints, without the columns of features yet."""
        n, count, axes = self.robot.n, len(self.time), self.dataset.axes
        carried = [np.flatnonzero(np.repeat(self._ancestry[j], 10)) for j in range(n)]
        # Mass and first moment, and their places among those of all bodies.
        heavy = [one[one % 10 < 4] for one in carried]
        joints = []
        for j in range(n):
            lifted = 4 * (heavy[j] // 10) + heavy[j] % 10
            columns = np.concatenate([
                carried[j], *(self.n_rigid + 4 * self.robot.n_bodies * k + lifted
                              for k in range(3)),
                [self.first_feature + k for k, feature in enumerate(self.features)
                 if axes[feature.axis, j]]]).astype(np.int64)
            joints.append(JointRows(columns, np.empty((count, len(columns))), np.empty(count)))
        first = 0
        for motion in self.motions:
            for outer, kept in self._pieces(motion):
                rows = slice(first, first + len(kept))
                rigid, pulls = self._rigid(motion, outer)
                for j, one in enumerate(joints):
                    first_own = j * self.n_rigid
                    filtered = self._filtered(np.concatenate([
                        rigid.take(first_own + carried[j], axis=1),
                        *(pull.take(first_own + heavy[j], axis=1) for pull in pulls),
                        motion.effort[outer, j:j + 1]], axis=1), motion, kept)
                    one.A[rows, :filtered.shape[1] - 1] = filtered[:, :-1]
                    one.y[rows] = filtered[:, -1]
                first = rows.stop
        return tuple(joints)

    def _write_features(self, terms: Collection[str], model: Dynamics | None = None) -> None:
        """Write the columns of some terms into the equations; ``model`` gives the loads."""
        numbers = [k for k, feature in enumerate(self.features) if feature.term in terms]
        axes = self.dataset.axes[[self.features[k].axis for k in numbers]]
        places = [self.places(one, terms) for one in self.joints]
        first = 0
        for motion in self.motions:
            effects = self._effects(motion, numbers, model)
            for outer, kept in self._pieces(motion):
                rows = slice(first, first + len(kept))
                filtered = self._filtered(effects[outer], motion, kept)
                for j, one in enumerate(self.joints):
                    mine = np.flatnonzero(axes[:, j])
                    one.A[rows, places[j]] = filtered.take(mine, axis=1) * axes[mine, j]
                first = rows.stop

    def _filtered(self, x: FloatArray, motion: Motion, kept: IntArray) -> FloatArray:
        """Rows of a piece of a motion, low-pass filtered."""
        return low_pass(x, motion.rate, self.settings.cutoff, self.settings.order, kept)

    def _effects(self, motion: Motion, numbers: Sequence[int], model: Dynamics | None
                 ) -> FloatArray:
        """Features along a whole motion, shape (N, k)."""
        if model is None:
            return self._columns(motion, numbers)
        # Loads change with the model; columns per unit of load do not.
        key = id(motion), tuple(numbers)
        if key not in self._unloaded:
            self._unloaded[key] = self._columns(motion, numbers)
        load = axis_loads(self.dataset.axes, model.inverse_dynamics(motion.q, motion.v, motion.a))
        out = np.abs(load).take([self.features[k].axis for k in numbers], axis=1)
        out *= self._unloaded[key]
        return out

    def _columns(self, motion: Motion, numbers: Sequence[int]) -> FloatArray:
        """Features along a whole motion, per unit of load for load-dependent ones."""
        axes = self.dataset.axes
        out = np.empty((motion.count, len(numbers)))
        groups: dict[tuple[int, str], list[int]] = {}
        for place, k in enumerate(numbers):
            groups.setdefault((self.features[k].axis, self.features[k].term), []).append(place)
        for (axis, term), places in groups.items():
            direction = axes[axis]
            out[:, places] = columns_of(
                LOADED.get(term, term),
                [self.features[numbers[place]].option for place in places],
                motion.q @ direction, motion.v @ direction, motion.a @ direction)
        return out

    def _rigid(self, motion: Motion, piece: slice) -> tuple[FloatArray, list[FloatArray]]:
        """Regressors without gravity and, at rest, under unit gravities, (L, 10 n nb) each."""
        gravities = ((0.0, 0.0, 0.0), *np.eye(3))
        if not self._dynamics:
            self._dynamics = [Dynamics(self.robot.with_gravity(one)) for one in gravities]
        weightless, *lifting = self._dynamics
        q, v, a = motion.q[piece], motion.v[piece], motion.a[piece]
        rest = np.zeros_like(q)
        return weightless.regressor(q, v, a).reshape(len(q), -1), [
            one.regressor(q, rest, rest).reshape(len(q), -1) for one in lifting]

    def _pieces(self, motion: Motion) -> Iterator[tuple[slice, IntArray]]:
        return pieces_of(motion, self.settings.cutoff)


def row_rate(rate: float, cutoff: float) -> float:
    """Rows per second, Hz, from the sampling rate of a motion."""
    return rate / max(1, int(rate / (ROWS_PER_CUTOFF * cutoff)))


def pieces_of(motion: Motion, cutoff: float) -> Iterator[tuple[slice, IntArray]]:
    """Yield pieces of a motion to filter, and the samples of each that become rows.

    A piece includes samples on both sides for the settling of the filter.
    """
    step = round(motion.rate / row_rate(motion.rate, cutoff))
    margin = int(np.ceil(settling(cutoff) * motion.rate))
    for start in range(0, motion.count, _PIECE):
        outer = slice(max(start - margin, 0), min(start + _PIECE + margin, motion.count))
        inner = np.arange(start, min(start + _PIECE, motion.count))
        kept = inner[(inner % step == 0) & (inner >= motion.trim)
                     & (inner < motion.count - motion.trim)]
        if len(kept):
            yield outer, kept - outer.start


def axis_loads(axes: FloatArray, efforts: FloatArray) -> FloatArray:
    """Load of each axis, shape (N, k), from the efforts of the joints, (N, n).

    Motors of a coupled transmission share the efforts of the joints, tau = D^T tau_motor.
    """
    n = axes.shape[1]
    loads: list[FloatArray] = [efforts]
    if len(axes) > n:
        D = np.eye(n)
        places = [int(np.argmax((row != 0.0) * np.arange(1, n + 1))) for row in axes[n:]]
        D[places] = axes[n:]
        loads.append(np.asarray(np.linalg.solve(D.T, efforts.T).T[:, places], dtype=np.float64))
    return np.concatenate(loads, axis=1)


def _moved(robot: Robot) -> BoolArray:
    """Mask of the bodies that each joint moves, shape (n, nb)."""
    moved = robot.coupling.T != 0.0
    for body, parent in enumerate(robot.parents):
        if parent >= 0:
            moved[:, body] |= moved[:, parent]
    return moved
