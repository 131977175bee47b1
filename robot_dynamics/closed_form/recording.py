# SPDX-License-Identifier: Apache-2.0
"""A derived quantity, and the order of its intermediates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from robot_dynamics.closed_form.tape import Formula, Scalar, Symbol, Tape

#: Longest formula, in operations, that is written in one piece.
LONGEST = 12


@dataclass(frozen=True)
class Input:
    """An array that formulas depend on."""

    group: str  # Name of the array.
    names: tuple[str, ...]  # Names of its elements.
    text: str = ''  # What it is, with its unit.


@dataclass(frozen=True)
class Output:
    """A vector or matrix of formulas."""

    name: str  # Name of the array.
    shape: tuple[int, ...]  # (n,) or (n, m).
    entries: tuple[Any, ...]  # Scalars, row after row; None where nothing is to be written.
    text: str = ''  # What it is, with its unit.


@dataclass(frozen=True)
class Recording:
    """A derived quantity."""

    name: str  # Name of the function that computes it.
    text: str  # What it is, in a sentence.
    robot: str  # Name of the robot.
    tape: Tape  # The operations.
    inputs: tuple[Input, ...]  # Its arguments, in their order.
    outputs: tuple[Output, ...]  # What it computes.
    # What the symbols of the input ``constants`` stand for, m or m/s^2; None if unknown.
    constants: Mapping[str, float | None] = field(default_factory=dict)
    columns: tuple[str, ...] = ()  # Names of the columns of a regressor.

    @property
    def symbols(self) -> set[Symbol]:
        """Variables on which the outputs depend."""
        roots = [entry for output in self.outputs for entry in output.entries]
        return {formula.arguments[0] for formula in live(roots)
                if formula.operation == 'symbol'}


@dataclass(frozen=True)
class Step:
    """One line of a written recording."""

    needs: tuple[str, ...]  # Intermediates that it is made of.


@dataclass(frozen=True)
class Intermediate(Step):
    """A step that computes an intermediate, which has a name."""

    name: str
    formula: Formula


@dataclass(frozen=True)
class Entry(Step):
    """A step that computes an entry of an output; indices are row-major."""

    output: Output
    place: int
    value: Scalar

    @property
    def is_zero(self) -> bool:
        """Whether the entry is the number zero."""
        return not isinstance(self.value, Formula) and self.value == 0


@dataclass(frozen=True)
class Plan:
    """The intermediates of a recording, operands first, and their names."""

    recording: Recording
    variables: dict[Formula, str] = field(default_factory=dict)

    def steps(self) -> Iterator[Step]:
        """Yield the steps, each as early as possible."""
        entries = sorted(
            ((_index(entry), output, k, entry) for output in self.recording.outputs
             for k, entry in enumerate(output.entries) if entry is not None),
            key=lambda entry: entry[0])
        at = 0
        for formula, name in self.variables.items():
            while at < len(entries) and entries[at][0] < formula.index:
                yield self._entry(*entries[at][1:])
                at += 1
            yield Intermediate(self._needs(operands(formula)), name, formula)
        for entry in entries[at:]:
            yield self._entry(*entry[1:])

    def _entry(self, output: Output, place: int, value: Scalar) -> Entry:
        parts = [value] if isinstance(value, Formula) else []
        return Entry(self._needs(parts), output, place, value)

    def _needs(self, waiting: list[Formula]) -> tuple[str, ...]:
        """Intermediates in formulas."""
        names: dict[str, None] = {}
        while waiting:
            formula = waiting.pop()
            if formula in self.variables:
                names[self.variables[formula]] = None
            else:
                waiting += operands(formula)
        return tuple(names)


def plan(recording: Recording, *, reserved: Sequence[str] | None = None, labels: bool = True,
         longest: int = LONGEST) -> Plan:
    """Choose the intermediates: formulas used twice, sines and cosines, parts of long formulas.

    Intermediates do not get reserved names, by default those of variables. They are called by
    their ``labels``, or t1, t2, ...; a formula has at most ``longest`` operations.
    """
    roots = [entry for output in recording.outputs for entry in output.entries]
    formulas = live(roots)
    uses = Counter(argument for formula in formulas for argument in operands(formula))
    uses.update(root for root in roots if isinstance(root, Formula))
    taken = set(reserved if reserved is not None else
                (name for array in recording.inputs for name in array.names))
    variables: dict[Formula, str] = {}
    sizes: dict[Formula, int] = {}
    for formula in formulas:
        size = sum(sizes[argument] for argument in operands(formula))
        if formula.operation not in ('symbol', 'negate'):
            size += 1
            if (uses[formula] > 1 or size > longest
                    or formula.operation in ('sine', 'cosine')):
                label = recording.tape.labels.get(formula) if labels else None
                variables[formula] = _free_name(label, len(variables) + 1, taken)
                size = 0
        sizes[formula] = size
    return Plan(recording, variables)


def live(roots: Sequence[Scalar | None]) -> list[Formula]:
    """All formulas that the roots depend on, operands first."""
    found: set[Formula] = set()
    waiting = [root for root in roots if isinstance(root, Formula)]
    while waiting:
        formula = waiting.pop()
        if formula not in found:
            found.add(formula)
            waiting += operands(formula)
    return sorted(found, key=lambda formula: formula.index)


def operands(formula: Formula) -> list[Formula]:
    """Operands of a formula that are formulas."""
    return [argument for argument in formula.arguments if isinstance(argument, Formula)]


def _index(entry: Scalar | None) -> int:
    return entry.index if isinstance(entry, Formula) else -1


def _free_name(label: str | None, number: int, taken: set[str]) -> str:
    name = label if label is not None and label not in taken else f't{number}'
    while name in taken:
        name += '_'
    taken.add(name)
    return name
