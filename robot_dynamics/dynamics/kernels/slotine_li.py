# SPDX-License-Identifier: Apache-2.0
r"""The Slotine-Li regressor, and its products in adaptive control without forming it.

Under a reference motion v_r, a_r a particle of a body at X has the *reference acceleration*
J a_r + dJ/dt v_r, the affine field a(X) = d + L (X - p), p being the origin of the link::

    L = [alpha] + [r] [w],      d = u(A) + r x u(v) + L p

with w and r the angular velocities of the body under v and v_r, alpha the angular part of its
reference acceleration A, and u the linear parts (`motion`). The wrench that this requires of body
i is linear in its ten parameters, W_i pi_i with W_i of shape (6, 10). Unit speed of velocity j
moves everything that it carries by the twist S_j::

    Yr[j, block i] = S_j^T W_i              for every body i that velocity j carries, else 0
    (Yr pi)_j      = S_j^T sum_i W_i pi_i   over the bodies that velocity j carries
    (Yr^T s)_i     = W_i^T sum_j S_j s_j    over the velocities that carry body i

Yr pi = M a_r + C v_r + g with C the Christoffel matrix, because sum m J^T dJ/dt is that matrix:
Slotine, Li, "On the adaptive control of robot manipulators"; Gabiccini, Bracci, De Carli,
Fredianelli, Bicchi, "Explicit Lagrangian formulation of the dynamic regressors for serial
manipulators", eqs. 39 and 61.

Columns of joint terms (`robot_dynamics.dynamics.joint_terms`) follow the inertial ones. They are
selected by their number, epsilon of the smooth sign, and a code for each.
"""

import math

import numpy as np

from robot_dynamics.dynamics.kernels.algebra import (
    ZERO,
    add,
    add_scaled,
    cross,
    cross_columns,
    dot,
    load,
    product,
    scale,
    subtract,
    times,
)
from robot_dynamics.dynamics.kernels.equation import (
    DONE,
    equation,
    fold,
    model_of,
    spread,
    spread_positions,
)
from robot_dynamics.dynamics.kernels.joint_table import (
    add_pairs,
    add_scaled_pair,
    columns,
    get,
    get_matrix,
    get_pair,
    parent_column,
    power,
    put_pair,
)
from robot_dynamics.dynamics.kernels.layout import (
    BODIES,
    BODY,
    GRAVITY,
    IS_SCATTERED,
    N_BODIES,
    PARENT,
    RATE_SHARES,
    RUN_END,
    SHARES_END,
)
from robot_dynamics.dynamics.kernels.loading import helper, routine
from robot_dynamics.dynamics.kernels.motion import (
    ACCELERATION,
    AXES,
    FIELD,
    MASS,
    POSITION,
    REFERENCE,
    TWIST,
    move_all,
    place_all,
    refer_all,
)
from robot_dynamics.dynamics.kernels.pose import is_body

VISCOUS, COULOMB, ARMATURE, OFFSET = range(4)

# Rows of the table after those of `motion`: sums along a branch.
SUM = MASS
HEIGHT = MASS + 6


@helper
def gradient(w, r, alpha):
    """L = [alpha] + [r] [w], where [r] [w] = w r^T - (r . w) 1; as columns."""
    k = dot(r, w)
    return ((w[0] * r[0] - k, w[1] * r[0] + alpha[2], w[2] * r[0] - alpha[1]),
            (w[0] * r[1] - alpha[2], w[1] * r[1] - k, w[2] * r[1] + alpha[0]),
            (w[0] * r[2] + alpha[1], w[1] * r[2] - alpha[0], w[2] * r[2] - k))


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


@routine
def ask_for_wrenches(model, q, v, v_r, a_r, table, W):
    """Fields in the table, and wrench columns W, shape (6, 10 nb)."""
    count = model.shape[0] - 1
    place_all(model, q, False, table)
    move_all(model, v, v_r, a_r, scale(load(model, count, GRAVITY), -1.0), table)
    refer_all(model, v_r, table)
    for i in range(count):
        if is_body(model, i):
            p, r = get(table, POSITION, i), get_pair(table, REFERENCE, i)[1]
            b, w = get_pair(table, TWIST, i)
            linear, alpha = get_pair(table, ACCELERATION, i)
            L = gradient(w, r, alpha)
            d = add(add(linear, cross(r, b)), times(L, p))
            put_wrench_columns(W, int(model[i, BODY]), get_matrix(table, AXES, i), p, d, L)


@helper
def on_twist(S, W, c):
    """One entry of S^T W."""
    return (S[0][0] * W[0, c] + S[0][1] * W[1, c] + S[0][2] * W[2, c]
            + S[1][0] * W[3, c] + S[1][1] * W[4, c] + S[1][2] * W[5, c])


@helper
def project(S, W, start, stop, j, out):
    """Row j of the regressor in the columns start to stop: S^T W."""
    for c in columns(start, stop):
        out[j, c] = on_twist(S, W, c)


@helper
def carries(model, j, i):
    """Whether velocity j carries body i."""
    while i > j:
        i = int(model[i, PARENT])
    return i == j


@routine
def fill_regressor(model, q, v, v_r, a_r, out):
    """Inertial columns of Yr for the joints of the bodies."""
    rows, inertial = model.shape[0] - 1, 10 * int(model[model.shape[0] - 1, N_BODIES])
    table, W = np.empty((HEIGHT, rows + 1)), np.empty((6, inertial))
    ask_for_wrenches(model, q, v, v_r, a_r, table, W)
    for j in range(rows):
        start, stop = int(model[j, BODY]), int(model[j, RUN_END])
        for c in columns(0, 10 * start):
            out[j, c] = 0.0
        S = get_pair(table, FIELD, j)
        project(S, W, 10 * start, 10 * stop, j, out)
        for c in columns(10 * stop, inertial):
            out[j, c] = 0.0
        if model[j, IS_SCATTERED] != 0.0:
            for i in range(j + 1, rows):
                body = int(model[i, BODY])
                if body >= stop and is_body(model, i) and carries(model, j, i):
                    project(S, W, 10 * body, 10 * body + 10, j, out)


@helper
def term_value(code, v, a, epsilon):
    """Effort per unit of a term's parameter."""
    if code == VISCOUS:
        return v
    if code == COULOMB:
        return math.tanh(v / epsilon)
    if code == ARMATURE:
        return a
    return 1.0


@equation('t q n n n', 'nw', is_coupled=True)
def slotine_li_regressor(robot, choice, q, v, v_r, a_r, out):
    """Yr(q, v, v_r, a_r) and the chosen terms."""
    model, n, terms = model_of(robot), v.size, int(choice[0])
    inertial = 10 * int(robot[BODIES])
    if robot[RATE_SHARES] == robot[SHARES_END]:
        fill_regressor(model, q, v, v_r, a_r, out)
    else:
        of_bodies = np.empty((1, model.shape[0] - 1, inertial))
        folded = np.empty((1, n, inertial)) if terms else out.reshape((1, n, inertial))
        fill_regressor(model, spread_positions(robot, q), spread(robot, v), spread(robot, v_r),
                       spread(robot, a_r), of_bodies[0])
        fold(robot, of_bodies, folded)
        if terms:
            out[:, :inertial] = folded[0]
    for j in range(n):
        for c in range(inertial, out.shape[1]):
            out[j, c] = 0.0
        for t in range(terms):
            out[j, inertial + t * n + j] = term_value(choice[t + 2], v_r[j], a_r[j], choice[1])
    return DONE


@routine
def fill_adaptive_terms(model, q, v, v_r, a_r, s, parameters, tau, gradient):
    """Inertial part of Yr pi and Yr^T s for the joints of the bodies."""
    rows = model.shape[0] - 1
    table, W = np.empty((HEIGHT, rows + 1)), np.empty((6, 10 * int(model[rows, N_BODIES])))
    ask_for_wrenches(model, q, v, v_r, a_r, table, W)
    put_pair(table, SUM, rows, (ZERO, ZERO))
    for k in range(rows):
        S = add_scaled_pair(get_pair(table, SUM, parent_column(model, k)),
                            get_pair(table, FIELD, k), s[k])
        put_pair(table, SUM, k, S)
        if is_body(model, k):
            first = 10 * int(model[k, BODY])
            for c in columns(first, first + 10):
                gradient[c] = on_twist(S, W, c)
    for k in range(rows):
        force, moment = ZERO, ZERO
        if is_body(model, k):
            first = 10 * int(model[k, BODY])
            for c in columns(first, first + 10):
                force = add_scaled(force, (W[0, c], W[1, c], W[2, c]), parameters[c])
                moment = add_scaled(moment, (W[3, c], W[4, c], W[5, c]), parameters[c])
        put_pair(table, SUM, k, (force, moment))
    for k in range(rows - 1, -1, -1):
        wrench, parent = get_pair(table, SUM, k), parent_column(model, k)
        tau[k] = power(get_pair(table, FIELD, k), wrench)
        if parent < rows:
            put_pair(table, SUM, parent, add_pairs(get_pair(table, SUM, parent), wrench))


@equation('t q n n n n w', 'n w', is_coupled=True)
def adaptive_terms(robot, choice, q, v, v_r, a_r, s, parameters, tau, gradient):
    """Yr pi and Yr^T s, with the chosen terms."""
    model, n, inertial = model_of(robot), v.size, 10 * int(robot[BODIES])
    if robot[RATE_SHARES] == robot[SHARES_END]:
        fill_adaptive_terms(model, q, v, v_r, a_r, s, parameters, tau, gradient)
    else:
        of_bodies = np.empty((1, model.shape[0] - 1, 1))
        fill_adaptive_terms(model, spread_positions(robot, q), spread(robot, v),
                            spread(robot, v_r), spread(robot, a_r), spread(robot, s),
                            parameters, of_bodies[0, :, 0], gradient)
        fold(robot, of_bodies, tau.reshape((1, n, 1)))
    for t in range(int(choice[0])):
        for j in range(n):
            value = term_value(choice[t + 2], v_r[j], a_r[j], choice[1])
            tau[j] += value * parameters[inertial + t * n + j]
            gradient[inertial + t * n + j] = value * s[j]
    return DONE
