# SPDX-License-Identifier: Apache-2.0
"""The parameter table of every node of this package."""

from __future__ import annotations

from robot_dynamics.nodes import (
    adaptive_controller,
    inverse_dynamics,
    recorder,
    reference,
    simulated_arm,
)
from robot_dynamics.nodes.controller_parameters import CONTROLLER_PARAMETERS
from robot_dynamics.nodes.managed import AUTOSTART
from robot_dynamics.nodes.parameters import Parameter
from robot_dynamics.nodes.runtime import RUNTIME_PARAMETERS

_OWN = {
    'adaptive_controller': (AUTOSTART, *CONTROLLER_PARAMETERS, *adaptive_controller.TABLE),
    'inverse_dynamics': inverse_dynamics.TABLE,
    'reference': reference.TABLE,
    'simulated_arm': simulated_arm.TABLE,
    'recorder': recorder.TABLE,
}

#: Rows of each node, in the order in which it declares them.
TABLES: dict[str, tuple[Parameter, ...]] = {
    name: (*RUNTIME_PARAMETERS, *rows) for name, rows in _OWN.items()}
