# SPDX-License-Identifier: Apache-2.0
"""Progress on the terminal: a live line of tracking errors, warnings of nodes, a progress bar."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass

from robot_dynamics.bringup.runner import Line

#: Range of the logarithmic bar in mrad or mm, its widths in columns, and that of the other bar.
_SMALLEST, _LARGEST, _WIDEST, _NARROWEST = 0.1, 1000.0, 32, 8
_BAR = 30

_LOG_LINE = re.compile(r'\[([A-Z]+)\] \[[0-9.]+\] \[[^]]*\]: (.*)')
_SELECTED = {'WARN': 'warning', 'ERROR': 'error', 'FATAL': 'error'}


@dataclass(frozen=True)
class Progress:
    """Progress line of the recorder: time since the first message, s, and mode, ``''`` at first.

    ``error`` is the RMS of the last second of tracking errors over all joints, rad or m,
    ``learns`` whether the parameter estimates have changed since the first ones, and ``tracked``
    the time of the arm between the first and the last tracking error, s.
    """

    time: float
    mode: str
    error: float | None
    learns: bool = False
    tracked: float = 0.0


def parse_progress(text: str) -> Progress | None:
    """Progress from a line of the recorder, None for other lines."""
    if not text.startswith('{'):
        return None
    try:
        values = json.loads(text)
        error = values['error']
        return Progress(float(values['time']), values['mode'] or '',
                        None if error is None else float(error), values['learns'] is True,
                        float(values['tracked']))
    except (ValueError, KeyError, TypeError):
        return None


def log_text(line: str) -> str:
    """Text of a line of the log of a node, without level, time and name; empty for others."""
    head = _LOG_LINE.match(line)
    return '' if head is None else head[2]


class WarningFilter:
    """Selects warnings and errors from the log of nodes.

    Lines without level and time, such as those of a traceback, belong to the line before.
    """

    def __init__(self) -> None:
        self._selected: dict[str, bool] = {}
        #: Texts of all warnings and errors, with the names of their nodes.
        self.all: list[str] = []

    def read(self, line: Line) -> str | None:
        """Line to print, None if it is neither a warning nor an error."""
        node = line.process.node
        head = _LOG_LINE.match(line.text)
        if head is None:
            continues = line.stream == 'stderr' and self._selected.get(node, False)
            return f'    {line.text}' if continues else None
        level, text = head.groups()
        self._selected[node] = level in _SELECTED
        if level not in _SELECTED:
            return None
        self.all.append(f'{node}: {_SELECTED[level]}: {text}')
        return f'  {self.all[-1]}'


def progress_line(seconds: float, phase: str, error: float | None, *, unit: str = 'mrad',
                  columns: int = 80) -> str:
    """Live line: time (s), phase, error (rad or m) in thousandths of its unit, and a bar."""
    if error is None:
        return f'{seconds:5.0f} s  {phase}'
    text = f'{seconds:5.0f} s  {phase:<18}{1e3 * error:9.3f} {unit}  '
    return text + bar(1e3 * error, min(max(columns - len(text) - 1, _NARROWEST), _WIDEST))


def bar(value: float, width: int = _WIDEST) -> str:
    """Logarithmic bar for an error in mrad or mm: a quarter of the width per decade."""
    if not value > _SMALLEST:
        return '▏'
    share = math.log(min(value, _LARGEST) / _SMALLEST) / math.log(_LARGEST / _SMALLEST)
    return '█' * max(1, round(share * width))


def progress_bar() -> Callable[[float], None]:
    """Function that draws the completed share as a bar, only on a terminal."""
    last = -1

    def draw(share: float) -> None:
        nonlocal last
        done = round(100 * share)
        if done == last or not sys.stderr.isatty():
            return
        last = done
        filled = int(_BAR * share)
        print(f'\r[{"#" * filled}{"." * (_BAR - filled)}] {done:3d} %',
              end='\n' if share >= 1.0 else '', file=sys.stderr, flush=True)

    return draw
