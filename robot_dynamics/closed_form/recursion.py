# SPDX-License-Identifier: Apache-2.0
r"""Regressors and efforts by recursion through the tree, every intermediate recorded.

With W_i the wrench per parameter of body i and F_ij the twist that unit speed of joint j
gives it (`robot_dynamics.closed_form.reference_motion`)::

    Yr[j, block i] = F_ij^T W_i              for every body i that joint j carries
    (Yr pi)_j      = own twist of j . sum of W_i pi_i over these bodies
    (Yr^T s)_i     = W_i^T sum_j F_ij s_j
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from robot_dynamics.closed_form.geometry import Geometry
from robot_dynamics.closed_form.pose import coordinate
from robot_dynamics.closed_form.reference_motion import (
    Motion,
    Twist,
    carried_twist,
    own_twist,
    parameter_efforts,
    reference_motion,
    wrench,
)
from robot_dynamics.closed_form.tape import Scalar, Tape
from robot_dynamics.closed_form.vectors import ZERO, Vector, add, cross, dot, label, times

Rows = list[list[Scalar]]


def regressor(tape: Tape, geometry: Geometry, q: Sequence[Scalar], v: Sequence[Scalar],
              v_r: Sequence[Scalar], a_r: Sequence[Scalar]) -> Rows:
    """Yr(q, v, v_r, a_r), n rows of 10 nb entries; the classical Y where v_r = v, a_r = a."""
    rows = zeros(geometry.n, 10 * len(geometry.bodies))
    motions = reference_motion(tape, geometry, q, v, v_r, a_r)
    twists: list[dict[int, Twist]] = []
    for i, (body, motion) in enumerate(zip(geometry.bodies, motions, strict=True)):
        above = twists[body.parent] if body.parent >= 0 else {}
        moved = {j: carried_twist(geometry, i, motion.pose, twist)
                 for j, twist in above.items()}
        moved[i] = own_twist(geometry, i)
        twists.append(moved)
        for j, twist in moved.items():
            label(f'l{i + 1}_{j + 1}', twist.linear)
            label(f's{i + 1}_{j + 1}', twist.angular)
            efforts = parameter_efforts(motion, twist)
            for joint, factor in geometry.bodies[j].coordinates:
                row = rows[joint]
                for c, effort in enumerate(efforts, start=10 * i):
                    row[c] = row[c] + effort * factor
    return rows


def efforts(tape: Tape, geometry: Geometry, q: Sequence[Scalar], v: Sequence[Scalar],
            v_r: Sequence[Scalar], a_r: Sequence[Scalar], parameters: Sequence[Scalar]
            ) -> list[Scalar]:
    """M a_r + C v_r + g, the inverse dynamics where v_r = v and a_r = a."""
    motions = reference_motion(tape, geometry, q, v, v_r, a_r)
    return gather_wrenches(geometry, motions, parameters)


def mass_matrix(tape: Tape, geometry: Geometry, q: Sequence[Scalar],
                parameters: Sequence[Scalar]) -> Rows:
    """M: column j holds the efforts of unit acceleration of joint j alone, at rest."""
    n, weightless = geometry.n, replace(geometry, gravity=ZERO)
    M = zeros(n, n)
    for j in range(n):
        column = efforts(tape, weightless, q, [0] * n, [0] * n, _unit(n, j), parameters)
        for i in range(j + 1):
            M[i][j] = M[j][i] = column[i]
    return M


def coriolis_matrix(tape: Tape, geometry: Geometry, q: Sequence[Scalar], v: Sequence[Scalar],
                    parameters: Sequence[Scalar]) -> Rows:
    """C: column j holds the efforts of unit reference velocity of joint j alone."""
    n, weightless = geometry.n, replace(geometry, gravity=ZERO)
    columns = [efforts(tape, weightless, q, v, _unit(n, j), [0] * n, parameters)
               for j in range(n)]
    return [list(row) for row in zip(*columns, strict=True)]


def gravity_torque(tape: Tape, geometry: Geometry, q: Sequence[Scalar],
                   parameters: Sequence[Scalar]) -> list[Scalar]:
    """g: the efforts at rest."""
    still = [0] * geometry.n
    return efforts(tape, geometry, q, still, still, still, parameters)


def adaptive_terms(tape: Tape, geometry: Geometry, q: Sequence[Scalar], v: Sequence[Scalar],
                   v_r: Sequence[Scalar], a_r: Sequence[Scalar], s: Sequence[Scalar],
                   parameters: Sequence[Scalar]) -> tuple[list[Scalar], list[Scalar]]:
    """Yr pi and Yr^T s, without forming Yr."""
    motions = reference_motion(tape, geometry, q, v, v_r, a_r)
    sums: list[Twist] = []
    gradient: list[Scalar] = []
    for i, (body, motion) in enumerate(zip(geometry.bodies, motions, strict=True)):
        own = own_twist(geometry, i).times(coordinate(body, s))
        total = own if body.parent < 0 else carried_twist(
            geometry, i, motion.pose, sums[body.parent]).plus(own)
        sums.append(total)
        gradient += parameter_efforts(motion, total)
    return gather_wrenches(geometry, motions, parameters), gradient


def gather_wrenches(geometry: Geometry, motions: Sequence[Motion],
                    parameters: Sequence[Scalar]) -> list[Scalar]:
    """Efforts of the joints under the wrenches that the motions ask for, from tip to base."""
    forces: list[Vector] = [ZERO] * len(motions)
    moments: list[Vector] = [ZERO] * len(motions)
    tau: list[Scalar] = [0] * geometry.n
    for i in reversed(range(len(motions))):
        body, motion = geometry.bodies[i], motions[i]
        force, moment = wrench(motion, parameters[10 * i:10 * i + 10])
        force, moment = add(force, forces[i]), add(moment, moments[i])
        moment = add(moment, cross(body.offset, force))  # About the joint.
        label(f'f{i + 1}', force)
        label(f'n{i + 1}', moment)
        effort = dot(body.axis, force if body.is_prismatic else moment)
        for joint, factor in body.coordinates:
            tau[joint] = tau[joint] + effort * factor
        if body.parent >= 0:
            force = times(motion.pose.rotation, force)
            moment = add(times(motion.pose.rotation, moment), cross(motion.pose.joint, force))
            forces[body.parent] = add(forces[body.parent], force)
            moments[body.parent] = add(moments[body.parent], moment)
    return tau


def _unit(n: int, j: int) -> list[Scalar]:
    return [int(k == j) for k in range(n)]


def zeros(rows: int, columns: int) -> Rows:
    """Return a matrix of zeros."""
    return [[0] * columns for _ in range(rows)]
