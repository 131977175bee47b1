# SPDX-License-Identifier: Apache-2.0
"""The compiled step of `robot_dynamics.control.faults.motion_predictor`."""

from __future__ import annotations

from robot_dynamics.dynamics.kernels.loading import kernel
from robot_dynamics.dynamics.kernels.solve import SOLVED, factorise, substitute

#: Rounds in which the Coulomb friction of all joints is found.
ROUNDS = 4
#: Rows of what is remembered: position, velocity, Coulomb friction, C v + g.
POSITION, VELOCITY, COULOMB, REST = 0, 1, 2, 3
#: Rows of what is told of a state: measured, predicted and corrected velocity, effort that has
#: acted, C^T v - g, Coulomb friction as an effort.
MEASURED, PREDICTED, CORRECTED, ACTING, REMAINDER, HOLDING = range(6)


@kernel('int64(float64[:, ::1], float64[:, ::1], float64[::1], float64[::1], float64[::1],'
        ' float64[::1], float64, float64[:, ::1], float64[:, ::1], float64[:, ::1],'
        ' float64[:, ::1], float64[::1], float64[:, ::1], float64[:, ::1], float64[:, :, ::1])')
def predict(M, C, g, q, v, effort, dt, joints, gain, memory, surprise, velocity, inertia, motion,
            work):
    """Predict the state that is measured now, and correct the prediction.

    Coulomb friction is what stops a joint, as far as it can: of the efforts in [-F, F] the
    one after which the joint rests, or the end of that range. That of all joints at once is
    found by projected Gauss-Seidel rounds, beginning with what was last found.

    Parameters
    ----------
    M, C, g
        Matrices at the measured state.
    q, v, effort : (n,)
        Measured state; effort that has acted since the last.
    dt : float
        Time since then; without any (0) it begins with what is measured. s.
    joints : (3, n)
        Damping, Coulomb friction, armature.
    gain : (2, 2)
        K of `robot_dynamics.control.faults.motion_filter`.
    memory : (4, n)
        Predicted and corrected position and velocity, Coulomb friction, C v + g.
    surprise : (2, n)
        Measured less predicted position and velocity.
    velocity : (n,)
        Predicted velocity.
    inertia : (n, n)
        M with the armature.
    motion : (6, n)
        What is told of the state, see the rows' names.
    work : (2, n, n)
        Room for a factorisation and the inverse of the inertia.

    Returns
    -------
    int
        SOLVED, or the joint at which the inertia proved not to be positive definite.
    """
    n = v.size
    factor, inverse = work[0], work[1]
    for i in range(n):
        for j in range(n):
            inertia[i, j] = M[i, j] + (joints[2, i] if i == j else 0.0)
            # Damping counts at the end of the interval: that of a joint of next to no inertia
            # brings it to its speed at once, and would throw a prediction about otherwise.
            factor[i, j] = inertia[i, j] + (dt * joints[0, i] if i == j else 0.0)
            inverse[i, j] = 1.0 if i == j else 0.0
    joint = factorise(factor)
    if joint != SOLVED:
        return joint
    if dt > 0.0:
        for i in range(n):
            substitute(factor, inverse[i])
            velocity[i] = g[i]
            for j in range(n):
                velocity[i] += C[i, j] * memory[VELOCITY, j]
            # The effort that drives the joint, Coulomb friction apart.
            velocity[i] = effort[i] - 0.5 * (velocity[i] + memory[REST, i]) \
                - joints[0, i] * memory[VELOCITY, i] + memory[COULOMB, i]
        for i in range(n):
            surprise[1, i] = memory[VELOCITY, i]
            for j in range(n):
                surprise[1, i] += dt * inverse[i, j] * velocity[j]
        for i in range(n):
            velocity[i] = surprise[1, i]
        for _ in range(ROUNDS):
            for j in range(n):
                limit, before = joints[1, j], memory[COULOMB, j]
                needed = before - velocity[j] / (dt * inverse[j, j])
                memory[COULOMB, j] = min(max(needed, -limit), limit)
                change = dt * (memory[COULOMB, j] - before)
                for i in range(n):
                    velocity[i] += inverse[i, j] * change
    for i in range(n):
        if dt > 0.0:
            at = memory[POSITION, i] + 0.5 * dt * (memory[VELOCITY, i] + velocity[i])
            surprise[0, i], surprise[1, i] = q[i] - at, v[i] - velocity[i]
            memory[POSITION, i] = at + gain[0, 0] * surprise[0, i] + gain[0, 1] * surprise[1, i]
            memory[VELOCITY, i] = velocity[i] + gain[1, 0] * surprise[0, i] \
                + gain[1, 1] * surprise[1, i]
        else:
            memory[POSITION, i], memory[VELOCITY, i], memory[COULOMB, i] = q[i], v[i], 0.0
            surprise[0, i] = surprise[1, i] = 0.0
            velocity[i] = v[i]
    for i in range(n):
        memory[REST, i] = g[i]
        for j in range(n):
            memory[REST, i] += C[i, j] * memory[VELOCITY, j]
        motion[MEASURED, i], motion[PREDICTED, i] = v[i], velocity[i]
        motion[CORRECTED, i], motion[ACTING, i] = memory[VELOCITY, i], effort[i]
        motion[REMAINDER, i], motion[HOLDING, i] = -g[i], memory[COULOMB, i]
        for j in range(n):
            motion[REMAINDER, i] += C[j, i] * v[j]
    return joint
