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
    are_apart,
    body_count,
    direct_kernel,
    is_matrix_to_write,
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
POSITION = 9    # 3
ANGULAR = 12    # 3, O
LINEAR = 15     # 3, b
FIELD_U = 18    # 3, u
FIELD_W = 21    # 3, w
RATE_U = 24     # 3, u'
RATE_W = 27     # 3, w'
SINES = 30      # 2, sine and cosine of the joint
# and the moments of mass of a body and all that it carries:
MOMENTS = 32
MASS = 32       # m
FIRST = 33      # 3, h
SECOND = 36     # 9, S
MOMENTUM = 45   # 3, P
FLOW = 48       # 9, D
FRAME_WIDTH = 57


@helper
def move_body(model, i, q, v, frames):
    """Move body i as its joint and its parent do; store its frame, its field and its rate."""
    parent = parent_row(model, i)
    row = i + 1
    axes, joint, z = place(model, i, q, frames[row, SINES], frames[row, SINES + 1],
                           load_matrix(frames, parent, AXES), load(frames, parent, POSITION))
    u, w = joint_field(model[i, IS_PRISMATIC] != 0.0, joint, z)
    p = link_origin(model, i, axes, joint)
    omega = add_scaled(load(frames, parent, ANGULAR), w, v)
    b = add_scaled(load(frames, parent, LINEAR), u, v)

    store_matrix(frames, row, AXES, axes)
    store(frames, row, POSITION, p)
    store(frames, row, ANGULAR, omega)
    store(frames, row, LINEAR, b)
    store(frames, row, FIELD_U, u)
    store(frames, row, FIELD_W, w)
    store(frames, row, RATE_U, add(cross(omega, u), cross(b, w)))
    store(frames, row, RATE_W, cross(omega, w))
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
def measure_body(model, i, axes, p, omega, b, frames):
    """Store the moments of mass of body i alone; X' = b + O x X."""
    row = i + 1
    m = model[i, INERTIA]
    h_link = times(axes, load(model, i, INERTIA + 1))
    h = add_scaled(h_link, p, m)
    S = add_matrices(turned(axes, second_moment(model, i)),
                     add_matrices(outer(p, h_link), outer(h, p)))
    frames[row, MASS] = m
    store(frames, row, FIRST, h)
    store_matrix(frames, row, SECOND, S)
    store(frames, row, MOMENTUM, add_scaled(cross(omega, h), b, m))
    store_matrix(frames, row, FLOW, add_matrices(cross_columns(omega, S), outer(b, h)))


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
def fill_matrices(model, q, v, frames, M, C, g):
    """M, C and g of one sample."""
    bodies = model.shape[0] - 1
    clear_base(frames)
    store_matrix(frames, 0, AXES, IDENTITY)
    store_sines(model, q, frames, SINES)
    for i in range(bodies):
        axes, p, omega, b = move_body(model, i, q[i], v[i], frames)
        measure_body(model, i, axes, p, omega, b, frames)
    combine(model, frames, M, C, g)


@part
def combine(model, frames, M, C, g):
    """M, C and g from fields, their rates and the moments of mass of each body alone."""
    bodies = model.shape[0] - 1
    clear(M)
    clear(C)
    for k in range(bodies - 1, -1, -1):
        parent = parent_row(model, k)
        for t in range(MOMENTS, FRAME_WIDTH):
            frames[parent, t] += frames[k + 1, t]
        linear, angular, linear_rate, angular_rate, flow = joint_momentum(frames, k + 1)
        g[k] = -dot(load(model, bodies, GRAVITY), linear)
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
            j = parent_row(model, j) - 1


@helper
def joint_momentum(frames, row):
    """Sum over the mass that a joint carries what unit speed of it does.

    Returns
    -------
    linear, angular : tuple of 3 floats
        sum m J and sum m X x J: the momentum.
    linear_rate, angular_rate : tuple of 3 floats
        sum m dJ/dt and sum m X x dJ/dt.
    flow : tuple of 3 floats
        sum m X' x J.
    """
    m = frames[row, MASS]
    h = load(frames, row, FIRST)
    S = load_matrix(frames, row, SECOND)
    P = load(frames, row, MOMENTUM)
    D = load_matrix(frames, row, FLOW)
    trace_S = S[0][0] + S[1][1] + S[2][2]
    trace_D = D[0][0] + D[1][1] + D[2][2]
    u = load(frames, row, FIELD_U)
    w = load(frames, row, FIELD_W)
    du = load(frames, row, RATE_U)
    dw = load(frames, row, RATE_W)
    linear = add_scaled(cross(w, h), u, m)
    angular = add(cross(h, u), spread(S, trace_S, w))
    linear_rate = add_scaled(add(cross(dw, h), cross(w, P)), du, m)
    angular_rate = add(add(cross(h, du), spread(S, trace_S, dw)), spread(D, trace_D, w))
    flow = add(cross(P, u), subtract(scale(w, trace_D), transpose_times(D, w)))
    return linear, angular, linear_rate, angular_rate, flow


@direct_kernel
def matrices(model, q, v, M, C, g):
    """M, C and g of one sample, written to these three."""
    n = body_count(model)
    rows = n + 1
    if not (is_vector(q, model, n) and is_vector(v, model, n)
            and is_matrix_to_write(M, model, n, n) and is_matrix_to_write(C, model, n, n)
            and is_vector_to_write(g, model, n) and are_apart(M, n * n, C, n * n)
            and are_apart(M, n * n, g, n) and are_apart(C, n * n, g, n)
            and are_apart(q, n, M, n * n) and are_apart(q, n, C, n * n) and are_apart(q, n, g, n)
            and are_apart(v, n, M, n * n) and are_apart(v, n, C, n * n)
            and are_apart(v, n, g, n)):
        return REFUSED
    fill_matrices(matrix(model, rows, WIDTH), vector(q, n), vector(v, n),
                  stack_matrix(rows, FRAME_WIDTH), matrix(M, n, n), matrix(C, n, n),
                  vector(g, n))
    return DONE


@kernel('void(float64[:, ::1], float64[:, ::1], float64[:, ::1], float64[:, :, ::1], '
        'float64[:, :, ::1], float64[:, ::1])', nogil=True)
def many_matrices(model, q, v, M, C, g):
    """M, C and g of each row of the (N, nb) arguments."""
    frames = np.empty((model.shape[0], FRAME_WIDTH))
    for k in range(q.shape[0]):
        fill_matrices(model, q[k], v[k], frames, M[k], C[k], g[k])
