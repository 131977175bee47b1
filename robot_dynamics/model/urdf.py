# SPDX-License-Identifier: Apache-2.0
"""The way in for URDF and xacro: ``robot_from_urdf``.

Children and values of one URDF element, checked; errors name the link or joint and the line.

From the elements of a URDF to links and joints, every value checked.

Defaults are those of the URDF specification: no origin is the identity, no axis
is x, a missing damping, friction, lower or upper is zero, mimic is by 1 and 0. A
link without ``<inertial>`` has no inertia; it never gets an invented one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.errors import ModelError
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.assembly import assemble
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
from robot_dynamics.model.joints import rotation_of_quaternion
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.robot_data import LONGEST_NAME, is_name
from robot_dynamics.model.rotation import rotation_from_rpy
from robot_dynamics.model.urdf_document import Element, parse_source, read_source


def robot_from_urdf(source: str | bytes | Path, *, joints: Sequence[str] | None = None,
                    locked: Mapping[str, ArrayLike] | None = None,
                    base_link: str | None = None, gravity: ArrayLike = (0.0, 0.0, -9.81),
                    floating_base: bool = False) -> Robot:
    """Read a URDF.

    Fixed joints are lumped, mimic joints reduced, and joints that do not move
    held where the caller wants them. Meshes are never opened; visual, collision,
    transmission, simulator and other vendor elements do not matter.

    Parameters
    ----------
    source : str, bytes or Path
        A path, or the description itself (a string with a ``<`` in it). A xacro
        file is expanded if the ``xacro`` package is installed; a description
        that arrives as text has to be expanded already.
    joints : sequence of str, optional
        The independent joints, in the order of every joint vector; all others
        are held. By default every joint that neither is fixed nor mimics another
        nor is locked, from the base to the tips.
    locked : mapping of str to float or array_like, optional
        Positions of held joints, rad or m; of a planar or floating joint all of its
        positions (`JointType`), or 0. Without one, a held joint stands at zero or at
        the limit nearest to zero.
    base_link : str, optional
        The link that stands still, or floats; what is not below it does not enter. By
        default the root.
    gravity : array_like, shape (3,)
        Acceleration of free fall in the frame of the base link, or of the world if that
        floats, m/s^2.
    floating_base : bool
        Whether the base link floats: it then hangs from a link ``world`` by the joint
        ``floating_base``, the first of `joint_names` unless ``joints`` says otherwise.

    Returns
    -------
    Robot
        The robot. Its ``findings`` tell, by link and joint, what a controller
        has to know: limits that are not usable, inertia that no body can have,
        joints that move nothing, positions that were chosen.

    Raises
    ------
    ModelError
        Naming the file, link or joint, what is wrong, and what to do.
    """
    text = read_source(source)
    tree = read_tree(parse_source(text).root)
    return assemble(tree, joints=joints, locked=locked, base_link=base_link, gravity=gravity,
                    floating_base=floating_base)


#: No length, mass or inertia of a robot is this large, in SI units.
MAX_MAGNITUDE = 1e12


def only_child(owner: Element, tag: str, name: str) -> Element | None:
    """Return the only child of one tag, or None."""
    found = [child for child in owner.children if child.tag == tag]
    if len(found) > 1:
        raise ModelError(f'has {len(found)} <{tag}> elements (lines '
                         f'{found[0].line} and {found[1].line})',
                         subject=name, remedy='keep one of them')
    return found[0] if found else None


def required_child(owner: Element, tag: str, name: str) -> Element:
    """Return the only child of one tag."""
    element = only_child(owner, tag, name)
    if element is None:
        raise ModelError(f'has no <{tag}> in its <{owner.tag}> (line {owner.line})', subject=name,
                         remedy=f'add <{tag} .../>')
    return element


def text_of(element: Element, attribute: str, name: str) -> str:
    """Return the text of an attribute that has to be there."""
    value = element.attributes.get(attribute, '')
    if not value.strip():
        raise ModelError(f'has no {attribute} in <{element.tag}> (line {element.line})',
                         subject=name, remedy=f'add {attribute}="..."')
    return value


def vector_of(element: Element, attribute: str, name: str, default: FloatArray) -> FloatArray:
    """Return three numbers, or the default where the attribute is missing."""
    if attribute not in element.attributes:
        return default
    return np.array(numbers_of(element, attribute, name, 3))


def numbers_of(element: Element, attribute: str, name: str, count: int) -> list[float]:
    """Return so many finite numbers."""
    words = element.attributes[attribute].split()
    if len(words) != count:
        raise ModelError(f'{_quoted(element, attribute)} has {len(words)} numbers, not {count}',
                         subject=name, remedy=f'give {count} numbers separated by spaces')
    return [_bounded(word, element, attribute, name) for word in words]


def number_of(element: Element, attribute: str, name: str, *,
              default: float | None = None) -> float:
    """Return one finite number; a missing one is an error unless there is a default."""
    if attribute in element.attributes:
        return _bounded(element.attributes[attribute], element, attribute, name)
    if default is None:
        raise ModelError(f'has no {attribute} in <{element.tag}> (line {element.line})',
                         subject=name, remedy=f'add {attribute}="..."')
    return default


def _bounded(text: str, element: Element, attribute: str, name: str) -> float:
    """Return a number that a robot can have."""
    value = parse_number(text, element, attribute, name)
    if not abs(value) <= MAX_MAGNITUDE:
        raise ModelError(f'{_quoted(element, attribute)} is not a number of a robot',
                         subject=name, remedy='give a finite value in SI units')
    return value


def parse_number(text: str, element: Element, attribute: str, name: str) -> float:
    """Return what the text says as a number; Python's own extras are not numbers here."""
    word = text.strip()
    try:
        if '_' in word or not word.isascii():
            raise ValueError
        return float(word)
    except ValueError:
        raise ModelError(f'{_quoted(element, attribute)} is not a number', subject=name,
                         remedy='write it like 0.5 or 5e-1, with a decimal point') from None


def _quoted(element: Element, attribute: str) -> str:
    """Return an attribute as it stands in the file, and where."""
    value = element.attributes[attribute]
    shown = value if len(value) <= 60 else value[:57] + '...'
    return f'<{element.tag} {attribute}="{shown}"> in line {element.line}'


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
