# SPDX-License-Identifier: Apache-2.0
"""Formulas as a C99 function.

The time of compilers grows faster than the length of a function. A long function is therefore
split into several; intermediates needed by later ones are passed in an array.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from robot_dynamics.closed_form.languages import Infix
from robot_dynamics.closed_form.recording import Entry, Intermediate, Recording, Step, plan
from robot_dynamics.closed_form.tape import Formula, Number, Scalar, Symbol

#: Longest function, in statements.
LONGEST_PART = 500

#: Prevents a compiler from inlining the parts.
PART_MACRO = """\
#if defined(__GNUC__)
#define PART static __attribute__((noinline)) void
#else
#define PART static void
#endif
"""

_SHARED = 'shared'
_TABLES = ('sines', 'cosines')


@dataclass(frozen=True)
class Sines:
    """A function ``(const double *angles, double *sines, double *cosines, int count)``."""

    name: str
    group: int  # Of what ``count`` has to be a multiple.


@dataclass(frozen=True)
class _Tables:
    """Indices of the angles of which sines and cosines are computed at once."""

    places: dict[Scalar, int]

    @classmethod
    def of(cls, variables: Mapping[Formula, str]) -> _Tables:
        """Angles of all intermediates that are sines and cosines."""
        angles = dict.fromkeys(formula.arguments[0] for formula in variables
                               if formula.operation in ('sine', 'cosine'))
        return cls({angle: k for k, angle in enumerate(angles)})

    def steps(self, steps: Iterable[Step]) -> list[Step]:
        """Steps without the intermediates that occur in angles only."""
        needed: set[str] = set()
        kept = []
        for step in reversed(list(steps)):
            if isinstance(step, Intermediate):
                if step.name not in needed:
                    continue
                if self.element(step.formula) is not None:
                    step = replace(step, needs=())
            needed.update(step.needs)
            kept.append(step)
        return kept[::-1]

    def element(self, formula: Formula) -> str | None:
        """Table element of a sine or cosine; None for any other formula."""
        if formula.operation not in ('sine', 'cosine') or not self.places:
            return None
        return f'{formula.operation}s[{self.places[formula.arguments[0]]}]'

    def statements(self, sines: Sines) -> list[str]:
        """Statements that fill the tables."""
        if not self.places:
            return []
        count = -(-len(self.places) // sines.group) * sines.group
        writer = CText({}, {})
        angles = ', '.join(writer.text(angle) for angle in self.places)
        return [f'    const double angles[{count}] = {{{angles}}};',
                *(f'    double {name}[{count}];' for name in _TABLES),
                f'    {sines.name}(angles, {", ".join(_TABLES)}, {count});']


class CText(Infix):
    """Formulas in C: elements of arrays, double constants.

    ``shared`` has the text of intermediates that another part has computed.
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


def c_function(recording: Recording, *, storage: str = '', longest: int = LONGEST_PART,
               sines: Sines | None = None) -> str:
    """Write the function ``void name(const double *inputs, ..., double *outputs, ...)``.

    ``storage`` is written before ``void``, such as ``static ``. A function longer than ``longest``
    statements is written in parts, and needs `PART_MACRO` before it. ``sines`` is a C function
    that computes all sines and cosines at once, instead of the C library.
    """
    choice = plan(recording, labels=False, reserved=[
        _SHARED, *_TABLES, *(array.group for array in recording.inputs),
        *(output.name for output in recording.outputs)])
    tables = _Tables.of(choice.variables) if sines is not None else _Tables({})
    steps = tables.steps(choice.steps())
    count = max(1, -(-len(steps) // longest))
    size = -(-len(steps) // count) or 1
    parts = [steps[k:k + size] for k in range(0, len(steps), size)] or [[]]
    shared = _shared_names(parts)
    bodies = [_body(choice.variables, part, shared, tables) for part in parts]
    head, signature = f'{storage}void {recording.name}', _parameters(recording)
    start = tables.statements(sines) if sines is not None else []
    if len(parts) == 1:
        return _function(head, signature, [*start, *bodies[0]])
    texts, calls = [], [*start, f'    double {_SHARED}[{len(shared) or 1}];']
    everything = {**signature, **{name: f'const double *restrict {name}' for name in _TABLES},
                  _SHARED: f'double *restrict {_SHARED}'}
    for k, body in enumerate(bodies, start=1):
        parameters = {name: text for name, text in everything.items() if _uses(body, name)}
        texts.append(_function(f'PART {recording.name}_{k}', parameters, body))
        calls.append(f'    {recording.name}_{k}({", ".join(parameters)});')
    return '\n'.join([*texts, _function(head, signature, calls)])


def _parameters(recording: Recording) -> dict[str, str]:
    """Declarations of all arguments, by name."""
    return {array.group: f'const double *restrict {array.group}' for array in recording.inputs} \
        | {output.name: f'double *restrict {output.name}' for output in recording.outputs}


def _function(head: str, parameters: Mapping[str, str], lines: Sequence[str]) -> str:
    """Text of a function; unused arguments are cast to void."""
    unused = [f'    (void){name};' for name in parameters if not _uses(lines, name)]
    return '\n'.join([f'{head}({", ".join(parameters.values())})', '{', *lines, *unused, '}', ''])


def _uses(lines: Sequence[str], name: str) -> bool:
    """Whether statements name an array."""
    return re.search(rf'\b{name}\b', '\n'.join(lines)) is not None


def _body(variables: Mapping[Formula, str], part: Sequence[Step], shared: Mapping[str, str],
          tables: _Tables) -> list[str]:
    """Statements of a part."""
    own = {step.name for step in part if isinstance(step, Intermediate)}
    writer = CText(variables, {name: place for name, place in shared.items() if name not in own})
    lines = []
    for step in part:
        if isinstance(step, Entry):
            lines.append(f'    {step.output.name}[{step.place}] = {writer.text(step.value)};')
        elif isinstance(step, Intermediate):
            value = tables.element(step.formula) or writer.define(step.formula)
            lines.append(f'    const double {step.name} = {value};')
            if step.name in shared:
                lines.append(f'    {shared[step.name]} = {step.name};')
    return lines


def _shared_names(parts: Sequence[Sequence[Step]]) -> dict[str, str]:
    """Indices of the intermediates that are used by another part."""
    made_in = {step.name: k for k, part in enumerate(parts) for step in part
               if isinstance(step, Intermediate)}
    names = dict.fromkeys(name for k, part in enumerate(parts) for step in part
                          for name in step.needs if made_in[name] != k)
    return {name: f'{_SHARED}[{k}]' for k, name in enumerate(names)}
