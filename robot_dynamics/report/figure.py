# SPDX-License-Identifier: Apache-2.0
"""Pictures as PNG: how those of all reports look, and the main picture of a run."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import numpy as np

from robot_dynamics.errors import RecordingError
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import Robot
from robot_dynamics.report.recording import Recording
from robot_dynamics.report.run_charts import (
    CHART_RATE,
    ERROR_WINDOW,
    Skeleton,
    can_be_drawn,
)
from robot_dynamics.report.series import grid, moving_rms, sample
from robot_dynamics.report.summary import Summary, verdict
from robot_dynamics.report.words import figures

#: Text and main curves, text beside them, and lines in the background.
INK, SOFT, GRID = '#16191d', '#5b6470', '#e3e5e3'

_BAND = '#f3efe6'
_BEFORE, _AFTER = '#b8480b', '#0b62a8'
_JOINTS = ('#0b62a8', '#b8480b', '#00805f', '#a4478a', '#2f8fc4', '#8a6a00', '#6a4fb3')

# Letters of joint names, in points; how wide a bold one is, as part of that, and the part of
# the axes that names may fill.
_SMALLEST, _LARGEST, _LETTER, _FILLED = 5.0, 9.0, 0.66, 0.88


def new_figure(width: float, height: float, **options: Any) -> Any:
    """An empty figure of matplotlib of a size in inches."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise RecordingError('is needed to draw the picture, but is not installed',
                             subject='matplotlib', remedy='pip install matplotlib') from error
    figure = Figure(figsize=(width, height), facecolor='white', **options)
    FigureCanvasAgg(figure)
    return figure


def png(figure: Any) -> bytes:
    """A figure as PNG."""
    content = io.BytesIO()
    figure.savefig(content, dpi=110)
    return content.getvalue()


def style(axes: Any) -> None:
    """Give axes a quiet grid and no frame."""
    axes.grid(True, color=GRID, linewidth=0.8, which='major')
    axes.set_axisbelow(True)
    for side in ('top', 'right'):
        axes.spines[side].set_visible(False)
    for side in ('left', 'bottom'):
        axes.spines[side].set_color(GRID)
    axes.tick_params(colors=SOFT, labelsize=9, length=0, which='both')


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
    errors = recording.errors
    time = grid(errors.time[0], errors.time[-1], CHART_RATE)
    joints = 1e3 * moving_rms(errors.time, errors.position, time, ERROR_WINDOW)
    # The first values come from a window that is not yet full.
    time, joints = time[10:], joints[10:]
    style(axes)
    # No error at all has no logarithm.
    plot = axes.semilogy if np.any(joints > 0.0) else axes.plot
    for k, values in enumerate(joints.T):
        plot(time, values, color=_JOINTS[k % len(_JOINTS)], linewidth=0.8, alpha=0.55)
    plot(time, np.sqrt(np.mean(joints ** 2, axis=1)), color=INK, linewidth=2.4)
    axes.set_xlim(time[0], time[-1])
    axes.yaxis.set_major_formatter(lambda value, _: f'{value:g}')
    axes.set_title(f'tracking error, {summary.unit}: all joints (bold) and each, RMS over '
                   f'{ERROR_WINDOW} s', loc='left', fontsize=10, color=SOFT)
    axes.set_xlabel('s', color=SOFT, fontsize=9, loc='right', labelpad=-2)
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
    """Draw two bars a joint, on axes that are so many inches wide."""
    style(axes)
    place, (first, last) = np.arange(len(summary.joint_names)), summary.compared
    for shift, tracking, color, text in ((-0.2, summary.before, _BEFORE, first),
                                         (0.2, summary.after, _AFTER, last)):
        values = 1e3 * tracking.rms
        bars = axes.bar(place + shift, values, width=0.38, color=color, label=text)
        axes.bar_label(bars, [figures(float(value), 2) for value in values], fontsize=8,
                       color=SOFT, padding=2)
    names, size = labels(summary.joint_names, 72.0 * width)
    axes.set_xticks(place, names, fontsize=size)
    for k, tick in enumerate(axes.get_xticklabels()):
        # A name with two dollars is not a formula.
        tick.set(color=_JOINTS[k % len(_JOINTS)], fontweight='bold', parse_math=False)
    axes.grid(False, axis='x')
    axes.margins(y=0.18)
    what = ' adaptation' if first == 'before' else ''
    axes.set_title(f'RMS of each joint {first} and {last}{what}, {summary.unit}', loc='left',
                   fontsize=10, color=SOFT)
    axes.legend(frameon=False, fontsize=9, ncols=2, loc='upper right',
                bbox_to_anchor=(1.0, 1.22), labelcolor=INK)


def labels(names: Sequence[str], width: float) -> tuple[list[str], float]:
    """Names broken to fit side by side into a width in points, and the size of their letters."""
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
    """Points of the arm in the last window, None where it cannot be drawn."""
    window = summary.after.window
    states = recording.states.ordered(robot.joint_names)
    path = Skeleton(robot).points(sample(states.time, states.position,
                                         np.linspace(window.start, window.end, 200)))
    return path if can_be_drawn(path) else None


def _draw_arm(axes: Any, skeleton: Skeleton, path: FloatArray) -> None:
    """Draw the arm at some moments, the latest strongest."""
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
