# SPDX-License-Identifier: Apache-2.0
"""Known parts of a model: only the remaining parameters are learnt.

Links (with all ten parameters), single parameters, and sums of parameters can be declared as
known. Sums may be base parameters as `robot_dynamics.dynamics.base_parameters` writes them. Each
known quantity is a linear equation that every estimate has to satisfy::

    C (pi - pi_0) = 0

The coordinates a_U of its null space are learnt, pi = pi_K + N a_U::

    Yr pi = Y_U a_U + Y_K a_K,     Y_U = Yr N,     Y_K a_K = Yr pi_K

If only links and single parameters are known, the columns of N are unit vectors, so that Y_U and
Y_K are columns of Yr.

References
----------
A. De Luca, Robotics 2, examination of 12 July 2021, exercise 3, eq. (2): tau = Y_U a_U + Y_K a_K +
feedback.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields

import numpy as np

from robot_dynamics.errors import ControlError, ParameterError
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import Robot

#: Relative residual of an equation below which it depends on others.
_REPEATED = 1e-9

_SIGN = re.compile(r'\s+([+-])\s+')
_SUMMAND = re.compile(r'^(?:([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)(?:\s*\*\s*|\s+))?(.+)$')


@dataclass(frozen=True)
class PartialKnowledge:
    """Names of the known part of a model; by default nothing is known.

    Parameters
    ----------
    links : tuple of str
        Links of which every inertial parameter is known.
    parameters : tuple of str
        Single parameters and joint terms: ``link7/m``, ``joint3/viscous``.
    combinations : tuple of str
        Sums of parameters: ``link1/Jzz + 0.25 link2/m``.

    Examples
    --------
    >>> from robot_dynamics import Dynamics, Robot
    >>> robot = Robot.from_urdf('planar_2r')
    >>> known = PartialKnowledge(links=robot.body_names[:1])
    >>> known.constraints(robot, Dynamics(robot).parameter_names).shape
    (10, 20)
    """

    links: tuple[str, ...] = ()
    parameters: tuple[str, ...] = ()
    combinations: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for entry in fields(self):
            value = getattr(self, entry.name)
            names = (value,) if isinstance(value, str) else tuple(value)
            for name in names:
                if not isinstance(name, str):
                    raise ParameterError(f'must be names, got {name!r}',
                                         subject=f'known {entry.name}',
                                         remedy='give names as text')
            object.__setattr__(self, entry.name, names)

    def __bool__(self) -> bool:
        """Whether anything is known."""
        return bool(self.links or self.parameters or self.combinations)

    def constraints(self, robot: Robot, names: Sequence[str]) -> FloatArray:
        """C, shape (k, p): one independent row for each known combination.

        Parameters
        ----------
        robot : Robot
            The robot.
        names : sequence of str
            Name of each parameter, ten per body first.

        Raises
        ------
        ParameterError
            If a link or parameter is unknown, or a sum cannot be read.
        ControlError
            If everything is known, so that no parameter is left to learn.
        """
        columns = {name: k for k, name in enumerate(names)}
        rows = []
        for link in self.links:
            body = _index(link, robot.body_names, 'known_links')
            rows += [{10 * body + k: 1.0} for k in range(10)]
        rows += [{_index(name, tuple(columns), 'known_parameters'): 1.0}
                 for name in self.parameters]
        rows += [parse_combination(text, columns) for text in self.combinations]
        matrix = np.zeros((len(rows), len(names)))
        for row, entries in zip(matrix, rows, strict=True):
            row[list(entries)] = list(entries.values())
        matrix = _independent(matrix)
        if len(matrix) == len(names):
            raise ControlError('must not include every parameter', subject='known parameters',
                               remedy='declare less as known, or use a law that does not adapt')
        return matrix


def parse_combination(text: str, columns: dict[str, int]) -> dict[int, float]:
    """Columns and coefficients of a sum such as ``link1/Jzz - 0.5 link2/m``.

    Signs between summands have spaces around them; a factor stands before its name, after it a
    space or ``*``. Raises ParameterError for other texts and unknown parameters.
    """
    pieces = _SIGN.split(text.strip())
    entries: dict[int, float] = {}
    for sign, piece in zip(('+', *pieces[1::2]), pieces[::2], strict=True):
        match = None if piece in columns else _SUMMAND.match(piece)
        factor, name = (1.0, piece) if match is None or match[1] is None \
            else (float(match[1]), match[2])
        column = columns[name] if name in columns \
            else _index(name, tuple(columns), 'known_combinations')
        entries[column] = entries.get(column, 0.0) + (-factor if sign == '-' else factor)
    if not any(entries.values()) or not np.all(np.isfinite(list(entries.values()))):
        raise ParameterError('must be a combination of parameters', subject=text,
                             remedy='write a sum such as: link1/Jzz + 0.25 link2/m')
    return entries


def unknown_directions(constraints: FloatArray) -> FloatArray:
    """N, shape (p, u): a basis of the null space of the equations.

    Unit vectors of the parameters that are in no equation come first, in their order.
    """
    count = constraints.shape[1]
    free = np.flatnonzero(~constraints.any(axis=0))
    basis = np.eye(count)[:, free]
    # Equations in one parameter remove that parameter; the others leave a null space.
    bound = np.flatnonzero(constraints.any(axis=0))
    inner = constraints[:, bound]
    if not len(bound) or len(inner) == len(bound):
        return basis
    rest = np.linalg.svd(inner)[2][len(inner):]
    embedded = np.zeros((count, len(rest)))
    embedded[bound] = rest.T
    return np.hstack([basis, embedded])


def _independent(matrix: FloatArray) -> FloatArray:
    """Rows that do not depend on the ones before them."""
    basis = np.empty((0, matrix.shape[1]))
    kept = []
    for k, row in enumerate(matrix):
        rest = row / np.linalg.norm(row)
        for _ in range(2):
            rest = rest - (basis @ rest) @ basis
        if np.linalg.norm(rest) > _REPEATED:
            basis = np.vstack([basis, rest / np.linalg.norm(rest)])
            kept.append(k)
    return matrix[kept]


def _index(name: str, known: Sequence[str], subject: str) -> int:
    """Index of a name; the error lists similar names."""
    try:
        return known.index(name)
    except ValueError:
        near: Iterable[str] = difflib.get_close_matches(name, known, 5) or known[:12]
        raise ParameterError(f'has an unknown name {name!r}', subject=subject,
                             remedy='choose among: ' + ', '.join(near)) from None
