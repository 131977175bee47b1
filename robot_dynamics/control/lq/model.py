# SPDX-License-Identifier: Apache-2.0
"""``ModelInForce``: the model a law feeds forward and linearises, which may change as it runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.control.checks import positive
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.dynamics.linearisation import LinearModel
from robot_dynamics.errors import InertiaError
from robot_dynamics.model.consistency import check_body
from robot_dynamics.model.robot import FloatArray, Robot


@dataclass(frozen=True, eq=False)
class LinearPoint:
    """How efforts depend on small deviations: dtau = M da + dtau_dq dq + dtau_dv dv.

    Attributes
    ----------
    dtau_dq, dtau_dv, M : ndarray, shape (n, n), or (k, n, n) for many points
        Derivatives at fixed accelerations, friction and rotors included.
    """

    dtau_dq: FloatArray
    dtau_dv: FloatArray
    M: FloatArray

    def __getitem__(self, k: int) -> LinearPoint:
        return LinearPoint(self.dtau_dq[k], self.dtau_dv[k], self.M[k])

    def __iter__(self) -> Iterator[LinearPoint]:
        return (self[k] for k in range(len(self.M)))

    def linear_model(self) -> LinearModel:
        """Return A and B of dx/dt = A x + B u."""
        inverse = np.linalg.inv(self.M)
        return LinearModel.of(np.zeros_like(self.M), -inverse @ self.dtau_dq,
                              -inverse @ self.dtau_dv, inverse)


class ModelInForce:
    """The equations of a robot whose inertial parameters may be replaced while it moves.

    All equations are linear in the parameters, so that a mixture of two models is the
    model of the mixed parameters: after `set_parameters` the share of the new ones
    rises from 0 to 1 over a time, and no effort jumps.

    Parameters
    ----------
    robot : Robot
        The model to begin with; friction, damping and rotors are always its own.
    dynamics : Dynamics, optional
        Its equations, where they exist already.
    blend_time : float
        Time in which new parameters take over. s.
    coulomb_velocity : float
        Speed below which Coulomb friction fades out. rad/s or m/s.

    Attributes
    ----------
    robot : Robot
        With the parameters last set.
    """

    def __init__(self, robot: Robot, dynamics: Dynamics | None = None, *,
                 blend_time: float = 0.5, coulomb_velocity: float = 0.05):
        self.robot = robot
        self._blend_time = positive('blend_time', blend_time, 's')
        self._epsilon = positive('coulomb_velocity', coulomb_velocity, 'rad/s')
        self._new = Dynamics(robot) if dynamics is None else dynamics
        self._old: Dynamics | None = None
        self._share = 1.0

    @property
    def is_settled(self) -> bool:
        """Whether the parameters last set are in force alone."""
        return self._old is None

    @property
    def parameters(self) -> FloatArray:
        """The inertial parameters in force, shape (10 nb,)."""
        if self._old is None:
            return self._new.parameters
        return self._mixed(self._old.parameters, self._new.parameters)

    def set_parameters(self, parameters: ArrayLike) -> None:
        """Let other inertial parameters take over from here on.

        Parameters
        ----------
        parameters : array_like, shape (10 nb,)
            In the order of `Robot.parameters`.

        Raises
        ------
        RobotDynamicsError
            Where they are not those of bodies of this robot; nothing changes then.
        """
        robot = self.robot.with_parameters(parameters)
        for name, body, before in zip(robot.body_names, robot.inertial_parameters,
                                      self.robot.inertial_parameters, strict=True):
            verdict = check_body(body)
            if not verdict.is_consistent and not np.array_equal(body, before):
                raise InertiaError(f'cannot be a rigid body: {verdict.violation}', subject=name,
                                   remedy='correct its mass, centre of mass and inertia')
        new = Dynamics(robot)
        # What is in force now, mixture or not, is what the new ones take over from.
        self._old = self._new if self._old is None \
            else Dynamics(self.robot.with_parameters(self.parameters))
        self.robot, self._new, self._share = robot, new, 0.0

    def advance(self, dt: float) -> None:
        """Let time pass. s."""
        if self._old is not None:
            self._share += dt / self._blend_time
            if self._share >= 1.0:
                self._old, self._share = None, 1.0

    def feedforward(self, q: FloatArray, v: FloatArray, a: FloatArray) -> FloatArray:
        """Return the efforts of a motion with friction and rotors, shape (n,)."""
        robot = self.robot
        tau = self._new.inverse_dynamics(q, v, a)
        if self._old is not None:
            tau = self._mixed(self._old.inverse_dynamics(q, v, a), tau)
        tau += robot.armature * a
        tau += robot.damping * v
        tau += robot.friction * np.tanh(v / self._epsilon)
        return tau

    def gravity(self, q: FloatArray) -> FloatArray:
        """Return the efforts that carry the arm, shape (n,)."""
        tau = self._new.gravity_torque(q)
        return tau if self._old is None else self._mixed(self._old.gravity_torque(q), tau)

    def mass_matrix(self, q: FloatArray) -> FloatArray:
        """Return the mass matrix with rotors, shape (n, n)."""
        M = self._new.mass_matrix(q)
        if self._old is not None:
            M = self._mixed(self._old.mass_matrix(q), M)
        return M + np.diag(self.robot.armature)

    def linearise(self, q: FloatArray, v: FloatArray, a: FloatArray) -> LinearPoint:
        """Return the derivatives at a point, or at many with arguments of shape (k, n)."""
        parts = self._new.inverse_dynamics_derivatives(q, v, a)
        if self._old is not None:
            parts = tuple(map(self._mixed, self._old.inverse_dynamics_derivatives(q, v, a), parts))
        # The kernels of the gains take contiguous arrays only; mimicking joints make others.
        dtau_dq, dtau_dv, M = map(np.ascontiguousarray, parts)
        diagonal = np.arange(self.robot.n)
        dtau_dv[..., diagonal, diagonal] += self.robot.damping
        M[..., diagonal, diagonal] += self.robot.armature
        return LinearPoint(dtau_dq, dtau_dv, M)

    def _mixed(self, old: FloatArray, new: FloatArray) -> FloatArray:
        """Return what lies between two things that are linear in the parameters."""
        return old + self._share * (new - old)
