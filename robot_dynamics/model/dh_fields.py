# SPDX-License-Identifier: Apache-2.0
"""Reader of DH tables: fields with checked values from a path or text.

All YAML scalars are read as text or ``null``; the check of a field decides whether its text is a
number. ``1e-3`` (a string in PyYAML) is a thousandth, ``010`` (eight in PyYAML) is ten, and
``1:30`` (ninety in PyYAML) is an error. Tags that create objects and duplicate keys are rejected;
merge keys (``<<``) are not expanded.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import yaml

from robot_dynamics.errors import ModelError, ModelTypeError, one_of, shown
from robot_dynamics.model.arrays import MAX_MAGNITUDE, FloatArray
from robot_dynamics.model.inertia import (
    com_from_parameters,
    parameters_from_com,
    parameters_from_moments,
)
from robot_dynamics.model.rotation import rotation_from_rpy
from robot_dynamics.model.shipped import file_content
from robot_dynamics.model.yaml_text import MAX_BYTES, SafeLoader, UnusableYamlError, parse_yaml

_LABEL = 'DH table'
_FORMAT = 'see docs/dh_tables.md for the format'
# Largest error of the rows of a rotation matrix with four digits.
_ROUNDED_ROTATION = 1e-3
_XYZ_RPY = ('xyz', 'rpy')
_NUMBERS = (int, float, np.integer, np.floating)
_ENTRIES = {'xx': (0, 0), 'yy': (1, 1), 'zz': (2, 2), 'xy': (0, 1), 'xz': (0, 2), 'yz': (1, 2)}


def read_table(source: str | bytes | os.PathLike[str] | Mapping[str, Any]
               ) -> tuple[dict[str, Any], str]:
    """The top-level mapping of a table, with values as written, and its name for messages.

    A string with a line break, a ``{`` or ``': '`` is the table itself, any other string is the
    path of a file. Raises a `ModelError` if it is missing, empty, too large or not a mapping.
    """
    content: Any = source
    label = _LABEL
    if isinstance(source, os.PathLike) or (isinstance(source, str) and source.strip() and not any(
            mark in source for mark in ('\n', '{', ': '))):
        content, label = file_content(os.fsdecode(source), MAX_BYTES, 'DH table',
                                      'check the path of the DH table')
    elif not isinstance(source, (str, bytes, bytearray, Mapping)):
        raise ModelTypeError(f'must be a path, YAML or JSON text, bytes or a mapping, got a '
                             f'value of type {type(source).__name__}', subject=_LABEL,
                             remedy="give for example 'table.yaml'")
    table = dict(content) if isinstance(content, Mapping) else _parse(content, label)
    if table is None or table == {}:
        raise ModelError('is empty', subject=label,
                         remedy=f'give at least convention and links; {_FORMAT}')
    if not isinstance(table, dict):
        raise ModelError('is not a table of named fields', subject=label,
                         remedy=f'begin it with name:, convention: and links:; {_FORMAT}')
    return table, label


def _parse(content: str | bytes, label: str) -> Any:
    """Content of YAML or JSON, checked in size."""
    if len(content) > MAX_BYTES:
        raise ModelError(f'is larger than {MAX_BYTES // 2**10} KiB', subject=label,
                         remedy='give the DH table of one robot')
    try:
        return _load(content if isinstance(content, str) else content.decode('utf-8-sig'))
    except UnicodeDecodeError as error:
        raise ModelError(f'is not UTF-8 text (byte {error.start})', subject=label,
                         remedy='save it as UTF-8') from error
    except UnusableYamlError as error:
        raise ModelError(f'is not YAML or JSON: {error}', subject=label,
                         remedy=f'correct it there; {_FORMAT}') from error
    except RecursionError:
        raise ModelError('is nested too deeply', subject=label, remedy=_FORMAT) from None


def _load(text: str) -> Any:
    if text.lstrip().startswith('{'):
        try:
            # Numbers stay text, as in YAML: they are recognised in one place.
            return json.loads(text, object_pairs_hook=_unique, parse_float=str, parse_int=str,
                              parse_constant=str)
        except json.JSONDecodeError:
            pass  # YAML may begin with a brace, too.
    return parse_yaml(text, TextLoader)


def _unique(pairs: list[tuple[Any, Any]]) -> dict[Any, Any]:
    """A mapping of pairs with distinct keys."""
    mapping: dict[Any, Any] = {}
    for key, value in pairs:
        if key in mapping:
            raise UnusableYamlError(f'the key {str(key)[:60]!r} is given twice')
        mapping[key] = value
    return mapping


class TextLoader(SafeLoader):
    """PyYAML's safe loader without its conversion of numbers, dates and truth values."""

    yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if tag == 'tag:yaml.org,2002:null']
        for first, resolvers in SafeLoader.yaml_implicit_resolvers.items()}

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Construct a mapping without duplicate keys."""
        _unique([(self.construct_object(key, deep=True), None) for key, _ in node.value])
        mapping: dict[Any, Any] = super().construct_mapping(node, deep)
        return mapping


class Fields:
    """The named fields, as written, of a table, row or sub-table, with its name for messages."""

    def __init__(self, content: Mapping[Any, Any], subject: str) -> None:
        self._content = content
        self.subject = subject

    @classmethod
    def of(cls, value: Any, subject: str) -> Fields:
        """Fields of a value that has to be a mapping."""
        if not isinstance(value, Mapping):
            raise ModelError(f'must be a set of named fields, got {shown(value)}',
                             subject=subject, remedy='write it as "name: value" lines')
        return cls(value, subject)

    def names(self) -> list[Any]:
        """Names of the fields that are given."""
        return [name for name, value in self._content.items() if value is not None]

    def check_names(self, known: Sequence[str], ignored: Sequence[str] = ()) -> None:
        """Reject a field of another name, and suggest the most similar one."""
        for key in self._content:
            if key not in known and key not in ignored:
                raise ModelError(f'has the unknown field {shown(key)}', subject=self.subject,
                                 remedy=one_of(known, key))

    def get(self, *names: str) -> tuple[str, Any]:
        """Name and value of a field that may have several names; None if absent."""
        given = [name for name in names if self._content.get(name) is not None]
        if len(given) > 1:
            raise ModelError(f'has both {given[0]} and {given[1]}', subject=self.subject,
                             remedy='keep one of them')
        return (given[0], self._content[given[0]]) if given else (names[0], None)

    def where(self, name: str) -> str:
        """Name of one field in messages."""
        return f'{self.subject}/{name}'

    def number(self, name: str, default: float | None = None) -> float:
        """A finite number; without a default it is required."""
        _, value = self.get(name)
        if value is None:
            if default is None:
                raise ModelError('is missing', subject=self.where(name),
                                 remedy=f'give {name} as a number')
            return default
        return number(value, self.where(name))

    def text(self, name: str, default: str) -> str:
        """A text that is not empty."""
        _, value = self.get(name)
        if value is None:
            return default
        if not isinstance(value, str) or not value.strip():
            raise ModelError(f'must be a name, got {shown(value)}', subject=self.where(name),
                             remedy='write a name that is not empty')
        return value.strip()

    def vector(self, name: str, length: int) -> FloatArray | None:
        """Array of numbers, or None where the field is absent."""
        _, value = self.get(name)
        return None if value is None else vector(value, length, self.where(name))

    def pose(self, name: str) -> FloatArray:
        """A pose, shape (4, 4), from a matrix, or xyz and rpy; the identity if absent."""
        _, value = self.get(name)
        if value is None:
            return np.eye(4)
        if not isinstance(value, Mapping):
            return _pose_matrix(value, self.where(name))
        fields = Fields(value, self.where(name))
        fields.check_names(_XYZ_RPY)
        xyz, rpy = (fields.vector(key, length=3) for key in _XYZ_RPY)
        pose = np.eye(4)
        pose[:3, :3] = np.eye(3) if rpy is None else rotation_from_rpy(rpy)
        pose[:3, 3] = 0.0 if xyz is None else xyz
        return pose


def number(value: Any, subject: str) -> float:
    """A finite number of a robot."""
    result = _float(value)
    if result is None:
        hint = ' as decimal digits (pi/2 is 1.5707963267948966)' if isinstance(value, str) else ''
        raise ModelError(f'must be a number, got {shown(value)}', subject=subject,
                         remedy=f'give a number in SI units{hint}')
    if not math.isfinite(result) or abs(result) > MAX_MAGNITUDE:
        raise ModelError(f'must be a finite number, got {shown(value)}',
                         subject=subject,
                         remedy='give a finite number in SI units, or leave the field out')
    return result


def vector(value: Any, length: int, subject: str) -> FloatArray:
    """Array of finite numbers, shape (length,)."""
    items = sequence(value, subject, f'{length} numbers')
    if len(items) != length:
        raise ModelError(f'must have {length} values, got {len(items)}', subject=subject,
                         remedy=f'give {length} numbers')
    return np.array([number(item, f'{subject}[{k}]') for k, item in enumerate(items)])


def matrix(value: Any, size: int, subject: str) -> FloatArray:
    """Square array of finite numbers given row by row."""
    wanted = f'{size} rows of {size} numbers'
    rows = sequence(value, subject, wanted)
    if len(rows) != size:
        raise ModelError(f'must have {size} rows, got {len(rows)}', subject=subject,
                         remedy=f'give {wanted}')
    return np.array([vector(row, size, f'{subject}[{k}]') for k, row in enumerate(rows)])


def sequence(value: Any, subject: str, wanted: str) -> list[Any]:
    """Items of a list; a text is not a list."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not isinstance(value, (list, tuple)):
        raise ModelError(f'must be a list, got {shown(value)}', subject=subject,
                         remedy=f'give a list of {wanted}')
    return list(value)


def _float(value: Any) -> float | None:
    """The number of a value; None if it is not a number."""
    if isinstance(value, str):
        # Extensions of Python ("1_000", "١") are rejected.
        word = value.strip()
        if '_' in word or not word.isascii():
            return None
        # Non-finite numbers of YAML begin with a dot: ".nan", "-.inf".
        value = word.replace('.nan', 'nan').replace('.inf', 'inf')
    elif isinstance(value, bool) or not isinstance(value, _NUMBERS):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf
    except (TypeError, ValueError):
        return None


def _pose_matrix(value: Any, subject: str) -> FloatArray:
    pose = matrix(value, 4, subject)
    rotation = pose[:3, :3]
    far = np.max(np.abs(rotation @ rotation.T - np.eye(3))) > _ROUNDED_ROTATION
    if far or np.linalg.det(rotation) < 0.0 or np.any(pose[3] != (0.0, 0.0, 0.0, 1.0)):
        raise ModelError('is not a pose', subject=subject,
                         remedy='give [[R, p], [0, 0, 0, 1]] with a rotation matrix R, or the '
                                'fields xyz and rpy')
    # A rotation with few digits becomes the nearest orthonormal one.
    left, _, right = np.linalg.svd(rotation)
    pose[:3, :3] = left @ right
    return pose


def inertial_parameters(row: Fields, order: tuple[str, ...] | None) -> FloatArray | None:
    """The ten parameters of a link in frame i, shape (10,), or None for a row without mass.

    ``order`` is that of `inertia_order`. A row without inertia is a point mass.
    """
    mass_name, mass = row.get('mass', 'm')
    com_name, com = row.get('com', 'r')
    tensor_name, written = row.get('inertia_com', 'I_com', 'inertia_origin', 'I_origin')
    if mass is None:
        if com is not None or written is not None:
            raise ModelError('is missing', subject=row.where(mass_name),
                             remedy=f'give the mass that belongs to '
                                    f'{com_name if com is not None else tensor_name}, or leave '
                                    'all of them out')
        return None
    if com is None:
        raise ModelError('is missing', subject=row.where(com_name),
                         remedy='give the centre of mass in frame i of this row; it depends on '
                                'the convention')
    kilograms, centre = row.number(mass_name), vector(com, 3, row.where(com_name))
    if written is None:
        return parameters_from_com(kilograms, centre, np.zeros((3, 3)))
    tensor = _tensor(written, order, row.where(tensor_name))
    if tensor_name.endswith('origin'):
        return parameters_from_moments(kilograms, kilograms * centre, tensor)
    return parameters_from_com(kilograms, centre, tensor)


def is_point_mass(parameters: FloatArray | None) -> bool:
    """Whether a body has no inertia about its centre of mass; also if it is not described."""
    if parameters is None:
        return True
    _, _, tensor = com_from_parameters(parameters)
    return bool(np.max(np.abs(tensor)) <= 1e-12 * np.max(np.abs(parameters[4:])))


def inertia_order(table: Fields) -> tuple[str, ...] | None:
    """Names of the six numbers of an inertia, a permutation of xx ... yz; None if not given."""
    name, value = table.get('inertia_order')
    if value is None:
        return None
    words = value.replace(',', ' ').split() if isinstance(value, str) else \
        sequence(value, table.where(name), 'six names')
    entries = tuple(_entry(word) for word in words)
    if sorted(entries) != sorted(_ENTRIES):
        raise ModelError(f'must be an order of xx, yy, zz, xy, xz, yz, got {shown(value)}',
                         subject=table.where(name),
                         remedy='name all six in the order of the numbers')
    return entries


def _entry(word: Any) -> str:
    """'xx' for any of xx, Ixx, ixx and Jxx; xy and yx are one entry."""
    text = str(word)
    name = text[1:].lower() if len(text) == 3 and text[0] in 'iIjJ' else text.lower()
    return name if name in _ENTRIES else name[::-1]


def _tensor(value: Any, order: tuple[str, ...] | None, subject: str) -> FloatArray:
    """An inertia tensor given as three rows, by names, or as six ordered numbers."""
    if isinstance(value, Mapping):
        return _tensor_by_name(Fields(value, subject))
    items = sequence(value, subject, 'three rows')
    if len(items) == 6:
        if order is None:
            raise ModelError('has six numbers of unknown order', subject=subject,
                             remedy='name them at the top of the table, for example '
                                    'inertia_order: xx xy xz yy yz zz (Robotics Toolbox: '
                                    'xx yy zz xy yz xz), or here {xx: ..., yy: ..., zz: ...}')
        return _symmetric(dict(zip(order, vector(items, 6, subject), strict=True)))
    tensor = matrix(items, 3, subject)
    # Numbers of tables are rounded, but equally in both entries.
    if np.max(np.abs(tensor - tensor.T)) > 1e-9 * np.max(np.abs(tensor)):
        raise ModelError('is not symmetric', subject=subject,
                         remedy='give the same number at xy and yx, xz and zx, yz and zy')
    return tensor


def _tensor_by_name(fields: Fields) -> FloatArray:
    entries = {name: _entry(name) for name in fields.names()}
    unknown = [name for name, entry in entries.items() if entry not in _ENTRIES]
    if unknown or len(set(entries.values())) != len(entries):
        raise ModelError(f'has the fields {", ".join(map(shown, entries))}',
                         subject=fields.subject,
                         remedy='give each of xx, yy, zz and, where not zero, xy, xz, yz once')
    for entry in ('xx', 'yy', 'zz'):
        if entry not in entries.values():
            raise ModelError('is missing', subject=fields.where(entry),
                             remedy='give xx, yy and zz')
    return _symmetric({entry: fields.number(name) for name, entry in entries.items()})


def _symmetric(entries: dict[str, float]) -> FloatArray:
    tensor = np.zeros((3, 3))
    for entry, value in entries.items():
        i, j = _ENTRIES[entry]
        tensor[i, j] = tensor[j, i] = value
    return tensor
