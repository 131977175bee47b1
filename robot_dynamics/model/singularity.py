# SPDX-License-Identifier: Apache-2.0
"""Joints that make the mass matrix singular in every pose: their motion moves no inertia."""

from __future__ import annotations

import numpy as np

from robot_dynamics.errors import Finding, Severity
from robot_dynamics.model.arrays import BoolArray, FloatArray
from robot_dynamics.model.inertia import (
    inertia_matrix,
    parameters_from_pseudo_inertia,
    pseudo_inertia,
)
from robot_dynamics.model.joints import directions, joint_motion
from robot_dynamics.model.robot_data import RobotData

# A zero of the mass matrix comes out as the rounding of the terms that cancel in it.
_ROUNDING = 1e-12
# Below this scaled eigenvalue a combination of joints counts as moving nothing.
_SINGULAR = 1e-11
# Number of poses: a singularity of one pose is not one of the model.
_TRIALS = 3


def singular_directions(robot: RobotData) -> list[Finding]:
    """Warn of every joint that makes the mass matrix singular.

    Inverse dynamics still works; forward dynamics, simulation and linearisation do not.
    The mass matrix is evaluated at a few random poses, the same ones every time.

    Returns
    -------
    list of Finding
        One finding if no body has inertia; else one for each such joint, naming the link
        that it carries.
    """
    if not np.any(robot.inertial_parameters):
        return [Finding(Severity.WARNING, robot.name,
                        'has no moving link with inertia: every torque is zero and the mass '
                        'matrix is singular', 'add <inertial> to its links')]
    rng = np.random.default_rng(20240)
    still = np.ones(robot.n, dtype=bool)
    bound = np.ones(robot.n, dtype=bool)
    for _ in range(_TRIALS):
        q = robot.integrate(robot.neutral(), rng.uniform(-1.5, 1.5, robot.n))
        mass, scale = _mass_matrix(robot, q)
        diagonal = np.diag(mass)
        still &= np.abs(diagonal) <= _ROUNDING * scale
        bound &= _in_null_space(mass, diagonal > _ROUNDING * scale)
        if not np.any(still | bound):
            break
    joint_of = robot.coordinates.joint_of_velocity
    return [_finding(robot, int(joint), alone=bool(np.any(still[joint_of == joint])))
            for joint in np.unique(joint_of[still | bound])]


def _finding(robot: RobotData, joint: int, *, alone: bool) -> Finding:
    name = robot.joint_names[joint]
    link = robot.body_names[robot.body_joint_names.index(name)]
    what = (f'moves no inertia: link {link!r} and the links after it have none about this joint'
            if alone else
            f'can move against other joints without moving any inertia: link {link!r} has too '
            'little of its own')
    return Finding(Severity.WARNING, name, f'{what}; the mass matrix is singular',
                   f'give {link!r} its <inertial>, or lock the joint')


def _in_null_space(mass: FloatArray, heavy: BoolArray) -> BoolArray:
    """Joints that move inertia alone, but can move together without moving any."""
    moving = np.flatnonzero(heavy)
    scaling = 1.0 / np.sqrt(np.diag(mass)[moving])
    # One factor after the other: of the smallest inertias there are, their product overflows.
    scaled = mass[np.ix_(moving, moving)] * scaling[:, None] * scaling
    values, vectors = np.linalg.eigh(scaled)
    involved = np.zeros(len(mass), dtype=bool)
    null = vectors[:, np.abs(values) < _SINGULAR]
    involved[moving] = np.any(np.abs(null) > 0.1, axis=1)
    return involved


def _mass_matrix(robot: RobotData, q: FloatArray) -> tuple[FloatArray, FloatArray]:
    """M(q), shape (n, n), and its diagonal with every term by its magnitude, (n,).

    With the unit twists s_k of the bodies' velocities and the spatial inertias I_k of the
    bodies that these move, both about the base origin, and I_k^c the sum of I over the
    subtree of that body::

        M_bodies[j, k] = s_j^T I_k^c s_k    for j on the way from the base to k

    and M = S^T M_bodies S (composite rigid body algorithm; R. Featherstone, *Rigid
    Body Dynamics Algorithms*, Springer, 2008, table 6.2).
    """
    twists, inertias, magnitudes = _about_base(robot, q)
    on_the_way = np.zeros((robot.n_bodies, robot.n_bodies), dtype=bool)
    for k, parent in enumerate(robot.parents):
        if parent >= 0:
            on_the_way[k] = on_the_way[parent]
        on_the_way[k, k] = True
    for k in range(robot.n_bodies - 1, -1, -1):
        parent = robot.parents[k]
        if parent >= 0:
            inertias[parent] += inertias[k]
            magnitudes[parent] += magnitudes[k]
    body = robot.body_coordinates.joint_of_velocity
    momenta = np.einsum('kij,kj->ki', inertias[body], twists)
    lower = np.tril(np.where(on_the_way[np.ix_(body, body)], momenta @ twists.T, 0.0))
    bodies = lower + np.tril(lower, -1).T
    scale = np.einsum('ki,kij,kj->k', np.abs(twists), magnitudes[body], np.abs(twists))
    S = robot.coupling
    return S.T @ bodies @ S, (S ** 2).T @ scale


def _about_base(robot: RobotData, q: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Unit twists (velocities, 6), spatial inertias (nb, 6, 6) and their magnitudes."""
    matrix, offset = robot.position_coupling
    q_bodies = matrix @ q + offset
    coordinates = robot.body_coordinates
    poses = np.empty((robot.n_bodies, 4, 4))
    twists = np.zeros((coordinates.n, 6))
    for k, parent in enumerate(robot.parents):
        kind, axis = coordinates.types[k], robot.axes[k]
        joint = robot.placements[k] if parent < 0 else poses[parent] @ robot.placements[k]
        poses[k] = joint @ joint_motion(kind, axis, robot.link_offsets[k],
                                        q_bodies[coordinates.positions(k)])
        # A single axis is the same before and after the motion, but not its origin.
        frame = joint if kind.has_one_coordinate else poses[k]
        slides, along = directions(kind, axis)
        turned = along @ frame[:3, :3].T
        rows = twists[coordinates.velocities(k)]
        rows[slides, 3:] = turned[slides]
        rows[~slides, :3] = turned[~slides]
        rows[~slides, 3:] = np.cross(frame[:3, 3], turned[~slides])
    turn = np.swapaxes(poses, 1, 2)
    in_base = poses @ pseudo_inertia(robot.inertial_parameters) @ turn
    sizes = np.abs(poses) @ _pseudo_sizes(robot.inertial_parameters) @ np.abs(turn)
    return twists, _spatial_inertia(in_base), np.abs(_spatial_inertia(sizes))


def _pseudo_sizes(parameters: FloatArray) -> FloatArray:
    """Pseudo-inertias in which every term is counted by its magnitude."""
    sizes = np.abs(pseudo_inertia(parameters))
    tensor = np.abs(inertia_matrix(parameters))
    half_trace = 0.5 * np.trace(tensor, axis1=1, axis2=2)[:, None, None]
    sizes[:, :3, :3] = half_trace * np.eye(3) + tensor
    return sizes


def _spatial_inertia(pseudo: FloatArray) -> FloatArray:
    """``[[J, [h]], [[h]^T, m 1]]`` of pseudo-inertias (nb, 4, 4), shape (nb, 6, 6)."""
    p = parameters_from_pseudo_inertia(pseudo)
    h = p[:, 1:4]
    cross = np.zeros((len(p), 3, 3))
    cross[:, [2, 0, 1], [1, 2, 0]] = h
    cross[:, [1, 2, 0], [2, 0, 1]] = -h
    inertia = np.zeros((len(p), 6, 6))
    inertia[:, :3, :3] = inertia_matrix(p)
    inertia[:, :3, 3:] = cross
    inertia[:, 3:, :3] = np.swapaxes(cross, 1, 2)
    inertia[:, 3:, 3:] = p[:, 0, None, None] * np.eye(3)
    return inertia
