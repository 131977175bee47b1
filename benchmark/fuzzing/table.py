# SPDX-License-Identifier: Apache-2.0
"""What became of all inputs, as a table for people and for the documentation."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from sections import write_section

from fuzzing.judge import ACCEPTED, Outcome
from fuzzing.kinds import KINDS
from fuzzing.pool import Results

#: Memory that a process may have kept in the end: caches, not each of its inputs. Bytes.
MOST_GROWTH = 256 * 2**20
#: Faults of one cause that are listed.
_LISTED = 5


@dataclass(frozen=True)
class Row:
    """What became of one kind of input."""

    text: str
    inputs: int
    accepted: int
    refused: dict[str, int]
    slowest: float
    memory: int
    failures: int


def rows(results: Results, counts: dict[str, int]) -> list[Row]:
    """Return a row for each kind."""
    return [_row(name, [results.outcomes[name, k] for k in range(count)])
            for name, count in counts.items()]


def _row(name: str, outcomes: list[Outcome]) -> Row:
    labels = Counter(outcome.label for outcome in outcomes if not outcome.fault)
    accepted = labels.pop(ACCEPTED, 0)
    return Row(KINDS[name].text, len(outcomes), accepted, dict(labels.most_common()),
               max((outcome.seconds for outcome in outcomes), default=0.0),
               max((outcome.memory for outcome in outcomes), default=0),
               sum(bool(outcome.fault) for outcome in outcomes))


def markdown(table: list[Row]) -> str:
    """Return the rows as a table in Markdown."""
    lines = ['| input | made | accepted | refused | slowest, s | peak memory, MiB | failures |',
             '|---|---:|---:|---|---:|---:|---:|']
    for row in table:
        refused = ', '.join(f'{label} {count}' for label, count in row.refused.items())
        lines.append(f'| {row.text} | {row.inputs} | {row.accepted} | {refused} | '
                     f'{row.slowest:.2f} | {row.memory / 2**20:.0f} | {row.failures} |')
    return '\n'.join(lines)


def faults(results: Results, seed: int) -> list[str]:
    """Faults, each cause a few times, with the command that repeats it."""
    by_cause: dict[str, list[str]] = {}
    for (name, index), outcome in sorted(results.outcomes.items()):
        if outcome.fault:
            # The same line of the product is the same cause.
            place = outcome.fault.rpartition('(')[2]
            cause = f'{name} {outcome.fault.split(maxsplit=1)[0]} {place if ":" in place else ""}'
            by_cause.setdefault(cause, []).append(
                f'--repeat {name}:{seed}:{index}   {outcome.label}: {outcome.fault}')
    lines = [line for lines in sorted(by_cause.values(), key=len, reverse=True)
             for line in [f'{len(lines)} x', *lines[:_LISTED]]]
    if max(results.growth, default=0) > MOST_GROWTH:
        lines.append(growth(results))
    return lines


def growth(results: Results) -> str:
    """Memory that processes hold at the end."""
    kept = ' and '.join(f'{size / 2**20:.0f}' for size in sorted(results.growth)) or 'unknown'
    return f'After all its inputs a process has {kept} MiB more than at first.'


def write(document: Path, table: list[Row], results: Results, count: int, seed: int) -> None:
    """Put the table into a document."""
    command = f'python benchmark/fuzz.py --count {count} --seed {seed} --write'
    write_section(document, 'fuzz', f'{markdown(table)}\n\n{growth(results)} Made by '
                  f'`{command}`.')
