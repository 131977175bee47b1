# SPDX-License-Identifier: Apache-2.0
"""Periods of a recording of the excitation node, and their average.

The average of k periods has a noise smaller by the square root of k, and the deviations of
the periods from it measure the noise without a model of the arm (J. Swevers, C. Ganseman,
D. B. Tuekel, J. De Schutter and H. Van Brussel, "Optimal robot excitation and identification",
IEEE Transactions on Robotics and Automation 13(5), 1997).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from robot_dynamics.errors import RecordingError
from robot_dynamics.identification.dataset.log import Log
from robot_dynamics.identification.signals import by_lines
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.recordings.bag import read_topics

#: End of the name of the topic of the state of the excitation node.
STATE_TOPIC = 'excitation/state'
#: Longest pause in a period, as a multiple of the usual time between rows.
LONGEST_PAUSE = 10.0

_STRING = 'std_msgs/msg/String'
_REMEDY = 'give a recording of the excitation node'


@dataclass(frozen=True)
class Periods:
    """Complete periods of a motion: stamp of the first, ns, duration of each, s, and number."""

    first: int
    duration: float
    count: int


@dataclass(frozen=True, eq=False)
class Average:
    """Means over ``count`` periods, on an even grid.

    ``deviations`` of position, velocity and effort, (n,) each, are the standard deviations of one
    period about the means.
    """

    log: Log
    deviations: tuple[FloatArray, FloatArray, FloatArray]
    count: int


def read_periods(path: Path) -> Periods:
    """Periods of a recording, or RecordingError."""
    def choose(types: Mapping[str, str]) -> dict[str, str | None]:
        return {name: _STRING for name in types if name.endswith(STATE_TOPIC)}

    topics = read_topics(path, choose)
    texts = [message.data for topic in topics.values() for message in topic.messages]
    try:
        # The last state after the beginning of a motion.
        last = next(state for state in map(json.loads, reversed(texts))
                    if state['first_period'])
        done = last['stage'] == 'done'
        found = Periods(int(last['first_period']), float(last['duration']),
                        int(last['period']) - (0 if done else 1))
    except StopIteration as error:
        raise RecordingError('contains no period', subject=str(path), remedy=_REMEDY) from error
    except (ValueError, LookupError, TypeError, OverflowError) as error:
        raise RecordingError(f'has no usable topic {STATE_TOPIC} ({error})', subject=str(path),
                             remedy=_REMEDY) from error
    if not (found.count >= 1 and 0.0 < found.duration < np.inf):
        raise RecordingError('has no complete period', subject=str(path), remedy=_REMEDY)
    return found


def average(log: Log, periods: Periods) -> Average:
    """Average the periods of a log of joint states, of which at least two must be complete."""
    order = np.argsort(log.stamps, kind='stable')
    time = (log.stamps[order] - periods.first).astype(np.float64) * 1e-9
    keep = np.concatenate(([True], np.diff(time) > 0.0)) if len(time) else np.zeros(0, bool)
    keep &= np.all(np.isfinite(log.position[order]) & np.isfinite(log.effort[order]), axis=1)
    time, rows = time[keep], order[keep]
    if len(time) < 2:
        raise RecordingError('has no rows to average', subject=log.source, remedy=_REMEDY)
    step = float(np.median(np.diff(time)))
    grid = np.arange(0.0, periods.duration, step)
    found = [np.stack([by_lines(begin + grid, time, quantity[rows])
                       for quantity in (log.position, log.velocity, log.effort)])
             for begin in periods.duration * np.arange(periods.count)
             if _is_whole(time, begin, begin + periods.duration, LONGEST_PAUSE * step)]
    if len(found) < 2:
        raise RecordingError(f'has {len(found)} complete period'
                             f'{"" if len(found) == 1 else "s"} of {periods.count}',
                             subject=log.source, remedy='repeat the motion: parameter periods '
                                                        'of the excitation node')
    means = np.mean(found, axis=0)
    position, velocity, effort = means
    left = np.sqrt(np.sum((np.array(found) - means) ** 2, axis=(0, 2))
                   / ((len(found) - 1) * len(grid)))
    stamps = periods.first + np.round(grid * 1e9).astype(np.int64)
    averaged = Log(log.names, stamps, position, velocity, effort, dict(log.dropped),
                   f'{log.source}, {len(found)} periods averaged')
    return Average(averaged, (left[0], left[1], left[2]), len(found))


def _is_whole(time: FloatArray, begin: float, end: float, pause: float) -> bool:
    """Whether a period has rows from its begin to its end without a pause."""
    first, last = np.searchsorted(time, [begin, end])
    inside = time[max(first - 1, 0):last + 1]
    return bool(len(inside) > 2 and inside[0] <= begin + pause and inside[-1] >= end - pause
                and np.max(np.diff(inside)) <= pause)
