# SPDX-License-Identifier: Apache-2.0
"""Simulated arms in MuJoCo, with elastic joints, sensors, drives, faults and contacts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from robot_dynamics.lazy import lazy_names

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
else:
    __getattr__ = lazy_names(__name__, __file__)
