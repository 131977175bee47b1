# SPDX-License-Identifier: Apache-2.0
"""Formulas as a function in the Wolfram language of Mathematica."""

from __future__ import annotations

import re

from robot_dynamics.closed_form.infix import Infix
from robot_dynamics.closed_form.recording import Output, Recording, plan
from robot_dynamics.closed_form.tape import Number
from robot_dynamics.errors import ModelError

#: Capitals that mean something of the language's own.
_PROTECTED = ('C', 'D', 'E', 'I', 'K', 'N', 'O')


class WolframText(Infix):
    """Formulas in the Wolfram language."""

    def number(self, x: Number) -> str:
        """Write powers of ten as ``*^``."""
        mantissa, _, exponent = super().number(x).partition('e')
        return f'{mantissa}*^{int(exponent)}' if exponent else mantissa

    def call(self, function: str, argument: str) -> str:
        """Write a sine or cosine."""
        return f'{super().call(function, "")[:-2].capitalize()}[{argument}]'


def wolfram_function(recording: Recording, matrices: dict[str, list[str]] | None = None) -> str:
    """Write a function of one list for each input, that returns the matrix (or a list).

    Parameters
    ----------
    recording : Recording
        The formulas.
    matrices : dict of str to list of str, optional
        By output, its entries in the language, in place of those of the recording.
    """
    _check_names(recording)
    arguments = ', '.join('{' + ', '.join(f'{name}_' for name in array.names) + '}'
                          for array in recording.inputs)
    head = f'{wolfram_name(recording.name)}[{arguments}] :='
    choice = plan(recording, labels=False, reserved=[name for array in recording.inputs
                                                     for name in array.names])
    writer = WolframText(choice.variables)
    if matrices is not None:
        results = [_list(output, matrices[output.name]) for output in recording.outputs]
        steps = []
    else:
        results = [_list(output, [writer.text(entry) for entry in output.entries])
                   for output in recording.outputs]
        steps = [f'  {name} = {writer.define(formula)};'
                 for formula, name in choice.variables.items()]
    result = results[0] if len(results) == 1 else '{' + ', '.join(results) + '}'
    names = ', '.join(choice.variables.values()) if steps else ''
    return '\n'.join([wolfram_comment(f'{recording.robot}: {recording.text}'), head,
                      f' Module[{{{names}}},', *steps, f'  {result}]', ''])


def wolfram_comment(text: str) -> str:
    """Return a text as a comment; nothing in it can end that or begin another."""
    return f'(* {text.replace("*)", "* )").replace("(*", "( *")} *)'


def wolfram_name(name: str) -> str:
    """Return mass_matrix as massMatrix: the language has no underscores in names."""
    return re.sub(r'_(\w)', lambda match: match[1].upper(), name)


def _list(output: Output, entries: list[str]) -> str:
    if len(output.shape) == 1:
        return '{' + ', '.join(entries) + '}'
    width = output.shape[1]
    rows = (', '.join(entries[k:k + width]) for k in range(0, len(entries), width))
    return '{' + ',\n   '.join(f'{{{row}}}' for row in rows) + '}'


def _check_names(recording: Recording) -> None:
    for array in recording.inputs:
        for name in array.names:
            if name in _PROTECTED:
                raise ModelError('means something else in the Wolfram language', subject=name,
                                 remedy='call the symbol otherwise')
