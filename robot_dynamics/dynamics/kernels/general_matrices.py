# SPDX-License-Identifier: Apache-2.0
r"""Mass matrix, Christoffel matrix and gravity of robots with any joints; see `matrices`.

The fields of a joint of several coordinates are fixed to the body that it moves: O and b
in their rates are the whole motion of that body, and C v_r = sum m J^T (dJ/dt) v_r is the
Coriolis term for which dM/dt - 2 C is skew-symmetric also in these velocities.
"""

import numpy as np

from robot_dynamics.dynamics.kernels.algebra import (
    add,
    add_scaled,
    cross,
    load,
    load_matrix,
    store,
    store_matrix,
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
from robot_dynamics.dynamics.kernels.general_pose import (
    field,
    have_unit_length,
    is_body,
    is_first,
    is_single,
    place_in_dynamics,
    position_of,
    store_sines,
)
from robot_dynamics.dynamics.kernels.layout import LAST_ROW, POSITIONS, WIDTH
from robot_dynamics.dynamics.kernels.loading import kernel, part, routine
from robot_dynamics.dynamics.kernels.matrices import (
    ANGULAR,
    AXES,
    FIELD_U,
    FIELD_W,
    FRAME_WIDTH,
    LINEAR,
    MOMENTS,
    POSITION,
    RATE_U,
    RATE_W,
    SINES,
    combine,
    measure_body,
    move_body,
)
from robot_dynamics.dynamics.kernels.pose import IDENTITY, clear_base, parent_row


@part
def move_joint(model, i, q, v, frames):
    """Move the body of the joint of several coordinates whose first row is i.

    Stores its frame in the last row of the joint, fields and their rates in each.
    """
    parent = parent_row(model, i)
    row = int(model[i, LAST_ROW]) + 1
    axes, p = place_in_dynamics(model, i, q, load_matrix(frames, parent, AXES),
                                load(frames, parent, POSITION))
    omega = load(frames, parent, ANGULAR)
    b = load(frames, parent, LINEAR)
    for k in range(i, row):
        u, w = field(model, k, axes, p)
        omega = add_scaled(omega, w, v[k])
        b = add_scaled(b, u, v[k])
        store(frames, k + 1, FIELD_U, u)
        store(frames, k + 1, FIELD_W, w)
    for k in range(i + 1, row + 1):
        u = load(frames, k, FIELD_U)
        w = load(frames, k, FIELD_W)
        store(frames, k, RATE_U, add(cross(omega, u), cross(b, w)))
        store(frames, k, RATE_W, cross(omega, w))
    store_matrix(frames, row, AXES, axes)
    store(frames, row, POSITION, p)
    store(frames, row, ANGULAR, omega)
    store(frames, row, LINEAR, b)


@part
def move_all(model, q, v, frames):
    """Frames, fields, their rates and the moments of mass of each body alone."""
    clear_base(frames)
    store_matrix(frames, 0, AXES, IDENTITY)
    store_sines(model, q, frames, SINES)
    for i in range(model.shape[0] - 1):
        row = i + 1
        if is_single(model, i):
            move_body(model, i, position_of(model, i, q), v[i], frames)
        elif is_first(model, i):
            move_joint(model, i, q, v, frames)
        if is_body(model, i):
            measure_body(model, i, load_matrix(frames, row, AXES), load(frames, row, POSITION),
                         load(frames, row, ANGULAR), load(frames, row, LINEAR), frames)
        else:
            for t in range(MOMENTS, FRAME_WIDTH):
                frames[row, t] = 0.0


@routine
def fill_matrices(model, q, v, frames, M, C, g):
    """M, C and g of one sample."""
    move_all(model, q, v, frames)
    combine(model, frames, M, C, g)


@direct_kernel
def matrices(model, q, v, M, C, g):
    """M, C and g of one sample, written to these three."""
    n = body_count(model)
    if n < 0:
        return REFUSED
    robot = matrix(model, n + 1, WIDTH)
    nq = int(robot[n, POSITIONS])
    if not (is_vector(q, model, nq) and is_vector(v, model, n)
            and is_matrix_to_write(M, model, n, n) and is_matrix_to_write(C, model, n, n)
            and is_vector_to_write(g, model, n) and are_apart(M, n * n, C, n * n)
            and are_apart(M, n * n, g, n) and are_apart(C, n * n, g, n)
            and are_apart(q, nq, M, n * n) and are_apart(q, nq, C, n * n)
            and are_apart(q, nq, g, n) and are_apart(v, n, M, n * n)
            and are_apart(v, n, C, n * n) and are_apart(v, n, g, n)):
        return REFUSED
    if not have_unit_length(robot, vector(q, nq)):
        return REFUSED
    fill_matrices(robot, vector(q, nq), vector(v, n), stack_matrix(n + 1, FRAME_WIDTH),
                  matrix(M, n, n), matrix(C, n, n), vector(g, n))
    return DONE


@kernel('void(float64[:, ::1], float64[:, ::1], float64[:, ::1], float64[:, :, ::1], '
        'float64[:, :, ::1], float64[:, ::1])', nogil=True)
def many_matrices(model, q, v, M, C, g):
    """M, C and g of each row of the arguments."""
    frames = np.empty((model.shape[0], FRAME_WIDTH))
    for k in range(q.shape[0]):
        fill_matrices(model, q[k], v[k], frames, M[k], C[k], g[k])
