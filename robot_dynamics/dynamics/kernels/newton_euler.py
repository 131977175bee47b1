# SPDX-License-Identifier: Apache-2.0
r"""Inverse dynamics by the recursive Newton-Euler algorithm.

Luh, Walker, Paul, "On-line computational scheme for mechanical manipulators", with the
inertia about the origin of the link frame instead of the centre of mass. With h = R (m c)
and a the acceleration of the link origin (less gravity)::

    f = m a + alpha x h + w x (w x h)
    n = h x a + J alpha + w x (J w)       about the link origin
    tau_j = u_j . sum f + w_j . sum (n + p x f)     over what joint j carries
"""

import numpy as np

from robot_dynamics.dynamics.kernels.algebra import (
    add,
    add_scaled,
    cross,
    dot,
    load,
    load_matrix,
    scale,
    store,
    store_matrix,
    subtract,
    times,
    transpose_times,
)
from robot_dynamics.dynamics.kernels.direct import (
    DONE,
    REFUSED,
    body_count,
    direct_kernel,
    is_vector,
    is_vector_to_write,
    matrix,
    stack_matrix,
    vector,
)
from robot_dynamics.dynamics.kernels.layout import GRAVITY, INERTIA, IS_PRISMATIC, WIDTH
from robot_dynamics.dynamics.kernels.loading import helper, kernel, part
from robot_dynamics.dynamics.kernels.pose import (
    IDENTITY,
    clear_base,
    joint_field,
    link_origin,
    parent_row,
    place,
    store_sines,
)

# Offsets in the row of a frame.
AXES = 0        # 9
POSITION = 9    # 3, p
ANGULAR = 12    # 3, w
ALPHA = 15      # 3
LINEAR = 18     # 3, acceleration of the link origin, less gravity
SINES = 21      # 2, sine and cosine of the joint
FIELD_U = 23    # 3, what unit speed of the joint gives to all it carries:
FIELD_W = 26    # 3, the velocity u + w x X
FORCE = 29      # 3, on a body and all that it carries
MOMENT = 32     # 3, about the origin
FRAME_WIDTH = 35


@helper
def rigid_acceleration(w, alpha, x):
    """Acceleration alpha x X + w x (w x X) of a point at X from the frame's origin."""
    return add(cross(alpha, x), cross(w, cross(w, x)))


@helper
def move_body(model, i, q, v, a, frames):
    """Move body i as its joint and its parent do; store its frame and joint field."""
    parent = parent_row(model, i)
    row = i + 1
    p_parent = load(frames, parent, POSITION)
    w = load(frames, parent, ANGULAR)
    alpha = load(frames, parent, ALPHA)

    axes, joint, z = place(model, i, q, frames[row, SINES], frames[row, SINES + 1],
                           load_matrix(frames, parent, AXES), p_parent)
    is_prismatic = model[i, IS_PRISMATIC] != 0.0
    linear = add(load(frames, parent, LINEAR),
                 rigid_acceleration(w, alpha, subtract(joint, p_parent)))
    if is_prismatic:
        linear = add(add_scaled(linear, z, a), scale(cross(w, z), 2.0 * v))
    else:
        alpha = add_scaled(add_scaled(alpha, z, a), cross(w, z), v)
        w = add_scaled(w, z, v)
    p = link_origin(model, i, axes, joint)
    linear = add(linear, rigid_acceleration(w, alpha, subtract(p, joint)))
    u, turning = joint_field(is_prismatic, joint, z)

    store_matrix(frames, row, AXES, axes)
    store(frames, row, POSITION, p)
    store(frames, row, ANGULAR, w)
    store(frames, row, ALPHA, alpha)
    store(frames, row, LINEAR, linear)
    store(frames, row, FIELD_U, u)
    store(frames, row, FIELD_W, turning)
    return axes, p, w, alpha, linear


@helper
def inertia_times(model, i, x):
    """J x for a vector in the axes of link frame i."""
    xx, xy, xz = load(model, i, INERTIA + 4)
    yy, yz, zz = load(model, i, INERTIA + 7)
    return (xx * x[0] + xy * x[1] + xz * x[2],
            xy * x[0] + yy * x[1] + yz * x[2],
            xz * x[0] + yz * x[1] + zz * x[2])


@helper
def body_wrench(model, i, axes, p, w, alpha, linear):
    """Force, and moment about the origin, that the motion of body i asks for."""
    mass = model[i, INERTIA]
    h = times(axes, load(model, i, INERTIA + 1))
    force = add_scaled(rigid_acceleration(w, alpha, h), linear, mass)
    # The tensor is constant in the body's own axes.
    w_body = transpose_times(axes, w)
    alpha_body = transpose_times(axes, alpha)
    spin = add(inertia_times(model, i, alpha_body),
               cross(w_body, inertia_times(model, i, w_body)))
    moment = add(add(cross(p, force), cross(h, linear)), times(axes, spin))
    return force, moment


@part
def fill_inverse_dynamics(model, q, v, a, frames, tau):
    """Joint efforts of one sample."""
    bodies = model.shape[0] - 1
    clear_base(frames)
    store_matrix(frames, 0, AXES, IDENTITY)
    store(frames, 0, LINEAR, scale(load(model, bodies, GRAVITY), -1.0))
    store_sines(model, q, frames, SINES)
    for i in range(bodies):
        axes, p, w, alpha, linear = move_body(model, i, q[i], v[i], a[i], frames)
        force, moment = body_wrench(model, i, axes, p, w, alpha, linear)
        store(frames, i + 1, FORCE, force)
        store(frames, i + 1, MOMENT, moment)
    gather_efforts(model, frames, tau)


@part
def gather_efforts(model, frames, tau):
    """Efforts, from tip to base: the wrench on all that each row carries, on its field."""
    for i in range(model.shape[0] - 2, -1, -1):
        force = load(frames, i + 1, FORCE)
        moment = load(frames, i + 1, MOMENT)
        tau[i] = (dot(load(frames, i + 1, FIELD_U), force)
                  + dot(load(frames, i + 1, FIELD_W), moment))
        parent = parent_row(model, i)
        store(frames, parent, FORCE, add(load(frames, parent, FORCE), force))
        store(frames, parent, MOMENT, add(load(frames, parent, MOMENT), moment))


@direct_kernel
def inverse_dynamics(model, q, v, a, tau):
    """Joint efforts of one sample, written to tau."""
    n = body_count(model)
    rows = n + 1
    if not (is_vector(q, model, n) and is_vector(v, model, n) and is_vector(a, model, n)
            and is_vector_to_write(tau, model, n)):
        return REFUSED
    fill_inverse_dynamics(matrix(model, rows, WIDTH), vector(q, n), vector(v, n), vector(a, n),
                          stack_matrix(rows, FRAME_WIDTH), vector(tau, n))
    return DONE


@kernel('void(float64[:, ::1], float64[:, ::1], float64[:, ::1], float64[:, ::1], '
        'float64[:, ::1])', nogil=True)
def many_inverse_dynamics(model, q, v, a, tau):
    """Joint efforts of each row of the (N, nb) arguments."""
    frames = np.empty((model.shape[0], FRAME_WIDTH))
    for k in range(q.shape[0]):
        fill_inverse_dynamics(model, q[k], v[k], a[k], frames, tau[k])
