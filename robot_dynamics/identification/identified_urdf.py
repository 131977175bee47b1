# SPDX-License-Identifier: Apache-2.0
"""A URDF with identified masses, inertias and friction, and otherwise unchanged.

Identified parameters are those of bodies: a link that moves, with all links fixed to it.
Fixed links keep their described inertia and the moving link gets the difference. If this is not
physically consistent, the moving link gets all and the fixed links become massless.
"""

from __future__ import annotations

from xml.etree import ElementTree
from xml.parsers import expat

import numpy as np

from robot_dynamics.errors import Finding, InertiaError, ModelError, Severity
from robot_dynamics.identification.consistent import impossible_bodies
from robot_dynamics.identification.friction import PlainFriction
from robot_dynamics.model.export import inertial_element, number_text
from robot_dynamics.model.inertia import check_body
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.urdf import read_tree
from robot_dynamics.model.urdf_document import parse_document

#: Largest change of parameters by rounding in a text, relative to 1 plus their size.
ROUNDING = 1e-9


def require_bodies(robot: Robot) -> None:
    """Raise InertiaError for a physically inconsistent body."""
    impossible = impossible_bodies(robot.body_names, robot.parameters)
    if impossible:
        name, violation = next(iter(impossible.items()))
        raise InertiaError(f'is physically inconsistent ({violation})', subject=name,
                           remedy="estimate with 'consistent', record a richer motion, or allow "
                                  'inconsistent bodies')


def identified_urdf(text: str, robot: Robot, friction: PlainFriction, *,
                    allow_inconsistent: bool = False) -> tuple[str, tuple[Finding, ...]]:
    """URDF with identified parameters, and findings on links that became massless.

    ``text`` is the identified description, without xacro, of which meshes, limits, sensors, vendor
    elements and comments are kept; ``robot`` is its robot with the identified parameters.

    Raises
    ------
    InertiaError
        If a body is inconsistent, unless inconsistent ones are allowed.
    ModelError
        If the text describes another robot.
    """
    if not allow_inconsistent:
        require_bodies(robot)
    root = _parsed(text)
    described = read_tree(parse_document(text, 'description').root)
    own = {name: np.zeros(10) if link.parameters is None else link.parameters
           for name, link in described.links.items()}
    links = {link.get('name'): link for link in root.findall('link')}
    findings = []
    before = _read(text, robot).inertial_parameters
    for index, name in enumerate(robot.body_names):
        if name not in links:
            raise ModelError('is not a link of the description', subject=name,
                             remedy='give the description that was identified')
        body = robot.inertial_parameters[index]
        rest = body - (before[index] - own[name])
        fixed = [other for other, frame in robot.frames.items()
                 if frame.body == index and other != name and np.any(own.get(other, 0.0))]
        if fixed and not check_body(rest).is_consistent:
            rest = body
            for other in fixed:
                _replace(links[other], 'inertial', None)
            findings.append(Finding(
                Severity.INFO, ', '.join(fixed), f'is written without mass, all of which {name} '
                f'gets: beside it, {name} would have no consistent inertia'))
        _replace(links[name], 'inertial', inertial_element(rest, name) if np.any(rest) else None)
    _write_friction(root, robot, friction)
    out = (f'<?xml version="1.0"?>\n{ElementTree.tostring(root, encoding="unicode")}\n')
    _require_same(out, robot)
    return out, tuple(findings)


def _parsed(text: str) -> ElementTree.Element:
    """Parse with comments, and with prefixes as part of names, declared or not."""
    builder = ElementTree.TreeBuilder(insert_comments=True)
    parser = expat.ParserCreate('utf-8')
    parser.StartElementHandler, parser.EndElementHandler = builder.start, builder.end
    parser.CharacterDataHandler = builder.data
    # The tree contains only the root; text before and after it is left out.
    start, end = text.index('<robot'), text.rindex('>') + 1
    closing = text.rfind('</robot')
    if closing >= 0:
        end = text.index('>', closing) + 1
    parser.CommentHandler = builder.comment
    parser.Parse(text[start:end].encode('utf-8'), True)
    return builder.close()


def _read(text: str, robot: Robot) -> Robot:
    """Read a text with the joints of a robot."""
    read = Robot.from_urdf(text.encode(), joints=robot.joint_names, base_link=robot.base_name)
    if read.body_names != robot.body_names or read.joint_names != robot.joint_names:
        raise ModelError('has other links or joints than the identified robot',
                         subject=robot.name, remedy='give the description that was identified')
    return read


def _replace(owner: ElementTree.Element, tag: str, new: ElementTree.Element | None) -> None:
    """Replace the element of a name, or insert it at the beginning."""
    old = owner.find(tag)
    place = 0
    if old is not None:
        place = list(owner).index(old)
        owner.remove(old)
    if new is not None:
        ElementTree.indent(new, level=2)
        new.tail = '\n    ' if old is None or not old.tail else old.tail
        if not (owner.text or '').strip() and not owner.text:
            owner.text = '\n    '
        owner.insert(place, new)


def _write_friction(root: ElementTree.Element, robot: Robot, friction: PlainFriction) -> None:
    """Write damping, friction and rotor inertia, those of mimic joints at the followed joint."""
    place = {name: k for k, name in enumerate(robot.joint_names)}
    for joint in root.findall('joint'):
        name = joint.get('name')
        if name not in robot.body_joint_names:
            continue
        if name not in place:
            _replace(joint, 'dynamics', None)
            continue
        values = {key: float(getattr(friction, key)[place[name]])
                  for key in ('damping', 'friction', 'armature')}
        if not values['armature']:
            del values['armature']
        old = joint.find('dynamics')
        others = {} if old is None else {key: value for key, value in old.attrib.items()
                                         if key not in ('damping', 'friction', 'armature')}
        new = ElementTree.Element('dynamics', {
            **{key: number_text(value) for key, value in values.items()}, **others})
        _replace(joint, 'dynamics', new)


def _require_same(text: str, robot: Robot) -> None:
    """Raise ModelError unless the written text reads back as the identified robot."""
    read = _read(text, robot).inertial_parameters
    size = np.max(np.abs(robot.inertial_parameters), axis=1)
    if np.any(np.abs(read - robot.inertial_parameters) > ROUNDING * (1.0 + size[:, np.newaxis])):
        raise ModelError('could not be written with its identified parameters',
                         subject=robot.name, remedy='report this error, with the description')
