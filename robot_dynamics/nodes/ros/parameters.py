# SPDX-License-Identifier: Apache-2.0
"""Rows of a parameter table: type, range and text of a parameter; and ``--help`` from them.

ROS 2 derives the type of a parameter from its text: ``10`` is an integer, ``[]`` is not set, and
both are rejected for a double. Here an integer is accepted for a double, an empty list keeps its
type, and NaN and inf are rejected.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
from rclpy.exceptions import NameValidationException
from rclpy.expand_topic_name import expand_topic_name
from rclpy.parameter import Parameter as RosParameter
from rclpy.validate_full_topic_name import validate_full_topic_name

from robot_dynamics.errors import ParameterError, shown
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.yaml_text import UnusableYamlError, parse_yaml

Type = RosParameter.Type
Values = Mapping[str, Any]

#: Most elements of a list: ten for each of 500 joints.
MOST_ELEMENTS = 5000
#: Columns of the answer to ``--help``.
_HELP_WIDTH = 90
#: Name of each type in messages.
_TYPE_TEXTS = {
    Type.BOOL: 'true or false', Type.INTEGER: 'an integer', Type.DOUBLE: 'a number',
    Type.STRING: 'a string', Type.DOUBLE_ARRAY: 'a list of numbers',
    Type.STRING_ARRAY: 'a list of strings',
}


@dataclass(frozen=True)
class Parameter:
    """One row of a parameter table; the type of its default is that of the parameter."""

    name: str
    #: An empty tuple is a list of numbers unless `element` is ``str``.
    default: Any
    #: Description, in one sentence.
    text: str
    unit: str = ''
    #: Bounds of the value, or of every element, both included; both or none.
    low: float | None = None
    high: float | None = None
    #: Strings that are allowed; empty means any.
    choices: tuple[str, ...] = ()
    #: Whether it is fixed once the node runs.
    read_only: bool = False
    #: Type of the elements of a list: float or str.
    element: type = float
    #: Whether the value is the name of a topic or service, or a list of such names; it may be
    #: empty where the default is.
    topic: bool = False

    @property
    def type(self) -> Any:
        """The ROS type."""
        if isinstance(self.default, tuple):
            return Type.STRING_ARRAY if self.element is str else Type.DOUBLE_ARRAY
        return Type.from_parameter_value(self.default)

    def convert(self, value: Any) -> Any:
        """Convert a value to the type of the row, a list to a tuple.

        Raises a ParameterError when type, range or choice are wrong.
        """
        kind = self.type
        if kind in (Type.DOUBLE_ARRAY, Type.STRING_ARRAY):
            # An empty list arrives as "not set" from YAML and as bytes from a service.
            elements = () if value is None else value
            if kind == Type.DOUBLE_ARRAY and isinstance(value, str):
                elements = _list_in(value)
            elif kind == Type.DOUBLE_ARRAY and isinstance(value, (int, float)) \
                    and not isinstance(value, bool):
                elements = (value,)
            if isinstance(elements, (str, bytes)) or not isinstance(elements, Collection):
                raise self._error(f'must be {_TYPE_TEXTS[kind]}, got {shown(value)}')
            if len(elements) > MOST_ELEMENTS:
                raise self._error(f'must have at most {MOST_ELEMENTS} elements, '
                                  f'got {len(elements)}')
            return tuple(self._scalar(element, value) for element in elements)
        return self._scalar(value, value)

    def descriptor(self) -> ParameterDescriptor:
        """Descriptor that rqt and ``ros2 param describe`` show."""
        text = self.text + (f' [{self.unit}]' if self.unit else '')
        if self.choices:
            text += ' One of: ' + ', '.join(self.choices) + '.'
        descriptor = ParameterDescriptor(name=self.name, type=self.type.value, description=text,
                                         read_only=self.read_only)
        if self.low is None or self.high is None:
            return descriptor
        if self.type == Type.INTEGER:
            descriptor.integer_range = [IntegerRange(from_value=int(self.low),
                                                     to_value=int(self.high), step=0)]
        else:
            descriptor.floating_point_range = [FloatingPointRange(
                from_value=float(self.low), to_value=float(self.high), step=0.0)]
        return descriptor

    def _scalar(self, value: Any, whole: Any) -> Any:
        """Convert a value, or one element of a list."""
        kind = self.type
        if kind in (Type.DOUBLE, Type.DOUBLE_ARRAY):
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise self._error(f'must be {_TYPE_TEXTS[kind]}, got {shown(whole)}')
            try:
                value = float(value)
            except OverflowError:  # an integer of more than 308 digits
                value = math.inf
            if not math.isfinite(value):
                raise self._error(f'must be finite, got {value}')
        else:
            wanted = {Type.BOOL: bool, Type.INTEGER: int}.get(kind, str)
            if not isinstance(value, wanted) or (wanted is int and isinstance(value, bool)):
                raise self._error(f'must be {_TYPE_TEXTS[kind]}, got {shown(whole)}')
        if self.low is not None and not self.low <= value <= self.high:
            text = f'{value:g}' if isinstance(value, float) else shown(value)
            raise self._error(f'must be within {self.low:g} to {self.high:g}'
                              + (f' {self.unit}' if self.unit else '') + f', got {text}')
        if self.choices and value not in self.choices:
            raise self._error(f'must be one of {", ".join(self.choices)}, got {shown(value)}',
                              'one of them')
        if self.topic and (value or self.default) and not _is_topic(value):
            raise self._error(f'must be the name of a topic, got {shown(value)}')
        return value

    def _error(self, message: str, wanted: str = '') -> ParameterError:
        default = list(self.default) if isinstance(self.default, tuple) else self.default
        return ParameterError(
            message, subject=f'parameter {self.name}',
            remedy=f'set it to {wanted or _TYPE_TEXTS[self.type]} (default {default!r})')


def _is_topic(name: str) -> bool:
    """Whether ROS accepts a string as the name of a topic, in any namespace."""
    try:
        validate_full_topic_name(expand_topic_name(name, 'node', '/'))
    except (NameValidationException, ValueError, RuntimeError):
        return False
    return True


def _list_in(text: str) -> Any:
    """Parse a list that is written as a string; other strings are returned as they are.

    ``ros2 param set`` reads ``[1, 2.5]`` as a string, because its elements differ in type.
    """
    try:
        value = parse_yaml(text)
    except UnusableYamlError:
        return text
    return value if isinstance(value, list) else text


def per_joint(values: Values, name: str, joint_names: Sequence[str], *,
              default: Any = None) -> FloatArray:
    """Expand a list parameter to one value per joint, shape (n,).

    One value stands for all joints, an empty list for the default, a scalar or one value per
    joint. Raises a ParameterError where the number of values is wrong.
    """
    given, n = values[name], len(joint_names)
    chosen = default if len(given) == 0 and default is not None else given
    try:
        return np.broadcast_to(np.asarray(chosen, dtype=np.float64), n).copy()
    except ValueError:
        raise ParameterError(f'must have 1 or {n} values, got {len(given)}',
                             subject=f'parameter {name}', remedy='give one value, or one for each '
                             'of: ' + ', '.join(joint_names)) from None


def help_text(title: str, table: Sequence[Parameter]) -> str:
    """Text that a node prints for ``--help``."""
    lines = [title, '', 'Options are those of every ROS 2 node:', '',
             '    --ros-args -p NAME:=VALUE --params-file FILE -r FROM:=TO', '', 'Parameters:']
    for row in table:
        lines += ['', f'  {row.name} (default {default_text(row)})',
                  *textwrap.wrap(explanation(row), _HELP_WIDTH, initial_indent='      ',
                                 subsequent_indent='      ')]
    return '\n'.join(lines)


def default_text(row: Parameter) -> str:
    """Format a default as in YAML, long lists shortened."""
    if isinstance(row.default, tuple):
        shown = [str(value) for value in row.default[:4]]
        return '[' + ', '.join(shown + ['...'] * (len(row.default) > len(shown))) + ']'
    if isinstance(row.default, bool):
        return str(row.default).lower()
    return repr(row.default)


def explanation(row: Parameter) -> str:
    """Text, choices, range and unit of a row."""
    parts = [row.text]
    if row.choices:
        parts.append('One of ' + ', '.join(row.choices) + '.')
    bounds = '' if row.low is None else f'{row.low:g} to {row.high:g}'
    if bounds or row.unit:
        parts.append(f'{" ".join(filter(None, (bounds, row.unit)))}.')
    if not row.read_only:
        parts.append('Can be changed while the node runs.')
    return ' '.join(parts)
