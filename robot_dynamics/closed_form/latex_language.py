# SPDX-License-Identifier: Apache-2.0
"""Formulas as a LaTeX document."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction

from robot_dynamics.closed_form.infix import Infix
from robot_dynamics.closed_form.recording import (
    Entry,
    Intermediate,
    Output,
    Recording,
    plan,
    zeros_note,
)
from robot_dynamics.closed_form.tape import Number, Symbol

#: Lines in one display; TeX sets a display in one go.
_LINES = 40

_OPERATORS = {'q': 'q', 'v': r'\dot{q}', 'a': r'\ddot{q}', 'v_r': r'\dot{q}', 'a_r': r'\ddot{q}'}
_NAME = re.compile(r'([A-Za-z]+?)(\d+)(?:_(\d+))?([xyz]*)')
_GREEK = {'alpha': r'\alpha', 'o': r'\omega', 'tau': r'\tau', 'Yr': 'Y_r'}
_SPECIAL = {character: f'\\{character}' for character in '&%$#_{}'} | {
    '\\': r'\textbackslash{}', '~': r'\textasciitilde{}', '^': r'\textasciicircum{}'}


class LatexText(Infix):
    """Formulas in LaTeX's mathematics."""

    times = r'\,'

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


def latex_symbol(symbol: Symbol) -> str:
    """Return a variable as LaTeX writes it."""
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
    """Return the name of an intermediate or of a constant as LaTeX writes it."""
    match = _NAME.fullmatch(name)
    if match is None:
        return _GREEK.get(name, name if len(name) == 1 else rf'\mathrm{{{name}}}')
    letters, number, other, axes = match.groups()
    head = _GREEK.get(letters, letters if len(letters) == 1 else rf'\mathrm{{{letters}}}')
    index = number if other is None else f'{number},{other}'
    return f'{head}_{{{index}{axes}}}'


def latex_text(text: str) -> str:
    """Return plain text for LaTeX."""
    return ''.join(_SPECIAL.get(character, character) for character in text)


def latex_document(recording: Recording, notes: Sequence[str] = (),
                   matrices: dict[str, list[str]] | None = None) -> str:
    """Write a document with all formulas.

    Parameters
    ----------
    recording : Recording
        The formulas.
    notes : sequence of str
        Paragraphs of plain text to put after the title.
    matrices : dict of str to list of str, optional
        By output, its entries as LaTeX, in place of those of the recording.
    """
    if matrices is None:
        lines = list(_recorded(recording))
        listed = [not step.is_zero for step in plan(recording).steps() if isinstance(step, Entry)]
    else:
        lines = [line for output in recording.outputs
                 for line in _entries(output, matrices[output.name])]
        listed = [entry != '0' for matrix in matrices.values() for entry in matrix]
    body = [latex_text(note) + '\n' for note in (*notes, *zeros_note(listed))]
    for k in range(0, len(lines), _LINES):
        body += [r'\begin{align*}', ' \\\\\n'.join(lines[k:k + _LINES]), r'\end{align*}']
    title = latex_text(f'{recording.robot}: {recording.text}')
    return '\n'.join([
        r'\documentclass[a4paper,landscape]{article}', r'\usepackage{amsmath}',
        r'\usepackage[margin=1cm]{geometry}', r'\allowdisplaybreaks', r'\begin{document}',
        r'\footnotesize',
        rf'\section*{{{title}}}', *body, r'\end{document}', ''])


def _recorded(recording: Recording) -> Iterator[str]:
    """Yield the equations of a recording: intermediates and entries that are not zero."""
    choice = plan(recording, reserved=[name for array in recording.inputs
                                       for name in array.names])
    writer = LatexText(choice.variables)
    for step in choice.steps():
        if isinstance(step, Intermediate):
            yield f'{writer.variable(step.name)} &= {writer.define(step.formula)}'
        elif isinstance(step, Entry) and not step.is_zero:
            yield f'{_place(step.output, step.place)} &= {writer.text(step.value)}'


def _entries(output: Output, entries: Sequence[str]) -> Iterator[str]:
    for place, entry in enumerate(entries):
        if entry != '0':
            yield f'{_place(output, place)} &= {entry}'


def _place(output: Output, place: int) -> str:
    name = latex_name(output.name)
    if len(output.shape) == 1:
        return f'{name}_{{{place + 1}}}'
    row, column = divmod(place, output.shape[1])
    if '_' in name:
        name = f'{{{name}}}'
    return f'{name}_{{{row + 1},{column + 1}}}'
