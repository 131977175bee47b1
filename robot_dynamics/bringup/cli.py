# SPDX-License-Identifier: Apache-2.0
"""``robot-dynamics``: run a system or the demo, report on a recording, look at a robot."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import ModuleType

from robot_dynamics.bringup import blas_threads  # noqa: F401 (before whatever loads numpy)

# isort: split
from robot_dynamics.bringup import demo
from robot_dynamics.bringup.arguments import ARGUMENTS
from robot_dynamics.bringup.child_process import child_environment
from robot_dynamics.bringup.commands import closed_form as formulas
from robot_dynamics.bringup.commands import doctor, excite, stiffness, switch
from robot_dynamics.bringup.commands import identify as identification
from robot_dynamics.bringup.controllers import find_controller
from robot_dynamics.bringup.descriptions import load_description
from robot_dynamics.bringup.doctor.robot import joint_count, robot_line, robot_table
from robot_dynamics.bringup.elastic import elastic_joints
from robot_dynamics.bringup.excitation import excitation_processes, run_excitation
from robot_dynamics.bringup.session import require_ros, run_until_stopped
from robot_dynamics.bringup.system import NO_PLANT, System, find_plant
from robot_dynamics.bringup.warmup import every_node, warm_up
from robot_dynamics.errors import BringupError, RobotDynamicsError
from robot_dynamics.model.shipped import shipped_robots
from robot_dynamics.nodes.ros.stopping import forget_output


class _Help(argparse.ArgumentDefaultsHelpFormatter):
    """Shows defaults, where there is one."""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        if action.default in (None, '', False):
            return action.help
        return super()._get_help_string(action)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status."""
    parser = _parser()
    given = sys.argv[1:] if arguments is None else list(arguments)
    if not given:
        parser.print_help()
        return 2
    options = parser.parse_args(given)
    try:
        status = options.run(options)
        sys.stdout.flush()
        return status
    except RobotDynamicsError as error:
        print(f'robot-dynamics {options.command}: {error}', file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        forget_output()
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog='robot-dynamics', description='Robot arms under torque control, in ROS 2.')
    parser.add_argument('--version', action='version', version=_version())
    commands = parser.add_subparsers(dest='command', required=True, metavar='COMMAND')
    _add_up(commands)
    _add_demo(commands)
    _add_report(commands)
    robots = commands.add_parser('robots', help='list the robots of this package')
    robots.set_defaults(run=_robots)
    _add_module(commands, 'doctor', doctor, doctor.DESCRIPTION)
    _add_module(commands, 'switch', switch)
    check = commands.add_parser(
        'check', help='read a robot description and say what is wrong with it',
        description='Read a URDF, xacro or DH file, say what it holds and what is wrong with it. '
                    'Exit status 1 when it cannot be used.')
    check.add_argument('robot', metavar='FILE', help='file, or name of a robot of this package')
    check.set_defaults(run=_check)
    _add_module(commands, 'closed-form', formulas)
    _add_module(commands, 'identify', identification)
    _add_module(commands, 'excite', excite)
    _add_module(commands, 'stiffness', stiffness)
    warmup = commands.add_parser('warmup', help='compile all kernels now, once for all')
    warmup.set_defaults(run=_warmup)
    return parser


def _add_module(commands: argparse._SubParsersAction, name: str, module: ModuleType,
                description: str | None = None) -> None:
    """Add a command that has a module to itself: its summary, its arguments and what it does."""
    parser = commands.add_parser(name, help=module.SUMMARY, formatter_class=_Help,
                                 description=description or module.__doc__)
    module.add_arguments(parser)
    parser.set_defaults(run=module.run)


def _add_up(commands: argparse._SubParsersAction) -> None:
    up = commands.add_parser(
        'up', help='run an arm, its controller and what watches them, until Ctrl-C',
        description='Run the same system as ros2 launch robot_dynamics simulation.launch.py, '
                    'without ros2 launch. Ctrl-C stops the nodes in order.',
        formatter_class=_Help)
    for argument in ARGUMENTS:
        flag = f'--{argument.name.replace("_", "-")}'
        if isinstance(argument.default, bool):
            up.add_argument(flag, action='store_true', help=argument.text)
        else:
            up.add_argument(flag, type=type(argument.default), default=argument.default,
                            metavar=argument.name.upper(), help=argument.text)
    up.add_argument('--record', type=Path, metavar='FOLDER', help='Record into this folder.')
    up.add_argument('--excitation', default='', metavar='FILE',
                    help='Lead the arm through this plan of robot-dynamics excite, record it into '
                         'the folder of --record, and end.')
    up.add_argument('--periods', type=int, metavar='NUMBER',
                    help='How often the plan of --excitation is played, once by default: periods '
                         'can be averaged (docs/excitation.md).')
    up.add_argument('--seconds', type=float, metavar='SECONDS',
                    help='End by itself so long after the nodes have been started.')
    up.set_defaults(run=_up)


def _add_demo(commands: argparse._SubParsersAction) -> None:
    parser = commands.add_parser(
        'demo', help='see an arm with a wrong model of itself being tracked better and better',
        description=demo.__doc__, formatter_class=_Help)
    demo.add_arguments(parser)
    parser.set_defaults(run=demo.run)


def _add_report(commands: argparse._SubParsersAction) -> None:
    report = commands.add_parser(
        'report', help='make a page and a picture of a recording',
        formatter_class=_Help)
    report.add_argument('recording', type=Path, metavar='RECORDING',
                        help='folder of a rosbag2 recording, or MCAP file')
    report.add_argument('--output', type=Path, default=Path('demo-output'), metavar='FOLDER',
                        help='where to write report.html and report.png')
    report.add_argument('--robot', default='', help='the arm, where the recording does not hold '
                                                    'its description')
    report.add_argument('--period', type=float, help='period of the reference, s')
    report.set_defaults(run=_report)


def _up(options: argparse.Namespace) -> int:
    values = {argument.name: getattr(options, argument.name) for argument in ARGUMENTS}
    led = bool(options.excitation)
    if options.seconds is not None and not options.seconds > 0.0:
        raise BringupError(f'is {options.seconds:g}', subject='--seconds',
                           remedy='give a time above 0 s, or leave it out to run until Ctrl-C')
    if options.periods is not None and not led:
        raise BringupError('are given, and no plan', subject='--periods',
                           remedy='give the plan by --excitation')
    system = System(**values, record=None if led else options.record)
    if system.plant != NO_PLANT:
        find_plant(system.plant)
    require_ros()
    environment = child_environment()
    print(_banner(system, environment), flush=True)
    folder = '' if options.record is None else str(options.record)
    processes = excitation_processes(
        system, options.excitation, folder, 1 if options.periods is None else options.periods) \
        if led else system.processes()
    # Nodes compile what is missing, too; done before, none waits for another's compiler, nor
    # is it counted among the seconds that the system runs.
    warm_up(processes)
    finished = run_excitation(processes, environment, options.seconds) if led \
        else run_until_stopped(processes, options.seconds, environment=environment)
    if folder:
        print(recorded(system, folder, is_excited=led and finished), flush=True)
    return 1 if led and not finished else 0


def recorded(system: System, folder: str, *, is_excited: bool) -> str:
    """Return where a recording is, and what to make of it."""
    command = ['robot-dynamics', 'report', folder]
    if is_excited and system.robot:
        command = ['robot-dynamics', 'identify', folder, '--robot', system.robot]
        if system.elastic_joints or find_controller(system.controller).is_elastic:
            command += ['--elastic-joints', elastic_joints(
                system.elastic_joints, system.controller, load_description(system.robot))]
    return f'{folder}  recorded; next: {shlex.join(command)}'


def _banner(system: System, environment: Mapping[str, str]) -> str:
    """Return what runs, where it is heard and how it ends."""
    robot = load_description(system.robot).robot.name if system.robot else 'robot_description'
    here = environment.get('ROS_AUTOMATIC_DISCOVERY_RANGE') == 'LOCALHOST' \
        or environment.get('ROS_LOCALHOST_ONLY') == '1'
    standby = f' (standing by: {system.standby})' if system.standby else ''
    return (f'{robot}, plant {system.plant}, controller {system.controller}{standby}, '
            f'{system.rate:g} Hz; '
            f'ROS_DOMAIN_ID={environment.get("ROS_DOMAIN_ID") or 0}'
            f'{", on this machine only" if here else ""}; Ctrl-C stops it')


def _report(options: argparse.Namespace) -> int:
    from robot_dynamics.report.run_page import build_report
    from robot_dynamics.report.summary import table, verdict
    robot = load_description(options.robot).robot if options.robot else None
    report = build_report(options.recording, options.output, robot=robot, period=options.period)
    print(f'{report.controller}: {verdict(report.summary)}\n\n{table(report.summary)}\n\n'
          f'{report.page}\n{report.picture}')
    return 0


def _robots(options: argparse.Namespace) -> int:
    for name, path in shipped_robots().items():
        robot = load_description(path).robot
        print(f'{name:<24} {joint_count(robot)}')
    return 0


def _check(options: argparse.Namespace) -> int:
    robot = load_description(options.robot).robot
    print('\n'.join([robot_line(robot), *robot_table(robot)]))
    for finding in robot.findings:
        print(f'{finding.severity.value}: {finding}')
    return 0


def _warmup(options: argparse.Namespace) -> int:
    print(f'ready after {warm_up(every_node()):.2f} s')
    return 0


def _version() -> str:
    try:
        return version('robot_dynamics')
    except PackageNotFoundError:
        return 'robot_dynamics, not installed'


if __name__ == '__main__':
    sys.exit(main())
