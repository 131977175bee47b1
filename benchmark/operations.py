# SPDX-License-Identifier: Apache-2.0
"""Count the arithmetic of the equations: ``python benchmark/operations.py 2 4 8``.

The kernels run as plain Python on numbers that count the additions, subtractions,
multiplications and divisions they take part in. Prints a JSON list with an entry for each
shape and size: shape, joints, pairs of a body and one that carries it, and operations by
what is computed. No clock is involved, so the same everywhere.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import Any

# Before numba is imported: leaves every kernel a plain function.
os.environ['NUMBA_DISABLE_JIT'] = '1'

import numpy as np
from scaling_robots import SHAPES, pairs

from robot_dynamics.dynamics.kernels import matrices, newton_euler, slotine_li
from robot_dynamics.dynamics.packing import body_table


class Counted(float):
    """A float that counts what is done with it."""

    operations = 0


def _counting(name: str) -> Callable[..., Any]:
    plain = getattr(float, name)

    def operation(self: Counted, *other: Any) -> Any:
        result = plain(self, *other)
        if result is NotImplemented:
            return result
        Counted.operations += 1
        return Counted(result)
    return operation


for _name in ('add', 'sub', 'mul', 'truediv'):
    setattr(Counted, f'__{_name}__', _counting(f'__{_name}__'))
    setattr(Counted, f'__r{_name}__', _counting(f'__r{_name}__'))


#: Kernels make their tables by this name.
_plain_empty = np.empty


def numbers(*shape: int) -> Any:
    """Return an array of counted numbers, all different."""
    array = _plain_empty(shape, dtype=object)
    array.flat = [Counted(0.1 + 0.01 * k) for k in range(array.size)]
    return array


def inverse_dynamics(model: Any, n: int) -> None:
    """Count M a + C v + g."""
    newton_euler.inverse_dynamics.function(model, numbers(n), numbers(n), numbers(n), numbers(n))


def mass_matrix_and_others(model: Any, n: int) -> None:
    """Count M, C and g."""
    matrices.matrices.function(model, numbers(n), numbers(n), numbers(n, n), numbers(n, n),
                               numbers(n))


def regressor(model: Any, n: int) -> None:
    """Count Yr."""
    slotine_li.fill_regressor(model, *(numbers(n) for _ in range(4)), numbers(n, 10 * n))


def adaptive_terms(model: Any, n: int) -> None:
    """Count Yr pi and Yr^T s."""
    slotine_li.fill_adaptive_terms(model, *(numbers(n) for _ in range(5)), numbers(10 * n),
                                   numbers(n), numbers(10 * n))


#: What is counted, by name.
QUANTITIES = {'tau': inverse_dynamics, 'M, C and g': mass_matrix_and_others, 'Yr': regressor,
              'Yr pi and Yr^T s': adaptive_terms}


def _counted_empty(shape: Any, dtype: Any = float) -> Any:
    return numbers(*(shape if isinstance(shape, tuple) else (shape,)))


def count(shape: str, size: int) -> dict[str, Any]:
    """Count the operations of one robot."""
    robot = SHAPES[shape](size)
    packed = body_table(robot)
    model = _plain_empty(packed.shape, dtype=object)
    model.flat = [Counted(x) for x in packed.ravel()]
    operations = {}
    for name, quantity in QUANTITIES.items():
        Counted.operations = 0
        np.empty = _counted_empty
        try:
            quantity(model, size)
        finally:
            np.empty = _plain_empty
        operations[name] = Counted.operations
    return {'shape': shape, 'joints': size, 'pairs': pairs(robot), 'operations': operations}


if __name__ == '__main__':
    print(json.dumps([count(shape, int(size)) for shape in SHAPES for size in sys.argv[1:]]))
