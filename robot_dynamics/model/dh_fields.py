# SPDX-License-Identifier: Apache-2.0
"""From a path, text, bytes or mapping to the plain mapping of a DH table.

YAML here means the safe subset without surprises: scalars are text or ``null``,
and whoever reads a field decides whether its text is a number. So ``1e-3``, which
PyYAML takes for a string, ``010``, which it takes for eight, and ``1:30``, which
it takes for ninety, are a thousandth, ten and an error. Tags that create objects
are refused, and so is a key that stands twice; merge keys (``<<``) have no meaning.


Typed access to the fields of a DH table, with errors that name the field.

The inertia of one link of a DH table, in every form that leaves no doubt.
"""

from __future__ import annotations

import difflib
import json
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from robot_dynamics.errors import ModelError, shown
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.inertia import (
    com_from_parameters,
    parameters_from_com,
    parameters_from_moments,
)
from robot_dynamics.model.rotation import rotation_from_rpy
from robot_dynamics.model.yaml_text import SafeLoader, UnusableYamlError, parse_yaml

#: Largest table read, in bytes; a table of ten links is a few kilobytes.
MAX_BYTES = 2**18

_LABEL = 'DH table'
# Text given in place of a path must not fill the message.
_LONGEST_LABEL = 200


def read_table(source: str | bytes | os.PathLike[str] | Mapping[str, Any]
               ) -> tuple[dict[str, Any], str]:
    """Return the top-level mapping of a table and how messages call it.

    A string that holds a line break, a ``{`` or ``': '`` is the table itself,
    any other string the path of a file.

    Parameters
    ----------
    source : str, bytes, Path or mapping
        The table or where it lies.

    Returns
    -------
    table : dict
        Its top level; the values are as written, not yet checked.
    label : str
        The path, or ``'DH table'``.

    Raises
    ------
    ModelError
        If there is nothing, too much, or no mapping in YAML or JSON.
    """
    if isinstance(source, Mapping):
        return _checked(dict(source), _LABEL)
    if isinstance(source, (bytes, bytearray)):
        return _parse(_decode(bytes(source), _LABEL), _LABEL)
    if isinstance(source, str) and _is_table(source):
        return _parse(source, _LABEL)
    if isinstance(source, (str, os.PathLike)):
        path = os.fsdecode(source)
        label = path if len(path) <= _LONGEST_LABEL else f'{path[:_LONGEST_LABEL]}...'
        return _parse(_decode(_read_file(path, label), label), label)
    raise ModelError(f'is a {type(source).__name__}', subject=_LABEL,
                     remedy='give a path, YAML or JSON text, bytes or a mapping')


def _is_table(text: str) -> bool:
    return not text.strip() or any(mark in text for mark in ('\n', '{', ': '))


def _read_file(path: str, label: str) -> bytes:
    try:
        file = Path(path).expanduser()
        if not file.is_file():
            raise ModelError('no such file', subject=label,
                             remedy='check the path of the DH table')
        with file.open('rb') as stream:
            return stream.read(MAX_BYTES + 1)
    except (OSError, ValueError, RuntimeError) as error:
        reason = getattr(error, 'strerror', None) or type(error).__name__
        raise ModelError(f'cannot be read ({reason})', subject=label,
                         remedy='check the path and its permissions') from error


def _decode(content: bytes, label: str) -> str:
    if len(content) > MAX_BYTES:
        raise _too_large(label)
    try:
        return content.decode('utf-8-sig')
    except UnicodeDecodeError as error:
        raise ModelError(f'is not UTF-8 text (byte {error.start})', subject=label,
                         remedy='save it as UTF-8') from error


def _parse(text: str, label: str) -> tuple[dict[str, Any], str]:
    if len(text) > MAX_BYTES:
        raise _too_large(label)
    try:
        content = _load(text)
    except (UnusableYamlError, _DuplicateKeyError) as error:
        raise ModelError(f'is not YAML or JSON: {error}', subject=label,
                         remedy='correct it there; see docs/dh_tables.md for the format'
                         ) from error
    except RecursionError:
        raise ModelError('is nested too deeply', subject=label,
                         remedy='see docs/dh_tables.md for the format') from None
    return _checked(content, label)


def _load(text: str) -> Any:
    """Return the content of JSON or YAML text."""
    if text.lstrip().startswith('{'):
        try:
            # Numbers stay text, as in YAML: one place decides what is a number.
            return json.loads(text, object_pairs_hook=_unique, parse_float=str, parse_int=str,
                              parse_constant=str)
        except json.JSONDecodeError:
            pass  # YAML may begin with a brace, too.
    return parse_yaml(text, TextLoader)


def _checked(content: Any, label: str) -> tuple[dict[str, Any], str]:
    if content is None or content == {}:
        raise ModelError('is empty', subject=label,
                         remedy='give at least convention and links; see docs/dh_tables.md')
    if not isinstance(content, dict):
        raise ModelError('is not a table of named fields', subject=label,
                         remedy='begin it with name:, convention: and links:; see '
                                'docs/dh_tables.md')
    return content, label


def _too_large(label: str) -> ModelError:
    return ModelError(f'is larger than {MAX_BYTES // 2**10} KiB', subject=label,
                      remedy='give the DH table of one robot')


class _DuplicateKeyError(Exception):
    """A key stands twice in one mapping."""


def _unique(pairs: list[tuple[Any, Any]]) -> dict[Any, Any]:
    """Return a mapping of pairs whose keys differ."""
    mapping: dict[Any, Any] = {}
    for key, value in pairs:
        if key in mapping:
            raise _DuplicateKeyError(f'the key {str(key)[:60]!r} stands twice')
        mapping[key] = value
    return mapping


class TextLoader(SafeLoader):
    """PyYAML's safe loader without its guesses about numbers, dates and truth."""

    yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if tag == 'tag:yaml.org,2002:null']
        for first, resolvers in SafeLoader.yaml_implicit_resolvers.items()}

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Return a mapping, none of whose keys stands twice."""
        _unique([(self.construct_object(key, deep=True), None) for key, _ in node.value])
        mapping: dict[Any, Any] = super().construct_mapping(node, deep)
        return mapping


#: No length, angle, mass or inertia of a robot is this large, in SI units.
MAX_MAGNITUDE = 1e12

# How far the rows of a rotation matrix with four digits are from orthonormal.
_ROUNDED_ROTATION = 1e-3

_XYZ_RPY = ('xyz', 'rpy')
_NUMBERS = (int, float, np.integer, np.floating)


class Fields:
    """The named fields of one table, row or sub-table.

    Parameters
    ----------
    content : mapping
        The fields as written.
    subject : str
        How messages call it, for example ``'link3'``.
    """

    def __init__(self, content: Mapping[Any, Any], subject: str) -> None:
        self._content = content
        self.subject = subject

    @classmethod
    def of(cls, value: Any, subject: str) -> Fields:
        """Return the fields of a value that has to be a mapping."""
        if not isinstance(value, Mapping):
            raise ModelError(f'is {shown(value)}, not a set of named fields', subject=subject,
                             remedy='write it as "name: value" lines')
        return cls(value, subject)

    def names(self) -> list[Any]:
        """Return the names of the fields that are there."""
        return [name for name, value in self._content.items() if value is not None]

    def check_names(self, known: Sequence[str], ignored: Sequence[str] = ()) -> None:
        """Refuse a field of another name, and suggest the one that was meant."""
        for key in self._content:
            if key in known or key in ignored:
                continue
            close = difflib.get_close_matches(str(key), known, n=1)
            hint = f'did you mean {close[0]}? ' if close else ''
            raise ModelError(f'has the unknown field {shown(key)}', subject=self.subject,
                             remedy=f'{hint}the fields are: {", ".join(known)}')

    def get(self, *names: str) -> tuple[str, Any]:
        """Return the name and value of a field that may have several names; None if absent."""
        given = [name for name in names if self._content.get(name) is not None]
        if len(given) > 1:
            raise ModelError(f'has both {given[0]} and {given[1]}', subject=self.subject,
                             remedy='keep one of them')
        return (given[0], self._content[given[0]]) if given else (names[0], None)

    def where(self, name: str) -> str:
        """Return how messages call one field."""
        return f'{self.subject}/{name}'

    def number(self, *names: str, default: float | None = None) -> float:
        """Return a finite number; without a default it has to be there."""
        name, value = self.get(*names)
        if value is None:
            if default is None:
                raise ModelError('is missing', subject=self.where(name),
                                 remedy=f'give {name} as a number')
            return default
        return number(value, self.where(name))

    def text(self, name: str, default: str) -> str:
        """Return a text that is not empty."""
        _, value = self.get(name)
        if value is None:
            return default
        if not isinstance(value, str) or not value.strip():
            raise ModelError(f'is {shown(value)}, not a name', subject=self.where(name),
                             remedy='give a text')
        return value.strip()

    def vector(self, *names: str, length: int) -> FloatArray | None:
        """Return so many numbers, or None where there is no such field."""
        name, value = self.get(*names)
        return None if value is None else vector(value, length, self.where(name))

    def pose(self, name: str) -> FloatArray:
        """Return a pose, shape (4, 4): a matrix, or xyz and rpy; the identity if absent."""
        _, value = self.get(name)
        if value is None:
            return np.eye(4)
        if isinstance(value, Mapping):
            fields = Fields(value, self.where(name))
            fields.check_names(_XYZ_RPY)
            xyz, rpy = (fields.vector(key, length=3) for key in _XYZ_RPY)
            pose = np.eye(4)
            pose[:3, :3] = np.eye(3) if rpy is None else rotation_from_rpy(rpy)
            pose[:3, 3] = 0.0 if xyz is None else xyz
            return pose
        return _pose_matrix(value, self.where(name))


def number(value: Any, subject: str) -> float:
    """Return a finite number of a robot."""
    result = _float(value)
    if result is None:
        hint = ' as decimal digits (pi/2 is 1.5707963267948966)' if isinstance(value, str) else ''
        raise ModelError(f'is {shown(value)}, not a number', subject=subject,
                         remedy=f'give a number in SI units{hint}')
    if not math.isfinite(result) or abs(result) > MAX_MAGNITUDE:
        raise ModelError(f'is {shown(value)}', subject=subject,
                         remedy='give a finite number in SI units, or leave the field out')
    return result


def vector(value: Any, length: int, subject: str) -> FloatArray:
    """Return an array of so many finite numbers."""
    items = sequence(value, subject, f'{length} numbers')
    if len(items) != length:
        raise ModelError(f'has {len(items)} values, not {length}', subject=subject,
                         remedy=f'give {length} numbers')
    return np.array([number(item, f'{subject}[{k}]') for k, item in enumerate(items)])


def matrix(value: Any, size: int, subject: str) -> FloatArray:
    """Return a square array of finite numbers given row by row."""
    rows = sequence(value, subject, f'{size} rows of {size} numbers')
    if len(rows) != size:
        raise ModelError(f'has {len(rows)} rows, not {size}', subject=subject,
                         remedy=f'give {size} rows of {size} numbers')
    return np.array([vector(row, size, f'{subject}[{k}]') for k, row in enumerate(rows)])


def sequence(value: Any, subject: str, wanted: str) -> list[Any]:
    """Return the items of a list; a text is none."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not isinstance(value, (list, tuple)):
        raise ModelError(f'is {shown(value)}, not a list', subject=subject,
                         remedy=f'give a list of {wanted}')
    return list(value)


def _float(value: Any) -> float | None:
    """Return what a value says as a number; None if it says none."""
    if isinstance(value, str):
        # Python's own extras ("1_000", "١") are not numbers here.
        word = value.strip()
        if '_' in word or not word.isascii():
            return None
        # YAML writes the non-finite ones with a dot: ".nan", "-.inf".
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
    # A rotation with few digits is made orthonormal: the nearest one.
    left, _, right = np.linalg.svd(rotation)
    pose[:3, :3] = left @ right
    return pose


_ENTRIES = {'xx': (0, 0), 'yy': (1, 1), 'zz': (2, 2), 'xy': (0, 1), 'xz': (0, 2), 'yz': (1, 2)}


def inertial_parameters(row: Fields, order: tuple[str, ...] | None) -> FloatArray | None:
    """Return the ten parameters in frame i, or None for a row without inertia.

    Parameters
    ----------
    row : Fields
        The row.
    order : tuple of str, optional
        What the six numbers of an inertia are, where they are given so.

    Returns
    -------
    ndarray, shape (10,), or None
        Inertial parameters; without an inertia those of a point mass.
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
    """Return whether a body, if it is one, has no inertia about its centre of mass."""
    if parameters is None:
        return True
    _, _, tensor = com_from_parameters(parameters)
    return bool(np.max(np.abs(tensor)) <= 1e-12 * np.max(np.abs(parameters[4:])))


def inertia_order(table: Fields) -> tuple[str, ...] | None:
    """Return what the six numbers of an inertia are: a permutation of xx ... yz."""
    name, value = table.get('inertia_order')
    if value is None:
        return None
    words = value.replace(',', ' ').split() if isinstance(value, str) else \
        sequence(value, table.where(name), 'six names')
    entries = tuple(_entry(word) for word in words)
    if sorted(entries) != sorted(_ENTRIES):
        raise ModelError(f'is {shown(value)}', subject=table.where(name),
                         remedy='give all of xx, yy, zz, xy, xz, yz in the order of the numbers')
    return entries


def _entry(word: Any) -> str:
    """Return 'xx' for any of xx, Ixx, ixx and Jxx; xy and yx are one entry."""
    text = str(word)
    name = text[1:].lower() if len(text) == 3 and text[0] in 'iIjJ' else text.lower()
    return name if name in _ENTRIES else name[::-1]


def _tensor(value: Any, order: tuple[str, ...] | None, subject: str) -> FloatArray:
    """Return an inertia tensor given as three rows, by names, or as six ordered numbers."""
    if isinstance(value, Mapping):
        return _tensor_by_name(Fields(value, subject))
    items = sequence(value, subject, 'three rows')
    if len(items) == 6:
        if order is None:
            raise ModelError('has six numbers of unknown order', subject=subject,
                             remedy='say at the top of the table what they are, for example '
                                    'inertia_order: xx xy xz yy yz zz (Robotics Toolbox: '
                                    'xx yy zz xy yz xz), or name them {xx: ..., yy: ..., zz: ...}')
        return _symmetric(dict(zip(order, vector(items, 6, subject), strict=True)))
    tensor = matrix(items, 3, subject)
    # Tables are rounded, but not differently in two places.
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
