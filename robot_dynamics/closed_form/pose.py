# SPDX-License-Identifier: Apache-2.0
"""Where a body stands on its parent, as a formula of its joint's position."""

from __future__ import annotations

from dataclasses import dataclass

from robot_dynamics.closed_form.geometry import Body
from robot_dynamics.closed_form.tape import Scalar, Tape
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


@dataclass(frozen=True)
class Pose:
    """A link frame seen from that of the parent.

    Parameters
    ----------
    rotation : Matrix
        Axes of the link in those of the parent.
    joint : Vector
        A point on the joint that moves with the body, in the parent's frame.
    """

    rotation: Matrix
    joint: Vector


def coordinate(body: Body, x: list[Scalar], shift: Scalar = 0) -> Scalar:
    """Position (with the body's shift), or rate, of a body's own joint."""
    total = shift
    for j, factor in body.coordinates:
        total = total + x[j] * factor
    return total


def pose_of(tape: Tape, body: Body, q: list[Scalar], name: str = '') -> Pose:
    """Pose of a body for joint positions q.

    A revolute joint turns by Rodrigues' formula
    Exp([a] q) = a a^T + sin(q) [a] + cos(q) (1 - a a^T); a prismatic one slides along
    its axis.

    Parameters
    ----------
    name : str
        Label of the body; sine and cosine are called ``s<name>`` and ``c<name>``.
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
