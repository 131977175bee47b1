# SPDX-License-Identifier: Apache-2.0
r"""M, C and g from the moments of mass that each joint carries; every intermediate is recorded.

A particle at X moves by the field J_k(X) = u_k + w_k x X per unit speed of joint k, which
itself changes by dJ_k/dt = u_k' + w_k' x X + w_k x X'; with O and b the angular velocity of
body k and the velocity of its point at the origin, w_k' = O x w_k and
u_k' = O x u_k + b x w_k. Summed over particles (base axes)::

    M = sum m J^T J,      C = sum m J^T dJ/dt,      g = -J^T (sum m) g_0

C is the Christoffel matrix. All sums reduce to the moments of mass

    m,  h = sum m X,  S = sum m X X^T,  P = sum m X',  D = sum m X' X^T
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from robot_dynamics.closed_form.geometry import Body, Geometry, coordinate, pose_of
from robot_dynamics.closed_form.recursion import Rows, zeros
from robot_dynamics.closed_form.tape import Scalar, Scalars, Tape
from robot_dynamics.closed_form.vectors import (
    IDENTITY,
    NOTHING,
    ZERO,
    Matrix,
    Vector,
    add,
    add_matrices,
    cross,
    dot,
    label,
    outer,
    product,
    scale,
    skew,
    subtract,
    times,
    trace,
    transpose,
    transpose_times,
)


@dataclass(frozen=True)
class Moments:
    """Moments of mass about the origin; see the top of this module."""

    m: Scalar = 0
    h: Vector = ZERO
    S: Matrix = NOTHING
    P: Vector = ZERO
    D: Matrix = NOTHING

    def plus(self, other: Moments) -> Moments:
        """Moments of both masses."""
        return Moments(self.m + other.m, add(self.h, other.h), add_matrices(self.S, other.S),
                       add(self.P, other.P), add_matrices(self.D, other.D))


@dataclass(frozen=True)
class Frame:
    """A body in base axes: pose, motion, and the field of its joint."""

    axes: Matrix
    origin: Vector
    omega: Vector
    b: Vector
    u: Vector
    w: Vector
    du: Vector
    dw: Vector


_BASE = Frame(IDENTITY, ZERO, ZERO, ZERO, ZERO, ZERO, ZERO, ZERO)


def matrices(tape: Tape, geometry: Geometry, q: Scalars, v: Scalars, parameters: Scalars
            ) -> tuple[Rows, Rows, list[Scalar]]:
    """M, C and g."""
    frames = frames_of(tape, geometry, q, v)
    moments = [_measured(frame, parameters[10 * i:10 * i + 10]) for i, frame in enumerate(frames)]
    n = geometry.n
    M, C = zeros(n, n), zeros(n, n)
    g: list[Scalar] = [0] * n
    for k in reversed(range(len(frames))):
        parent = geometry.bodies[k].parent
        if parent >= 0:
            moments[parent] = moments[parent].plus(moments[k])
        linear, angular, d_linear, d_angular, flow = _momentum(frames[k], moments[k])
        for joint, factor in geometry.bodies[k].coordinates:
            g[joint] = g[joint] - dot(geometry.gravity, linear) * factor
        j = k
        while j >= 0:
            other = frames[j]
            m_jk = dot(other.u, linear) + dot(other.w, angular)
            c_jk = dot(other.u, d_linear) + dot(other.w, d_angular)
            _put(geometry, M, j, k, m_jk)
            _put(geometry, C, j, k, c_jk)
            if j != k:
                _put(geometry, M, k, j, m_jk)
                _put(geometry, C, k, j, dot(other.du, linear) + dot(other.dw, angular)
                     + dot(other.w, flow))
            j = geometry.bodies[j].parent
    return M, C, g


def com_jacobian(tape: Tape, geometry: Geometry, q: Scalars, parameters: Scalars) -> Rows:
    """Jacobian of the centre of mass times the mass of the robot, sum m J, three rows."""
    frames = frames_of(tape, geometry, q, [0] * geometry.n)
    moments = [_measured(frame, parameters[10 * i:10 * i + 10]) for i, frame in enumerate(frames)]
    J = zeros(3, geometry.n)
    for k in reversed(range(len(frames))):
        body = geometry.bodies[k]
        if body.parent >= 0:
            moments[body.parent] = moments[body.parent].plus(moments[k])
        linear = add(cross(frames[k].w, moments[k].h), scale(frames[k].u, moments[k].m))
        for joint, factor in body.coordinates:
            for row in range(3):
                J[row][joint] = J[row][joint] + linear[row] * factor
    return J


def frames_of(tape: Tape, geometry: Geometry, q: Scalars, v: Scalars) -> list[Frame]:
    """All bodies in base axes."""
    frames: list[Frame] = []
    for i, body in enumerate(geometry.bodies):
        above = frames[body.parent] if body.parent >= 0 else _BASE
        frames.append(_frame(tape, body, above, q, v, str(i + 1)))
    return frames


def _put(geometry: Geometry, A: Rows, j: int, k: int, value: Scalar) -> None:
    """Add an entry for the joints of bodies j and k to the independent joints."""
    for row, factor in geometry.bodies[j].coordinates:
        for column, other in geometry.bodies[k].coordinates:
            A[row][column] = A[row][column] + value * factor * other


def _frame(tape: Tape, body: Body, above: Frame, q: Scalars, v: Scalars, name: str) -> Frame:
    pose = pose_of(tape, body, q, name)
    axes = product(above.axes, pose.rotation)
    joint = add(above.origin, times(above.axes, pose.joint))
    z = times(axes, body.axis)
    u, w = (z, ZERO) if body.is_prismatic else (cross(joint, z), z)
    rate = coordinate(body, v)
    omega, b = add(above.omega, scale(w, rate)), add(above.b, scale(u, rate))
    frame = Frame(axes, add(joint, times(axes, body.offset)), omega, b, u, w,
                  add(cross(omega, u), cross(b, w)), cross(omega, w))
    for letters, value in (('R', axes), ('p', frame.origin), ('o', omega), ('b', b), ('u', u),
                           ('z', w), ('du', frame.du), ('dz', frame.dw)):
        label(letters + name, value)
    return frame


def _measured(frame: Frame, parameters: Scalars) -> Moments:
    """Moments of mass of one body; its points move by X' = b + O x X."""
    m, first = parameters[0], tuple(parameters[1:4])
    h_link = times(frame.axes, first)
    h = add(h_link, scale(frame.origin, m))
    S = add_matrices(_turned(frame.axes, _second_moment(parameters)),
                     add_matrices(outer(frame.origin, h_link), outer(h, frame.origin)))
    return Moments(m, h, S, add(cross(frame.omega, h), scale(frame.b, m)),
                   add_matrices(product(skew(frame.omega), S), outer(frame.b, h)))


def _second_moment(parameters: Scalars) -> Matrix:
    """Sigma = sum m c c^T = tr(J)/2 1 - J, in link axes."""
    xx, xy, xz, yy, yz, zz = parameters[4:]
    half = (xx + yy + zz) * Fraction(1, 2)
    return ((half - xx, -xy, -xz), (-xy, half - yy, -yz), (-xz, -yz, half - zz))


def _turned(axes: Matrix, A: Matrix) -> Matrix:
    """R A R^T of a symmetric A; the lower triangle repeats the upper one."""
    half = product(axes, A)
    full = product(half, transpose(axes))
    return (full[0], (full[0][1], full[1][1], full[1][2]), (full[0][2], full[1][2], full[2][2]))


def _spread(S: Matrix, w: Vector) -> Vector:
    """Sum m X x (w x X) = (tr S 1 - S) w, and likewise with X' for S = D."""
    return subtract(scale(w, trace(S)), times(S, w))


def _momentum(frame: Frame, moments: Moments) -> tuple[Vector, Vector, Vector, Vector, Vector]:
    """Sums over the mass that a joint carries, for unit speed of the joint.

    Sums of m J, m X x J, m dJ/dt, m X x dJ/dt, and m X' x J.
    """
    m, h, S, P, D = moments.m, moments.h, moments.S, moments.P, moments.D
    u, w, du, dw = frame.u, frame.w, frame.du, frame.dw
    linear = add(cross(w, h), scale(u, m))
    angular = add(cross(h, u), _spread(S, w))
    d_linear = add(add(cross(dw, h), cross(w, P)), scale(du, m))
    d_angular = add(add(cross(h, du), _spread(S, dw)), _spread(D, w))
    flow = add(cross(P, u), subtract(scale(w, trace(D)), transpose_times(D, w)))
    return linear, angular, d_linear, d_angular, flow
