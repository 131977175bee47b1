# SPDX-License-Identifier: Apache-2.0
r"""M, C and g and their time derivatives in one pass.

S_k and their rates are the fields (`motion`), I and B the inertia and the Christoffel operator of
everything that the outer one of two columns carries: sum m J = I S and sum m dJ/dt = I dS/dt + B S
as wrenches. For column k::

    P_k = I S_k                      F_k = B^T S_k
    Q_k = I dS_k/dt + B S_k          dP_k/dt = Q_k + F_k
    dQ_k/dt = I d2S_k/dt2 + (2 B + B^T) dS_k/dt + dB/dt S_k
    dF_k/dt = B^T dS_k/dt + dB^T/dt S_k

and for every column j that carries column k::

    M_jk = S_j . P_k,    C_jk = S_j . Q_k,    C_kj = dS_j/dt . P_k + S_j . F_k
    dC_jk/dt = dS_j/dt . Q_k + S_j . dQ_k/dt
    dC_kj/dt = d2S_j/dt2 . P_k + dS_j/dt . (Q_k + 2 F_k) + S_j . dF_k/dt
    dM/dt    = C + C^T
    dg_k/dt  = -g_0 . (force of Q_k)

B contains sum m X' and sum m X' X^T, so dB/dt contains sum m X'' and sum m (X'' X^T + X' X'^T).
Garofalo, Ott, Albu-Schaeffer, "On the closed form computation of the dynamic matrices and their
differentiations", eq. 25 and remark 5, with the Christoffel matrix for C.
"""

import numpy as np

from robot_dynamics.dynamics.kernels.algebra import (
    ZERO,
    add,
    add_matrices,
    add_scaled,
    cross,
    cross_columns,
    dot,
    load,
    outer,
)
from robot_dynamics.dynamics.kernels.equation import DONE, equation
from robot_dynamics.dynamics.kernels.joint_table import (
    add_pairs,
    add_scaled_pair,
    carries_beyond,
    columns,
    get,
    get_matrix,
    get_pair,
    get_symmetric,
    power,
    put,
    put_matrix,
    put_pair,
    run_end,
)
from robot_dynamics.dynamics.kernels.layout import GRAVITY
from robot_dynamics.dynamics.kernels.loading import helper, routine
from robot_dynamics.dynamics.kernels.matrices import add_armature, clear
from robot_dynamics.dynamics.kernels.moments import (
    coriolis_at,
    coriolis_on,
    inertia_at,
    inertia_on,
    measure_all,
    sum_to_base,
    transposed,
    transposed_coriolis_on,
)
from robot_dynamics.dynamics.kernels.motion import (
    ACCELERATION,
    AFTER_SUMS,
    CURVE,
    FIELD,
    FIRST,
    FLOW,
    MASS,
    MOMENTUM,
    MORE_SUMS,
    RATE,
    SECOND,
    TWIST,
    bend_all,
    move_all,
    place_all,
)

# Rows of the table after those of `motion`.
MOMENTUM_RATE = MORE_SUMS    # 3, sum m X''
FLOW_RATE = MORE_SUMS + 3    # 9, sum m (X'' X^T + X' X'^T)
SUMS_END = MORE_SUMS + 12
P = AFTER_SUMS               # 6
Q = AFTER_SUMS + 6           # 6
F = AFTER_SUMS + 12          # 3, moment only
Q_RATE = AFTER_SUMS + 15     # 6
F_RATE = AFTER_SUMS + 21     # 3, moment only
HEIGHT = AFTER_SUMS + 24


@routine
def measure_rates(table, count):
    """Rates of the moments of mass of each body alone.

    With A = dO/dt, X' = b + O x X and X'' = db/dt + A x X + O x X', where
    sum m X X'^T = D^T.
    """
    for i in columns(0, count):
        m, h = table[MASS, i], get(table, FIRST, i)
        momentum, D = get(table, MOMENTUM, i), get_matrix(table, FLOW, i)
        b, omega = get_pair(table, TWIST, i)
        db, alpha = get_pair(table, ACCELERATION, i)
        turning = add_matrices(cross_columns(alpha, get_symmetric(table, SECOND, i)),
                               cross_columns(omega, add_matrices(D, transposed(D))))
        put(table, MOMENTUM_RATE, i,
            add(add_scaled(cross(alpha, h), db, m), cross(omega, momentum)))
        put_matrix(table, FLOW_RATE, i,
                   add_matrices(turning, add_matrices(outer(db, h), outer(b, momentum))))


@routine
def load_wrenches(table, count):
    """P, Q, F and the rates of the latter two, of each column."""
    for k in columns(0, count):
        inertia, coriolis = inertia_at(table, k), coriolis_at(table, k, MOMENTUM, FLOW)
        coriolis_rate = coriolis_at(table, k, MOMENTUM_RATE, FLOW_RATE)
        S, dS, ddS = get_pair(table, FIELD, k), get_pair(table, RATE, k), get_pair(table, CURVE, k)
        put_pair(table, P, k, inertia_on(inertia, S))
        put_pair(table, Q, k, add_pairs(inertia_on(inertia, dS), coriolis_on(coriolis, S)))
        put(table, F, k, transposed_coriolis_on(coriolis, S))
        of_rate = transposed_coriolis_on(coriolis, dS)
        put(table, F_RATE, k, add(of_rate, transposed_coriolis_on(coriolis_rate, S)))
        force, moment = add_pairs(
            add_scaled_pair(inertia_on(inertia, ddS), coriolis_on(coriolis, dS), 2.0),
            coriolis_on(coriolis_rate, S))
        put_pair(table, Q_RATE, k, (force, add(moment, of_rate)))


@helper
def fill_pairs(table, j, start, stop, M, C, dM, dC):
    """Entries of column j with the columns start to stop, all of which it carries."""
    S, dS, ddS = get_pair(table, FIELD, j), get_pair(table, RATE, j), get_pair(table, CURVE, j)
    for k in columns(start, stop):
        P_k, Q_k = get_pair(table, P, k), get_pair(table, Q, k)
        F_k = get(table, F, k)
        mass, outward = power(S, P_k), power(S, Q_k)
        inward = power(dS, P_k) + dot(S[1], F_k)
        M[j, k] = mass
        M[k, j] = mass
        C[j, k] = outward
        C[k, j] = inward
        dM[j, k] = outward + inward
        dM[k, j] = outward + inward
        dC[j, k] = power(dS, Q_k) + power(S, get_pair(table, Q_RATE, k))
        dC[k, j] = (power(ddS, P_k) + power(dS, (Q_k[0], add_scaled(Q_k[1], F_k, 2.0)))
                    + dot(S[1], get(table, F_RATE, k)))


@equation('q n n', 'nn nn n nn nn n', on_demand=True)
def matrix_time_derivatives(model, q, v, a, M, C, g, dM, dC, dg):
    """M, C, g and their time derivatives."""
    count = model.shape[0] - 1
    gravity = load(model, count, GRAVITY)
    table = np.empty((HEIGHT, count + 1))
    place_all(model, q, False, table)
    move_all(model, v, v, a, ZERO, table)
    bend_all(table, count)
    measure_all(model, table, count)
    measure_rates(table, count)
    sum_to_base(model, table, SUMS_END)
    load_wrenches(table, count)
    clear(M)
    clear(C)
    clear(dM)
    clear(dC)
    for j in range(count):
        g[j] = -dot(gravity, get(table, P, j))
        dg[j] = -dot(gravity, get(table, Q, j))
        end = run_end(model, j)
        fill_pairs(table, j, j, end, M, C, dM, dC)
        for k in range(end, count):
            if carries_beyond(model, j, k):
                fill_pairs(table, j, k, k + 1, M, C, dM, dC)
    add_armature(model, M)
    return DONE
