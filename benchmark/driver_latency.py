# SPDX-License-Identifier: Apache-2.0
"""Latency of commands behind a real controller manager.

    python -m benchmark.driver_latency --plugin CLASS [--rate 250 500 1000] [--priority 50]
        [--write]

The system is that of `benchmark/driver_stops.py` with brakes, under the adaptive controller. A
command answers the state of its stamp. It acts from the cycle whose effort is reported by the
next state. `--write` puts the table into docs/hardware.md.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path

import numpy as np
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState

from benchmark.driver_stops import NAMES, Bench, State
from benchmark.sections import DOCS, write_section

SECTION = 'latency of a command'
CONTROLLER = 'adaptive_controller'
#: Time until the estimates have settled, and time of the measurement. s.
SETTLING, MEASURED = 20.0, 20.0
#: A command that has not acted by then never will. s.
LONGEST = 0.2


def measure(options: argparse.Namespace) -> str:
    """Row of the table at a rate."""
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(options, Path(folder), brakes=True, controller=CONTROLLER)
        try:
            commands: list[bytes] = []
            errors: list[bytes] = []
            bench.begin()
            bench.wait(SETTLING)
            for topic, messages in (('command', commands), ('tracking_error', errors)):
                bench.listen(JointState, f'{CONTROLLER}/{topic}',
                             lambda message, _, to=messages: to.append(message))
            before = len(bench.states())
            bench.wait(MEASURED)
            if bench.mode != 'tracking':
                raise RuntimeError(f'it does not track: {bench.mode}')
            states = bench.states()[before:]
        finally:
            bench.close()
    return row(options.rate, states, [read_command(each) for each in commands],
               np.array([deserialize_message(each, JointState).position for each in errors]))


def read_command(data: bytes) -> tuple[float, np.ndarray]:
    """Stamp, s, and efforts of a command in the order of `NAMES`."""
    message = deserialize_message(data, JointState)
    stamp = message.header.stamp
    order = [message.name.index(name) for name in NAMES]
    return stamp.sec + 1e-9 * stamp.nanosec, np.array(message.effort)[order]


def latencies(states: list[State], commands: list[tuple[float, np.ndarray]]) -> np.ndarray:
    """Time from each state to the cycle at which its command acts, s; nan where it never does."""
    times, efforts = (np.array(values) for values in zip(
        *((state.time, state.effort) for state in states), strict=True))
    found = []
    for stamp, effort in commands:
        first, last = np.searchsorted(times, (stamp + 1e-6, stamp + LONGEST))
        if stamp < times[0] or last == len(times):
            continue
        acts = np.flatnonzero((efforts[first:last] == effort).all(axis=1))
        found.append(times[first + acts[0] - 1] - stamp if acts.size else np.nan)
    return np.array(found)


def row(rate: float, states: list[State], commands: list[tuple[float, np.ndarray]],
        errors: np.ndarray) -> str:
    """Row of the table."""
    late = latencies(states, commands)
    acting = 1e3 * late[np.isfinite(late)]
    efforts = np.array([state.effort for state in states])
    old = (efforts[1:] == efforts[:-1]).all(axis=1)
    p50, p99 = np.percentile(acting, (50.0, 99.0))
    cells = [f'{rate:g}', f'{p50:.2f}', f'{p99:.2f}', f'{acting.max():.2f}',
             f'{100.0 * np.mean(np.isnan(late)):.2f}', f'{100.0 * old.mean():.2f}',
             f'{1e3 * np.sqrt(np.mean(errors**2)):.2f}', f'{1e3 * np.abs(errors).max():.2f}']
    return '| ' + ' | '.join(cells) + ' |'


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument('--plugin', required=True, help='class of the simulated hardware')
    parser.add_argument('--rate', type=float, nargs='+', default=[250.0, 500.0, 1000.0])
    parser.add_argument('--priority', type=int, default=0)
    parser.add_argument('--write', action='store_true')
    options = parser.parse_args()
    rates = list(options.rate)
    if options.priority:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(max(options.priority - 1, 1)))
    lines = ['| rate, Hz | acts after, ms: p50 | p99 | max | never acts, % | cycles without a new '
             'command, % | tracking error RMS, mrad | max, mrad |', '|---:|' + '---:|' * 7]
    for options.rate in rates:
        lines.append(measure(options))
        print(lines[-1], flush=True)
    if options.write:
        command = 'python -m benchmark.driver_latency --plugin CLASS --rate ' \
            + ' '.join(f'{rate:g}' for rate in rates) \
            + (f' --priority {options.priority}' if options.priority else '') + ' --write'
        write_section(DOCS / 'hardware.md', SECTION, '\n'.join(lines) + (
            '\n\nThe arm of the stops above under the adaptive controller, from '
            f'{SETTLING:g} s to {SETTLING + MEASURED:g} s after its start, behind the real '
            'controller manager,\non two cores with other load. Every fifth command is measured. '
            f'Made by `{command}`.'))


if __name__ == '__main__':
    main()
