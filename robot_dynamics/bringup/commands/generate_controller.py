# SPDX-License-Identifier: Apache-2.0
"""Write a controller of ros2_control for one arm: its law, its guards and a plugin, as C and C++.

Parameters have the names and defaults of the node of the law (docs/parameters.md). The folder is
an ament_cmake package without dependency on this one.
"""

from __future__ import annotations

import argparse
import difflib
import importlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from robot_dynamics.bringup.descriptions import DH_SUFFIXES, load_description
from robot_dynamics.bringup.plants import sections_of
from robot_dynamics.bringup.system import identified_files
from robot_dynamics.bringup.xacro_args import add_xacro_args
from robot_dynamics.control.session.hand_guiding import ImpedanceSession
from robot_dynamics.control.session.session import ControlSession
from robot_dynamics.errors import BringupError, ParameterError
from robot_dynamics.model.yaml_text import UnusableYamlError, parse_yaml
from robot_dynamics.nodes import require_ros
from robot_dynamics.nodes.controllers import CONTROLLERS
from robot_dynamics.real_time.laws import LAWS

_NAME = re.compile(r'[a-z][a-z0-9]*(_[a-z0-9]+)*')


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_xacro_args(parser)
    parser.add_argument('robot', metavar='ROBOT', nargs='?', default='',
                        help='name of a robot of this package, or a URDF, xacro or DH file; not '
                             'needed with --identified')
    parser.add_argument('--law', choices=LAWS, default='adaptive', help='the law')
    parser.add_argument('--name', default='my_arm_controller', metavar='NAME',
                        help='name of the package and of the controller')
    parser.add_argument('--output', type=Path, metavar='FOLDER', help='folder to write; by '
                        'default the name')
    parser.add_argument('--identified', default='', metavar='FOLDER',
                        help='folder written by robot-dynamics identify, for the identified model')
    parser.add_argument('--parameters', type=Path, metavar='FILE',
                        help='ROS 2 parameter file of the node of the law')
    parser.add_argument('-p', dest='assignments', action='append', default=[],
                        metavar='NAME:=VALUE', help='one parameter of that node, such as '
                        "'joints:=[joint1, joint2]', payload.mass:=2.0 or rate:=1000.0")


def run(options: argparse.Namespace) -> int:
    """Write the package; print what to do with it."""
    if not _NAME.fullmatch(options.name):
        raise BringupError('is not the name of a package', subject=options.name or "''",
                           remedy='use small letters, digits and single underscores')
    folder = options.output or Path(options.name)
    require_ros()
    from robot_dynamics.nodes.controller.parameters import make_session
    from robot_dynamics.nodes.controller.services import PayloadServices
    from robot_dynamics.nodes.ros.description import geared, read_described
    from robot_dynamics.real_time.generate import write_package
    node = importlib.import_module(CONTROLLERS[options.law].module)
    values = read_values(options, CONTROLLERS[options.law].node, node.TABLE)
    described = load_description(options.robot or values['robot'], options.robot_args)
    source = described.path if described.path.suffix in DH_SUFFIXES else described.urdf.encode()
    robot = geared(read_described(source, values).robot, values)
    law = node.make_law(robot, values)
    kind = ImpedanceSession if options.law == 'cartesian_impedance' else ControlSession
    session = make_session(robot, law, values, kind)
    PayloadServices(robot, law, session, values)
    write_package(folder, options.name, session)
    print(f'{folder}  {options.law} for {robot.name}, {robot.n} joints at '
          f'{values["rate"]:g} Hz\n'
          f'next: colcon build --packages-select {options.name}, then as {folder}/README.md '
          'describes')
    return 0


def read_values(options: argparse.Namespace, node: str, table: Sequence[Any]) -> dict[str, Any]:
    """Parameters of a controller by name, checked: defaults, files, then single ones."""
    from robot_dynamics.nodes.controller.parameters import CONTROLLER_PARAMETERS
    rows = {row.name: row for row in (*CONTROLLER_PARAMETERS, *table)}
    given: dict[str, Any] = {}
    if options.identified:
        # The file has parameters of all nodes.
        given.update(_known(sections_of(identified_files(options.identified), f'/{node}'), rows))
    if options.parameters is not None:
        given.update(sections_of(options.parameters, f'/{node}'))
    given.update(map(_assignment, options.assignments))
    for name in given:
        if name not in rows:
            close = difflib.get_close_matches(name, rows, n=1)
            raise ParameterError('is unknown', subject=f'parameter {name}'
                                 + (f' (did you mean {close[0]}?)' if close else ''),
                                 remedy=f'see {node} in docs/parameters.md')
    values = {name: row.convert(given.get(name, row.default)) for name, row in rows.items()}
    if not (options.robot or values['robot']):
        raise BringupError('is missing', subject='ROBOT', remedy='name a robot or its file, or '
                           'give the folder of an identification by --identified')
    return values


def _known(given: Mapping[str, Any], rows: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if name in rows}


def _assignment(text: str) -> tuple[str, Any]:
    """Name and value of an assignment like ``rate:=500.0``."""
    name, is_assigned, value = text.partition(':=')
    try:
        if is_assigned:
            return name, parse_yaml(value)
    except UnusableYamlError:
        pass
    raise ParameterError(f'must be of the form NAME:=VALUE, got {text!r}', subject='-p',
                         remedy='write e.g. -p rate:=500.0')
