# SPDX-License-Identifier: Apache-2.0
"""Points of a trajectory message, checked as a whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from robot_dynamics.control.motion.references import Reference
from robot_dynamics.errors import JointNamesError, TrajectoryError
from robot_dynamics.model.arrays import FloatArray

#: Shortest time between two points. s.
SHORTEST_SEGMENT = 1e-4
#: Longest trajectory. s.
LONGEST = 1e5

#: Fields of a point that are read, in the order of the message.
FIELDS = ('positions', 'velocities', 'accelerations')

# Largest number of names that an error lists.
_NAMES_SHOWN = 10


@dataclass(frozen=True)
class TrajectoryPoint:
    """A point of a trajectory as in messages.

    Parameters
    ----------
    time_from_start : float
        Time after the start of the trajectory. s.
    positions, velocities, accelerations : sequence of float
        One value per joint of the message; accelerations, or both derivatives, may be empty.

    Examples
    --------
    >>> point = TrajectoryPoint(2.0, positions=[0.1, 0.2], velocities=[0.0, 0.0])
    >>> PointArrays.of([point], 2).velocities
    array([[0., 0.]])
    """

    time_from_start: float
    positions: Sequence[float]
    velocities: Sequence[float] = ()
    accelerations: Sequence[float] = ()


@dataclass(frozen=True, eq=False)
class PointArrays:
    """Points of a message, in the order of its joints, one row per point.

    Times, shape (m,), are counted from the start of the trajectory, s. The other arrays have shape
    (m, k) for k joints, or are None if the message has none.
    """

    times: FloatArray
    positions: FloatArray | None
    velocities: FloatArray | None = None
    accelerations: FloatArray | None = None

    def __len__(self) -> int:
        return len(self.times)

    @classmethod
    def of(cls, points: Sequence[TrajectoryPoint], count: int) -> PointArrays:
        """Points of `count` joints as arrays; raises a TrajectoryError for a wrong length."""
        return cls(np.array([point.time_from_start for point in points], dtype=np.float64),
                   *(stacked(points, field, count) for field in FIELDS))


@dataclass(frozen=True, eq=False)
class Points:
    """Points in the order of the robot's joints: times (m,), q and, where given, v, a (m, n)."""

    times: FloatArray
    q: FloatArray
    v: FloatArray | None
    a: FloatArray | None


def sample_points(reference: Reference, start: float, duration: float,
                  step: float) -> list[TrajectoryPoint]:
    """Points of a section of a reference, the first one at its beginning; times in s."""
    count = max(round(duration / step), 1)
    times = np.arange(count + 1) * step
    q, v, a = reference.sample_many(start + times)
    return [TrajectoryPoint(float(t), q[k], v[k], a[k]) for k, t in enumerate(times)]


def read_points(joint_names: tuple[str, ...], names: Sequence[str],
                points: Sequence[TrajectoryPoint] | PointArrays, *, max_points: int,
                resting: FloatArray | None = None) -> Points:
    """Points in the order of `joint_names`.

    Joints that are not named rest at the pose `resting`, shape (n,), where there is one. Raises a
    TrajectoryError if joints, lengths, times or values are invalid.
    """
    given = set(names)
    absent = [] if resting is None else [name for name in joint_names if name not in given]
    order = _order(joint_names, [*names, *absent])
    check_count(len(points), max_points)
    arrays = points if isinstance(points, PointArrays) else PointArrays.of(points, len(names))
    q, v, a = (_finite(getattr(arrays, field), field, names) for field in FIELDS)
    if q is None:
        raise TrajectoryError('has no positions', subject='trajectory',
                              remedy='give every point one position per joint')
    if v is None and a is not None:
        raise TrajectoryError('has accelerations without velocities', subject='trajectory',
                              remedy='add velocities, or leave the accelerations out')
    times = arrays.times
    for is_right, must, remedy in (
            (np.isfinite(times), 'be finite', 'send finite times only'),
            (times <= LONGEST, f'not be above {LONGEST:g}', 'send it in parts'),
            (times >= 0.0, 'be zero or later', 'begin at or after the stamp of the trajectory')):
        if not is_right.all():
            k = int(np.argmin(is_right))
            raise TrajectoryError(f'must {must}, got {times[k]:g}',
                                  subject=f'points[{k}].time_from_start', remedy=remedy)
    wrong = np.flatnonzero(~(np.diff(times) >= SHORTEST_SEGMENT))
    if wrong.size:
        k = int(wrong[0]) + 1
        raise TrajectoryError(f'must be later than the point before, got {times[k]:g} after '
                              f'{times[k - 1]:g}', subject=f'points[{k}].time_from_start',
                              remedy='give increasing times')
    if resting is not None and absent:
        pose = resting[[joint_names.index(name) for name in absent]]
        q = _with_columns(q, pose)
        v, a = (None if array is None else _with_columns(array, np.zeros_like(pose))
                for array in (v, a))
    return Points(times, q[:, order], None if v is None else v[:, order],
                  None if a is None else a[:, order])


def check_count(count: int, max_points: int) -> None:
    """Reject a trajectory of no or of too many points with a TrajectoryError."""
    if count == 0:
        raise TrajectoryError('has no point', subject='trajectory',
                              remedy='send at least one point')
    if count > max_points:
        raise TrajectoryError(f'must have at most {max_points} points, got {count}',
                              subject='trajectory', remedy='send it in parts')


def wrong_length(k: int, field: str, length: int, count: int) -> TrajectoryError:
    """Error of a field of another length than there are joints."""
    return TrajectoryError(f'has {length} values for {count} joints',
                           subject=f'points[{k}].{field}',
                           remedy='give every point one value per joint, or none of them')


def _order(joint_names: tuple[str, ...], names: Sequence[str]) -> list[int]:
    """Position of each joint of the robot in the message."""
    # Linear in the number of names, which may be ten thousand, because it runs in a control loop.
    places = {name: place for place, name in enumerate(names)}
    missing = [name for name in joint_names if name not in places]
    unknown = places.keys() - set(joint_names)
    repeated = [name for name, count in Counter(names).items() if count > 1] \
        if len(places) < len(names) else []
    for what, wrong in (('is unknown', unknown), ('is named twice', repeated),
                        ('is missing', missing)):
        if wrong:
            # An empty name would be invisible.
            shown = [name if name.strip() else repr(name) for name in sorted(wrong)]
            raise JointNamesError(what, subject=', '.join(shown[:_NAMES_SHOWN]),
                                  remedy='name each of these joints once: '
                                         + ', '.join(joint_names))
    return [places[name] for name in joint_names]


def _with_columns(array: FloatArray, values: FloatArray) -> FloatArray:
    """Array, shape (m, k), with further columns that hold the same values in every row."""
    return np.hstack((array, np.broadcast_to(values, (len(array), values.size))))


def stacked(points: Sequence[Any], field: str, count: int) -> FloatArray | None:
    """One field of all points, shape (m, count), or None if it is empty in all of them."""
    rows = [getattr(point, field) for point in points]
    lengths = [len(row) for row in rows]
    if not any(lengths):
        return None
    for k, length in enumerate(lengths):
        if length != count:
            raise wrong_length(k, field, length, count)
    return np.array(rows, dtype=np.float64)


def _finite(array: FloatArray | None, field: str, names: Sequence[str]) -> FloatArray | None:
    """One field of all points as it is; raises for the first value that is not finite."""
    if array is not None and not np.isfinite(array).all():
        k, column = np.argwhere(~np.isfinite(array))[0]
        raise TrajectoryError(f'must have finite points[{k}].{field}, got {array[k, column]:g}',
                              subject=names[column], remedy='send finite values only')
    return array
