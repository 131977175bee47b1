# SPDX-License-Identifier: Apache-2.0
"""Data for the charts of the report of a run, and its picture as PNG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import Robot
from robot_dynamics.report.figure import GRID, INK, SOFT, new_figure, png, style
from robot_dynamics.report.recording import Recording
from robot_dynamics.report.series import grid, histogram, moving_rms, rounded, sample, worst
from robot_dynamics.report.summary import Summary, verdict
from robot_dynamics.report.words import figures

#: Samples a second of the charts, frames a second of the arm, and samples of the loop.
CHART_RATE = 40.0
FRAME_RATE = 25.0
_LOOP_RATE = 10.0

#: Length of the window over which the drawn error is averaged, in s.
ERROR_WINDOW = 0.25

#: Distance below which two points are drawn as one, in m.
_SAME_POINT = 1e-4

# Largest distance of a drawn point from the base of the arm, in m.
_FARTHEST = 1e3

_BAND = '#f3efe6'
_BEFORE, _AFTER = '#b8480b', '#0b62a8'
_JOINTS = ('#0b62a8', '#b8480b', '#00805f', '#a4478a', '#2f8fc4', '#8a6a00', '#6a4fb3')

# Font size of joint names, in points; width of a bold letter relative to it; and the share of the
# axes that names may fill.
_SMALLEST, _LARGEST, _LETTER, _FILLED = 5.0, 9.0, 0.66, 0.88


def run_charts(recording: Recording, summary: Summary, robot: Robot | None,
               truth: Mapping[str, float]) -> dict[str, Any]:
    """The data of the charts of the page, in plain types."""
    time, joints, total = error_over_time(recording)
    begin, end = float(recording.errors.time[0]), float(recording.errors.time[-1])
    return {
        'joints': list(summary.joint_names),
        'adaptation': summary.adaptation_start,
        'error': {'time': rounded(time, 6), 'joints': rounded(joints.T), 'total': rounded(total)},
        'torque': _torque(recording, time),
        'estimates': _estimates(recording, time, truth),
        'loop': _loop(recording, begin, end),
        'arm': None if robot is None else arm_frames(recording, robot, begin, end),
    }


def arm_frames(recording: Recording, robot: Robot, begin: float, end: float
               ) -> dict[str, Any] | None:
    """The moving arm, measured and desired, in whole millimetres.

    None if it cannot be drawn: a position was not measured, or a point is too far away.
    """
    skeleton = Skeleton(robot)
    states, errors = recording.states, recording.errors.ordered(robot.joint_names)
    measured = states.ordered(robot.joint_names).position
    time = grid(begin, end, FRAME_RATE)
    q = sample(states.time, measured, time)
    # The desired pose at the stamp of an error is the measured pose plus the error.
    known = sample(states.time, measured, errors.time) + errors.position
    points, desired = (skeleton.points(poses).reshape(len(time), -1)
                       for poses in (q, sample(errors.time, known, time)))
    if not can_be_drawn(points):
        return None
    lines = skeleton.lines
    return {'time': rounded(time, 6), 'lines': lines, 'tip': lines[-1][1],
            'points': np.rint(1e3 * points).astype(int).tolist(),
            'desired': rounded(1e3 * desired, 5)}


def error_over_time(recording: Recording) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Times, s, and the moving RMS error of each joint and of all, in mrad or mm."""
    errors = recording.errors
    time = grid(float(errors.time[0]), float(errors.time[-1]), CHART_RATE)
    joints = 1e3 * moving_rms(errors.time, errors.position, time, ERROR_WINDOW)
    return time, joints, np.sqrt(np.mean(joints ** 2, axis=1))


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
    """The points and lines with which an arm is drawn.

    Point 0 is the origin of the base, point 1 + i that of link frame i, and the others are the
    outermost frames of the last links: flanges and tools.

    Parameters
    ----------
    robot : Robot
        The arm.
    """

    robot: Robot

    @property
    def lines(self) -> list[tuple[int, int]]:
        """Pairs of points joined by a line, from base to tip."""
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
    """Whether every point of an arm is known and close enough to its base."""
    return bool(np.all(np.abs(points) < _FARTHEST))


def draw_figure(recording: Recording, summary: Summary, robot: Robot | None) -> bytes:
    """PNG of the tracking error over time and per joint, and of the arm that moved."""
    figure = new_figure(13.0, 6.6)
    cells = figure.add_gridspec(2, 2, width_ratios=(5, 9), height_ratios=(5, 3), left=0.05,
                                right=0.975, top=0.86, bottom=0.085, hspace=0.36, wspace=0.14)
    title = verdict(summary).replace(': ', ':\n')
    figure.text(0.027, 0.985, title, fontsize=16, fontweight='bold', color=INK, va='top',
                linespacing=1.35)
    path = None if robot is None else _path(recording, robot, summary)
    if robot is not None and path is not None:
        _draw_arm(figure.add_subplot(cells[:, 0], projection='3d'), Skeleton(robot), path)
        error, bars = figure.add_subplot(cells[0, 1]), figure.add_subplot(cells[1, 1])
    else:
        error, bars = figure.add_subplot(cells[0, :]), figure.add_subplot(cells[1, :])
    _draw_error(error, recording, summary)
    _draw_bars(bars, summary, figure.get_figwidth() * bars.get_position().width)
    return png(figure)


def _draw_error(axes: Any, recording: Recording, summary: Summary) -> None:
    # The first values are from an incomplete window.
    time, joints, total = (values[10:] for values in error_over_time(recording))
    style(axes, f'tracking error, {summary.unit}: all joints (bold) and each, RMS over '
                f'{ERROR_WINDOW} s', 's')
    # Zero has no logarithm.
    plot = axes.semilogy if np.any(joints > 0.0) else axes.plot
    for k, values in enumerate(joints.T):
        plot(time, values, color=_JOINTS[k % len(_JOINTS)], linewidth=0.8, alpha=0.55)
    plot(time, total, color=INK, linewidth=2.4)
    axes.set_xlim(time[0], time[-1])
    axes.yaxis.set_major_formatter(lambda value, _: f'{value:g}')
    if summary.adaptation_start is not None:
        start = summary.adaptation_start
        axes.axvspan(time[0], start, color=_BAND, linewidth=0)
        axes.axvline(start, color=INK, linewidth=1, linestyle=(0, (3, 3)))
        axes.annotate('adaptation on', (start, 1), xycoords=('data', 'axes fraction'),
                      xytext=(6, -4), textcoords='offset points', va='top', fontsize=10,
                      color=INK)
        axes.annotate('estimates frozen', (start, 0), xycoords=('data', 'axes fraction'),
                      xytext=(-6, 6), textcoords='offset points', ha='right', fontsize=10,
                      color=SOFT)
    for tracking, color in ((summary.before, _BEFORE), (summary.after, _AFTER)):
        axes.hlines(1e3 * tracking.total, tracking.window.start, tracking.window.end,
                    color=color, linewidth=3)


def _draw_bars(axes: Any, summary: Summary, width: float) -> None:
    """Draw two bars per joint, on axes of a width in inches."""
    place, (first, last) = np.arange(len(summary.joint_names)), summary.compared
    what = ' adaptation' if first == 'before' else ''
    style(axes, f'RMS of each joint {first} and {last}{what}, {summary.unit}')
    for shift, tracking, color, text in ((-0.2, summary.before, _BEFORE, first),
                                         (0.2, summary.after, _AFTER, last)):
        values = 1e3 * tracking.rms
        bars = axes.bar(place + shift, values, width=0.38, color=color, label=text)
        axes.bar_label(bars, [figures(float(value), 2) for value in values], fontsize=8,
                       color=SOFT, padding=2)
    names, size = labels(summary.joint_names, 72.0 * width)
    axes.set_xticks(place, names, fontsize=size)
    for k, tick in enumerate(axes.get_xticklabels()):
        # Not parsed, because matplotlib would read text between two dollars as a formula.
        tick.set(color=_JOINTS[k % len(_JOINTS)], fontweight='bold', parse_math=False)
    axes.grid(False, axis='x')
    axes.margins(y=0.18)
    axes.legend(frameon=False, fontsize=9, ncols=2, loc='upper right',
                bbox_to_anchor=(1.0, 1.22), labelcolor=INK)


def labels(names: Sequence[str], width: float) -> tuple[list[str], float]:
    """Names, broken to fit side by side into a width in points, and their font size."""
    room = _FILLED * width / len(names)
    if (size := _size(names, room)) < _LARGEST:
        names = [_broken(name) for name in names]
        size = _size([line for name in names for line in name.split('\n')], room)
    return list(names), size


def _size(lines: Sequence[str], room: float) -> float:
    longest = max(map(len, lines))
    return float(np.clip(room / (_LETTER * longest), _SMALLEST, _LARGEST))


def _broken(name: str) -> str:
    breaks = [k + 1 for k, letter in enumerate(name[:-1]) if letter == '_']
    at = min(breaks, key=lambda k: abs(2 * k - len(name)), default=len(name))
    return name if at == len(name) else f'{name[:at]}\n{name[at:]}'


def _path(recording: Recording, robot: Robot, summary: Summary) -> FloatArray | None:
    """Points of the arm in the last window, None if it cannot be drawn."""
    window = summary.after.window
    states = recording.states.ordered(robot.joint_names)
    path = Skeleton(robot).points(sample(states.time, states.position,
                                         np.linspace(window.start, window.end, 200)))
    return path if can_be_drawn(path) else None


def _draw_arm(axes: Any, skeleton: Skeleton, path: FloatArray) -> None:
    """Draw the arm at several times, the latest darkest."""
    moments = np.linspace(0, len(path) - 1, 5).astype(int)
    tip = skeleton.lines[-1][1]
    axes.plot(*path[:, tip].T, color=_AFTER, linewidth=1.2, alpha=0.8)
    for order, moment in enumerate(moments):
        newest = moment == moments[-1]
        points = path[moment]
        for number, (start, end) in enumerate(skeleton.lines):
            width = (11.0 if newest else 6.0) * (1 - 0.55 * number / len(skeleton.lines))
            axes.plot(*points[[start, end]].T, color='#39424e' if newest else '#9aa5b1',
                      linewidth=width, alpha=1.0 if newest else 0.18 + 0.07 * order,
                      solid_capstyle='round')
        if newest:
            axes.scatter(*points[:-1].T, s=26, color='#d9dde2', edgecolors='#39424e',
                         depthshade=False, zorder=10)
            axes.scatter(*points[tip], s=130, color=_AFTER, depthshade=False, zorder=11)
    _frame(axes, path)


def _frame(axes: Any, path: Any) -> None:
    low, high = path.min(axis=(0, 1)), path.max(axis=(0, 1))
    middle, half = (low + high) / 2, 0.52 * float(np.max(high - low))
    low_z = float(low[2])
    angle = np.linspace(0, 2 * np.pi, 100)
    for radius in (0.5 * half, half):
        axes.plot(radius * np.cos(angle), radius * np.sin(angle), low_z, color=GRID,
                  linewidth=1.2, clip_on=False)
    axes.set_xlim(middle[0] - half, middle[0] + half)
    axes.set_ylim(middle[1] - half, middle[1] + half)
    axes.set_zlim(low_z, low_z + 2 * half)
    axes.set_box_aspect((1, 1, 1), zoom=1.45)
    axes.view_init(elev=18, azim=-55)
    axes.set_axis_off()
