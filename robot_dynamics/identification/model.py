# SPDX-License-Identifier: Apache-2.0
"""``Model``: the equations of an arm with friction, and their parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.identification.friction import (
    LOADED,
    PlainFriction,
    columns_of,
    plain_friction,
)
from robot_dynamics.identification.observation_matrix import Feature, axis_loads
from robot_dynamics.identification.signals import Motion
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import Robot


@dataclass(frozen=True, eq=False)
class Model:
    """An arm with friction: inverse dynamics and friction terms.

    See Also
    --------
    identify, Identification
    """

    #: Kinematics of the arm.
    robot: Robot
    #: Axes with friction, shape (k, n); see `Dataset.axes`.
    axes: FloatArray
    axis_names: tuple[str, ...]
    features: tuple[Feature, ...]
    #: Gravity in the base frame, shape (3,), m/s^2.
    gravity: FloatArray
    #: Inertial parameters, shape (10 nb,).
    inertial: FloatArray
    #: Parameters of the features, shape (f,).
    friction: FloatArray
    #: Inertial parameters for the loads of load-dependent friction, shape (10 nb,): those of
    #: the previous pass, so that the model stays linear in its parameters.
    loads: FloatArray

    @property
    def parameters(self) -> FloatArray:
        """Inertial parameters, then friction."""
        return np.concatenate([self.inertial, self.friction])

    @property
    def names(self) -> tuple[str, ...]:
        """Names of `parameters`: ``link/m`` etc., then ``joint/term``."""
        return self.robot.parameter_names + tuple(
            f'{self.axis_names[feature.axis]}/{feature.term}' for feature in self.features)

    def with_parameters(self, parameters: FloatArray) -> Model:
        """Copy with other parameters."""
        rigid = 10 * self.robot.n_bodies
        return replace(self, inertial=parameters[:rigid], friction=parameters[rigid:])

    def without(self, term: str) -> Model:
        """Copy without a friction term."""
        kept = [k for k, feature in enumerate(self.features) if feature.term != term]
        return replace(self, features=tuple(self.features[k] for k in kept),
                       friction=self.friction[kept])

    def efforts(self, motion: Motion) -> FloatArray:
        """Efforts of a motion, shape (N, n), N m or N."""
        real = self.robot.with_gravity(self.gravity)
        tau = Dynamics(real.with_parameters(self.inertial), armature=False).inverse_dynamics(
            motion.q, motion.v, motion.a)
        return tau + self.friction_efforts(motion)

    def friction_efforts(self, motion: Motion) -> FloatArray:
        """Friction part of the efforts, shape (N, n), N m or N."""
        load = self.axis_loads(motion)
        tau = np.zeros((motion.count, len(self.axes[0])))
        for feature, parameter in zip(self.features, self.friction, strict=True):
            direction = self.axes[feature.axis]
            column = columns_of(feature.term, (feature.option,), motion.q @ direction,
                                motion.v @ direction, motion.a @ direction,
                                None if load is None else load[:, feature.axis])
            for j in np.flatnonzero(direction):
                tau[:, j] += parameter * direction[j] * column[:, 0]
        return tau

    def axis_loads(self, motion: Motion) -> FloatArray | None:
        """Loads of the axes, N m or N, shape (N, axes), where a friction term depends on them."""
        if not any(feature.term in LOADED for feature in self.features):
            return None
        loaded = self.robot.with_gravity(self.gravity).with_parameters(self.loads)
        return axis_loads(self.axes, Dynamics(loaded, armature=False).inverse_dynamics(
            motion.q, motion.v, motion.a))

    def plain_friction(self, motions: Sequence[Motion]) -> PlainFriction:
        """Damping, Coulomb friction and rotor inertia nearest to the friction along motions.

        The inertia of a motor that turns with several joints is kept on the diagonal only.
        """
        armature = np.zeros(len(self.axes[0]))
        for feature, value in zip(self.features, self.friction, strict=True):
            if feature.term == 'armature':
                armature += value * self.axes[feature.axis] ** 2
        rest = self.without('armature')
        return plain_friction(np.concatenate([motion.v for motion in motions]),
                              np.concatenate([rest.friction_efforts(one) for one in motions]),
                              armature)
