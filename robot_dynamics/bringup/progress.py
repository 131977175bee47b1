# SPDX-License-Identifier: Apache-2.0
"""The live line of a running system, from what its recorder says."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass

#: The bar is logarithmic: from the smallest to the largest error in mrad.
_SMALLEST, _LARGEST, _WIDTH = 0.1, 1000.0, 32


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
    """

    time: float
    mode: str
    error: float | None


def parse_progress(text: str) -> Progress | None:
    """Return what a line of the recorder says, None when it is another line."""
    if not text.startswith('{'):
        return None
    try:
        values = json.loads(text)
        error = values['error']
        return Progress(float(values['time']), values['mode'] or '',
                        None if error is None else float(error))
    except (ValueError, KeyError, TypeError):
        return None


def progress_line(seconds: float, phase: str, error: float | None) -> str:
    """Return the live line.

    Parameters
    ----------
    seconds : float
        Time to show.
    phase : str
        What is going on.
    error : float or None
        Tracking error, rad or m.
    """
    if error is None:
        return f'{seconds:5.0f} s  {phase:<28}'.rstrip()
    return f'{seconds:5.0f} s  {phase:<28}{1e3 * error:9.3f} mrad  {bar(1e3 * error)}'


def bar(value: float) -> str:
    """Return a logarithmic bar for an error in mrad: 8 characters a decade."""
    if not value > _SMALLEST:
        return '▏'
    share = math.log(min(value, _LARGEST) / _SMALLEST) / math.log(_LARGEST / _SMALLEST)
    return '█' * max(1, round(share * _WIDTH))
