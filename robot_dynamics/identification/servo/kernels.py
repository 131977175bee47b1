# SPDX-License-Identifier: Apache-2.0
r"""An arm with its servo drives, simulated along a recorded command.

Of every joint, with the position q_m that its encoder says, q = q_m + offset in the model::

    u     = supply * clip(P (goal - q_m) - D v, +- limit)            the law of the servo
    tau_m = gain u - back_emf v            while it is enabled, else 0: an open circuit
    tau_e = -(C v + g)                     what the bodies do to the gear
    F     = coulomb + stribeck s
            + |(load_motor + load_motor_stribeck s) tau_m
               - (load_external + load_external_stribeck s) tau_e|,  s = exp(-(v / speed)^2)

    (M + armature) dv/dt = tau_m + tau_e - viscous v + f,   |f| <= F

f is dry friction: what stops the joint within the step, as far as F reaches. It is found by
projected Gauss-Seidel sweeps over the joints; one joint needs a single one. Steps are
semi-implicit, what is linear in v is taken at the end of the step. For u in volts gain is
kt / R and back_emf kt^2 / R.

References
----------
M. Duclusaud, G. Passault, V. Padois and O. Ly, "Extended friction models for the physics
simulation of servo actuators", ICRA 2025: the load on the gear and the stopping torque.
"""

import math

import numpy as np

from robot_dynamics.dynamics.kernels.loading import helper, kernel, part
from robot_dynamics.dynamics.kernels.matrices import FRAME_WIDTH, fill_matrices
from robot_dynamics.dynamics.kernels.solve import SOLVED, factorise, substitute

#: Columns of the parameters of a joint.
(GAIN, BACK_EMF, ARMATURE, VISCOUS, COULOMB, STRIBECK, LOAD_MOTOR, LOAD_EXTERNAL,
 LOAD_MOTOR_STRIBECK, LOAD_EXTERNAL_STRIBECK, SPEED, OFFSET) = range(12)
COLUMNS = 12
#: Columns of the law of a joint.
PROPORTIONAL, DERIVATIVE, LIMIT = range(3)
#: Sweeps over the joints that find dry friction, at most, and the change of a speed, rad/s or
#: m/s, from which on it counts as found.
SWEEPS, FOUND = 200, 1e-9
#: No joint gets so fast, rad/s or m/s: parameters that let one are impossible.
TOO_FAST = 1e4


@helper
def duty(law, j, goal, q, v):
    """Return what the servo of joint j asks for, of its supply."""
    asked = law[j, PROPORTIONAL] * (goal - q) - law[j, DERIVATIVE] * v
    return min(max(asked, -law[j, LIMIT]), law[j, LIMIT])


@helper
def dry_limit(joints, j, motor, external, v):
    """Return F, the largest dry friction of joint j."""
    slow = v / joints[j, SPEED]
    s = math.exp(-slow * slow)
    load = ((joints[j, LOAD_MOTOR] + joints[j, LOAD_MOTOR_STRIBECK] * s) * motor
            - (joints[j, LOAD_EXTERNAL] + joints[j, LOAD_EXTERNAL_STRIBECK] * s) * external)
    return joints[j, COULOMB] + joints[j, STRIBECK] * s + abs(load)


@part
def stop(W, largest, v, f):
    """Find the dry friction f of all joints, v being the speeds that it leaves.

    W f is what friction adds to the speeds within the step.
    """
    n = v.size
    f[:] = 0.0
    for _ in range(SWEEPS):
        largest_change = 0.0
        for j in range(n):
            wanted = f[j] - v[j] / W[j, j]
            wanted = min(max(wanted, -largest[j]), largest[j])
            change = wanted - f[j]
            f[j] = wanted
            largest_change = max(largest_change, abs(W[j, j] * change))
            for i in range(n):
                v[i] += W[i, j] * change
        if n == 1 or largest_change < FOUND:
            break


@part
def ask_drives(law, joints, q, v, goal, supply, enabled, C, g, drive, brake, largest):
    """Write what the joints get beside friction, what brakes per unit of speed, and F."""
    n = q.size
    for j in range(n):
        external = -g[j]
        for i in range(n):
            external -= C[j, i] * v[i]
        free = enabled[j] * joints[j, GAIN] * supply[j] * duty(law, j, goal[j], q[j], v[j])
        emf = enabled[j] * joints[j, BACK_EMF]
        drive[j] = free + external
        brake[j] = emf + joints[j, VISCOUS]
        largest[j] = dry_limit(joints, j, free - emf * v[j], external, v[j])


@part
def advance(M, joints, drive, brake, largest, h, v, W, f, column):
    """Move the speeds on by h; return whether all joints have something to move.

    (M + armature + h brake) v_next = (M + armature) v + h (drive + f).
    """
    n = v.size
    for j in range(n):
        M[j, j] += joints[j, ARMATURE]
    for j in range(n):
        drive[j] *= h
        for i in range(n):
            drive[j] += M[j, i] * v[i]
    for j in range(n):
        M[j, j] += h * brake[j]
    is_movable = factorise(M) == SOLVED
    if is_movable:
        for i in range(n):
            column[:] = 0.0
            column[i] = h
            substitute(M, column)
            W[:, i] = column
        substitute(M, drive)
        v[:] = drive
        stop(W, largest, v, f)
    return is_movable


@kernel('int64(float64[:, ::1], float64[:, ::1], float64[:, ::1], float64[::1], '
        'float64[:, ::1], float64[:, ::1], float64[:, ::1], float64, float64[:, ::1], '
        'float64[:, ::1])', on_demand=True, nogil=True)
def simulate(model, law, joints, time, goal, supply, enabled, step, start, out):
    """Write the positions that encoders would say at each time into out, (N, n).

    Parameters
    ----------
    model : ndarray
        The packed robot.
    law : ndarray, shape (n, 3)
        Proportional, derivative, limit.
    joints : ndarray, shape (n, COLUMNS)
        Parameters of the drives.
    time : ndarray, shape (N,)
        s, increasing.
    goal, supply, enabled : ndarray, shape (N, n)
        From each time on to the next.
    step : float
        Longest step, s.
    start : ndarray, shape (2, n)
        Position that the encoders say, and velocity, at the first time.
    out : ndarray, shape (N, n)

    Returns
    -------
    int
        Rows written; fewer than N where some joint has nothing to move or got too fast.
    """
    n = joints.shape[0]
    frames = np.empty((model.shape[0], FRAME_WIDTH))
    M, C, W = np.empty((n, n)), np.empty((n, n)), np.empty((n, n))
    g, moved, drive, brake = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    largest, f, column = np.empty(n), np.empty(n), np.empty(n)
    q, v = start[0].copy(), start[1].copy()
    out[0] = q
    for k in range(time.size - 1):
        span = time[k + 1] - time[k]
        count = max(1, math.ceil(span / step - 1e-9))
        h = span / count
        for _ in range(count):
            for j in range(n):
                moved[j] = q[j] + joints[j, OFFSET]
            fill_matrices(model, moved, v, frames, M, C, g)
            ask_drives(law, joints, q, v, goal[k], supply[k], enabled[k], C, g, drive, brake,
                       largest)
            if not advance(M, joints, drive, brake, largest, h, v, W, f, column):
                return k + 1
            for j in range(n):
                q[j] += h * v[j]
                if not abs(v[j]) < TOO_FAST:
                    return k + 1
        out[k + 1] = q
    return time.size
