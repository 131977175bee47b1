# SPDX-License-Identifier: Apache-2.0
"""Model of feedforward and linearisation, also while the payload changes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from robot_dynamics.control.checks import positive
from robot_dynamics.control.feedback.loaded_model import LoadedModel
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.dynamics.linearisation import LinearModel
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import Robot


@dataclass(frozen=True, eq=False)
class LinearPoint:
    """Linear model at a point, or many: dtau = M da + dtau_dq dq + dtau_dv dv.

    Shape (n, n) or (k, n, n); at fixed accelerations, viscous friction and rotors included.
    """

    dtau_dq: FloatArray
    dtau_dv: FloatArray
    M: FloatArray

    def __getitem__(self, k: int) -> LinearPoint:
        return LinearPoint(self.dtau_dq[k], self.dtau_dv[k], self.M[k])

    def __iter__(self) -> Iterator[LinearPoint]:
        return (self[k] for k in range(len(self.M)))

    def linear_model(self) -> LinearModel:
        """A and B of dx/dt = A x + B u."""
        inverse = np.asarray(np.linalg.inv(self.M), dtype=np.float64)
        return LinearModel.of(np.zeros_like(self.M), -inverse @ self.dtau_dq,
                              -inverse @ self.dtau_dv, inverse)


class FeedforwardModel(LoadedModel):
    """Equations of an arm with its payload, and with the friction and rotors of its description.

    Coulomb friction fades out below `coulomb_velocity`, rad/s or m/s.
    """

    def __init__(self, robot: Robot, dynamics: Dynamics | None = None, *,
                 coulomb_velocity: float = 0.05):
        super().__init__(Dynamics(robot) if dynamics is None else dynamics)
        self._coulomb_velocity = positive('coulomb_velocity', coulomb_velocity, 'rad/s')
        self._damping = np.array(robot.damping)
        self._friction = np.array(robot.friction)
        self._has_friction = bool(np.any(robot.damping) or np.any(robot.friction))
        self._diagonal = np.arange(robot.n)

    @property
    def robot(self) -> Robot:
        """The arm with its payload, at the end of a change."""
        return self._after.robot

    def snapshot(self) -> FeedforwardModel:
        """The model at the end of a change of the payload; it does not change."""
        return FeedforwardModel(self.robot, self._after, coulomb_velocity=self._coulomb_velocity)

    def feedforward(self, q: FloatArray, v: FloatArray, a: FloatArray) -> FloatArray:
        """Efforts of a motion with friction and rotors, shape (n,), N m or N."""
        tau = self.inverse_dynamics(q, v, a)
        if self._has_friction:
            tau += self._damping * v + self._friction * np.tanh(v / self._coulomb_velocity)
        return tau

    def linearise(self, q: FloatArray, v: FloatArray, a: FloatArray) -> LinearPoint:
        """Derivatives at a point, or at many with arguments of shape (k, n)."""
        # Stacked, which makes them contiguous: the kernels of the gains need that.
        dtau_dq, dtau_dv, M = self._between(
            lambda dynamics: np.stack(dynamics.inverse_dynamics_derivatives(q, v, a)))
        dtau_dv[..., self._diagonal, self._diagonal] += self._damping
        return LinearPoint(dtau_dq, dtau_dv, M)
