# SPDX-License-Identifier: Apache-2.0
r"""Reference motion and wrench columns of robots with any joints; see `reference_motion`.

A joint of several coordinates gives its body the velocity s of the origin and the angular
velocity t, and under v_r and a_r likewise s_r, t_r and s_r', t_r', all turned to base axes.
Its fields go along with the body, so with w the angular velocity of that::

    w     = w_p + t                          r = r_p + t_r
    alpha = alpha_p + t_r' + w x t_r
    d     = d_p + L_p (p - p_p) + s_r' + w x s_r + r_p x s
"""

from robot_dynamics.dynamics.kernels.algebra import (
    add,
    cross,
    load,
    load_matrix,
    scale,
    store,
    store_matrix,
    subtract,
    times,
)
from robot_dynamics.dynamics.kernels.general_pose import (
    field,
    is_body,
    is_first,
    is_single,
    joint_rates,
    place_in_dynamics,
    position_of,
    store_sines,
)
from robot_dynamics.dynamics.kernels.layout import BODY, GRAVITY, LAST_ROW
from robot_dynamics.dynamics.kernels.loading import part, routine
from robot_dynamics.dynamics.kernels.pose import IDENTITY, clear_base, parent_row
from robot_dynamics.dynamics.kernels.reference_motion import (
    ALPHA,
    ANGULAR,
    AXES,
    FIELD_U,
    FIELD_W,
    GRADIENT,
    LINEAR,
    POSITION,
    REFERENCE,
    SINES,
    gradient,
    move_body,
    put_wrench_columns,
)


@part
def move_joint(model, i, q, v, v_r, a_r, frames):
    """Move the body of the joint of several coordinates whose first row is i."""
    parent = parent_row(model, i)
    row = int(model[i, LAST_ROW]) + 1
    p_parent = load(frames, parent, POSITION)
    r = load(frames, parent, REFERENCE)
    L = load_matrix(frames, parent, GRADIENT)

    axes, p = place_in_dynamics(model, i, q, load_matrix(frames, parent, AXES), p_parent)
    slide, turn = joint_rates(model, i, axes, v)
    slide_r, turn_r = joint_rates(model, i, axes, v_r)
    faster_slide, faster_turn = joint_rates(model, i, axes, a_r)
    w = add(load(frames, parent, ANGULAR), turn)
    alpha = add(load(frames, parent, ALPHA), add(faster_turn, cross(w, turn_r)))
    d = add(load(frames, parent, LINEAR), times(L, subtract(p, p_parent)))
    d = add(add(d, faster_slide), add(cross(w, slide_r), cross(r, slide)))
    r = add(r, turn_r)

    store_matrix(frames, row, AXES, axes)
    store(frames, row, POSITION, p)
    store(frames, row, ANGULAR, w)
    store(frames, row, REFERENCE, r)
    store(frames, row, ALPHA, alpha)
    store(frames, row, LINEAR, d)
    store_matrix(frames, row, GRADIENT, gradient(w, r, alpha))
    for k in range(i, row):
        u, turning = field(model, k, axes, p)
        store(frames, k + 1, FIELD_U, u)
        store(frames, k + 1, FIELD_W, turning)


@routine
def move_all(model, q, v, v_r, a_r, frames, W):
    """Frames, one row a velocity, and wrench columns W, shape (6, 10 nb)."""
    rows = model.shape[0] - 1
    clear_base(frames)
    store_matrix(frames, 0, AXES, IDENTITY)
    store(frames, 0, LINEAR, scale(load(model, rows, GRAVITY), -1.0))
    store_sines(model, q, frames, SINES)
    for i in range(rows):
        row = i + 1
        if is_single(model, i):
            move_body(model, i, position_of(model, i, q), v[i], v_r[i], a_r[i], frames)
        elif is_first(model, i):
            move_joint(model, i, q, v, v_r, a_r, frames)
        if is_body(model, i):
            put_wrench_columns(W, int(model[i, BODY]), load_matrix(frames, row, AXES),
                               load(frames, row, POSITION), load(frames, row, LINEAR),
                               load_matrix(frames, row, GRADIENT))
