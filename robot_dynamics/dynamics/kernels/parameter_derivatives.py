# SPDX-License-Identifier: Apache-2.0
r"""Derivatives of M, C and g with respect to the inertial parameters.

M, C and g are linear in them, so the derivative with respect to a parameter is what a body
has that parameter 1 and all others 0 adds; with I_p its inertia, v the twist of the body
and B_p the Coriolis operator of I_p (`coriolis`), for columns j and k that carry it::

    dM_jk/dpi_p = S_j . I_p S_k
    dC_jk/dpi_p = S_j . (I_p dS_k/dt + B_p(v) S_k)
    dg_j/dpi_p  = -S_j . I_p G

Garofalo, Ott, Albu-Schaeffer, "On the closed form computation of the dynamic matrices and
their differentiations", eq. 13; I_p x is the column of A(x) there.
"""

import numpy as np

from robot_dynamics.dynamics.kernels.algebra import ZERO, load
from robot_dynamics.dynamics.kernels.coriolis import coriolis_by
from robot_dynamics.dynamics.kernels.equation import DONE, equation
from robot_dynamics.dynamics.kernels.joint_table import add_pairs, get, get_matrix, get_pair, power
from robot_dynamics.dynamics.kernels.layout import BODY, GRAVITY, INERTIA, LAST_ROW, PARENT, WIDTH
from robot_dynamics.dynamics.kernels.loading import routine
from robot_dynamics.dynamics.kernels.moments import inertia_on, moments_of_rest, spreading
from robot_dynamics.dynamics.kernels.motion import (
    AXES,
    FIELD,
    MASS,
    POSITION,
    RATE,
    TWIST,
    move_all,
    place_all,
)

HEIGHT = MASS  # sines and cosines are the last rows


@routine
def fill_parameter(model, kind, i, inertia, gravity, table, dM, dC, dg):
    """Write what a body of this inertia, which column i moves, adds to M, C and g."""
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
    table, unit = np.empty((HEIGHT, count + 1)), np.zeros((1, WIDTH))
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
