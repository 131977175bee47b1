# SPDX-License-Identifier: Apache-2.0
"""What has to hold in the study, and whether it does: the worst of all seeds and payloads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from controllers_parts.motions import MOTIONS
from controllers_parts.results import Results

BASELINE, INTEGRAL, TORQUE, OURS = ('PD + gravity', 'PID + gravity', 'computed torque', 'memory')
ONE_STEP, RICCATI, INTEGRATING = 'one-step LQ', 'Riccati LQ', 'Riccati LQI'
EXCITING = ('Fourier', 'point to point')

#: Largest change of an effort from sample to sample under noise and delay. N m.
LARGEST_CHATTER = 1.5


@dataclass(frozen=True)
class Target:
    """How many times smaller the error of one law has to be than that of another.

    Parameters
    ----------
    condition, ours, other : str
        Names of condition and of the two laws.
    wanted : dict of str to float
        Least ratio of their errors, by window.
    motions : tuple of str
        Names of motions.
    """

    condition: str
    ours: str
    other: str
    wanted: dict[str, float]
    motions: tuple[str, ...] = tuple(MOTIONS)


TARGETS = (
    Target('payload', OURS, BASELINE, {'10': 10.0, '20': 30.0, '60': 50.0}),
    Target('mixed', OURS, BASELINE, {'10': 30.0, '20': 50.0}),
    Target('payload', OURS, INTEGRAL, {'20': 5.0}, EXCITING),
    Target('mixed', OURS, INTEGRAL, {'20': 5.0}, EXCITING),
    Target('nominal', OURS, TORQUE, {'20': 1.0 / 1.1}),
    Target('nominal', ONE_STEP, BASELINE, {'20': 20.0}),
    Target('nominal', RICCATI, BASELINE, {'20': 20.0}),
    Target('nominal', INTEGRATING, BASELINE, {'20': 20.0}),
    Target('payload', INTEGRATING, BASELINE, {'20': 3.0}),
)


@dataclass(frozen=True)
class Verdict:
    """One line of what has to hold.

    Parameters
    ----------
    what, wanted, found : str
        In words, with figures.
    good : bool
        Whether it holds.
    """

    what: str
    wanted: str
    found: str
    good: bool


def verdicts(results: Results) -> list[Verdict]:
    """Return everything that has to hold and has been measured."""
    return [*_of_targets(results), *_of_chatter(results)]


def as_table(found: list[Verdict]) -> str:
    """Return verdicts as a table."""
    return '\n'.join(['| what | wanted | found | |', '|---|---|---|---|',
                      *(f'| {v.what} | {v.wanted} | {v.found} | '
                        f'{"holds" if v.good else "**missed**"} |' for v in found)])


def _of_targets(results: Results) -> Iterator[Verdict]:
    for target in TARGETS:
        for motion in target.motions:
            for window, least in target.wanted.items():
                ratios = _ratios(results, target, motion, window)
                if not ratios:
                    continue
                where, worst = min(ratios.items(), key=lambda item: item[1])
                more = '' if len(ratios) == 1 else \
                    f', the worst of {len(ratios)} (seed {where[0]}, payload {where[1]})'
                wanted = f'{least:.3g} times' if least >= 1.0 else f'1/{1.0 / least:.3g}'
                yield Verdict(f'{target.condition}, {motion}, after {window} s: error of '
                              f'{target.other} over that of {target.ours}',
                              f'at least {wanted}', f'{worst:.3g}{more}', worst >= least)


def _ratios(results: Results, target: Target, motion: str, window: str
            ) -> dict[tuple[int, int], float]:
    """Return the ratio of errors for every seed and payload position there is."""
    found = {}
    for variation in results.variations():
        theirs, ours = (results.get(target.condition, motion, name, *variation)
                        for name in (target.other, target.ours))
        if theirs is not None and ours is not None and window in ours['rms'] and theirs['rms']:
            # What learns nothing is as good after a minute as before.
            base = theirs['rms'].get(window) or list(theirs['rms'].values())[-1]
            found[variation] = base / ours['rms'][window]
    return found


def _of_chatter(results: Results) -> Iterator[Verdict]:
    """Judge the change of efforts from sample to sample, of all joints together."""
    for name in (ONE_STEP, RICCATI, INTEGRATING):
        entries = [entry for motion in MOTIONS if (entry := results.get(
            'noise, 2 ms late', motion, name)) is not None and not entry['trouble']]
        if entries:
            worst = max(entries, key=lambda entry: entry['step'])
            yield Verdict(f'noise and 2 ms late: change of the efforts of {name} from sample to '
                          'sample, RMS', f'at most {LARGEST_CHATTER:g} N m',
                          f'{worst["step"]:.3g} N m over all joints, {worst["worst_step"]:.3g} '
                          'N m of the worst', worst['step'] <= LARGEST_CHATTER)
