# SPDX-License-Identifier: Apache-2.0
r"""Mass matrix, Christoffel matrix and gravity in one pass.

A particle at X moves by the field J_k(X) = u_k + w_k x X per unit speed of joint k, and
with the robot in motion that field changes by::

    dJ_k/dt = u_k' + w_k' x X + w_k x X'

where, O and b being the angular velocity of body k and the velocity of the point of it at
the origin, ``w_k' = O x w_k`` and ``u_k' = O x u_k + b x w_k``. Summed over particles::

    M = sum m J^T J,      C = sum m J^T dJ/dt,      g = -J^T (sum m) g_0

C is the Christoffel matrix: for a particle, J_i . d2X/dq_j dq_k is the Christoffel symbol
of the first kind. All sums reduce to moments of mass of what each joint carries, about
the origin::

    m,  h = sum m X,  S = sum m X X^T,  P = sum m X',  D = sum m X' X^T
"""

import numpy as np

from robot_dynamics.dynamics.kernels.algebra import (
    add,
    add_matrices,
    add_scaled,
    cross,
    cross_columns,
    dot,
    load,
    load_matrix,
    outer,
    product,
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
    is_matrix_to_write,
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
ANGULAR = 12    # 3, O
LINEAR = 15     # 3, b
FIELD_U = 18    # 3, u
FIELD_W = 21    # 3, w
RATE_U = 24     # 3, u'
RATE_W = 27     # 3, w'
FRAME_WIDTH = 30

# Offsets in the row of the moments of mass of a body and all it carries.
MASS = 0        # m
FIRST = 1       # 3, h
SECOND = 4      # 9, S
MOMENTUM = 13   # 3, P
FLOW = 16       # 9, D
MOMENTS_WIDTH = 25


@part
def move_base(frames):
    """The base stands still."""
    for k in range(FRAME_WIDTH):
        frames[0, k] = 0.0
    store_matrix(frames, 0, AXES, IDENTITY)


@helper
def move_body(model, i, q, v, frames):
    """Pose, velocity and joint field of body i, and the field's rate; stores them."""
    parent = int(model[i, PARENT]) + 1
    axes, joint, z = place(model, i, q, load_matrix(frames, parent, AXES),
                           load(frames, parent, POSITION))
    u, w = joint_field(model[i, IS_PRISMATIC] != 0.0, joint, z)
    p = link_origin(model, i, axes, joint)
    omega = add_scaled(load(frames, parent, ANGULAR), w, v)
    b = add_scaled(load(frames, parent, LINEAR), u, v)

    store_matrix(frames, i + 1, AXES, axes)
    store(frames, i + 1, POSITION, p)
    store(frames, i + 1, ANGULAR, omega)
    store(frames, i + 1, LINEAR, b)
    store(frames, i + 1, FIELD_U, u)
    store(frames, i + 1, FIELD_W, w)
    store(frames, i + 1, RATE_U, add(cross(omega, u), cross(b, w)))
    store(frames, i + 1, RATE_W, cross(omega, w))
    return axes, p, omega, b


@helper
def second_moment(model, i):
    """Sigma = sum m c c^T = tr(J)/2 1 - J of body i about its link origin, link axes."""
    xx, xy, xz = load(model, i, INERTIA + 4)
    yy, yz, zz = load(model, i, INERTIA + 7)
    half = 0.5 * (xx + yy + zz)
    return (half - xx, -xy, -xz), (-xy, half - yy, -yz), (-xz, -yz, half - zz)


@helper
def turned(axes, A):
    """R A R^T for a symmetric A: from link axes to base axes."""
    half = product(axes, A)
    transposed = ((half[0][0], half[1][0], half[2][0]),
                  (half[0][1], half[1][1], half[2][1]),
                  (half[0][2], half[1][2], half[2][2]))
    return product(axes, transposed)


@helper
def measure_body(model, i, axes, p, omega, b, moments):
    """Moments of mass of body i alone; X' = b + O x X."""
    m = model[i, INERTIA]
    h_link = times(axes, load(model, i, INERTIA + 1))
    h = add_scaled(h_link, p, m)
    S = add_matrices(turned(axes, second_moment(model, i)),
                     add_matrices(outer(p, h_link), outer(h, p)))
    moments[i, MASS] = m
    store(moments, i, FIRST, h)
    store_matrix(moments, i, SECOND, S)
    store(moments, i, MOMENTUM, add_scaled(cross(omega, h), b, m))
    store_matrix(moments, i, FLOW, add_matrices(cross_columns(omega, S), outer(b, h)))


@helper
def spread(S, trace, w):
    """Sum m X x (w x X) = (tr S 1 - S) w, and likewise with X' for S = D."""
    return subtract(scale(w, trace), times(S, w))


@part
def clear(A):
    """Fill a square matrix with zeros."""
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            A[i, j] = 0.0


@part
def fill_matrices(model, q, v, M, C, g):
    """M, C and g of one sample."""
    bodies = model.shape[0] - 1
    frames = np.empty((bodies + 1, FRAME_WIDTH))
    moments = np.empty((bodies, MOMENTS_WIDTH))
    gravity = load(model, bodies, GRAVITY)
    move_base(frames)
    for i in range(bodies):
        axes, p, omega, b = move_body(model, i, q[i], v[i], frames)
        measure_body(model, i, axes, p, omega, b, moments)
    clear(M)
    clear(C)
    for k in range(bodies - 1, -1, -1):
        parent = int(model[k, PARENT])
        if parent >= 0:
            for t in range(MOMENTS_WIDTH):
                moments[parent, t] += moments[k, t]
        m = moments[k, MASS]
        h = load(moments, k, FIRST)
        S = load_matrix(moments, k, SECOND)
        P = load(moments, k, MOMENTUM)
        D = load_matrix(moments, k, FLOW)
        trace_S = S[0][0] + S[1][1] + S[2][2]
        trace_D = D[0][0] + D[1][1] + D[2][2]
        u = load(frames, k + 1, FIELD_U)
        w = load(frames, k + 1, FIELD_W)
        du = load(frames, k + 1, RATE_U)
        dw = load(frames, k + 1, RATE_W)
        # sum m J_k and sum m X x J_k: momentum per unit speed of joint k
        linear = add_scaled(cross(w, h), u, m)
        angular = add(cross(h, u), spread(S, trace_S, w))
        # sum m dJ_k/dt and sum m X x dJ_k/dt
        linear_rate = add_scaled(add(cross(dw, h), cross(w, P)), du, m)
        angular_rate = add(add(cross(h, du), spread(S, trace_S, dw)), spread(D, trace_D, w))
        # sum m X' x J_k
        flow = add(cross(P, u), subtract(scale(w, trace_D), transpose_times(D, w)))
        g[k] = -dot(gravity, linear)
        j = k
        while j >= 0:
            u_j = load(frames, j + 1, FIELD_U)
            w_j = load(frames, j + 1, FIELD_W)
            M[j, k] = dot(u_j, linear) + dot(w_j, angular)
            M[k, j] = M[j, k]
            C[j, k] = dot(u_j, linear_rate) + dot(w_j, angular_rate)
            if j != k:
                C[k, j] = (dot(load(frames, j + 1, RATE_U), linear)
                           + dot(load(frames, j + 1, RATE_W), angular) + dot(w_j, flow))
            j = int(model[j, PARENT])


@direct_kernel
def matrices(model, q, v, M, C, g):
    """M, C and g of one sample, written to these three."""
    rows, n = length(model, 0), length(model, 0) - 1
    if not (is_vector(q, model, n) and is_vector(v, model, n)
            and is_matrix_to_write(M, model, n, n) and is_matrix_to_write(C, model, n, n)
            and is_vector_to_write(g, model, n)):
        return REFUSED
    fill_matrices(matrix(model, rows, WIDTH), vector(q, n), vector(v, n), matrix(M, n, n),
                  matrix(C, n, n), vector(g, n))
    return DONE


@kernel('void(float64[:, ::1], float64[:, ::1], float64[:, ::1], float64[:, :, ::1], '
        'float64[:, :, ::1], float64[:, ::1])')
def many_matrices(model, q, v, M, C, g):
    """M, C and g of each row of the (N, nb) arguments."""
    for k in range(q.shape[0]):
        fill_matrices(model, q[k], v[k], M[k], C[k], g[k])
