#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Faults of arms and drivers against every controller: how fast the arm becomes, and for how long.

    python benchmark/fault_matrix.py [--arm arm7 ...] [--law adaptive ...] [--rate 500 ...]
        [--fault 'velocity sign' ...] [--processes] [--write]

One line for each run; `--write` puts the worst of each fault into docs/reliability.md. With
`--processes`, also as `python benchmark/chaos.py --faults`, controllers are nodes in processes of
their own, see `benchmark/fault_parts/nodes.py`.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import shlex
import signal
import sys
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from itertools import product
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmark.chaos_parts.leaks import end_with_parent
from benchmark.fault_parts.arm import ARMS, ROTORS
from benchmark.fault_parts.lies import FAULTS
from benchmark.fault_parts.runs import IN_THIS_PROCESS, LAWS, Outcome, concerns, findings, run
from benchmark.sections import DOCS, write_section

#: Rates of the matrix, Hz: in this process, with nodes in lock step, and in real time.
RATES, NODE_RATES, REAL_TIME_RATES = (250.0, 500.0, 1000.0), (250.0, 500.0), (250.0,)
#: Sections of docs/reliability.md: of sessions, of nodes in lock step, and in real time.
SESSIONS, LOCK_STEP, REAL_TIME = (
    'faults of arms and drivers', 'faults in lock step', 'faults in real time')
#: Fault, arm, law, and rate in Hz.
Cell = tuple[str, str, str, float]


def table(outcomes: dict[str, list[Outcome]]) -> str:
    """Worst of each fault, as Markdown."""
    lines = ['| fault | runs | time to safe, s | peak speed / limit | tip, m/s | speed after / at '
             'safe | kinetic energy after / at safe, J |', '|---|---:|---:|---:|---:|---:|---:|']
    for fault, runs in outcomes.items():
        energies = max(runs, key=lambda one: one.energy_after)
        lines.append(
            f'| {fault}: {str(FAULTS[fault][0].__doc__).lower().rstrip(".")} | {len(runs)} '
            f'| {max(one.time_to_safe for one in runs):.3f} '
            f'| {max(one.peak for one in runs):.2f} '
            f'| {max(one.tip_speed for one in runs):.2f} '
            f'| {max(one.after for one in runs):.2f} '
            f'| {energies.energy_after:.2g} / {energies.energy_at_safe:.2g} |')
    return '\n'.join(lines)


def in_this_process(cells: list[Cell]) -> Iterator[tuple[Cell, Outcome]]:
    """Run the cells with sessions of this process."""
    for cell in cells:
        fault, arm, law, rate = cell
        yield cell, run(arm, law, rate, fault)


def in_processes(cells: list[Cell]) -> Iterator[tuple[Cell, Outcome | None]]:
    """Run the cells with controllers in processes of their own; None where it was too busy.

    In lock step there are as many runs side by side as cores, in real time one.
    """
    from benchmark.fault_parts.nodes import run_configuration

    configurations: dict[tuple[bool, str, str, float], list[str]] = defaultdict(list)
    for fault, arm, law, rate in cells:
        configurations[FAULTS[fault][0].needs_real_time, arm, law, rate].append(fault)
    for number in (signal.SIGINT, signal.SIGTERM):
        # The processes of the pool end with their groups, see `end_with_parent`.
        signal.signal(number, lambda number, frame: os._exit(128 + number))
    for real_time, workers in ((False, os.cpu_count()), (True, 1)):
        with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context('spawn'),
                                 initializer=end_with_parent) as pool:
            running = {
                pool.submit(run_configuration, arm, law, rate, faults, real_time=real_time):
                [(fault, arm, law, rate) for fault in faults]
                for (is_real, arm, law, rate), faults in configurations.items()
                if is_real == real_time}
            for done in as_completed(running):
                yield from zip(running[done], done.result(), strict=True)


def main(arguments: list[str] | None = None) -> int:
    """Run what was asked for and print a line for each run; return 1 where something is wrong."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument('--arm', nargs='+', choices=ARMS, default=[
        arm for arm in ARMS if not arm.endswith(ROTORS)])
    parser.add_argument('--law', nargs='+', choices=LAWS, default=list(LAWS))
    parser.add_argument('--rate', nargs='+', type=float, help='default 250 500 1000; with '
                        '--processes 250 500, and 250 in real time')
    parser.add_argument('--fault', nargs='+', choices=FAULTS, default=list(FAULTS))
    parser.add_argument('--processes', action='store_true', help='controllers in processes of '
                        'their own, over DDS')
    parser.add_argument('--write', action='store_true')
    options = parser.parse_args(arguments)
    words = [word for word in arguments or sys.argv[1:] if word != '--processes']
    cells = [(fault, arm, law, rate)
             for fault, arm, law in product(options.fault, options.arm, options.law)
             if concerns(fault, law) and not (options.processes and law in IN_THIS_PROCESS)
             for rate in options.rate or (RATES if not options.processes else REAL_TIME_RATES
                                          if FAULTS[fault][0].needs_real_time else NODE_RATES)]
    outcomes: dict[str, dict[str, list[Outcome]]] = defaultdict(lambda: defaultdict(list))
    wrong: dict[str, list[str]] = defaultdict(list)
    for (fault, arm, law, rate), outcome in (
            in_processes if options.processes else in_this_process)(cells):
        cell = f'{fault:15} {arm:6} {law:15} {rate:5g} Hz'
        if outcome is None:
            print(f'{cell}  not measured, the machine is too busy', flush=True)
            continue
        section = SESSIONS if not options.processes else \
            REAL_TIME if FAULTS[fault][0].needs_real_time else LOCK_STEP
        outcomes[section][fault].append(outcome)
        print(f'{cell}  peak {outcome.peak:6.2f}  tip {outcome.tip_speed:6.2f} m/s  safe '
              f'{outcome.time_to_safe:6.3f} s  after {outcome.after:6.2f}  energy '
              f'{outcome.energy_at_safe:8.3g} {outcome.energy_after:8.3g} J  {outcome.reason}',
              flush=True)
        wrong[section] += [f'{fault}, {arm}, {law}, {rate:g} Hz: {finding}'
                           for finding in findings(fault, law, rate, outcome)]
    for section, runs in outcomes.items():
        text = '\n'.join([table(runs), '', f'Findings: {len(wrong[section])}.',
                          *(f'- {finding}' for finding in wrong[section])])
        print(f'{section}\n{text}')
        if options.write:
            script = 'chaos.py --faults' if options.processes else 'fault_matrix.py'
            command = ' '.join(['python', 'benchmark/' + script, *map(shlex.quote, words)])
            write_section(DOCS / 'reliability.md', section,
                          f'{text}\n\nMade by `{command}`.')
    return 1 if any(wrong.values()) else 0


if __name__ == '__main__':
    sys.exit(main())
