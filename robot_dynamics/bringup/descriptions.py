# SPDX-License-Identifier: Apache-2.0
"""The robot a user names, as the URDF text that nodes and launch files pass on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import resolve_robot
from robot_dynamics.model.urdf_document import expanded_text, read_source

#: Suffixes of files that hold a DH table.
DH_SUFFIXES = ('.yaml', '.yml', '.json')


@dataclass(frozen=True, eq=False)
class Description:
    """A robot and the text that describes it.

    Parameters
    ----------
    path : Path
        The file it comes from.
    urdf : str
        Its URDF: the file's own text, a xacro file expanded, or what a DH table amounts to.
    robot : Robot
        What was read from it.
    """

    path: Path
    urdf: str
    robot: Robot


def load_description(name_or_path: str | Path) -> Description:
    """Read the robot that a user means by ``--robot``.

    Parameters
    ----------
    name_or_path : str or Path
        Name of a shipped robot, or path of a URDF, xacro or DH file.

    Raises
    ------
    ModelError
        When there is no such robot or it cannot be used; names the link or joint.
    """
    path = resolve_robot(name_or_path)
    if path.suffix in DH_SUFFIXES:
        robot = Robot.from_dh(path)
        return Description(path, robot.to_urdf(), robot)
    robot = Robot.from_urdf(path)
    return Description(path, expanded_text(read_source(path)), robot)
