#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Faults of arms and drivers against every controller: how fast the arm becomes, and for how long.

    python benchmark/fault_matrix.py [--arm arm7 ...] [--law adaptive ...] [--rate 500 ...]
        [--fault 'velocity sign' ...] [--write]

``--write`` puts the worst of each fault into docs/reliability.md.
"""

from __future__ import annotations

import argparse
import sys
from itertools import product
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmark.fault_parts.arm import ARMS
from benchmark.fault_parts.lies import FAULTS
from benchmark.fault_parts.runs import LAWS, run


def main() -> int:
    """Run the cells asked for and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--arm', nargs='+', choices=ARMS, default=list(ARMS))
    parser.add_argument('--law', nargs='+', choices=LAWS, default=list(LAWS))
    parser.add_argument('--rate', nargs='+', type=float, default=[250.0, 500.0, 1000.0])
    parser.add_argument('--fault', nargs='+', choices=FAULTS, default=list(FAULTS))
    arguments = parser.parse_args()
    for fault, arm, law, rate in product(arguments.fault, arguments.arm, arguments.law,
                                         arguments.rate):
        outcome = run(arm, law, rate, fault)
        print(f'{fault:15} {arm:6} {law:15} {rate:5g} Hz  peak {outcome.peak:6.2f}  tip '
              f'{outcome.tip_speed:6.2f} m/s  safe {outcome.time_to_safe:6.3f} s  after '
              f'{outcome.after:6.2f}  energy {outcome.energy_at_safe:8.3g} '
              f'{outcome.energy_after:8.3g} J  {outcome.reason}', flush=True)
    return 0


if __name__ == '__main__':
    sys.exit(main())
