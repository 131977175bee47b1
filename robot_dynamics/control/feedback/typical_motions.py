# SPDX-License-Identifier: Apache-2.0
"""Motions across the joint ranges, and the inertias of an arm there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import InertiaError
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import Robot, prismatic_joints

#: Number of typical motions, and their speed as a share of the velocity limit (of 1 rad/s or
#: 1 m/s without a limit).
MOTIONS = 200
SPEED_SHARE = 0.5
#: Largest velocity limit of a joint of an arm: descriptions have up to 10,000 for none. rad/s or
#: m/s.
LARGEST_SPEED = 10.0
#: Ratio of eigenvalues below which a mass matrix counts as singular.
SINGULAR = 1e-12


@dataclass(frozen=True, eq=False)
class Motions:
    """Many states with accelerations, each array of shape (k, n)."""

    q: FloatArray
    v: FloatArray
    a: FloatArray


def typical_motions(robot: Robot) -> Motions:
    """Motions across the joint ranges, the same at every call.

    Speeds are uniform up to a share of the velocity limits, of at most `LARGEST_SPEED`,
    accelerations up to twice that per second.
    """
    random = np.random.default_rng(0)
    free = np.where(prismatic_joints(robot), 1.0, np.pi)
    lower = np.where(np.isfinite(robot.limits.lower), robot.limits.lower, -free)
    upper = np.where(np.isfinite(robot.limits.upper), robot.limits.upper, free)
    limits = robot.limits.velocity
    speed = SPEED_SHARE * np.where(np.isfinite(limits), np.minimum(limits, LARGEST_SPEED), 1.0)
    shape = (MOTIONS, robot.n)
    return Motions(random.uniform(lower, np.maximum(lower, upper), shape),
                   speed * random.uniform(-1.0, 1.0, shape),
                   2.0 * speed * random.uniform(-1.0, 1.0, shape))


def effective_inertias(dynamics: Dynamics, motions: Motions) -> FloatArray:
    """Least 1/(M^-1)_ii of each joint over some postures, shape (n,), kg m^2 or kg.

    The inertia that a joint moves while all other joints are free.
    """
    inverse = np.linalg.inv(mass_matrices(dynamics, motions.q))
    return 1.0 / np.diagonal(inverse, axis1=1, axis2=2).max(axis=0)


def mass_matrices(dynamics: Dynamics, q: FloatArray) -> FloatArray:
    """M with rotor inertias at many postures, shape (k, n, n).

    Raises an InertiaError if some motion of the model moves no mass.
    """
    mass = dynamics.mass_matrix(q)
    eigenvalues, vectors = np.linalg.eigh(mass)
    sizes = np.abs(eigenvalues)
    singular = sizes.min(axis=1) <= SINGULAR * sizes.max(axis=1)
    if singular.any():
        posture = int(np.argmax(singular))
        joint = int(np.argmax(np.abs(vectors[posture][:, np.argmin(sizes[posture])])))
        raise InertiaError('moves no mass in the model', subject=dynamics.robot.joint_names[joint],
                           remedy='add <inertial> to the links it moves, or lock the joint')
    return mass
