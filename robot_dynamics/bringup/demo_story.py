# SPDX-License-Identifier: Apache-2.0
"""What the report of the demo says about what ran, and what was true all along."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from robot_dynamics.bringup.descriptions import load_description
from robot_dynamics.model.modify import with_payload, with_scaled_masses
from robot_dynamics.model.robot import Robot
from robot_dynamics.report.run_page import Story

if TYPE_CHECKING:
    from robot_dynamics.bringup.demo import Plan

_HOW = {
    'adaptive': 'Its estimates are frozen until the reference has led it for {wait:g} s without a '
                'break; then it learns from its own tracking error.',
    'gravity': 'It makes the arm weightless, follows no reference, and keeps it where it is let '
               'go.',
}

_PACKAGES = ('robot_dynamics', 'ros-rclpy', 'numba', 'numpy', 'mujoco')


def tell(plan: Plan) -> Story:
    """Return the story of a demo."""
    system = plan.system
    robot = load_description(system.robot).robot
    plant = system.plant_parameters()
    payload, scale = plant.get('payload_mass', 0.0), plant.get('mass_scale', 1.0)
    differences = []
    if scale != 1.0:
        error = 100 * (1 / scale - 1)
        differences.append(f'believes its links {abs(error):.0f} % '
                           f'{"heavier" if error > 0 else "lighter"} than they are')
    if payload:
        differences.append(f'does not know of the {payload:g} kg in its hand')
    text = f'The controller {" and ".join(differences)}. ' if differences else ''
    text += _HOW.get(system.controller, 'It does not learn.').format(
        wait=system.parameters.get('adaptive_controller', {}).get('adapt_after', 0.0))
    facts = [
        ('robot', f'{robot.name}, {robot.n} joints'),
        ('plant', f'{system.plant}: ' + ', '.join(f'{k} {v:g}' if isinstance(v, float) else
                                                  f'{k} {v}' for k, v in plant.items())),
        ('controller', f'{system.controller}, at {system.rate:g} Hz'),
        ('seed', str(system.seed)),
        ('processes', ', '.join(process.node for process in plan.processes())),
        ('versions', ', '.join(f'{name} {found}' for name in _PACKAGES
                               if (found := _version(name)))
         + f', Python {platform.python_version()}'),
    ]
    return Story(text, facts, true_masses(robot, plant))


def true_masses(robot: Robot, plant: Mapping[str, Any]) -> dict[str, float]:
    """Return the masses of the plant's links by parameter name."""
    true = with_scaled_masses(robot, plant.get('mass_scale', 1.0))
    if plant.get('payload_mass'):
        true = with_payload(true, plant['payload_mass'], plant.get('payload_com', (0.0, 0.0, 0.0)),
                            frame=plant.get('payload_frame') or None)
    return {f'{body}/m': float(mass)
            for body, mass in zip(true.body_names, true.inertial_parameters[:, 0], strict=True)}


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
