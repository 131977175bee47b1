# SPDX-License-Identifier: Apache-2.0
"""The inertia of one link of a DH table, in every form that leaves no doubt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from robot_dynamics.errors import ModelError, shown
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.dh_fields import Fields, matrix, sequence, vector
from robot_dynamics.model.inertia import (
    com_from_parameters,
    parameters_from_com,
    parameters_from_moments,
)

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
