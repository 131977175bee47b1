# SPDX-License-Identifier: Apache-2.0
"""Which arms of a system have elastic joints, and where their motors and springs are described."""

from __future__ import annotations

from robot_dynamics.bringup.commands.identify import identified_files
from robot_dynamics.bringup.controllers import find_controller
from robot_dynamics.bringup.descriptions import Description
from robot_dynamics.elastic.configuration import (
    joints_from_yaml,
    read_elastic_tags,
    resolve_elastic_joints,
    shipped_elastic_joints,
)
from robot_dynamics.errors import BringupError, RobotDynamicsError

#: Means the tags ros2_control of the URDF, for nodes too.
DESCRIPTION = 'description'


def elastic_joints(wanted: str, controller: str, description: Description) -> str:
    """Return what nodes are told of elastic joints: a path, ``'description'``, or nothing.

    Parameters
    ----------
    wanted : str
        What the user says: a file, the name of one of this package, ``'description'``, or
        nothing. Then an arm has elastic joints where its controller is made for them: those
        of this package for a robot of that name, or those of its description.
    controller : str
        Name of the active controller.
    description : Description
        The robot.

    Raises
    ------
    RobotDynamicsError
        Where there are none, or they are not those of the robot.
    """
    is_needed = find_controller(controller).is_elastic
    if not wanted and not is_needed:
        return ''
    source = wanted or shipped_elastic_joints().get(description.path.stem, DESCRIPTION)
    try:
        content = {} if source == DESCRIPTION else resolve_elastic_joints(source)
        joints_from_yaml(content, description.robot, read_elastic_tags(
            description.urdf.encode()))
    except RobotDynamicsError as error:
        if wanted:
            raise
        raise BringupError(f'there is none for {description.path.name}, nor do its tags '
                           f'ros2_control tell of motors and springs ({error.subject}: '
                           f'{error.message})', subject='elastic_joints',
                           remedy='give the path of a file, see docs/elastic.md') from error
    return DESCRIPTION if source == DESCRIPTION else str(content)


def identified_springs(folder: str) -> dict[str, str]:
    """Return the parameter of controllers that names identified motors and springs.

    Parameters
    ----------
    folder : str
        Where ``robot-dynamics identify`` has written.

    Returns
    -------
    dict of str to str
        Nothing where joints were identified as rigid ones.
    """
    from robot_dynamics.identification.elastic.outputs import ELASTIC_JOINTS
    path = identified_files(folder).parent / ELASTIC_JOINTS
    return {'elastic_joints': str(path)} if path.is_file() else {}
