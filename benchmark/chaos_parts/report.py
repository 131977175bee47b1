# SPDX-License-Identifier: Apache-2.0
"""What came of a run, as text."""

from __future__ import annotations

import argparse
import os
import platform
from collections.abc import Iterator, Sequence

from sections import DOCS, write_section

from .assessment import share
from .run import SETUPS, Outcome, Run
from .scenario_system import TOO_BUSY


def print_outcome(outcome: Outcome) -> None:
    """Print one line about a scenario."""
    losses = ''.join(f' {1e3 * loss.reaction:.1f}' for loss in outcome.verdict.losses)
    print(f'{outcome.system}/{outcome.index:<4} {outcome.name:40} {outcome.seconds:5.1f} s, back '
          f'{outcome.how} after {outcome.recovery:.1f} s; speed '
          f'{outcome.verdict.largest_speed:.2f}, effort {outcome.verdict.largest_effort:.2f}'
          + (f'; safe after{losses} ms' if losses else '')
          + ''.join(f'\n    WRONG: {finding}' for finding in outcome.verdict.findings),
          flush=True)


def failures(runs: Sequence[Run]) -> list[str]:
    """Return what was wrong, each with what repeats it."""
    lines = []
    for run in runs:
        for finding in run.findings:
            lines.append(f'seed {run.seed}, system {run.system}: {finding}')
        if run.leaked:
            lines.append(f'seed {run.seed}, system {run.system}: processes left: {run.leaked}')
        if run.lost_commands:
            lines.append(f'seed {run.seed}, system {run.system}: '
                         f'{run.lost_commands} commands lost')
        for outcome in run.outcomes:
            lines += [f'seed {run.seed}, system {run.system}, scenario {outcome.index} '
                      f'({outcome.name}): {finding}\n    python benchmark/chaos.py --seed '
                      f'{run.seed} --system {run.system} --only {outcome.index}'
                      for finding in outcome.verdict.findings]
    return lines


def summary(runs: Sequence[Run], wall: float) -> str:
    """Return the figures of a run."""
    outcomes = [outcome for run in runs for outcome in run.outcomes]
    losses = [loss for outcome in outcomes for loss in outcome.verdict.losses]
    reactions = [1e3 * loss.reaction for loss in losses]
    own = [1e3 * loss.own for loss in losses]
    wrong = sum(len(outcome.verdict.findings) for outcome in outcomes)
    bound = 1e3 * (SETUPS[0].state_timeout + 1.0 / SETUPS[0].rate)
    lines = [
        f'| scenario time | {sum(run.seconds for run in runs) / 60.0:.1f} min in '
        f'{wall / 60.0:.1f} min, {len(runs)} systems side by side |',
        f'| scenarios | {len(outcomes)}, of '
        f'{len({outcome.name for outcome in outcomes})} kinds |',
        f'| commands received, published but lost | '
        f'{sum(outcome.verdict.commands for outcome in outcomes)}, '
        f'{sum(run.lost_commands for run in runs)} |',
        '| largest effort over its limit | '
        f'{max((outcome.verdict.largest_effort for outcome in outcomes), default=0.0):.3f} |',
        '| largest speed of the arm over its limit | '
        f'{max((outcome.verdict.largest_speed for outcome in outcomes), default=0.0):.2f} |',
        f'| losses of states judged | {len(losses)} |',
        f'| last good state to safe command, ms: median, 99 %, worst | '
        f'{share(reactions, 0.5):.1f}, {share(reactions, 0.99):.1f}, '
        f'{share(reactions, 1.0):.1f} |',
        f'| the same without what the machine took ({bound:.0f} ms allowed) | '
        f'{share(own, 0.5):.1f}, {share(own, 0.99):.1f}, {share(own, 1.0):.1f} |',
        '| late only because the machine stood still | '
        f'{sum(run.stalls + sum(each.verdict.stalls for each in run.outcomes) for run in runs)} |',
        '| longest way of such a command to the observer, ms | '
        f'{1e3 * max((loss.on_its_way for loss in losses), default=0.0):.1f} |',
        '| systems that the machine gave no time to start or to come back | '
        f'{sum(not run.outcomes or run.outcomes[-1].how == TOO_BUSY for run in runs)} |',
        f'| processes started, left at the end | {sum(run.processes for run in runs)}, '
        f'{sum(len(run.leaked) for run in runs)} |',
        f'| findings | {wrong + sum(len(run.findings) for run in runs)} |',
    ]
    return '\n'.join(['| | |', '|---|---|', *lines, '', *_by_kind(outcomes)])


def _by_kind(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Yield a table with one row for each kind of scenario."""
    yield ('| scenario | times | back by itself | activated anew | recovery, s: median, worst | '
           'largest speed |')
    yield '|---|---|---|---|---|---|'
    for name in sorted({outcome.name for outcome in outcomes}):
        mine = [outcome for outcome in outcomes if outcome.name == name]
        how = [outcome.how for outcome in mine]
        recovery = [outcome.recovery for outcome in mine]
        yield (f'| {name} | {len(mine)} | {how.count("by itself")} | '
               f'{how.count("activated anew")} | {share(recovery, 0.5):.1f}, '
               f'{max(recovery):.1f} | '
               f'{max(outcome.verdict.largest_speed for outcome in mine):.2f} |')


def write(text: str, options: argparse.Namespace) -> None:
    """Put it into the document."""
    command = f'python benchmark/chaos.py --minutes {options.minutes:g} --seed {options.seed}'
    host = (f'`{command}`, {platform.python_implementation()} {platform.python_version()}, '
            f'{os.cpu_count()} cores.')
    write_section(DOCS / 'reliability.md', 'chaos', '\n'.join(['', host, '', text, '']))
