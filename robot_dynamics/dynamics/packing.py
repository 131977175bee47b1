# SPDX-License-Identifier: Apache-2.0
"""A robot as the one float64 array that the kernels read."""

from __future__ import annotations

import hashlib

import numpy as np

from robot_dynamics.dynamics.kernels.layout import (
    AXIS,
    BODIES,
    BODY,
    BUFFER_MARK,
    BUFFER_SIGN,
    BUFFER_SIZE,
    BUFFER_START,
    COORDINATE,
    COSINE,
    FIRST_ROW,
    FIXED,
    GRAVITY,
    HAS_OFFSET,
    INERTIA,
    IS_PRISMATIC,
    IS_SCATTERED,
    KIND,
    LAST_ROW,
    MARK,
    NOBODY,
    OFFSET,
    ORIGIN,
    PARENT,
    POINT,
    POSITIONS,
    RUN_END,
    SIGN,
    SINE,
    SLIDE,
    WIDTH,
)
from robot_dynamics.model.arrays import FloatArray, IntArray
from robot_dynamics.model.joints import JointType, directions
from robot_dynamics.model.robot import Robot


def pack(robot: Robot) -> FloatArray:
    """Return the model array of a robot, shape (velocities of all bodies + 1, WIDTH)."""
    coordinates = robot.body_coordinates
    model = np.zeros((coordinates.n + 1, WIDTH))
    origin = robot.placements[0, :3, 3]
    model[-1, GRAVITY:GRAVITY + 3] = robot.gravity
    model[-1, ORIGIN:ORIGIN + 3] = origin
    model[-1, MARK] = _mark(robot)
    model[-1, BODIES], model[-1, POSITIONS] = robot.n_bodies, coordinates.nq
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
    """Write how a joint of one coordinate moves body i."""
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


def prepared_buffer(model: FloatArray, columns: int) -> FloatArray:
    """Return zeros of shape (velocities, columns) that carry the mark of the model's tree."""
    rows = len(model) - 1
    memory = np.zeros(BUFFER_START + rows * columns)
    memory[BUFFER_SIGN] = SIGN
    memory[BUFFER_SIZE] = rows * columns
    memory[BUFFER_MARK] = model[-1, MARK]
    return memory[BUFFER_START:].reshape(rows, columns)


def disown(out: FloatArray) -> None:
    """Mark memory of `prepared_buffer`, if it is that, as nobody's: its zeros are written to."""
    memory = out.base
    if (type(memory) is np.ndarray and memory.dtype == np.float64 and memory.ndim == 1
            and len(memory) > BUFFER_START and memory[BUFFER_SIGN] == SIGN):
        memory[BUFFER_MARK] = NOBODY


def _mark(robot: Robot) -> float:
    """Return a number, not zero, that stands for the places of zeros in a regressor."""
    places = np.concatenate([robot.parents, robot.body_coordinates.velocity_counts])
    digest = hashlib.sha256(places.tobytes()).digest()
    return float(int.from_bytes(digest[:6], 'little') + 1)


def _skew(x: FloatArray) -> FloatArray:
    """Matrix of the vector product with x."""
    return np.array([[0.0, -x[2], x[1]], [x[2], 0.0, -x[0]], [-x[1], x[0], 0.0]])


def _subtrees(parents: IntArray) -> tuple[list[int], list[bool]]:
    """Describe which bodies hang on each joint.

    Returns, for each body i, the end of the unbroken run ``i, i + 1, ...`` of its
    descendants, and whether further descendants come after that run, which happens
    when the bodies do not stand in depth-first order.
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
