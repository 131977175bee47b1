# SPDX-License-Identifier: Apache-2.0
"""Parameter tables of all nodes as files: ``docs/parameters.md`` and ``config/parameters``."""

from __future__ import annotations

import importlib
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import yaml

from robot_dynamics.nodes.controller.parameters import CONTROLLER_PARAMETERS
from robot_dynamics.nodes.controllers import CONTROLLER_NODES, NODES
from robot_dynamics.nodes.ros.description import ROBOT_PARAMETERS
from robot_dynamics.nodes.ros.lifecycle import AUTOSTART
from robot_dynamics.nodes.ros.node import RUNTIME_PARAMETERS
from robot_dynamics.nodes.ros.parameters import Parameter, default_text, explanation

_COMMAND = 'python -m robot_dynamics.nodes.documents'
_WIDTH = 99
_INDENT = '    '

_INTRODUCTION = """\
# Parameters of the nodes

Written by `{COMMAND}` from the tables that the nodes declare. Each node
prints its table with `--help`, and `ros2 param describe` shows it while the node runs.
`config/parameters/` has a parameter file for each node, with every parameter at its default and a
comment above it.

In a parameter file, numbers per joint are lists in the order of the joints of the description; one
value stands for all joints:

```yaml
adaptive_controller:
  ros__parameters:
    effort_limit: [40, 40, 25, 25, 10, 7.5]    # N m; none may be above that of the URDF
    effort_rate_limit: [400]                   # N m/s, all joints
    max_tracking_error: 0.1                    # rad
```

    ros2 launch robot_dynamics hardware.launch.py hardware:=my_arm.yaml
    python -m robot_dynamics.nodes.adaptive_controller --ros-args --params-file my_arm.yaml

An integer is accepted wherever a number is, also within a list. A value of the wrong type, out of
its range or not finite ends the node with one line that names the parameter. A parameter that the
node does not read causes a warning.

## Changes while a node runs

Only parameters that are marked below can be changed. Topics, joints, limits and everything else
that decides which efforts an arm may get are fixed from the start, as is `use_sim_time`. Names can
be remapped at the start only, and parameters can be neither declared nor deleted from outside. A
change takes effect between two cycles, never within one. The service `set_parameters_atomically`
makes several changes at once: all of them, or none.
"""


def _tables() -> dict[str, tuple[Parameter, ...]]:
    """Parameter tables of the nodes."""
    found = {}
    for node in NODES:
        row = CONTROLLER_NODES.get(node)
        own = importlib.import_module(row.module if row else f'robot_dynamics.nodes.{node}').TABLE
        shared = (AUTOSTART, *CONTROLLER_PARAMETERS) if row else ()
        found[node] = (*RUNTIME_PARAMETERS, *shared, *own)
    return found


#: Rows of each node, in the order in which it declares them.
TABLES = _tables()


def documents() -> dict[Path, str]:
    """Content of the page and the parameter files, by path in the repository."""
    return {Path('docs', 'parameters.md'): _page(),
            **{Path('config', 'parameters', f'{name}.yaml'): parameter_file(
                name, table, f'Every parameter of {name} at its default. Copy what you change: '
                             f'this file is written again by {_COMMAND}.')
               for name, table in TABLES.items()}}


def _page() -> str:
    """Every parameter of every node on one page."""
    of_controllers = [row for row in (AUTOSTART, *CONTROLLER_PARAMETERS)
                      if row not in ROBOT_PARAMETERS]
    everywhere = {*RUNTIME_PARAMETERS, *ROBOT_PARAMETERS, *of_controllers}
    sections = {
        'Every node': RUNTIME_PARAMETERS,
        'The robot, for every node but recorder and command_guard': ROBOT_PARAMETERS,
        'Every controller': of_controllers,
        **{name: [row for row in table if row not in everywhere]
           for name, table in TABLES.items()}}
    return '\n'.join([_INTRODUCTION.replace('{COMMAND}', _COMMAND),
                      *(f'## {title}\n\n{markdown_table(table)}\n'
                        for title, table in sections.items())])


def markdown_table(table: Sequence[Parameter]) -> str:
    """The rows as a table in Markdown."""
    lines = ['| parameter | default | what it is |', '|---|---|---|']
    lines += [f'| `{row.name}` | `{default_text(row)}` | {explanation(row)} |' for row in table]
    return '\n'.join(lines)


def parameter_file(node: str, table: Sequence[Parameter], remarks: str) -> str:
    """Parameter file with every row at its default, for nodes of a name in any namespace.

    The remarks are at its top.
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
    """Lines that set a row to its default; a long list has one line per element."""
    if not isinstance(row.default, tuple):
        return [f'{_INDENT}{row.name}: {_scalar(row.default)}']
    elements = [_scalar(element) for element in row.default]
    line = f'{_INDENT}{row.name}: [{", ".join(elements)}]'
    if len(line) <= _WIDTH:
        return [line]
    return [f'{_INDENT}{row.name}:', *(f'{_INDENT}  - {element}' for element in elements)]


def _scalar(value: Any) -> str:
    """A value as YAML, with a decimal point in floats, because rcl reads ``1e-05`` as text."""
    if isinstance(value, float):
        text = repr(value)
        mantissa, exponent, power = text.partition('e')
        return f'{mantissa}{"" if "." in mantissa else ".0"}{exponent}{power}'
    return yaml.safe_dump(value, default_flow_style=True).removesuffix('\n').removesuffix('\n...')
