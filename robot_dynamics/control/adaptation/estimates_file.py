# SPDX-License-Identifier: Apache-2.0
"""YAML file with which estimates are kept from one run to the next.

A file contains the name of the robot, and name, prior and estimate of every parameter. It is
accepted only for the same robot with the same parameters and prior.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics.errors import ParameterError, shown
from robot_dynamics.files import write_file
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.inertia import check_body
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.yaml_text import read_yaml

#: Version of the format.
FORMAT = 1

#: Relative difference of equal values.
SAME = 1e-6

#: Rounding of a zero of the prior, against its largest value.
ZERO = 1e-12

#: Rounding in the check of physical consistency, against the largest principal moment.
ROUNDING = 1e-5

_REMEDY = 'give a file that was saved for this robot, or none to start from the model'


def save_estimates(path: str | Path, robot: Robot, names: Sequence[str], prior: FloatArray,
                   estimate: FloatArray) -> None:
    """Write prior and estimate, shape (p,), to a file, completely or not at all.

    The folder has to exist. Raises a FileError where the file cannot be written or the user's
    is in its place, and a ParameterError where an estimate is not finite.
    """
    if not np.all(np.isfinite(estimate)):
        raise ParameterError('must be finite',
                             subject=names[int(np.argmin(np.isfinite(estimate)))],
                             remedy='return to the prior before saving')
    lines = ['# Estimates of an adaptive controller; see docs/control.md.',
             f'format: {FORMAT}', f'robot: {_quoted(robot.name)}', 'parameters:']
    # 17 digits are exact; a number of YAML has a point before its exponent.
    lines += [f'  {_quoted(name)}: {{prior: {before:.16e}, estimate: {value:.16e}}}'
              for name, before, value in zip(names, prior, estimate, strict=True)]
    write_file(path, '\n'.join(lines) + '\n')


def load_estimates(path: str | Path, robot: Robot, names: Sequence[str], prior: FloatArray,
                   ) -> FloatArray:
    """Estimates of a file, shape (p,), in the order of the names.

    Robot and prior must be those of the file. Raises a ParameterError if it cannot be read or does
    not match.
    """
    path = Path(path)

    def refuse(problem: str) -> ParameterError:
        return ParameterError(problem, subject=str(path), remedy=_REMEDY)

    content = read_yaml(path, ParameterError, _REMEDY)
    if not isinstance(content, dict) or content.get('format') != FORMAT:
        raise refuse(f'is not a file of estimates of format {FORMAT}')
    if content.get('robot') != robot.name:
        raise refuse(f'must be of the robot {robot.name!r}, got {shown(content.get("robot"))}')
    entries = content.get('parameters')
    if not isinstance(entries, dict):
        raise refuse('has no parameters')
    missing = [name for name in names if name not in entries]
    strange = [name for name in entries if name not in names]
    if missing or strange:
        raise refuse('has other parameters: '
                     + (f'{shown(strange[0])} too many' if strange else f'no {missing[0]!r}'))
    values = np.array([_pair(entries[name], name, refuse) for name in names]).reshape(-1, 2)
    # Relative to each value: parameters of one arm may be a ton, those of another a gram.
    size = np.abs(prior)
    beyond = np.abs(values[:, 0] - prior) - SAME * size - ZERO * size.max(initial=0.0)
    if beyond.max(initial=0.0) > 0.0:
        k = int(np.argmax(beyond))
        raise refuse(f'was learnt from another model: {names[k]!r} was {values[k, 0]:g}, '
                     f'not {prior[k]:g}')
    return np.ascontiguousarray(values[:, 1])


def require_bodies(path: str | Path, robot: Robot, estimate: FloatArray) -> None:
    """Raise ParameterError for the first link with an estimate that is not consistent."""
    bodies = estimate[:10 * robot.n_bodies].reshape(-1, 10)
    for name, parameters in zip(robot.body_names, bodies, strict=True):
        verdict = check_body(parameters, tolerance=ROUNDING)
        if not verdict.is_consistent:
            raise ParameterError(f'has a link {name!r} that is not physically consistent: '
                                 f'{verdict.violation}', subject=str(path), remedy=_REMEDY)


def _pair(entry: object, name: str, refuse: Callable[[str], ParameterError]
          ) -> tuple[float, float]:
    """Prior and estimate of an entry."""
    values: list[Any] = [entry.get(key) for key in ('prior', 'estimate')] \
        if isinstance(entry, dict) else []
    if len(values) != 2 or not all(
            isinstance(value, (int, float)) and not isinstance(value, bool)
            and abs(value) < 1e300 and math.isfinite(value) for value in values):
        raise refuse(f'has no finite prior and estimate of {name!r}')
    return float(values[0]), float(values[1])


def _quoted(text: str) -> str:
    """Text as a YAML scalar in double quotes."""
    return '"' + ''.join(c if c.isprintable() and c not in '"\\' and ord(c) < 0xd800
                         else f'\\U{ord(c):08x}' for c in text) + '"'
