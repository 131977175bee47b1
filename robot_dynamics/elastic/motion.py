# SPDX-License-Identifier: Apache-2.0
r"""Simulation of a robot with elastic joints by the classical Runge-Kutta method.

With the accelerations of the motors eliminated (their inertias B_Y are a diagonal)::

    (M - B_d B_Y^-1 B_d^T) q'' = r_l - B_d B_Y^-1 r_m,    theta'' = B_Y^-1 (r_m - B_d^T q'')

r_l and r_m are the sums of efforts, springs, friction, gravity and velocity terms of links and
motors. Zollo et al., "Identification of Dynamic Parameters for Robots with Elastic Joints", eqs. 2
to 8.
"""

import math

import numpy as np

from robot_dynamics.dynamics.kernels import matrices
from robot_dynamics.dynamics.kernels.loading import kernel, part
from robot_dynamics.dynamics.kernels.matrices import fill_matrices
from robot_dynamics.dynamics.kernels.solve import SOLVED, factorise, substitute
from robot_dynamics.elastic.rotors import WIDTH, turn_rotors

MATRIX_HEIGHT, ROTOR_WIDTH = matrices.HEIGHT, WIDTH

#: Results of a run besides the index of a joint.
NOT_FINITE = -2


@part
def friction_torque(f, v, smooth):
    """F(v) = f1 v + s (f2 - f3 exp(-|v|/f4) - f5 exp(-1/(f6 |v|))), s = tanh(v/smooth)."""
    speed = abs(v)
    sign = math.tanh(v / smooth)
    lost = math.exp(-1.0 / (f[5] * speed)) if speed > 0.0 else 0.0
    return f[0] * v + sign * (f[1] - f[2] * math.exp(-speed / f[3]) - f[4] * lost)


@part
def are_finite(x):
    """Whether all are finite numbers."""
    return math.isfinite(np.sum(x))


@part
def accelerate(model, axes, spin_inertia, motor_inertia, springs, friction, smooth, q, v, tau,
               frames, rotor_frames, M, C, g, W, X, a):
    """Accelerations of links and motors; returns SOLVED or a joint that moves no mass."""
    n = model.shape[0] - 1
    fill_matrices(model, q, v, frames, M, C, g)
    coupled = axes.shape[0] > 0
    if coupled:
        turn_rotors(model, axes, q, rotor_frames, W, X)
    for i in range(n):
        across = springs[0, i] * (q[i] - q[n + i]) + springs[1, i] * (v[i] - v[n + i])
        link = tau[i] - g[i] - across
        for k in range(n):
            link -= C[i, k] * v[k]
        a[i] = link
        a[n + i] = tau[n + i] + across - friction_torque(friction[i], v[n + i], smooth)
    if coupled:
        for i in range(n):
            for h in range(n):
                for k in range(h + 1, n):
                    x = spin_inertia[i] * X[i, h, k]
                    a[h] -= x * v[n + i] * v[k]
                    a[k] += x * v[n + i] * v[h]
                    a[n + i] -= x * v[h] * v[k]
        for i in range(n):
            for h in range(n):
                moved = spin_inertia[i] * W[i, h] / motor_inertia[i]
                a[h] -= moved * a[n + i]
                for k in range(n):
                    M[h, k] -= moved * spin_inertia[i] * W[i, k]
    joint = factorise(M)
    if joint != SOLVED:
        return joint
    substitute(M, a[:n])
    for i in range(n):
        motor = a[n + i]
        if coupled:
            for h in range(n):
                motor -= spin_inertia[i] * W[i, h] * a[h]
        a[n + i] = motor / motor_inertia[i]
    return SOLVED


@kernel('int64(float64[:, ::1], float64[:, ::1], float64[::1], float64[::1], '
        'float64[:, ::1], '
        'float64[:, ::1], float64, float64[::1], float64[::1], float64[::1], float64, int64)',
        on_demand=True, nogil=True)
def advance(model, axes, spin_inertia, motor_inertia, springs, friction, smooth, q, v, tau,
            step, count):
    """Advance qbar and its velocity by some steps under constant efforts, in place.

    Without rows in ``axes``, the model has no inertial coupling; ``springs`` are stiffness and
    damping, ``friction`` f1 to f6 of each motor. Returns SOLVED, the joint at which the inertia
    matrix is not positive definite, or NOT_FINITE.
    """
    n = model.shape[0] - 1
    frames = np.zeros((MATRIX_HEIGHT, n + 1))
    rotor_frames = np.zeros((n + 1, ROTOR_WIDTH))
    M, C, g = np.empty((n, n)), np.empty((n, n)), np.empty(n)
    W, X = np.empty((n, n)), np.empty((n, n, n))
    rates, accelerations = np.empty((4, 2 * n)), np.empty((4, 2 * n))
    moved = np.empty(2 * n)
    for _ in range(count):
        for stage in range(4):
            rates[stage], moved[:] = v, q
            if stage > 0:
                part_of_step = step if stage == 3 else 0.5 * step
                rates[stage] += part_of_step * accelerations[stage - 1]
                moved += part_of_step * rates[stage - 1]
            joint = accelerate(model, axes, spin_inertia, motor_inertia, springs, friction,
                               smooth, moved, rates[stage], tau, frames, rotor_frames, M, C, g,
                               W, X, accelerations[stage])
            if joint != SOLVED:
                # With NaN no matrix is positive definite, but no joint is the cause.
                return joint if are_finite(moved) else NOT_FINITE
        q += step / 6.0 * (rates[0] + 2.0 * rates[1] + 2.0 * rates[2] + rates[3])
        v += step / 6.0 * (accelerations[0] + 2.0 * accelerations[1] + 2.0 * accelerations[2]
                           + accelerations[3])
        if not (are_finite(q) and are_finite(v)):
            return NOT_FINITE
    return SOLVED
