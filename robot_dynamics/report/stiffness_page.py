# SPDX-License-Identifier: Apache-2.0
"""The stiffness of joints as one HTML file that needs nothing else."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from html import escape

from robot_dynamics.identification.stiffness.report import JointReport
from robot_dynamics.report.frame import Heading, framed, result_style


def stiffness_page(source: str, reports: Sequence[JointReport], picture: bytes) -> str:
    """Return the report as HTML.

    Parameters
    ----------
    source : str
        Name of the log.
    reports : sequence of JointReport
        The joints.
    picture : bytes
        PNG of `robot_dynamics.report.stiffness_figure.draw_stiffness`.
    """
    joints = '\n'.join(
        f'<section><h2>{escape(report.lines[0])}</h2><ul>'
        + ''.join(f'<li{_kind(line)}>{escape(line.strip())}</li>' for line in report.lines[1:])
        + '</ul></section>' for report in reports)
    image = base64.b64encode(picture).decode()
    content = (f'{joints}\n<section><img alt="deflections and resonances, described above" '
               f'src="data:image/png;base64,{image}"></section>')
    heading = Heading(source, 'Stiffness, lost motion and resonances of joints', '',
                      kind='stiffness')
    return framed(heading, content, style=result_style(), scripts=('stiffness.js',), data=None,
                  without_scripts='The choice of light or dark needs JavaScript; nothing else '
                                  'does.')


def _kind(line: str) -> str:
    return ' class="missing"' if line.startswith('  not told') else ''
