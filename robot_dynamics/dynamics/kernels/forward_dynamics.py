# SPDX-License-Identifier: Apache-2.0
r"""Forward dynamics and its derivatives.

The articulated-body algorithm (Featherstone, "Rigid Body Dynamics Algorithms", section 7.3) in
base axes, which needs no transformations. With A the articulated inertia of column k, S its field,
and f the wrench of all beyond it at a = 0::

    U = A S,    D = S . U + (rotor inertia),    u = tau - S . f
    A_parent += A - U U^T / D,    f_parent += f + U u / D
    a_k = (u - U . (acceleration of the parent)) / D

f contains the effects of velocities and gravity, so that these accelerations are those of unit
fields alone. With mimic joints the columns are not independent, so that M a = tau - C v - g is
solved instead. Differentiation of tau = tau(q, v, a(q, v, tau)) gives::

    da/dq = -M^-1 dtau/dq,    da/dv = -M^-1 dtau/dv,    da/dtau = M^-1
"""

import numpy as np

from robot_dynamics.dynamics.kernels.algebra import ZERO, load, scale
from robot_dynamics.dynamics.kernels.effort_derivatives import inverse_dynamics_derivatives
from robot_dynamics.dynamics.kernels.equation import (
    DONE,
    equation,
    model_of,
    shares_of,
    spread,
    spread_positions,
)
from robot_dynamics.dynamics.kernels.joint_table import (
    add_pairs,
    add_scaled_pair,
    columns,
    get_pair,
    parent_column,
    power,
    put_pair,
)
from robot_dynamics.dynamics.kernels.layout import (
    ARMATURE,
    GRAVITY,
    MIMICS,
    RATE_SHARES,
    SHARES_END,
)
from robot_dynamics.dynamics.kernels.loading import helper, routine
from robot_dynamics.dynamics.kernels.matrices import matrices
from robot_dynamics.dynamics.kernels.moments import (
    inertia_at,
    inertia_on,
    measure_all,
    sum_to_base,
)
from robot_dynamics.dynamics.kernels.motion import (
    ACCELERATION,
    AFTER_SUMS,
    FIELD,
    MOMENTUM,
    move_all,
    place_all,
)
from robot_dynamics.dynamics.kernels.newton_euler import WRENCH, ask_for_wrenches
from robot_dynamics.dynamics.kernels.solve import (
    EPSILON,
    SOLVED,
    factorise,
    substitute,
    substitute_rows,
)

# As equations of the independent joints.
matrices_of = matrices.row
derivatives_of = inverse_dynamics_derivatives.row

# Rows of the table after those of `motion`.
INERTIA = AFTER_SUMS           # 36, A, column after column
U = AFTER_SUMS + 36            # 6
PIVOT = AFTER_SUMS + 42        # 1 / D
EFFORT = AFTER_SUMS + 43       # u
HEIGHT = AFTER_SUMS + 44


@helper
def inertia_times(table, i, x):
    """A x."""
    y = (scale(load_column(table, i, 0)[0], x[0][0]), scale(load_column(table, i, 0)[1], x[0][0]))
    y = add_scaled_pair(y, load_column(table, i, 1), x[0][1])
    y = add_scaled_pair(y, load_column(table, i, 2), x[0][2])
    y = add_scaled_pair(y, load_column(table, i, 3), x[1][0])
    y = add_scaled_pair(y, load_column(table, i, 4), x[1][1])
    return add_scaled_pair(y, load_column(table, i, 5), x[1][2])


@helper
def load_column(table, i, c):
    """Column c of A."""
    return get_pair(table, INERTIA + 6 * c, i)


@routine
def store_inertias(table, count):
    """Inertia of each body alone as a matrix of six columns: m, h, and tr S 1 - S."""
    for i in columns(0, count):
        m, h, J = inertia_at(table, i)
        put_pair(table, INERTIA, i, ((m, 0.0, 0.0), (0.0, h[2], -h[1])))
        put_pair(table, INERTIA + 6, i, ((0.0, m, 0.0), (-h[2], 0.0, h[0])))
        put_pair(table, INERTIA + 12, i, ((0.0, 0.0, m), (h[1], -h[0], 0.0)))
        put_pair(table, INERTIA + 18, i, ((0.0, -h[2], h[1]), J[0]))
        put_pair(table, INERTIA + 24, i, ((h[2], 0.0, -h[0]), J[1]))
        put_pair(table, INERTIA + 30, i, ((-h[1], h[0], 0.0), J[2]))


@routine
def hand_down(table, k, parent):
    """Add the articulated inertia and wrench of column k to those of its parent."""
    pivot = table[PIVOT, k]
    for c in range(6):
        share = pivot * table[U + c, k]
        for row in range(6):
            table[INERTIA + 6 * c + row, k] -= share * table[U + row, k]
            table[INERTIA + 6 * c + row, parent] += table[INERTIA + 6 * c + row, k]
    wrench = add_scaled_pair(get_pair(table, WRENCH, k), get_pair(table, U, k),
                             table[EFFORT, k] * pivot)
    put_pair(table, WRENCH, parent, add_pairs(get_pair(table, WRENCH, parent), wrench))


@routine
def free_accelerations(model, q, v, tau, a):
    """Accelerations of independent columns; DONE or one more than a row without inertia."""
    count = model.shape[0] - 1
    table = np.empty((HEIGHT, count + 1))
    upwards = scale(load(model, count, GRAVITY), -1.0)
    for k in range(count):
        a[k] = 0.0
    place_all(model, q, False, table)
    move_all(model, v, v, a, upwards, table)
    measure_all(model, table, count)
    ask_for_wrenches(table, count)
    store_inertias(table, count)
    sum_to_base(model, table, MOMENTUM)
    for k in range(count - 1, -1, -1):
        S = get_pair(table, FIELD, k)
        put_pair(table, U, k, inertia_times(table, k, S))
        rotor = model[k, ARMATURE]
        whole = power(S, inertia_on(inertia_at(table, k), S)) + rotor
        inertia = power(S, get_pair(table, U, k)) + rotor
        if not (inertia > count * EPSILON * whole and inertia > 0.0):
            return k + 1
        table[PIVOT, k] = 1.0 / inertia
        table[EFFORT, k] = tau[k] - power(S, get_pair(table, WRENCH, k))
        parent = parent_column(model, k)
        if parent < count:
            hand_down(table, k, parent)
    put_pair(table, ACCELERATION, count, (ZERO, ZERO))
    for k in range(count):
        above = get_pair(table, ACCELERATION, parent_column(model, k))
        a[k] = (table[EFFORT, k] - power(above, get_pair(table, U, k))) * table[PIVOT, k]
        put_pair(table, ACCELERATION, k, add_scaled_pair(above, get_pair(table, FIELD, k), a[k]))
    return DONE


@routine
def accelerate(robot, q, v, tau, a):
    """Accelerations M^-1 (tau - C v - g); returns what `forward_dynamics` does."""
    if robot[RATE_SHARES] == robot[SHARES_END]:
        return free_accelerations(model_of(robot), q, v, tau, a)
    n = v.size
    if robot[MIMICS] == 0.0:
        # Only the order differs.
        moved = np.empty(n)
        status = free_accelerations(model_of(robot), spread_positions(robot, q),
                                    spread(robot, v), spread(robot, tau), moved)
        shares = shares_of(robot, RATE_SHARES)
        for e in range(n):
            a[int(shares[e, 1])] = moved[int(shares[e, 0])]
        return status if status == DONE else int(shares[status - 1, 1]) + 1
    M, C = np.empty((n, n)), np.empty((n, n))
    matrices_of(robot, q, v, M, C, a)
    for j in range(n):
        a[j] = tau[j] - a[j]
        for k in range(n):
            a[j] -= C[j, k] * v[k]
    joint = factorise(M)
    if joint != SOLVED:
        return joint + 1
    substitute(M, a)
    return DONE


@equation('q n n', 'n', is_coupled=True, on_demand=True)
def forward_dynamics(robot, q, v, tau, a):
    """Accelerations; one more than a joint without inertia, or DONE."""
    return accelerate(robot, q, v, tau, a)


@routine
def divide_derivatives(robot, q, v, a, da_dq, da_dv, da_dtau):
    """Derivatives of the efforts, divided by the inertia."""
    n = v.size
    M, B = np.empty((n, n)), np.empty((n, 3 * n))
    derivatives_of(robot, q, v, a, da_dq, da_dv, M)
    joint = factorise(M)
    if joint != SOLVED:
        return joint + 1
    for i in range(n):
        for k in columns(0, n):
            B[i, k] = -da_dq[i, k]
            B[i, n + k] = -da_dv[i, k]
            B[i, 2 * n + k] = 0.0
        B[i, 2 * n + i] = 1.0
    substitute_rows(M, B)
    for i in range(n):
        for k in columns(0, n):
            da_dq[i, k] = B[i, k]
            da_dv[i, k] = B[i, n + k]
            da_dtau[i, k] = B[i, 2 * n + k]
    return DONE


@equation('q n n', 'nn nn nn', is_coupled=True, on_demand=True)
def forward_dynamics_derivatives(robot, q, v, tau, da_dq, da_dv, da_dtau):
    """da/dq, da/dv and M^-1."""
    n = v.size
    a = np.empty(n)
    status = accelerate(robot, q, v, tau, a)
    if status != DONE:
        return status
    return divide_derivatives(robot, q, v, a, da_dq, da_dv, da_dtau)


@equation('q n n', 'nn nn nn', is_coupled=True, on_demand=True)
def acceleration_derivatives(robot, q, v, a, da_dq, da_dv, da_dtau):
    """da/dq, da/dv and M^-1 where the acceleration is known."""
    return divide_derivatives(robot, q, v, a, da_dq, da_dv, da_dtau)
