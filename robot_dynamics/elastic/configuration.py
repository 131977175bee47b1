# SPDX-License-Identifier: Apache-2.0
"""Motors and springs of a robot from a YAML file, and from the tags of its URDF.

The file has values for all joints, for single joints, or both; docs/elastic.md has the format::

    coupled: true                       # false: the model of Spong, without B_d
    every_joint: {gear_ratio: 100, viscous: 0.5}
    joints:
      joint1: {stiffness: 2.0e4, rotor_inertia: 4.0e-5}
      joint2: {stiffness: 1.5e4, rotor_inertia: 4.0e-5, rotor_axis: [0, 0, 1]}

Fields that the file leaves out may be in the URDF, as ``<param>`` of a joint in a tag
``ros2_control``. The gear ratio may be in a transmission there or, as in ROS 1, below the
robot::

    <ros2_control name="arm" type="system">
      <joint name="joint1">
        <param name="stiffness">8000</param>
        <param name="rotor_inertia">2e-5</param>
      </joint>
      <transmission name="drive1">
        <plugin>transmission_interface/SimpleTransmission</plugin>
        <actuator name="motor1" role="actuator1"/>
        <joint name="joint1" role="joint1"><mechanical_reduction>100</mechanical_reduction></joint>
      </transmission>
    </ros2_control>
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics.elastic.joints import ElasticJoints
from robot_dynamics.errors import ModelError, shown
from robot_dynamics.model.dh_fields import Fields, TextLoader
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import resolve_file, shipped_files
from robot_dynamics.model.urdf_document import Element, expanded_text, parse_document, read_source
from robot_dynamics.model.yaml_text import read_yaml

#: Texts by field by joint, as written.
Tags = dict[str, dict[str, str]]
Source = str | os.PathLike[str] | Mapping[str, Any]

#: Name of the gear ratio in a file.
GEAR_RATIO = 'gear_ratio'
#: Required numbers of a joint, and those that are zero by default.
NEEDED = (GEAR_RATIO, 'rotor_inertia', 'stiffness')
OPTIONAL = ('coulomb', 'viscous', 'spring_damping')
FIELDS = (*NEEDED, *OPTIONAL, 'rotor_axis')

_TOP = ('coupled', 'every_joint', 'joints')
_REMEDY = 'see docs/elastic.md for the format'
_REDUCTIONS = ('mechanical_reduction', 'mechanicalReduction')
_KEPT_TAGS = {
    'robot': frozenset(('ros2_control', 'transmission')),
    'ros2_control': frozenset(('joint', 'transmission')),
    'transmission': frozenset(('joint', 'actuator')),
    'joint': frozenset(('param', *_REDUCTIONS)),
    'actuator': frozenset(_REDUCTIONS),
}


def shipped_elastic_joints() -> dict[str, Path]:
    """Files ``config/elastic/<robot>.yaml`` of this package by name, in order."""
    return {path.stem: path for path in shipped_files('config', 'elastic/*.yaml')}


def resolve_elastic_joints(name_or_path: str | os.PathLike[str]) -> Path:
    """Path of a file, or of one of this package by name; the error lists the latter."""
    return resolve_file(name_or_path, shipped_elastic_joints,
                        'the name of elastic joints of this package', '.yaml')


def read_elastic_tags(description: str | bytes | os.PathLike[str]) -> Tags:
    """Texts of the fields of each joint in the tags of a URDF, a source as for `Robot.from_urdf`.

    Raises a `ModelError` if it cannot be read, or gives two values of one field.
    """
    source = read_source(description)
    root = parse_document(expanded_text(source), source.label, _KEPT_TAGS).root
    tags: Tags = {}
    for element in root.children:
        for part in (element.children if element.tag == 'ros2_control' else [element]):
            if part.tag == 'transmission':
                _keep_reduction(tags, part, source.label)
                continue
            for param in part.children:
                name = param.attributes.get('name', '')
                if param.tag == 'param':
                    _keep(tags, part.attributes.get('name', ''),
                          GEAR_RATIO if name in _REDUCTIONS else name, param.text, source.label)
    return tags


def _keep_reduction(tags: Tags, transmission: Element, label: str) -> None:
    """Keep the ratio of a transmission with one motor; others have no single ratio."""
    joints = [part.attributes.get('name', '') for part in transmission.children
              if part.tag == 'joint']
    actuators = sum(part.tag == 'actuator' for part in transmission.children)
    reductions = [child.text for part in transmission.children for child in part.children
                  if child.tag in _REDUCTIONS]
    if len(joints) != 1 or actuators > 1 or not reductions:
        return
    if len(reductions) > 1:
        raise ModelError('has several reductions in its transmission',
                         subject=joints[0], remedy='keep the one of the joint')
    _keep(tags, joints[0], GEAR_RATIO, reductions[0], label)


def _keep(tags: Tags, joint: str, field: str, text: str, label: str) -> None:
    if field not in FIELDS:
        return
    text = text.strip()
    known = tags.setdefault(joint, {}).setdefault(field, text)
    if known != text:
        raise ModelError(f'has two values of {field}, {known} and {text}, in the tags of {label}',
                         subject=joint or 'a joint without a name', remedy='keep one of them')


def joints_from_tags(tags: Tags, links: Robot) -> ElasticJoints:
    """Motors and springs from tags alone; an error names the joint and the missing field."""
    return _joints(Fields({}, 'ros2_control'), Fields({}, 'ros2_control'), links, tags)


def joints_from_yaml(source: Source, links: Robot, tags: Tags | None = None
                     ) -> tuple[ElasticJoints, bool]:
    """Motors and springs of a robot, and whether rotors are coupled to links.

    The source is the path of a file, the name of one of this package, or its content; tags
    are used for fields that it lacks. An error names the file, or joint and field.
    """
    content, label = _content(source)
    top = Fields.of(content, label)
    top.check_names(_TOP)
    _, coupled = top.get('coupled')
    if coupled not in (None, True, False, 'true', 'false'):
        raise ModelError(f'must be true or false, got {shown(coupled)}',
                         subject=top.where('coupled'),
                         remedy='write false for the model without inertial coupling')
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
    numbers: dict[str, Any] = {field: [] for field in (*NEEDED, *OPTIONAL)}
    axes = []
    for index, joint in enumerate(links.joint_names):
        own = _group(joints, joint)
        own.check_names(FIELDS)
        # The axis of a tag is a list of numbers.
        written = {field: text.split() if field == 'rotor_axis' else text
                   for field, text in tags.get(joint, {}).items()}
        sources = (own, every, Fields(written, f'{joint} in its tags'))
        # The first source that has the field; a missing field is an error of the first source.
        source_of = {field: next((source for source in sources if field in source.names()), own)
                     for field in FIELDS}
        sign = 1.0
        for field in numbers:
            number = source_of[field].number(field, default=None if field in NEEDED else 0.0)
            if field == GEAR_RATIO and number < 0.0:
                # The motor turns the other way: about the opposite axis.
                number, sign = -number, -1.0
            numbers[field].append(number)
        axis = source_of['rotor_axis'].vector('rotor_axis', length=3)
        if axis is None:
            axis = links.placements[index, :3, :3] @ links.axes[index]
        axes.append(sign * axis)
    return ElasticJoints(**numbers, rotor_axes=np.array(axes), names=links.joint_names)


def _group(fields: Fields, name: str) -> Fields:
    """A set of named fields, empty if missing."""
    _, content = fields.get(name)
    return Fields.of({} if content is None else content, fields.where(name))
