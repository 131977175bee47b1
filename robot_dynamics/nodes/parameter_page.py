# SPDX-License-Identifier: Apache-2.0
"""Writes every parameter of every node on one page; its argument is ``docs/parameters.md``."""

from __future__ import annotations

import sys
from pathlib import Path

from robot_dynamics.nodes import (
    adaptive_controller,
    inverse_dynamics,
    recorder,
    reference,
    simulated_arm,
)
from robot_dynamics.nodes.controller_parameters import CONTROLLER_PARAMETERS
from robot_dynamics.nodes.description import ROBOT_PARAMETERS
from robot_dynamics.nodes.parameter_text import markdown_table
from robot_dynamics.nodes.runtime import RUNTIME_PARAMETERS

_INTRODUCTION = """\
# Parameters of the nodes

Written by `python -m robot_dynamics.nodes.parameter_page docs/parameters.md` from the tables that
the nodes declare. A node says the same with `--help`, and `ros2 param describe` while it runs.

In a parameter file, numbers per joint are lists in the order of the joints of the description; one
value stands for all joints:

```yaml
adaptive_controller:
  ros__parameters:
    effort_limit: [40.0, 40.0, 25.0, 25.0, 10.0, 5.0]    # N m; none may be above that of the URDF
    effort_rate_limit: [400.0]                           # N m/s, all joints
    max_tracking_error: 0.1                              # rad
```

    ros2 launch robot_dynamics hardware.launch.py hardware:=my_arm.yaml
    python -m robot_dynamics.nodes.adaptive_controller --ros-args --params-file my_arm.yaml

A value of the wrong type, out of its range or not finite ends the node with one line that says so;
a parameter that nothing reads is warned of.
"""

#: Rows of each node, in the order in which they are declared, without those of every node.
TABLES = {
    'adaptive_controller': (*CONTROLLER_PARAMETERS, *adaptive_controller.TABLE),
    'inverse_dynamics': inverse_dynamics.TABLE,
    'reference': reference.TABLE,
    'simulated_arm': simulated_arm.TABLE,
    'recorder': recorder.TABLE,
}


def page() -> str:
    """Return the page."""
    sections = {
        'Every node': RUNTIME_PARAMETERS, 'The robot, for every node but the recorder':
        ROBOT_PARAMETERS, **{name: [row for row in table if row not in ROBOT_PARAMETERS]
                             for name, table in TABLES.items()}}
    return '\n'.join([_INTRODUCTION, *(f'## {title}\n\n{markdown_table(table)}\n'
                                       for title, table in sections.items())])


if __name__ == '__main__':
    Path(sys.argv[1]).write_text(page(), encoding='utf-8')
