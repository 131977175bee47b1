# SPDX-License-Identifier: Apache-2.0
"""Names in remedies: parameters of nodes, arguments of launch files and options that exist."""

import argparse
import ast
import re
from pathlib import Path

import pytest

pytest.importorskip('rclpy', reason='ROS 2 (rclpy) is not installed')

from robot_dynamics.bringup.arguments import ARGUMENTS
from robot_dynamics.bringup.cli import make_parser
from robot_dynamics.bringup.demo import DEMO_ARGUMENTS
from robot_dynamics.bringup.excitation import EXCITATION_ARGUMENTS
from robot_dynamics.bringup.hardware import HARDWARE_ARGUMENTS
from robot_dynamics.bringup.launching.gazebo import GAZEBO_ARGUMENTS
from robot_dynamics.nodes.documents.parameters import TABLES

PACKAGE = Path(__file__).resolve().parents[1] / 'robot_dynamics'
PARAMETERS = {row.name for table in TABLES.values() for row in table}
LAUNCH = {name for arguments in (ARGUMENTS, DEMO_ARGUMENTS, EXCITATION_ARGUMENTS,
                                 HARDWARE_ARGUMENTS, GAZEBO_ARGUMENTS) for name in arguments}

#: Names that are neither: packages, services, files, keys of files, and arguments of classes that
#: no node sets.
OTHERS = {
    'robot_dynamics', 'robot_state_publisher', 'carry_payload', 'setup.bash', 'robot.urdf',
    'robot_dynamics.elastic.with_motors', 'rotor_inertia', 'second_origin_of', 'parameter_names',
    'ur_type', 'short_factor', 'gap_factor', 'max_factor', 'e.g',
}
#: Options of programs of others: ROS 2, rosbags and pip.
OTHER_OPTIONS = {'--ros-args', '--params-file', '--help', '--show-args', '--src', '--dst'}


def remedies(room):
    """Yield place and constant text of every remedy in a room."""
    for path in sorted((PACKAGE / room).rglob('*.py')):
        for node in ast.walk(ast.parse(path.read_text(encoding='utf-8'))):
            for keyword in node.keywords if isinstance(node, ast.Call) else ():
                if keyword.arg == 'remedy':
                    yield f'{path.relative_to(PACKAGE)}:{node.lineno}', ' '.join(
                        part.value for part in ast.walk(keyword.value)
                        if isinstance(part, ast.Constant) and isinstance(part.value, str))


def options(parser):
    """Yield the options of a command line with those of its commands."""
    for action in parser._actions:
        yield from action.option_strings
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from options(command)


@pytest.mark.parametrize('room', ['nodes', 'bringup', 'control', 'simulation', 'elastic'])
def test_remedies_name_what_exists(room):
    known = PARAMETERS | LAUNCH | OTHERS
    if room not in ('nodes', 'bringup'):
        # A node completes the names of its feedback, adaptation and so on.
        known |= {name.rpartition('.')[2] for name in PARAMETERS}
    found = list(remedies(room))
    assert found
    for place, text in found:
        for name in re.findall(r'(?<![/\w.-])[a-z][a-z0-9]*(?:[_.][a-z0-9]+)+', text):
            assert name in known, f'{place}: {name}'


def test_remedies_name_options_that_exist():
    known = set(options(make_parser())) | OTHER_OPTIONS
    for room in ('nodes', 'bringup', 'identification', 'report'):
        for place, text in remedies(room):
            for option in re.findall(r'(?<![\w-])--[a-z][a-z-]*', text):
                assert option in known, f'{place}: {option}'
