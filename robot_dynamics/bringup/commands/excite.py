# SPDX-License-Identifier: Apache-2.0
"""Design a motion for the identification of an arm, and write it to a file.

The motion begins and ends at rest in one pose and is within the limits of position, speed,
acceleration and effort at all times. The node excitation plays it: robot-dynamics up --excitation
FILE, or excitation.launch.py.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from robot_dynamics.bringup.descriptions import DH_SUFFIXES, load_description
from robot_dynamics.bringup.progress import progress_bar
from robot_dynamics.bringup.xacro_args import add_xacro_args
from robot_dynamics.errors import BringupError
from robot_dynamics.files import require_replaceable
from robot_dynamics.identification.excitation.design import (
    KINDS,
    Design,
    DesignSettings,
    design,
    resting_pose,
)
from robot_dynamics.identification.excitation.limits import Clearance, MotionLimits
from robot_dynamics.identification.excitation.objective import OBJECTIVES, TERMS
from robot_dynamics.identification.excitation.plan import ExcitationPlan
from robot_dynamics.identification.excitation.playback import check_plan
from robot_dynamics.model.robot import Robot
from robot_dynamics.report.words import columns


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_xacro_args(parser)
    default = DesignSettings()
    parser.add_argument('robot', metavar='ROBOT',
                        help='name of a robot of this package, or a URDF, xacro or DH file')
    parser.add_argument('--output', type=Path, default=Path('excitation.yaml'), metavar='FILE',
                        help='file to write')
    parser.add_argument('--seconds', type=float, default=default.seconds, metavar='SECONDS',
                        help='duration of the motion')
    parser.add_argument('--kind', choices=KINDS, default=default.kind, metavar='KIND',
                        help='kind of motion: ' + ', '.join(KINDS))
    parser.add_argument('--objective', choices=OBJECTIVES, default=default.objective,
                        metavar='OBJECTIVE', help='quantity to minimise: ' + ', '.join(OBJECTIVES))
    parser.add_argument('--terms', nargs='*', choices=TERMS, default=[], metavar='TERM',
                        help='joint terms to be identified beside the bodies: ' + ', '.join(TERMS))
    parser.add_argument('--start', type=float, nargs='+', metavar='Q',
                        help='pose where it begins and ends, rad or m; the middle of all ranges '
                             'by default')
    parser.add_argument('--scale', type=float, default=0.9, metavar='SHARE',
                        help='share of ranges, speeds and efforts that is used')
    parser.add_argument('--speed', type=float, default=float('inf'), metavar='SPEED',
                        help='largest speed of any joint, rad/s or m/s')
    parser.add_argument('--acceleration', type=float, nargs='+', default=[5.0],
                        metavar='ACCELERATION',
                        help='largest acceleration of all joints, or of each, rad/s^2 or m/s^2')
    parser.add_argument('--waves', type=int, metavar='NUMBER',
                        help='intervals of a spline or harmonics of a series; two a second and '
                             'one a second by default')
    parser.add_argument('--clearance', type=float, default=0.0, metavar='METRES',
                        help='distance that shapes of links keep from each other (needs MuJoCo)')
    parser.add_argument('--workspace', type=float, nargs=6, metavar='X',
                        help='two opposite corners of a box, x y z x y z, that moving links '
                             'stay in (needs MuJoCo)')
    parser.add_argument('--seed', type=int, default=default.seed, metavar='NUMBER',
                        help='seed of all random numbers')
    parser.add_argument('--restarts', type=int, default=default.restarts, metavar='NUMBER',
                        help='number of optimisations, of which the best is kept')
    parser.add_argument('--iterations', type=int, default=default.iterations, metavar='NUMBER',
                        help='iterations of each of two stages of an optimisation, at most')
    parser.add_argument('--workers', type=int, default=os.cpu_count() or 1, metavar='NUMBER',
                        help='processes that share the restarts')


def run(options: argparse.Namespace) -> int:
    """Design the motion, write the plan and print its properties."""
    require_replaceable(options.output.parent, (options.output.name,))
    description = load_description(options.robot, options.robot_args)
    robot = description.robot
    robot.require_single_coordinates('excitation')
    start = resting_pose(robot, options.start)
    settings = DesignSettings(options.seconds, options.kind, options.objective, options.seed,
                              options.restarts, options.iterations, options.waves,
                              tuple(options.terms))
    if len(options.acceleration) not in (1, robot.n):
        raise BringupError(f'must have 1 or {robot.n} values, got {len(options.acceleration)}',
                           subject='--acceleration', remedy='give one, or one for each of: '
                           + ', '.join(robot.joint_names))
    limits = MotionLimits.for_robot(
        robot, start, scale=options.scale, speed=options.speed,
        acceleration=options.acceleration[0] if len(options.acceleration) == 1
        else options.acceleration)
    clearance = _clearance(options, robot, description.urdf
                           if description.path.suffix not in DH_SUFFIXES else None)
    made = design(robot, start, limits, settings, clearance=clearance,
                  workers=options.workers, progress=progress_bar())
    plan = ExcitationPlan.of(robot, made, settings)
    check_plan(plan, robot, clearance)
    plan.write(options.output)
    print('\n'.join([*summary(plan, made), f'\n{options.output}']))
    return 0


def summary(plan: ExcitationPlan, made: Design) -> list[str]:
    """Lines with the condition number of a design and the used fractions of the limits."""
    motion = plan.motion
    parts = {'position': made.use.position, 'speed': made.use.velocity,
             'acceleration': made.use.acceleration, 'effort': made.use.effort}
    use = [(name, *(f'{100 * part[k]:.0f} %' for part in parts.values()))
           for k, name in enumerate(plan.joint_names)]
    return [
        f'{motion.duration:g} s for {made.rank} base parameters of {plan.robot_name}, designed '
        f'in {made.seconds:.1f} s',
        f'condition number {made.condition:.3g}, of random motions within the same limits '
        f'{made.random_condition:.3g} (median of {len(made.random_conditions)}); restarts: '
        + ', '.join(f'{value:.3g}' for value in made.restarts),
        '', 'use of limits, at any time:', *columns(('joint', *parts), use, '')]


def _clearance(options: argparse.Namespace, robot: Robot, urdf: str | None) -> Clearance | None:
    """Check of shapes, if requested."""
    if not options.clearance and options.workspace is None:
        return None
    from robot_dynamics.simulation.clearance import ShapeClearance
    if urdf is None:
        raise BringupError('needs shapes, which a DH table does not have', subject='--clearance',
                           remedy='give a URDF')
    return ShapeClearance(robot, urdf.encode(), clearance=options.clearance,
                          workspace=options.workspace)
