# SPDX-License-Identifier: Apache-2.0
"""Formulas as a C99 function.

Compilers take more than twice the time for a function of twice the length. So a long one
is written as several, one after the other, and what a later one needs of an earlier one's
intermediates goes through an array.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from robot_dynamics.closed_form.infix import Infix
from robot_dynamics.closed_form.recording import Entry, Intermediate, Recording, Step, plan
from robot_dynamics.closed_form.tape import Formula, Number, Symbol

#: Longest function, in statements.
LONGEST_PART = 500

#: Keeps a compiler from making one function of the parts again.
PART_MACRO = """\
#if defined(__GNUC__)
#define PART static __attribute__((noinline)) void
#else
#define PART static void
#endif
"""

_SHARED = 'shared'


class CText(Infix):
    """Formulas in C: elements of arrays, double constants.

    Parameters
    ----------
    variables : mapping of Formula to str
        Formulas that are written by a name of their own.
    shared : mapping of str to str
        How those of them are written that another part has computed.
    """

    def __init__(self, variables: Mapping[Formula, str], shared: Mapping[str, str]):
        super().__init__(variables)
        self._shared = shared

    def symbol(self, symbol: Symbol) -> str:
        """Element of the array that the variable belongs to."""
        return f'{symbol.group}[{symbol.index}]'

    def variable(self, name: str) -> str:
        """Local variable, or element of the shared array."""
        return self._shared.get(name, name)

    def number(self, x: Number) -> str:
        """Shortest text that reads back as the same double."""
        return repr(float(Fraction(x)) if isinstance(x, Fraction) else float(x))


def c_function(recording: Recording, *, storage: str = '', longest: int = LONGEST_PART) -> str:
    """Write the function ``void name(const double *inputs, ..., double *outputs, ...)``.

    Parameters
    ----------
    recording : Recording
        What the function computes.
    storage : str
        What stands before ``void``, such as ``static ``.
    longest : int
        Statements in one part; `PART_MACRO` has to stand before a function of several.
    """
    choice = plan(recording, labels=False, reserved=[
        _SHARED, *(array.group for array in recording.inputs),
        *(output.name for output in recording.outputs)])
    steps = list(choice.steps())
    count = max(1, -(-len(steps) // longest))
    size = -(-len(steps) // count) or 1
    parts = [steps[k:k + size] for k in range(0, len(steps), size)] or [[]]
    shared = _shared_names(parts)
    bodies = [_body(choice.variables, part, shared) for part in parts]
    if len(parts) == 1:
        return _function(f'{storage}void {recording.name}', _parameters(recording), bodies[0],
                         unused=_unused(recording, parts[0]))
    texts, calls = [], [f'    double {_SHARED}[{len(shared)}];']
    for k, (part, body) in enumerate(zip(parts, bodies, strict=True), start=1):
        parameters = _parameters(recording)
        for name in _unused(recording, part):
            del parameters[name]
        parameters[_SHARED] = f'double *restrict {_SHARED}'
        texts.append(_function(f'PART {recording.name}_{k}', parameters, body,
                               unused=() if any(_SHARED in line for line in body)
                               else (_SHARED,)))
        calls.append(f'    {recording.name}_{k}({", ".join(parameters)});')
    unused = set.intersection(*(set(_unused(recording, part)) for part in parts))
    texts.append(_function(f'{storage}void {recording.name}', _parameters(recording), calls,
                           unused=sorted(unused)))
    return '\n'.join(texts)


def _parameters(recording: Recording) -> dict[str, str]:
    """Return the declarations of all arguments, by name."""
    return {array.group: f'const double *restrict {array.group}' for array in recording.inputs} \
        | {output.name: f'double *restrict {output.name}' for output in recording.outputs}


def _function(head: str, parameters: Mapping[str, str], lines: Sequence[str],
              unused: Sequence[str]) -> str:
    # Declarations come first: C99 does not ask for it, some compilers' warnings do.
    declared = [line for line in lines if line.startswith('    double')]
    rest = [line for line in lines if not line.startswith('    double')]
    return '\n'.join([f'{head}({", ".join(parameters.values())})', '{', *declared,
                      *(f'    (void){name};' for name in unused), *rest, '}', ''])


def _body(variables: Mapping[Formula, str], part: Sequence[Step],
          shared: Mapping[str, str]) -> list[str]:
    """Return the statements of a part."""
    own = {step.name for step in part if isinstance(step, Intermediate)}
    writer = CText(variables, {name: place for name, place in shared.items() if name not in own})
    lines = []
    for step in part:
        if isinstance(step, Entry):
            lines.append(f'    {step.output.name}[{step.place}] = {writer.text(step.value)};')
        elif isinstance(step, Intermediate):
            lines.append(f'    const double {step.name} = {writer.define(step.formula)};')
            if step.name in shared:
                lines.append(f'    {shared[step.name]} = {step.name};')
    return lines


def _shared_names(parts: Sequence[Sequence[Step]]) -> dict[str, str]:
    """Return the places of the intermediates that another part than their own uses."""
    made_in = {step.name: k for k, part in enumerate(parts) for step in part
               if isinstance(step, Intermediate)}
    names = dict.fromkeys(name for k, part in enumerate(parts) for step in part
                          for name in step.needs if made_in[name] != k)
    return {name: f'{_SHARED}[{k}]' for k, name in enumerate(names)}


def _unused(recording: Recording, part: Sequence[Step]) -> list[str]:
    """Return the arguments that a part does without."""
    used = {symbol.group for step in part for symbol in step.symbols} \
        | {step.output.name for step in part if isinstance(step, Entry)}
    return [name for name in _parameters(recording) if name not in used]
