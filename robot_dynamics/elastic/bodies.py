# SPDX-License-Identifier: Apache-2.0
"""Links with the motors that stand on them."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.elastic.joints import ElasticJoints
from robot_dynamics.errors import DimensionError, ParameterError
from robot_dynamics.model.arrays import FloatArray, real_array
from robot_dynamics.model.robot import Robot

_UPPER = np.triu_indices(3)


def with_motors(links: Robot, joints: ElasticJoints, masses: ArrayLike,
                positions: ArrayLike | None = None, inertias: ArrayLike | None = None) -> Robot:
    """Return a robot whose bodies are links with the motors mounted on them.

    The motor of joint i stands on the link before that joint; one that stands on the base
    moves nothing. Of its rotor a body has the mass, and the inertia it has when it does
    not turn (Zollo et al., "Identification of Dynamic Parameters for Robots with Elastic
    Joints", eq. A.14)::

        m = m_l + m_m,    c = m_l p_l + m_m p_m,    I = I_l + I_m + m_m [p_m]^T [p_m]

    Parameters
    ----------
    links : Robot
        Links alone.
    joints : ElasticJoints
        Their rotors.
    masses : array_like, shape (n,)
        m_m, mass of each motor with its rotor. kg.
    positions : array_like, shape (n, 3), optional
        p_m, centre of mass of each motor in the frame of the link that carries it; by
        default the place of the joint it drives. m.
    inertias : array_like, shape (n, 3, 3), optional
        I_m of each motor with its rotor about that centre, in the axes of the same frame;
        by default that of a thin rotor alone, Upsilon about its axis. kg m^2.

    Returns
    -------
    Robot
        The same robot with the parameters of bodies.
    """
    n = links.n
    masses = _shaped(masses, 'masses', (n,))
    if not np.all(np.isfinite(masses)) or np.any(masses < 0.0):
        joint = links.joint_names[int(np.argmax(~(masses >= 0.0) | ~np.isfinite(masses)))]
        raise ParameterError('the mass of its motor is negative or not finite', subject=joint,
                             remedy='give zero or a positive number, in kg')
    positions = links.placements[:, :3, 3] if positions is None \
        else _shaped(positions, 'positions', (n, 3))
    if inertias is None:
        axes = joints.rotor_axes if joints.rotor_axes is not None else np.einsum(
            'ijk,ik->ij', links.placements[:, :3, :3], links.axes)
        inertias = np.einsum('i,ij,ik->ijk', joints.rotor_inertia, axes, axes)
    inertias = _shaped(inertias, 'inertias', (n, 3, 3))
    parameters = np.array(links.inertial_parameters)
    for joint in range(n):
        body = links.parents[joint]
        if body >= 0:
            p, mass = positions[joint], masses[joint]
            inertia = inertias[joint] + mass * (p @ p * np.eye(3) - np.outer(p, p))
            parameters[body] += np.concatenate([[mass], mass * p, inertia[_UPPER]])
    return links.with_parameters(parameters)


def _shaped(value: ArrayLike, name: str, shape: tuple[int, ...]) -> FloatArray:
    array = real_array(value, name)
    if array.shape != shape:
        raise DimensionError(f'has shape {array.shape}, not {shape}', subject=name,
                             remedy='give one for the motor of each joint, in the order of joints')
    return array
