# SPDX-License-Identifier: Apache-2.0
r"""Inverse dynamics and its time derivatives along a motion, by Newton and Euler.

Every quantity is stored with its time derivatives; those of a product follow from the Leibniz
rule::

    (x y)^(m) = sum_j (m over j) x^(j) y^(m - j)

A vector u fixed in a body that rotates with O has ``u' = O x u``. From base to tip, with z the
axis of the joint and p the origin of the link::

    O_i = O_parent + z q',        p_i = p_parent + (point of the joint) + (offset)

and from tip to base, with h the first moment, J the inertia about the origin, and p'' including
gravity::

    F = m p'' + h'',        N = (J O)' + h x p'',        tau = z . N  or  z . F

Two derivatives of tau need four of the position. They determine the motion of the motor of an
elastic joint: De Luca, "Feedforward/feedback laws for the control of flexible robots".
"""

import numpy as np

from robot_dynamics.dynamics.kernels.algebra import load, load_matrix, store_matrix, times
from robot_dynamics.dynamics.kernels.equation import DONE, equation
from robot_dynamics.dynamics.kernels.layout import (
    ARMATURE,
    GRAVITY,
    INERTIA,
    IS_PRISMATIC,
    OFFSET,
)
from robot_dynamics.dynamics.kernels.loading import routine
from robot_dynamics.dynamics.kernels.pose import IDENTITY, parent_row, place

# Number of derivatives, the value included: of efforts, angular velocities and positions.
EFFORTS, TURNS, PLACES = 3, 4, 5

#: (m over j)
BINOMIAL = np.array([[1.0, 0.0, 0.0, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0, 0.0],
                     [1.0, 2.0, 1.0, 0.0, 0.0], [1.0, 3.0, 3.0, 1.0, 0.0],
                     [1.0, 4.0, 6.0, 4.0, 1.0]])

# Vectors of a body, in a table (body, vector, derivative, 3).
TURN = 0      # O
PLACE = 1     # p of the link origin
AXIS_NOW = 2  # z of its joint
ARM = 3       # link origin from the joint, with the slide of a prismatic joint
FIRST = 4     # h
SPIN = 5      # J O
FORCE = 6     # F of it and all that it carries
MOMENT = 7    # N of the same, about its origin
VECTORS = 8


@routine
def add_cross(out, m, factor, x, first_x, y, first_y):
    """Add ``factor (x x y)^(m)`` to out, x and y beginning at some derivative of theirs."""
    for j in range(m + 1):
        c = factor * BINOMIAL[m, j]
        x0, x1, x2 = x[first_x + j, 0], x[first_x + j, 1], x[first_x + j, 2]
        k = first_y + m - j
        out[0] += c * (x1 * y[k, 2] - x2 * y[k, 1])
        out[1] += c * (x2 * y[k, 0] - x0 * y[k, 2])
        out[2] += c * (x0 * y[k, 1] - x1 * y[k, 0])


@routine
def carry(u, turn, count):
    """Fill in u^(m) of a vector u that is fixed in a body: u' = O x u."""
    for m in range(count - 1):
        u[m + 1, :] = 0.0
        add_cross(u[m + 1], m, 1.0, turn, 0, u, 0)


@routine
def dot_derivative(x, y, m):
    """(x . y)^(m)."""
    result = 0.0
    for j in range(m + 1):
        for a in range(3):
            result += BINOMIAL[m, j] * x[j, a] * y[m - j, a]
    return result


@routine
def spin_of(model, i, frames, turn, spin, edges, parts):
    """(J O)^(m) in base axes, computed in the axes of the link, in which J is constant."""
    for a in range(3):
        for row in range(3):
            edges[a, 0, row] = frames[i + 1, 3 * a + row]
        carry(edges[a], turn, TURNS)
    xx, xy, xz = model[i, INERTIA + 4], model[i, INERTIA + 5], model[i, INERTIA + 6]
    yy, yz, zz = model[i, INERTIA + 7], model[i, INERTIA + 8], model[i, INERTIA + 9]
    for m in range(TURNS):
        x = dot_derivative(edges[0], turn, m)
        y = dot_derivative(edges[1], turn, m)
        z = dot_derivative(edges[2], turn, m)
        parts[m, 0] = xx * x + xy * y + xz * z
        parts[m, 1] = xy * x + yy * y + yz * z
        parts[m, 2] = xz * x + yz * y + zz * z
    for m in range(TURNS):
        for row in range(3):
            spin[m, row] = 0.0
            for j in range(m + 1):
                for a in range(3):
                    spin[m, row] += BINOMIAL[m, j] * edges[a, j, row] * parts[m - j, a]


@routine
def move(model, i, motion, frames, table, point):
    """Propagate the motion of the parent and of the coordinate to body i."""
    parent = parent_row(model, i)
    sine, cosine = np.sin(motion[0]), np.cos(motion[0])
    parent_axes = load_matrix(frames, parent, 0)
    # Position of the joint relative to the parent, for any origin of the parent.
    axes, joint, z = place(model, i, motion[0], sine, cosine, parent_axes, (0.0, 0.0, 0.0))
    store_matrix(frames, i + 1, 0, axes)
    is_prismatic = model[i, IS_PRISMATIC] != 0.0
    before, now = table[parent], table[i + 1]
    turn = now[TURN]
    for row in range(3):
        now[AXIS_NOW, 0, row] = z[row]
        point[0, row] = joint[row] - (z[row] * motion[0] if is_prismatic else 0.0)
    carry(now[AXIS_NOW], before[TURN], PLACES)
    carry(point, before[TURN], PLACES)
    for m in range(TURNS):
        for row in range(3):
            turn[m, row] = before[TURN, m, row]
            if not is_prismatic:
                for j in range(m + 1):
                    turn[m, row] += BINOMIAL[m, j] * now[AXIS_NOW, j, row] * motion[m - j + 1]
    offset = times(axes, load(model, i, OFFSET))
    h = times(axes, load(model, i, INERTIA + 1))
    for row in range(3):
        now[ARM, 0, row] = offset[row]
        now[FIRST, 0, row] = h[row]
    carry(now[ARM], turn, PLACES)
    carry(now[FIRST], turn, PLACES)
    for m in range(PLACES):
        for row in range(3):
            if is_prismatic:
                for j in range(m + 1):
                    point[m, row] += BINOMIAL[m, j] * now[AXIS_NOW, j, row] * motion[m - j]
            now[PLACE, m, row] = before[PLACE, m, row] + point[m, row] + now[ARM, m, row]


@routine
def load_body(model, i, table):
    """Force and moment of body i alone and their derivatives."""
    now = table[i + 1]
    mass = model[i, INERTIA]
    for m in range(EFFORTS):
        for row in range(3):
            now[FORCE, m, row] = mass * now[PLACE, m + 2, row] + now[FIRST, m + 2, row]
            now[MOMENT, m, row] = now[SPIN, m + 1, row]
        add_cross(now[MOMENT, m], m, 1.0, now[FIRST], 0, now[PLACE], 2)


@equation('q n n n n', 'n n n', on_demand=True)
def inverse_dynamics_rates(model, q, v, a, jerk, snap, tau, tau_dot, tau_ddot):
    """tau, tau' and tau''."""
    bodies = model.shape[0] - 1
    frames = np.zeros((bodies + 1, 9))
    table = np.zeros((bodies + 1, VECTORS, PLACES, 3))
    point, parts = np.zeros((PLACES, 3)), np.zeros((TURNS, 3))
    edges = np.zeros((3, TURNS, 3))
    motion, lever = np.zeros(PLACES), np.zeros((PLACES, 3))
    store_matrix(frames, 0, 0, IDENTITY)
    for row in range(3):
        table[0, PLACE, 2, row] = -model[bodies, GRAVITY + row]
    for i in range(bodies):
        motion[:] = q[i], v[i], a[i], jerk[i], snap[i]
        move(model, i, motion, frames, table, point)
        spin_of(model, i, frames, table[i + 1, TURN], table[i + 1, SPIN], edges, parts)
        load_body(model, i, table)
    for i in range(bodies - 1, -1, -1):
        now, before = table[i + 1], table[parent_row(model, i)]
        along = now[FORCE] if model[i, IS_PRISMATIC] != 0.0 else now[MOMENT]
        for m in range(EFFORTS):
            # About the joint, along the axis of which the effort acts.
            add_cross(now[MOMENT, m], m, 1.0, now[ARM], 0, now[FORCE], 0)
        rotor = model[i, ARMATURE]
        tau[i] = dot_derivative(now[AXIS_NOW], along, 0) + rotor * a[i]
        tau_dot[i] = dot_derivative(now[AXIS_NOW], along, 1) + rotor * jerk[i]
        tau_ddot[i] = dot_derivative(now[AXIS_NOW], along, 2) + rotor * snap[i]
        for m in range(PLACES):
            for row in range(3):
                lever[m, row] = (now[PLACE, m, row] - now[ARM, m, row]
                                 - before[PLACE, m, row])
        for m in range(EFFORTS):
            for row in range(3):
                before[FORCE, m, row] += now[FORCE, m, row]
                before[MOMENT, m, row] += now[MOMENT, m, row]
            add_cross(before[MOMENT, m], m, 1.0, lever, 0, now[FORCE], 0)
    return DONE
