# SPDX-License-Identifier: Apache-2.0
"""Kernels made for one robot: its equations in C, without what is zero or one.

Joints of one coordinate only; mimic joints and any order of the joints are part of the C.
"""

from __future__ import annotations

import ctypes
import hashlib
import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics.closed_form import composite, recursion
from robot_dynamics.closed_form.c_language import PART_MACRO, Sines, c_function
from robot_dynamics.closed_form.geometry import Geometry, numeric_geometry
from robot_dynamics.closed_form.recording import Input, Output, Recording
from robot_dynamics.closed_form.tape import Scalar, Tape
from robot_dynamics.dynamics.kernels import slotine_li
from robot_dynamics.dynamics.native.build import open_library
from robot_dynamics.errors import BackendError
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import Robot

_HEADERS = ('math.h', 'stddef.h', 'stdint.h', 'stdlib.h', 'string.h')

#: Equations that are written out, by their names.
NAMES = ('slotine_li_regressor', 'regressor', 'adaptive_terms', 'inverse_dynamics', 'matrices',
         'mass_matrix')

#: Bodies up to which the equations are written out: their number of entries grows with the
#: square of it, and with that the time of the compiler.
LARGEST = 40

#: ``fill_sines`` in ``sines.c``.
_SINES = Sines('fill_sines', 8)


def why_not(robot: Robot) -> str | None:
    """Why a robot has no C of its own; None if it has."""
    if not robot.all_joints_1dof:
        return 'has a joint of several coordinates'
    if robot.n_bodies > LARGEST:
        return f'has {robot.n_bodies} moving bodies, more than {LARGEST}'
    return None


def library_of(robot: Robot) -> ctypes.CDLL:
    """The kernels of a robot, compiled if no process has done so before.

    Raises
    ------
    BackendError
        For a robot that has no C of its own, or where it cannot be compiled.
    NoCompilerError
        Without a C compiler.
    """
    reason = why_not(robot)
    if reason is not None:
        raise BackendError(reason, subject=robot.name, remedy="use backend 'auto' or 'numba'")
    n = robot.n_bodies
    return open_library(_key(robot), lambda: library_source(robot), subject=robot.name,
                        expected=0.6 + 0.06 * n + 0.003 * n * n)


def constants(robot: Robot, armature: FloatArray, parameters: FloatArray) -> FloatArray:
    """What the kernels get beside the state."""
    return np.concatenate([robot.gravity, armature, parameters])


def _key(robot: Robot) -> str:
    """Digest of all that the C of a robot depends on."""
    state = hashlib.sha256(_code_digest().encode())
    for array in (robot.parents, robot.joint_types, robot.placements, robot.axes,
                  robot.link_offsets, robot.coupling, robot.coupling_offset):
        state.update(f'{array.shape}{array.dtype}'.encode())
        state.update(np.ascontiguousarray(array).tobytes())
    return state.hexdigest()


@cache
def _code_digest() -> str:
    """Digest of what derives and writes C."""
    state = hashlib.sha256(sys.version.encode())
    here = Path(__file__).parent
    for folder in (here, here.parents[1] / 'closed_form'):
        for path in sorted([*folder.glob('*.py'), *folder.glob('*.c')]):
            state.update(path.read_bytes())
    return state.hexdigest()


def written(name: str) -> str:
    """Text of a file of C in this package."""
    return files(__package__).joinpath(name).read_text(encoding='utf-8')


def library_source(robot: Robot) -> str:
    """C of all kernels of a robot; inertial parameters and gravity do not matter."""
    geometry = numeric_geometry(robot)
    values = {'JOINTS': robot.n, 'INERTIAL': 10 * robot.n_bodies, 'VISCOUS': slotine_li.VISCOUS,
              'COULOMB': slotine_li.COULOMB, 'ARMATURE': slotine_li.ARMATURE}
    parts = ['\n'.join(f'#include <{header}>' for header in _HEADERS), PART_MACRO,
             '\n'.join(f'#define {name} {value}' for name, value in values.items()),
             _zeros(geometry), written('sines.c'),
             regressor_kernel(geometry), adaptive_kernel(geometry), efforts_kernel(geometry),
             matrices_kernel(geometry), mass_kernel(geometry), written('robot.c')]
    return '\n\n'.join(parts)


def regressor_kernel(geometry: Geometry) -> str:
    """Yr; only entries of bodies that the joint carries are written."""
    tape, inputs, under = _inputs(geometry, ('q', 'v', 'v_r', 'a_r', 'gravity'))
    rows = recursion.regressor(tape, under, *list(inputs.values())[:4])
    carried = carried_bodies(geometry)
    entries = [entry if c // 10 in carried[j] else None
               for j, row in enumerate(rows) for c, entry in enumerate(row)]
    return _kernel('slotine_li_kernel', tape, inputs, {'Y': entries})


def adaptive_kernel(geometry: Geometry) -> str:
    """Yr pi and Yr^T s."""
    tape, inputs, under = _inputs(geometry, ('q', 'v', 'v_r', 'a_r', 's', 'pi', 'gravity'))
    tau, gradient = recursion.adaptive_terms(tape, under, *list(inputs.values())[:6])
    return _kernel('adaptive_kernel', tape, inputs, {'tau': tau, 'gradient': gradient})


def efforts_kernel(geometry: Geometry) -> str:
    """M a + C v + g."""
    tape, inputs, under = _inputs(geometry, ('q', 'v', 'a', 'pi', 'gravity'))
    q, v, a, parameters, _ = inputs.values()
    tau = recursion.efforts(tape, under, q, v, v, a, parameters)
    return _kernel('efforts_kernel', tape, inputs, {'tau': tau})


def matrices_kernel(geometry: Geometry) -> str:
    """M, C and g."""
    tape, inputs, under = _inputs(geometry, ('q', 'v', 'pi', 'gravity'))
    M, C, g = composite.matrices(tape, under, *list(inputs.values())[:3])
    return _kernel('matrices_kernel', tape, inputs, {'M': _flat(M), 'C': _flat(C), 'g': g})


def mass_kernel(geometry: Geometry) -> str:
    """M alone."""
    tape, inputs, under = _inputs(geometry, ('q', 'pi'))
    still = [0] * geometry.n
    M, _, _ = composite.matrices(tape, under, inputs['q'], still, inputs['pi'])
    return _kernel('mass_kernel', tape, inputs, {'M': _flat(M)})


def carried_bodies(geometry: Geometry) -> list[set[int]]:
    """Return the bodies that each independent joint moves."""
    carried: list[set[int]] = [set() for _ in geometry.joints]
    above: list[set[int]] = []
    for i, body in enumerate(geometry.bodies):
        joints = {j for j, _ in body.coordinates}
        if body.parent >= 0:
            joints |= above[body.parent]
        above.append(joints)
        for j in joints:
            carried[j].add(i)
    return carried


def _inputs(geometry: Geometry, groups: tuple[str, ...],
            ) -> tuple[Tape, dict[str, list[Any]], Geometry]:
    """A tape, the arrays of variables by name, and the geometry under a variable gravity."""
    tape = Tape()
    lengths = {'pi': 10 * len(geometry.bodies), 'gravity': 3}
    inputs: dict[str, list[Any]] = {group: tape.symbols(group, (
        f'{group}{k}' for k in range(lengths.get(group, geometry.n)))) for group in groups}
    gravity: tuple[Any, ...] = tuple(inputs.get('gravity', (0, 0, 0)))
    return tape, inputs, replace(geometry, gravity=gravity)


def _kernel(name: str, tape: Tape, inputs: Mapping[str, list[Any]],
            outputs: Mapping[str, list[Any]]) -> str:
    return c_function(Recording(
        name, '', '', tape, tuple(Input(group, ()) for group in inputs),
        tuple(Output(key, (len(entries),), tuple(entries)) for key, entries in outputs.items())),
        storage='static ', sines=_SINES)


def _flat(rows: recursion.Rows) -> list[Scalar]:
    return [entry for row in rows for entry in row]


def _zeros(geometry: Geometry) -> str:
    """Write the runs of a regressor that stay zero, as begin, end, begin, end, ..."""
    columns = 10 * len(geometry.bodies)
    carried = carried_bodies(geometry)
    is_zero = [c // 10 not in carried[j] for j in range(geometry.n) for c in range(columns)]
    edges = [k for k, (before, after) in enumerate(pairwise([False, *is_zero, False]))
             if before != after] or [0, 0]
    return f'static const int zeros[] = {{{", ".join(map(str, edges))}}};'
