# SPDX-License-Identifier: Apache-2.0
"""The parameter table of every node of this package."""

from __future__ import annotations

from robot_dynamics.nodes import (
    adaptive_controller,
    computed_torque_controller,
    elastic_pd_controller,
    excitation,
    feedforward_lq_controller,
    gravity_compensation_controller,
    inverse_dynamics,
    pd_gravity_controller,
    recorder,
    reference,
    simulated_arm,
)
from robot_dynamics.nodes.controller.parameters import CONTROLLER_PARAMETERS
from robot_dynamics.nodes.ros.lifecycle import AUTOSTART
from robot_dynamics.nodes.ros.parameters import Parameter
from robot_dynamics.nodes.ros.runtime import RUNTIME_PARAMETERS

#: Modules of the controllers, by name.
CONTROLLER_MODULES = {
    'adaptive_controller': adaptive_controller,
    'feedforward_lq_controller': feedforward_lq_controller,
    'computed_torque_controller': computed_torque_controller,
    'pd_gravity_controller': pd_gravity_controller,
    'elastic_pd_controller': elastic_pd_controller,
    'gravity_compensation_controller': gravity_compensation_controller,
}

_OWN = {
    **{name: (AUTOSTART, *CONTROLLER_PARAMETERS, *module.TABLE)
       for name, module in CONTROLLER_MODULES.items()},
    'inverse_dynamics': inverse_dynamics.TABLE,
    'reference': reference.TABLE,
    'excitation': excitation.TABLE,
    'simulated_arm': simulated_arm.TABLE,
    'recorder': recorder.TABLE,
}

#: Rows of each node, in the order in which it declares them.
TABLES: dict[str, tuple[Parameter, ...]] = {
    name: (*RUNTIME_PARAMETERS, *rows) for name, rows in _OWN.items()}
