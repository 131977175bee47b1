# SPDX-License-Identifier: Apache-2.0
"""The robot named by the user: URDF text for nodes and launch files, and summary."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from robot_dynamics.bringup.xacro_args import parse_xacro_args
from robot_dynamics.errors import ModelError
from robot_dynamics.model.joints import JointType
from robot_dynamics.model.robot import Robot, prismatic_joints
from robot_dynamics.model.shipped import resolve_robot
from robot_dynamics.model.urdf_document import expanded_text, read_source

#: Suffixes of files with a DH table.
DH_SUFFIXES = ('.yaml', '.yml', '.json')


@dataclass(frozen=True, eq=False)
class Description:
    """A robot and the text that describes it.

    Parameters
    ----------
    path : Path
        The file.
    urdf : str
        The URDF: the text of the file, the expanded xacro, or the URDF of a DH table.
    robot : Robot
        The robot read from it.

    Examples
    --------
    >>> from robot_dynamics.bringup import load_description
    >>> load_description('planar_2r').path.name
    'planar_2r.urdf'
    """

    path: Path
    urdf: str
    robot: Robot


def load_description(name_or_path: str | Path, xacro_args: str = '') -> Description:
    """Read the robot of the option ``--robot``.

    Parameters
    ----------
    name_or_path : str or Path
        Name of a shipped robot, or path of a URDF, xacro or DH file.
    xacro_args : str
        Values for arguments of a xacro file, as for ``xacro``: ``'name:=ur ur_type:=ur5e'``.

    Raises
    ------
    ModelError
        If the robot does not exist or cannot be used; names the link or joint.

    Examples
    --------
    >>> from robot_dynamics.bringup import load_description
    >>> load_description('planar_2r').robot.joint_names
    ('joint1', 'joint2')
    """
    path = resolve_robot(name_or_path)
    arguments = parse_xacro_args(xacro_args)
    if path.suffix in DH_SUFFIXES:
        if arguments:
            raise ModelError('takes no arguments of xacro', subject=str(path),
                             remedy='leave them out')
        robot = Robot.from_dh(path)
        return Description(path, robot.to_urdf(), robot)
    text = expanded_text(read_source(path, arguments))
    return Description(path, text, Robot.from_urdf(text.encode()))


def robot_line(robot: Robot) -> str:
    """Name, number of joints and moving mass (kg) of a robot in one line."""
    mass = float(robot.inertial_parameters[:, 0].sum())
    return f'{robot.name}: {joint_count(robot)}, {mass:.3g} kg moving'


def joint_count(robot: Robot) -> str:
    """Number of joints of a robot, and how many of them are prismatic."""
    count = len(robot.joint_names)
    prismatic = np.count_nonzero(prismatic_joints(robot))
    rest = f', {prismatic} of them prismatic' if prismatic else ''
    return f'{count} joint{"s" if count > 1 else ""}{rest}'


def joint_table(robot: Robot) -> tuple[str, ...]:
    """One line per joint: name, position limits and effort limit."""
    width = max(map(len, robot.joint_names))
    limits = robot.limits
    lines = []
    for k, name in enumerate(robot.joint_names):
        columns = robot.coordinates.velocities(k)
        kind = JointType(robot.joint_types[robot.body_joint_names.index(name)])
        if columns.stop - columns.start > 1:
            lines.append(f'  {name:<{width}} {kind.name.lower()}')
            continue
        low, high, effort = (column[columns.start] for column in (limits.lower, limits.upper,
                                                                  limits.effort))
        is_prismatic = kind is JointType.PRISMATIC
        positions = f'{low:8.3f} to {high:7.3f} {"m  " if is_prismatic else "rad"}' \
            if np.isfinite([low, high]).any() else f'{"without limits":<23}'
        efforts = f'effort to {effort:g} {"N" if is_prismatic else "N m"}' \
            if np.isfinite(effort) else 'no effort limit'
        lines.append(f'  {name:<{width}} {positions}   {efforts}')
    return tuple(lines)
