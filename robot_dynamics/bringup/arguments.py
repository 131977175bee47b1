# SPDX-License-Identifier: Apache-2.0
"""The arguments of a system, defined once for the command line and for launch files."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from robot_dynamics.bringup.plants import shipped_plants
from robot_dynamics.bringup.ros_environment import LAST_DOMAIN
from robot_dynamics.bringup.system import SWITCHABLE, System
from robot_dynamics.bringup.xacro_args import HELP, add_xacro_args
from robot_dynamics.errors import BringupError
from robot_dynamics.nodes.controllers import CONTROLLERS

#: Default and help of arguments, by name in launch files.
Arguments = Mapping[str, tuple[Any, str]]

_DEFAULTS = System()
_PLANTS = 'How the simulated arm differs from the model of the controller: ' \
    + ', '.join(shipped_plants())


def _controllers(names: Iterable[str]) -> str:
    return 'Controller of the arm: ' + ', '.join(
        f'{name} ({CONTROLLERS[name].text})' for name in names) + '.'


#: Arguments of a system, with the names of its fields. The default determines the type.
ARGUMENTS = {name: (getattr(_DEFAULTS, name), text) for name, text in {
    'robot': 'Name of a robot of this package, or path of a URDF, xacro or DH file.',
    'robot_args': HELP,
    'controller': _controllers(CONTROLLERS),
    'standby': 'Controllers that wait for robot-dynamics switch, separated by commas, of '
               + ', '.join(SWITCHABLE) + '; or all.',
    'plant': _PLANTS + ', path of a parameter file, or none (the arm and its driver run already).',
    'rate': 'Joint states per second, Hz.',
    'elastic_joints': 'Motors and springs, where joints are elastic: path of a file '
                      '(docs/elastic.md), name of one of this package, or description (tags '
                      'ros2_control of the URDF); empty: chosen for the robot where the '
                      'controller is elastic_pd, rigid joints elsewhere.',
    'reference': 'Motion that the reference node sends: fourier, quintic, line or circle; none to '
                 'wait for trajectories of other nodes, such as MoveIt.',
    'use_sim_time': 'Whether time comes from /clock.',
    'namespace': 'Namespace of every node and topic.',
    'seed': 'Seed of the reference and of the noise.',
    'identified': 'Folder written by robot-dynamics identify: all nodes but the simulated arm '
                  'then use the identified model.',
}.items()}

#: Arguments of the demo, which needs a simulated arm and a controller.
DEMO_SYSTEM = {
    'robot': ARGUMENTS['robot'],
    'robot_args': ARGUMENTS['robot_args'],
    'controller': (_DEFAULTS.controller, _controllers(
        name for name, row in CONTROLLERS.items() if row.node)),
    'plant': ('loaded', _PLANTS + ', or path of a parameter file.'),
    'rate': ARGUMENTS['rate'],
    'seed': ARGUMENTS['seed'],
}


def add_options(parser: argparse.ArgumentParser, arguments: Arguments) -> None:
    """Add arguments to a command line."""
    for name, (default, text) in arguments.items():
        if name == 'robot_args':
            add_xacro_args(parser)
            continue
        flag = f'--{name.replace("_", "-")}'
        if isinstance(default, bool):
            parser.add_argument(flag, action='store_true', help=text)
        else:
            parser.add_argument(flag, type=type(default), default=default, metavar=name.upper(),
                                help=text)


def add_place(parser: argparse.ArgumentParser, arm: str, namespace: str | None = '') -> None:
    """Add the arguments that choose a running system; `namespace` is None for any by default."""
    parser.add_argument('--domain', type=_domain, metavar='NUMBER',
                        help=f'ROS domain of {arm}; that of ROS_DOMAIN_ID, or else the one that '
                             'is in use on this machine, by default')
    parser.add_argument('--namespace', default=namespace, metavar='NAME',
                        help=f'namespace of {arm}'
                             + ('; any namespace by default' if namespace is None else ''))


def _domain(text: str) -> int:
    number = int(text)
    if not 0 <= number <= LAST_DOMAIN:
        raise argparse.ArgumentTypeError(f'must be from 0 to {LAST_DOMAIN}, got {number}')
    return number


def seconds_up_to(most: float) -> Callable[[str], float]:
    """Argument type of the command line: a time above 0 and up to a largest value, s."""
    def seconds(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not 0.0 < value <= most:  # so that NaN fails
            raise argparse.ArgumentTypeError(f'must be above 0 and up to {most:g} s, got {text}')
        return value

    return seconds


def launch_text(value: Any) -> str:
    """Text of a value in launch files."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def system_from_texts(texts: Mapping[str, str], **options: Any) -> System:
    """System for launch arguments by name; raises `BringupError` for a wrong type.

    Missing arguments keep their default; `options` are further fields of `System`.
    """
    values = {}
    for name, (default, _) in ARGUMENTS.items():
        if name in texts:
            values[name] = parse_bool(name, texts[name]) if isinstance(default, bool) \
                else parse_number(name, texts[name], type(default), default)
    return System(**{**options, **values})


def parse_bool(name: str, text: str) -> bool:
    """Truth value of a launch argument; raises `BringupError` for any other text."""
    known = {'true': True, '1': True, 'false': False, '0': False}
    if text.lower() in known:
        return known[text.lower()]
    raise BringupError(f'must be true or false, got {text!r}', subject=name,
                       remedy=f'write e.g. {name}:=true')


def parse_number(name: str, text: str, kind: type = float, example: Any = 1.0) -> Any:
    """Finite number of a launch argument (or its text, for `str`); raises `BringupError`."""
    try:
        value = kind(text)
    except ValueError:
        value = math.nan
    if not isinstance(value, str) and not math.isfinite(value):
        raise BringupError(f'must be a number, got {text!r}', subject=name,
                           remedy=f'write e.g. {name}:={example}')
    return value
