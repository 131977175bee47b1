# SPDX-License-Identifier: Apache-2.0
"""What ``robot-dynamics identify`` works on: a robot, recordings, and what a YAML says of them.

What is not given on the command line stands in the YAML: ``robot.urdf`` and ``source``, one
recording or a list. Paths of a YAML begin at its own folder, or at the one given for data::

    robot:
      urdf: arm.urdf
      joints: [joint_1, joint_2]      # the others are held
      base_link: base
      second_origin_of: joint_1       # which the description has, against the specification
    source: [first.mcap, second.mcap]
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from robot_dynamics.bringup.descriptions import Description, load_description
from robot_dynamics.errors import BringupError, ParameterError
from robot_dynamics.identification.dataset.settings import DatasetSettings, read_settings
from robot_dynamics.model.robot import Robot

_ABOUT_ROBOT = ('urdf', 'joints', 'base_link', 'second_origin_of')


@dataclass(frozen=True, eq=False)
class Inputs:
    """What is to be identified, and out of what.

    Parameters
    ----------
    description : Description
        The robot as described.
    robot : Robot
        With the joints that are to be identified.
    recordings : tuple of Path
        What it did.
    settings : DatasetSettings
        How to read them.
    content : mapping
        All that the YAML says.
    folders : tuple of Path
        Where paths of the YAML begin: wherever there is such a file.
    """

    description: Description
    robot: Robot
    recordings: tuple[Path, ...]
    settings: DatasetSettings
    content: Mapping[str, Any]
    folders: tuple[Path, ...]

    def path(self, name: str) -> Path:
        """Return the file that the YAML means."""
        return found_path(name, self.folders)


def read_inputs(recordings: Sequence[Path], robot: str | None, config: Path | None,
                data: Path | None = None) -> Inputs:
    """Read what is given on the command line, and the YAML for the rest.

    Parameters
    ----------
    recordings : sequence of Path
        Those given; none leaves it to the YAML.
    robot : str, optional
        Description, or name of a robot of this package.
    config : Path, optional
        The YAML.
    data : Path, optional
        Where else its paths may begin.

    Raises
    ------
    RobotDynamicsError
        Where there is no robot, or the YAML is wrong.
    """
    settings, content = (DatasetSettings(), {}) if config is None else read_settings(config)
    folders = tuple(folder for folder in (None if config is None else config.parent, data)
                    if folder is not None)
    description, chosen = described(content, folders, robot)
    source = content.get('source', [])
    names = [source] if isinstance(source, str) else source
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise ParameterError(f'is {source!r}', subject='source',
                             remedy='name a recording, or a list of them')
    found = tuple(recordings) or tuple(found_path(name, folders) for name in names)
    return Inputs(description, chosen, found, settings, content, folders)


def described(content: Mapping[str, Any], folders: Sequence[Path], robot: str | None = None
              ) -> tuple[Description, Robot]:
    """Return a description, and the robot with the joints that a YAML names.

    Parameters
    ----------
    content : mapping
        All that the YAML says.
    folders : sequence of Path
        Where paths in it begin.
    robot : str, optional
        Description to use instead of that of the YAML.
    """
    about = content.get('robot', {})
    about = {'urdf': about} if isinstance(about, str) else about
    if not isinstance(about, Mapping):
        raise ParameterError('is no mapping', subject='robot',
                             remedy='give ' + ', '.join(_ABOUT_ROBOT))
    for key in about:
        if key not in _ABOUT_ROBOT:
            raise ParameterError('is no setting', subject=f'robot.{key}',
                                 remedy='choose among ' + ', '.join(_ABOUT_ROBOT))
    name = about.get('urdf') if robot is None else robot
    if not isinstance(name, str) or not name:
        raise BringupError('is not given', subject='robot',
                           remedy='give --robot, or robot.urdf in the YAML')
    path = found_path(name, folders) if robot is None else Path(name)
    source = str(path) if path.exists() else name
    double = about.get('second_origin_of')
    description = load_description(source) if double is None else _mended(Path(source), double)
    return description, _with_joints(description, content, about)


def found_path(name: str, folders: Sequence[Path]) -> Path:
    """Return the first path that exists of a name in some folders, else that in the last."""
    paths = [folder / name for folder in folders] or [Path(name)]
    return next((path for path in paths if path.exists()), paths[-1])


def without_second_origin(text: str, joint: str) -> str:
    """Return a description of which a joint has one origin, as lenient readers see it.

    Raises
    ------
    ParameterError
        Where there is no such joint.
    """
    parts = re.split(rf'(<joint name="{re.escape(joint)}".*?</joint>)', text, maxsplit=1,
                     flags=re.DOTALL)
    if len(parts) != 3:
        raise ParameterError('is no joint of the description', subject=joint,
                             remedy='name one under second_origin_of, or leave it out')
    head, joint_text, tail = parts
    for other in re.findall(r'<origin[^>]*/>', joint_text)[1:]:
        joint_text = joint_text.replace(other, '')
    return head + joint_text + tail


def _mended(path: Path, joint: Any) -> Description:
    """Read a description that has two origins in one joint."""
    try:
        text = path.read_text(encoding='utf-8')
    except (OSError, UnicodeDecodeError) as error:
        raise BringupError(f'cannot be read: {error}', subject=str(path),
                           remedy='give a URDF file') from error
    text = without_second_origin(text, str(joint))
    return Description(path, text, Robot.from_urdf(text.encode()))


def _with_joints(description: Description, content: Mapping[str, Any], about: Mapping[str, Any]
                 ) -> Robot:
    """Return the robot with the joints that are to be identified."""
    joints = content.get('joints', about.get('joints'))
    base = content.get('base_link', about.get('base_link'))
    if joints is not None and (isinstance(joints, str) or not isinstance(joints, Sequence)
                               or not all(isinstance(name, str) for name in joints)):
        raise ParameterError(f'is {joints!r}', subject='joints',
                             remedy='give a list of names of joints')
    if base is not None and not isinstance(base, str):
        raise ParameterError(f'is {base!r}', subject='base_link', remedy='give the name of a link')
    if joints is None and base is None:
        return description.robot
    return Robot.from_urdf(description.urdf.encode(), joints=joints, base_link=base,
                           gravity=description.robot.gravity)
