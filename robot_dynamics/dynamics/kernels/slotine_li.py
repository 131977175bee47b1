# SPDX-License-Identifier: Apache-2.0
r"""The Slotine-Li regressor, and an adaptive controller's use of it without forming it.

The wrench that the reference motion asks of body i is linear in its ten parameters,
W_i pi_i with W_i of shape (6, 10); unit speed of joint j moves what it carries by the
twist F_j = (u_j, w_j); see `robot_dynamics.dynamics.kernels.reference_motion`. So::

    Yr[j, block i] = F_j^T W_i              for every body i that joint j carries, else 0
    (Yr pi)_j      = F_j^T sum_i W_i pi_i   over the bodies that joint j carries
    (Yr^T s)_i     = W_i^T sum_j F_j s_j    over the joints that carry body i

Yr pi = M a_r + C v_r + g: Slotine, Li, "On the adaptive control of robot manipulators";
Gabiccini et al. (cited there), eq. 61.
"""

import numpy as np

from robot_dynamics.dynamics.kernels.algebra import (
    ZERO,
    add,
    add_scaled,
    dot,
    load,
    store,
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
    length,
    matrix,
    stack_matrix,
    take_prepared,
    vector,
)
from robot_dynamics.dynamics.kernels.layout import IS_SCATTERED, MARK, PARENT, RUN_END, WIDTH
from robot_dynamics.dynamics.kernels.loading import helper, kernel, part
from robot_dynamics.dynamics.kernels.pose import parent_row
from robot_dynamics.dynamics.kernels.reference_motion import (
    FIELD_U,
    FIELD_W,
    FORCE,
    FRAME_WIDTH,
    MOMENT,
    TWIST_U,
    TWIST_W,
    move_all,
)
from robot_dynamics.dynamics.kernels.terms import add_terms, fill_term_columns


@helper
def on_twist(u, w, W, c):
    """One entry of F^T W for the twist F = (u, w)."""
    return (u[0] * W[0, c] + u[1] * W[1, c] + u[2] * W[2, c]
            + w[0] * W[3, c] + w[1] * W[4, c] + w[2] * W[5, c])


@helper
def columns(start, stop):
    """Range of columns.

    Unsigned, so that no index can mean "from the end": only then does LLVM see that
    neighbours lie side by side, and computes several columns at once.
    """
    return range(np.uint64(start), np.uint64(stop))


@part
def project(frames, j, W, start, stop, out):
    """Row j of the regressor in the columns start to stop: F_j^T W."""
    u = load(frames, j + 1, FIELD_U)
    w = load(frames, j + 1, FIELD_W)
    for c in columns(start, stop):
        out[j, c] = on_twist(u, w, W, c)


@part
def clear(out, row, start, stop):
    """Write zeros in the columns start to stop of a row."""
    for c in columns(start, stop):
        out[row, c] = 0.0


@part
def clear_outside(model, out):
    """Write zeros where no joint carries the body (or its run of bodies)."""
    inertial = 10 * (model.shape[0] - 1)
    for j in range(model.shape[0] - 1):
        clear(out, j, 0, 10 * j)
        clear(out, j, 10 * int(model[j, RUN_END]), inertial)


@helper
def carries(model, j, i):
    """Whether joint j carries body i."""
    while i > j:
        i = int(model[i, PARENT])
    return i == j


@part
def project_all(model, frames, W, out):
    """Every entry of the regressor where a joint carries the body."""
    bodies = model.shape[0] - 1
    for j in range(bodies):
        stop = int(model[j, RUN_END])
        project(frames, j, W, 10 * j, 10 * stop, out)
        if model[j, IS_SCATTERED] != 0.0:
            for i in range(stop, bodies):
                if carries(model, j, i):
                    project(frames, j, W, 10 * i, 10 * i + 10, out)


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
        for c in columns(10 * i, 10 * i + 10):
            gradient[c] = on_twist(u, w, W, c)


@part
def gather_wrenches(model, parameters, frames, W, tau):
    """Yr pi, from tip to base: the wrench sum W pi of all that each joint carries."""
    for row in range(model.shape[0]):
        store(frames, row, FORCE, ZERO)
        store(frames, row, MOMENT, ZERO)
    for i in range(model.shape[0] - 2, -1, -1):
        force = load(frames, i + 1, FORCE)
        moment = load(frames, i + 1, MOMENT)
        for c in columns(10 * i, 10 * i + 10):
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
    rows = n + 1
    terms = length(choice, 0) - 1
    width = (10 + terms) * n
    if not (is_vector(q, model, n) and is_vector(v, model, n) and is_vector(v_r, model, n)
            and is_vector(a_r, model, n) and is_matrix_to_write(out, model, n, width)
            and are_apart(q, n, out, n * width) and are_apart(v, n, out, n * width)
            and are_apart(v_r, n, out, n * width) and are_apart(a_r, n, out, n * width)):
        return REFUSED
    robot, Yr = matrix(model, rows, WIDTH), matrix(out, n, width)
    frames, W = stack_matrix(rows, FRAME_WIDTH), stack_matrix(6, 10 * n)
    v_r, a_r = vector(v_r, n), vector(a_r, n)
    if not take_prepared(out, n * width, model, robot[n, MARK]):
        clear_outside(robot, Yr)
    move_all(robot, vector(q, n), vector(v, n), v_r, a_r, frames, W)
    project_all(robot, frames, W, Yr)
    fill_term_columns(vector(choice, terms + 1), v_r, a_r, 10 * n, Yr)
    return DONE


@kernel('void(float64[:, ::1], float64[:, ::1], float64[:, ::1], float64[:, ::1], '
        'float64[:, ::1], float64[:, :, ::1])', nogil=True)
def slotine_li_regressors(model, q, v, v_r, a_r, out):
    """Yr of each row of the (N, nb) arguments, written to the first columns of out."""
    rows = model.shape[0]
    frames, W = np.empty((rows, FRAME_WIDTH)), np.empty((6, 10 * (rows - 1)))
    for k in range(q.shape[0]):
        clear_outside(model, out[k])
        move_all(model, q[k], v[k], v_r[k], a_r[k], frames, W)
        project_all(model, frames, W, out[k])


@direct_kernel
def adaptive_terms(model, choice, q, v, v_r, a_r, s, parameters, tau, gradient):
    """Yr pi and Yr^T s of one sample, with the chosen terms."""
    n = body_count(model)
    rows = n + 1
    terms = length(choice, 0) - 1
    width = (10 + terms) * n
    if not (is_vector(q, model, n) and is_vector(v, model, n) and is_vector(v_r, model, n)
            and is_vector(a_r, model, n) and is_vector(s, model, n)
            and is_vector(parameters, model, width) and is_vector_to_write(tau, model, n)
            and is_vector_to_write(gradient, model, width)):
        return REFUSED
    robot = matrix(model, rows, WIDTH)
    frames, W = stack_matrix(rows, FRAME_WIDTH), stack_matrix(6, 10 * n)
    v_r, a_r, s = vector(v_r, n), vector(a_r, n), vector(s, n)
    pi, tau, gradient = vector(parameters, width), vector(tau, n), vector(gradient, width)
    move_all(robot, vector(q, n), vector(v, n), v_r, a_r, frames, W)
    propagate_twists(robot, s, frames, W, gradient)
    gather_wrenches(robot, pi, frames, W, tau)
    add_terms(vector(choice, terms + 1), v_r, a_r, s, pi, 10 * n, tau, gradient)
    return DONE


@kernel('void(float64[:, ::1], float64[:, ::1], float64[:, ::1], float64[:, ::1], '
        'float64[:, ::1], float64[:, ::1], float64[:, ::1], float64[:, ::1], float64[:, ::1])',
        nogil=True)
def many_adaptive_terms(model, q, v, v_r, a_r, s, parameters, tau, gradient):
    """Yr pi and Yr^T s of each row of the arguments."""
    rows = model.shape[0]
    frames, W = np.empty((rows, FRAME_WIDTH)), np.empty((6, 10 * (rows - 1)))
    for k in range(q.shape[0]):
        move_all(model, q[k], v[k], v_r[k], a_r[k], frames, W)
        propagate_twists(model, s[k], frames, W, gradient[k])
        gather_wrenches(model, parameters[k], frames, W, tau[k])
