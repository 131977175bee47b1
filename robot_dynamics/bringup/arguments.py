# SPDX-License-Identifier: Apache-2.0
"""The arguments of a system, once for the command line and for launch files."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from robot_dynamics.bringup.controllers import CONTROLLERS, SWITCHABLE
from robot_dynamics.bringup.system import System, shipped_plants
from robot_dynamics.errors import BringupError


@dataclass(frozen=True)
class Argument:
    """One argument of a system.

    Parameters
    ----------
    name : str
        Name, as launch files spell it; also that of a field of `System`.
    text : str
        What it is, in a sentence.
    """

    name: str
    text: str

    @property
    def default(self) -> Any:
        """Default value; its type is the type of the argument."""
        return getattr(System(), self.name)


def _controllers(names: Iterable[str]) -> Argument:
    return Argument('controller', 'What commands the arm: ' + ', '.join(
        f'{name} ({CONTROLLERS[name].text})' for name in names) + '.')


_PLANTS = 'How the simulated arm differs from what the controller knows: ' \
    + ', '.join(shipped_plants())

ARGUMENTS = (
    Argument('robot', 'Name of a robot of this package, or path of a URDF, xacro or DH file.'),
    _controllers(CONTROLLERS),
    Argument('standby', 'Controllers that wait beside it for robot-dynamics switch: names with '
             'commas in between, of ' + ', '.join(SWITCHABLE) + '; or all.'),
    Argument('plant', _PLANTS + ', path of a parameter file, or none (the arm and its driver run '
             'already).'),
    Argument('rate', 'Joint states a second, Hz.'),
    Argument('elastic_joints', 'Motors and springs, where joints are elastic: path of a file '
             '(docs/elastic.md), name of one of this package, or description (tags ros2_control '
             'of the URDF); empty: what suits the robot where the controller is elastic_pd, '
             'rigid joints elsewhere.'),
    Argument('use_sim_time', 'Whether time comes from /clock.'),
    Argument('namespace', 'Namespace of every node and topic.'),
    Argument('seed', 'Seed of the reference and of the noise.'),
    Argument('identified', 'Folder that robot-dynamics identify has written: all nodes but the '
             'simulated arm then have the identified model.'),
)

#: Those of the demo, which needs a simulated arm and somebody who commands it.
DEMO_SYSTEM = tuple(
    {'controller': _controllers(name for name, one in CONTROLLERS.items() if one.node),
     'plant': Argument('plant', _PLANTS + ', or path of a parameter file.')
     }.get(argument.name, argument)
    for argument in ARGUMENTS if argument.name in ('robot', 'controller', 'plant', 'rate', 'seed'))


def launch_text(value: Any) -> str:
    """Return a value as launch files write it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def system_from_texts(texts: Mapping[str, str], **options: Any) -> System:
    """Return the system that arguments in text form ask for.

    Parameters
    ----------
    texts : mapping of str to str
        Values by argument name; missing ones keep their default.
    **options
        Further fields of `System`.

    Raises
    ------
    BringupError
        When a value is not of the argument's type.
    """
    values = {argument.name: _parse(argument, texts[argument.name])
              for argument in ARGUMENTS if argument.name in texts}
    return System(**{**options, **values})


def parse_bool(name: str, text: str) -> bool:
    """Return a truth value that launch files write as text.

    Raises
    ------
    BringupError
        Naming the argument, when it is none.
    """
    known = {'true': True, '1': True, 'false': False, '0': False}
    if text.lower() in known:
        return known[text.lower()]
    raise BringupError(f'is {text!r}', subject=name, remedy='give true or false')


def parse_number(name: str, text: str, kind: type = float, example: Any = 1.0) -> Any:
    """Return a number that launch files write as text.

    Raises
    ------
    BringupError
        Naming the argument, when it is none.
    """
    try:
        value = kind(text)
    except ValueError:
        value = math.nan
    if not isinstance(value, str) and not math.isfinite(value):
        raise BringupError(f'is {text!r}', subject=name,
                           remedy=f'give a number such as {example}')
    return value


def _parse(argument: Argument, text: str) -> Any:
    kind = type(argument.default)
    if kind is bool:
        return parse_bool(argument.name, text)
    return parse_number(argument.name, text, kind, argument.default)
