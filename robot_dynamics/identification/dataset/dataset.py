# SPDX-License-Identifier: Apache-2.0
"""``Dataset``: the motion and the efforts of a robot's joints, ready to be filtered."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import wraps
from itertools import pairwise
from pathlib import Path
from typing import TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.errors import DimensionError, Finding, RecordingError, Severity
from robot_dynamics.identification.dataset.bags import PARTS_MISSING, read_bag
from robot_dynamics.identification.dataset.log import Cleaned, Log, clean, stamps_of
from robot_dynamics.identification.dataset.settings import DatasetSettings
from robot_dynamics.identification.dataset.tables import TABLES, read_csv, read_npz
from robot_dynamics.model.arrays import FloatArray, real_array
from robot_dynamics.model.robot import Robot, prismatic_joints

# Times between rows that differ by more than this from the usual one are told of.
_JITTER = 0.1
#: Sampling periods of recordings that are put together may differ by this part.
SAME_PERIOD = 0.01
# Time between two recordings, s.
_PAUSE = 1.0
Result = TypeVar('Result')


@dataclass(frozen=True, eq=False)
class Segment:
    """A piece of a log without gaps.

    Parameters
    ----------
    time : ndarray, shape (N,)
        s, strictly increasing; not quite regular.
    position, velocity, effort : ndarray, shape (N, n)
        Of the joints; rad, rad/s, N m, or m, m/s, N. Velocity is nan where it was not measured.
    """

    time: FloatArray
    position: FloatArray
    velocity: FloatArray
    effort: FloatArray


@dataclass(frozen=True, eq=False)
class Dataset:
    """Motion and efforts of the joints of a robot.

    Parameters
    ----------
    joint_names : tuple of str, length n
        The joints, in the order of the robot.
    segments : tuple of Segment
        Pieces without gaps.
    period : float
        Usual time between rows, s.
    axes : ndarray, shape (k, n)
        Speeds at which something rubs: ``axes @ v``. The joints, and the motors that a
        coupled transmission lets turn with several joints. Friction f of axis i acts on the
        joints as ``axes[i] * f``.
    axis_names : tuple of str, length k
        The joints, and ``joint/motor``.
    has_velocity : bool
        Whether velocities were measured.
    is_gravity_compensated : bool
        Whether the efforts lack what holds the arm.
    counts : mapping of str to int
        What was left out or mended, by reason.
    findings : tuple of Finding
        The same in words, and whatever else a user should know.
    source : str
        Where it came from.
    velocity_source : str
        What the settings ask for: ``auto``, ``position`` or ``measured``.
    """

    joint_names: tuple[str, ...]
    segments: tuple[Segment, ...]
    period: float
    axes: FloatArray
    axis_names: tuple[str, ...]
    has_velocity: bool
    is_gravity_compensated: bool = False
    counts: Mapping[str, int] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    source: str = 'arrays'
    velocity_source: str = 'auto'

    @property
    def n(self) -> int:
        """Number of joints."""
        return len(self.joint_names)

    @property
    def count(self) -> int:
        """Number of rows."""
        return sum(len(segment.time) for segment in self.segments)

    @property
    def duration(self) -> float:
        """Time that the segments cover, s."""
        return float(sum(segment.time[-1] - segment.time[0] for segment in self.segments))

    def between(self, start: float, end: float) -> Dataset:
        """Return what lies between two shares of the rows, such as 0 and 0.5."""
        first, last = round(start * self.count), round(end * self.count)
        pieces, at = [], 0
        for segment in self.segments:
            a, b = max(first - at, 0), min(last - at, len(segment.time))
            at += len(segment.time)
            if b - a > 1:
                pieces.append(Segment(*(x[a:b] for x in (segment.time, segment.position,
                                                         segment.velocity, segment.effort))))
        if not pieces:
            raise RecordingError('has no rows there', subject=self.source,
                                 remedy='give shares from 0 to 1')
        return Dataset(self.joint_names, tuple(pieces), self.period, self.axes, self.axis_names,
                       self.has_velocity, self.is_gravity_compensated, self.counts,
                       self.findings, self.source, self.velocity_source)


def load_dataset(source: str | Path, robot: Robot,
                 settings: DatasetSettings | None = None) -> Dataset:
    """Read a log of a robot's joints.

    Parameters
    ----------
    source : str or Path
        A rosbag2 recording (its folder, an ``.mcap`` or a ``.db3``), a ``.csv``, ``.json`` or
        ``.npz`` file, or the folder in which the ``files`` of the settings lie.
    robot : Robot
        Whose joints they are.
    settings : DatasetSettings, optional
        What is unusual about the log.

    Returns
    -------
    Dataset
        All rows that can be used; what was left out is told in ``counts`` and ``findings``.

    Raises
    ------
    RecordingError
        When it cannot be read, or next to nothing of it can be used.
    """
    robot.require_single_coordinates('identification')
    settings = DatasetSettings() if settings is None else settings
    return dataset_from_log(_read(Path(source), robot.joint_names, settings), robot, settings)


def dataset_from_log(log: Log, robot: Robot, settings: DatasetSettings | None = None) -> Dataset:
    """Turn what was read into joint positions and joint torques, cleaned.

    Parameters
    ----------
    log : Log
        Of the robot's joints, in its order.
    robot, settings
        As in `load_dataset`.
    """
    settings = DatasetSettings() if settings is None else settings
    n = robot.n
    log, unsigned = _in_units(log, settings, n)
    C = settings.transmission(n)
    rotary = ~prismatic_joints(robot)
    if settings.position_side == 'motor':
        rotary = np.zeros(n, dtype=bool)  # A motor turns many times; its encoder counts.
    cleaned = clean(log, rotary, times=settings.times)
    segments = _segments(cleaned, C, settings, n)
    axes, names = _axes(C, robot.joint_names, settings)
    has_velocity = bool(np.all(np.isfinite(cleaned.velocity)))
    return Dataset(robot.joint_names, segments, cleaned.period, axes, names, has_velocity,
                   settings.effort_kind == 'gravity_compensated', cleaned.counts,
                   unsigned + _findings(cleaned, log, has_velocity), log.source,
                   settings.velocity)


def _in_units(log: Log, settings: DatasetSettings, n: int) -> tuple[Log, tuple[Finding, ...]]:
    """Return a log in radians and with signs, and what its efforts look like."""
    scale = settings.of_joints('position_scale', n)
    effort, findings = log.effort, ()
    if settings.unsigned_bits is not None:
        whole = 2.0 ** settings.unsigned_bits
        effort = np.where(effort >= 0.5 * whole, effort - whole, effort)
    else:
        findings = tuple(
            Finding(Severity.WARNING, name, 'effort looks like unsigned numbers of 16 bits of '
                    'which the upper half stands for negative ones', 'set effort.unsigned_bits: '
                    '16') for name, column in zip(log.names, effort.T, strict=True)
            if _looks_unsigned(column))
    if np.any(scale != 1.0):
        log = replace(log, position=log.position * scale, velocity=log.velocity * scale)
    return replace(log, effort=effort), findings


def _looks_unsigned(effort: FloatArray) -> bool:
    """Return whether numbers are integers near 0 and near 2^16, and none between or below."""
    if np.any(effort < 0.0):
        return False
    told = effort[np.isfinite(effort)]
    quarter = 2.0 ** 14
    high = told > 3.0 * quarter
    return bool(len(told) and np.all((told >= 0.0) & (told < 4.0 * quarter))
                and np.any(high) and np.any(told < quarter)
                and np.all(high | (told < quarter)) and np.all(told == np.round(told)))


def dataset_from_arrays(robot: Robot, time: ArrayLike, q: ArrayLike, tau: ArrayLike,
                        v: ArrayLike | None = None,
                        settings: DatasetSettings | None = None) -> Dataset:
    """Make a dataset of arrays, in the same way as of a file.

    Parameters
    ----------
    robot : Robot
        The robot.
    time : array_like, shape (N,)
        s.
    q, tau, v : array_like, shape (N, n)
        Positions, efforts, velocities where they were measured.
    settings : DatasetSettings, optional
        As in `load_dataset`.
    """
    robot.require_single_coordinates('identification')
    clock = real_array(time, 'time')
    arrays = {'q': real_array(q, 'q'), 'tau': real_array(tau, 'tau')}
    arrays['v'] = np.full_like(arrays['q'], np.nan) if v is None else real_array(v, 'v')
    for name, array in arrays.items():
        if clock.ndim != 1 or array.shape != (len(clock), robot.n):
            raise DimensionError(f'has shape {array.shape}', subject=name,
                                 remedy=f'give one row of {robot.n} numbers for each time')
    stamps, good = stamps_of(clock)
    log = Log(robot.joint_names, stamps, arrays['q'][good], arrays['v'][good],
              arrays['tau'][good], {'rows without a time': int(np.count_nonzero(~good))}, 'arrays')
    return dataset_from_log(log, robot, settings)


def _read(path: Path, joints: Sequence[str], settings: DatasetSettings) -> Log:
    if settings.files:
        folder = path if path.is_dir() else path.parent
        return read_csv({quantity: folder / str(name) for quantity, name
                         in settings.files.items()}, joints, settings.names, settings.rate,
                        settings.keys)
    if path.suffix.lower() in TABLES:
        return read_csv({'all': path}, joints, settings.names, settings.rate, settings.keys)
    if path.suffix.lower() == '.npz':
        return read_npz(path, joints, settings.names, settings.keys, settings.rate)
    return read_bag(path, joints, settings.names, settings.topic)


def _segments(cleaned: Cleaned, C: FloatArray, settings: DatasetSettings, n: int
              ) -> tuple[Segment, ...]:
    """Convert to the side of the joints."""
    q, v = cleaned.position, cleaned.velocity
    if settings.position_side == 'motor':
        inverse = np.linalg.inv(C)
        q, v = q @ inverse.T, v @ inverse.T
    q = q + settings.of_joints('position_offset', n)
    tau = cleaned.effort * settings.of_joints('sign', n)
    if settings.effort_kind == 'current':
        tau = tau * settings.of_joints('torque_constant', n)
    if settings.effort_kind in ('current', 'motor_torque'):
        tau = tau @ C
    bounds = [*cleaned.starts, len(cleaned.time)]
    return tuple(Segment(cleaned.time[a:b], q[a:b], v[a:b], tau[a:b])
                 for a, b in pairwise(bounds))


def _axes(C: FloatArray, joints: Sequence[str], settings: DatasetSettings
          ) -> tuple[FloatArray, tuple[str, ...]]:
    """Return what rubs: each joint, and each motor that turns with more than one joint."""
    rows, names = list(np.eye(len(joints))), list(joints)
    if settings.coupling is not None:
        for k, row in enumerate(C):
            if np.count_nonzero(row) > 1:
                rows.append(row / row[k] if row[k] else row / np.max(np.abs(row)))
                names.append(f'{joints[k]}/motor')
    return np.array(rows), tuple(names)


def _findings(cleaned: Cleaned, log: Log, has_velocity: bool) -> tuple[Finding, ...]:
    findings = []
    for reason, count in cleaned.counts.items():
        share = count / max(log.count, 1)
        severity = Severity.WARNING if reason == PARTS_MISSING or (
            share > 0.01 and 'asked for' not in reason) else Severity.INFO
        findings.append(Finding(severity, log.source, f'{count} {reason}'))
    steps = np.diff(cleaned.time)
    uneven = np.abs(steps - cleaned.period) > _JITTER * cleaned.period
    if np.mean(uneven) > 0.01:
        findings.append(Finding(
            Severity.INFO, log.source, f'{100 * np.mean(uneven):.0f} % of the times between rows '
            f'differ from the usual {1e3 * cleaned.period:.3g} ms by more than 10 %',
            'nothing: rows are put on an even grid by their stamps'))
    if not has_velocity:
        findings.append(Finding(Severity.INFO, log.source, 'velocities are not complete: they '
                                                           'are computed from positions'))
    return tuple(findings)


def joined(datasets: Sequence[Dataset]) -> Dataset:
    """Put recordings one after the other.

    Parameters
    ----------
    datasets : sequence of Dataset
        Of the same robot, read with the same settings.

    Returns
    -------
    Dataset
        All segments; times of later recordings come after those of earlier ones.

    Raises
    ------
    RecordingError
        Where there is none, or one was sampled at another rate.
    """
    if not datasets:
        raise RecordingError('is missing', subject='recording', remedy='name one or more')
    first = datasets[0]
    segments: list[Segment] = []
    counts: dict[str, int] = {}
    end = 0.0
    for dataset in datasets:
        if abs(dataset.period - first.period) > SAME_PERIOD * first.period:
            raise RecordingError(
                f'has a row every {1e3 * dataset.period:.4g} ms, the first recording every '
                f'{1e3 * first.period:.4g} ms', subject=dataset.source,
                remedy='identify recordings of one rate')
        shift = 0.0 if not segments else end + _PAUSE - float(dataset.segments[0].time[0])
        segments += [replace(segment, time=segment.time + shift) for segment in dataset.segments]
        end = float(segments[-1].time[-1])
        for reason, count in dataset.counts.items():
            counts[reason] = counts.get(reason, 0) + count
    return replace(
        first, segments=tuple(segments), counts=counts,
        has_velocity=all(dataset.has_velocity for dataset in datasets),
        findings=tuple(dict.fromkeys(finding for dataset in datasets
                                     for finding in dataset.findings)),
        source=', '.join(dataset.source for dataset in datasets),
        period=float(np.mean([dataset.period for dataset in datasets])))


def remembered(function: Callable[[Dataset], Result]) -> Callable[[Dataset], Result]:
    """Return a function that computes its result once for each dataset.

    The result is kept as long as the dataset, must not hold it, and nobody writes into it.
    """
    made: WeakKeyDictionary[Dataset, Result] = WeakKeyDictionary()

    @wraps(function)
    def asked(dataset: Dataset) -> Result:
        if dataset not in made:
            made[dataset] = function(dataset)
        return made[dataset]
    return asked
