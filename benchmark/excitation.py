# SPDX-License-Identifier: Apache-2.0
"""Time and quality of the design of an exciting motion.

    python benchmark/excitation.py [--write]

prints the table of docs/excitation.md, and with --write puts it there.
"""

import argparse
import os
import platform
import resource

import numpy as np
from sections import DOCS, write_section

from robot_dynamics.bringup.descriptions import load_description
from robot_dynamics.control.motion.references import exciting_fourier
from robot_dynamics.identification.excitation.design import (
    DesignSettings,
    design,
    resting_pose,
)
from robot_dynamics.identification.excitation.limits import MotionLimits
from robot_dynamics.identification.excitation.objective import Information
from robot_dynamics.identification.excitation.plan import ExcitationPlan
from robot_dynamics.identification.excitation.playback import check_plan

#: Robot, kind, joint terms.
ROWS = (('arm7', 'bspline', ()), ('rpr', 'bspline', ()), ('arm7', 'fourier', ()),
        ('arm7', 'bspline', ('viscous', 'coulomb')), ('puma560', 'bspline', ()))
HEAD = ('| robot | motion | joint terms | base parameters | condition | random, same kind '
        '| random series of the `reference` node | largest use of a limit | design, s '
        '| of two processors, s each |\n'
        '|---|---|---|---|---|---|---|---|---|---|')
#: Speed of a joint whose description gives none, and seeds of random series.
SPEED, SEEDS = 2.0, 15


def of_reference_node(robot, terms: tuple[str, ...], seconds: float) -> float:
    """Median condition number of the motions of the reference node."""
    information = Information(robot, terms=terms)
    times = np.linspace(0.0, seconds, 401)
    return float(np.median([information.condition(*exciting_fourier(robot, seed).sample_many(
        times)) for seed in range(SEEDS)]))


def processor_time() -> float:
    """Processor time of this process and of its finished children, s."""
    return sum(usage.ru_utime + usage.ru_stime for usage in map(
        resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))


def row(name: str, kind: str, terms: tuple[str, ...]) -> str:
    """Design a motion of 20 s: a line of the table."""
    robot = load_description(name).robot
    start = resting_pose(robot)
    limits = MotionLimits.for_robot(robot, start, speed=SPEED)
    settings = DesignSettings(kind=kind, terms=terms)
    before = processor_time()
    made = design(robot, start, limits, settings, workers=2)
    used = processor_time() - before
    check_plan(ExcitationPlan.of(robot, made, settings), robot)
    random = made.random_conditions
    return (f'| {name} | {kind} | {", ".join(terms) or "nothing"} | {made.rank} '
            f'| **{made.condition:.2f}** | {np.median(random):.0f} ({random.min():.0f} to '
            f'{random.max():.0f}) | {of_reference_node(robot, terms, settings.seconds):.0f} '
            f'| {100 * made.use.largest:.1f} % | {made.seconds:.0f} | {used / 2:.0f} |')


def main() -> None:
    """Measure and print; write if requested."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--write', action='store_true', help='put the table into the document')
    options = parser.parse_args()
    lines = [HEAD]
    for arguments in ROWS:
        lines.append(row(*arguments))
        print(lines[-1], flush=True)
        machine = (f'{os.cpu_count()} cores, {platform.machine()}, Python '
                   f'{platform.python_version()}; load of the machine {os.getloadavg()[0]:.1f}: '
                   'where that is above 2, others have delayed the designs.')
        if options.write:
            write_section(DOCS / 'excitation.md', 'excitation', '\n'.join([*lines, '', machine]))


if __name__ == '__main__':
    main()
