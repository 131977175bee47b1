# SPDX-License-Identifier: Apache-2.0
"""A robot as the one float64 array that the kernels read."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.dynamics.kernels.layout import (
    AXIS,
    BUFFER_MARK,
    BUFFER_SIGN,
    BUFFER_SIZE,
    BUFFER_START,
    COSINE,
    FIXED,
    GRAVITY,
    HAS_OFFSET,
    INERTIA,
    IS_PRISMATIC,
    IS_SCATTERED,
    MARK,
    NOBODY,
    OFFSET,
    ORIGIN,
    PARENT,
    POINT,
    RUN_END,
    SIGN,
    SINE,
    SLIDE,
    WIDTH,
)
from robot_dynamics.model.robot import JointType, Robot


def pack(robot: Robot) -> NDArray[np.float64]:
    """Return the model array of a robot, shape (nb + 1, WIDTH)."""
    model = np.zeros((robot.n_bodies + 1, WIDTH))
    origin = robot.placements[0, :3, 3]
    model[-1, GRAVITY:GRAVITY + 3] = robot.gravity
    model[-1, ORIGIN:ORIGIN + 3] = origin
    model[-1, MARK] = _mark(robot.parents)
    run_end, is_scattered = _subtrees(robot.parents)
    for i in range(robot.n_bodies):
        row = model[i]
        row[PARENT] = robot.parents[i]
        row[IS_PRISMATIC] = robot.joint_types[i] == JointType.PRISMATIC
        row[HAS_OFFSET] = np.any(robot.link_offsets[i])
        row[RUN_END] = run_end[i]
        row[IS_SCATTERED] = is_scattered[i]
        rotation, point = robot.placements[i, :3, :3], robot.placements[i, :3, 3]
        axis = robot.axes[i]
        along = np.outer(axis, axis)
        if row[IS_PRISMATIC]:
            row[FIXED:FIXED + 9] = rotation.T.ravel()
            row[SLIDE:SLIDE + 3] = rotation @ axis
        else:
            row[FIXED:FIXED + 9] = (rotation @ along).T.ravel()
            row[SINE:SINE + 9] = (rotation @ _skew(axis)).T.ravel()
            row[COSINE:COSINE + 9] = (rotation @ (np.eye(3) - along)).T.ravel()
        row[POINT:POINT + 3] = point - origin if robot.parents[i] < 0 else point
        row[AXIS:AXIS + 3] = rotation @ axis
        row[OFFSET:OFFSET + 3] = robot.link_offsets[i]
        row[INERTIA:INERTIA + 10] = robot.inertial_parameters[i]
    return model


def prepared_buffer(model: NDArray[np.float64], columns: int) -> NDArray[np.float64]:
    """Return zeros of shape (nb, columns) that carry the mark of the model's tree."""
    bodies = len(model) - 1
    memory = np.zeros(BUFFER_START + bodies * columns)
    memory[BUFFER_SIGN] = SIGN
    memory[BUFFER_SIZE] = bodies * columns
    memory[BUFFER_MARK] = model[-1, MARK]
    return memory[BUFFER_START:].reshape(bodies, columns)


def disown(out: NDArray[np.float64]) -> None:
    """Mark memory of `prepared_buffer`, if it is that, as nobody's: its zeros are written to."""
    memory = out.base
    if (type(memory) is np.ndarray and memory.dtype == np.float64 and memory.ndim == 1
            and len(memory) > BUFFER_START and memory[BUFFER_SIGN] == SIGN):
        memory[BUFFER_MARK] = NOBODY


def _mark(parents: NDArray[np.int64]) -> float:
    """Return a number, not zero, that stands for a tree."""
    digest = hashlib.sha256(parents.tobytes()).digest()
    return float(int.from_bytes(digest[:6], 'little') + 1)


def _skew(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Matrix of the vector product with x."""
    return np.array([[0.0, -x[2], x[1]], [x[2], 0.0, -x[0]], [-x[1], x[0], 0.0]])


def _subtrees(parents: NDArray[np.int64]) -> tuple[list[int], list[bool]]:
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
