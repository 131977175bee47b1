# SPDX-License-Identifier: Apache-2.0
"""Derivation of the equations of motion of a robot, by recursion or from energies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from robot_dynamics.closed_form import recursion
from robot_dynamics.closed_form.blocks import Lagrangian, regressor_of_blocks
from robot_dynamics.closed_form.description import CONSTANTS, Description, describe
from robot_dynamics.closed_form.geometry import Geometry, number
from robot_dynamics.closed_form.recording import Input, Output, Recording
from robot_dynamics.closed_form.recursion import Rows
from robot_dynamics.closed_form.tape import Scalar, Tape
from robot_dynamics.errors import ModelError, ParameterError, shown
from robot_dynamics.model.inertia import PARAMETER_SUFFIXES
from robot_dynamics.model.robot import Robot

# Text of each array of variables, and the names of its elements for joint k.
_ARRAYS = {
    'q': ('positions, rad or m', 'q'),
    'v': ('velocities, rad/s or m/s', 'v'),
    'a': ('accelerations, rad/s^2 or m/s^2', 'acc'),
    'v_r': ('reference velocities, rad/s or m/s', 'vr'),
    'a_r': ('reference accelerations, rad/s^2 or m/s^2', 'ar'),
}


@dataclass(frozen=True)
class Quantity:
    """A quantity that can be derived."""

    function: str  # Name of the function that computes it.
    symbol: str  # Name of the array.
    text: str  # What it is, in a sentence.
    arrays: tuple[str, ...]  # Joint vectors that it depends on.
    is_regressor: bool = False  # With ten columns per body in place of inertial parameters.


QUANTITIES = {
    'regressor': Quantity(
        'regressor', 'Y', 'classical regressor: M(q) a + C(q, v) v + g(q) = Y(q, v, a) pi',
        ('q', 'v', 'a'), True),
    'slotine-li': Quantity(
        'slotine_li_regressor', 'Yr', 'Slotine-Li regressor: M(q) a_r + C(q, v) v_r + g(q) = '
        'Yr(q, v, v_r, a_r) pi', ('q', 'v', 'v_r', 'a_r'), True),
    'M': Quantity('mass_matrix', 'M', 'mass matrix', ('q',)),
    'C': Quantity('coriolis_matrix', 'C', 'Christoffel matrix', ('q', 'v')),
    'g': Quantity('gravity_torque', 'g', 'gravity efforts, N m or N', ('q',)),
    'tau': Quantity('inverse_dynamics', 'tau', 'joint efforts M(q) a + C(q, v) v + g(q), N m '
                    'or N', ('q', 'v', 'a')),
}


def derive(source: Robot | Description | str | bytes | Path | Mapping[str, Any],
           what: str = 'slotine-li', *, method: str = 'recursion', symbolic: bool = False,
           numeric_parameters: bool = False) -> Recording:
    """Derive a quantity as formulas.

    Parameters
    ----------
    source : Robot, Description, or a DH table
        The robot; see `robot_dynamics.closed_form.description.describe`.
    what : str
        ``'regressor'``, ``'slotine-li'``, ``'M'``, ``'C'``, ``'g'`` or ``'tau'``.
    method : str
        ``'recursion'`` through the bodies, which keeps the formulas of many joints short,
        or ``'blocks'``: from the kinetic and potential energy of each body.
    symbolic : bool
        Whether numeric lengths and gravity become symbols.
    numeric_parameters : bool
        Whether M, C, g and tau contain the robot's inertial parameters instead of symbols.

    Returns
    -------
    Recording
        The formulas.

    Raises
    ------
    ModelError
        If the robot cannot be read, has joints of several degrees of freedom, or a symbol with the
        name of a variable.
    ParameterError
        For an unknown quantity or method.

    See Also
    --------
    document : The formulas as text, LaTeX, Python, C or in the Wolfram language.

    Examples
    --------
    >>> from robot_dynamics import Robot
    >>> from robot_dynamics.closed_form import derive
    >>> derive(Robot.from_urdf('planar_2r'), 'M').outputs[0].shape
    (2, 2)
    """
    quantity, derived = _chosen(what, QUANTITIES, 'what'), _chosen(method, METHODS, 'method')
    description = source if isinstance(source, Description) \
        else describe(source, symbolic=symbolic)
    tape = Tape()
    geometry = description.on(tape)
    inputs = [Input(group, tuple(f'{prefix}{k}' for k in range(1, geometry.n + 1)), text)
              for group in quantity.arrays for text, prefix in (_ARRAYS[group],)]
    arrays: dict[str, list[Scalar]] = {
        array.group: [*tape.symbols(array.group, array.names)] for array in inputs}
    parameters: list[Scalar] = []
    if not quantity.is_regressor:
        if numeric_parameters:
            parameters = [number(x) for x in description.parameters.ravel()]
        else:
            inputs.append(Input('pi', parameter_symbols(description), 'inertial parameters, ten '
                                'per body: ' + ', '.join(PARAMETER_SUFFIXES)))
            parameters = [*tape.symbols(inputs[-1].group, inputs[-1].names)]
    if description.units:
        inputs.append(Input(CONSTANTS, tuple(description.units), 'lengths, m, and gravity, m/s^2'))
    _check_names(inputs)
    entries: Any = derived(what, tape, geometry, arrays, parameters)
    is_matrix = isinstance(entries[0], list)
    output = Output(
        quantity.symbol, (len(entries), len(entries[0])) if is_matrix else (len(entries),),
        tuple(entry for row in entries for entry in row) if is_matrix else tuple(entries),
        quantity.text)
    return Recording(
        quantity.function, quantity.text, description.name, tape, tuple(inputs), (output,),
        description.values,
        parameter_symbols(description) if quantity.is_regressor else ())


def parameter_symbols(description: Description) -> tuple[str, ...]:
    """Symbols of the inertial parameters: m1, mx1, ..., Jzz1, m2, ..."""
    return tuple(f'{suffix}{k}' for k in range(1, len(description.body_names) + 1)
                 for suffix in PARAMETER_SUFFIXES)


def _check_names(inputs: list[Input]) -> None:
    """Reject a symbol of the table with the name of a variable."""
    taken: set[str] = set()
    for array in inputs:
        for name in array.names:
            if name in taken:
                raise ModelError('is the name of a variable already', subject=name,
                                 remedy='rename the symbol of the table')
            taken.add(name)


def _chosen(name: str, known: Mapping[str, Any], subject: str) -> Any:
    if not isinstance(name, str) or name not in known:
        raise ParameterError(f'must be one of {", ".join(known)}, got {shown(name)}',
                             subject=subject, remedy='correct it')
    return known[name]


_Arrays = dict[str, list[Scalar]]


def _by_recursion(what: str, tape: Tape, arm: Geometry, x: _Arrays, pi: list[Scalar]
                  ) -> Rows | list[Scalar]:
    q, v = x['q'], x.get('v', [])
    if what == 'M':
        return recursion.mass_matrix(tape, arm, q, pi)
    if what == 'C':
        return recursion.coriolis_matrix(tape, arm, q, v, pi)
    if what == 'g':
        return recursion.gravity_torque(tape, arm, q, pi)
    if what == 'tau':
        return recursion.efforts(tape, arm, q, v, v, x['a'], pi)
    return recursion.regressor(tape, arm, q, v, x.get('v_r', v), x.get('a_r', x.get('a', [])))


def _by_blocks(what: str, tape: Tape, arm: Geometry, x: _Arrays, pi: list[Scalar]
               ) -> Rows | list[Scalar]:
    lagrangian = Lagrangian(tape, arm, x['q'])
    if what in ('M', 'C', 'g'):
        return lagrangian.matrices(x.get('v', [0] * arm.n), pi)['MCg'.index(what)]
    Y = regressor_of_blocks(
        lagrangian.slotine_li_blocks(x['v'], x['v_r'], x['a_r']) if what == 'slotine-li'
        else lagrangian.classical_blocks(x['v'], x['a']))
    if what != 'tau':
        return Y
    return [sum(y * parameter for y, parameter in zip(row, pi, strict=True)) for row in Y]


METHODS = {'recursion': _by_recursion, 'blocks': _by_blocks}
