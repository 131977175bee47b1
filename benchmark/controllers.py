# SPDX-License-Identifier: Apache-2.0
"""Every tracking controller against every other, on a 7R arm in MuJoCo: ``--help``.

The same three motions under the same conditions: what the model says, an unknown payload,
wrong masses, friction, a torque constant that is off, noise, delay, and several of them at
once. Baselines are PD + gravity, the same with an integral, and computed torque. With
``--write`` tables and pictures go into docs/control_study.md; runs that are asked for are
made anew, others are taken from docs/control_study.json.

    python benchmark/controllers.py --write
    python benchmark/controllers.py --conditions payload mixed --seeds 1 2 --positions 1 2
    python benchmark/controllers.py --contenders natural --hours 1
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from controllers_parts import pictures, table
from controllers_parts.conditions import CONDITIONS, PAYLOADS
from controllers_parts.contenders import CONTENDERS
from controllers_parts.motions import MOTIONS
from controllers_parts.results import Results
from controllers_parts.runs import run
from sections import DOCS, write_section

from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import resolve_robot

#: How long what learns nothing runs, and what learns. s.
STATIONARY, LEARNING = 20.0, 60.0

_STATIONARY = ('PD + gravity', 'PID + gravity', 'computed torque', 'one-step LQ', 'Riccati LQ')


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names = [condition.name for condition in CONDITIONS]
    parser.add_argument('--conditions', nargs='*', choices=names, default=names)
    parser.add_argument('--motions', nargs='*', choices=tuple(MOTIONS), default=list(MOTIONS))
    parser.add_argument('--contenders', nargs='*', choices=tuple(CONTENDERS),
                        default=list(CONTENDERS))
    parser.add_argument('--seeds', nargs='+', type=int, default=[0])
    parser.add_argument('--positions', nargs='+', type=int, default=[0],
                        choices=range(len(PAYLOADS)), help='of the payload')
    parser.add_argument('--seconds', type=float, help='of every run (default: 20, and 60 for '
                                                      'what learns)')
    parser.add_argument('--hours', type=float, help='run for so long and keep nothing: are all '
                                                    'estimates bodies?')
    parser.add_argument('--results', type=Path, default=DOCS / 'control_study.json')
    parser.add_argument('--write', action='store_true', help='write docs/control_study.md')
    return parser.parse_args(arguments)


def measure(robot: Robot, options: argparse.Namespace, results: Results) -> None:
    """Make the runs that are asked for."""
    for seed in options.seeds:
        for position in options.positions:
            for condition in CONDITIONS:
                for motion in options.motions if condition.name in options.conditions else ():
                    for name in options.contenders:
                        seconds = options.seconds or (STATIONARY if name in _STATIONARY
                                                      else LEARNING)
                        entry = run(robot, condition, motion, name, seconds, seed=seed,
                                    position=position)
                        results.put(condition.name, motion, name, seed, position, entry)
                        tell(condition.name, motion, name, seed, position, entry)


def tell(condition: str, motion: str, name: str, seed: int, position: int, entry: dict) -> None:
    """Print one run."""
    found = entry['trouble'] or entry['frozen'] or ' / '.join(
        f'{value:.3g}' for value in entry['rms'].values())
    print(f'{condition}, {motion}, seed {seed}, payload {position}: {name}: {found}', flush=True)


def endure(robot: Robot, options: argparse.Namespace) -> bool:
    """Run for hours; return whether every estimate was that of bodies, and mass in its cap."""
    good = True
    for condition in CONDITIONS:
        for motion in options.motions if condition.name in options.conditions else ():
            for name in options.contenders:
                began = time.time()
                entry = run(robot, condition, motion, name, 3600.0 * options.hours)
                wrong = entry['trouble'] or entry['frozen'] or entry['inconsistent']
                good &= not wrong
                print(f'{condition.name}, {motion}: {name}: {options.hours:g} h simulated in '
                      f'{time.time() - began:.0f} s: '
                      + (f'{wrong}' if wrong else 'every estimate is that of bodies')
                      + f'; mass {entry.get("mass", 0.0):+.3f} kg', flush=True)
    return good


def write(results: Results) -> None:
    """Put tables and pictures where the document has its markers."""
    path = DOCS / 'control_study.md'
    verdicts = table.verdicts(results)
    parts = {'errors': table.errors(results), 'details': table.details(results),
             'verdicts': '\n'.join(f'- {"holds" if good else "MISSED"}: {text}'
                                   for text, good in verdicts),
             'losses': '\n'.join(f'- {line}' for line in table.losses(results))}
    for name, part in parts.items():
        write_section(path, name, part)
    pictures.draw_errors(results, DOCS / 'images' / 'control_study_errors.png')
    pictures.draw_learning(results, DOCS / 'images' / 'control_study_learning.png')


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the study; 1 where something that has to hold does not."""
    options = parse(arguments)
    robot = Robot.from_urdf(resolve_robot('arm7'))
    if options.hours:
        return 0 if endure(robot, options) else 1
    results = Results(options.results)
    measure(robot, options, results)
    verdicts = table.verdicts(results)
    for text, good in verdicts:
        print(('holds: ' if good else 'MISSED: ') + text)
    if options.write:
        write(results)
    return 0 if all(good for _, good in verdicts) else 1


if __name__ == '__main__':
    sys.exit(main())
