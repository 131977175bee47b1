# SPDX-License-Identifier: Apache-2.0
"""Columns for friction, armature and offset; see `robot_dynamics.dynamics.joint_terms`.

A choice of terms comes as a vector: epsilon of the smooth sign, then a code for each.
"""

import math

from robot_dynamics.dynamics.kernels.loading import helper, kernel, part

VISCOUS, COULOMB, ARMATURE, OFFSET = range(4)


@helper
def term_value(code, v, a, epsilon):
    """Effort per unit of a term's parameter."""
    if code == VISCOUS:
        return v
    if code == COULOMB:
        return math.tanh(v / epsilon)
    if code == ARMATURE:
        return a
    return 1.0


@part
def fill_term_columns(choice, v, a, first, out):
    """Write a diagonal block for each term into out, from column ``first`` on."""
    n = v.size
    for j in range(n):
        for c in range(first, first + (choice.size - 1) * n):
            out[j, c] = 0.0
        for t in range(choice.size - 1):
            out[j, first + t * n + j] = term_value(choice[t + 1], v[j], a[j], choice[0])


@part
def add_terms(choice, v, a, s, parameters, first, tau, gradient):
    """Add the terms' efforts to tau and write their part of Yr^T s, from ``first`` on."""
    n = v.size
    for t in range(choice.size - 1):
        for j in range(n):
            value = term_value(choice[t + 1], v[j], a[j], choice[0])
            tau[j] += value * parameters[first + t * n + j]
            gradient[first + t * n + j] = value * s[j]


@kernel('void(float64[::1], float64[:, ::1], float64[:, ::1], int64, float64[:, :, ::1])',
        nogil=True)
def many_term_columns(choice, v, a, first, out):
    """`fill_term_columns` for each row of v and a."""
    for k in range(v.shape[0]):
        fill_term_columns(choice, v[k], a[k], first, out[k])


@kernel('void(float64[::1], float64[:, ::1], float64[:, ::1], float64[:, ::1], '
        'float64[:, ::1], int64, float64[:, ::1], float64[:, ::1])', nogil=True)
def add_many_terms(choice, v, a, s, parameters, first, tau, gradient):
    """`add_terms` for each row of the arguments."""
    for k in range(v.shape[0]):
        add_terms(choice, v[k], a[k], s[k], parameters[k], first, tau[k], gradient[k])
