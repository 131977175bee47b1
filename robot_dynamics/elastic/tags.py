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
"""

from __future__ import annotations

from collections.abc import Sequence
from xml.parsers import expat

from robot_dynamics.errors import ModelError

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
