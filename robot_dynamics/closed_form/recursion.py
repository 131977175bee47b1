# SPDX-License-Identifier: Apache-2.0
"""Regressors and efforts from the reference motion of each body, in link axes.

A particle of body i at c (link axes, from the link's origin) has the *reference
acceleration* J a_r + dJ/dt v_r = d + L c, with::

    L = [alpha] + [r] [w],      [r] [w] = w r^T - (r . w) 1

where w and r are the angular velocities of the body under v and v_r and alpha is its
reference angular acceleration. Gravity is an acceleration -g of the base. From parent p
to body, R the body's axes in the parent's and p the joint in the parent's frame::

    w     = R^T w_p + e v                   (revolute about e; prismatic: without e)
    r     = R^T r_p + e v_r
    alpha = R^T alpha_p + e a_r + (R^T w_p x e) v_r
    d     = R^T (d_p + L_p p) + L o         (o: from the joint to the link's origin)

and a prismatic joint along e adds e a_r + (r v + w v_r) x e to d. With v_r = v, a_r = a
this is the true motion. Summed over particles, sum m J^T (d + L c) is
M a_r + C v_r + g with the Christoffel C: Gabiccini, Bracci, De Carli, Fredianelli,
Bicchi, "Explicit Lagrangian formulation of the dynamic regressors for serial
manipulators", eq. (39), (45).

Regressors and efforts follow by recursion through the tree. With W_i the wrench per
parameter of body i and F_ij the twist that unit speed of joint j gives it::

    Yr[j, block i] = F_ij^T W_i              for every body i that joint j carries
    (Yr pi)_j      = own twist of j . sum of W_i pi_i over these bodies
    (Yr^T s)_i     = W_i^T sum_j F_ij s_j
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from robot_dynamics.closed_form.geometry import Geometry, Pose, coordinate, pose_of
from robot_dynamics.closed_form.tape import Scalar, Scalars, Tape
from robot_dynamics.closed_form.vectors import (
    NOTHING,
    ZERO,
    Matrix,
    Vector,
    add,
    cross,
    dot,
    label,
    scale,
    subtract,
    times,
    transpose_times,
)

_HALF = Fraction(1, 2)


@dataclass(frozen=True)
class Gradient:
    """The matrix L, in the parts that wrenches need.

    L = S + [b] with S symmetric. ``diagonal`` holds L_xx, L_yy, L_zz, ``symmetric`` S_yz,
    S_xz, S_xy, ``turning`` b, and ``differences`` L_xx - L_yy, L_zz - L_xx, L_yy - L_zz.
    """

    diagonal: Vector
    symmetric: Vector
    turning: Vector
    differences: Vector

    @property
    def matrix(self) -> Matrix:
        """L, as rows."""
        xx, yy, zz = self.diagonal
        k, b = self.symmetric, self.turning
        return ((xx, k[2] - b[2], k[1] + b[1]),
                (k[2] + b[2], yy, k[0] - b[0]),
                (k[1] - b[1], k[0] + b[0], zz))


@dataclass(frozen=True)
class Twist:
    """Velocity that unit speed of a joint gives a body: of its origin, and angular."""

    linear: Vector
    angular: Vector

    def times(self, k: Scalar) -> Twist:
        """Twist at speed k."""
        return Twist(scale(self.linear, k), scale(self.angular, k))

    def plus(self, other: Twist) -> Twist:
        """Sum of two twists."""
        return Twist(add(self.linear, other.linear), add(self.angular, other.angular))


@dataclass(frozen=True)
class Motion:
    """Reference motion of a body; see the top of this module."""

    pose: Pose
    w: Vector
    r: Vector
    alpha: Vector
    d: Vector
    L: Gradient


def gradient(w: Vector, r: Vector, alpha: Vector) -> Gradient:
    """L = [alpha] + w r^T - (r . w) 1."""
    xx, yy, zz = w[0] * r[0], w[1] * r[1], w[2] * r[2]
    one = (w[1] * r[2], w[2] * r[0], w[0] * r[1])
    other = (w[2] * r[1], w[0] * r[2], w[1] * r[0])
    return Gradient(
        diagonal=(-(yy + zz), -(xx + zz), -(xx + yy)),
        symmetric=scale(add(one, other), _HALF),
        turning=add(alpha, scale(subtract(other, one), _HALF)),
        differences=(xx - yy, zz - xx, yy - zz))


def reference_motion(tape: Tape, geometry: Geometry, q: Scalars, v: Scalars, v_r: Scalars,
                     a_r: Scalars) -> list[Motion]:
    """Reference motion of every body."""
    motions: list[Motion] = []
    for i, body in enumerate(geometry.bodies):
        name = str(i + 1)
        pose = pose_of(tape, body, q, name)
        rate, reference, acceleration = (coordinate(body, x) for x in (v, v_r, a_r))
        if body.parent < 0:
            w_p = r_p = alpha_p = ZERO
            d, L_p = scale(geometry.gravity, -1), NOTHING
        else:
            above = motions[body.parent]
            w_p, r_p, alpha_p, d, L_p = (above.w, above.r, above.alpha, above.d,
                                         above.L.matrix)
        d = transpose_times(pose.rotation, add(d, times(L_p, pose.joint)))
        w, r, alpha = (transpose_times(pose.rotation, x) for x in (w_p, r_p, alpha_p))
        axis = body.axis
        if body.is_prismatic:
            carried = add(scale(r, rate), scale(w, reference))
            d = add(d, add(scale(axis, acceleration), cross(carried, axis)))
        else:
            alpha = add(add(alpha, scale(axis, acceleration)), scale(cross(w, axis), reference))
            w, r = add(w, scale(axis, rate)), add(r, scale(axis, reference))
        L = gradient(w, r, alpha)
        d = add(d, times(L.matrix, body.offset))
        for letters, value in (('w', w), ('r', r), ('alpha', alpha), ('d', d), ('L', L.matrix)):
            label(letters + name, value)
        motions.append(Motion(pose, w, r, alpha, d, L))
    return motions


def own_twist(geometry: Geometry, i: int) -> Twist:
    """Twist of body i due to its own joint, in link axes."""
    body = geometry.bodies[i]
    if body.is_prismatic:
        return Twist(body.axis, ZERO)
    return Twist(cross(body.axis, body.offset), body.axis)


def carried_twist(geometry: Geometry, i: int, pose: Pose, twist: Twist) -> Twist:
    """Twist of the parent of body i, expressed for body i in its axes."""
    angular = transpose_times(pose.rotation, twist.angular)
    linear = transpose_times(pose.rotation, add(twist.linear, cross(twist.angular, pose.joint)))
    return Twist(add(linear, cross(angular, geometry.bodies[i].offset)), angular)


def parameter_efforts(motion: Motion, twist: Twist) -> tuple[Scalar, ...]:
    """Effort along a twist per unit of each of the ten parameters.

    The wrench per parameter is, with c x L c for the second moments of mass::

        m      force d
        m c    force L (m c), moment (m c) x d
        J      moment sum m c x L c
    """
    u, s = twist.linear, twist.angular
    d, L = motion.d, motion.L.matrix
    b, k = motion.L.turning, motion.L.symmetric
    x_y, z_x, y_z = motion.L.differences
    first = add(transpose_times(L, u), cross(d, s))
    return (dot(u, d), *first,
            s[0] * b[0] + s[1] * k[1] - s[2] * k[2],
            s[1] * L[2][1] - s[0] * L[2][0] + s[2] * x_y,
            s[0] * L[1][0] + s[1] * z_x - s[2] * L[1][2],
            s[1] * b[1] - s[0] * k[0] + s[2] * k[2],
            s[0] * y_z - s[1] * L[0][1] + s[2] * L[0][2],
            s[0] * k[0] - s[1] * k[1] + s[2] * b[2])


def wrench(motion: Motion, parameters: Scalars) -> tuple[Vector, Vector]:
    """Force, and moment about the link's origin, that the motion requires; link axes."""
    mass, first, (xx, xy, xz, yy, yz, zz) = parameters[0], parameters[1:4], parameters[4:]
    d, L = motion.d, motion.L.matrix
    b, k = motion.L.turning, motion.L.symmetric
    x_y, z_x, y_z = motion.L.differences
    force = add(scale(d, mass), times(L, first))
    spin = (xx * b[0] + (zz - yy) * k[0] - xy * L[2][0] + xz * L[1][0] + yz * y_z,
            yy * b[1] + (xx - zz) * k[1] + xy * L[2][1] + xz * z_x - yz * L[0][1],
            zz * b[2] + (yy - xx) * k[2] + xy * x_y - xz * L[1][2] + yz * L[0][2])
    return force, add(cross(first, d), spin)


Rows = list[list[Scalar]]


def regressor(tape: Tape, geometry: Geometry, q: Scalars, v: Scalars, v_r: Scalars, a_r: Scalars
             ) -> Rows:
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


def efforts(tape: Tape, geometry: Geometry, q: Scalars, v: Scalars, v_r: Scalars, a_r: Scalars,
            parameters: Scalars) -> list[Scalar]:
    """M a_r + C v_r + g, the inverse dynamics where v_r = v and a_r = a."""
    motions = reference_motion(tape, geometry, q, v, v_r, a_r)
    return gather_wrenches(geometry, motions, parameters)


def mass_matrix(tape: Tape, geometry: Geometry, q: Scalars, parameters: Scalars) -> Rows:
    """M: column j holds the efforts of unit acceleration of joint j alone, at rest."""
    n, weightless = geometry.n, replace(geometry, gravity=ZERO)
    M = zeros(n, n)
    for j in range(n):
        column = efforts(tape, weightless, q, [0] * n, [0] * n, _unit(n, j), parameters)
        for i in range(j + 1):
            M[i][j] = M[j][i] = column[i]
    return M


def coriolis_matrix(tape: Tape, geometry: Geometry, q: Scalars, v: Scalars, parameters: Scalars
                   ) -> Rows:
    """C: column j holds the efforts of unit reference velocity of joint j alone."""
    n, weightless = geometry.n, replace(geometry, gravity=ZERO)
    columns = [efforts(tape, weightless, q, v, _unit(n, j), [0] * n, parameters)
               for j in range(n)]
    return [list(row) for row in zip(*columns, strict=True)]


def gravity_torque(tape: Tape, geometry: Geometry, q: Scalars, parameters: Scalars
                  ) -> list[Scalar]:
    """g: the efforts at rest."""
    still = [0] * geometry.n
    return efforts(tape, geometry, q, still, still, still, parameters)


def adaptive_terms(tape: Tape, geometry: Geometry, q: Scalars, v: Scalars, v_r: Scalars,
                   a_r: Scalars, s: Scalars, parameters: Scalars
                  ) -> tuple[list[Scalar], list[Scalar]]:
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


def gather_wrenches(geometry: Geometry, motions: Sequence[Motion], parameters: Scalars
                   ) -> list[Scalar]:
    """Joint efforts for the wrenches that the motions require, from tip to base."""
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
    """Matrix of zeros."""
    return [[0] * columns for _ in range(rows)]
