# SPDX-License-Identifier: Apache-2.0
"""A derived quantity as a complete text in a language, with notes.

Expanded formulas have exact fractions. A length of 0.45 m is a double with the exact value
8106479329266893/18014398509481984, so that decimals are written instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from robot_dynamics.closed_form.algebra import explicit, import_sympy
from robot_dynamics.closed_form.c_language import PART_MACRO, c_function
from robot_dynamics.closed_form.languages import (
    Infix,
    Matrices,
    all_equations,
    latex_document,
    latex_symbol,
    python_function,
    wolfram_comment,
    wolfram_function,
)
from robot_dynamics.closed_form.recording import Recording
from robot_dynamics.errors import ParameterError, shown

if TYPE_CHECKING:
    import sympy

#: Largest denominator of a fraction that is not written as a decimal.
_LONGEST_DENOMINATOR = 100


def in_decimals(expression: sympy.Expr) -> sympy.Expr:
    """A sum of polynomials times sines and cosines, with decimals if its fractions are long.

    Each coefficient is then the nearest double, in the order of sines and cosines.
    """
    sympy = import_sympy()
    expression = sympy.sympify(expression)
    if all(number.q <= _LONGEST_DENOMINATOR for number in expression.atoms(sympy.Rational)):
        return expression
    total = sympy.Integer(0)
    for term in sympy.Add.make_args(sympy.expand(expression, trig=False)):
        coefficient, rest = term.as_coeff_Mul()
        if not coefficient.is_Integer:
            coefficient = sympy.Float(float(coefficient))
        total += coefficient * rest
    waves = sorted(total.atoms(sympy.sin, sympy.cos), key=sympy.default_sort_key)
    return sympy.collect(total, waves)


def decimal_text(expression: sympy.Expr) -> str:
    """Text of an expression, with decimals if its fractions are long."""
    return str(import_sympy().sstr(in_decimals(expression), full_prec=False))


@dataclass(frozen=True)
class Language:
    """A way to write a recording and notes about it.

    ``speller`` returns a function that writes SymPy entries, which `write` uses instead of the
    formulas; None for languages that are only compiled.
    """

    write: Callable[[Recording, Sequence[str], Matrices | None], str]
    speller: Callable[[Recording], Callable[[sympy.Expr], str]] | None = None


def document(recording: Recording, language: str = 'text', *, notes: Sequence[str] = (),
             is_explicit: bool = False) -> str:
    """Write a recording in a language.

    Parameters
    ----------
    recording : Recording
        The formulas.
    language : str
        ``'text'``, ``'latex'``, ``'python'``, ``'c'`` or ``'wolfram'``.
    notes : sequence of str
        Notes on the formulas, a line each.
    is_explicit : bool
        Whether every entry is expanded, without intermediates: for small robots, in languages for
        readers. Needs SymPy.

    Raises
    ------
    ParameterError
        For an unknown language, or one without expanded entries.
    BackendError
        If expanded entries are requested without SymPy.

    Examples
    --------
    >>> from robot_dynamics import Robot
    >>> from robot_dynamics.closed_form import derive, document
    >>> print(document(derive(Robot.from_urdf('planar_2r'), 'M'), is_explicit=True))
    planar_2r: mass matrix
    q1, ...: positions, rad or m
    m1, ...: inertial parameters, ten per body: m, mx, my, mz, Jxx, Jxy, Jxz, Jyy, Jyz, Jzz
    ...
    """
    if not isinstance(language, str) or language not in LANGUAGES:
        raise ParameterError(f'must be one of {", ".join(LANGUAGES)}, got {shown(language)}',
                             subject='format', remedy='correct it')
    chosen = LANGUAGES[language]
    if not is_explicit:
        return chosen.write(recording, notes, None)
    if chosen.speller is None:
        raise ParameterError(f'is not available in {language}', subject='explicit',
                             remedy='leave it out: a compiler needs the intermediates')
    spelt = chosen.speller(recording)
    return chosen.write(recording, notes, {
        name: [spelt(entry) for entry in matrix] for name, matrix in explicit(recording).items()})


def constants_note(recording: Recording) -> list[str]:
    """A line with the values of symbols, as far as they are known."""
    known = [f'{name} = {value:g}' for name, value in recording.constants.items()
             if value is not None]
    return ['here ' + ', '.join(known)] if known else []


def columns_note(recording: Recording) -> list[str]:
    """A line with the parameters of the columns of a regressor."""
    return ['columns: ' + ', '.join(recording.columns)] if recording.columns else []


def _text(recording: Recording, notes: Sequence[str], matrices: Matrices | None) -> str:
    lines, note = all_equations(recording, Infix, matrices)
    head = [f'{recording.robot}: {recording.text}', *notes, *note,
            *(f'{array.names[0]}, ...: {array.text}' for array in recording.inputs
              if array.names)]
    return '\n'.join([*head, '', *lines, ''])


def _latex_speller(recording: Recording) -> Callable[[sympy.Expr], str]:
    latex = import_sympy().latex
    names = {import_sympy().Symbol(symbol.name): latex_symbol(symbol)
             for symbol in recording.symbols}
    return lambda entry: str(latex(in_decimals(entry), symbol_names=names))


def _python(recording: Recording, notes: Sequence[str], _: Matrices | None) -> str:
    comments = [f'# {note}' for note in (f'{recording.robot}: {recording.text}', *notes)]
    return '\n'.join([*comments, '', 'import numpy as np', '', '', python_function(recording)])


def _c(recording: Recording, notes: Sequence[str], _: Matrices | None) -> str:
    arrays = [f'{array.group}[{len(array.names)}]: {array.text}'
              + (f' ({", ".join(array.names)})' if array.group == 'constants' else '')
              for array in recording.inputs]
    results = [f'{output.name}[{len(output.entries)}]: {output.text}, row after row'
               for output in recording.outputs]
    comment = [f'{recording.robot}: {recording.text}', *notes, *arrays, *results]
    # The text of a comment cannot end it.
    safe = [line.replace('*/', '* /').replace('/*', '/ *') for line in comment]
    function = c_function(recording)
    macro = [PART_MACRO] if '\nPART ' in f'\n{function}' else []
    return '\n'.join(['/* ' + '\n * '.join(safe), ' */', '', '#include <math.h>', '', *macro,
                      function])


def _wolfram(recording: Recording, notes: Sequence[str], matrices: Matrices | None) -> str:
    comments = ''.join(f'{wolfram_comment(note)}\n' for note in notes)
    return comments + wolfram_function(recording, matrices)


LANGUAGES = {
    'text': Language(_text, lambda _: decimal_text),
    'latex': Language(latex_document, _latex_speller),
    'python': Language(_python),
    'c': Language(_c),
    'wolfram': Language(_wolfram, lambda _: import_sympy().mathematica_code),
}
