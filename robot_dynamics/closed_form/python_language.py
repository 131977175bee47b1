# SPDX-License-Identifier: Apache-2.0
"""Formulas as a Python function that needs numpy alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from robot_dynamics.closed_form.infix import Infix
from robot_dynamics.closed_form.recording import Entry, Intermediate, Recording, plan
from robot_dynamics.closed_form.tape import Symbol


class PythonText(Infix):
    """Formulas in Python: elements of arrays."""

    def symbol(self, symbol: Symbol) -> str:
        """Element of the array that the variable belongs to."""
        return f'{symbol.group}[{symbol.index}]'

    def call(self, function: str, argument: str) -> str:
        """Call numpy's function."""
        return f'np.{super().call(function, argument)}'


def python_function(recording: Recording) -> str:
    """Write the function ``name(inputs, ...)`` that returns the array of the output.

    Several outputs come as a tuple.
    """
    choice = plan(recording, reserved=[
        'np', recording.name, *(array.group for array in recording.inputs),
        *(output.name for output in recording.outputs)])
    writer = PythonText(choice.variables)
    names = ', '.join(array.group for array in recording.inputs)
    lines = [f'def {recording.name}({names}):', f'    """Return the {recording.text}.', '']
    lines += [f'    {array.group}: {array.text}{_elements(array.group, array.names)}'
              for array in recording.inputs]
    lines.append('    """')
    lines += [f'    {output.name} = np.zeros({output.shape})' for output in recording.outputs]
    for step in choice.steps():
        if isinstance(step, Intermediate):
            lines.append(f'    {step.name} = {writer.define(step.formula)}')
        elif isinstance(step, Entry) and not step.is_zero:
            place = step.place if len(step.output.shape) == 1 \
                else '{}, {}'.format(*divmod(step.place, step.output.shape[1]))
            lines.append(f'    {step.output.name}[{place}] = {writer.text(step.value)}')
    lines.append('    return ' + ', '.join(output.name for output in recording.outputs))
    return '\n'.join([*lines, ''])


def _elements(group: str, names: tuple[str, ...]) -> str:
    return f' ({", ".join(names)})' if group == 'constants' else ''


def compiled(recording: Recording) -> Callable[..., Any]:
    """Return the Python function itself, for trying formulas out."""
    space: dict[str, Any] = {'np': np}
    exec(compile(python_function(recording), f'<{recording.name}>', 'exec'), space)
    function: Callable[..., Any] = space[recording.name]
    return function
