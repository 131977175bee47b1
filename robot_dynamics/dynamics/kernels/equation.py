# SPDX-License-Identifier: Apache-2.0
r"""Equations of a robot, written for one sample.

An `Equation` is a function ``f(model, *inputs, *outputs)`` for the joints of the *bodies* that
returns a status. Its axes are named by letters::

    q  positions        n  velocities        b  bodies        p  ten parameters per body
    t  the chosen joint terms (`terms`)      w  p and the columns of these terms
    3, 4, 5, 6          that many

Independent joints may be fewer than the joints of bodies (mimic joints) or in another order. With
v_b = S v, tau = S^T tau_b and M = S^T M_b S. This module therefore multiplies inputs by S and
every axis n of an output by S^T; the equations do not depend on the coupling.

`Equation.load` gives the address of the compiled equation on pointers to one sample; the gate
(`robot_dynamics.dynamics.native.gate`) calls it, for one sample or many.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numba import types

from robot_dynamics.dynamics.kernels.layout import (
    BODIES,
    HAS_QUATERNIONS,
    HEADER,
    IS_CHECKED,
    LENGTH,
    MOVING_POSITIONS,
    OFFSETS,
    POSITION_SHARES,
    RATE_SHARES,
    ROWS,
    SHARES_END,
    WIDTH,
)
from robot_dynamics.dynamics.kernels.loading import Compiled, routine
from robot_dynamics.dynamics.kernels.pose import have_unit_length

#: Status of an equation: done, or arguments refused. A positive number is one more than the index
#: of a joint that moves no inertia.
DONE, REFUSED = 0, -1

_POINTERS = types.CPointer(types.CPointer(types.float64))


@routine
def model_of(robot):
    """Table of the velocities of the bodies; see `layout`."""
    rows = int(robot[ROWS]) + 1
    return robot[HEADER:HEADER + rows * WIDTH].reshape((rows, WIDTH))


@routine
def shares_of(robot, which):
    """Entries (row, column, share) of S for positions or rates; none where S = 1."""
    start, stop = int(robot[which]), int(robot[which + 1])
    return robot[start:stop].reshape(((stop - start) // 3, 3))


@routine
def spread_positions(robot, q):
    """Positions of the joints of the bodies, S q + s0."""
    shares = shares_of(robot, POSITION_SHARES)
    start = int(robot[OFFSETS])
    moved = robot[start:start + int(robot[MOVING_POSITIONS])].copy()
    for e in range(shares.shape[0]):
        moved[int(shares[e, 0])] += shares[e, 2] * q[int(shares[e, 1])]
    return moved


@routine
def spread(robot, v):
    """Rates of the joints of the bodies, S v."""
    shares = shares_of(robot, RATE_SHARES)
    moved = np.zeros(int(robot[ROWS]))
    for e in range(shares.shape[0]):
        moved[int(shares[e, 0])] += shares[e, 2] * v[int(shares[e, 1])]
    return moved


@routine
def is_refused(robot, q):
    """Whether a quaternion is not of unit length, which the general method reports."""
    if robot[IS_CHECKED] == 0.0 or robot[HAS_QUATERNIONS] == 0.0:
        return False
    moved = q if robot[RATE_SHARES] == robot[SHARES_END] else spread_positions(robot, q)
    return not have_unit_length(model_of(robot), moved)


@routine
def fold(robot, x, y):
    """S^T x along the middle one of three axes."""
    shares = shares_of(robot, RATE_SHARES)
    for outer in range(y.shape[0]):
        for row in range(y.shape[1]):
            for inner in range(y.shape[2]):
                y[outer, row, inner] = 0.0
        for e in range(shares.shape[0]):
            row, to, share = int(shares[e, 0]), int(shares[e, 1]), shares[e, 2]
            for inner in range(y.shape[2]):
                y[outer, to, inner] += share * x[outer, row, inner]


class Equation(Compiled):
    """An equation of one sample; see this module.

    Parameters
    ----------
    function : callable
        Returns DONE, REFUSED, or one more than a joint without inertia.
    inputs, outputs : tuple of str
        Axes of each array, one letter per axis; a string of digits such as '54' is a table.
    is_coupled : bool
        Whether the function gets the whole robot and applies the coupling itself.
    on_demand : bool
        Whether it is compiled at its first call instead of by ``warm_up``.

    Attributes
    ----------
    row : callable
        ``row(robot, *inputs, *outputs)`` for the independent joints, to call from kernels.
    """

    def __init__(self, function: Callable[..., Any], inputs: tuple[str, ...],
                 outputs: tuple[str, ...], is_coupled: bool, on_demand: bool):
        super().__init__(function, on_demand)
        self.inputs, self.outputs = inputs, outputs
        self.function, self._function = function, routine(function)
        self.row = self._function if is_coupled else routine(self._made('row', _row_source(
            inputs, outputs)))
        self._callback: Any = None

    def load(self, *, announce: bool = True) -> int:
        """Address of ``int64 f(inputs, outputs, robot)`` on pointers to float64, compiled."""
        if self._callback is None:
            self._callback = self.callback(
                self._made('entry', _entry_source(self.inputs, self.outputs)),
                types.int64(_POINTERS, _POINTERS, types.CPointer(types.float64)),
                announce=announce)
        return self._callback.address

    def _made(self, name: str, source: str) -> Callable[..., Any]:
        """Function from source text, in the module of the equation."""
        scope = {'np': np, 'function': self._function, 'row': getattr(self, 'row', None),
                 'carray': numba.carray, 'model_of': model_of, 'spread': spread,
                 'spread_positions': spread_positions, 'fold': fold,
                 'is_refused': is_refused}
        exec(compile(source, self.function.__code__.co_filename, 'exec'), scope)
        made = scope[name]
        made.__module__ = self.function.__module__
        made.__qualname__ = f'{self.function.__name__}.{name}'
        return made


def equation(inputs: str, outputs: str, *, is_coupled: bool = False, on_demand: bool = False,
             ) -> Callable[[Callable[..., Any]], Equation]:
    """Make an `Equation` of a function; axes are given as in ``'q n n', 'nn n'``."""
    return lambda function: Equation(function, tuple(inputs.split()), tuple(outputs.split()),
                                     is_coupled, on_demand)


# Numbers that the functions below use: of the independent joints, and n_b, q_b of the bodies.
_SIZES = f"""
    n_b, nb, n, nq = int(robot[{ROWS}]), int(robot[{BODIES}]), int(robot[2]), int(robot[3])
"""


def _length(axis: str, of_bodies: bool = False) -> str:
    if axis.isdigit():
        return axis
    return {'q': f'int(robot[{MOVING_POSITIONS}])' if of_bodies else 'nq',
            'n': 'n_b' if of_bodies else 'n', 'b': 'nb', 'p': '10 * nb', 't': '6', 'w': 'w'}[axis]


def _shape(axes: str, of_bodies: bool = False) -> str:
    return '(' + ', '.join(_length(axis, of_bodies) for axis in axes) + ',)'


def _names(inputs: tuple[str, ...], outputs: tuple[str, ...]) -> str:
    return ', '.join([f'x{k}' for k in range(len(inputs))]
                     + [f'y{k}' for k in range(len(outputs))])


def _width(inputs: tuple[str, ...], first: str) -> str:
    """Source of the number w, if the equation has joint terms."""
    return f'    w = 10 * nb + int({first}[0]) * n\n' if 't' in inputs else ''


def _row_source(inputs: tuple[str, ...], outputs: tuple[str, ...]) -> str:
    """Source of ``row``: spread the inputs, call the function, fold the outputs."""
    lines = [f'def row(robot, {_names(inputs, outputs)}):', '    model = model_of(robot)',
             f'    if robot[{RATE_SHARES}] == robot[{SHARES_END}]:',
             f'        return function(model, {_names(inputs, outputs)})', _SIZES]
    lines += [f'    b{k} = ' + {'q': 'spread_positions(robot, x{})', 'n': 'spread(robot, x{})'
                                }.get(axes, 'x{}').format(k) for k, axes in enumerate(inputs)]
    lines += [f'    z{k} = np.empty({_shape(axes, True)})' if 'n' in axes else f'    z{k} = y{k}'
              for k, axes in enumerate(outputs)]
    given = ', '.join([f'b{k}' for k in range(len(inputs))]
                      + [f'z{k}' for k in range(len(outputs))])
    lines.append(f'    status = function(model, {given})')
    for k, axes in enumerate(outputs):
        folded = [at for at, axis in enumerate(axes) if axis == 'n']
        for at in folded:
            before = ' * '.join(['1', *(_length(a) for a in axes[:at])])
            after = ' * '.join(['1', *(_length(a, True) for a in axes[at + 1:])])
            target = f'y{k}' if at == folded[-1] else f't{k}_{at}'
            if at != folded[-1]:
                lines.append(f'    {target} = np.empty(({before}) * n * ({after}))')
            lines += [f'    fold(robot, z{k}.reshape(({before}, n_b, {after})), '
                      f'{target}.reshape(({before}, n, {after})))', f'    z{k} = {target}'
                      if at != folded[-1] else '']
    return '\n'.join([*lines, '    return status', ''])


def _entry_source(inputs: tuple[str, ...], outputs: tuple[str, ...]) -> str:
    """Source of ``entry``: one sample behind pointers."""
    lines = ['def entry(inputs, outputs, pointer):',
             f'    robot = carray(pointer, (int(carray(pointer, ({HEADER},))[{LENGTH}]),))',
             _SIZES,
             _width(inputs, f'carray(inputs[{inputs.index("t")}], (6,))' if 't' in inputs
                    else '')]
    lines += [f'    x{k} = carray(inputs[{k}], {_shape(axes)})' for k, axes in enumerate(inputs)]
    lines += [f'    y{k} = carray(outputs[{k}], {_shape(axes)})'
              for k, axes in enumerate(outputs)]
    if 'q' in inputs:
        lines += [f'    if is_refused(robot, x{inputs.index("q")}):', f'        return {REFUSED}']
    return '\n'.join([*lines, f'    return row(robot, {_names(inputs, outputs)})', ''])
