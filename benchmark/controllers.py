# SPDX-License-Identifier: Apache-2.0
"""Every tracking controller against every other, on a 7R arm in MuJoCo: ``--help``.

The same three motions under the same conditions: what the model says, an unknown payload,
wrong masses, friction, a torque constant that is off, noise, delay, and several of them at
once. Baselines are PD + gravity, the same with an integral, and computed torque. Then the
mass of a payload, gains that are too high, and with ``--hours`` whole hours. With
``--write`` tables and pictures go into docs/control_study.md; runs that are asked for are
made anew, others are taken from docs/control_study.json and _hours.json.

    python benchmark/controllers.py --write
    python benchmark/controllers.py --missing --write
    python benchmark/controllers.py --conditions payload --seeds 1 2 --positions 1 2
    python benchmark/controllers.py --robots Panda UR5e --write
    python benchmark/controllers.py --parts hours --hours 1 --contenders natural --missing --write
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from controllers_parts import arms, endurance, excess, masses, pictures, table, verdicts
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

_STATIONARY = ('PD + gravity', 'PID + gravity', 'computed torque', 'one-step LQ', 'Riccati LQ',
               'Riccati LQI')

#: Seeds and payload positions beside the first, and of what they are run where nobody says.
VARIATIONS = ((1, 0), (2, 0), (0, 1), (0, 2))
VARIED = (('payload', 'mixed'), ('PD + gravity', 'PID + gravity', 'memory'))

PARTS = ('errors', 'masses', 'excess', 'arms', 'hours')


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names = [condition.name for condition in CONDITIONS]
    parser.add_argument('--conditions', nargs='*', choices=names, default=names)
    parser.add_argument('--motions', nargs='*', choices=tuple(MOTIONS), default=list(MOTIONS))
    parser.add_argument('--contenders', nargs='*', choices=tuple(CONTENDERS),
                        default=list(CONTENDERS))
    parser.add_argument('--seeds', nargs='+', type=int, help='of motion and noise')
    parser.add_argument('--positions', nargs='+', type=int, choices=range(len(PAYLOADS)),
                        help='of the payload (default for both: the first, and others of what '
                             'learns a payload)')
    parser.add_argument('--seconds', type=float, help='of every run (default: 20, and 60 for '
                                                      'what learns)')
    parser.add_argument('--parts', nargs='+', choices=PARTS, default=list(PARTS[:-1]))
    parser.add_argument('--hours', type=float, default=1.0, help='how long the part of that name '
                                                                 'simulates')
    parser.add_argument('--robots', nargs='*', choices=tuple(arms.ARMS), help='only these arms '
                        'with undescribed rotors and friction, against the gains of practice '
                        '(default: all that are installed)')
    parser.add_argument('--arms-results', type=Path, default=DOCS / 'control_study_arms.json')
    parser.add_argument('--missing', action='store_true', help='make only runs that there are no '
                                                               'results of')
    parser.add_argument('--results', type=Path, default=DOCS / 'control_study.json')
    parser.add_argument('--hours-results', type=Path, default=DOCS / 'control_study_hours.json')
    parser.add_argument('--write', action='store_true', help='write docs/control_study.md')
    options = parser.parse_args(arguments)
    if options.robots is not None:
        options.parts = ['arms']
    return options


def wishes(options: argparse.Namespace) -> Iterator[tuple[int, int, list[str], list[str]]]:
    """Yield seeds and payload positions, with the conditions and contenders to run for them."""
    if options.seeds or options.positions:
        for seed in options.seeds or [0]:
            for position in options.positions or [0]:
                yield seed, position, options.conditions, options.contenders
        return
    yield 0, 0, options.conditions, options.contenders
    varied = [[name for name in asked if name in of] for asked, of in
              zip((options.conditions, options.contenders), VARIED, strict=True)]
    for seed, position in VARIATIONS:
        yield seed, position, *varied


def measure(robot: Robot, options: argparse.Namespace, results: Results) -> None:
    """Make the runs that are asked for."""
    for seed, position, conditions, contenders in wishes(options):
        for condition in CONDITIONS:
            for motion in options.motions if condition.name in conditions else ():
                for name in contenders:
                    key = condition.name, motion, name, seed, position
                    if options.missing and results.get(*key) is not None:
                        continue
                    seconds = options.seconds or (STATIONARY if name in _STATIONARY else LEARNING)
                    entry = run(robot, condition, motion, name, seconds, seed=seed,
                                position=position)
                    results.put(*key, entry)
                    tell(*key, entry)


def tell(condition: str, motion: str, name: str, seed: int, position: int, entry: dict) -> None:
    """Print one run."""
    found = entry['trouble'] or entry['frozen'] or ' / '.join(
        f'{value:.3g}' for value in entry['rms'].values())
    print(f'{condition}, {motion}, seed {seed}, payload {position}: {name}: {found}', flush=True)


def errors(robot: Robot, options: argparse.Namespace) -> tuple[dict[str, str], bool]:
    """Make the runs, draw their pictures; return tables and whether all holds."""
    results = Results(options.results)
    measure(robot, options, results)
    found = verdicts.verdicts(results)
    if options.write:
        images = DOCS / 'images'
        pictures.draw_errors(results, images / 'control_study_errors.png')
        pictures.draw_learning(results, images / 'control_study_learning.png')
    return ({'errors': table.errors(results), 'details': table.details(results),
             'verdicts': verdicts.as_table(found), 'losses': table.losses(results)},
            all(verdict.good for verdict in found))


def hours(robot: Robot, options: argparse.Namespace) -> tuple[dict[str, str], bool]:
    """Run for hours; return the table and whether all holds."""
    results = Results(options.hours_results)
    endurance.measure(robot, results, options.conditions, options.motions, options.contenders,
                      options.hours, missing=options.missing)
    return {'hours': endurance.as_table(results)}, endurance.holds(results)


def other_arms(robot: Robot, options: argparse.Namespace) -> tuple[dict[str, str], bool]:
    """Run other arms; return tables and whether all holds."""
    results = Results(options.arms_results)
    names = options.robots or list(arms.ARMS)
    reasons = arms.measure(results, names, missing=options.missing)
    return arms.tables(results, list(arms.ARMS), reasons)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the study; 1 where something that has to hold does not."""
    options = parse(arguments)
    robot = Robot.from_urdf(resolve_robot('arm7'))
    makers = {'errors': errors, 'hours': hours, 'arms': other_arms,
              'masses': lambda robot, options: masses.measure(robot),
              'excess': lambda robot, options: excess.measure(robot)}
    all_good = True
    for part in options.parts:
        tables, good = makers[part](robot, options)
        all_good &= good
        for name, text in tables.items():
            if name not in ('errors', 'details'):
                print(f'{name}:\n{text}', flush=True)
            if options.write:
                write_section(DOCS / 'control_study.md', name, text)
    return 0 if all_good else 1


if __name__ == '__main__':
    sys.exit(main())
