# SPDX-License-Identifier: Apache-2.0
"""The compiled step of `robot_dynamics.control.faults.momentum_observer`."""

from __future__ import annotations

import math

from robot_dynamics.dynamics.kernels.loading import kernel


@kernel('void(float64[:, ::1], float64[:, ::1], float64[::1], float64[:, ::1], float64[::1],'
        ' float64[::1], float64[::1], float64, float64[:, ::1], float64[::1], float64[:, ::1])')
def observe(M, C, g, joints, gain, v, effort, dt, memory, r, friction):
    """Move the residual on by one state.

    Parameters
    ----------
    M, C, g
        Matrices at the state.
    joints : (4, n)
        Damping, Coulomb friction, its velocity, armature.
    gain : (n,)
        K_O. 1/s.
    v, effort : (n,)
        Velocity; effort that has acted since the last state.
    dt : float
        Time since then; 0 starts over, below 0 nothing is known of what has acted: the
        residual stays. s.
    memory : (4, n)
        Momentum, rest, velocity and direction of motion of the last state.
    r : (n,)
        The residual.
    friction : (2, n)
        Residuals that one unit of viscous and of Coulomb friction takes away.
    """
    n = v.size
    for i in range(n):
        direction = math.tanh(v[i] / joints[2, i])
        momentum = joints[3, i] * v[i]
        rest = -g[i] - joints[0, i] * v[i] - joints[1, i] * direction
        for j in range(n):
            momentum += M[i, j] * v[j]
            rest += C[j, i] * v[j]
        if dt > 0.0:
            share = 1.0 / (1.0 + gain[i] * dt)
            change = momentum - memory[0, i] - dt * (effort[i] + 0.5 * (rest + memory[1, i]))
            r[i] = share * (r[i] + gain[i] * change)
            half = 0.5 * gain[i] * dt
            friction[0, i] = share * (friction[0, i] - half * (v[i] + memory[2, i]))
            friction[1, i] = share * (friction[1, i] - half * (direction + memory[3, i]))
        elif dt == 0.0:
            r[i] = friction[0, i] = friction[1, i] = 0.0
        memory[0, i], memory[1, i] = momentum, rest
        memory[2, i], memory[3, i] = v[i], direction
