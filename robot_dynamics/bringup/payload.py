# SPDX-License-Identifier: Apache-2.0
"""A payload that suits the arm: which link carries it, and no more than it can hold.

The parameter files of this package are written for its 7-joint arm. For any other robot their
payload is put into its hand and made smaller where it would be out of proportion.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from robot_dynamics.model.robot import Robot

#: Heaviest payload, as a share of the mass of all moving links. Arms are built for about as much.
LARGEST_SHARE = 0.15


def fit_payload(robot: Robot, plant: Mapping[str, Any]) -> dict[str, Any]:
    """Return those parameters of a plant's payload that have to be others for this robot.

    A smaller payload is of the same material: its lengths go with the cube root of its mass.

    Parameters
    ----------
    robot : Robot
        Who carries it.
    plant : mapping
        Parameters of ``simulated_arm``.
    """
    mass = plant.get('payload_mass', 0.0)
    if not mass:
        return {}
    fitted: dict[str, Any] = {}
    if not plant.get('payload_frame') and len(_tips(robot)) > 1:
        fitted['payload_frame'] = robot.body_names[hand(robot)]
    moving = float(robot.inertial_parameters[:, 0].sum())
    if 0.0 < LARGEST_SHARE * moving < mass:
        # Two digits are enough, and read better.
        lighter = float(f'{LARGEST_SHARE * moving:.2g}')
        scale = np.cbrt(lighter / mass)
        fitted['payload_mass'] = lighter
        fitted['payload_com'] = tuple(round(float(scale * x), 4)
                                      for x in plant.get('payload_com', (0.0, 0.0, 0.0)))
    return fitted


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
