# SPDX-License-Identifier: Apache-2.0
"""Geometry of a robot for formulas: connections of bodies in numbers and symbols.

`robot_dynamics.model.robot.Robot` defines the pose of body i on its parent; see there.
Rotations are numbers. Numbers within a rounding error of 0, 1 or -1 become these integers,
which shortens all formulas. Lengths and gravity are numbers or symbols.
`pose_of` is the pose of a body on its parent as a formula of its joint's position.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robot_dynamics.closed_form.tape import Number, Scalar, Scalars, Tape
from robot_dynamics.closed_form.vectors import (
    IDENTITY,
    Matrix,
    Vector,
    add,
    add_matrices,
    outer,
    product,
    scale,
    scale_matrix,
    skew,
    subtract,
    times,
)
from robot_dynamics.errors import ModelError
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.joints import JointType
from robot_dynamics.model.robot import Robot

#: Largest rounding of an integer entry of a rotation, or of a length in m.
ROUNDING = 1e-15


@dataclass(frozen=True)
class Body:
    """Connection of a body to its parent."""

    parent: int  # Index of the parent; -1 is the base.
    is_prismatic: bool
    rotation: Matrix  # Axes of the link frame at zero position, in those of the parent.
    point: Vector  # A point on the joint, seen from the parent's link frame.
    axis: Vector  # Joint axis in link axes.
    offset: Vector  # Origin of the link frame seen from that point, in link axes.
    # The position of its joint is the sum of factor q_j over the pairs (j, factor), plus the
    # shift.
    coordinates: tuple[tuple[int, Number], ...]
    shift: Number


@dataclass(frozen=True)
class Geometry:
    """The bodies of a robot, base to tip, and gravity in the base frame.

    Points, offsets and gravity may contain any scalar.
    """

    joints: tuple[str, ...]
    bodies: tuple[Body, ...]
    gravity: Vector

    @property
    def n(self) -> int:
        """Number of independent joints."""
        return len(self.joints)


def numeric_geometry(robot: Robot) -> Geometry:
    """Numeric geometry of a robot; raises a `ModelError` for a joint with several coordinates."""
    bodies = tuple(_body(robot, i) for i in range(robot.n_bodies))
    return Geometry(robot.joint_names, bodies, vector_of(robot.gravity))


def _body(robot: Robot, i: int) -> Body:
    kind = JointType(robot.joint_types[i])
    if not kind.has_one_coordinate:
        raise ModelError('has several degrees of freedom, but formulas need one per joint',
                         subject=f'joint {robot.body_joint_names[i]}',
                         remedy='give the robot a fixed base, or use Dynamics with its general '
                                'kernels (without a backend)')
    pose = robot.placements[i]
    row = robot.coupling[i]
    return Body(
        parent=int(robot.parents[i]), is_prismatic=kind is JointType.PRISMATIC,
        rotation=(vector_of(pose[0, :3]), vector_of(pose[1, :3]), vector_of(pose[2, :3])),
        point=vector_of(pose[:3, 3]),
        axis=vector_of(robot.axes[i]), offset=vector_of(robot.link_offsets[i]),
        coordinates=tuple((int(j), number(row[j])) for j in np.flatnonzero(row)),
        shift=number(robot.coupling_offset[i]))


def vector_of(x: FloatArray) -> Vector:
    """Three numbers."""
    return (number(x[0]), number(x[1]), number(x[2]))


def number(x: float) -> Number:
    """A number, rounded to an integer where it is one."""
    nearest = round(float(x))
    return nearest if abs(x - nearest) <= ROUNDING else float(x)


@dataclass(frozen=True)
class Pose:
    """Pose of a link frame in that of the parent."""

    rotation: Matrix  # Axes of the link.
    joint: Vector  # A point on the joint that moves with the body.


def coordinate(body: Body, x: Scalars, shift: Scalar = 0) -> Scalar:
    """Position (with the body's shift), or rate, of a body's own joint."""
    total = shift
    for j, factor in body.coordinates:
        total = total + x[j] * factor
    return total


def pose_of(tape: Tape, body: Body, q: Scalars, name: str = '') -> Pose:
    """Pose of a body for joint positions q; sine and cosine are called ``s<name>``, ``c<name>``.

    A revolute joint turns by Rodrigues' formula
    Exp([a] q) = a a^T + sin(q) [a] + cos(q) (1 - a a^T); a prismatic one slides along
    its axis.
    """
    position = coordinate(body, q, body.shift)
    if body.is_prismatic:
        slide = scale(times(body.rotation, body.axis), position)
        return Pose(body.rotation, add(body.point, slide))
    sine = tape.label(f's{name}', tape.sine(position))
    cosine = tape.label(f'c{name}', tape.cosine(position))
    along = outer(body.axis, body.axis)
    across = tuple(subtract(one, a) for one, a in zip(IDENTITY, along, strict=True))
    turn = add_matrices(along, add_matrices(scale_matrix(skew(body.axis), sine),
                                            scale_matrix(across, cosine)))
    return Pose(product(body.rotation, turn), body.point)
