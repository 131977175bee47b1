# SPDX-License-Identifier: Apache-2.0
"""The numbers behind the charts of the report, thinned and ready for JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import Robot
from robot_dynamics.report.recording import Recording
from robot_dynamics.report.series import grid, histogram, moving_rms, rounded, sample, worst
from robot_dynamics.report.skeleton import Skeleton, can_be_drawn
from robot_dynamics.report.summary import Summary

#: Samples a second of the charts, frames a second of the arm, and samples of the loop.
CHART_RATE = 40.0
FRAME_RATE = 25.0
_LOOP_RATE = 10.0

#: Length of the window over which the drawn error is averaged, in s.
ERROR_WINDOW = 0.25


def payload(recording: Recording, summary: Summary, robot: Robot | None,
            truth: Mapping[str, float]) -> dict[str, Any]:
    """Return what the page draws.

    Parameters
    ----------
    recording, summary : Recording, Summary
        The run.
    robot : Robot, optional
        The arm; without it none is drawn.
    truth : mapping of str to float
        True values of estimated parameters, as far as they are known.
    """
    begin, end = float(recording.errors.time[0]), float(recording.errors.time[-1])
    time = grid(begin, end, CHART_RATE)
    return {
        'joints': list(summary.joint_names),
        'adaptation': summary.adaptation_start,
        'error': _error(recording, time),
        'torque': _torque(recording, time),
        'estimates': _estimates(recording, time, truth),
        'loop': _loop(recording, begin, end),
        'arm': None if robot is None else arm_frames(recording, robot, begin, end),
    }


def arm_frames(recording: Recording, robot: Robot, begin: float, end: float
               ) -> dict[str, Any] | None:
    """Return the moving arm, measured and desired, in whole millimetres.

    None where it cannot be drawn: a position was not measured, or it is miles long.
    """
    skeleton = Skeleton(robot)
    states, errors = recording.states, recording.errors.ordered(robot.joint_names)
    measured = states.ordered(robot.joint_names).position
    time = grid(begin, end, FRAME_RATE)
    q = sample(states.time, measured, time)
    # The desired pose at the stamp of an error is the measured one plus that error.
    known = sample(states.time, measured, errors.time) + errors.position
    points, desired = (skeleton.points(poses).reshape(len(time), -1)
                       for poses in (q, sample(errors.time, known, time)))
    if not can_be_drawn(points):
        return None
    lines = skeleton.lines
    return {'time': rounded(time, 6), 'lines': lines, 'tip': lines[-1][1],
            'points': np.rint(1e3 * points).astype(int).tolist(),
            'desired': rounded(1e3 * desired, 5)}


def _error(recording: Recording, time: FloatArray) -> dict[str, Any]:
    errors = recording.errors
    joints = 1e3 * moving_rms(errors.time, errors.position, time, ERROR_WINDOW)
    return {'time': rounded(time, 6), 'joints': rounded(joints.T),
            'total': rounded(np.sqrt(np.mean(joints ** 2, axis=1)))}


def _torque(recording: Recording, time: FloatArray) -> dict[str, Any]:
    def efforts(series: Any) -> Any:
        return rounded(sample(series.time, series.effort, time).T)
    return {'time': rounded(time, 6),
            'parts': {name: efforts(series) for name, series in recording.parts.items()},
            'model': None if recording.torque is None else efforts(recording.torque),
            'measured': efforts(recording.states)}


def _estimates(recording: Recording, time: FloatArray, truth: Mapping[str, float]
               ) -> dict[str, Any]:
    """Return the estimated masses; a chart of all parameters would be unreadable."""
    names = [(k, name) for k, name in enumerate(recording.estimate_names)
             if name.endswith('/m')]
    if not names or len(recording.estimates) == 0:
        return {'time': [], 'names': [], 'values': [], 'truth': []}
    values = sample(recording.estimates.time, recording.estimates.values, time)
    return {'time': rounded(time, 6),
            'names': [name.removesuffix('/m') for _, name in names],
            'values': rounded(values[:, [k for k, _ in names]].T),
            'truth': [truth.get(name) for _, name in names]}


def _loop(recording: Recording, begin: float, end: float) -> dict[str, Any]:
    time = grid(begin, end, _LOOP_RATE)
    stamps = recording.states.time
    stamps = stamps[(stamps >= begin) & (stamps <= end)]
    period = 1e3 * np.diff(stamps)
    timing = recording.timing
    inside = (timing.time >= begin) & (timing.time <= end)
    latency, worst_latency = (1e3 * timing.values[inside][:, [0, 2]].T if timing.values.size
                              else np.empty((2, 0)))
    return {'time': rounded(time, 6),
            'period': rounded(worst(stamps[1:], period, time)),
            'latency': rounded(worst(timing.time[inside], worst_latency, time)),
            'period_histogram': histogram(period), 'latency_histogram': histogram(latency)}
