# SPDX-License-Identifier: Apache-2.0
"""Common style of the pictures of all reports."""

from __future__ import annotations

import io
from typing import Any

from robot_dynamics.errors import RecordingError, install_line

#: Colours of text and main curves, of secondary text, and of background lines.
INK, SOFT, GRID = '#16191d', '#5b6470', '#e3e5e3'


def new_figure(width: float, height: float, **options: Any) -> Any:
    """An empty figure of matplotlib of a size in inches."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise RecordingError('is needed to draw the picture, but is not installed',
                             subject='matplotlib',
                             remedy=install_line('matplotlib', 'python3-matplotlib')) from error
    figure = Figure(figsize=(width, height), facecolor='white', **options)
    FigureCanvasAgg(figure)
    return figure


def png(figure: Any) -> bytes:
    """A figure as PNG."""
    content = io.BytesIO()
    figure.savefig(content, dpi=110)
    return content.getvalue()


def style(axes: Any, title: str, x: str = '') -> None:
    """Give axes a light grid, no frame, a title, and the label of the horizontal axis."""
    axes.grid(True, color=GRID, linewidth=0.8, which='major')
    axes.set_axisbelow(True)
    for side in ('top', 'right'):
        axes.spines[side].set_visible(False)
    for side in ('left', 'bottom'):
        axes.spines[side].set_color(GRID)
    axes.tick_params(colors=SOFT, labelsize=9, length=0, which='both')
    # Not parsed, because matplotlib would read text between two dollars as a formula.
    axes.set_title(title, loc='left', fontsize=10, color=SOFT, parse_math=False)
    axes.set_xlabel(x, color=SOFT, fontsize=9, loc='right', labelpad=0)
