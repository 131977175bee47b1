# SPDX-License-Identifier: Apache-2.0
"""The stiffness of joints as one HTML file that needs nothing else."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from html import escape

from robot_dynamics.identification.stiffness.report import JointReport

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Stiffness: {title}</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; color: #16191d; margin: 2rem auto; padding: 0 1rem;
  max-width: 75rem }}
h1 {{ font-size: 1.5rem }}
section {{ border-top: 1px solid #e3e5e3; padding: .5rem 0 }}
li.missing {{ color: #5b6470 }}
img {{ max-width: 100% }}
</style></head><body>
<h1>Stiffness: {title}</h1>
{joints}
<img alt="deflections and resonances, described above" src="data:image/png;base64,{picture}">
</body></html>
"""


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
    return _PAGE.format(title=escape(source), joints=joints,
                        picture=base64.b64encode(picture).decode())


def _kind(line: str) -> str:
    return ' class="missing"' if line.startswith('  not told') else ''
