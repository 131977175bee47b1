# SPDX-License-Identifier: Apache-2.0
r"""The matrix C and its time derivative in a factorisation of choice.

With I and B summed over all that the further out of columns j and k carries::

    C_jk     = S_j . Q_k,   Q_k = I dS_k/dt + B S_k
    dC_jk/dt = dS_j/dt . Q_k
               + S_j . (dI/dt dS_k/dt + I d2S_k/dt2 + dB/dt S_k + B dS_k/dt)

where dI/dt = B + B^T, and for each body dB/dt x = B(a) x + v x* B(v) x - B(v) [v, x].
Garofalo, Ott, Albu-Schaeffer, "On the closed form computation of the dynamic matrices and
their differentiations", eqs. 6b and 25b. `matrices` and `time_derivatives` are the faster
way to the Christoffel matrix.
"""

import numpy as np

from robot_dynamics.dynamics.kernels.algebra import ZERO
from robot_dynamics.dynamics.kernels.factorisations import (
    apply,
    coriolis_by,
    store_operator,
    unit_twist,
)
from robot_dynamics.dynamics.kernels.joint_table import (
    add_pairs,
    add_scaled_pair,
    bracket,
    carried_wrench,
    get_pair,
    parent_column,
    power,
    put_pair,
)
from robot_dynamics.dynamics.kernels.layout import PARENT
from robot_dynamics.dynamics.kernels.loading import helper, kernel, part
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
)

# Rows of the table of operators: B, dB/dt and dI/dt, column after column.
OPERATOR, OPERATOR_RATE, INERTIA_RATE = 0, 36, 72
OPERATORS = 108
HEIGHT = AFTER_SUMS


@part
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


@kernel('void(float64[:, ::1], float64[:, ::1], float64[:, ::1], float64[:, ::1], int64, '
        'float64[:, :, ::1], float64[:, :, ::1])', nogil=True)
def coriolis_in_time(model, q, v, a, kind, C, dC):
    """C and its time derivative for each row of q, v and a."""
    count = model.shape[0] - 1
    table, A = np.empty((HEIGHT, count + 1)), np.empty((OPERATORS, count))
    C[:] = 0.0
    dC[:] = 0.0
    for s in range(q.shape[0]):
        move_all(model, q[s], v[s], a[s], ZERO, False, table)
        bend_all(table, count)
        measure_all(model, table, count)
        for i in range(count):
            store_operators(kind, table, A, i)
        sum_to_base(model, table, MORE_SUMS)
        for e in range(count - 1, -1, -1):
            parent = parent_column(model, e)
            if parent < count:
                for row in range(OPERATORS):
                    A[row, parent] += A[row, e]
            inertia = inertia_at(table, e)
            j = e
            while j >= 0:
                C[s, j, e], dC[s, j, e] = entry(table, A, inertia, e, j, e)
                if j != e:
                    C[s, e, j], dC[s, e, j] = entry(table, A, inertia, e, e, j)
                j = int(model[j, PARENT])
