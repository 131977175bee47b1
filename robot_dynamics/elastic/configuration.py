# SPDX-License-Identifier: Apache-2.0
"""Motors and springs in a URDF: its tags of ros2_control and its transmissions.

Of a joint in a tag ``ros2_control`` the ``<param>`` are taken that have the name of a field
of `robot_dynamics.elastic.configuration`, and its gear ratio from a transmission, which
stands there or, as in ROS 1, below the robot::

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


``ElasticJoints`` from a YAML file beside the robot, and from the tags of its URDF.

The file has a value for every joint, or some of them for each::

    coupled: true                       # false: the model of Spong, without B_d
    every_joint: {gear_ratio: 100, viscous: 0.5}
    joints:
      joint1: {stiffness: 2.0e4, rotor_inertia: 4.0e-5}
      joint2: {stiffness: 1.5e4, rotor_inertia: 4.0e-5, rotor_axis: [0, 0, 1]}

What the file does not tell of a joint is what the tags of ros2_control tell, as far as there
are some (`robot_dynamics.elastic.configuration`).


The motors and springs of a robot as a file that `ElasticRobot.from_yaml` reads.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.parsers import expat

import numpy as np

from robot_dynamics.elastic.joints import ElasticJoints
from robot_dynamics.errors import ModelError, shown
from robot_dynamics.model.dh_fields import Fields, TextLoader
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import candidate_folders
from robot_dynamics.model.urdf_document import expanded_text, read_source
from robot_dynamics.model.yaml_text import read_yaml

#: Texts by field by joint, as written.
Tags = dict[str, dict[str, str]]

#: What a gear ratio is called, where a joint or a transmission tells it.
GEAR_RATIO = 'gear_ratio'
_REDUCTIONS = ('mechanical_reduction', 'mechanicalReduction')
#: Longest text of a number or an axis.
_LONGEST_TEXT = 200


def read_tags(text: str, label: str, fields: Sequence[str]) -> Tags:
    """Return what a description tells of motors and springs.

    Parameters
    ----------
    text : str
        URDF, expanded.
    label : str
        How messages call it.
    fields : sequence of str
        Names of the parameters that matter; others are for others.

    Returns
    -------
    dict of str to dict
        The text of each field by joint.

    Raises
    ------
    ModelError
        Where it is no XML, or tells one thing twice.
    """
    reader = _Reader(label, fields)
    try:
        reader.parse(text)
    except expat.ExpatError as error:
        raise ModelError(f'is not well-formed XML: {expat.errors.messages[error.code]} at line '
                         f'{error.lineno}', subject=label, remedy='correct the XML there'
                         ) from error
    return reader.tags


class _Reader:
    """Receives the events of expat and keeps what tells of motors."""

    def __init__(self, label: str, fields: Sequence[str]):
        self.tags: Tags = {}
        self._label = label
        self._fields = frozenset(fields)
        self._path: list[str] = []
        self._joint = self._field = ''
        self._text: list[str] | None = None
        self._joints: list[str] = []
        self._actuators = 0
        self._reductions: list[tuple[str, str]] = []
        self._parser = expat.ParserCreate('utf-8')
        self._parser.StartDoctypeDeclHandler = self._refuse_doctype
        self._parser.StartElementHandler = self._start
        self._parser.CharacterDataHandler = self._characters
        self._parser.EndElementHandler = self._end

    def parse(self, text: str) -> None:
        self._parser.Parse(text.lstrip().encode('utf-8', 'replace'), True)

    def _refuse_doctype(self, *_declaration: object) -> None:
        raise ModelError('has a document type declaration (<!DOCTYPE ...>)', subject=self._label,
                         remedy='remove it: a URDF needs none, and entities are not expanded')

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        above = self._path[1:]
        name = attributes.get('name', '')
        if above == ['ros2_control'] and tag == 'joint':
            self._joint = name
        elif above == ['ros2_control', 'joint'] and tag == 'param':
            self._open_field(GEAR_RATIO if name in _REDUCTIONS else name)
        elif tag == 'transmission' and above in ([], ['ros2_control']):
            self._joints, self._actuators, self._reductions = [], 0, []
        elif above[-1:] == ['transmission']:
            if tag == 'joint':
                self._joints.append(name)
            self._actuators += tag == 'actuator'
        elif above[-2:-1] == ['transmission'] and tag in _REDUCTIONS:
            self._open_field(GEAR_RATIO)
        self._path.append(tag)

    def _open_field(self, field: str) -> None:
        self._field, self._text = field, [] if field in self._fields else None

    def _characters(self, characters: str) -> None:
        if self._text is not None and sum(map(len, self._text)) <= _LONGEST_TEXT:
            self._text.append(characters)

    def _end(self, tag: str) -> None:
        self._path.pop()
        above = self._path[1:]
        if self._text is not None and tag in ('param', *_REDUCTIONS):
            text, self._text = ''.join(self._text).strip()[:_LONGEST_TEXT], None
            if tag == 'param':
                self._keep(self._joint, self._field, text)
            else:
                self._reductions.append((above[-1], text))
        elif tag == 'transmission' and above in ([], ['ros2_control']):
            self._keep_reduction()

    def _keep_reduction(self) -> None:
        """Keep the ratio of a transmission of one motor; of others there is no single one."""
        if len(self._joints) != 1 or self._actuators > 1 or not self._reductions:
            return
        if len(self._reductions) > 1:
            raise ModelError('has several reductions in its transmission',
                             subject=self._joints[0], remedy='keep one: that of the joint')
        self._keep(self._joints[0], GEAR_RATIO, self._reductions[0][1])

    def _keep(self, joint: str, field: str, text: str) -> None:
        told = self.tags.setdefault(joint, {})
        if told.setdefault(field, text) != text:
            raise ModelError(f'{field} is {told[field]} and {text} in the tags of {self._label}',
                             subject=joint or 'a joint without a name', remedy='keep one of them')


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
    numbers: dict[str, Any] = {field: [] for field in (*NEEDED, *OPTIONAL)}
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
