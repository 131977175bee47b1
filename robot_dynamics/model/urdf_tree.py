# SPDX-License-Identifier: Apache-2.0
"""From the elements of a URDF to links and joints, every value checked.

Defaults are those of the URDF specification: no origin is the identity, no axis
is x, a missing damping, friction, lower or upper is zero, mimic is by 1 and 0. A
link without ``<inertial>`` has no inertia; it never gets an invented one.
"""

from __future__ import annotations

import math

import numpy as np

from robot_dynamics.errors import ModelError
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.document import Element
from robot_dynamics.model.inertia import parameters_from_com, transform_parameters
from robot_dynamics.model.motion import rotation_of_quaternion
from robot_dynamics.model.robot_checks import LONGEST_NAME, is_name
from robot_dynamics.model.rotation import rotation_from_rpy
from robot_dynamics.model.tree import (
    JointDescription,
    JointKind,
    LimitDescription,
    LinkDescription,
    MimicDescription,
    RobotTree,
    check_tree,
)
from robot_dynamics.model.urdf_values import (
    number_of,
    numbers_of,
    only_child,
    parse_number,
    required_child,
    text_of,
    vector_of,
)

#: Largest number of links; the inertia of each is moved and added in Python.
MAX_LINKS = 5_000

_TENSOR = ('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz')


def read_tree(root: Element) -> RobotTree:
    """Return the links and joints of a ``<robot>`` element.

    Parameters
    ----------
    root : Element
        The parsed document.

    Returns
    -------
    RobotTree
        A checked tree (or forest: several roots are left to the caller).

    Raises
    ------
    ModelError
        Naming the link or joint, what is wrong with it, and the line.
    """
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
    """Return the elements of one tag by their unique names."""
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
            raise ModelError(f'two {tag}s have this name (lines {found[name].line} and '
                             f'{element.line})', subject=name, remedy='rename one of them')
        found[name] = element
    return found


def _check_name(name: str, element: Element) -> None:
    """Refuse names that could not stand in a message or on a plot."""
    if not is_name(name):
        raise ModelError(f'has a name of {len(name)} characters (line {element.line}) that is '
                         'too long or cannot be printed', subject=f'a <{element.tag}>',
                         remedy=f'use at most {LONGEST_NAME} printable characters')


def _read_link(name: str, element: Element) -> LinkDescription:
    inertial = only_child(element, 'inertial', name)
    if inertial is None:
        return LinkDescription(name)
    rotation, position = _origin(inertial, name)
    mass = number_of(required_child(inertial, 'mass', name), 'value', name)
    tensor_element = required_child(inertial, 'inertia', name)
    xx, xy, xz, yy, yz, zz = (number_of(tensor_element, key, name) for key in _TENSOR)
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
        parent=text_of(required_child(element, 'parent', name), 'link', name),
        child=text_of(required_child(element, 'child', name), 'link', name),
        placement=placement, axis=_axis(name, element, kind), link_offset=np.zeros(3),
        limit=_limit(name, element, kind), soft_range=_soft_range(name, element, kind),
        damping=damping, friction=friction, armature=armature,
        mimic=_mimic(name, element) if kind.has_coordinate else None)


def _coefficient(name: str, joint: Element, attribute: str) -> float:
    """Return the damping, friction or rotor inertia of a joint.

    No specification has the last, ``armature``; `robot_dynamics.model.export` writes it.
    """
    element = only_child(joint, 'dynamics', name)
    value = 0.0 if element is None else number_of(element, attribute, name, default=0.0)
    if value < 0.0:
        raise ModelError(f'has the negative {attribute} {value:g}', subject=name,
                         remedy=f'give a {attribute} of zero or more')
    return value


def _kind(name: str, element: Element) -> JointKind:
    kinds = [kind.value for kind in JointKind]
    value = text_of(element, 'type', name)
    if value not in kinds:
        raise ModelError(f'has the unknown type {value!r} (line {element.line})', subject=name,
                         remedy='use one of: ' + ', '.join(kinds))
    return JointKind(value)


def _axis(name: str, joint: Element, kind: JointKind) -> FloatArray:
    """Return the unit axis or normal of a plane; URDF takes x where none is given."""
    default = np.array([1.0, 0.0, 0.0])
    element = only_child(joint, 'axis', name)
    if element is None or not (kind.has_coordinate or kind is JointKind.PLANAR):
        return default
    axis = vector_of(element, 'xyz', name, default)
    length = np.linalg.norm(axis)
    if length < 1e-9:
        raise ModelError(f'has a zero axis (line {element.line})', subject=name,
                         remedy='give a unit vector, for example xyz="0 0 1"')
    return axis / length


def _limit(name: str, joint: Element, kind: JointKind) -> LimitDescription | None:
    element = only_child(joint, 'limit', name)
    if element is None or not kind.has_coordinate:
        return None
    lower, upper = (_limit_number(element, key, name, missing=0.0) for key in ('lower', 'upper'))
    possible = lower <= upper and lower < math.inf and upper > -math.inf
    if not possible and kind is not JointKind.CONTINUOUS:
        raise ModelError(f'has the limits lower={lower:g}, upper={upper:g} (line {element.line})',
                         subject=name, remedy='give a lower limit below the upper one')
    velocity, effort = (_limit_number(element, key, name, missing=math.nan)
                        for key in ('velocity', 'effort'))
    return LimitDescription(lower, upper, velocity, effort)


def _soft_range(name: str, joint: Element, kind: JointKind) -> tuple[float, float] | None:
    """Return the soft limits; what is no number there does not make the joint unreadable."""
    element = only_child(joint, 'safety_controller', name)
    if element is None or not kind.has_coordinate:
        return None
    try:
        lower, upper = (_limit_number(element, f'soft_{end}_limit', name, missing=0.0)
                        for end in ('lower', 'upper'))
    except ModelError:
        return math.nan, math.nan
    return lower, upper


def _limit_number(element: Element, attribute: str, name: str, *, missing: float) -> float:
    """Return a limit; infinite and huge ones are how some tools write that there is none."""
    if attribute not in element.attributes:
        return missing
    return parse_number(element.attributes[attribute], element, attribute, name)


def _mimic(name: str, joint: Element) -> MimicDescription | None:
    element = only_child(joint, 'mimic', name)
    if element is None:
        return None
    return MimicDescription(text_of(element, 'joint', name),
                            number_of(element, 'multiplier', name, default=1.0),
                            number_of(element, 'offset', name, default=0.0))


def _origin(owner: Element, name: str) -> tuple[FloatArray, FloatArray]:
    """Return rotation (3, 3) and position (3,) of the ``<origin>`` of a link or joint."""
    element = only_child(owner, 'origin', name)
    if element is None:
        return np.eye(3), np.zeros(3)
    position = vector_of(element, 'xyz', name, np.zeros(3))
    if 'quat_xyzw' in element.attributes:
        if 'rpy' in element.attributes:
            raise ModelError(f'has an origin with both rpy and quat_xyzw (line {element.line})',
                             subject=name, remedy='keep one of them')
        return _quaternion_rotation(element, name), position
    return rotation_from_rpy(vector_of(element, 'rpy', name, np.zeros(3))), position


def _quaternion_rotation(element: Element, name: str) -> FloatArray:
    """Return the rotation of a quaternion x y z w, normalised, shape (3, 3)."""
    quaternion = np.array(numbers_of(element, 'quat_xyzw', name, 4))
    length = np.linalg.norm(quaternion)
    if length < 1e-9:
        raise ModelError(f'has a zero quaternion (line {element.line})', subject=name,
                         remedy='give a unit quaternion, for example quat_xyzw="0 0 0 1"')
    return rotation_of_quaternion(quaternion)
