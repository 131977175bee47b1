# SPDX-License-Identifier: Apache-2.0
"""Typed access to the fields of a DH table, with errors that name the field."""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from robot_dynamics.errors import ModelError, shown
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.rotation import rotation_from_rpy

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
