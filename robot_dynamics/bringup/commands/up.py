# SPDX-License-Identifier: Apache-2.0
"""Run the same system as simulation.launch.py or, with --hardware, hardware.launch.py.

It needs no ros2 launch. Ctrl-C stops the nodes in order.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Mapping
from pathlib import Path

from robot_dynamics.bringup.arguments import ARGUMENTS, add_options
from robot_dynamics.bringup.excitation import excitation_processes, run_excitation
from robot_dynamics.bringup.hardware import (
    HARDWARE_ARGUMENTS,
    with_hardware,
    with_states_from,
)
from robot_dynamics.bringup.plants import NO_PLANT, find_plant
from robot_dynamics.bringup.processes import child_environment
from robot_dynamics.bringup.runner import run_until_stopped
from robot_dynamics.bringup.system import NO_REFERENCE, System, elastic_joints, find_controller
from robot_dynamics.bringup.warmup import warm_up
from robot_dynamics.errors import BringupError
from robot_dynamics.files import require_own_folder
from robot_dynamics.nodes import require_ros
from robot_dynamics.nodes.ros.transports import reaches_this_machine


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_options(parser, {
        **ARGUMENTS, 'robot': ('', f'{ARGUMENTS["robot"][1]} Empty: {System.robot}, or with '
                               '--hardware the topic robot_description.'),
        'reference': ('', f'{ARGUMENTS["reference"][1]} Empty: {System.reference}, or with '
                      '--hardware none.')})
    add_options(parser, HARDWARE_ARGUMENTS)
    parser.add_argument('--record', type=Path, metavar='FOLDER', help='Record into this folder.')
    parser.add_argument('--excitation', default='', metavar='FILE',
                        help='Move the arm along this plan of robot-dynamics excite, record it '
                             'into the folder of --record, and end.')
    parser.add_argument('--periods', type=int, metavar='NUMBER',
                        help='Number of times that the plan of --excitation is played, once by '
                             'default: periods can be averaged (docs/excitation.md).')
    parser.add_argument('--seconds', type=float, metavar='SECONDS',
                        help='End so long after the nodes have been started.')


def run(options: argparse.Namespace) -> int:
    """Run the system until it is stopped or finished; return the exit status."""
    values = {name: getattr(options, name) for name in ARGUMENTS}
    is_excited = bool(options.excitation)
    if options.seconds is not None and not options.seconds > 0.0:
        raise BringupError(f'must be above 0 s, got {options.seconds:g}', subject='--seconds',
                           remedy='leave it out to run until Ctrl-C')
    if options.periods is not None and not is_excited:
        raise BringupError('needs a plan', subject='--periods',
                           remedy='give the plan by --excitation')
    if options.record is not None:
        require_own_folder(options.record)
    if options.hardware:
        if options.plant not in (System.plant, NO_PLANT):
            raise BringupError('simulates an arm, beside --hardware', subject='--plant',
                               remedy='leave one of them out')
        values.update(plant=NO_PLANT, reference=options.reference or NO_REFERENCE)
    else:
        values.update(robot=options.robot or System.robot,
                      reference=options.reference or System.reference)
    system = System(**values, record=None if is_excited else options.record)
    if options.hardware:
        system = with_hardware(system, options.hardware, options.command_topic)
    if system.plant != NO_PLANT:
        find_plant(system.plant)
    require_ros()
    environment = child_environment()
    print(_banner(system, environment), flush=True)
    folder = '' if options.record is None else str(options.record)
    processes = excitation_processes(
        system, options.excitation, folder, 1 if options.periods is None else options.periods) \
        if is_excited else system.processes()
    processes = with_states_from(options.joint_states, processes)
    # Compiled before the nodes start, so that they do not wait for each other's compilation, and
    # so that it does not count as running time.
    warm_up(processes)
    finished = run_excitation(processes, environment, options.seconds) if is_excited \
        else run_until_stopped(processes, options.seconds, environment=environment)
    if folder:
        print(recorded(system, folder, is_excited=is_excited and finished), flush=True)
    return 1 if is_excited and not finished else 0


def recorded(system: System, folder: str, *, is_excited: bool) -> str:
    """Line that names a recording and the command that evaluates it."""
    command = ['robot-dynamics', 'report', folder]
    if is_excited and system.robot:
        command = ['robot-dynamics', 'identify', folder, '--robot', system.robot,
                   *(['--xacro-args', system.robot_args] if system.robot_args else [])]
        if system.elastic_joints or find_controller(system.controller).is_elastic:
            command += ['--elastic-joints', elastic_joints(
                system.elastic_joints, system.controller, system.description)]
    return f'{folder}  recorded; next: {shlex.join(command)}'


def _banner(system: System, environment: Mapping[str, str]) -> str:
    """First line: nodes, ROS domain, and how to stop them."""
    robot = system.description.robot.name if system.robot else 'robot_description'
    standby = f' (standby: {system.standby})' if system.standby else ''
    return (f'{robot}, plant {system.plant}, controller {system.controller}{standby}, '
            f'{system.rate:g} Hz; '
            f'ROS_DOMAIN_ID={environment.get("ROS_DOMAIN_ID") or 0}'
            f'{", on this machine only" if reaches_this_machine(environment) else ""}; '
            'Ctrl-C stops it')
