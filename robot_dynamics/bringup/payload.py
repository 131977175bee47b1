# SPDX-License-Identifier: Apache-2.0
"""A payload that suits the arm: which link carries it, and no more than it can hold.

The parameter files of this package are written for its 7-joint arm. For any other robot their
payload is put into its hand, and made smaller where it is out of proportion or so heavy for the
wrist that the arm could not be held before it is learnt.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from robot_dynamics.control.feedback.gains import FeedbackGains
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.modify import with_payload, with_scaled_masses
from robot_dynamics.model.robot import Robot

#: Heaviest payload, as a share of the mass of all moving links. Arms are built for about as much.
LARGEST_SHARE = 0.15

#: How far the payload may pull a joint away that nobody told of it. rad or m.
LARGEST_SAG = 0.35

#: Steps in which a payload is made lighter, and the share of it that is never gone below.
_STEP, _LEAST = 0.8, 0.01


def fit_payload(robot: Robot, plant: Mapping[str, Any], postures: FloatArray) -> dict[str, Any]:
    """Return those parameters of a plant's payload that have to be others for this robot.

    A smaller payload is of the same material: its lengths go with the cube root of its mass.

    Parameters
    ----------
    robot : Robot
        Who carries it.
    plant : mapping
        Parameters of ``simulated_arm``.
    postures : ndarray, shape (k, n)
        Where it is carried. rad or m.
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
    """Return how far the arm is pulled away where its controller knows the model only.

    What the feedback of the controllers leaves at rest, with their default gains::

        e = M0^-1 (g - g_model) / (omega_D lambda)

    Parameters
    ----------
    model : Robot
        What the controller believes.
    plant : mapping
        Parameters of ``simulated_arm``.
    postures : ndarray, shape (k, n)
        Where to look. rad or m.

    Returns
    -------
    float
        The largest of all joints and postures, rad or m; infinite where the model has a
        joint that moves no mass.
    """
    gains = FeedbackGains()
    real = with_payload(with_scaled_masses(model, plant.get('mass_scale', 1.0)),
                        plant['payload_mass'], plant.get('payload_com', (0.0, 0.0, 0.0)),
                        frame=plant.get('payload_frame') or None)
    dynamics = Dynamics(model)
    unknown = Dynamics(real).gravity_torque(postures) - dynamics.gravity_torque(postures)
    mass = dynamics.mass_matrix(postures) + np.diag(model.armature)
    try:
        error = np.linalg.solve(mass, unknown[..., None])
    except np.linalg.LinAlgError:
        return np.inf
    return float(np.abs(error).max() / (gains.bandwidth * gains.error_rate))


def _payload(plant: Mapping[str, Any], mass: float) -> dict[str, Any]:
    """Return the payload of a plant, made lighter."""
    # Two digits are enough, and read better.
    mass = float(f'{mass:.2g}')
    scale = np.cbrt(mass / plant['payload_mass'])
    return {'payload_mass': mass,
            'payload_com': tuple(round(float(scale * x), 4)
                                 for x in plant.get('payload_com', (0.0, 0.0, 0.0)))}


def hand(robot: Robot) -> int:
    """Return the body that holds things: the last one, or the one that the fingers are on.

    Fingers are branches that end equally far from the base and are shorter than what
    carries them. Of several arms it is the first of the longest ones.
    """
    tips = _tips(robot)
    chains = {tip: _chain(robot, tip) for tip in tips}
    longest = max(len(chain) for chain in chains.values())
    ends = [tip for tip in tips if len(chains[tip]) == longest]
    first = chains[ends[0]]
    for place in range(longest - 2, -1, -1):
        fingers = longest - 1 - place
        if fingers > place + 1:
            break
        if any(chains[end][place] == first[place] for end in ends[1:]):
            return first[place]
    return first[-1]


def _tips(robot: Robot) -> list[int]:
    """Return the bodies that carry no other, in order."""
    return sorted(set(range(robot.n_bodies)) - set(robot.parents.tolist()))


def _chain(robot: Robot, tip: int) -> list[int]:
    """Return the bodies from the base to one of them."""
    chain = [tip]
    while robot.parents[chain[-1]] >= 0:
        chain.append(int(robot.parents[chain[-1]]))
    return chain[::-1]
