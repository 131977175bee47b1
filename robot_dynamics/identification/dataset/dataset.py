# SPDX-License-Identifier: Apache-2.0
"""``Dataset``: motion and efforts of a robot's joints in SI units, without unusable rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, wraps
from pathlib import Path
from typing import TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.errors import DimensionError, Finding, RecordingError, Severity
from robot_dynamics.identification.dataset.bags import PARTS_MISSING, read_bag
from robot_dynamics.identification.dataset.conventions import QUANTITIES
from robot_dynamics.identification.dataset.log import Cleaned, Log, clean, stamps_of
from robot_dynamics.identification.dataset.settings import DatasetSettings
from robot_dynamics.identification.dataset.table_files import TABLES
from robot_dynamics.identification.dataset.tables import read_npz, read_tables
from robot_dynamics.model.arrays import BoolArray, FloatArray, real_array
from robot_dynamics.model.robot import Robot, prismatic_joints

Result = TypeVar('Result')

#: Sampling periods of recordings that are joined may differ by this fraction.
SAME_PERIOD = 0.01
# Times between rows count as uneven if they differ from the median by this fraction.
_JITTER = 0.1
# Time between two joined recordings, s.
_PAUSE = 1.0


@dataclass(frozen=True, eq=False)
class Segment:
    """A piece of a log without gaps: strictly increasing times, s, nearly even, shape (N,).

    Positions, velocities and efforts, (N, n), are those of the joints: rad, rad/s, N m, or m, m/s,
    N; nan where a velocity was not measured.
    """

    time: FloatArray
    position: FloatArray
    velocity: FloatArray
    effort: FloatArray
    #: Reference of the position controller, (N, n), rad or m, if it was recorded.
    reference: FloatArray | None = None


@dataclass(frozen=True, eq=False)
class Dataset:
    """Motion and efforts of the joints of a robot.

    See Also
    --------
    load_dataset, dataset_from_arrays
    """

    #: Joints in the order of the robot.
    joint_names: tuple[str, ...]
    #: Pieces without gaps.
    segments: tuple[Segment, ...]
    #: Median time between rows, s.
    period: float
    #: Axes with friction, shape (k, n), with speeds ``axes @ v``: the joints, and motors that a
    #: coupled transmission turns with several joints. Friction f of axis i acts on the joints as
    #: ``axes[i] * f``.
    axes: FloatArray
    #: The joints, and ``joint/motor``.
    axis_names: tuple[str, ...]
    #: Whether velocities were measured.
    has_velocity: bool
    #: Whether the efforts lack the gravity torque.
    is_gravity_compensated: bool = False
    #: Rows left out or corrected, by reason.
    counts: Mapping[str, int] = field(default_factory=dict)
    #: The same as text, and other remarks for the user.
    findings: tuple[Finding, ...] = ()
    #: Origin of the log.
    source: str = 'arrays'
    #: Requested source of velocities: ``auto``, ``position`` or ``measured``.
    velocity_source: str = 'auto'
    #: Proportional and derivative gains of the position controller, shape (2, n), if they are
    #: known: N m/rad and N m s/rad, or N/m and N s/m.
    gains: FloatArray | None = None

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
        """Total duration of the segments, s."""
        return float(sum(segment.time[-1] - segment.time[0] for segment in self.segments))

    @cached_property
    def extremes(self) -> tuple[FloatArray, FloatArray]:
        """Smallest and largest position of each joint, shape (n,) each."""
        return _extremes([one.position for one in self.segments])

    @cached_property
    def effort_extremes(self) -> tuple[FloatArray, FloatArray]:
        """Smallest and largest effort of each joint, shape (n,) each."""
        return _extremes([one.effort for one in self.segments])

    def between(self, start: float, end: float) -> Dataset:
        """Rows between two fractions of all rows, such as 0 and 0.5."""
        first, last = round(start * self.count), round(end * self.count)
        pieces, at = [], 0
        for segment in self.segments:
            a, b = max(first - at, 0), min(last - at, len(segment.time))
            at += len(segment.time)
            if b - a > 1:
                pieces.append(Segment(
                    segment.time[a:b], segment.position[a:b], segment.velocity[a:b],
                    segment.effort[a:b],
                    None if segment.reference is None else segment.reference[a:b]))
        if not pieces:
            raise RecordingError('has no rows between these fractions', subject=self.source,
                                 remedy='give fractions from 0 to 1')
        return replace(self, segments=tuple(pieces))


def _extremes(parts: Sequence[FloatArray]) -> tuple[FloatArray, FloatArray]:
    """Smallest and largest entries of the columns of several arrays."""
    # Column by column is faster than along the first axis.
    return (np.min([[column.min() for column in part.T] for part in parts], axis=0),
            np.max([[column.max() for column in part.T] for part in parts], axis=0))


def load_dataset(source: str | Path, robot: Robot,
                 settings: DatasetSettings | None = None) -> Dataset:
    """Read a log of a robot's joints.

    Parameters
    ----------
    source : str or Path
        A rosbag2 recording (its folder, an ``.mcap`` or a ``.db3``), a ``.csv``, ``.json``,
        ``.jsonl`` or ``.npz`` file, or the folder with the ``files`` of the settings.
    robot : Robot
        Its joints are read.
    settings : DatasetSettings, optional
        Names, units, drives and times of the log.

    Returns
    -------
    Dataset
        All usable rows; rows left out are in ``counts`` and ``findings``.

    Raises
    ------
    RecordingError
        If the log cannot be read, or has too few usable rows.

    See Also
    --------
    read_settings, dataset_from_arrays, identify

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> from pathlib import Path
    >>> from robot_dynamics import Robot
    >>> from robot_dynamics.identification import load_dataset
    >>> robot = Robot.from_urdf('urdf/planar_2r.urdf')
    >>> t = np.arange(0.0, 2.0, 0.01)
    >>> columns = np.stack([t, np.sin(t), np.cos(t), 2.0 * np.sin(t), np.sin(3.0 * t)], axis=1)
    >>> path = Path(tempfile.mkdtemp()) / 'log.csv'
    >>> names = [f'{name}_position' for name in robot.joint_names]
    >>> names += [f'{name}_effort' for name in robot.joint_names]
    >>> np.savetxt(path, columns, delimiter=',', comments='', header=','.join(['time', *names]))
    >>> dataset = load_dataset(path, robot)
    >>> dataset.count, dataset.has_velocity
    (200, False)
    """
    robot.require_single_coordinates('identification')
    settings = DatasetSettings() if settings is None else settings
    path, names = Path(source), robot.joint_names
    reference = None if settings.reference is None else _reference_log(path, names, settings)
    return dataset_from_log(read_log(path, names, settings), robot, settings, reference)


def _reference_log(path: Path, names: Sequence[str], settings: DatasetSettings) -> Log:
    """Positions of a file beside the log, of another topic, or of another key."""
    wanted = str(settings.reference)
    beside = (path if path.is_dir() else path.parent) / wanted
    if beside.is_file():
        return read_log(beside, names, replace(settings, files={}), required=('position',))
    return read_log(path, names, replace(settings, keys={**settings.keys, 'position': wanted}),
                    topic=wanted, required=('position',))


def read_log(path: Path, names: Sequence[str], settings: DatasetSettings, *,
             topic: str | None = None, required: Sequence[str] = ('position', 'effort'),
             rename: Mapping[str, str] | None = None) -> Log:
    """Rows of some joints from a recording, tables or an archive.

    ``topic`` and ``rename`` replace those of the settings; ``required`` are quantities that a
    table has to have.
    """
    rename = settings.names if rename is None else rename
    folder = path if path.is_dir() else path.parent
    files = {quantity: folder / str(name) for quantity, name in settings.files.items()}
    if files or path.suffix.lower() in TABLES:
        return read_tables(files or {'all': path}, names, rename, settings, required)
    if path.suffix.lower() == '.npz':
        return read_npz(path, names, rename, settings, required)
    return read_bag(path, names, rename, settings.topic if topic is None else topic)


def log_from_arrays(names: Sequence[str], time: FloatArray, quantities: Mapping[str, FloatArray]
                    ) -> Log:
    """Log of arrays of shape (N, n) by ``position``, ``velocity`` and ``effort``."""
    stamps, good = stamps_of(time)
    empty = np.full((len(time), len(names)), np.nan)
    position, velocity, effort = (quantities.get(name, empty)[good] for name in QUANTITIES)
    return Log(tuple(names), stamps, position, velocity, effort,
               {'rows without a time': int(np.count_nonzero(~good))}, 'arrays')


def require_rows(arrays: Mapping[str, FloatArray], time: FloatArray, n: int) -> None:
    """Raise DimensionError unless all arrays have one row of n values for each time."""
    for name, array in arrays.items():
        if time.ndim != 1 or array.shape != (len(time), n):
            raise DimensionError(f'must have one row of {n} values for each of the '
                                 f'{time.size} times, got shape {array.shape}', subject=name,
                                 remedy='give arrays of shape (N, n)')


def dataset_from_arrays(robot: Robot, time: ArrayLike, q: ArrayLike, tau: ArrayLike,
                        v: ArrayLike | None = None,
                        settings: DatasetSettings | None = None,
                        reference: ArrayLike | None = None) -> Dataset:
    """Dataset from arrays, cleaned and converted as for a file.

    Parameters
    ----------
    robot : Robot
        The robot.
    time : array_like, shape (N,)
        s.
    q, tau, v : array_like, shape (N, n)
        Positions, efforts, and velocities if they were measured.
    settings : DatasetSettings, optional
        See `load_dataset`.
    reference : array_like, shape (N, n), optional
        Reference of the position controller.

    See Also
    --------
    load_dataset, identify

    Examples
    --------
    >>> import numpy as np
    >>> from robot_dynamics import Robot
    >>> from robot_dynamics.identification import dataset_from_arrays
    >>> robot = Robot.from_urdf('urdf/planar_2r.urdf')
    >>> time = np.arange(0.0, 5.0, 0.01)
    >>> q = np.sin(np.outer(time, [1.0, 2.0]))
    >>> dataset = dataset_from_arrays(robot, time, q, np.cos(q))
    >>> dataset.n, dataset.count, dataset.has_velocity
    (2, 500, False)
    """
    robot.require_single_coordinates('identification')
    clock = real_array(time, 'time')
    arrays = {'q': real_array(q, 'q'), 'tau': real_array(tau, 'tau')}
    arrays['v'] = np.full_like(arrays['q'], np.nan) if v is None else real_array(v, 'v')
    if reference is not None:
        arrays['reference'] = real_array(reference, 'reference')
    require_rows(arrays, clock, robot.n)
    log = log_from_arrays(robot.joint_names, clock, {
        'position': arrays['q'], 'velocity': arrays['v'], 'effort': arrays['tau']})
    desired = None if reference is None else log_from_arrays(
        robot.joint_names, clock, {'position': arrays['reference']})
    return dataset_from_log(log, robot, settings or DatasetSettings(), desired)


def dataset_from_log(log: Log, robot: Robot, settings: DatasetSettings,
                     reference: Log | None = None) -> Dataset:
    """Dataset of the rows of a log, converted to joint positions and efforts and cleaned.

    ``reference`` has the reference of the position controller as its positions.
    """
    n = robot.n
    log, unsigned = _in_units(log, settings, n)
    C = settings.transmission(n)
    # A motor makes many turns, which its encoder counts.
    rotary = np.zeros(n, dtype=bool) if settings.position_side == 'motor' else \
        ~prismatic_joints(robot)
    cleaned = clean(log, rotary, times=settings.times)
    axes, names = _axes(C, robot.joint_names, settings)
    has_velocity = bool(np.all(np.isfinite(cleaned.velocity)))
    segments = _segments(cleaned, C, settings, n)
    if reference is not None:
        # Both logs have stamps from origins of their own.
        origin = cleaned.origin * 1e-9 + log.start - reference.start
        segments = _with_reference(segments, reference, origin, C, settings, rotary)
    return Dataset(robot.joint_names, segments, cleaned.period, axes, names, has_velocity,
                   settings.effort_kind == 'gravity_compensated', cleaned.counts,
                   unsigned + _findings(cleaned, log, has_velocity), log.source,
                   settings.velocity, settings.gains(n))


def segments_of(cleaned: Cleaned, position: FloatArray, velocity: FloatArray, effort: FloatArray
                ) -> tuple[Segment, ...]:
    """Segments of a cleaned log, of converted quantities."""
    return tuple(Segment(cleaned.time[a:b], position[a:b], velocity[a:b], effort[a:b])
                 for a, b in cleaned.bounds)


def joined(datasets: Sequence[Dataset]) -> Dataset:
    """Several recordings of one robot as one dataset, one after the other.

    Parameters
    ----------
    datasets : sequence of Dataset
        Of the same robot, read with the same settings.

    Raises
    ------
    RecordingError
        If the list is empty, or the sampling periods differ.

    Examples
    --------
    >>> import numpy as np
    >>> from robot_dynamics import Robot
    >>> from robot_dynamics.identification import dataset_from_arrays, joined
    >>> robot = Robot.from_urdf('urdf/planar_2r.urdf')
    >>> time = np.arange(0.0, 2.0, 0.01)
    >>> q = np.sin(np.outer(time, [1.0, 2.0]))
    >>> one = dataset_from_arrays(robot, time, q, np.cos(q))
    >>> joined([one, one]).count
    400
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
                remedy='use recordings with the same rate')
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
    """Decorator: compute the result once per dataset and keep it as long as the dataset.

    The result must not refer to the dataset and must not be written to.
    """
    made: WeakKeyDictionary[Dataset, Result] = WeakKeyDictionary()

    @wraps(function)
    def cached(dataset: Dataset) -> Result:
        if dataset not in made:
            made[dataset] = function(dataset)
        return made[dataset]
    return cached


def _in_units(log: Log, settings: DatasetSettings, n: int) -> tuple[Log, tuple[Finding, ...]]:
    """Log in radians and with signed efforts, and a finding for efforts that look unsigned."""
    scale = settings.of_joints('position_scale', n)
    effort = log.effort
    findings: tuple[Finding, ...] = ()
    if settings.unsigned_bits is not None:
        whole = 2.0 ** settings.unsigned_bits
        effort = np.where(effort >= 0.5 * whole, effort - whole, effort)
    else:
        findings = tuple(
            Finding(Severity.WARNING, name, 'effort looks like unsigned numbers of 16 bits in '
                    "two's complement", 'set effort.unsigned_bits: 16')
            for name, column in zip(log.names, effort.T, strict=True) if _looks_unsigned(column))
    if np.any(scale != 1.0):
        log = replace(log, position=log.position * scale, velocity=log.velocity * scale)
    return replace(log, effort=effort), findings


def _looks_unsigned(effort: FloatArray) -> bool:
    """Whether values are integers near 0 and near 2^16, without any between."""
    if np.any(effort < 0.0):
        return False
    known = effort[np.isfinite(effort)]
    quarter = 2.0 ** 14
    high = known > 3.0 * quarter
    return bool(len(known) and np.all((known >= 0.0) & (known < 4.0 * quarter))
                and np.any(high) and np.any(known < quarter)
                and np.all(high | (known < quarter)) and np.all(known == np.round(known)))


def _segments(cleaned: Cleaned, C: FloatArray, settings: DatasetSettings, n: int
              ) -> tuple[Segment, ...]:
    """Convert to the side of the joints."""
    v = cleaned.velocity
    if settings.position_side == 'motor':
        v = v @ np.linalg.inv(C).T
    q = _on_joints(cleaned.position, C, settings)
    tau = cleaned.effort * settings.of_joints('sign', n)
    if settings.effort_kind == 'current':
        tau = tau * settings.of_joints('torque_constant', n)
    if settings.effort_kind in ('current', 'motor_torque'):
        tau = tau @ C
    return segments_of(cleaned, q, v, tau)


def _on_joints(position: FloatArray, C: FloatArray, settings: DatasetSettings) -> FloatArray:
    """Positions of the joints, (N, n), from those of the measured side."""
    if settings.position_side == 'motor':
        position = position @ np.linalg.inv(C).T
    return position + settings.of_joints('position_offset', len(C))


def _with_reference(segments: Sequence[Segment], reference: Log, origin: float, C: FloatArray,
                    settings: DatasetSettings, rotary: BoolArray) -> tuple[Segment, ...]:
    """Segments with the reference, a log of its own with time 0 at ``origin``, s."""
    reference = _in_units(reference, settings, len(C))[0]
    known = np.all(np.isfinite(reference.position), axis=1)
    time = 1e-9 * reference.stamps[known] - origin
    desired = reference.position[known]
    desired[:, rotary] = np.unwrap(desired[:, rotary], axis=0)
    desired = _on_joints(desired, C, settings)
    out = []
    for segment in segments:
        q = np.stack([np.interp(segment.time, time, column) for column in desired.T], axis=1)
        turns = np.round((segment.position[0] - q[0]) / (2.0 * np.pi))
        out.append(replace(segment, reference=q + 2.0 * np.pi * np.where(rotary, turns, 0.0)))
    return tuple(out)


def _axes(C: FloatArray, joints: Sequence[str], settings: DatasetSettings
          ) -> tuple[FloatArray, tuple[str, ...]]:
    """Axes with friction: each joint, and each motor that turns with several joints."""
    rows, names = list(np.eye(len(joints))), list(joints)
    if settings.coupling is not None:
        for k, row in enumerate(C):
            if np.count_nonzero(row) > 1:
                rows.append(row / row[k] if row[k] else row / np.max(np.abs(row)))
                names.append(f'{joints[k]}/motor')
    return np.array(rows), tuple(names)


def _findings(cleaned: Cleaned, log: Log, has_velocity: bool) -> tuple[Finding, ...]:
    findings = [Finding(Severity.INFO, log.source, note) for note in log.notes]
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
            'no action is needed: rows are put on an even grid by their stamps'))
    if not has_velocity:
        findings.append(Finding(Severity.INFO, log.source, 'has no complete velocities: they '
                                                           'are computed from positions'))
    return tuple(findings)
