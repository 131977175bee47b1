# SPDX-License-Identifier: Apache-2.0
r"""The motion that an adaptive controller refers to, and the wrenches it asks for.

A particle of body i at X (base axes) moves with velocity J(X) v. Its *reference
acceleration* J a_r + dJ/dt v_r is the affine field::

    a(X) = d + L (X - p),      L = [alpha] + [r] [w]

with p the origin of the link frame, w and r the angular velocities of the body under v
and v_r, and alpha its reference angular acceleration. Gravity enters as the acceleration
-g of the base. From parent to child the fields obey::

    w     = w_p + z v                  r = r_p + z v_r
    alpha = alpha_p + z a_r + (w_p x z) v_r
    d     = d_p + L_p (p - p_p)

for a revolute joint about z; for a prismatic one w, r and alpha stay, and d gains
z a_r + (r_p v + w_p v_r) x z. With v_r = v and a_r = a this is the true motion.

Summed over particles, J^T a is M a_r + C v_r + g with C the Christoffel matrix, because
sum m J^T dJ/dt is that matrix: for a particle, J_i . d2X/dq_j dq_k is the Christoffel
symbol of the first kind (Gabiccini, Bracci, De Carli, Fredianelli, Bicchi, "Explicit
Lagrangian formulation of the dynamic regressors for serial manipulators", eq. 39).
"""

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
from robot_dynamics.dynamics.kernels.layout import GRAVITY, IS_PRISMATIC
from robot_dynamics.dynamics.kernels.loading import helper, part
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
REFERENCE = 15  # 3, r
ALPHA = 18      # 3
LINEAR = 21     # 3, d
GRADIENT = 24   # 9, L
SINES = 33      # 2, sine and cosine of the joint
FIELD_U = 35    # 3, what unit speed of the joint gives to all it carries:
FIELD_W = 38    # 3, the velocity u + w x X
TWIST_U = 41    # 3, room for the sum of fields from the base to a body
TWIST_W = 44    # 3
FORCE = 47      # 3, room for the sum of wrenches from the tips to a body
MOMENT = 50     # 3
FRAME_WIDTH = 53


@helper
def gradient(w, r, alpha):
    """L = [alpha] + [r] [w], where [r] [w] = w r^T - (r . w) 1; as columns."""
    k = dot(r, w)
    return ((w[0] * r[0] - k, w[1] * r[0] + alpha[2], w[2] * r[0] - alpha[1]),
            (w[0] * r[1] - alpha[2], w[1] * r[1] - k, w[2] * r[1] + alpha[0]),
            (w[0] * r[2] + alpha[1], w[1] * r[2] - alpha[0], w[2] * r[2] - k))


@helper
def move_body(model, i, q, v, v_r, a_r, frames):
    """Move body i as its joint and its parent do; store its frame and joint field."""
    parent = parent_row(model, i)
    row = i + 1
    p_parent = load(frames, parent, POSITION)
    w = load(frames, parent, ANGULAR)
    r = load(frames, parent, REFERENCE)
    alpha = load(frames, parent, ALPHA)
    d = load(frames, parent, LINEAR)
    L = load_matrix(frames, parent, GRADIENT)

    axes, joint, z = place(model, i, q, frames[row, SINES], frames[row, SINES + 1],
                           load_matrix(frames, parent, AXES), p_parent)
    is_prismatic = model[i, IS_PRISMATIC] != 0.0
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
    u, turning = joint_field(is_prismatic, joint, z)

    store_matrix(frames, row, AXES, axes)
    store(frames, row, POSITION, p)
    store(frames, row, ANGULAR, w)
    store(frames, row, REFERENCE, r)
    store(frames, row, ALPHA, alpha)
    store(frames, row, LINEAR, d)
    store_matrix(frames, row, GRADIENT, L)
    store(frames, row, FIELD_U, u)
    store(frames, row, FIELD_W, turning)
    return axes, p, d, L


@helper
def put(W, column, force, moment):
    """Write one column of W."""
    for k in range(3):
        W[k, column] = force[k]
        W[k + 3, column] = moment[k]


@helper
def put_wrench_columns(W, i, axes, p, d, L):
    """Force (rows 0-2) and moment about the origin (rows 3-5) that each parameter adds.

    With X = p + R c, R the axes of the body, and A = L R::

        force   sum m a       = m d + A (m c)
        moment  sum m X x a   = p x force + R (m c) x d + sum_kl Sigma_kl R_k x A_l

    where Sigma = sum m c c^T = tr(J)/2 1 - J.
    """
    A = product(L, axes)
    with_x = cross_columns(axes[0], A)
    with_y = cross_columns(axes[1], A)
    with_z = cross_columns(axes[2], A)
    half = scale(add(with_x[0], add(with_y[1], with_z[2])), 0.5)
    m = 10 * i
    put(W, m, d, cross(p, d))
    put(W, m + 1, A[0], add(cross(p, A[0]), cross(axes[0], d)))
    put(W, m + 2, A[1], add(cross(p, A[1]), cross(axes[1], d)))
    put(W, m + 3, A[2], add(cross(p, A[2]), cross(axes[2], d)))
    put(W, m + 4, ZERO, subtract(half, with_x[0]))
    put(W, m + 5, ZERO, scale(add(with_x[1], with_y[0]), -1.0))
    put(W, m + 6, ZERO, scale(add(with_x[2], with_z[0]), -1.0))
    put(W, m + 7, ZERO, subtract(half, with_y[1]))
    put(W, m + 8, ZERO, scale(add(with_y[2], with_z[1]), -1.0))
    put(W, m + 9, ZERO, subtract(half, with_z[2]))


@part
def start_at_base(model, frames):
    """Store the frame of the base, which falls upwards."""
    clear_base(frames)
    store_matrix(frames, 0, AXES, IDENTITY)
    store(frames, 0, LINEAR, scale(load(model, model.shape[0] - 1, GRAVITY), -1.0))


@part
def move_all(model, q, v, v_r, a_r, frames, W):
    """Frames, shape (nb + 1, FRAME_WIDTH), and wrench columns W, shape (6, 10 nb)."""
    start_at_base(model, frames)
    store_sines(model, q, frames, SINES)
    for i in range(model.shape[0] - 1):
        axes, p, d, L = move_body(model, i, q[i], v[i], v_r[i], a_r[i], frames)
        put_wrench_columns(W, i, axes, p, d, L)
