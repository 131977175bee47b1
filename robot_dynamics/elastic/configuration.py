# SPDX-License-Identifier: Apache-2.0
"""``ElasticJoints`` from a YAML file beside the robot, and from the tags of its URDF.

The file has a value for every joint, or some of them for each::

    coupled: true                       # false: the model of Spong, without B_d
    every_joint: {gear_ratio: 100, viscous: 0.5}
    joints:
      joint1: {stiffness: 2.0e4, rotor_inertia: 4.0e-5}
      joint2: {stiffness: 1.5e4, rotor_inertia: 4.0e-5, rotor_axis: [0, 0, 1]}

What the file does not tell of a joint is what the tags of ros2_control tell, as far as there
are some (`robot_dynamics.elastic.tags`).
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics.elastic.joints import ElasticJoints
from robot_dynamics.elastic.tags import GEAR_RATIO, Tags, read_tags
from robot_dynamics.errors import ModelError, shown
from robot_dynamics.model.dh_fields import Fields
from robot_dynamics.model.dh_source import TextLoader
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import candidate_folders
from robot_dynamics.model.source import read_source
from robot_dynamics.model.xacro_files import expanded_text
from robot_dynamics.model.yaml_text import read_yaml

#: Numbers of a joint that have to be told, and those that are zero where they are not.
NEEDED = (GEAR_RATIO, 'rotor_inertia', 'stiffness')
OPTIONAL = ('coulomb', 'viscous', 'spring_damping')
FIELDS = (*NEEDED, *OPTIONAL, 'rotor_axis')
_TOP = ('coupled', 'every_joint', 'joints')
_REMEDY = 'see docs/elastic.md for the format'

Source = str | os.PathLike[str] | Mapping[str, Any]


def shipped_elastic_joints() -> dict[str, Path]:
    """Return the files ``config/elastic/<robot>.yaml`` of this package by name, in order."""
    for folder in candidate_folders('config'):
        files = sorted((folder / 'elastic').glob('*.yaml'))
        if files:
            return {path.stem: path for path in files}
    return {}


def resolve_elastic_joints(name_or_path: str | os.PathLike[str]) -> Path:
    """Return the file that a user means: one that exists, or one of this package by name.

    Raises
    ------
    ModelError
        When it is neither; names those that there are.
    """
    path = Path(name_or_path).expanduser()
    if path.is_file():
        return path.resolve()
    files = shipped_elastic_joints()
    name = os.fspath(name_or_path)
    if name in files:
        return files[name]
    close = difflib.get_close_matches(name, files, n=1)
    hint = f'did you mean {close[0]}? ' if close else ''
    raise ModelError('is neither a file nor the name of elastic joints of this package',
                     subject=name or "''", remedy=f'{hint}give the path of a YAML file or one of: '
                     + ', '.join(files))


def read_elastic_tags(description: str | bytes | os.PathLike[str]) -> Tags:
    """Return what the tags of a URDF tell of motors and springs, as text.

    Parameters
    ----------
    description : str, bytes or path
        As for `Robot.from_urdf`.
    """
    source = read_source(description)
    return read_tags(expanded_text(source), source.label, FIELDS)


def joints_from_tags(tags: Tags, links: Robot) -> ElasticJoints:
    """Return the motors and springs that tags alone tell of.

    Raises
    ------
    ModelError
        Naming the joint and what is missing.
    """
    return _joints(Fields({}, 'ros2_control'), Fields({}, 'ros2_control'), links, tags)


def joints_from_yaml(source: Source, links: Robot, tags: Tags | None = None
                     ) -> tuple[ElasticJoints, bool]:
    """Return motors and springs of a robot, and whether rotors are coupled to links.

    Parameters
    ----------
    source : path, str or mapping
        Path of the file, name of one of this package, or what it holds.
    links : Robot
        Whose joints they are.
    tags : Tags, optional
        What is told elsewhere of what the file does not tell.

    Raises
    ------
    ModelError, ParameterError
        Naming the file, or joint and field, what is wrong, and what to do.
    """
    content, label = _content(source)
    top = Fields.of(content, label)
    top.check_names(_TOP)
    _, coupled = top.get('coupled')
    if coupled not in (None, True, False, 'true', 'false'):
        raise ModelError(f'is {shown(coupled)}', subject=top.where('coupled'),
                         remedy='write true or false')
    every, joints = (_group(top, name) for name in ('every_joint', 'joints'))
    every.check_names(FIELDS)
    joints.check_names(links.joint_names)
    return _joints(every, joints, links, tags or {}), coupled not in (False, 'false')


def _content(source: Source) -> tuple[Any, str]:
    if isinstance(source, Mapping):
        return source, 'elastic joints'
    path = resolve_elastic_joints(source)
    content = read_yaml(path, ModelError, _REMEDY, TextLoader)
    if not content:
        raise ModelError('is empty', subject=str(path), remedy=_REMEDY)
    return content, str(path)


def _joints(every: Fields, joints: Fields, links: Robot, tags: Tags) -> ElasticJoints:
    numbers: dict[str, list[float]] = {field: [] for field in (*NEEDED, *OPTIONAL)}
    axes = []
    for index, joint in enumerate(links.joint_names):
        own = _group(joints, joint)
        own.check_names(FIELDS)
        told = _of_joint(own, every, Fields(_tagged(tags.get(joint, {})), f'{joint} in its tags'))
        sign = 1.0
        for field in numbers:
            fields = told[field]
            number = fields.number(field, default=None if field in NEEDED else 0.0)
            if field == GEAR_RATIO and number < 0.0:
                # The motor turns the other way: about the opposite axis.
                number, sign = -number, -1.0
            numbers[field].append(number)
        axis = told['rotor_axis'].vector('rotor_axis', length=3)
        if axis is None:
            axis = links.placements[index, :3, :3] @ links.axes[index]
        axes.append(sign * axis)
    return ElasticJoints(**numbers, rotor_axes=np.array(axes), names=links.joint_names)


def _group(fields: Fields, name: str) -> Fields:
    """Return a set of named fields, empty where there is none."""
    _, content = fields.get(name)
    return Fields.of({} if content is None else content, fields.where(name))


def _of_joint(*sources: Fields) -> dict[str, Fields]:
    """Return, for each field, the first source that tells it; else the first of all."""
    return {field: next((source for source in sources if field in source.names()), sources[0])
            for field in FIELDS}


def _tagged(told: Mapping[str, str]) -> dict[str, Any]:
    """Return what tags tell, an axis as a list."""
    return {field: text.split() if field == 'rotor_axis' else text
            for field, text in told.items()}

