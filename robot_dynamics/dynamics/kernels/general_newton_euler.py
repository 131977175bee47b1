# SPDX-License-Identifier: Apache-2.0
r"""Inverse dynamics of robots with any joints; see `newton_euler`.

A joint of several coordinates gives its body the velocity R s of the origin and the
angular velocity R t, s and t in the axes R of that body. With w_p and w the angular
velocities of the parent and of the body, the acceleration of the origin gains
``R s' + (w_p + w) x R s`` and the angular acceleration ``R t' + w_p x R t``.
"""

import numpy as np

from robot_dynamics.dynamics.kernels.algebra import (
    ZERO,
    add,
    cross,
    load,
    load_matrix,
    scale,
    store,
    store_matrix,
    subtract,
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
from robot_dynamics.dynamics.kernels.general_pose import (
    field,
    have_unit_length,
    is_body,
    is_first,
    is_single,
    joint_rates,
    place_in_dynamics,
    position_of,
    store_sines,
)
from robot_dynamics.dynamics.kernels.layout import GRAVITY, LAST_ROW, POSITIONS, WIDTH
from robot_dynamics.dynamics.kernels.loading import kernel, part, routine
from robot_dynamics.dynamics.kernels.newton_euler import (
    ALPHA,
    ANGULAR,
    AXES,
    FIELD_U,
    FIELD_W,
    FORCE,
    FRAME_WIDTH,
    LINEAR,
    MOMENT,
    POSITION,
    SINES,
    body_wrench,
    gather_efforts,
    move_body,
    rigid_acceleration,
)
from robot_dynamics.dynamics.kernels.pose import IDENTITY, clear_base, parent_row


@part
def move_joint(model, i, q, v, a, frames):
    """Move the body of the joint of several coordinates whose first row is i."""
    parent = parent_row(model, i)
    row = int(model[i, LAST_ROW]) + 1
    p_parent = load(frames, parent, POSITION)
    w = load(frames, parent, ANGULAR)
    alpha = load(frames, parent, ALPHA)

    axes, p = place_in_dynamics(model, i, q, load_matrix(frames, parent, AXES), p_parent)
    slide, turn = joint_rates(model, i, axes, v)
    faster_slide, faster_turn = joint_rates(model, i, axes, a)
    linear = add(load(frames, parent, LINEAR),
                 rigid_acceleration(w, alpha, subtract(p, p_parent)))
    alpha = add(alpha, add(faster_turn, cross(w, turn)))
    both = add(add(w, w), turn)
    w = add(w, turn)
    linear = add(linear, add(faster_slide, cross(both, slide)))

    store_matrix(frames, row, AXES, axes)
    store(frames, row, POSITION, p)
    store(frames, row, ANGULAR, w)
    store(frames, row, ALPHA, alpha)
    store(frames, row, LINEAR, linear)
    for k in range(i, row):
        u, turning = field(model, k, axes, p)
        store(frames, k + 1, FIELD_U, u)
        store(frames, k + 1, FIELD_W, turning)


@routine
def fill_inverse_dynamics(model, q, v, a, frames, tau):
    """Joint efforts of one sample."""
    rows = model.shape[0] - 1
    clear_base(frames)
    store_matrix(frames, 0, AXES, IDENTITY)
    store(frames, 0, LINEAR, scale(load(model, rows, GRAVITY), -1.0))
    store_sines(model, q, frames, SINES)
    for i in range(rows):
        if is_single(model, i):
            move_body(model, i, position_of(model, i, q), v[i], a[i], frames)
        elif is_first(model, i):
            move_joint(model, i, q, v, a, frames)
        force, moment = ZERO, ZERO
        if is_body(model, i):
            row = i + 1
            force, moment = body_wrench(
                model, i, load_matrix(frames, row, AXES), load(frames, row, POSITION),
                load(frames, row, ANGULAR), load(frames, row, ALPHA), load(frames, row, LINEAR))
        store(frames, i + 1, FORCE, force)
        store(frames, i + 1, MOMENT, moment)
    gather_efforts(model, frames, tau)


@direct_kernel
def inverse_dynamics(model, q, v, a, tau):
    """Joint efforts of one sample, written to tau."""
    n = body_count(model)
    if n < 0:
        return REFUSED
    robot = matrix(model, n + 1, WIDTH)
    nq = int(robot[n, POSITIONS])
    if not (is_vector(q, model, nq) and is_vector(v, model, n) and is_vector(a, model, n)
            and is_vector_to_write(tau, model, n)):
        return REFUSED
    if not have_unit_length(robot, vector(q, nq)):
        return REFUSED
    fill_inverse_dynamics(robot, vector(q, nq), vector(v, n), vector(a, n),
                          stack_matrix(n + 1, FRAME_WIDTH), vector(tau, n))
    return DONE


@kernel('void(float64[:, ::1], float64[:, ::1], float64[:, ::1], float64[:, ::1], '
        'float64[:, ::1])', nogil=True)
def many_inverse_dynamics(model, q, v, a, tau):
    """Joint efforts of each row of the arguments."""
    frames = np.empty((model.shape[0], FRAME_WIDTH))
    for k in range(q.shape[0]):
        fill_inverse_dynamics(model, q[k], v[k], a[k], frames, tau[k])
