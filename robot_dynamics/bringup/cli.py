# SPDX-License-Identifier: Apache-2.0
"""``robot-dynamics``: run a system or the demo, report on a recording, check a robot."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from robot_dynamics.bringup.ros_environment import one_thread
from robot_dynamics.bringup.xacro_args import add_xacro_args
from robot_dynamics.errors import RobotDynamicsError

#: Commands with a module of their own, and their line in ``--help``. Only the module of the
#: selected command is imported.
MODULES = {
    'up': ('commands.up', 'run an arm, its controller and observers, until Ctrl-C'),
    'demo': ('demo', 'simulate an arm with a wrong model, and the adaptation of its controller'),
    'doctor': ('commands.doctor',
               'check the running system, or a robot, and print what is wrong and what to do'),
    'switch': ('commands.switch', 'switch a running system to another controller'),
    'closed-form': ('commands.closed_form',
                    'write the equations of motion as formulas: text, LaTeX, Python, C, Wolfram'),
    'generate-controller': ('commands.generate_controller',
                            'write a controller of ros2_control for one arm as C and C++'),
    'identify': ('commands.identify',
                 'identify an arm from recordings: masses, inertia, friction, and their accuracy'),
    'validate': ('commands.validate',
                 'compare identified and described models on other recordings'),
    'excite': ('commands.excite',
               'design a motion from which the parameters of an arm can be identified'),
    'stiffness': ('commands.stiffness',
                  'measure stiffness and lost motion of joints from motor and link encoders'),
}


class _Help(argparse.ArgumentDefaultsHelpFormatter):
    """Shows default values, if any."""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        if action.default in (None, '', False):
            return action.help
        return super()._get_help_string(action)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    os.environ.update(one_thread(os.environ))
    parser = make_parser(given[:1])
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
        from robot_dynamics.nodes.ros.stopping import forget_output
        forget_output()
        return 1


def make_parser(complete: Sequence[str] = tuple(MODULES)) -> argparse.ArgumentParser:
    """Parser of the command line; only the commands in `complete` get their arguments.

    The modules of those commands are imported.
    """
    parser = argparse.ArgumentParser(
        prog='robot-dynamics', description='Robot arms under torque control, in ROS 2.')
    parser.add_argument('--version', action='version', version=_version())
    commands = parser.add_subparsers(dest='command', required=True, metavar='COMMAND')
    for name, (module, summary) in MODULES.items():
        if name not in complete:
            commands.add_parser(name, help=summary)
            continue
        command = importlib.import_module(f'robot_dynamics.bringup.{module}')
        added = commands.add_parser(name, help=summary, formatter_class=_Help,
                                    description=command.__doc__)
        command.add_arguments(added)
        added.set_defaults(run=command.run)
    report = commands.add_parser('report', help='make a page and a picture of a recording',
                                 formatter_class=_Help)
    report.add_argument('recording', type=Path, metavar='RECORDING',
                        help='folder of a rosbag2 recording, or MCAP file')
    report.add_argument('--output', type=Path, default=Path('demo-output'), metavar='FOLDER',
                        help='folder for report.html and report.png')
    report.add_argument('--robot', default='',
                        help='the arm, where the recording has no description of it')
    add_xacro_args(report)
    report.add_argument('--period', type=float, help='period of the reference, s')
    report.set_defaults(run=_report)
    robots = commands.add_parser('robots', help='list the robots of this package')
    robots.set_defaults(run=_robots)
    check = commands.add_parser(
        'check', help='read a robot description and print what is wrong with it',
        description='Read a URDF, xacro or DH file, print its joints and what is wrong with it. '
                    'Exit status 1 when it cannot be used.')
    check.add_argument('robot', metavar='FILE', help='file, or name of a robot of this package')
    add_xacro_args(check)
    check.set_defaults(run=_check)
    warmup = commands.add_parser('warmup', help='compile all kernels in advance')
    warmup.set_defaults(run=_warmup)
    return parser


def _report(options: argparse.Namespace) -> int:
    from robot_dynamics.bringup.descriptions import load_description
    from robot_dynamics.report.run_page import build_report
    from robot_dynamics.report.summary import table, verdict
    robot = load_description(options.robot, options.robot_args).robot \
        if options.robot else None
    report = build_report(options.recording, options.output, robot=robot, period=options.period)
    print(f'{report.controller}: {verdict(report.summary)}\n\n{table(report.summary)}\n\n'
          f'{report.page}\n{report.picture}')
    return 0


def _robots(options: argparse.Namespace) -> int:
    from robot_dynamics.bringup.descriptions import joint_count, load_description
    from robot_dynamics.model.shipped import shipped_robots
    for name, path in shipped_robots().items():
        print(f'{name:<24} {joint_count(load_description(path).robot)}')
    return 0


def _check(options: argparse.Namespace) -> int:
    from robot_dynamics.bringup.descriptions import joint_table, load_description, robot_line
    robot = load_description(options.robot, options.robot_args).robot
    print('\n'.join([robot_line(robot), *joint_table(robot)]))
    for finding in robot.findings:
        print(f'{finding.severity.value}: {finding}')
    return 0


def _warmup(options: argparse.Namespace) -> int:
    from robot_dynamics.bringup.warmup import every_node, warm_up
    print(f'ready after {warm_up(every_node()):.2f} s')
    return 0


def _version() -> str:
    try:
        return version('robot_dynamics')
    except PackageNotFoundError:
        return 'robot_dynamics, not installed'


if __name__ == '__main__':
    sys.exit(main())
