# SPDX-License-Identifier: Apache-2.0
"""The parameter file that makes any node work with an identified arm."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import yaml

from robot_dynamics.model.robot import Robot

_HEAD = """\
# An identified arm, for every node that has a model of it:
#   --ros-args --params-file parameters.yaml, or identified:=FOLDER of a launch file.
# Whatever else a node is told about its robot is not to be given beside it.
"""


def parameter_file(urdf: str, robot: Robot,
                   special: Mapping[str, Mapping[str, str]] | None = None) -> str:
    """Return a ROS 2 parameter file for all nodes, complete in itself.

    Parameters
    ----------
    urdf : str
        The identified URDF.
    robot : Robot
        The identified robot: its joints, base and gravity, which a URDF does not say.
    special : mapping of str to mapping, optional
        What single nodes are told besides, by name.

    Returns
    -------
    str
        YAML. Where gravity was not seen in the efforts, which the hardware had already
        compensated, none is given: nodes then take that of a level base.
    """
    values = {'robot_description': urdf, 'joints': list(robot.joint_names),
              'base_link': robot.base_name}
    if np.any(robot.gravity):
        values['gravity'] = [float(x) for x in robot.gravity]
    sections = {'/**': values}
    sections.update({f'/**/{node}': dict(own) for node, own in (special or {}).items()})
    return _HEAD + yaml.safe_dump(
        {name: {'ros__parameters': one} for name, one in sections.items()}, allow_unicode=True,
        width=float('inf'), sort_keys=False)
