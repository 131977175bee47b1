# SPDX-License-Identifier: Apache-2.0
"""How the pictures of reports look."""

from __future__ import annotations

from typing import Any

#: Text and main curves, text beside them, and lines in the background.
INK, SOFT, GRID = '#16191d', '#5b6470', '#e3e5e3'


def style(axes: Any) -> None:
    """Give axes of matplotlib a quiet grid and no frame."""
    axes.grid(True, color=GRID, linewidth=0.8, which='major')
    axes.set_axisbelow(True)
    for side in ('top', 'right'):
        axes.spines[side].set_visible(False)
    for side in ('left', 'bottom'):
        axes.spines[side].set_color(GRID)
    axes.tick_params(colors=SOFT, labelsize=9, length=0, which='both')
