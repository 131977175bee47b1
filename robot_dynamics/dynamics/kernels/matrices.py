# SPDX-License-Identifier: Apache-2.0
r"""Mass matrix, Christoffel matrix and gravity in one pass.

I and B are the inertia and the Christoffel operator (`moments`) of everything that the outer one
of two columns carries: sum m J = I S and sum m dJ/dt = I dS/dt + B S as wrenches. For column k,
and for every column j that carries it::

    P_k = I S_k,        Q_k = I dS_k/dt + B S_k,        F_k = B^T S_k
    M_jk = S_j . P_k,   C_jk = S_j . Q_k,               C_kj = dS_j/dt . P_k + S_j . F_k
    g_k = -g_0 . (force of P_k)

C is the Christoffel matrix: for a particle, J_i . d2X/dq_j dq_k is the Christoffel symbol
of the first kind. The fields of a joint of several coordinates are fixed to the body that it
moves, and C v_r = sum m J^T (dJ/dt) v_r is the Coriolis term for which dM/dt - 2 C is
skew-symmetric also in these velocities.
"""

import numpy as np

from robot_dynamics.dynamics.kernels.algebra import ZERO, dot, load
from robot_dynamics.dynamics.kernels.equation import DONE, equation
from robot_dynamics.dynamics.kernels.joint_table import (
    add_pairs,
    carries_beyond,
    columns,
    get,
    get_pair,
    power,
    put,
    put_pair,
    run_end,
)
from robot_dynamics.dynamics.kernels.layout import ARMATURE, GRAVITY
from robot_dynamics.dynamics.kernels.loading import helper, routine
from robot_dynamics.dynamics.kernels.moments import (
    coriolis_at,
    coriolis_on,
    inertia_at,
    inertia_on,
    measure_all,
    measure_at_rest,
    sum_to_base,
    transposed_coriolis_on,
)
from robot_dynamics.dynamics.kernels.motion import (
    AFTER_SUMS,
    FIELD,
    FLOW,
    MOMENTUM,
    MORE_SUMS,
    RATE,
    move_all,
    place_all,
)

# Rows of the table after those of `motion`.
P = AFTER_SUMS        # 6
Q = AFTER_SUMS + 6    # 6
F = AFTER_SUMS + 12   # 3, moment only
HEIGHT = AFTER_SUMS + 15


@routine
def clear(A):
    """Fill a matrix with zeros."""
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            A[i, j] = 0.0


@routine
def add_armature(model, M):
    """Rotor inertia on the diagonal."""
    for k in range(M.shape[0]):
        M[k, k] += model[k, ARMATURE]


@helper
def fill_pairs(table, j, start, stop, M, C):
    """Entries of column j with the columns start to stop, all of which it carries."""
    S, dS = get_pair(table, FIELD, j), get_pair(table, RATE, j)
    for k in columns(start, stop):
        P_k = get_pair(table, P, k)
        mass = power(S, P_k)
        M[j, k] = mass
        M[k, j] = mass
        C[j, k] = power(S, get_pair(table, Q, k))
        C[k, j] = power(dS, P_k) + dot(S[1], get(table, F, k))


@routine
def fill_matrices(model, q, v, table, M, C, g):
    """M, C and g of one sample; ``table`` is of shape (HEIGHT, columns + 1)."""
    count = model.shape[0] - 1
    gravity = load(model, count, GRAVITY)
    place_all(model, q, False, table)
    move_all(model, v, v, v, ZERO, table)
    measure_all(model, table, count)
    sum_to_base(model, table, MORE_SUMS)
    for k in columns(0, count):
        inertia, coriolis = inertia_at(table, k), coriolis_at(table, k, MOMENTUM, FLOW)
        S, dS = get_pair(table, FIELD, k), get_pair(table, RATE, k)
        put_pair(table, P, k, inertia_on(inertia, S))
        put_pair(table, Q, k, add_pairs(inertia_on(inertia, dS), coriolis_on(coriolis, S)))
        put(table, F, k, transposed_coriolis_on(coriolis, S))
    clear(M)
    clear(C)
    for j in range(count):
        g[j] = -dot(gravity, get(table, P, j))
        end = run_end(model, j)
        fill_pairs(table, j, j, end, M, C)
        for k in range(end, count):
            if carries_beyond(model, j, k):
                fill_pairs(table, j, k, k + 1, M, C)
    add_armature(model, M)


@equation('q n', 'nn nn n')
def matrices(model, q, v, M, C, g):
    """M, C and g."""
    fill_matrices(model, q, v, np.empty((HEIGHT, model.shape[0])), M, C, g)
    return DONE


@equation('q', 'nn')
def mass_matrix(model, q, M):
    """M."""
    count = model.shape[0] - 1
    table = np.empty((HEIGHT, count + 1))
    place_all(model, q, False, table)
    measure_at_rest(model, table, count)
    sum_to_base(model, table, MOMENTUM)
    for k in columns(0, count):
        put_pair(table, P, k, inertia_on(inertia_at(table, k), get_pair(table, FIELD, k)))
    clear(M)
    for j in range(count):
        S, end = get_pair(table, FIELD, j), run_end(model, j)
        for k in columns(j, end):
            mass = power(S, get_pair(table, P, k))
            M[j, k] = mass
            M[k, j] = mass
        for k in range(end, count):
            if carries_beyond(model, j, k):
                M[j, k] = M[k, j] = power(S, get_pair(table, P, k))
    add_armature(model, M)
    return DONE
