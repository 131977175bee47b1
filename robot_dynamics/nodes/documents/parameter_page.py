# SPDX-License-Identifier: Apache-2.0
"""Every parameter of every node on one page, ``docs/parameters.md``."""

from __future__ import annotations

from robot_dynamics.nodes.controller.parameters import CONTROLLER_PARAMETERS
from robot_dynamics.nodes.documents.parameter_tables import TABLES
from robot_dynamics.nodes.ros.description import ROBOT_PARAMETERS
from robot_dynamics.nodes.ros.lifecycle import AUTOSTART
from robot_dynamics.nodes.ros.parameter_text import markdown_table
from robot_dynamics.nodes.ros.runtime import RUNTIME_PARAMETERS

_INTRODUCTION = """\
# Parameters of the nodes

Written by `COMMAND` from the tables that
the nodes declare. A node says the same with `--help`, and `ros2 param describe` while it runs;
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

An integer is welcome wherever a number is, also within a list. A value of the wrong type, out of
its range or not finite ends the node with one line that says so; a parameter that nothing reads is
warned of.

## Changes while a node runs

Only what says so below can be changed. Topics, joints, limits and whatever else decides which
efforts an arm may get are fixed from the start, as is `use_sim_time`; names are remapped at the
start or not at all, and nobody can declare or delete a parameter from outside. A change takes
effect between two cycles, never within one. The service `set_parameters_atomically` makes several
changes at once: all of them, or none.
"""


def page(command: str) -> str:
    """Return the page.

    Parameters
    ----------
    command : str
        The command that writes it.
    """
    of_controllers = [row for row in (AUTOSTART, *CONTROLLER_PARAMETERS)
                      if row not in ROBOT_PARAMETERS]
    everywhere = {*RUNTIME_PARAMETERS, *ROBOT_PARAMETERS, *of_controllers}
    sections = {
        'Every node': RUNTIME_PARAMETERS,
        'The robot, for every node but the recorder': ROBOT_PARAMETERS,
        'Every controller': of_controllers,
        **{name: [row for row in table if row not in everywhere]
           for name, table in TABLES.items()}}
    return '\n'.join([_INTRODUCTION.replace('COMMAND', command),
                      *(f'## {title}\n\n{markdown_table(table)}\n'
                        for title, table in sections.items())])
