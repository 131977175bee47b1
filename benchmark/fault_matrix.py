#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Faults of arms and drivers against every controller: how fast the arm becomes, and for how long.

    python benchmark/fault_matrix.py [--arm arm7 ...] [--law adaptive ...] [--rate 500 ...]
        [--fault 'velocity sign' ...] [--write]

One line for each run; `--write` puts the worst of each fault into docs/reliability.md.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from itertools import product
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmark.fault_parts.arm import ARMS
from benchmark.fault_parts.lies import FAULTS
from benchmark.fault_parts.runs import LAWS, Outcome, concerns, run
from benchmark.sections import DOCS, write_section

RATES = (250.0, 500.0, 1000.0)


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


def main() -> int:
    """Run what was asked for and print a line for each run."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument('--arm', nargs='+', choices=ARMS, default=list(ARMS))
    parser.add_argument('--law', nargs='+', choices=LAWS, default=list(LAWS))
    parser.add_argument('--rate', nargs='+', type=float, default=list(RATES))
    parser.add_argument('--fault', nargs='+', choices=FAULTS, default=list(FAULTS))
    parser.add_argument('--write', action='store_true')
    arguments = parser.parse_args()
    outcomes: dict[str, list[Outcome]] = defaultdict(list)
    for fault, arm, law, rate in product(arguments.fault, arguments.arm, arguments.law,
                                         arguments.rate):
        if not concerns(fault, law):
            continue
        outcome = run(arm, law, rate, fault)
        outcomes[fault].append(outcome)
        print(f'{fault:15} {arm:6} {law:15} {rate:5g} Hz  peak {outcome.peak:6.2f}  tip '
              f'{outcome.tip_speed:6.2f} m/s  safe {outcome.time_to_safe:6.3f} s  after '
              f'{outcome.after:6.2f}  energy {outcome.energy_at_safe:8.3g} '
              f'{outcome.energy_after:8.3g} J  {outcome.reason}', flush=True)
    text = table(outcomes)
    print(text)
    if arguments.write:
        write_section(DOCS / 'reliability.md', 'faults of arms and drivers', text
                      + '\n\nMade by `python benchmark/fault_matrix.py --write`.')
    return 0


if __name__ == '__main__':
    sys.exit(main())
