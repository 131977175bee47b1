# SPDX-License-Identifier: Apache-2.0
"""The controllers that a system can have, by the names that users give them."""

from __future__ import annotations

from robot_dynamics.errors import BringupError
from robot_dynamics.nodes.controllers import CONTROLLER_NODES, CONTROLLERS, Controller

#: Controllers that there is a node of each for.
SWITCHABLE = tuple(row.name for row in CONTROLLER_NODES.values())


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
