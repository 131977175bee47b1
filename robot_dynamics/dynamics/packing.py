# SPDX-License-Identifier: Apache-2.0
"""Packing of a robot into the float64 array that the kernels read."""

from __future__ import annotations

import numpy as np

from robot_dynamics.dynamics.kernels import layout
from robot_dynamics.dynamics.kernels.layout import (
    ARMATURE,
    AXIS,
    BODY,
    COORDINATE,
    COSINE,
    FIRST_ROW,
    FIXED,
    GRAVITY,
    HAS_OFFSET,
    HEADER,
    INERTIA,
    IS_PRISMATIC,
    IS_SCATTERED,
    KIND,
    LAST_ROW,
    N_BODIES,
    OFFSET,
    ORIGIN,
    PARENT,
    POINT,
    RUN_END,
    SINE,
    SLIDE,
    WIDTH,
)
from robot_dynamics.model.arrays import FloatArray, IntArray
from robot_dynamics.model.joints import JointType, directions
from robot_dynamics.model.robot import Robot


def pack(robot: Robot, armature: FloatArray | None = None) -> FloatArray:
    """Flat array of a robot; see `robot_dynamics.dynamics.kernels.layout`.

    Parameters
    ----------
    robot : Robot
        The robot.
    armature : ndarray, shape (n,), optional
        Rotor inertia reflected to each independent velocity; zero by default.
    """
    table = body_table(robot)
    if armature is not None:
        table[:-1, ARMATURE] = _armature_of_rows(robot, armature)
    positions, offset = robot.position_coupling
    shares: list[FloatArray] = [np.zeros(0), np.zeros(0)]
    if not robot.is_directly_driven:
        shares = [_entries(np.array(positions)), _entries(np.array(robot.coupling))]
    parts = [np.zeros(HEADER), table.ravel(), np.array(offset), *shares]
    ends = np.cumsum([len(part) for part in parts])
    header = parts[0]
    header[layout.ROWS], header[layout.BODIES] = len(table) - 1, robot.n_bodies
    header[layout.COORDINATES], header[layout.POSITIONS] = robot.n, robot.nq
    header[layout.MOVING_POSITIONS] = robot.body_coordinates.nq
    header[layout.LENGTH] = ends[-1]
    header[layout.OFFSETS], header[layout.POSITION_SHARES] = ends[1], ends[2]
    header[layout.RATE_SHARES], header[layout.SHARES_END] = ends[3], ends[4]
    header[layout.HAS_QUATERNIONS] = any(
        kind in (JointType.FLOATING, JointType.SPHERICAL) for kind in robot.body_coordinates.types)
    header[layout.MIMICS] = not _is_permutation(np.array(robot.coupling))
    return np.concatenate(parts)


def body_table(robot: Robot) -> FloatArray:
    """Table of the velocities of the bodies, shape (velocities + 1, WIDTH)."""
    coordinates = robot.body_coordinates
    model = np.zeros((coordinates.n + 1, WIDTH))
    origin = robot.placements[0, :3, 3]
    model[-1, GRAVITY:GRAVITY + 3] = robot.gravity
    model[-1, ORIGIN:ORIGIN + 3] = origin
    model[-1, N_BODIES] = robot.n_bodies
    run_end, is_scattered = _subtrees(robot.parents)
    for i, kind in enumerate(coordinates.types):
        rows = coordinates.velocities(i)
        joint, parent = model[rows], robot.parents[i]
        joint[:, FIRST_ROW], joint[:, LAST_ROW] = rows.start, rows.stop - 1
        joint[:, KIND], joint[:, BODY] = kind, i
        joint[:, COORDINATE] = coordinates.positions(i).start
        joint[:, RUN_END], joint[:, IS_SCATTERED] = run_end[i], is_scattered[i]
        joint[:, PARENT] = np.arange(rows.start - 1, rows.stop - 1)
        joint[0, PARENT] = -1 if parent < 0 else coordinates.velocities(parent).stop - 1
        point = robot.placements[i, :3, 3]
        joint[0, POINT:POINT + 3] = point - origin if parent < 0 else point
        joint[-1, HAS_OFFSET] = np.any(robot.link_offsets[i])
        joint[-1, OFFSET:OFFSET + 3] = robot.link_offsets[i]
        joint[-1, INERTIA:INERTIA + 10] = robot.inertial_parameters[i]
        if kind.has_one_coordinate:
            _pack_single(joint[0], robot, i)
        else:
            joint[0, FIXED:FIXED + 9] = robot.placements[i, :3, :3].T.ravel()
            joint[:, IS_PRISMATIC], joint[:, AXIS:AXIS + 3] = directions(kind, robot.axes[i])
    return model


def _pack_single(row: FloatArray, robot: Robot, i: int) -> None:
    """Write the motion of body i by a joint of one coordinate."""
    rotation, axis = robot.placements[i, :3, :3], robot.axes[i]
    along = np.outer(axis, axis)
    row[IS_PRISMATIC] = robot.joint_types[i] == JointType.PRISMATIC
    if row[IS_PRISMATIC]:
        row[FIXED:FIXED + 9] = rotation.T.ravel()
        row[SLIDE:SLIDE + 3] = rotation @ axis
    else:
        row[FIXED:FIXED + 9] = (rotation @ along).T.ravel()
        row[SINE:SINE + 9] = (rotation @ _skew(axis)).T.ravel()
        row[COSINE:COSINE + 9] = (rotation @ (np.eye(3) - along)).T.ravel()
    row[AXIS:AXIS + 3] = rotation @ axis


def _armature_of_rows(robot: Robot, armature: FloatArray) -> FloatArray:
    """Rotor inertia at the joints of the bodies: each rotor at one joint that follows it."""
    rows = np.zeros(robot.body_coordinates.n)
    coupling = np.array(robot.coupling)
    for j, inertia in enumerate(armature):
        row = int(np.argmax(np.abs(coupling[:, j])))
        if coupling[row, j]:
            rows[row] += inertia / coupling[row, j]**2
    return rows


def _entries(matrix: FloatArray) -> FloatArray:
    """Entries of a matrix that are not zero, as row, column, value, one after the other."""
    rows, columns = np.nonzero(matrix)
    return np.column_stack([rows, columns, matrix[rows, columns]]).ravel()


def _is_permutation(coupling: FloatArray) -> bool:
    return (coupling.shape[0] == coupling.shape[1] and bool(np.all(np.isin(coupling, (0.0, 1.0))))
            and bool(np.all(coupling.sum(0) == 1.0)) and bool(np.all(coupling.sum(1) == 1.0)))


def _skew(x: FloatArray) -> FloatArray:
    """Matrix of the vector product with x."""
    return np.array([[0.0, -x[2], x[1]], [x[2], 0.0, -x[0]], [-x[1], x[0], 0.0]])


def _subtrees(parents: IntArray) -> tuple[list[int], list[bool]]:
    """Descendants of each body.

    Returns, for each body i, the end of the contiguous run ``i, i + 1, ...`` of its descendants,
    and whether further descendants come after that run, as happens if the bodies are not in
    depth-first order.
    """
    count = len(parents)
    descends = np.eye(count, dtype=bool)
    for i in range(count):
        if parents[i] >= 0:
            descends[i] |= descends[parents[i]]
    run_end, is_scattered = [], []
    for j in range(count):
        end = j
        while end < count and descends[end, j]:
            end += 1
        run_end.append(end)
        is_scattered.append(bool(np.any(descends[end:, j])))
    return run_end, is_scattered
