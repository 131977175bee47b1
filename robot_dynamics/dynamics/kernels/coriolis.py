# SPDX-License-Identifier: Apache-2.0
r"""The matrix C and its time derivative in a selectable factorisation.

With I and B summed over all that the further out of columns j and k carries::

    C_jk     = S_j . Q_k,   Q_k = I dS_k/dt + B S_k
    dC_jk/dt = dS_j/dt . Q_k
               + S_j . (dI/dt dS_k/dt + I d2S_k/dt2 + dB/dt S_k + B dS_k/dt)

where dI/dt = B + B^T, and for each body dB/dt x = B(a) x + v x* B(v) x - B(v) [v, x].
Garofalo, Ott, Albu-Schaeffer, "On the closed form computation of the dynamic matrices and
their differentiations", eqs. 6b and 25b. `matrices` and `time_derivatives` compute the Christoffel
matrix faster.

A body of inertia I that moves with twist t adds S_j . (I dS_k/dt + B(t) S_k) to C_jk, where
B(t) is linear in t. Two choices of B give the same C v and C + C^T = dM/dt, since in both
B + B^T = dI/dt::

    Christoffel   B(t) x = 1/2 (t x* I x - I [t, x] + x x* I t)
    Garofalo      B(t) x = t x* I x

with x* as in `joint_table.carried_wrench`. The first makes C_jk the Christoffel symbols of
M times v, symmetric in the two velocities: B(t) x = B(x) t up to I [x, t]. The second is
Psi_k of Garofalo, Ott, Albu-Schaeffer, "On the closed form computation of the dynamic
matrices and their differentiations", eqs. 3 and 6b, in the axes of the base instead of the
body's.
"""

import numpy as np

from robot_dynamics.dynamics.kernels.algebra import ZERO
from robot_dynamics.dynamics.kernels.equation import DONE, equation
from robot_dynamics.dynamics.kernels.joint_table import (
    add_pairs,
    add_scaled_pair,
    bracket,
    carried_wrench,
    get_pair,
    parent_column,
    power,
    put_pair,
    scale_pair,
)
from robot_dynamics.dynamics.kernels.layout import PARENT
from robot_dynamics.dynamics.kernels.loading import helper, routine
from robot_dynamics.dynamics.kernels.matrices import clear
from robot_dynamics.dynamics.kernels.moments import (
    inertia_at,
    inertia_on,
    measure_all,
    sum_to_base,
)
from robot_dynamics.dynamics.kernels.motion import (
    ACCELERATION,
    AFTER_SUMS,
    CURVE,
    FIELD,
    MORE_SUMS,
    RATE,
    TWIST,
    bend_all,
    move_all,
    place_all,
)

CHRISTOFFEL, GAROFALO = 0, 1

# Rows of the table of operators: B, dB/dt and dI/dt, column after column.
OPERATOR, OPERATOR_RATE, INERTIA_RATE = 0, 36, 72
OPERATORS = 108
HEIGHT = AFTER_SUMS


@helper
def coriolis_by(kind, inertia, t, x):
    """B(t) x of a factorisation."""
    wrench = carried_wrench(t, inertia_on(inertia, x))
    if kind == GAROFALO:
        return wrench
    return scale_pair(add_scaled_pair(
        add_pairs(wrench, carried_wrench(x, inertia_on(inertia, t))),
        inertia_on(inertia, bracket(t, x)), -1.0), 0.5)


@helper
def unit_twist(axis):
    """Twist of which one of six components is 1."""
    return ((1.0 * (axis == 0), 1.0 * (axis == 1), 1.0 * (axis == 2)),
            (1.0 * (axis == 3), 1.0 * (axis == 4), 1.0 * (axis == 5)))


@helper
def apply(A, start, i, x):
    """A x for a 6 x 6 matrix in 36 rows of a table, column after column."""
    u, w = x
    y = scale_pair(get_pair(A, start, i), u[0])
    y = add_scaled_pair(y, get_pair(A, start + 6, i), u[1])
    y = add_scaled_pair(y, get_pair(A, start + 12, i), u[2])
    y = add_scaled_pair(y, get_pair(A, start + 18, i), w[0])
    y = add_scaled_pair(y, get_pair(A, start + 24, i), w[1])
    return add_scaled_pair(y, get_pair(A, start + 30, i), w[2])


@routine
def store_operator(kind, inertia, t, A, start, i):
    """B(t) as a 6 x 6 matrix, as `apply` takes it."""
    for axis in range(6):
        put_pair(A, start + 6 * axis, i, coriolis_by(kind, inertia, t, unit_twist(axis)))


@routine
def store_operators(kind, table, A, i):
    """B, dB/dt and dI/dt of the body of column i alone."""
    inertia = inertia_at(table, i)
    v, a = get_pair(table, TWIST, i), get_pair(table, ACCELERATION, i)
    store_operator(kind, inertia, v, A, OPERATOR, i)
    for axis in range(6):
        x = unit_twist(axis)
        moved = bracket(v, x)
        put_pair(A, INERTIA_RATE + 6 * axis, i, add_scaled_pair(
            carried_wrench(v, inertia_on(inertia, x)), inertia_on(inertia, moved), -1.0))
        rate = add_pairs(coriolis_by(kind, inertia, a, x),
                         carried_wrench(v, apply(A, OPERATOR, i, x)))
        put_pair(A, OPERATOR_RATE + 6 * axis, i,
                 add_scaled_pair(rate, apply(A, OPERATOR, i, moved), -1.0))


@helper
def entry(table, A, inertia, e, j, k):
    """C_jk and its rate, where e is the further out of j and k."""
    S_j, dS_j = get_pair(table, FIELD, j), get_pair(table, RATE, j)
    S, dS, ddS = get_pair(table, FIELD, k), get_pair(table, RATE, k), get_pair(table, CURVE, k)
    effort = add_pairs(inertia_on(inertia, dS), apply(A, OPERATOR, e, S))
    rate = add_pairs(
        add_pairs(apply(A, INERTIA_RATE, e, dS), inertia_on(inertia, ddS)),
        add_pairs(apply(A, OPERATOR_RATE, e, S), apply(A, OPERATOR, e, dS)))
    return power(S_j, effort), power(dS_j, effort) + power(S_j, rate)


@equation('1 q n n', 'nn nn', on_demand=True)
def coriolis_in_time(model, kind, q, v, a, C, dC):
    """C and its time derivative."""
    count = model.shape[0] - 1
    table, A = np.empty((HEIGHT, count + 1)), np.empty((OPERATORS, count))
    place_all(model, q, False, table)
    move_all(model, v, v, a, ZERO, table)
    bend_all(table, count)
    measure_all(model, table, count)
    for i in range(count):
        store_operators(kind[0], table, A, i)
    sum_to_base(model, table, MORE_SUMS)
    clear(C)
    clear(dC)
    for e in range(count - 1, -1, -1):
        parent = parent_column(model, e)
        if parent < count:
            for row in range(OPERATORS):
                A[row, parent] += A[row, e]
        inertia = inertia_at(table, e)
        j = e
        while j >= 0:
            C[j, e], dC[j, e] = entry(table, A, inertia, e, j, e)
            if j != e:
                C[e, j], dC[e, j] = entry(table, A, inertia, e, e, j)
            j = int(model[j, PARENT])
    return DONE
