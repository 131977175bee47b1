# SPDX-License-Identifier: Apache-2.0
"""The kernels of one robot as C, with the gate between them and Python."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from itertools import pairwise

from robot_dynamics.closed_form import composite, recursion
from robot_dynamics.closed_form.c_language import PART_MACRO, Sines, c_function
from robot_dynamics.closed_form.geometry import Geometry, numeric_geometry
from robot_dynamics.closed_form.recording import Input, Output, Recording
from robot_dynamics.closed_form.tape import Scalar, Tape
from robot_dynamics.dynamics.kernels import direct, layout, terms
from robot_dynamics.model.robot import Robot

_HEADERS = ('math.h', 'stddef.h', 'stdint.h', 'string.h')
_STREAMING = '#if defined(__SSE2__)\n#include <immintrin.h>\n#endif'
_FROM_DIRECT = ('TYPE', 'DATA', 'DIMENSIONS', 'SHAPE', 'BASE', 'DESCRIPTOR', 'FLAGS',
                'READABLE', 'WRITEABLE')
_FROM_LAYOUT = ('BUFFER_SIGN', 'BUFFER_SIZE', 'BUFFER_MARK', 'BUFFER_START', 'SIGN', 'NOBODY')
_FROM_TERMS = ('VISCOUS', 'COULOMB', 'ARMATURE')


#: ``fill_sines`` in ``sines.c``.
_SINES = Sines('fill_sines', 8)


def written(name: str) -> str:
    """Return the text of a file of C in this package."""
    return files(__package__).joinpath(name).read_text(encoding='utf-8')


def library_source(robot: Robot, mark: float) -> str:
    """Return the C of all kernels of a robot and of its gate.

    Parameters
    ----------
    robot : Robot
        The robot; its inertial parameters do not matter, its gravity does.
    mark : float
        What stands for the robot's tree in memory prepared for regressors.
    """
    geometry = numeric_geometry(robot)
    parts = ['\n'.join(f'#include <{header}>' for header in _HEADERS), _STREAMING,
             PART_MACRO, _definitions(robot, mark), _zeros(geometry), written('objects.c'),
             written('sines.c'),
             regressor_kernel(geometry), adaptive_kernel(geometry), efforts_kernel(geometry),
             matrices_kernel(geometry), written('gate.c')]
    return '\n\n'.join(parts)


def regressor_kernel(geometry: Geometry) -> str:
    """Yr; only entries of bodies that the joint carries are written."""
    tape, inputs = _inputs(geometry, ('q', 'v', 'v_r', 'a_r'))
    rows = recursion.regressor(tape, geometry, *inputs.values())
    carried = carried_bodies(geometry)
    entries = [entry if c // 10 in carried[j] else None
               for j, row in enumerate(rows) for c, entry in enumerate(row)]
    return _kernel('slotine_li_kernel', tape, inputs, {'Y': entries})


def adaptive_kernel(geometry: Geometry) -> str:
    """Yr pi and Yr^T s."""
    tape, inputs = _inputs(geometry, ('q', 'v', 'v_r', 'a_r', 's', 'pi'))
    tau, gradient = recursion.adaptive_terms(tape, geometry, *inputs.values())
    return _kernel('adaptive_kernel', tape, inputs, {'tau': tau, 'gradient': gradient})


def efforts_kernel(geometry: Geometry) -> str:
    """M a + C v + g."""
    tape, inputs = _inputs(geometry, ('q', 'v', 'a', 'pi'))
    q, v, a, parameters = inputs.values()
    tau = recursion.efforts(tape, geometry, q, v, v, a, parameters)
    return _kernel('efforts_kernel', tape, inputs, {'tau': tau})


def matrices_kernel(geometry: Geometry) -> str:
    """M, C and g."""
    tape, inputs = _inputs(geometry, ('q', 'v', 'pi'))
    M, C, g = composite.matrices(tape, geometry, *inputs.values())
    return _kernel('matrices_kernel', tape, inputs,
                   {'M': _flat(M), 'C': _flat(C), 'g': g})


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


def _inputs(geometry: Geometry, groups: tuple[str, ...]) -> tuple[Tape, dict[str, list[Scalar]]]:
    """Return a tape and the arrays of variables by name."""
    tape = Tape()
    return tape, {group: tape.symbols(group, (
        f'{group}{k}' for k in range(10 * len(geometry.bodies) if group == 'pi'
                                     else geometry.n))) for group in groups}


def _kernel(name: str, tape: Tape, inputs: Mapping[str, list[Scalar]],
            outputs: Mapping[str, list[Scalar | None]]) -> str:
    return c_function(Recording(
        name, '', '', tape, tuple(Input(group, ()) for group in inputs),
        tuple(Output(key, (len(entries),), tuple(entries)) for key, entries in outputs.items())),
        storage='static ', sines=_SINES)


def _definitions(robot: Robot, mark: float) -> str:
    values = {'JOINTS': robot.n, 'INERTIAL': 10 * robot.n_bodies,
              'IS_DIRECT': int(robot.is_directly_driven), 'TREE_MARK': mark}
    for module, names in ((direct, _FROM_DIRECT), (layout, _FROM_LAYOUT), (terms, _FROM_TERMS)):
        values |= {name: getattr(module, name) for name in names}
    return '\n'.join(f'#define {name} {value!r}' for name, value in values.items())


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
