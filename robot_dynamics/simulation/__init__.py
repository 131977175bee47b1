# SPDX-License-Identifier: Apache-2.0
"""Simulated arms in MuJoCo, with elastic joints, sensors, drives, faults and contacts."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = ['Drive', 'ElasticPlant', 'Fault', 'FaultKind', 'FaultyPlant', 'GravityAndDamping',
           'JointSensors', 'Plant', 'SensorQuality', 'ShapeClearance', 'robot_to_mjcf']

if TYPE_CHECKING:
    from robot_dynamics.simulation.clearance import ShapeClearance
    from robot_dynamics.simulation.drive import Drive, GravityAndDamping
    from robot_dynamics.simulation.elastic_plant import ElasticPlant
    from robot_dynamics.simulation.faults import Fault, FaultKind, FaultyPlant
    from robot_dynamics.simulation.mjcf import robot_to_mjcf
    from robot_dynamics.simulation.plant import Plant
    from robot_dynamics.simulation.sensors import JointSensors, SensorQuality

_MODULES = {'ShapeClearance': 'clearance', 'Drive': 'drive', 'GravityAndDamping': 'drive',
            'ElasticPlant': 'elastic_plant', 'Fault': 'faults', 'FaultKind': 'faults',
            'FaultyPlant': 'faults', 'robot_to_mjcf': 'mjcf', 'Plant': 'plant',
            'JointSensors': 'sensors', 'SensorQuality': 'sensors'}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    return getattr(import_module(f'{__name__}.{_MODULES[name]}'), name)
