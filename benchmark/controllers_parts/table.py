# SPDX-License-Identifier: Apache-2.0
"""The tables of the study, and what has to hold in them."""

from __future__ import annotations

from collections.abc import Iterable

from controllers_parts.conditions import CONDITIONS
from controllers_parts.contenders import CONTENDERS
from controllers_parts.motions import MOTIONS
from controllers_parts.results import Results

BASELINE, INTEGRAL, TORQUE, OURS = ('PD + gravity', 'PID + gravity', 'computed torque', 'memory')


def errors(results: Results, seed: int = 0, position: int = 0) -> str:
    """Return RMS errors in mrad, a row for each condition and motion."""
    lines = ['| condition | motion | ' + ' | '.join(CONTENDERS) + ' |',
             '|---|---|' + '---:|' * len(CONTENDERS)]
    for condition in CONDITIONS:
        for motion in MOTIONS:
            cells = [_cell(results.get(condition.name, motion, name, seed, position))
                     for name in CONTENDERS]
            if any(cells):
                lines.append(f'| {condition.name} | {motion} | ' + ' | '.join(cells) + ' |')
    return '\n'.join(lines)


def _cell(entry: dict | None) -> str:
    """Return errors at 10, 20, 60 s; one where they are the same."""
    if entry is None:
        return ''
    if entry['trouble']:
        return 'fails'
    values = [f'{value:.3g}' for value in entry['rms'].values()]
    text = values[0] if len(set(values)) == 1 else ' / '.join(values)
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


def verdicts(results: Results) -> list[tuple[str, bool]]:
    """Return what has to hold, in words with the figure, and whether it does."""
    return [*_against(results, 'payload', BASELINE, {'10': 10.0, '20': 30.0, '60': 50.0},
                      MOTIONS),
            *_against(results, 'mixed', BASELINE, {'10': 30.0, '20': 50.0}, MOTIONS),
            *_against(results, 'payload', INTEGRAL, {'20': 5.0}, ('Fourier', 'point to point')),
            *_against(results, 'mixed', INTEGRAL, {'20': 5.0}, ('Fourier', 'point to point')),
            *_against(results, 'nominal', TORQUE, {'20': 1.0 / 1.1}, MOTIONS)]


def _against(results: Results, condition: str, other: str, wanted: dict[str, float],
             motions: Iterable[str]) -> list[tuple[str, bool]]:
    """Return how many times smaller the error of our law is than that of another."""
    found = []
    for seed, position in results.variations():
        for motion in motions:
            theirs, ours = (results.get(condition, motion, name, seed, position)
                            for name in (other, OURS))
            if theirs is None or ours is None:
                continue
            for window, least in wanted.items():
                if window not in ours['rms']:
                    continue
                # What learns nothing is as good after a minute as before.
                base = theirs['rms'].get(window) or list(theirs['rms'].values())[-1]
                ratio = base / ours['rms'][window]
                found.append((f'{condition}, {motion}, {window} s, seed {seed}, payload '
                              f'{position}: {ratio:.3g} times better than {other} '
                              f'(wanted {least:.2g})', ratio >= least))
    return found


def losses(results: Results) -> list[str]:
    """Return where a controller of ours loses to PD + gravity or PID + gravity, in words."""
    found = []
    for condition in CONDITIONS:
        for motion in MOTIONS:
            entries = {name: results.get(condition.name, motion, name) for name in CONTENDERS}
            last = {name: list(entry['rms'].values())[-1] for name, entry in entries.items()
                    if entry is not None and entry['rms']}
            for other in (BASELINE, INTEGRAL):
                found += [f'{condition.name}, {motion}: {name} {value:.3g}, {other} '
                          f'{last[other]:.3g} mrad' for name, value in last.items()
                          if other in last and name not in (BASELINE, INTEGRAL)
                          and value > last[other]]
    return found
