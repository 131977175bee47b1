# SPDX-License-Identifier: Apache-2.0
"""The charts of the report of a run: thinned signals, and the moving arm as points and lines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import Robot
from robot_dynamics.report.recording import Recording
from robot_dynamics.report.series import grid, histogram, moving_rms, rounded, sample, worst
from robot_dynamics.report.summary import Summary

#: Samples a second of the charts, frames a second of the arm, and samples of the loop.
CHART_RATE = 40.0
FRAME_RATE = 25.0
_LOOP_RATE = 10.0

#: Length of the window over which the drawn error is averaged, in s.
ERROR_WINDOW = 0.25

#: Points nearer to each other than this are one, in m.
_SAME_POINT = 1e-4

# No point of an arm that is drawn lies farther from its base, in m.
_FARTHEST = 1e3


def run_charts(recording: Recording, summary: Summary, robot: Robot | None,
            truth: Mapping[str, float]) -> dict[str, Any]:
    """The numbers that the page draws, in plain types."""
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
    """The moving arm, measured and desired, in whole millimetres.

    None where it cannot be drawn: a position was not measured, or a point is far away.
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
    """The estimated masses; a chart of all parameters would be unreadable."""
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


@dataclass(frozen=True, eq=False)
class Skeleton:
    """The points that an arm is drawn with, and the lines that join them.

    Point 0 is the origin of the base, point 1 + i that of link frame i, and the
    rest are the outermost frames of the links that carry no other: flanges and tools.

    Parameters
    ----------
    robot : Robot
        The arm.
    """

    robot: Robot

    @property
    def lines(self) -> list[tuple[int, int]]:
        """Pairs of points that a line joins, base to tip."""
        links = [(1 + int(parent), 1 + body) for body, parent in enumerate(self.robot.parents)]
        first_tip = 1 + self.robot.n_bodies
        return links + [(1 + body, first_tip + k) for k, (body, _) in enumerate(self._tips())]

    def points(self, q: ArrayLike) -> FloatArray:
        """Positions of the points in poses, (k, n), in the base frame, m, shape (k, points, 3)."""
        poses = Dynamics(self.robot).forward_kinematics(np.atleast_2d(q))
        origins = poses[..., :3, 3]
        base = np.zeros((len(origins), 1, 3))
        tips = [(poses[:, body] @ pose)[:, None, :3, 3] for body, pose in self._tips()]
        return np.concatenate([base, origins, *tips], axis=1)

    def _tips(self) -> list[tuple[int, FloatArray]]:
        """Body and pose on it of the outermost frame of each last link."""
        parents = set(self.robot.parents.tolist())
        tips = []
        for body in range(self.robot.n_bodies):
            poses = [frame.pose for frame in self.robot.frames.values() if frame.body == body]
            if body in parents or not poses:
                continue
            outermost = max(poses, key=lambda pose: float(np.linalg.norm(pose[:3, 3])))
            if np.linalg.norm(outermost[:3, 3]) > _SAME_POINT:
                tips.append((body, outermost))
        return tips


def can_be_drawn(points: FloatArray) -> bool:
    """Whether every point of an arm is known and near enough to its base."""
    return bool(np.all(np.abs(points) < _FARTHEST))
