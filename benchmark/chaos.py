# SPDX-License-Identifier: Apache-2.0
"""Chaos: behaviour of nodes while everything around them fails: ``--help``.

Real systems in processes of their own: a simulated arm, a controller, a reference and the model
torque, with a relay between arm and controller that corrupts joint states. A script kills, stops
and restarts processes, changes the clock, sets parameters, sends broken trajectories and requests
transitions. An observer receives every command. ``docs/reliability.md`` lists what is asserted.
All processes end with this one, also when it is interrupted or killed.

    python benchmark/chaos.py
    python benchmark/chaos.py --minutes 60 --seed 7 --write
    python benchmark/chaos.py --seed 7 --system 1 --only 23

With `--faults` the arm and its driver have the faults of `benchmark/fault_matrix.py` instead:

    python benchmark/chaos.py --faults --write
    python benchmark/chaos.py --faults --arm ur5 --fault 'encoder jump'
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import signal
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

from chaos_parts.leaks import end_with_parent
from chaos_parts.report import failures, print_outcome, summary, write
from chaos_parts.run import SETUPS, Run, play
from fault_matrix import main as fault_matrix


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n')[0])
    parser.add_argument('--minutes', type=float, default=10.0,
                        help='time of scenarios, of all systems together (default 10)')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--systems', type=int, default=len(SETUPS),
                        help='how many, side by side in domains of their own (default '
                             f'{len(SETUPS)})')
    parser.add_argument('--system', type=int, help='only the one with this number')
    parser.add_argument('--only', type=int, nargs='+', default=[], metavar='NUMBER',
                        help='only the scenarios with these numbers')
    parser.add_argument('--json', type=Path, help='write everything into this file')
    parser.add_argument('--write', action='store_true', help='put it into docs/reliability.md')
    parser.add_argument('--faults', nargs=argparse.REMAINDER, metavar='OPTION',
                        help='faults of arm and driver; options of benchmark/fault_matrix.py')
    return parser.parse_args(arguments)


def main() -> int:
    options = parse()
    if options.faults is not None:
        return fault_matrix(['--processes', *options.faults])
    systems = range(options.systems) if options.system is None else [options.system]
    seconds = 60.0 * options.minutes / len(systems)
    began = time.monotonic()
    one = partial(play, options.seed, seconds=seconds, only=options.only,
                  print_outcome=print_outcome)
    context = multiprocessing.get_context('spawn')
    for number in (signal.SIGINT, signal.SIGTERM):
        # The processes of the pool end with their groups, see `end_with_parent`.
        signal.signal(number, lambda number, frame: os._exit(128 + number))
    with ProcessPoolExecutor(len(systems), mp_context=context,
                             initializer=end_with_parent) as pool:
        runs: list[Run] = list(pool.map(one, systems))
    text = summary(runs, time.monotonic() - began)
    print(text)
    if options.json:
        options.json.write_text(json.dumps([run.as_dict() for run in runs], indent=1))
    if options.write:
        write(text, options)
    wrong = failures(runs)
    print('\n'.join(wrong), file=sys.stderr)
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
