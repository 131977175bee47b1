# SPDX-License-Identifier: Apache-2.0
r"""The Coriolis operator of a rigid body in two factorisations.

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

from robot_dynamics.dynamics.kernels.joint_table import (
    add_pairs,
    add_scaled_pair,
    bracket,
    carried_wrench,
    get_pair,
    put_pair,
    scale_pair,
)
from robot_dynamics.dynamics.kernels.loading import helper, part
from robot_dynamics.dynamics.kernels.moments import inertia_on

CHRISTOFFEL, GAROFALO = 0, 1


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
    """Return A x for a 6 x 6 matrix in 36 rows of a table, column after column."""
    u, w = x
    y = scale_pair(get_pair(A, start, i), u[0])
    y = add_scaled_pair(y, get_pair(A, start + 6, i), u[1])
    y = add_scaled_pair(y, get_pair(A, start + 12, i), u[2])
    y = add_scaled_pair(y, get_pair(A, start + 18, i), w[0])
    y = add_scaled_pair(y, get_pair(A, start + 24, i), w[1])
    return add_scaled_pair(y, get_pair(A, start + 30, i), w[2])


@part
def store_operator(kind, inertia, t, A, start, i):
    """B(t) as a 6 x 6 matrix, as `apply` takes it."""
    for axis in range(6):
        put_pair(A, start + 6 * axis, i, coriolis_by(kind, inertia, t, unit_twist(axis)))
