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
    direct_kernel,
    is_vector,
    is_vector_to_write,
    length,
    matrix,
    vector,
)
from robot_dynamics.dynamics.kernels.loading import helper, kernel, part
from robot_dynamics.dynamics.kernels.pose import IDENTITY, joint_field, link_origin, place
from robot_dynamics.dynamics.kernels.layout import GRAVITY, INERTIA, IS_PRISMATIC, PARENT, WIDTH

# Offsets in the row of a moving frame. Row 0 is the base, row i + 1 is body i.
AXES = 0        # 9
POSITION = 9    # 3
ANGULAR = 12    # 3, w
ALPHA = 15      # 3
LINEAR = 18     # 3, acceleration of the link origin
FRAME_WIDTH = 21


@helper
def rigid_acceleration(w, alpha, x):
    """Acceleration alpha x X + w x (w x X) of a point at X from the frame's origin."""
    return add(cross(alpha, x), cross(w, cross(w, x)))


@part
def move_base(model, frames):
    """The base stands still and, for gravity, accelerates by -g."""
    for k in range(FRAME_WIDTH):
        frames[0, k] = 0.0
    store_matrix(frames, 0, AXES, IDENTITY)
    store(frames, 0, LINEAR, scale(load(model, model.shape[0] - 1, GRAVITY), -1.0))


@helper
def move_body(model, i, q, v, a, frames, fields):
    """Motion of body i from its parent's; stores its frame and joint field."""
    parent = int(model[i, PARENT]) + 1
    p_parent = load(frames, parent, POSITION)
    w = load(frames, parent, ANGULAR)
    alpha = load(frames, parent, ALPHA)

    axes, joint, z = place(model, i, q, load_matrix(frames, parent, AXES), p_parent)
    is_prismatic = model[i, IS_PRISMATIC] != 0.0
    u, turning = joint_field(is_prismatic, joint, z)
    linear = add(load(frames, parent, LINEAR),
                 rigid_acceleration(w, alpha, subtract(joint, p_parent)))
    if is_prismatic:
        linear = add(add_scaled(linear, z, a), scale(cross(w, z), 2.0 * v))
    else:
        alpha = add_scaled(add_scaled(alpha, z, a), cross(w, z), v)
        w = add_scaled(w, z, v)
    p = link_origin(model, i, axes, joint)
    linear = add(linear, rigid_acceleration(w, alpha, subtract(p, joint)))

    store_matrix(frames, i + 1, AXES, axes)
    store(frames, i + 1, POSITION, p)
    store(frames, i + 1, ANGULAR, w)
    store(frames, i + 1, ALPHA, alpha)
    store(frames, i + 1, LINEAR, linear)
    store(fields, i, 0, u)
    store(fields, i, 3, turning)
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
def fill_inverse_dynamics(model, q, v, a, tau):
    """Joint efforts of one sample."""
    bodies = model.shape[0] - 1
    frames = np.empty((bodies + 1, FRAME_WIDTH))
    fields = np.empty((bodies, 6))
    wrenches = np.empty((bodies, 6))
    move_base(model, frames)
    for i in range(bodies):
        axes, p, w, alpha, linear = move_body(model, i, q[i], v[i], a[i], frames, fields)
        force, moment = body_wrench(model, i, axes, p, w, alpha, linear)
        store(wrenches, i, 0, force)
        store(wrenches, i, 3, moment)
    for i in range(bodies - 1, -1, -1):
        force = load(wrenches, i, 0)
        moment = load(wrenches, i, 3)
        tau[i] = dot(load(fields, i, 0), force) + dot(load(fields, i, 3), moment)
        parent = int(model[i, PARENT])
        if parent >= 0:
            store(wrenches, parent, 0, add(load(wrenches, parent, 0), force))
            store(wrenches, parent, 3, add(load(wrenches, parent, 3), moment))


@direct_kernel
def inverse_dynamics(model, q, v, a, tau):
    """Joint efforts of one sample, written to tau."""
    rows, n = length(model, 0), length(model, 0) - 1
    if not (is_vector(q, model, n) and is_vector(v, model, n) and is_vector(a, model, n)
            and is_vector_to_write(tau, model, n)):
        return REFUSED
    fill_inverse_dynamics(matrix(model, rows, WIDTH), vector(q, n), vector(v, n), vector(a, n),
                          vector(tau, n))
    return DONE


@kernel('void(float64[:, ::1], float64[:, ::1], float64[:, ::1], float64[:, ::1], '
        'float64[:, ::1])')
def many_inverse_dynamics(model, q, v, a, tau):
    """Joint efforts of each row of the (N, nb) arguments."""
    for k in range(q.shape[0]):
        fill_inverse_dynamics(model, q[k], v[k], a[k], tau[k])
