# SPDX-License-Identifier: Apache-2.0
"""The plant of a simulated arm: its parameter file, and a payload that the robot can carry.

The shipped parameter files are written for the 7-joint arm of this package. For other robots their
payload is attached to the hand. It is reduced if it is large compared with the arm, too heavy for
the wrist to be held before adaptation, or beyond the effort limits.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics.bringup.processes import read_parameter_file, shipped_config
from robot_dynamics.control.feedback.drives import with_rotors
from robot_dynamics.control.feedback.gains import FeedbackGains
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import BringupError
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.modify import with_payload, with_scaled_masses
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import resolve_file

#: Value of ``plant`` without a simulated arm: a driver or a simulator is running already.
NO_PLANT = 'none'

_PREFIX, _ARM = 'plant_', 'simulated_arm'

#: Largest payload, as a share of the mass of all moving links, about as large as for real arms.
LARGEST_SHARE = 0.15
#: Largest position error that an unknown payload may cause at rest. rad or m.
LARGEST_SAG = 0.35
#: Largest effort to hold the arm with its payload, as a share of the effort limits.
LARGEST_EFFORT = 0.9
#: Ratio of successive candidate payloads, and the smallest share of the original mass.
_STEP, _LEAST = 0.8, 0.01


def shipped_plants() -> dict[str, Path]:
    """Parameter files ``config/plant_<name>.yaml`` by name, in alphabetical order."""
    return {path.stem.removeprefix(_PREFIX): path
            for path in sorted(shipped_config().glob(f'{_PREFIX}*.yaml'))}


def find_plant(name_or_path: str) -> Path:
    """Parameter file of the option ``--plant``; raises `UnknownNameError`."""
    return resolve_file(name_or_path, shipped_plants, f'a plant of this package, nor {NO_PLANT}',
                        '.yaml')


def read_plant(path: Path, node: str = f'/{_ARM}') -> dict[str, Any]:
    """Parameters of a plant in a file; see `sections_of`."""
    return sections_of(path, node)


def sections_of(path: Path, node: str) -> dict[str, Any]:
    """Parameters in the sections of a file for a node, as ROS 2 selects them.

    Raises a `BringupError` if it is not a ROS 2 parameter file, or has no such section.
    """
    sections = read_parameter_file(path)
    matching = [values for name, values in sections.items() if _matches(name, node)]
    if not matching:
        raise BringupError(f'has sections for {", ".join(sections)}, none for {node}',
                           subject=str(path),
                           remedy=f'write: {node}: {{ros__parameters: {{<name>: <value>}}}}')
    return {name: value for values in matching for name, value in values.items()}


def _matches(section: str, node: str) -> bool:
    """Whether a section applies to a node: * matches one name, ** any number of names."""
    wild = {'*': '/[^/]+', '**': '(/[^/]+)*'}
    return re.fullmatch(''.join(wild.get(name, '/' + re.escape(name))
                                for name in section.strip('/').split('/')), node) is not None


def fit_payload(robot: Robot, plant: Mapping[str, Any], postures: FloatArray) -> dict[str, Any]:
    """Changed parameters of the payload of a plant for this robot.

    The payload must not be too heavy in any of the `postures`, shape (k, n), rad or m. A smaller
    payload has the same density: its lengths scale with the cube root of its mass.
    """
    mass = float(plant.get('payload_mass', 0.0))
    moving = float(robot.inertial_parameters[:, 0].sum())
    if not (mass > 0.0 and moving > 0.0):
        return {}
    fitted: dict[str, Any] = {}
    if not plant.get('payload_frame') and len(_tips(robot)) > 1:
        fitted['payload_frame'] = robot.body_names[hand(robot)]
    lighter = min(mass, LARGEST_SHARE * moving)
    while lighter > _LEAST * mass and LARGEST_SAG < sag(
            robot, {**plant, **fitted, **_payload(plant, lighter)}, postures):
        lighter *= _STEP
    if lighter < mass:
        fitted.update(_payload(plant, lighter))
    return fitted


def sag(model: Robot, plant: Mapping[str, Any], postures: FloatArray) -> float:
    """Position error at rest that the difference between plant and model causes, rad or m.

    The largest remaining error of all joints and `postures`, shape (k, n), rad or m, with the
    default gains of the controllers; infinite if a joint of the model moves no mass, or needs more
    than `LARGEST_EFFORT` of its effort limit::

        e = M0^-1 (g - g_model) / (omega_D lambda)
    """
    gains = FeedbackGains()
    real = with_payload(with_scaled_masses(model, plant.get('mass_scale', 1.0)),
                        plant['payload_mass'], plant.get('payload_com', (0.0, 0.0, 0.0)),
                        frame=plant.get('payload_frame') or None)
    dynamics = Dynamics(with_rotors(model))
    gravity = Dynamics(real).gravity_torque(postures)
    if np.any(np.abs(gravity) > LARGEST_EFFORT * model.limits.effort):  # never at an unknown limit
        return np.inf
    unknown = gravity - dynamics.gravity_torque(postures)
    mass = dynamics.mass_matrix(postures)
    try:
        error = np.linalg.solve(mass, unknown[..., None])
    except np.linalg.LinAlgError:
        return np.inf
    return float(np.abs(error).max() / (gains.bandwidth * gains.error_rate))


def _payload(plant: Mapping[str, Any], mass: float) -> dict[str, Any]:
    """Payload of a plant with another mass, kg, rounded to two digits."""
    mass = float(f'{mass:.2g}')
    scale = np.cbrt(mass / plant['payload_mass'])
    return {'payload_mass': mass,
            'payload_com': tuple(round(float(scale * x), 4)
                                 for x in plant.get('payload_com', (0.0, 0.0, 0.0)))}


def hand(robot: Robot) -> int:
    """Index of the body that holds a payload: the last one, or the one that carries the fingers.

    Fingers are branches that end equally far from the base and are shorter than the chain that
    carries them. With several arms, the first of the longest ones is used.
    """
    chains = [_chain(robot, tip) for tip in _tips(robot)]
    longest = max(map(len, chains))
    first, *others = (chain for chain in chains if len(chain) == longest)
    for place in range(longest - 2, -1, -1):
        if longest - 1 - place > place + 1:
            break
        if any(chain[place] == first[place] for chain in others):
            return first[place]
    return first[-1]


def _tips(robot: Robot) -> list[int]:
    """Bodies without children, in order."""
    return sorted(set(range(robot.n_bodies)) - set(robot.parents.tolist()))


def _chain(robot: Robot, tip: int) -> list[int]:
    """Bodies from the base to a given body."""
    chain = [tip]
    while robot.parents[chain[-1]] >= 0:
        chain.append(int(robot.parents[chain[-1]]))
    return chain[::-1]
