# SPDX-License-Identifier: Apache-2.0
"""The tables of the study."""

from __future__ import annotations

from math import inf

from controllers_parts.conditions import CONDITIONS
from controllers_parts.contenders import CONTENDERS
from controllers_parts.motions import MOTIONS
from controllers_parts.results import Results
from controllers_parts.verdicts import BASELINE, INTEGRAL, TORQUE

BASELINES = (BASELINE, INTEGRAL, TORQUE)

#: From this ratio of errors on one controller loses to another.
CLEARLY = 1.05


def errors(results: Results) -> str:
    """Return RMS errors in mrad, a row for each condition and motion; ▼ where a baseline wins."""
    lines = ['| condition | motion | ' + ' | '.join(CONTENDERS) + ' |',
             '|---|---|' + '---:|' * len(CONTENDERS)]
    for condition in CONDITIONS:
        for motion in MOTIONS:
            best = min(_last_errors(results, condition.name, motion).get(name, inf)
                       for name in BASELINES)
            cells = [_cell(results.get(condition.name, motion, name),
                           inf if name in BASELINES else CLEARLY * best)
                     for name in CONTENDERS]
            if any(cells):
                lines.append(f'| {condition.name} | {motion} | ' + ' | '.join(cells) + ' |')
    return '\n'.join(lines)


def _cell(entry: dict | None, beaten: float) -> str:
    """Return errors at 10, 20, 60 s; one where they are the same; ▼ where the last is above."""
    if entry is None:
        return ''
    if entry['trouble']:
        return 'fails'
    values = [f'{value:.3g}' for value in entry['rms'].values()]
    text = values[0] if len(set(values)) == 1 else ' / '.join(values)
    text += ' ▼' if list(entry['rms'].values())[-1] > beaten else ''
    return text + (' (frozen)' if entry['frozen'] else '')


def details(results: Results, motion: str = 'Fourier') -> str:
    """Return everything else that is measured, for one motion."""
    lines = [f'| condition | controller ({motion}) | largest error, mrad | torque RMS, N m | '
             'change from sample to sample, N m | estimate error, % | mass of the last link '
             'beyond the model, kg | one update, us |', '|---|---|---:|---:|---:|---:|---:|---:|']
    for condition in CONDITIONS:
        for name in CONTENDERS:
            entry = results.get(condition.name, motion, name)
            if entry is not None and not entry['trouble']:
                lines.append(f'| {condition.name} | {name} | {entry["max"]:.3g} | '
                             f'{entry["effort"]:.3g} | {entry["step"]:.3g} | '
                             f'{entry["estimate"]:.2g} | {entry["mass"]:.2f} | '
                             f'{entry["micros"]:.1f} |')
    return '\n'.join(lines)


def losses(results: Results) -> str:
    """Return where a controller that is no baseline loses to one, a line for each two."""
    where: dict[tuple[str, str], list[str]] = {}
    for condition in CONDITIONS:
        for motion in MOTIONS:
            last = _last_errors(results, condition.name, motion)
            for other in BASELINES:
                for name, value in last.items():
                    if other in last and name not in BASELINES \
                            and value > CLEARLY * last[other]:
                        where.setdefault((name, other), []).append(
                            f'{condition.name}, {motion} ({value:.3g} for {last[other]:.3g})')
    return '\n'.join(f'- {name} to {other}: {"; ".join(found)}'
                     for (name, other), found in where.items()) or 'Nowhere.'


def _last_errors(results: Results, condition: str, motion: str) -> dict[str, float]:
    """Return the errors of the last window of every contender that has one. mrad."""
    entries = {name: results.get(condition, motion, name) for name in CONTENDERS}
    return {name: list(entry['rms'].values())[-1] for name, entry in entries.items()
            if entry is not None and entry['rms']}
