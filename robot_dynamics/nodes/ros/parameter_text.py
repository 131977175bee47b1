# SPDX-License-Identifier: Apache-2.0
"""Parameter tables as text: for ``--help`` of a node and for a page of the documentation."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from robot_dynamics.nodes.ros.parameters import Parameter

_WIDTH = 90


def help_text(title: str, table: Sequence[Parameter]) -> str:
    """Return what a node answers to ``--help``."""
    lines = [title, '', 'Options are those of every ROS 2 node:', '',
             '    --ros-args -p NAME:=VALUE --params-file FILE -r FROM:=TO', '', 'Parameters:']
    for row in table:
        lines += ['', f'  {row.name} (default {default_text(row)})',
                  *textwrap.wrap(explanation(row), _WIDTH, initial_indent='      ',
                                 subsequent_indent='      ')]
    return '\n'.join(lines)


def markdown_table(table: Sequence[Parameter]) -> str:
    """Return the rows as a table in Markdown."""
    lines = ['| parameter | default | what it is |', '|---|---|---|']
    lines += [f'| `{row.name}` | `{default_text(row)}` | {explanation(row)} |' for row in table]
    return '\n'.join(lines)


def default_text(row: Parameter) -> str:
    """Return a default as YAML has it, long lists shortened."""
    if isinstance(row.default, tuple):
        shown = [str(value) for value in row.default[:4]]
        return '[' + ', '.join(shown + ['...'] * (len(row.default) > len(shown))) + ']'
    if isinstance(row.default, bool):
        return str(row.default).lower()
    return repr(row.default)


def explanation(row: Parameter) -> str:
    """Return everything about a row but its name and default."""
    parts = [row.text]
    if row.choices:
        parts.append('One of ' + ', '.join(row.choices) + '.')
    bounds = '' if row.low is None else f'{row.low:g} to {row.high:g}'
    if bounds or row.unit:
        parts.append(f'{" ".join(filter(None, (bounds, row.unit)))}.')
    if not row.read_only:
        parts.append('Can be changed while the node runs.')
    return ' '.join(parts)
