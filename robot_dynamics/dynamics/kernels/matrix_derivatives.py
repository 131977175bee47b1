# SPDX-License-Identifier: Apache-2.0
r"""Derivatives of M, C and g with respect to q and v, and to the inertial parameters.

Column h moves everything that it carries as one body. Relative to this body, a field that column h
does not carry changes by [S_j, S_h], gravity G by [G, S_h], and the twist v of the parent by P_h =
[v, S_h]. I and B are the inertia and the Coriolis operator (`coriolis`) of everything that the
outermost of h, j and k carries; these must be on one branch::

    dM_jk/dq_h = D_j . I S_k + S_j . I D_k
    dC_jk/dq_h = D_j . Q_k + S_j . (I E_k + B D_k + B(P_h) S_k),   Q_k = I dS_k/dt + B S_k
    dC_jk/dv_h = S_j . (I N_k + B(S_h) S_k)
    dg_j/dq_h  = -(D_j . I G + S_j . I [G, S_h])

    where column h carries k   D_k = 0            E_k = [P_h, S_k]        N_k = [S_h, S_k]
    and where it does not      D_k = [S_k, S_h]   E_k = [dS_k/dt, S_h]    N_k = 0

These are the sums over bodies of Garofalo, Ott, Albu-Schaeffer, "On the closed form
computation of the dynamic matrices and their differentiations", eq. 24 with (18)-(20) and
(30)-(32), computed before instead of after the products.

M, C and g are linear in the parameters. The derivative with respect to one of them is the
contribution of a body with that parameter 1 and all others 0. With I_p its inertia, v the twist of
the body and B_p the Coriolis operator of I_p (`coriolis`), for columns j and k that carry it::

    dM_jk/dpi_p = S_j . I_p S_k
    dC_jk/dpi_p = S_j . (I_p dS_k/dt + B_p(v) S_k)
    dg_j/dpi_p  = -S_j . I_p G

Garofalo, Ott, Albu-Schaeffer, "On the closed form computation of the dynamic matrices and
their differentiations", eq. 13; I_p x is the column of A(x) there.
"""

import numpy as np

from robot_dynamics.dynamics.kernels.algebra import ZERO, load
from robot_dynamics.dynamics.kernels.coriolis import apply, coriolis_by, store_operator
from robot_dynamics.dynamics.kernels.equation import DONE, equation
from robot_dynamics.dynamics.kernels.joint_table import (
    add_pairs,
    bracket,
    get,
    get_matrix,
    get_pair,
    is_carried,
    parent_column,
    power,
    put_pair,
)
from robot_dynamics.dynamics.kernels.layout import (
    BODY,
    FIRST_ROW,
    GRAVITY,
    INERTIA,
    LAST_ROW,
    PARENT,
    WIDTH,
)
from robot_dynamics.dynamics.kernels.loading import helper, routine
from robot_dynamics.dynamics.kernels.moments import (
    inertia_at,
    inertia_on,
    measure_all,
    moments_of_rest,
    spreading,
    sum_to_base,
)
from robot_dynamics.dynamics.kernels.motion import (
    AFTER_SUMS,
    AXES,
    FIELD,
    MASS,
    MORE_SUMS,
    POSITION,
    RATE,
    TWIST,
    move_all,
    place_all,
)

# Rows of the table after those of `motion`.
BELOW = AFTER_SUMS        # 6, P_h
MOMENTUM = AFTER_SUMS + 6  # 6, I S_k for the furthest out of three columns
EFFORT = AFTER_SUMS + 12   # 6, Q_k likewise
STATE_HEIGHT = AFTER_SUMS + 18

#: Rows of the table for derivatives by parameters; sines and cosines are the last ones.
PARAMETER_HEIGHT = MASS

# Rows of the table of pairs (h, k), for the furthest out of three columns.
AWAY = 0           # 6, D_k
MASS_AWAY = 6      # 6, I D_k
BY_POSITION = 12   # 6, I E_k + B D_k + B(P_h) S_k
BY_SPEED = 18      # 6, I N_k + B(S_h) S_k
PAIR_HEIGHT = 24


@routine
def prepare(model, q, v, kind, table, B):
    """Fields and their rates, P_h, moments of mass and Coriolis operators, summed."""
    count = model.shape[0] - 1
    place_all(model, q, False, table)
    move_all(model, v, v, v, ZERO, table)
    measure_all(model, table, count)
    for i in range(count):
        store_operator(kind, inertia_at(table, i), get_pair(table, TWIST, i), B, 0, i)
        below = get_pair(table, TWIST, parent_column(model, int(model[i, FIRST_ROW])))
        put_pair(table, BELOW, i, bracket(below, get_pair(table, FIELD, i)))
    sum_to_base(model, table, MORE_SUMS)
    for i in range(count - 1, -1, -1):
        parent = parent_column(model, i)
        if parent < count:
            for row in range(36):
                B[row, parent] += B[row, i]


@routine
def fill_table_of_pairs(model, kind, e, branch, length, table, B, pairs):
    """Compute the quantities of (h, k) for triples with column e as the outermost."""
    count = model.shape[0] - 1
    inertia = inertia_at(table, e)
    for b in range(length):
        k = branch[b]
        S, dS = get_pair(table, FIELD, k), get_pair(table, RATE, k)
        put_pair(table, MOMENTUM, k, inertia_on(inertia, S))
        put_pair(table, EFFORT, k, add_pairs(inertia_on(inertia, dS), apply(B, 0, e, S)))
    for c in range(length):
        h = branch[c]
        S_h, below = get_pair(table, FIELD, h), get_pair(table, BELOW, h)
        for b in range(length):
            k = branch[b]
            at = h * count + k
            S, dS = get_pair(table, FIELD, k), get_pair(table, RATE, k)
            by_position = coriolis_by(kind, inertia, below, S)
            by_speed = coriolis_by(kind, inertia, S_h, S)
            away = (ZERO, ZERO)
            if is_carried(model, k, h):
                by_position = add_pairs(by_position, inertia_on(inertia, bracket(below, S)))
                by_speed = add_pairs(by_speed, inertia_on(inertia, bracket(S_h, S)))
            else:
                away = bracket(S, S_h)
                by_position = add_pairs(by_position, add_pairs(
                    inertia_on(inertia, bracket(dS, S_h)), apply(B, 0, e, away)))
            put_pair(pairs, AWAY, at, away)
            put_pair(pairs, MASS_AWAY, at, inertia_on(inertia, away))
            put_pair(pairs, BY_POSITION, at, by_position)
            put_pair(pairs, BY_SPEED, at, by_speed)


@helper
def fill_entry(count, h, j, k, table, pairs, dM, dCq, dCv):
    """Differentiate M_jk and C_jk along column h."""
    S, away = get_pair(table, FIELD, j), get_pair(pairs, AWAY, h * count + j)
    at = h * count + k
    dM[h, j, k] = (power(away, get_pair(table, MOMENTUM, k))
                   + power(S, get_pair(pairs, MASS_AWAY, at)))
    dCq[h, j, k] = (power(away, get_pair(table, EFFORT, k))
                    + power(S, get_pair(pairs, BY_POSITION, at)))
    dCv[h, j, k] = power(S, get_pair(pairs, BY_SPEED, at))


@helper
def fill_gravity(count, gravity, inertia, h, j, table, pairs, dg):
    """Differentiate g_j along column h."""
    S, away = get_pair(table, FIELD, j), get_pair(pairs, AWAY, h * count + j)
    turned = bracket(gravity, get_pair(table, FIELD, h))
    dg[h, j] = -(power(away, inertia_on(inertia, gravity))
                 + power(S, inertia_on(inertia, turned)))


@equation('1 q n', 'nnn nnn nnn nn', on_demand=True)
def state_derivatives(model, kind, q, v, dM, dCq, dCv, dg):
    """Derivatives of M and C, [h, j, k], and g, [h, j]."""
    count = model.shape[0] - 1
    table, B = np.empty((STATE_HEIGHT, count + 1)), np.empty((36, count))
    pairs = np.empty((PAIR_HEIGHT, count * count))
    branch = np.empty(count, np.int64)
    gravity = (load(model, count, GRAVITY), ZERO)
    prepare(model, q, v, kind[0], table, B)
    dM[:] = 0.0
    dCq[:] = 0.0
    dCv[:] = 0.0
    dg[:] = 0.0
    for e in range(count):
        length = 0
        k = e
        while k >= 0:
            branch[length] = k
            length += 1
            k = int(model[k, PARENT])
        fill_table_of_pairs(model, kind[0], e, branch, length, table, B, pairs)
        inertia = inertia_at(table, e)
        for c in range(length):
            other = branch[c]
            fill_gravity(count, gravity, inertia, e, other, table, pairs, dg)
            fill_gravity(count, gravity, inertia, other, e, table, pairs, dg)
            # Every triple with e in it: e first, then second, then third.
            for b in range(length):
                fill_entry(count, e, other, branch[b], table, pairs, dM, dCq, dCv)
                fill_entry(count, other, e, branch[b], table, pairs, dM, dCq, dCv)
                fill_entry(count, other, branch[b], e, table, pairs, dM, dCq, dCv)
    return DONE



@routine
def fill_parameter(model, kind, i, inertia, gravity, table, dM, dC, dg):
    """Write the contribution of a body with this inertia, moved by column i, to M, C and g."""
    twist = get_pair(table, TWIST, i)
    k = i
    while k >= 0:
        S = get_pair(table, FIELD, k)
        momentum = inertia_on(inertia, S)
        effort = add_pairs(inertia_on(inertia, get_pair(table, RATE, k)),
                           coriolis_by(kind, inertia, twist, S))
        dg[k] = -power(S, inertia_on(inertia, gravity))
        j = i
        while j >= 0:
            S_j = get_pair(table, FIELD, j)
            dM[j, k] = power(S_j, momentum)
            dC[j, k] = power(S_j, effort)
            j = int(model[j, PARENT])
        k = int(model[k, PARENT])


@equation('1 q n', 'pnn pnn pn', on_demand=True)
def parameter_derivatives(model, kind, q, v, dM, dC, dg):
    """Derivatives of M and C, [p, j, k], and g, [p, j]."""
    count = model.shape[0] - 1
    gravity = (load(model, count, GRAVITY), ZERO)
    table, unit = np.empty((PARAMETER_HEIGHT, count + 1)), np.zeros((1, WIDTH))
    dM[:] = 0.0
    dC[:] = 0.0
    dg[:] = 0.0
    place_all(model, q, False, table)
    move_all(model, v, v, v, ZERO, table)
    for i in range(count):
        if i == int(model[i, LAST_ROW]):
            axes, position = get_matrix(table, AXES, i), get(table, POSITION, i)
            for p in range(10):
                unit[0, INERTIA:INERTIA + 10] = 0.0
                unit[0, INERTIA + p] = 1.0
                m, h, S = moments_of_rest(unit, 0, axes, position)
                at = 10 * int(model[i, BODY]) + p
                fill_parameter(model, kind[0], i, (m, h, spreading(S)), gravity, table,
                               dM[at], dC[at], dg[at])
    return DONE
