# SPDX-License-Identifier: Apache-2.0
r"""Derivatives of the inverse dynamics tau(q, v, a).

A joint moves everything that it carries as one body. Relative to this body, the twist v and the
acceleration a (less gravity) of the parent change by P_k = [v, S_k] and R_k = [a, S_k] + [v, P_k]
(`motion`). I and B are the inertia and the Christoffel operator of everything that the outer one
of two columns carries, and f the wrench that its motion requires::

    d tau_k / d q_j = S_k . (2 B P_j + I R_j)                 column k moves with column j
    d tau_j / d q_k = S_j . (2 B P_k + I R_k + S_k x* f)      column j does not move with k
    d tau_k / d v_j = S_k . (2 B S_j + I (P_j + dS_j/dt))     either
    d tau_k / d a_j = S_k . I S_j                             either

Singh, Russell, Wensing, "Efficient analytical derivatives of rigid-body dynamics using
spatial vector algebra". The same derivatives by the matrices are dM/dq_h a + dC/dq_h v +
dg/dq_h: Garofalo, Ott, Albu-Schaeffer, "On the closed form computation of the dynamic
matrices and their differentiations", eq. 24.

For joints of one coordinate P_k and R_k are the rates of S_k.
"""

import numpy as np

from robot_dynamics.dynamics.kernels.algebra import dot, load, scale
from robot_dynamics.dynamics.kernels.equation import DONE, equation
from robot_dynamics.dynamics.kernels.joint_table import (
    add_pairs,
    add_scaled_pair,
    bracket,
    carried_wrench,
    carries_beyond,
    columns,
    get,
    get_pair,
    parent_column,
    power,
    put,
    put_pair,
    run_end,
    scale_pair,
)
from robot_dynamics.dynamics.kernels.layout import FIRST_ROW, GRAVITY, LAST_ROW
from robot_dynamics.dynamics.kernels.loading import helper, routine
from robot_dynamics.dynamics.kernels.matrices import add_armature, clear
from robot_dynamics.dynamics.kernels.moments import (
    coriolis_at,
    coriolis_on,
    inertia_at,
    inertia_on,
    measure_all,
    sum_to_base,
    transposed_coriolis_on,
)
from robot_dynamics.dynamics.kernels.motion import (
    ACCELERATION,
    AFTER_SUMS,
    CURVE,
    FIELD,
    FLOW,
    MOMENTUM,
    RATE,
    TWIST,
    bend_all,
    move_all,
    place_all,
)
from robot_dynamics.dynamics.kernels.newton_euler import WRENCH, ask_for_wrenches

# Rows of the table after those of `motion`. CURVE becomes R; WRENCH is f.
SUMS_END = WRENCH + 6
BELOW = AFTER_SUMS             # 6, P
BOTH = AFTER_SUMS + 6          # 6, P + dS/dt
LOAD = AFTER_SUMS + 12         # 6, I S
FLOW_LOAD = AFTER_SUMS + 18    # 3, 2 B^T S, moment only
BY_POSITION = AFTER_SUMS + 21  # 6, 2 B P + I R + S x* f
BY_SPEED = AFTER_SUMS + 27     # 6, 2 B S + I (P + dS/dt)
HEIGHT = AFTER_SUMS + 33


@routine
def find_what_reaches_joints(model, table, count):
    """P, R and P + dS/dt of each column."""
    for k in columns(0, count):
        rate = get_pair(table, RATE, k)
        put_pair(table, BELOW, k, rate)
        put_pair(table, BOTH, k, scale_pair(rate, 2.0))
    for k in range(count):
        first = int(model[k, FIRST_ROW])
        if first != int(model[k, LAST_ROW]):
            parent = parent_column(model, first)
            field, twist = get_pair(table, FIELD, k), get_pair(table, TWIST, parent)
            below = bracket(twist, field)
            put_pair(table, BELOW, k, below)
            put_pair(table, BOTH, k, add_pairs(below, get_pair(table, RATE, k)))
            put_pair(table, CURVE, k, add_pairs(
                bracket(get_pair(table, ACCELERATION, parent), field), bracket(twist, below)))


@routine
def load_columns(table, count):
    """Load the quantities for the entries of a column with those that carry it."""
    for k in columns(0, count):
        inertia, coriolis = inertia_at(table, k), coriolis_at(table, k, MOMENTUM, FLOW)
        S, below = get_pair(table, FIELD, k), get_pair(table, BELOW, k)
        put_pair(table, LOAD, k, inertia_on(inertia, S))
        put(table, FLOW_LOAD, k, scale(transposed_coriolis_on(coriolis, S), 2.0))
        put_pair(table, BY_SPEED, k, add_scaled_pair(
            inertia_on(inertia, get_pair(table, BOTH, k)), coriolis_on(coriolis, S), 2.0))
        by_motion = add_scaled_pair(inertia_on(inertia, get_pair(table, CURVE, k)),
                                    coriolis_on(coriolis, below), 2.0)
        put_pair(table, BY_POSITION, k,
                 add_pairs(by_motion, carried_wrench(S, get_pair(table, WRENCH, k))))


@helper
def fill_pairs(table, j, start, stop, dq, dv, M):
    """Entries of column j with the columns start to stop, all of which it carries."""
    S, R = get_pair(table, FIELD, j), get_pair(table, CURVE, j)
    below, both = get_pair(table, BELOW, j), get_pair(table, BOTH, j)
    for k in columns(start, stop):
        load_k, flow_k = get_pair(table, LOAD, k), get(table, FLOW_LOAD, k)
        mass = power(S, load_k)
        M[j, k] = mass
        M[k, j] = mass
        dq[j, k] = power(S, get_pair(table, BY_POSITION, k))
        dv[j, k] = power(S, get_pair(table, BY_SPEED, k))
        dq[k, j] = power(R, load_k) + dot(below[1], flow_k)
        dv[k, j] = power(both, load_k) + dot(S[1], flow_k)


@routine
def correct_within_joints(model, table, count, dq):
    """Columns of one joint move together: subtract S x* f again."""
    for k in range(count):
        wrench = carried_wrench(get_pair(table, FIELD, k), get_pair(table, WRENCH, k))
        for j in range(int(model[k, FIRST_ROW]), k):
            dq[j, k] -= power(get_pair(table, FIELD, j), wrench)


@equation('q n n', 'nn nn nn', on_demand=True)
def inverse_dynamics_derivatives(model, q, v, a, dq, dv, M):
    """Derivatives of tau along q, v and a."""
    count = model.shape[0] - 1
    table = np.empty((HEIGHT, count + 1))
    place_all(model, q, False, table)
    move_all(model, v, v, a, scale(load(model, count, GRAVITY), -1.0), table)
    bend_all(table, count)
    find_what_reaches_joints(model, table, count)
    measure_all(model, table, count)
    ask_for_wrenches(table, count)
    sum_to_base(model, table, SUMS_END)
    load_columns(table, count)
    clear(dq)
    clear(dv)
    clear(M)
    for j in range(count):
        end = run_end(model, j)
        fill_pairs(table, j, j, end, dq, dv, M)
        for k in range(end, count):
            if carries_beyond(model, j, k):
                fill_pairs(table, j, k, k + 1, dq, dv, M)
    correct_within_joints(model, table, count, dq)
    add_armature(model, M)
    return DONE
