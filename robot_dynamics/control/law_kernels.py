# SPDX-License-Identifier: Apache-2.0
"""Compiled parts of the adaptive law: joint terms and the prediction error.

In one file, because a compiled kernel is kept as long as its own file does not change.
"""

from __future__ import annotations

import math

from robot_dynamics.dynamics.joint_terms import JOINT_TERMS
from robot_dynamics.dynamics.kernels.loading import kernel, part

VISCOUS = JOINT_TERMS.index('viscous')
COULOMB = JOINT_TERMS.index('coulomb')
ARMATURE = JOINT_TERMS.index('armature')


@part
def term_entry(kind, v, a, epsilon):
    """Return the entry of the column of a joint term, an index into `JOINT_TERMS`."""
    if kind == VISCOUS:
        entry = v
    elif kind == COULOMB:
        entry = math.tanh(v / epsilon)
    elif kind == ARMATURE:
        entry = a
    else:
        entry = 1.0
    return entry


@kernel('void(int64[::1], float64[::1], float64[::1], float64[::1], float64[::1], float64, '
        'float64[::1], float64[::1], float64[::1])')
def joint_terms(kinds, v_r, a_r, s, rotors, epsilon, estimate, gradient, tau):
    """Write the effort of known rotors and learnt terms, and the gradient of the terms.

    Estimate and gradient end with the terms, joint after joint for each of them.
    """
    joints = v_r.size
    first = estimate.size - kinds.size * joints
    for i in range(joints):
        tau[i] = rotors[i] * a_r[i]
        for t in range(kinds.size):
            k = first + t * joints + i
            entry = term_entry(kinds[t], v_r[i], a_r[i], epsilon)
            tau[i] += estimate[k] * entry
            gradient[k] = s[i] * entry


@kernel('void(float64[::1], float64[::1], float64, float64[:, ::1])')
def describe_interval(q, v, dt, motion):
    """Write the middle of an interval from the state at its end and the velocity before."""
    for i in range(q.size):
        before = motion[3, i]
        motion[1, i] = 0.5 * (v[i] + before)
        # By the mean velocity, not by the position before: that may have turned over 2 pi.
        motion[0, i] = q[i] - 0.5 * dt * motion[1, i]
        motion[2, i] = (v[i] - before) / dt
        motion[3, i] = v[i]


@kernel('void(float64[:, ::1], float64[:, ::1], float64[::1], float64[::1], int64[::1], float64, '
        'float64, float64[:, ::1])')
def filter_interval(sample, motion, effort, rotors, kinds, epsilon, share, filtered):
    """Move what is filtered by a share of the way to the new interval."""
    columns = sample.shape[1]
    for i in range(sample.shape[0]):
        for k in range(columns):
            filtered[i, k] += share * (sample[i, k] - filtered[i, k])
        for t in range(kinds.size):
            entry = term_entry(kinds[t], motion[1, i], motion[2, i], epsilon)
            filtered[i, columns + t] += share * (entry - filtered[i, columns + t])
        moved = effort[i] - rotors[i] * motion[2, i]
        filtered[i, columns + kinds.size] += share * (moved - filtered[i, columns + kinds.size])


@kernel('void(float64[:, ::1], int64, float64[::1], float64, float64[:, ::1], float64[::1])')
def add_prediction_error(filtered, terms, estimate, weight, mass_matrix, gradient):
    """Add Y^T W (tau - Y pi) to the gradient, W_ii = weight / M_ii."""
    joints = mass_matrix.shape[0]
    last = filtered.shape[1] - 1
    columns = last - terms
    for i in range(joints):
        error = filtered[i, last]
        for k in range(columns):
            error -= filtered[i, k] * estimate[k]
        for t in range(terms):
            error -= filtered[i, columns + t] * estimate[columns + t * joints + i]
        error *= weight / mass_matrix[i, i]
        for k in range(columns):
            gradient[k] += filtered[i, k] * error
        for t in range(terms):
            gradient[columns + t * joints + i] += filtered[i, columns + t] * error
