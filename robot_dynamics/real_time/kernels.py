# SPDX-License-Identifier: Apache-2.0
"""The equations of one robot in C99: ``robot.h`` and ``robot.c`` of a real-time controller.

Each function takes the inertial parameters of the bodies, ten each, in the order of
`Robot.inertial_parameters`: they are the estimates of an adaptive law. Geometry, gravity and
rotor inertias are numbers in the code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from robot_dynamics.closed_form import composite, recursion
from robot_dynamics.closed_form.blocks import Derivative
from robot_dynamics.closed_form.c_language import PART_MACRO, c_function
from robot_dynamics.closed_form.geometry import (
    Geometry,
    number,
    numeric_geometry,
    vector_of,
)
from robot_dynamics.closed_form.recording import Input, Output, Recording
from robot_dynamics.closed_form.tape import Scalar, Tape
from robot_dynamics.closed_form.vectors import (
    ZERO,
    Matrix,
    Vector,
    add,
    cross,
    product,
    times,
)
from robot_dynamics.dynamics.native.robot import _flat as flat
from robot_dynamics.model.robot import Robot

Arrays: TypeAlias = 'Mapping[str, list[Any]]'


@dataclass(frozen=True)
class Kernel:
    """An equation: its inputs, and the formulas of its outputs."""

    text: str
    inputs: tuple[str, ...]
    outputs: Callable[[Tape, Geometry, Robot, Arrays], Mapping[str, list[Scalar]]]


def write_robot(robot: Robot, names: Iterable[str], link: str = '') -> tuple[str, str]:
    """Header and source with the equations of some names, see `KERNELS`.

    `link` is the link or frame of equations of an end effector, see `tip_kernels`.

    Examples
    --------
    >>> from robot_dynamics import Robot
    >>> header, source = write_robot(Robot.from_urdf('planar_2r'), ['gravity'])
    >>> header.splitlines()[-3]
    'void rd_gravity(const double *q, const double *parameters, double *g);'
    """
    geometry, kernels = numeric_geometry(robot), KERNELS | tip_kernels(link)
    recordings = [_record(geometry, robot, name, kernels[name]) for name in names]
    functions = [c_function(recording) for recording in recordings]
    title = f'/* SPDX-License-Identifier: Apache-2.0\n *\n * Equations of {_comment(robot.name)}'
    declarations = [f'/* {recording.text} */\n{_declaration(recording)}'
                    for recording in recordings]
    joints = ', '.join(map(_comment, robot.joint_names))
    header = '\n'.join([
        f'{title}.', ' *', f' * Joints: {joints}.',
        ' * Positions in rad or m, efforts in N m or N. Matrices are stored row after row.',
        ' * Inertial parameters, ten per body: m, m c, and J about the origin of the link',
        ' * (xx, xy, xz, yy, yz, zz).', ' */',
        '#ifndef RD_ROBOT_H', '#define RD_ROBOT_H', '',
        f'#define RD_N {robot.n}  /* joints */',
        f'#define RD_N_BODIES {robot.n_bodies}  /* moving bodies */', '',
        *declarations, '', '#endif', ''])
    macro = [PART_MACRO] if any('\nPART ' in f'\n{text}' for text in functions) else []
    source = '\n'.join([f'{title}, without operations on zeros and ones.\n */',
                        '#include "robot.h"', '', '#include <math.h>', '', *macro, *functions])
    return header, source


def _record(geometry: Geometry, robot: Robot, name: str, kernel: Kernel) -> Recording:
    tape = Tape()
    lengths = {'parameters': 10 * robot.n_bodies}
    inputs = {group: tape.symbols(group, (
        f'{group}{k}' for k in range(lengths.get(group, robot.n)))) for group in kernel.inputs}
    outputs = kernel.outputs(tape, geometry, robot, inputs)
    return Recording(f'rd_{name}', kernel.text, robot.name, tape,
                     tuple(Input(group, ()) for group in inputs),
                     tuple(Output(key, (len(entries),), tuple(entries))
                           for key, entries in outputs.items()))


def _declaration(recording: Recording) -> str:
    arguments = [f'const double *{array.group}' for array in recording.inputs] \
        + [f'double *{output.name}' for output in recording.outputs]
    return f'void {recording.name}({", ".join(arguments)});'


def _comment(text: str) -> str:
    """Text that cannot end a comment."""
    return text.replace('*/', '* /').replace('/*', '/ *')


def _gravity(tape: Tape, arm: Geometry, robot: Robot, x: Arrays) -> dict[str, list[Scalar]]:
    return {'g': recursion.gravity_torque(tape, arm, x['q'], x['parameters'])}


def _mass_matrix(tape: Tape, arm: Geometry, robot: Robot, x: Arrays) -> dict[str, list[Scalar]]:
    M, _, _ = composite.matrices(tape, arm, x['q'], [0] * arm.n, x['parameters'])
    for i, rotor in enumerate(robot.armature):
        M[i][i] = M[i][i] + number(rotor)
    return {'M': flat(M)}


def _inverse_dynamics(tape: Tape, arm: Geometry, robot: Robot, x: Arrays,
                      ) -> dict[str, list[Scalar]]:
    tau = recursion.efforts(tape, arm, x['q'], x['v'], x['v'], x['a'], x['parameters'])
    return {'tau': [effort + a * number(rotor)
                    for effort, a, rotor in zip(tau, x['a'], robot.armature, strict=True)]}


def _effort_change(tape: Tape, arm: Geometry, robot: Robot, x: Arrays,
                   ) -> dict[str, list[Scalar]]:
    change = Derivative(tape, {variable: rate for group in ('q', 'v') for variable, rate
                               in zip(x[group], x[f'd{group}'], strict=True)})
    return {'dtau': [change(effort) for effort in recursion.efforts(
        tape, arm, x['q'], x['v'], x['v'], x['a'], x['parameters'])]}


def _coriolis_effort(tape: Tape, arm: Geometry, robot: Robot, x: Arrays,
                     ) -> dict[str, list[Scalar]]:
    return {'tau': recursion.efforts(tape, replace(arm, gravity=ZERO), x['q'], x['v'], x['v_r'],
                                     [0] * arm.n, x['parameters'])}


def _regressor(tape: Tape, arm: Geometry, robot: Robot, x: Arrays) -> dict[str, list[Scalar]]:
    return {'Y': flat(recursion.regressor(tape, arm, x['q'], x['v'], x['v'], x['a']))}


def _adaptive_terms(tape: Tape, arm: Geometry, robot: Robot, x: Arrays,
                    ) -> dict[str, list[Scalar]]:
    tau, gradient = recursion.adaptive_terms(tape, arm, *(x[group] for group in (
        'q', 'v', 'v_r', 'a_r', 's', 'parameters')))
    return {'tau': tau, 'gradient': gradient}


KERNELS = {
    'gravity': Kernel('Gravity efforts g.', ('q', 'parameters'), _gravity),
    'mass_matrix': Kernel('Mass matrix M with the rotor inertias.', ('q', 'parameters'),
                          _mass_matrix),
    'inverse_dynamics': Kernel('Efforts M a + C v + g with the rotor inertias.',
                               ('q', 'v', 'a', 'parameters'), _inverse_dynamics),
    'effort_change': Kernel('Change of the efforts along changes dq and dv: the derivatives in a '
                            'direction.', ('q', 'v', 'a', 'dq', 'dv', 'parameters'),
                            _effort_change),
    'coriolis_effort': Kernel('Efforts C(q, v) v_r, with the Christoffel matrix C.',
                              ('q', 'v', 'v_r', 'parameters'), _coriolis_effort),
    'regressor': Kernel('Regressor Y of the inertial parameters: M a + C v + g = Y parameters,\n'
                        ' * without rotor inertias.', ('q', 'v', 'a'), _regressor),
    'adaptive_terms': Kernel('Yr parameters and Yr^T s, without rotor inertias and joint terms.',
                             ('q', 'v', 'v_r', 'a_r', 's', 'parameters'), _adaptive_terms),
}


def tip_kernels(link: str) -> dict[str, Kernel]:
    """Equations of a link or frame, by name."""
    def placed(tape: Tape, arm: Geometry, robot: Robot, x: Arrays,
               ) -> tuple[Matrix, Vector, list[list[Scalar]]]:
        """Axes, origin, and Jacobian in base axes."""
        frame, frames = robot.frames[link], composite.frames_of(tape, arm, x['q'], [0] * arm.n)
        axes, origin = frames[frame.body].axes, frames[frame.body].origin
        origin = add(origin, times(axes, vector_of(frame.pose[:3, 3])))
        J, k = recursion.zeros(6, arm.n), frame.body
        while k >= 0:
            twist = (*add(frames[k].u, cross(frames[k].w, origin)), *frames[k].w)
            for joint, factor in arm.bodies[k].coordinates:
                for row, entry in zip(J, twist, strict=True):
                    row[joint] = row[joint] + entry * factor
            k = arm.bodies[k].parent
        x_axis, y_axis, z_axis = (vector_of(row) for row in frame.pose[:3, :3])
        return product(axes, (x_axis, y_axis, z_axis)), origin, J

    def pose(tape: Tape, arm: Geometry, robot: Robot, x: Arrays) -> dict[str, list[Scalar]]:
        axes, origin, _ = placed(tape, arm, robot, x)
        return {'pose': [*(entry for row in axes for entry in row), *origin]}

    def jacobian(tape: Tape, arm: Geometry, robot: Robot, x: Arrays) -> dict[str, list[Scalar]]:
        return {'J': flat(placed(tape, arm, robot, x)[2])}

    def bias(tape: Tape, arm: Geometry, robot: Robot, x: Arrays) -> dict[str, list[Scalar]]:
        change = Derivative(tape, dict(zip(x['q'], x['v'], strict=True)))
        J = placed(tape, arm, robot, x)[2]
        return {'bias': [change(sum(entry * v for entry, v in zip(row, x['v_r'], strict=True)))
                         for row in J]}

    name = _comment(link)
    return {
        'tip_pose': Kernel(f'Rotation, row after row, and origin of {name}.', ('q',), pose),
        'tip_jacobian': Kernel(f'Jacobian of {name}: velocity and angular velocity.', ('q',),
                               jacobian),
        'tip_bias': Kernel('Accelerations dJ/dt v_r.', ('q', 'v', 'v_r'), bias),
    }
