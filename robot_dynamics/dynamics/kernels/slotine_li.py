# SPDX-License-Identifier: Apache-2.0
r"""The Slotine-Li regressor and what an adaptive controller needs of it.

A particle of body i at X (base axes) moves with velocity J(X) v. Its *reference
acceleration* J a_r + Jdot v_r is the affine field::

    a(X) = d + L (X - p)
    L    = [alpha] + [r] [w]

with p the origin of the link frame, w and r the angular velocities of the body under v
and v_r, and alpha its reference angular acceleration. Summing J^T a over the particles
gives M a_r + C v_r + g with C the Christoffel matrix, since sum m J^T dJ/dt is exactly
that (Gabiccini, Bracci, De Carli, Fredianelli, Bicchi, "Explicit Lagrangian formulation
of the dynamic regressors for serial manipulators", eq. 39 and 61, per particle), and
gravity enters as the acceleration -g of the base. From parent to child the fields obey::

    w     = w_p + z v                  r = r_p + z v_r
    alpha = alpha_p + z a_r + (w_p x z) v_r
    d     = d_p + L_p (p - p_p)

for a revolute joint about z, and for a prismatic one w, r, alpha stay and d gains
z a_r + (r_p v + w_p v_r) x z.

The force and the moment about the origin that this field asks of body i are linear in
its ten parameters: ``wrench = W_i pi_i`` with W_i of shape (6, 10). Unit speed of joint
j moves what it carries by the twist F_j = (u_j, w_j), so that::

    Yr[j, block i] = F_j^T W_i              for every body i that joint j carries, else 0
    (Yr pi)_j      = F_j^T sum_i W_i pi_i   over the bodies that joint j carries
    (Yr^T s)_i     = W_i^T sum_j F_j s_j    over the joints that carry body i
"""

import numpy as np

from robot_dynamics.dynamics.kernels.algebra import (
    ZERO,
    add,
    add_scaled,
    cross,
    cross_columns,
    dot,
    load,
    load_matrix,
    product,
    scale,
    store,
    store_matrix,
    subtract,
    times,
)
from robot_dynamics.dynamics.kernels.direct import (
    DONE,
    REFUSED,
    direct_kernel,
    is_matrix_to_write,
    is_vector,
    is_vector_to_write,
    length,
    matrix,
    vector,
)
from robot_dynamics.dynamics.kernels.loading import helper, kernel, part
from robot_dynamics.dynamics.kernels.pose import IDENTITY, joint_field, link_origin, place
from robot_dynamics.dynamics.kernels.layout import (
    GRAVITY,
    IS_PRISMATIC,
    IS_SCATTERED,
    PARENT,
    RUN_END,
    WIDTH,
)

# Offsets in the row of a moving frame. Row 0 is the base, row i + 1 is body i.
AXES = 0        # 9
POSITION = 9    # 3, p
ANGULAR = 12    # 3, w
REFERENCE = 15  # 3, r
ALPHA = 18      # 3
LINEAR = 21     # 3, d
GRADIENT = 24   # 9, L
FRAME_WIDTH = 33


@helper
def gradient(w, r, alpha):
    """L = [alpha] + [r] [w], where [r] [w] = w r^T - (r . w) 1; as columns."""
    k = dot(r, w)
    return ((w[0] * r[0] - k, w[1] * r[0] + alpha[2], w[2] * r[0] - alpha[1]),
            (w[0] * r[1] - alpha[2], w[1] * r[1] - k, w[2] * r[1] + alpha[0]),
            (w[0] * r[2] + alpha[1], w[1] * r[2] - alpha[0], w[2] * r[2] - k))


@part
def move_base(model, frames):
    """The base stands still and, for gravity, accelerates by -g."""
    for k in range(FRAME_WIDTH):
        frames[0, k] = 0.0
    store_matrix(frames, 0, AXES, IDENTITY)
    last = model.shape[0] - 1
    store(frames, 0, LINEAR, scale(load(model, last, GRAVITY), -1.0))


@helper
def move_body(model, i, q, v, v_r, a_r, frames, fields):
    """Reference motion of body i from its parent's; stores its frame and joint field."""
    parent = int(model[i, PARENT]) + 1
    p_parent = load(frames, parent, POSITION)
    w = load(frames, parent, ANGULAR)
    r = load(frames, parent, REFERENCE)
    alpha = load(frames, parent, ALPHA)
    d = load(frames, parent, LINEAR)
    L = load_matrix(frames, parent, GRADIENT)

    axes, joint, z = place(model, i, q, load_matrix(frames, parent, AXES), p_parent)
    is_prismatic = model[i, IS_PRISMATIC] != 0.0
    u, turning = joint_field(is_prismatic, joint, z)
    d = add(d, times(L, subtract(joint, p_parent)))
    if is_prismatic:
        d = add_scaled(d, z, a_r)
        d = add(d, cross(add_scaled(scale(r, v), w, v_r), z))
    else:
        alpha = add_scaled(add_scaled(alpha, z, a_r), cross(w, z), v_r)
        w = add_scaled(w, z, v)
        r = add_scaled(r, z, v_r)
        L = gradient(w, r, alpha)
    p = link_origin(model, i, axes, joint)
    d = add(d, times(L, subtract(p, joint)))

    store_matrix(frames, i + 1, AXES, axes)
    store(frames, i + 1, POSITION, p)
    store(frames, i + 1, ANGULAR, w)
    store(frames, i + 1, REFERENCE, r)
    store(frames, i + 1, ALPHA, alpha)
    store(frames, i + 1, LINEAR, d)
    store_matrix(frames, i + 1, GRADIENT, L)
    store(fields, i, 0, u)
    store(fields, i, 3, turning)
    return axes, p, d, L


@helper
def wrench_columns(W, i, axes, p, d, L):
    """Force (rows 0-2) and moment about the origin (rows 3-5) of body i, per parameter.

    With X = p + R c, R the axes, and A = L R::

        force   sum m a         = m d + A (m c)
        moment  sum m (X x a)   = p x force + R (m c) x d + sum_kl Sigma_kl R_k x A_l

    where Sigma = sum m c c^T = tr(J)/2 1 - J.
    """
    A = product(L, axes)
    first = 10 * i
    put(W, first, d, cross(p, d))
    for_x = cross_columns(axes[0], A)
    for_y = cross_columns(axes[1], A)
    for_z = cross_columns(axes[2], A)
    put(W, first + 1, A[0], add(cross(p, A[0]), cross(axes[0], d)))
    put(W, first + 2, A[1], add(cross(p, A[1]), cross(axes[1], d)))
    put(W, first + 3, A[2], add(cross(p, A[2]), cross(axes[2], d)))
    half = scale(add(for_x[0], add(for_y[1], for_z[2])), 0.5)
    put(W, first + 4, ZERO, subtract(half, for_x[0]))
    put(W, first + 5, ZERO, scale(add(for_x[1], for_y[0]), -1.0))
    put(W, first + 6, ZERO, scale(add(for_x[2], for_z[0]), -1.0))
    put(W, first + 7, ZERO, subtract(half, for_y[1]))
    put(W, first + 8, ZERO, scale(add(for_y[2], for_z[1]), -1.0))
    put(W, first + 9, ZERO, subtract(half, for_z[2]))


@helper
def put(W, column, force, moment):
    """Write one column of W."""
    for k in range(3):
        W[k, column] = force[k]
        W[k + 3, column] = moment[k]


@part
def all_wrench_columns(model, q, v, v_r, a_r, fields, W):
    """Joint fields F, shape (nb, 6), and wrench columns W, shape (6, 10 nb)."""
    bodies = model.shape[0] - 1
    frames = np.empty((bodies + 1, FRAME_WIDTH))
    move_base(model, frames)
    for i in range(bodies):
        axes, p, d, L = move_body(model, i, q[i], v[i], v_r[i], a_r[i], frames, fields)
        wrench_columns(W, i, axes, p, d, L)


@helper
def on_twist(u, w, W, c):
    """One entry of F^T W for the twist F = (u, w)."""
    return (u[0] * W[0, c] + u[1] * W[1, c] + u[2] * W[2, c]
            + w[0] * W[3, c] + w[1] * W[4, c] + w[2] * W[5, c])


@part
def project(fields, j, W, start, stop, out):
    """Row j of the regressor in the columns start to stop: F_j^T W."""
    u = load(fields, j, 0)
    w = load(fields, j, 3)
    for c in range(np.uint64(start), np.uint64(stop)):
        out[j, c] = on_twist(u, w, W, c)


@part
def clear(out, row, start, stop):
    """Write zeros in the columns start to stop of a row."""
    for c in range(np.uint64(start), np.uint64(stop)):
        out[row, c] = 0.0


@helper
def carries(model, j, i):
    """Whether joint j carries body i."""
    while i > j:
        i = int(model[i, PARENT])
    return i == j


@part
def fill_regressor(model, q, v, v_r, a_r, out):
    """Yr, in the first 10 nb columns of out; zeros in the others."""
    bodies = model.shape[0] - 1
    W = np.empty((6, 10 * bodies))
    fields = np.empty((bodies, 6))
    all_wrench_columns(model, q, v, v_r, a_r, fields, W)
    for j in range(bodies):
        stop = int(model[j, RUN_END])
        clear(out, j, 0, 10 * j)
        project(fields, j, W, 10 * j, 10 * stop, out)
        clear(out, j, 10 * stop, out.shape[1])
        if model[j, IS_SCATTERED] != 0.0:
            for i in range(stop, bodies):
                if carries(model, j, i):
                    project(fields, j, W, 10 * i, 10 * i + 10, out)


@part
def fill_adaptive_terms(model, q, v, v_r, a_r, s, parameters, tau, gradient_out):
    """Yr pi and Yr^T s without forming Yr, in O(nb)."""
    bodies = model.shape[0] - 1
    W = np.empty((6, 10 * bodies))
    fields = np.empty((bodies, 6))
    all_wrench_columns(model, q, v, v_r, a_r, fields, W)
    # From base to tip: the twist sum_j F_j s_j of each body, and W^T of it.
    twists = np.empty((bodies + 1, 6))
    store(twists, 0, 0, ZERO)
    store(twists, 0, 3, ZERO)
    for i in range(bodies):
        parent = int(model[i, PARENT]) + 1
        u = add_scaled(load(twists, parent, 0), load(fields, i, 0), s[i])
        w = add_scaled(load(twists, parent, 3), load(fields, i, 3), s[i])
        store(twists, i + 1, 0, u)
        store(twists, i + 1, 3, w)
        for c in range(np.uint64(10 * i), np.uint64(10 * i + 10)):
            gradient_out[c] = on_twist(u, w, W, c)
    # From tip to base: the wrench sum W pi of all that each joint carries.
    wrenches = np.zeros((bodies, 6))
    for i in range(bodies - 1, -1, -1):
        force = load(wrenches, i, 0)
        moment = load(wrenches, i, 3)
        for c in range(np.uint64(10 * i), np.uint64(10 * i + 10)):
            force = add_scaled(force, (W[0, c], W[1, c], W[2, c]), parameters[c])
            moment = add_scaled(moment, (W[3, c], W[4, c], W[5, c]), parameters[c])
        tau[i] = dot(load(fields, i, 0), force) + dot(load(fields, i, 3), moment)
        parent = int(model[i, PARENT])
        if parent >= 0:
            store(wrenches, parent, 0, add(load(wrenches, parent, 0), force))
            store(wrenches, parent, 3, add(load(wrenches, parent, 3), moment))


@direct_kernel
def slotine_li_regressor(model, q, v, v_r, a_r, out):
    """Yr(q, v, v_r, a_r) of one sample, written to out."""
    rows, n = length(model, 0), length(model, 0) - 1
    if not (is_vector(q, model, n) and is_vector(v, model, n) and is_vector(v_r, model, n)
            and is_vector(a_r, model, n) and is_matrix_to_write(out, model, n, 10 * n)):
        return REFUSED
    fill_regressor(matrix(model, rows, WIDTH), vector(q, n), vector(v, n), vector(v_r, n),
                   vector(a_r, n), matrix(out, n, 10 * n))
    return DONE


@kernel('void(float64[:, ::1], float64[:, ::1], float64[:, ::1], float64[:, ::1], '
        'float64[:, ::1], float64[:, :, ::1])')
def slotine_li_regressors(model, q, v, v_r, a_r, out):
    """Yr of each row of the (N, nb) arguments."""
    for k in range(q.shape[0]):
        fill_regressor(model, q[k], v[k], v_r[k], a_r[k], out[k])


@direct_kernel
def adaptive_terms(model, q, v, v_r, a_r, s, parameters, tau, gradient_out):
    """Yr pi and Yr^T s of one sample, written to tau and gradient_out."""
    rows, n = length(model, 0), length(model, 0) - 1
    if not (is_vector(q, model, n) and is_vector(v, model, n) and is_vector(v_r, model, n)
            and is_vector(a_r, model, n) and is_vector(s, model, n)
            and is_vector(parameters, model, 10 * n) and is_vector_to_write(tau, model, n)
            and is_vector_to_write(gradient_out, model, 10 * n)):
        return REFUSED
    fill_adaptive_terms(matrix(model, rows, WIDTH), vector(q, n), vector(v, n), vector(v_r, n),
                        vector(a_r, n), vector(s, n), vector(parameters, 10 * n),
                        vector(tau, n), vector(gradient_out, 10 * n))
    return DONE


@kernel('void(float64[:, ::1], float64[:, ::1], float64[:, ::1], float64[:, ::1], '
        'float64[:, ::1], float64[:, ::1], float64[:, ::1], float64[:, ::1], float64[:, ::1])')
def many_adaptive_terms(model, q, v, v_r, a_r, s, parameters, tau, gradient_out):
    """Yr pi and Yr^T s of each row of the arguments."""
    for k in range(q.shape[0]):
        fill_adaptive_terms(model, q[k], v[k], v_r[k], a_r[k], s[k], parameters[k],
                            tau[k], gradient_out[k])
