# SPDX-License-Identifier: Apache-2.0
r"""The Slotine-Li regressor of robots with any joints; see `slotine_li`.

A row of the regressor is a velocity, a block of ten columns is a body.
"""

import numpy as np

from robot_dynamics.dynamics.kernels.algebra import ZERO, add, add_scaled, dot, load, store
from robot_dynamics.dynamics.kernels.direct import (
    DONE,
    REFUSED,
    are_apart,
    body_count,
    direct_kernel,
    is_matrix_to_write,
    is_vector,
    is_vector_to_write,
    length,
    matrix,
    stack_matrix,
    take_prepared,
    vector,
)
from robot_dynamics.dynamics.kernels.general_pose import have_unit_length, is_body
from robot_dynamics.dynamics.kernels.general_reference_motion import move_all
from robot_dynamics.dynamics.kernels.layout import (
    BODIES,
    BODY,
    IS_SCATTERED,
    MARK,
    POSITIONS,
    RUN_END,
    WIDTH,
)
from robot_dynamics.dynamics.kernels.loading import kernel, part
from robot_dynamics.dynamics.kernels.pose import parent_row
from robot_dynamics.dynamics.kernels.reference_motion import (
    FIELD_U,
    FIELD_W,
    FORCE,
    FRAME_WIDTH,
    MOMENT,
    TWIST_U,
    TWIST_W,
)
from robot_dynamics.dynamics.kernels.slotine_li import (
    carries,
    clear,
    columns,
    on_twist,
    project,
)
from robot_dynamics.dynamics.kernels.terms import add_terms, fill_term_columns


@part
def clear_outside(model, out):
    """Write zeros where no velocity carries the body (or its run of bodies)."""
    rows = model.shape[0] - 1
    inertial = 10 * int(model[rows, BODIES])
    for j in range(rows):
        clear(out, j, 0, 10 * int(model[j, BODY]))
        clear(out, j, 10 * int(model[j, RUN_END]), inertial)


@part
def project_all(model, frames, W, out):
    """Every entry of the regressor where a velocity carries the body."""
    rows = model.shape[0] - 1
    for j in range(rows):
        stop = int(model[j, RUN_END])
        project(frames, j, W, 10 * int(model[j, BODY]), 10 * stop, out)
        if model[j, IS_SCATTERED] != 0.0:
            for i in range(j + 1, rows):
                body = int(model[i, BODY])
                if body >= stop and is_body(model, i) and carries(model, j, i):
                    project(frames, j, W, 10 * body, 10 * body + 10, out)


@part
def propagate_twists(model, s, frames, W, gradient):
    """Yr^T s, from base to tip: the twist sum_j F_j s_j of each body, and W^T of it."""
    store(frames, 0, TWIST_U, ZERO)
    store(frames, 0, TWIST_W, ZERO)
    for i in range(model.shape[0] - 1):
        parent = parent_row(model, i)
        u = add_scaled(load(frames, parent, TWIST_U), load(frames, i + 1, FIELD_U), s[i])
        w = add_scaled(load(frames, parent, TWIST_W), load(frames, i + 1, FIELD_W), s[i])
        store(frames, i + 1, TWIST_U, u)
        store(frames, i + 1, TWIST_W, w)
        if is_body(model, i):
            first = 10 * int(model[i, BODY])
            for c in columns(first, first + 10):
                gradient[c] = on_twist(u, w, W, c)


@part
def gather_wrenches(model, parameters, frames, W, tau):
    """Yr pi, from tip to base: the wrench sum W pi of all that each velocity carries."""
    for row in range(model.shape[0]):
        store(frames, row, FORCE, ZERO)
        store(frames, row, MOMENT, ZERO)
    for i in range(model.shape[0] - 2, -1, -1):
        force = load(frames, i + 1, FORCE)
        moment = load(frames, i + 1, MOMENT)
        if is_body(model, i):
            first = 10 * int(model[i, BODY])
            for c in columns(first, first + 10):
                force = add_scaled(force, (W[0, c], W[1, c], W[2, c]), parameters[c])
                moment = add_scaled(moment, (W[3, c], W[4, c], W[5, c]), parameters[c])
        tau[i] = (dot(load(frames, i + 1, FIELD_U), force)
                  + dot(load(frames, i + 1, FIELD_W), moment))
        parent = parent_row(model, i)
        store(frames, parent, FORCE, add(load(frames, parent, FORCE), force))
        store(frames, parent, MOMENT, add(load(frames, parent, MOMENT), moment))


@direct_kernel
def slotine_li_regressor(model, choice, q, v, v_r, a_r, out):
    """Yr(q, v, v_r, a_r) and the chosen terms of one sample, written to out."""
    n = body_count(model)
    if n < 0:
        return REFUSED
    robot = matrix(model, n + 1, WIDTH)
    nq, inertial = int(robot[n, POSITIONS]), 10 * int(robot[n, BODIES])
    terms = length(choice, 0) - 1
    width = inertial + terms * n
    if not (is_vector(q, model, nq) and is_vector(v, model, n) and is_vector(v_r, model, n)
            and is_vector(a_r, model, n) and is_matrix_to_write(out, model, n, width)
            and are_apart(q, nq, out, n * width) and are_apart(v, n, out, n * width)
            and are_apart(v_r, n, out, n * width) and are_apart(a_r, n, out, n * width)):
        return REFUSED
    if not have_unit_length(robot, vector(q, nq)):
        return REFUSED
    Yr = matrix(out, n, width)
    frames, W = stack_matrix(n + 1, FRAME_WIDTH), stack_matrix(6, inertial)
    v_r, a_r = vector(v_r, n), vector(a_r, n)
    if not take_prepared(out, n * width, model, robot[n, MARK]):
        clear_outside(robot, Yr)
    move_all(robot, vector(q, nq), vector(v, n), v_r, a_r, frames, W)
    project_all(robot, frames, W, Yr)
    fill_term_columns(vector(choice, terms + 1), v_r, a_r, inertial, Yr)
    return DONE


@kernel('void(float64[:, ::1], float64[:, ::1], float64[:, ::1], float64[:, ::1], '
        'float64[:, ::1], float64[:, :, ::1])', nogil=True)
def slotine_li_regressors(model, q, v, v_r, a_r, out):
    """Yr of each row of the arguments, written to the first columns of out."""
    rows = model.shape[0]
    frames, W = np.empty((rows, FRAME_WIDTH)), np.empty((6, 10 * int(model[rows - 1, BODIES])))
    for k in range(q.shape[0]):
        clear_outside(model, out[k])
        move_all(model, q[k], v[k], v_r[k], a_r[k], frames, W)
        project_all(model, frames, W, out[k])


@direct_kernel
def adaptive_terms(model, choice, q, v, v_r, a_r, s, parameters, tau, gradient):
    """Yr pi and Yr^T s of one sample, with the chosen terms."""
    n = body_count(model)
    if n < 0:
        return REFUSED
    robot = matrix(model, n + 1, WIDTH)
    nq, inertial = int(robot[n, POSITIONS]), 10 * int(robot[n, BODIES])
    terms = length(choice, 0) - 1
    width = inertial + terms * n
    if not (is_vector(q, model, nq) and is_vector(v, model, n) and is_vector(v_r, model, n)
            and is_vector(a_r, model, n) and is_vector(s, model, n)
            and is_vector(parameters, model, width) and is_vector_to_write(tau, model, n)
            and is_vector_to_write(gradient, model, width)):
        return REFUSED
    if not have_unit_length(robot, vector(q, nq)):
        return REFUSED
    frames, W = stack_matrix(n + 1, FRAME_WIDTH), stack_matrix(6, inertial)
    v_r, a_r, s = vector(v_r, n), vector(a_r, n), vector(s, n)
    pi, tau, gradient = vector(parameters, width), vector(tau, n), vector(gradient, width)
    move_all(robot, vector(q, nq), vector(v, n), v_r, a_r, frames, W)
    propagate_twists(robot, s, frames, W, gradient)
    gather_wrenches(robot, pi, frames, W, tau)
    add_terms(vector(choice, terms + 1), v_r, a_r, s, pi, inertial, tau, gradient)
    return DONE


@kernel('void(float64[:, ::1], float64[:, ::1], float64[:, ::1], float64[:, ::1], '
        'float64[:, ::1], float64[:, ::1], float64[:, ::1], float64[:, ::1], float64[:, ::1])',
        nogil=True)
def many_adaptive_terms(model, q, v, v_r, a_r, s, parameters, tau, gradient):
    """Yr pi and Yr^T s of each row of the arguments."""
    rows = model.shape[0]
    frames, W = np.empty((rows, FRAME_WIDTH)), np.empty((6, 10 * int(model[rows - 1, BODIES])))
    for k in range(q.shape[0]):
        move_all(model, q[k], v[k], v_r[k], a_r[k], frames, W)
        propagate_twists(model, s[k], frames, W, gradient[k])
        gather_wrenches(model, parameters[k], frames, W, tau[k])
