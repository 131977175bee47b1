# SPDX-License-Identifier: Apache-2.0
"""Links and joints of a URDF, with every value checked; errors name the joint and the line.

Defaults are those of the URDF specification: origin identity, axis x, damping, friction, lower and
upper zero, mimic multiplier 1 and offset 0. A link without ``<inertial>`` has no inertia; no
default is assumed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from os import PathLike
from typing import Any

import numpy as np

from robot_dynamics.errors import Finding, ModelError, Severity
from robot_dynamics.model.arrays import MAX_MAGNITUDE, FloatArray
from robot_dynamics.model.description import (
    JointDescription,
    JointKind,
    LimitDescription,
    LinkDescription,
    MimicDescription,
    RobotTree,
    check_tree,
)
from robot_dynamics.model.inertia import parameters_from_com, transform_parameters
from robot_dynamics.model.robot_data import LONGEST_NAME, is_name
from robot_dynamics.model.rotation import rotation_from_rpy, rotation_of_quaternion
from robot_dynamics.model.urdf_document import Element, parse_source, read_source

#: Largest number of links; the inertia of each is transformed and added in Python.
MAX_LINKS = 5_000

_TENSOR = ('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz')


def read_urdf(source: str | bytes | PathLike[str] | Any,
              xacro_args: Mapping[str, str] | None = None) -> tuple[RobotTree, list[Finding]]:
    """The links and joints of a URDF or xacro file, its text, or a robot of ``urdf_parser_py``.

    With findings about the text. A `ModelError` names the file, link or joint, the problem, and
    the line.
    """
    if hasattr(source, 'to_xml_string'):
        source = _text_of_peer(source)
    text = read_source(source, xacro_args)
    document = parse_source(text)
    findings = []
    if document.leftover:
        findings.append(Finding(
            Severity.WARNING, text.label, f'still has {document.leftover}, which is ignored: a '
            'part of the robot may be missing', 'give the output of `xacro FILE`'))
    return read_tree(document.root), findings


def _text_of_peer(robot: Any) -> str:
    """XML of a robot of urdf_parser_py."""
    try:
        return str(robot.to_xml_string())
    # Its checks are assertions; other exceptions depend on the missing part.
    except Exception as error:
        raise ModelError(f'cannot be written as XML ({type(error).__name__}: {error})',
                         subject=f'{type(robot).__name__} of urdf_parser_py',
                         remedy='complete its links and joints: `print(robot.to_xml_string())` '
                                'must work') from error


def read_tree(root: Element) -> RobotTree:
    """Links and joints of a ``<robot>`` element; several roots are allowed."""
    name = root.attributes.get('name', '').strip() or 'robot'
    _check_name(name, root)
    link_elements = _by_name(root, 'link')
    if len(link_elements) > MAX_LINKS:
        raise ModelError(f'has more than {MAX_LINKS} links', subject=name,
                         remedy='give the description of one robot')
    tree = RobotTree(
        name=name,
        links={key: _read_link(key, element) for key, element in link_elements.items()},
        joints={key: _read_joint(key, element)
                for key, element in _by_name(root, 'joint').items()})
    check_tree(tree)
    return tree


def _by_name(root: Element, tag: str) -> dict[str, Element]:
    """Elements of one tag by their unique names."""
    found: dict[str, Element] = {}
    for element in root.children:
        if element.tag != tag:
            continue
        name = element.attributes.get('name', '')
        if not name.strip():
            raise ModelError(f'has no name (line {element.line})', subject=f'a <{tag}>',
                             remedy='give it a unique name')
        _check_name(name, element)
        if name in found:
            raise ModelError(f'is the name of two {tag}s (lines {found[name].line} and '
                             f'{element.line})', subject=name, remedy='rename one of them')
        found[name] = element
    return found


def _check_name(name: str, element: Element) -> None:
    """Reject names that cannot be displayed in messages or plots."""
    if not is_name(name):
        raise ModelError(f'has a name of {len(name)} characters (line {element.line}) that is '
                         'too long or cannot be printed', subject=f'a <{element.tag}>',
                         remedy=f'use at most {LONGEST_NAME} printable characters')


def _read_link(name: str, element: Element) -> LinkDescription:
    inertial = _only_child(element, 'inertial', name)
    if inertial is None:
        return LinkDescription(name)
    rotation, position = _origin(inertial, name)
    mass = _number_of(_required_child(inertial, 'mass', name), 'value', name)
    tensor_element = _required_child(inertial, 'inertia', name)
    xx, xy, xz, yy, yz, zz = (_number_of(tensor_element, key, name) for key in _TENSOR)
    tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    about_com = parameters_from_com(mass, np.zeros(3), tensor)
    return LinkDescription(name, transform_parameters(about_com, rotation, position))


def _read_joint(name: str, element: Element) -> JointDescription:
    kind = _kind(name, element)
    rotation, position = _origin(element, name)
    placement = np.eye(4)
    placement[:3, :3], placement[:3, 3] = rotation, position
    damping, friction, armature = (_coefficient(name, element, key)
                                   for key in ('damping', 'friction', 'armature'))
    return JointDescription(
        name=name, kind=kind,
        parent=_text_of(_required_child(element, 'parent', name), 'link', name),
        child=_text_of(_required_child(element, 'child', name), 'link', name),
        placement=placement, axis=_axis(name, element, kind),
        limit=_limit(name, element, kind), soft_range=_soft_range(name, element, kind),
        damping=damping, friction=friction, armature=armature,
        mimic=_mimic(name, element) if kind.has_coordinate else None)


def _coefficient(name: str, joint: Element, attribute: str) -> float:
    """Damping, friction or rotor inertia (``armature``, beyond the specification) of a joint."""
    element = _only_child(joint, 'dynamics', name)
    value = 0.0 if element is None else _number_of(element, attribute, name, default=0.0)
    if value < 0.0:
        raise ModelError(f'has the negative {attribute} {value:g}', subject=name,
                         remedy=f'give a {attribute} of zero or more in its <dynamics>')
    return value


def _kind(name: str, element: Element) -> JointKind:
    kinds = {kind.value: kind for kind in JointKind}
    value = _text_of(element, 'type', name)
    if value not in kinds:
        raise ModelError(f'has the unknown type {value!r} (line {element.line})', subject=name,
                         remedy='use one of: ' + ', '.join(kinds))
    return kinds[value]


def _axis(name: str, joint: Element, kind: JointKind) -> FloatArray:
    """Unit axis or normal of a plane; the default of URDF is x."""
    default = np.array([1.0, 0.0, 0.0])
    element = _only_child(joint, 'axis', name)
    if element is None or not (kind.has_coordinate or kind is JointKind.PLANAR):
        return default
    axis = _vector_of(element, 'xyz', name, default)
    length = np.linalg.norm(axis)
    if length < 1e-9:
        raise ModelError(f'has an axis of length zero (line {element.line})', subject=name,
                         remedy='give a unit vector, for example xyz="0 0 1"')
    return axis / length


def _limit(name: str, joint: Element, kind: JointKind) -> LimitDescription | None:
    element = _only_child(joint, 'limit', name)
    if element is None or not kind.has_coordinate:
        return None
    # Some tools write infinite or huge limits for an unlimited joint.
    lower, upper = (_number_of(element, key, name, default=0.0, most=None)
                    for key in ('lower', 'upper'))
    possible = lower <= upper and lower < math.inf and upper > -math.inf
    if not possible and kind is not JointKind.CONTINUOUS:
        raise ModelError(f'must have a lower limit below the upper one, got lower={lower:g}, '
                         f'upper={upper:g} (line {element.line})', subject=name,
                         remedy='correct its <limit>')
    velocity, effort = (_number_of(element, key, name, default=math.nan, most=None)
                        for key in ('velocity', 'effort'))
    return LimitDescription(lower, upper, velocity, effort)


def _soft_range(name: str, joint: Element, kind: JointKind) -> tuple[float, float] | None:
    """Soft limits; a text that is not a number becomes nan, without an error."""
    element = _only_child(joint, 'safety_controller', name)
    if element is None or not kind.has_coordinate:
        return None
    try:
        lower, upper = (_number_of(element, f'soft_{end}_limit', name, default=0.0, most=None)
                        for end in ('lower', 'upper'))
    except ModelError:
        return math.nan, math.nan
    return lower, upper


def _mimic(name: str, joint: Element) -> MimicDescription | None:
    element = _only_child(joint, 'mimic', name)
    if element is None:
        return None
    return MimicDescription(_text_of(element, 'joint', name),
                            _number_of(element, 'multiplier', name, default=1.0),
                            _number_of(element, 'offset', name, default=0.0))


def _origin(owner: Element, name: str) -> tuple[FloatArray, FloatArray]:
    """Rotation (3, 3) and position (3,) of the ``<origin>`` of a link or joint."""
    element = _only_child(owner, 'origin', name)
    if element is None:
        return np.eye(3), np.zeros(3)
    position = _vector_of(element, 'xyz', name, np.zeros(3))
    if 'quat_xyzw' in element.attributes:
        if 'rpy' in element.attributes:
            raise ModelError(f'has an origin with both rpy and quat_xyzw (line {element.line})',
                             subject=name, remedy='keep one of them')
        quaternion = np.array(_numbers_of(element, 'quat_xyzw', name, 4))
        if np.linalg.norm(quaternion) < 1e-9:
            raise ModelError(f'has a quaternion of length zero (line {element.line})',
                             subject=name,
                             remedy='give a unit quaternion, for example quat_xyzw="0 0 0 1"')
        return rotation_of_quaternion(quaternion), position
    return rotation_from_rpy(_vector_of(element, 'rpy', name, np.zeros(3))), position


def _only_child(owner: Element, tag: str, name: str) -> Element | None:
    """The only child of one tag, or None."""
    found = [child for child in owner.children if child.tag == tag]
    if len(found) > 1:
        raise ModelError(f'has {len(found)} <{tag}> elements (lines '
                         f'{found[0].line} and {found[1].line})',
                         subject=name, remedy='keep one of them')
    return found[0] if found else None


def _required_child(owner: Element, tag: str, name: str) -> Element:
    element = _only_child(owner, tag, name)
    if element is None:
        raise ModelError(f'has no <{tag}> in its <{owner.tag}> (line {owner.line})', subject=name,
                         remedy=f'add <{tag} .../>')
    return element


def _text_of(element: Element, attribute: str, name: str) -> str:
    """Text of a required attribute."""
    value = element.attributes.get(attribute, '')
    if not value.strip():
        raise _missing(element, attribute, name)
    return value


def _number_of(element: Element, attribute: str, name: str, *, default: float | None = None,
               most: float | None = MAX_MAGNITUDE) -> float:
    """One number; an error if it is missing and has no default."""
    if attribute in element.attributes:
        return _parsed(element.attributes[attribute], element, attribute, name, most)
    if default is None:
        raise _missing(element, attribute, name)
    return default


def _missing(element: Element, attribute: str, name: str) -> ModelError:
    return ModelError(f'has no {attribute} in <{element.tag}> (line {element.line})',
                      subject=name, remedy=f'add {attribute}="..."')


def _vector_of(element: Element, attribute: str, name: str, default: FloatArray) -> FloatArray:
    """Three numbers, or the default if the attribute is missing."""
    if attribute not in element.attributes:
        return default
    return np.array(_numbers_of(element, attribute, name, 3))


def _numbers_of(element: Element, attribute: str, name: str, count: int) -> list[float]:
    words = element.attributes[attribute].split()
    if len(words) != count:
        raise ModelError(f'must have {count} numbers in {_quoted(element, attribute)}, got '
                         f'{len(words)}', subject=name, remedy='separate them by spaces')
    return [_parsed(word, element, attribute, name, MAX_MAGNITUDE) for word in words]


def _parsed(text: str, element: Element, attribute: str, name: str, most: float | None) -> float:
    """The number of a text, within a magnitude; extensions of Python (1_000) are rejected."""
    word = text.strip()
    try:
        if '_' in word or not word.isascii():
            raise ValueError
        value = float(word)
    except ValueError:
        raise ModelError(f'must have numbers in {_quoted(element, attribute)}', subject=name,
                         remedy='write it like 0.5 or 5e-1, with a decimal point') from None
    if most is not None and not abs(value) <= most:
        raise ModelError(f'must have finite numbers within {most:g} in '
                         + _quoted(element, attribute), subject=name,
                         remedy='give values in SI units')
    return value


def _quoted(element: Element, attribute: str) -> str:
    """An attribute as written in the file, with its line."""
    value = element.attributes[attribute]
    short = value if len(value) <= 60 else value[:57] + '...'
    return f'<{element.tag} {attribute}="{short}"> in line {element.line}'
