# SPDX-License-Identifier: Apache-2.0
"""How things go: a live line from a recorder, the complaints of nodes, how much is done."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass

from robot_dynamics.bringup.runner import Line

#: The bar is logarithmic: from the smallest to the largest error in mrad or mm.
_SMALLEST, _LARGEST, _WIDEST, _NARROWEST = 0.1, 1000.0, 32, 8

#: Width of a bar that says how much is done.
_BAR = 30

_LOG_LINE = re.compile(r'\[([A-Z]+)\] \[[0-9.]+\] \[[^]]*\]: (.*)')

_COMPLAINTS = {'WARN': 'warning', 'ERROR': 'error', 'FATAL': 'error'}


@dataclass(frozen=True)
class Progress:
    """How things go.

    Parameters
    ----------
    time : float
        Seconds since the recorder heard the first message.
    mode : str
        Mode of the controller, ``''`` before it said one.
    error : float or None
        RMS of the tracking error over the last second and all joints, rad or m.
    learns : bool
        Whether the parameter estimates have moved since they were first heard.
    """

    time: float
    mode: str
    error: float | None
    learns: bool = False


def parse_progress(text: str) -> Progress | None:
    """Return what a line of the recorder says, None when it is another line."""
    if not text.startswith('{'):
        return None
    try:
        values = json.loads(text)
        error = values['error']
        return Progress(float(values['time']), values['mode'] or '',
                        None if error is None else float(error), values['learns'] is True)
    except (ValueError, KeyError, TypeError):
        return None


class Complaints:
    """Picks warnings and errors out of what nodes log.

    Lines without a head of their own, such as those of a traceback, belong to the line before.
    """

    def __init__(self) -> None:
        self._complains: dict[str, bool] = {}
        #: The last complaint's first line, without level, time and name.
        self.last = ''

    def read(self, line: Line) -> str | None:
        """Return a line as it is to be shown, None where it is no complaint."""
        node = line.process.node
        head = _LOG_LINE.match(line.text)
        if head is None:
            goes_on = line.stream == 'stderr' and self._complains.get(node, False)
            return f'    {line.text}' if goes_on else None
        level, text = head.groups()
        self._complains[node] = level in _COMPLAINTS
        if level not in _COMPLAINTS:
            return None
        self.last = text
        return f'  {node}: {_COMPLAINTS[level]}: {text}'


def progress_line(seconds: float, phase: str, error: float | None, *, unit: str = 'mrad',
                  columns: int = 80) -> str:
    """Return the live line.

    Parameters
    ----------
    seconds : float
        Time to show.
    phase : str
        What is going on.
    error : float or None
        Tracking error, rad or m.
    unit : str
        Unit of a thousandth of it.
    columns : int
        Width of the terminal: the bar takes what is left.
    """
    if error is None:
        return f'{seconds:5.0f} s  {phase}'
    text = f'{seconds:5.0f} s  {phase:<18}{1e3 * error:9.3f} {unit}  '
    return text + bar(1e3 * error, min(max(columns - len(text) - 1, _NARROWEST), _WIDEST))


def bar(value: float, width: int = _WIDEST) -> str:
    """Return a logarithmic bar for an error in mrad or mm: a quarter of the width a decade."""
    if not value > _SMALLEST:
        return '▏'
    share = math.log(min(value, _LARGEST) / _SMALLEST) / math.log(_LARGEST / _SMALLEST)
    return '█' * max(1, round(share * width))


def progress_bar(width: int = _BAR) -> Callable[[float], None]:
    """Return what draws how much is done, on a terminal and nowhere else."""
    last = -1

    def draw(share: float) -> None:
        nonlocal last
        done = round(100 * share)
        if done == last or not sys.stderr.isatty():
            return
        last = done
        filled = int(width * share)
        end = '\n' if share >= 1.0 else ''
        print(f'\r[{"#" * filled}{"." * (width - filled)}] {done:3d} %', end=end,
              file=sys.stderr, flush=True)

    return draw
