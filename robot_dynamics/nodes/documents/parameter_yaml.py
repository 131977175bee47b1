# SPDX-License-Identifier: Apache-2.0
"""A parameter table as a ROS 2 parameter file that says what each of its lines means."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

import yaml

from robot_dynamics.nodes.ros.parameter_text import explanation
from robot_dynamics.nodes.ros.parameters import Parameter

_WIDTH = 99
_INDENT = '    '


def parameter_file(node: str, table: Sequence[Parameter], remarks: str) -> str:
    """Return a parameter file with every parameter of a node at its default.

    Parameters
    ----------
    node : str
        Name of the node. The file is for nodes of that name in any namespace.
    table : sequence of Parameter
        Its rows.
    remarks : str
        What to say at the top.
    """
    lines = ['# SPDX-License-Identifier: Apache-2.0', *_comment(remarks, ''),
             f'/**/{node}:', '  ros__parameters:']
    for row in table:
        lines += ['', *_comment(explanation(row), _INDENT), *_assignment(row)]
    return '\n'.join(lines) + '\n'


def _comment(text: str, indent: str) -> Iterable[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent=f'{indent}# ',
                         subsequent_indent=f'{indent}# ', break_on_hyphens=False)


def _assignment(row: Parameter) -> Iterable[str]:
    """Return the lines that set a row to its default; a long list has a line for each element."""
    if not isinstance(row.default, tuple):
        return [f'{_INDENT}{row.name}: {_scalar(row.default)}']
    elements = [_scalar(element) for element in row.default]
    line = f'{_INDENT}{row.name}: [{", ".join(elements)}]'
    if len(line) <= _WIDTH:
        return [line]
    return [f'{_INDENT}{row.name}:', *(f'{_INDENT}  - {element}' for element in elements)]


def _scalar(value: Any) -> str:
    """Return a value as YAML, a float always as one: rcl takes ``1e-05`` for a text."""
    if isinstance(value, float):
        text = repr(value)
        mantissa, exponent, power = text.partition('e')
        return f'{mantissa}{"" if "." in mantissa else ".0"}{exponent}{power}'
    return yaml.safe_dump(value, default_flow_style=True).removesuffix('\n').removesuffix('\n...')
