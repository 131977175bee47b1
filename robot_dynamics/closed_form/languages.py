# SPDX-License-Identifier: Apache-2.0
"""Formulas as text with infix operators, as in most languages.

A Python function that needs numpy alone, a function in the Wolfram language of Mathematica,
and a LaTeX document.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from robot_dynamics.closed_form.recording import Entry, Intermediate, Output, Recording, Step, plan
from robot_dynamics.closed_form.tape import Formula, Number, Scalar, Symbol
from robot_dynamics.errors import ModelError

_SUM, _PRODUCT, _ATOM = 1, 2, 3

#: Entries of outputs, by name, that SymPy has written out in some language.
Matrices = dict[str, list[str]]


class Infix:
    """Writer of formulas in one language; subclasses define the syntax."""

    #: What stands between factors, and between both sides of an equation.
    times, equals = '*', ' = '

    def __init__(self, variables: Mapping[Formula, str]):
        self._variables = variables

    def symbol(self, symbol: Symbol) -> str:
        """Spell a variable."""
        return symbol.name

    def variable(self, name: str) -> str:
        """Spell an intermediate."""
        return name

    def number(self, x: Number) -> str:
        """Spell a number that is not negative."""
        return str(x) if isinstance(x, (int, Fraction)) else repr(float(x))

    def call(self, function: str, argument: str) -> str:
        """Spell ``sine`` or ``cosine`` of something."""
        return f'{ {"sine": "sin", "cosine": "cos"}[function]}({argument})'

    def entry(self, output: Output, indices: tuple[int, ...]) -> str:
        """Spell an entry of an output, at indices from 0."""
        return f'{output.name}[{", ".join(str(k + 1) for k in indices)}]'

    def equations(self, steps: Iterable[Step]) -> Iterator[str]:
        """Yield the equations of intermediates and of entries that are not zero."""
        for step in steps:
            if isinstance(step, Intermediate):
                yield f'{self.variable(step.name)}{self.equals}{self.define(step.formula)}'
            elif isinstance(step, Entry) and not step.is_zero:
                yield self.equation(step.output, step.place, self.text(step.value))

    def equation(self, output: Output, place: int, value: str) -> str:
        """Spell the equation of an entry."""
        indices = divmod(place, output.shape[1]) if len(output.shape) == 2 else (place,)
        return f'{self.entry(output, indices)}{self.equals}{value}'

    def define(self, formula: Formula) -> str:
        """Write the operation of a formula, even if the formula has a name."""
        return self._operation(formula)[0]

    def text(self, x: Scalar) -> str:
        """Spell a scalar."""
        return self._spelt(x)[0]

    def _spelt(self, x: Scalar) -> tuple[str, int]:
        """Text of a scalar and the precedence of its outermost operation."""
        if not isinstance(x, Formula):
            if x < 0:
                return f'-{self._bound(-x, _PRODUCT)}', _SUM
            text = self.number(x)
            return text, _PRODUCT if '/' in text else _ATOM
        if x in self._variables:
            return self.variable(self._variables[x]), _ATOM
        return self._operation(x)

    def _operation(self, x: Formula) -> tuple[str, int]:
        if x.operation == 'symbol':
            return self.symbol(x.arguments[0]), _ATOM
        if x.operation in ('sine', 'cosine'):
            return self.call(x.operation, self.text(x.arguments[0])), _ATOM
        if x.operation == 'negate':
            return f'-{self._bound(x.arguments[0], _PRODUCT)}', _SUM
        first, second = x.arguments
        if x.operation == 'multiply':
            return (f'{self._bound(first, _PRODUCT)}{self.times}{self._bound(second, _PRODUCT)}',
                    _PRODUCT)
        if x.operation == 'add':
            return f'{self.text(first)} + {self._bound(second, _SUM)}', _SUM
        return f'{self.text(first)} - {self._bound(second, _PRODUCT)}', _SUM

    def _bound(self, x: Scalar, least: int) -> str:
        """Write an operand, in brackets if its precedence is lower."""
        text, strength = self._spelt(x)
        return f'({text})' if strength < least or text.startswith('-') else text


def all_equations(recording: Recording, language: type[Infix], matrices: Matrices | None
                  ) -> tuple[list[str], list[str]]:
    """Equations of a recording or of its expanded entries, and a note about omitted ones."""
    if matrices is None:
        choice = plan(recording)
        steps = list(choice.steps())
        lines = list(language(choice.variables).equations(steps))
        is_listed = [not step.is_zero for step in steps if isinstance(step, Entry)]
    else:
        lines = [language({}).equation(output, place, entry) for output in recording.outputs
                 for place, entry in enumerate(matrices[output.name]) if entry != '0']
        is_listed = [entry != '0' for matrix in matrices.values() for entry in matrix]
    if all(is_listed):
        return lines, []
    return lines, ['entries that are not listed are zero' if any(is_listed)
                   else 'all entries are zero']


class PythonText(Infix):
    """Formulas in Python: elements of arrays."""

    def symbol(self, symbol: Symbol) -> str:
        """Element of the array that the variable belongs to."""
        return f'{symbol.group}[{symbol.index}]'

    def call(self, function: str, argument: str) -> str:
        """Call numpy's function."""
        return f'np.{super().call(function, argument)}'

    def entry(self, output: Output, indices: tuple[int, ...]) -> str:
        """Element of an array."""
        return f'{output.name}[{", ".join(map(str, indices))}]'


def python_function(recording: Recording) -> str:
    """Write the function ``name(inputs, ...)`` that returns the array of the output.

    Several outputs are returned as a tuple.
    """
    choice = plan(recording, reserved=[
        'np', recording.name, *(array.group for array in recording.inputs),
        *(output.name for output in recording.outputs)])
    names = ', '.join(array.group for array in recording.inputs)
    lines = [f'def {recording.name}({names}):', f'    """Return the {recording.text}.', '']
    lines += [f'    {array.group}: {array.text}'
              + (f' ({", ".join(array.names)})' if array.group == 'constants' else '')
              for array in recording.inputs]
    lines.append('    """')
    lines += [f'    {output.name} = np.zeros({output.shape})' for output in recording.outputs]
    lines += [f'    {equation}'
              for equation in PythonText(choice.variables).equations(choice.steps())]
    lines.append('    return ' + ', '.join(output.name for output in recording.outputs))
    return '\n'.join([*lines, ''])


def compiled(recording: Recording) -> Callable[..., Any]:
    """The Python function itself."""
    space: dict[str, Any] = {'np': np}
    exec(compile(python_function(recording), f'<{recording.name}>', 'exec'), space)
    function: Callable[..., Any] = space[recording.name]
    return function


#: Capital letters with a meaning in the language.
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


def wolfram_function(recording: Recording, matrices: Matrices | None = None) -> str:
    """Write a function of one list for each input, that returns the matrix (or a list).

    ``matrices`` replace the entries of the recording, by output, as text of the language.
    """
    for name in (name for array in recording.inputs for name in array.names):
        if name in _PROTECTED:
            raise ModelError('is reserved in the Wolfram language', subject=name,
                             remedy='rename the symbol')
    arguments = ', '.join('{' + ', '.join(f'{name}_' for name in array.names) + '}'
                          for array in recording.inputs)
    # The language has no underscores in names: massMatrix for mass_matrix.
    name = re.sub(r'_(\w)', lambda match: match[1].upper(), recording.name)
    head = f'{name}[{arguments}] :='
    choice = plan(recording, labels=False)
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
    """The text as a comment, with comment marks in it escaped."""
    return f'(* {text.replace("*)", "* )").replace("(*", "( *")} *)'


def _list(output: Output, entries: list[str]) -> str:
    if len(output.shape) == 1:
        return '{' + ', '.join(entries) + '}'
    width = output.shape[1]
    rows = (', '.join(entries[k:k + width]) for k in range(0, len(entries), width))
    return '{' + ',\n   '.join(f'{{{row}}}' for row in rows) + '}'


#: Largest number of lines in one display, which TeX typesets as a whole.
_LINES = 40

_OPERATORS = {'q': 'q', 'v': r'\dot{q}', 'a': r'\ddot{q}', 'v_r': r'\dot{q}', 'a_r': r'\ddot{q}'}
_NAME = re.compile(r'([A-Za-z]+?)(\d+)(?:_(\d+))?([xyz]*)')
_GREEK = {'alpha': r'\alpha', 'o': r'\omega', 'tau': r'\tau', 'Yr': 'Y_r'}
_SPECIAL = {character: f'\\{character}' for character in '&%$#_{}'} | {
    '\\': r'\textbackslash{}', '~': r'\textasciitilde{}', '^': r'\textasciicircum{}'}


class LatexText(Infix):
    """Formulas in LaTeX's mathematics."""

    times, equals = r'\,', ' &= '

    def symbol(self, symbol: Symbol) -> str:
        r"""Write the velocity of joint 1 as \dot{q}_{1}, and so on."""
        return latex_symbol(symbol)

    def variable(self, name: str) -> str:
        """Write d2x as d_{2x}."""
        return latex_name(name)

    def number(self, x: Number) -> str:
        """Write a number; powers of ten as such."""
        if isinstance(x, Fraction):
            return rf'\tfrac{{{x.numerator}}}{{{x.denominator}}}'
        mantissa, _, exponent = super().number(x).partition('e')
        return rf'{mantissa}\cdot 10^{{{int(exponent)}}}' if exponent else mantissa

    def call(self, function: str, argument: str) -> str:
        """Write a sine or cosine."""
        if re.fullmatch(r'[A-Za-z]_\{\d+\}', argument):
            return rf'\{super().call(function, "")[:-2]} {argument}'
        return rf'\{super().call(function, "")[:-2]}({argument})'

    def entry(self, output: Output, indices: tuple[int, ...]) -> str:
        """Write an entry as M_{1,2}."""
        name = latex_name(output.name)
        if '_' in name and len(indices) == 2:
            name = f'{{{name}}}'
        return f'{name}_{{{",".join(str(k + 1) for k in indices)}}}'


def latex_symbol(symbol: Symbol) -> str:
    """LaTeX of a variable."""
    number = symbol.index + 1
    if symbol.group in _OPERATORS:
        reference = 'r' if symbol.group.endswith('_r') else ''
        return f'{_OPERATORS[symbol.group]}_{{{reference}{number}}}'
    if symbol.group == 'pi':
        body, suffix = divmod(symbol.index, 10)
        kind = symbol.name.rstrip('0123456789')
        if suffix == 0:
            return f'm_{{{body + 1}}}'
        if suffix < 4:
            return f'm_{{{body + 1}}}p_{{{body + 1}{kind[1:]}}}'
        return f'J_{{{body + 1}{kind[1:]}}}'
    return latex_name(symbol.name)


def latex_name(name: str) -> str:
    """LaTeX of the name of an intermediate or constant."""
    match = _NAME.fullmatch(name)
    if match is None:
        return _GREEK.get(name, name if len(name) == 1 else rf'\mathrm{{{name}}}')
    letters, number, other, axes = match.groups()
    head = _GREEK.get(letters, letters if len(letters) == 1 else rf'\mathrm{{{letters}}}')
    index = number if other is None else f'{number},{other}'
    return f'{head}_{{{index}{axes}}}'


def latex_text(text: str) -> str:
    """Plain text with the special characters of LaTeX escaped."""
    return ''.join(_SPECIAL.get(character, character) for character in text)


def latex_document(recording: Recording, notes: Sequence[str] = (),
                   matrices: Matrices | None = None) -> str:
    """Write a document with all formulas, and notes as paragraphs after the title."""
    lines, note = all_equations(recording, LatexText, matrices)
    body = [latex_text(text) + '\n' for text in (*notes, *note)]
    for k in range(0, len(lines), _LINES):
        body += [r'\begin{align*}', ' \\\\\n'.join(lines[k:k + _LINES]), r'\end{align*}']
    title = latex_text(f'{recording.robot}: {recording.text}')
    return '\n'.join([
        r'\documentclass[a4paper,landscape]{article}', r'\usepackage{amsmath}',
        r'\usepackage[margin=1cm]{geometry}', r'\allowdisplaybreaks', r'\begin{document}',
        r'\footnotesize',
        rf'\section*{{{title}}}', *body, r'\end{document}', ''])
