# SPDX-License-Identifier: Apache-2.0
"""The controllers that a system can have, by the names that users give them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from robot_dynamics.bringup.processes import ParameterValue
from robot_dynamics.errors import BringupError


@dataclass(frozen=True)
class Controller:
    """One of them.

    Parameters
    ----------
    text : str
        What it is.
    node : str
        Name of its node; ``''`` for nobody.
    parameters : mapping
        What it is told beside what every controller is.
    tracks : bool
        Whether it follows a reference.
    is_elastic : bool
        Whether it is made for arms with elastic joints, and for no others.
    """

    text: str
    node: str = ''
    parameters: Mapping[str, ParameterValue] = field(default_factory=dict)
    tracks: bool = True
    is_elastic: bool = False


CONTROLLERS = {
    'adaptive': Controller('the law of Slotine and Li, learns while it moves',
                           'adaptive_controller', {'adapt': True}),
    'fixed': Controller('the same law, learns nothing', 'adaptive_controller', {'adapt': False}),
    'feedforward_lq': Controller('feedforward of the model and a least squares feedback',
                                 'feedforward_lq_controller'),
    'computed_torque': Controller('the whole model in the loop', 'computed_torque_controller'),
    'pd_gravity': Controller('PD with the gravity of the model', 'pd_gravity_controller'),
    'elastic_pd': Controller('PD on the motors of elastic joints, gravity compensated on-line',
                             'elastic_pd_controller', is_elastic=True),
    'gravity': Controller('weightless, to be led by hand', 'gravity_compensation_controller',
                          tracks=False),
    'none': Controller('nobody, the arm brakes', tracks=False),
}

#: Nodes of controllers, each once.
CONTROLLER_NODES = tuple(dict.fromkeys(controller.node for controller in CONTROLLERS.values()
                                       if controller.node))

#: Controllers that there is a node of each for.
SWITCHABLE = tuple(next(name for name, controller in CONTROLLERS.items()
                        if controller.node == node) for node in CONTROLLER_NODES)


def find_controller(name: str) -> Controller:
    """Return a controller.

    Raises
    ------
    BringupError
        When there is none of this name.
    """
    if name not in CONTROLLERS:
        raise BringupError('is not a controller', subject=name or "''",
                           remedy='choose one of: ' + ', '.join(CONTROLLERS))
    return CONTROLLERS[name]


def standby_controllers(text: str, active: str, *, elastic: bool = False) -> tuple[str, ...]:
    """Return the controllers that are to stand by, beside the active one.

    Parameters
    ----------
    text : str
        Names with commas in between, ``'all'``, or nothing.
    active : str
        Name of the active one, which is left out.
    elastic : bool
        Whether the joints are elastic; otherwise all are without those made for such.

    Raises
    ------
    BringupError
        When one of them is none, or is that of no node of its own.
    """
    names = tuple(name for name in SWITCHABLE if elastic or not CONTROLLERS[name].is_elastic) \
        if text.strip() == 'all' else \
        tuple(name for part in text.split(',') if (name := part.strip()))
    for name in names:
        if name not in SWITCHABLE:
            raise BringupError(f'{name} cannot stand by', subject='standby',
                               remedy='choose among: ' + ', '.join(SWITCHABLE) + '; or say all')
    node = find_controller(active).node
    return tuple(dict.fromkeys(name for name in names if CONTROLLERS[name].node != node))
