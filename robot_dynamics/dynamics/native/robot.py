# SPDX-License-Identifier: Apache-2.0
"""Kernels for one robot: its equations in C, without operations on zeros and ones.

Only for joints of one coordinate; mimic joints and any order of the joints are supported.
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

_HEADERS = ('float.h', 'math.h', 'stddef.h', 'stdint.h', 'stdlib.h', 'string.h')

#: Equations that are generated for every such robot, by name.
NAMES = ('slotine_li_regressor', 'adaptive_terms', 'inverse_dynamics', 'matrices', 'mass_matrix',
         'forward_kinematics', 'jacobian', 'com_jacobian')

#: Largest number of bodies: the number of entries, and with it the compilation time, grows with
#: its square.
LARGEST = 40

#: Largest number of joints for accelerations by a factorised mass matrix; above it, the recursion
#: of the kernels is faster.
SMALL = 32

#: ``fill_sines`` in ``sines.c``.
_SINES = Sines('fill_sines', 8)


def why_not(robot: Robot) -> str | None:
    """Reason why no C can be generated for a robot, or None."""
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
        If C cannot be generated for the robot, or not be compiled.
    NoCompilerError
        Without a C compiler.
    """
    reason = why_not(robot)
    if reason is not None:
        raise BackendError(reason, subject=robot.name, remedy="use backend 'auto' or 'numba'")
    n = robot.n_bodies
    return open_library(_key(robot), lambda: library_source(robot), subject=robot.name,
                        expected=0.6 + 0.06 * n + 0.003 * n * n)


def names_of(robot: Robot) -> frozenset[str]:
    """Equations of a robot that run in C."""
    mimics = robot.n < robot.n_bodies
    return frozenset(NAMES) | ({'forward_dynamics'} if mimics or robot.n <= SMALL else set())


def constants(robot: Robot, armature: FloatArray, parameters: FloatArray) -> FloatArray:
    """Inputs of the kernels besides the state."""
    return np.concatenate([robot.gravity, armature, parameters])


def _key(robot: Robot) -> str:
    """Digest of everything that the C code of a robot depends on."""
    state = hashlib.sha256(_code_digest().encode())
    for array in (robot.parents, robot.joint_types, robot.placements, robot.axes,
                  robot.link_offsets, robot.coupling, robot.coupling_offset):
        state.update(f'{array.shape}{array.dtype}'.encode())
        state.update(np.ascontiguousarray(array).tobytes())
    return state.hexdigest()


@cache
def _code_digest() -> str:
    """Digest of the code that derives and writes C."""
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
    """C code of all kernels of a robot, independent of inertial parameters and gravity."""
    geometry = numeric_geometry(robot)
    values = {'JOINTS': robot.n, 'BODIES': robot.n_bodies, 'INERTIAL': 10 * robot.n_bodies,
              'VISCOUS': slotine_li.VISCOUS, 'COULOMB': slotine_li.COULOMB,
              'ARMATURE': slotine_li.ARMATURE}
    parts = ['\n'.join(f'#include <{header}>' for header in _HEADERS), PART_MACRO,
             '\n'.join(f'#define {name} {value}' for name, value in values.items()),
             _zeros(geometry), _tree(geometry), written('sines.c'),
             regressor_kernel(geometry), adaptive_kernel(geometry), efforts_kernel(geometry),
             matrices_kernel(geometry), mass_kernel(geometry),
             poses_kernel(geometry), com_kernel(geometry), written('robot.c')]
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


def poses_kernel(geometry: Geometry) -> str:
    """Poses of all bodies, 4 by 4 each."""
    tape, inputs, _ = _inputs(geometry, ('q',))
    frames = composite.frames_of(tape, geometry, inputs['q'], [0] * geometry.n)
    rows = [[*axes, p] for frame in frames for axes, p in (
        *zip(frame.axes, frame.origin, strict=True), ((0, 0, 0), 1))]
    return _kernel('poses_kernel', tape, inputs, {'poses': _flat(rows)})


def com_kernel(geometry: Geometry) -> str:
    """Jacobian of the centre of mass times the mass."""
    tape, inputs, _ = _inputs(geometry, ('q', 'pi'))
    J = composite.com_jacobian(tape, geometry, inputs['q'], inputs['pi'])
    return _kernel('com_kernel', tape, inputs, {'J': _flat(J)})


def carried_bodies(geometry: Geometry) -> list[set[int]]:
    """Bodies that each independent joint moves."""
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
    """A tape, the arrays of variables by name, and the geometry with variable gravity."""
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


def _tree(geometry: Geometry) -> str:
    """Write the tree of the bodies, and the coefficients of the joints in their motion."""
    bodies: list[str] = []
    shares: list[str] = []
    for body in geometry.bodies:
        end = len(shares) + len(body.coordinates)
        axis, offset = (', '.join(map(str, vector)) for vector in (body.axis, body.offset))
        bodies.append(f'    {{{body.parent}, {body.is_prismatic:d}, {len(shares)}, {end}, '
                      f'{{{axis}}}, {{{offset}}}}}')
        shares += [f'{{{joint}, {factor}}}' for joint, factor in body.coordinates]
    return ('static const struct {\n    int parent, is_prismatic, begin, end;\n'
            '    double axis[3], offset[3];\n} bodies[] = {\n' + ',\n'.join(bodies) + '\n};\n'
            'static const struct { int joint; double factor; } shares[] = {'
            + ', '.join(shares) + '};')


def _zeros(geometry: Geometry) -> str:
    """Write the runs of a regressor that stay zero, as begin, end, begin, end, ..."""
    columns = 10 * len(geometry.bodies)
    carried = carried_bodies(geometry)
    is_zero = [c // 10 not in carried[j] for j in range(geometry.n) for c in range(columns)]
    edges = [k for k, (before, after) in enumerate(pairwise([False, *is_zero, False]))
             if before != after] or [0, 0]
    return f'static const int zeros[] = {{{", ".join(map(str, edges))}}};'
