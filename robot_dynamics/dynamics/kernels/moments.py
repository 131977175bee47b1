# SPDX-License-Identifier: Apache-2.0
r"""Moments of mass that each column carries, and the operators computed from them.

With X' = b + O x X the velocity of a particle at X, the moments of a column are::

    m,  h = sum m X,  S = sum m X X^T,  P = sum m X',  D = sum m X' X^T

They determine the inertia I of momenta sum m J, and the Christoffel operator B of the rates sum m
dJ/dt = I dS/dt + B S; see `matrices`.
"""

from robot_dynamics.dynamics.kernels.algebra import (
    add,
    add_matrices,
    add_scaled,
    cross,
    cross_columns,
    load,
    outer,
    product,
    times,
    transpose_times,
)
from robot_dynamics.dynamics.kernels.joint_table import (
    columns,
    get,
    get_matrix,
    get_pair,
    get_symmetric,
    parent_column,
    put,
    put_matrix,
    put_symmetric,
)
from robot_dynamics.dynamics.kernels.layout import INERTIA
from robot_dynamics.dynamics.kernels.loading import helper, routine
from robot_dynamics.dynamics.kernels.motion import (
    AXES,
    FIRST,
    FLOW,
    MASS,
    MOMENTUM,
    POSITION,
    SECOND,
    TWIST,
)


@helper
def second_moment(model, i):
    """Sigma = sum m c c^T = tr(J)/2 1 - J of body i about its link origin, link axes."""
    xx, xy, xz = load(model, i, INERTIA + 4)
    yy, yz, zz = load(model, i, INERTIA + 7)
    half = 0.5 * (xx + yy + zz)
    return (half - xx, -xy, -xz), (-xy, half - yy, -yz), (-xz, -yz, half - zz)


@helper
def transposed(A):
    """A^T."""
    return ((A[0][0], A[1][0], A[2][0]), (A[0][1], A[1][1], A[2][1]), (A[0][2], A[1][2], A[2][2]))


@helper
def turned(axes, A):
    """R A R^T for a symmetric A: from link axes to base axes; also symmetric."""
    half = transposed(product(axes, A))
    xx, xy, xz = times(axes, half[0])
    _, yy, yz = times(axes, half[1])
    _, _, zz = times(axes, half[2])
    return (xx, xy, xz), (xy, yy, yz), (xz, yz, zz)


@helper
def moments_of_rest(model, i, axes, p):
    """Moments m, h and S of body i, which do not depend on its motion."""
    m = model[i, INERTIA]
    h_link = times(axes, load(model, i, INERTIA + 1))
    h = add_scaled(h_link, p, m)
    S = add_matrices(turned(axes, second_moment(model, i)),
                     add_matrices(outer(p, h_link), outer(h, p)))
    return m, h, S


@routine
def measure_all(model, table, count):
    """Moments of mass of each body alone; X' = b + O x X."""
    for i in columns(0, count):
        m, h, S = moments_of_rest(model, i, get_matrix(table, AXES, i), get(table, POSITION, i))
        b, omega = get_pair(table, TWIST, i)
        table[MASS, i] = m
        put(table, FIRST, i, h)
        put_symmetric(table, SECOND, i, S)
        put(table, MOMENTUM, i, add_scaled(cross(omega, h), b, m))
        put_matrix(table, FLOW, i, add_matrices(cross_columns(omega, S), outer(b, h)))


@routine
def measure_at_rest(model, table, count):
    """Moments m, h and S of each body alone."""
    for i in columns(0, count):
        m, h, S = moments_of_rest(model, i, get_matrix(table, AXES, i), get(table, POSITION, i))
        table[MASS, i] = m
        put(table, FIRST, i, h)
        put_symmetric(table, SECOND, i, S)


@routine
def sum_to_base(model, table, stop):
    """Add the moments, and further rows up to ``stop``, from the tips to the base."""
    base = model.shape[0] - 1
    for i in range(base - 1, -1, -1):
        parent = parent_column(model, i)
        if parent != base:
            for row in range(MASS, stop):
                table[row, parent] += table[row, i]


@helper
def spreading(S):
    """Matrix tr S 1 - S, which is -sum m [X] [X] for S = sum m X X^T."""
    trace = S[0][0] + S[1][1] + S[2][2]
    return ((trace - S[0][0], -S[0][1], -S[0][2]), (-S[1][0], trace - S[1][1], -S[1][2]),
            (-S[2][0], -S[2][1], trace - S[2][2]))


@helper
def inertia_at(table, i):
    """Inertia I of column i, as `inertia_on` takes it."""
    return (table[MASS, i], get(table, FIRST, i), spreading(get_symmetric(table, SECOND, i)))


@helper
def inertia_on(inertia, x):
    """I x for a twist x: sum m J and sum m X x J."""
    m, h, J = inertia
    return add_scaled(cross(x[1], h), x[0], m), add(cross(h, x[0]), times(J, x[1]))


@helper
def coriolis_at(table, i, momentum, flow):
    """Christoffel operator B of column i from two of its rows, as `coriolis_on` takes it."""
    return get(table, momentum, i), spreading(get_matrix(table, flow, i))


@helper
def coriolis_on(coriolis, x):
    """B x for a twist x: sum m w x X' and sum m X x (w x X')."""
    P, D = coriolis
    return cross(x[1], P), times(D, x[1])


@helper
def transposed_coriolis_on(coriolis, x):
    """The moment sum m X' x J of B^T x; its force is zero."""
    P, D = coriolis
    return add(cross(P, x[0]), transpose_times(D, x[1]))
