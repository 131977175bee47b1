# SPDX-License-Identifier: Apache-2.0
"""``MotorsGravityAndDamping``: the effort that catches an arm with elastic joints."""

from __future__ import annotations

import numpy as np

from robot_dynamics.elastic.dynamics import ElasticDynamics
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.simulation.drive import CATCH_PERIOD, CATCH_RATE
from robot_dynamics.simulation.elastic_plant import ElasticPlant

#: Share of what a sampled loop can damp, 2 / ((B^-1)_ii T), that is used at most.
_LARGEST_SHARE = 0.25


class MotorsGravityAndDamping:
    """The effort of motors that catches an arm behind springs, tau = g(q) - D theta'.

    A drive knows its own motor, not the link behind the spring: damping by the speed of the
    link would shake the spring. D takes the speed out of the arm as
    `robot_dynamics.simulation.drive.GravityAndDamping` does, rate times the inertia of link
    and motor, as far as that can be damped at the period at which it is renewed.

    Parameters
    ----------
    plant : ElasticPlant
        The arm.
    rate : float
        How fast the speed is taken out. 1/s.
    """

    def __init__(self, plant: ElasticPlant, rate: float = CATCH_RATE):
        self._plant = plant
        self._dynamics = ElasticDynamics(plant.elastic)
        self._rate = rate

    def __call__(self, q: FloatArray, v: FloatArray) -> FloatArray:
        """Return it for positions of the links, shape (n,)."""
        plant, n = self._plant, self._dynamics.n
        B = self._dynamics.inertia_matrix(np.concatenate([q, plant.motor_q]))
        alone = 1.0 / np.diagonal(np.linalg.inv(B))[n:]
        damping = np.minimum(self._rate * (np.diagonal(B)[:n] + np.diagonal(B)[n:]),
                             _LARGEST_SHARE * 2.0 * alone / CATCH_PERIOD)
        return self._dynamics.links.gravity_torque(q) - damping * plant.motor_v
