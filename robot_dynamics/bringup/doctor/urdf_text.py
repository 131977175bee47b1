# SPDX-License-Identifier: Apache-2.0
"""What the text of a URDF says beyond dynamics: shapes, command interfaces, what xacro left."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from xml.parsers import expat

from robot_dynamics.bringup.doctor.findings import Remark, listed, note, warning
from robot_dynamics.model.robot import Robot

#: Left-overs of xacro that are named.
_MOST_LEFTOVERS = 3


@dataclass
class Described:
    """What was found in the text.

    Attributes
    ----------
    shaped, weighed : set of str
        Links with a visual or collision, and with an inertial element.
    interfaces : dict of str to set of str
        Command interfaces of each joint named in a ``<ros2_control>``.
    has_ros2_control : bool
        Whether there is one.
    leftovers : list of str
        Attributes that still hold an expression of xacro, in words.
    """

    shaped: set[str] = field(default_factory=set)
    weighed: set[str] = field(default_factory=set)
    interfaces: dict[str, set[str]] = field(default_factory=dict)
    has_ros2_control: bool = False
    leftovers: list[str] = field(default_factory=list)


def read_described(urdf: str) -> Described:
    """Return what the text of a URDF says; one that a `Robot` was read from, so well formed."""
    reader = _Reader()
    reader.parse(urdf)
    return reader.described


def judge_described(described: Described, robot: Robot) -> list[Remark]:
    """Say what is missing in a description or left over in it."""
    return [*_leftovers(described), *_weightless(described, robot),
            *_commanded(described, robot)]


class _Reader:
    """Walks through a document without regard to prefixes, as the reader of robots does."""

    def __init__(self) -> None:
        self.described = Described()
        self._open: list[tuple[str, str]] = []
        self._parser = expat.ParserCreate('utf-8')
        self._parser.StartElementHandler = self._begin
        self._parser.EndElementHandler = self._end

    def parse(self, urdf: str) -> None:
        self._parser.Parse(urdf.lstrip().encode(), True)

    def _begin(self, tag: str, attributes: Mapping[str, str]) -> None:
        found = self.described
        self._open.append((tag, attributes.get('name', '')))
        path = [tag for tag, _ in self._open]
        if path[1:2] == ['link'] and len(path) == 3:
            if tag in ('visual', 'collision'):
                found.shaped.add(self._open[1][1])
            elif tag == 'inertial':
                found.weighed.add(self._open[1][1])
        elif path[1:2] == ['ros2_control']:
            found.has_ros2_control = True
            if path[2:] == ['joint', 'command_interface']:
                found.interfaces.setdefault(self._open[2][1], set()).add(self._open[3][1])
        for name, value in attributes.items():
            if '${' in value or '$(' in value:
                found.leftovers.append(f'<{tag} {name}="{value[:60]}"> in line '
                                       f'{self._parser.CurrentLineNumber}')

    def _end(self, tag: str) -> None:
        self._open.pop()


def _leftovers(described: Described) -> list[Remark]:
    if not described.leftovers:
        return []
    return [warning('xacro', f'left over: {listed(described.leftovers, _MOST_LEFTOVERS)}',
                    'expand the file with xacro; what reads these elements sees no values')]


def _weightless(described: Described, robot: Robot) -> list[Remark]:
    """Name moving links that have a shape and no mass: what their mesh weighs is missing."""
    names = [name for name, frame in robot.frames.items()
             if frame.body >= 0 and name in described.shaped - described.weighed]
    if not names:
        return []
    return [note(listed(names), 'has a shape and no <inertial>: what it weighs is not carried'
                 if len(names) == 1 else
                 'have a shape and no <inertial>: what they weigh is not carried',
                 'add <inertial> unless it is counted in the link that carries it')]


def _commanded(described: Described, robot: Robot) -> list[Remark]:
    """Name joints that ros2_control offers no effort command for."""
    if not described.has_ros2_control:
        return []
    deaf = [name for name in robot.joint_names
            if 'effort' not in described.interfaces.get(name, ())]
    if not deaf:
        return []
    offered = sorted(set().union(*(described.interfaces.get(name, set()) for name in deaf)))
    return [warning(listed(deaf), 'cannot be commanded an effort: its <ros2_control> offers '
                    + (f'{", ".join(offered)} only' if offered else 'no command interface'),
                    'use hardware with an effort interface, add <command_interface '
                    'name="effort"/>, or leave the joint out by the parameter joints')]
