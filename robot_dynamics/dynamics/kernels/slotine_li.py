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
from robot_dynamics.dynamics.kernels.loading import helper, kernel
from robot_dynamics.dynamics.kernels.pose import IDENTITY, joint_field, link_origin, place
from robot_dynamics.dynamics.packing import GRAVITY, IS_PRISMATIC, IS_SCATTERED, PARENT, RUN_END

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


@helper
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


@helper
def all_wrench_columns(model, q, v, v_r, a_r, fields, W):
    """Joint fields F, shape (nb, 6), and wrench columns W, shape (6, 10 nb)."""
    bodies = model.shape[0] - 1
    frames = np.empty((bodies + 1, FRAME_WIDTH))
    move_base(model, frames)
    for i in range(bodies):
        axes, p, d, L = move_body(model, i, q[i], v[i], v_r[i], a_r[i], frames, fields)
        wrench_columns(W, i, axes, p, d, L)


@helper
def project(fields, j, W, start, stop, row):
    """Row j of the regressor in the columns start to stop: F_j^T W."""
    u0, u1, u2 = load(fields, j, 0)
    w0, w1, w2 = load(fields, j, 3)
    for c in range(start, stop):
        row[c] = (u0 * W[0, c] + u1 * W[1, c] + u2 * W[2, c]
                  + w0 * W[3, c] + w1 * W[4, c] + w2 * W[5, c])


@helper
def carries(model, j, i):
    """Whether joint j carries body i."""
    while i > j:
        i = int(model[i, PARENT])
    return i == j


@helper
def fill_regressor(model, q, v, v_r, a_r, out):
    """Yr, in the first 10 nb columns of out; zeros in the others."""
    bodies = model.shape[0] - 1
    W = np.empty((6, 10 * bodies))
    fields = np.empty((bodies, 6))
    all_wrench_columns(model, q, v, v_r, a_r, fields, W)
    for j in range(bodies):
        row = out[j]
        stop = int(model[j, RUN_END])
        row[:10 * j] = 0.0
        project(fields, j, W, 10 * j, 10 * stop, row)
        row[10 * stop:] = 0.0
        if model[j, IS_SCATTERED] != 0.0:
            for i in range(stop, bodies):
                if carries(model, j, i):
                    project(fields, j, W, 10 * i, 10 * i + 10, row)


@helper
def fill_adaptive_terms(model, q, v, v_r, a_r, s, parameters, tau, gradient_out):
    """Yr pi and Yr^T s without forming Yr, in O(nb)."""
    bodies = model.shape[0] - 1
    W = np.empty((6, 10 * bodies))
    fields = np.empty((bodies, 6))
    all_wrench_columns(model, q, v, v_r, a_r, fields, W)
    # From base to tip: the twist sum_j F_j s_j of each body, and W^T of it.
    twists = np.empty((bodies, 6))
    for i in range(bodies):
        parent = int(model[i, PARENT])
        for k in range(6):
            inherited = twists[parent, k] if parent >= 0 else 0.0
            twists[i, k] = inherited + fields[i, k] * s[i]
        project(twists, i, W, 10 * i, 10 * i + 10, gradient_out)
    # From tip to base: the wrench sum W pi of all that each joint carries.
    wrenches = np.empty((bodies, 6))
    for i in range(bodies):
        for k in range(6):
            total = 0.0
            for c in range(10 * i, 10 * i + 10):
                total += W[k, c] * parameters[c]
            wrenches[i, k] = total
    for i in range(bodies - 1, -1, -1):
        parent = int(model[i, PARENT])
        total = 0.0
        for k in range(6):
            total += fields[i, k] * wrenches[i, k]
            if parent >= 0:
                wrenches[parent, k] += wrenches[i, k]
        tau[i] = total


@kernel('int64(float64[:, ::1], float64[::1], float64[::1], float64[::1], float64[::1], '
        'float64[:, ::1])')
def slotine_li_regressor(model, q, v, v_r, a_r, out):
    """Yr(q, v, v_r, a_r) of one sample; returns 0, or 1 when a shape is wrong."""
    n = model.shape[0] - 1
    if (q.size != n or v.size != n or v_r.size != n or a_r.size != n
            or out.shape[0] != n or out.shape[1] != 10 * n):
        return 1
    fill_regressor(model, q, v, v_r, a_r, out)
    return 0


@kernel('void(float64[:, ::1], float64[:, ::1], float64[:, ::1], float64[:, ::1], '
        'float64[:, ::1], float64[:, :, ::1])')
def slotine_li_regressors(model, q, v, v_r, a_r, out):
    """Yr of each row of the (N, nb) arguments."""
    for k in range(q.shape[0]):
        fill_regressor(model, q[k], v[k], v_r[k], a_r[k], out[k])


@kernel('int64(float64[:, ::1], float64[::1], float64[::1], float64[::1], float64[::1], '
        'float64[::1], float64[::1], float64[::1], float64[::1])')
def adaptive_terms(model, q, v, v_r, a_r, s, parameters, tau, gradient_out):
    """Yr pi and Yr^T s of one sample; returns 0, or 1 when a shape is wrong."""
    n = model.shape[0] - 1
    if (q.size != n or v.size != n or v_r.size != n or a_r.size != n or s.size != n
            or parameters.size != 10 * n):
        return 1
    fill_adaptive_terms(model, q, v, v_r, a_r, s, parameters, tau, gradient_out)
    return 0


@kernel('void(float64[:, ::1], float64[:, ::1], float64[:, ::1], float64[:, ::1], '
        'float64[:, ::1], float64[:, ::1], float64[:, ::1], float64[:, ::1], float64[:, ::1])')
def many_adaptive_terms(model, q, v, v_r, a_r, s, parameters, tau, gradient_out):
    """Yr pi and Yr^T s of each row of the arguments."""
    for k in range(q.shape[0]):
        fill_adaptive_terms(model, q[k], v[k], v_r[k], a_r[k], s[k], parameters[k],
                            tau[k], gradient_out[k])
