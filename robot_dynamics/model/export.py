# SPDX-License-Identifier: Apache-2.0
"""Robots written as URDF, for RViz, simulators, drivers and ``urdf_parser_py``.

A URDF link frame is on its joint. If a link frame of the robot is not (the distal frames of
standard DH tables), the moving link is written as ``<name>_on_joint``, with the inertia in its own
axes. ``<name>`` is then a massless link fixed to it, so that every named frame keeps its name and
pose.

`Robot.to_urdf` lists what a URDF cannot contain. A revolute joint without position limits becomes
continuous. Rotor inertia is written as an ``armature`` attribute of ``<dynamics>``, which
``Robot.from_urdf`` reads and other programs ignore.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.errors import InertiaError, ModelError, install_line
from robot_dynamics.model.arrays import MAX_MAGNITUDE, FloatArray
from robot_dynamics.model.inertia_conventions import UrdfInertia, from_urdf, to_urdf
from robot_dynamics.model.joints import JointType
from robot_dynamics.model.robot_data import LONGEST_NAME, RobotData
from robot_dynamics.model.rotation import rpy_from_rotation

# Written for a missing limit: readers treat it as unlimited, and, unlike "inf", every parser reads
# it as a number.
_UNLIMITED = 1e15

# Largest loss of a body's parameters, relative to the largest of them.
_LOSS = 1e-9

# Elements with numbers only, which readers limit in size.
_BOUNDED = ('origin', 'mass', 'inertia', 'dynamics')

_TENSOR = ('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz')


@dataclass(frozen=True)
class _Mount:
    """A moving link as written in the URDF."""

    link: str  # Its name in the URDF.
    placement: FloatArray  # (4, 4), pose of its joint in the parent's link frame, m.
    offset: FloatArray  # (3,), origin of the robot's link frame in the URDF's, axes the same, m.

    def to_urdf_frame(self, pose: FloatArray) -> FloatArray:
        """A pose of the robot's link frame in that of the URDF."""
        shifted = pose.copy()
        shifted[:3, 3] += self.offset
        return shifted


def robot_to_urdf(robot: RobotData) -> str:
    """Text of a URDF; see `Robot.to_urdf`, also for its errors.

    Numbers are the shortest decimals that read back as the same float64, without exponents.
    Implausibly large numbers and names that xacro would expand are errors.
    """
    _check_names((robot.name, robot.base_name, *robot.body_names, *robot.body_joint_names,
                  *robot.frames))
    mounts = _mounts(robot)
    base = _Mount(robot.base_name, np.eye(4), np.zeros(3))
    root = ElementTree.Element('robot', name=robot.name)
    ElementTree.SubElement(root, 'link', name=robot.base_name)
    for body, parameters, mount in zip(robot.body_names, robot.inertial_parameters, mounts,
                                       strict=True):
        link = ElementTree.SubElement(root, 'link', name=mount.link)
        if np.any(parameters):
            # Only the origin differs between the two link frames, not the axes.
            link.append(inertial_element(parameters, body, mount.offset))
    for index, mount in enumerate(mounts):
        parent = robot.parents[index]
        _write_joint(root, robot, index, mount, base if parent < 0 else mounts[parent])
    _write_frames(root, robot, base, mounts)
    _check_numbers(root)
    ElementTree.indent(root)
    return f'<?xml version="1.0"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'


def _check_names(names: Iterable[str]) -> None:
    for name in names:
        if '${' in name or '$(' in name:
            raise ModelError('cannot be written: xacro would expand this name', subject=repr(name),
                             remedy='rename it to letters, digits and _')


def _check_numbers(root: ElementTree.Element) -> None:
    """Reject numbers that no reader would accept, such as the inertia of a mass far away."""
    for owner in root:
        for element in owner.iter():
            words = ' '.join(element.attrib.values()).split() if element.tag in _BOUNDED else ()
            for word in words:
                if abs(float(word)) > MAX_MAGNITUDE:
                    raise ModelError(f'has {float(word):g} in its <{element.tag}>, a number that '
                                     'no robot can have', subject=owner.get('name', ''),
                                     remedy='give masses and lengths in kg and m')


def _mounts(robot: RobotData) -> list[_Mount]:
    """Name and frame of every moving link.

    The part of a link offset along the joint axis, or the whole offset of a prismatic joint,
    becomes part of the placement; any remainder needs a separate frame.
    """
    taken = {robot.base_name, *robot.body_names, *robot.frames}
    mounts = []
    for index, body in enumerate(robot.body_names):
        axis, offset = robot.axes[index], robot.link_offsets[index]
        slides = robot.joint_types[index] == JointType.PRISMATIC
        along = offset if slides else axis * (axis @ offset)
        across = offset - along
        if np.linalg.norm(across) <= 1e-15 * np.linalg.norm(offset):
            across = np.zeros(3)
        placement = robot.placements[index].copy()
        placement[:3, 3] += placement[:3, :3] @ along
        link = _unused(body, '_on_joint', taken) if np.any(across) else body
        mounts.append(_Mount(link, placement, across))
    return mounts


def _unused(stem: str, ending: str, taken: set[str]) -> str:
    """An unused name, reserved from now on."""
    name = stem[:LONGEST_NAME - len(ending)] + ending
    count = 1
    while name in taken:
        count += 1
        longer = f'{ending}_{count}'
        name = stem[:LONGEST_NAME - len(longer)] + longer
    taken.add(name)
    return name


def inertial_element(parameters: FloatArray, link: str, offset: ArrayLike = (0.0, 0.0, 0.0)
                     ) -> ElementTree.Element:
    """The ``<inertial>`` element of a link with parameters of shape (10,).

    ``offset`` (3,) is the origin of the frame of the parameters in that of the link, axes being
    the same, m. A first moment with (almost) no mass is an `InertiaError`.
    """
    inertia = _about_com(parameters, link)
    inertial = ElementTree.Element('inertial')
    ElementTree.SubElement(inertial, 'origin', xyz=_words(inertia.xyz + np.asarray(offset)),
                           rpy=_words(inertia.rpy))
    ElementTree.SubElement(inertial, 'mass', value=number_text(float(inertia.mass)))
    ElementTree.SubElement(inertial, 'inertia', {
        name: number_text(value) for name, value in zip(_TENSOR, inertia.inertia, strict=True)})
    return inertial


def _about_com(parameters: FloatArray, link: str) -> UrdfInertia:
    """Parameters about the centre of mass, if they can be converted without loss."""
    # With (almost) no mass, the centre is far away, and the tensor about it is only rounding.
    try:
        with np.errstate(over='ignore', invalid='ignore'):
            inertia = to_urdf(parameters)
            error = np.abs(from_urdf(*inertia) - parameters)
    except InertiaError as unfit:
        raise InertiaError(unfit.message, subject=link, remedy=unfit.remedy) from unfit
    if not np.max(error) <= _LOSS * np.max(np.abs(parameters)):
        raise InertiaError('has too little mass for its first moment: the centre of mass of a '
                           'URDF would lose the inertia', subject=link,
                           remedy='give the body a mass, or set mx, my and mz to zero')
    return inertia


def _write_joint(root: ElementTree.Element, robot: RobotData, index: int, mount: _Mount,
                 parent: _Mount) -> None:
    name = robot.body_joint_names[index]
    kind = JointType(robot.joint_types[index])
    joint = ElementTree.SubElement(root, 'joint', name=name)
    ElementTree.SubElement(joint, 'parent', link=parent.link)
    ElementTree.SubElement(joint, 'child', link=mount.link)
    _write_origin(joint, parent.to_urdf_frame(mount.placement))
    if kind is not JointType.FLOATING:
        ElementTree.SubElement(joint, 'axis', xyz=_words(robot.axes[index]))
    if kind.has_one_coordinate:
        _write_coordinate(joint, robot, index)
    elif kind is JointType.SPHERICAL:
        raise ModelError('is spherical, a type that a URDF does not have', subject=name,
                         remedy='describe it by three revolute joints')
    else:
        joint.set('type', kind.name.lower())


def _write_coordinate(joint: ElementTree.Element, robot: RobotData, index: int) -> None:
    """Write type, limit, mimic and dynamics of a joint of one coordinate."""
    source, multiplier, offset = _drive(robot, index)
    leader = robot.velocity_names[source]
    is_coordinate = robot.body_joint_names[index] == leader
    limits = robot.limits
    lower, upper = sorted(multiplier * end + offset
                          for end in (limits.lower[source], limits.upper[source]))
    # The effort limit of a mimic joint is unknown. Unknown limits are written as zero, which every
    # reader accepts, because some reject a limit without velocity and effort.
    known = {'velocity': abs(multiplier) * limits.velocity[source],
             'effort': limits.effort[source] if is_coordinate else np.nan}
    kind = JointType(robot.joint_types[index])
    endless = kind is JointType.CONTINUOUS or (kind is JointType.REVOLUTE
                                               and np.isinf(lower) and np.isinf(upper))
    joint.set('type', 'continuous' if endless
              else 'prismatic' if kind is JointType.PRISMATIC else 'revolute')
    bounds = {} if endless else {'lower': max(lower, -_UNLIMITED), 'upper': min(upper, _UNLIMITED)}
    if bounds or np.any(np.isfinite(list(known.values()))):
        values = {**bounds, **{name: value if np.isfinite(value) else 0.0
                               for name, value in known.items()}}
        ElementTree.SubElement(joint, 'limit', {name: number_text(value)
                                                for name, value in values.items()})
    if not is_coordinate:
        ElementTree.SubElement(joint, 'mimic', joint=leader,
                               multiplier=number_text(multiplier), offset=number_text(offset))
        return
    damping, friction, armature = (float(values[source]) for values in
                                   (robot.damping, robot.friction, robot.armature))
    # Some readers reject a <dynamics> without damping and friction.
    coefficients = {'damping': damping, 'friction': friction}
    if armature:
        coefficients['armature'] = armature
    if any(coefficients.values()):
        ElementTree.SubElement(joint, 'dynamics', {key: number_text(value) for key, value
                                                   in coefficients.items()})


def _drive(robot: RobotData, index: int) -> tuple[int, float, float]:
    """The coordinate that moves a body, and multiplier and offset of the coupling."""
    at = robot.body_coordinates.velocities(index).start
    row, offset = robot.coupling[at], robot.coupling_offset[at]
    name = robot.body_joint_names[index]
    sources = np.flatnonzero(row)
    if len(sources) != 1:
        followed = ', '.join(robot.velocity_names[k] for k in sources) or 'no joint'
        raise ModelError(f'follows {followed}, but a URDF joint follows exactly one',
                         subject=name, remedy='export the robot without this coupling')
    source = int(sources[0])
    coordinate = robot.velocity_names[source]
    if coordinate not in robot.body_joint_names:
        raise ModelError('does not move a body of its own, so no joint of a URDF can follow it',
                         subject=coordinate, remedy='name it like the joint that moves 1:1')
    moves_alone = coordinate == name and row[source] == 1.0 and offset == 0.0
    if name in robot.joint_names and not moves_alone:
        raise ModelError('has the name of a coordinate and does not move 1:1 with it',
                         subject=name, remedy='name the coordinate after the joint that does')
    return source, float(row[source]), float(offset)


def _write_frames(root: ElementTree.Element, robot: RobotData, base: _Mount,
                  mounts: list[_Mount]) -> None:
    """Write every frame that is not itself a moving link as a massless fixed link."""
    joints = set(robot.body_joint_names)
    written = {robot.base_name, *(mount.link for mount in mounts)}
    poses = {name: (frame.body, frame.pose) for name, frame in robot.frames.items()}
    poses |= {name: (index, np.eye(4)) for index, name in enumerate(robot.body_names)}
    for name, (body, pose) in poses.items():
        if name in written:
            continue
        carrier = base if body < 0 else mounts[body]
        ElementTree.SubElement(root, 'link', name=name)
        joint = ElementTree.SubElement(root, 'joint', name=_unused(name, '_fixed', joints),
                                       type='fixed')
        ElementTree.SubElement(joint, 'parent', link=carrier.link)
        ElementTree.SubElement(joint, 'child', link=name)
        _write_origin(joint, carrier.to_urdf_frame(pose))


def _write_origin(joint: ElementTree.Element, pose: FloatArray) -> None:
    ElementTree.SubElement(joint, 'origin', xyz=_words(pose[:3, 3]),
                           rpy=_words(rpy_from_rotation(pose[:3, :3])))


def _words(values: ArrayLike) -> str:
    return ' '.join(number_text(value) for value in np.asarray(values))


def number_text(value: float) -> str:
    """Shortest decimal without exponent that reads back as the same number."""
    # Adding zero turns -0.0 into 0.0.
    return np.format_float_positional(value + 0.0, unique=True, trim='-')


def urdf_parser_py_robot(robot: RobotData) -> Any:
    """The robot as a ``urdf_parser_py.urdf.URDF``; see `Robot.to_urdf_parser_py`."""
    try:
        from urdf_parser_py.urdf import URDF
    except ImportError as error:
        raise ModelError('needs the package urdf_parser_py, which is not installed',
                         subject='to_urdf_parser_py',
                         remedy=install_line('urdf-parser-py', 'ros-$ROS_DISTRO-urdfdom-py'),
                         ) from error
    return URDF.from_xml_string(robot_to_urdf(robot))
