# SPDX-License-Identifier: Apache-2.0
"""Servo drives: their parameters, friction classes, and simulation along a recorded command.

Of every joint, with the position q_m of its encoder, q = q_m + offset in the model::

    u     = supply * clip(P (goal - q_m) - D v, +- limit)            law of the servo
    tau_m = gain u - back_emf v            while enabled, else 0: an open circuit
    tau_e = -(C v + g)                     effect of the bodies on the gear
    F     = coulomb + stribeck s
            + |(load_motor + load_motor_stribeck s) tau_m
               - (load_external + load_external_stribeck s) tau_e|,  s = exp(-(v / speed)^2)

    (M + armature) dv/dt = tau_m + tau_e - viscous v + f,   |f| <= F

f is dry friction: the effort that stops the joint within the step, limited by F. It is found by
projected Gauss-Seidel sweeps over the joints; one joint needs a single one. Steps are
semi-implicit: terms linear in v are taken at the end of the step. With u in volts, gain is
kt / R and back_emf kt^2 / R.

References
----------
M. Duclusaud, G. Passault, V. Padois and O. Ly, "Extended friction models for the physics
simulation of servo actuators", ICRA 2025: the load on the gear and the stopping torque.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from robot_dynamics.dynamics.kernels.loading import helper, kernel, part
from robot_dynamics.dynamics.kernels.matrices import HEIGHT, fill_matrices
from robot_dynamics.dynamics.kernels.solve import SOLVED, factorise, substitute
from robot_dynamics.errors import ParameterError
from robot_dynamics.model.arrays import FloatArray

#: Columns of the parameters of a joint.
(GAIN, BACK_EMF, ARMATURE, VISCOUS, COULOMB, STRIBECK, LOAD_MOTOR, LOAD_EXTERNAL,
 LOAD_MOTOR_STRIBECK, LOAD_EXTERNAL_STRIBECK, SPEED, OFFSET) = range(12)
COLUMNS = 12
#: Columns of the law of a joint.
PROPORTIONAL, DERIVATIVE, LIMIT = range(3)
#: Largest number of sweeps for dry friction, and the change of a speed at convergence, rad/s or
#: m/s.
SWEEPS, FOUND = 200, 1e-9
#: Speed at which a joint diverged, rad/s or m/s.
TOO_FAST = 1e4


@dataclass(frozen=True)
class DriveParameter:
    """A parameter of a drive: columns in the table of the kernel, bounds, typical size, unit.

    The unit holds for a revolute joint with u in volts. Several columns are kept equal.
    """

    columns: tuple[int, ...]
    low: float
    high: float
    typical: float
    unit: str


#: Parameters by name. `typical` is relative to the efforts and inertias of the arm; see
#: `Layout.scales`.
PARAMETERS: Mapping[str, DriveParameter] = {
    'gain': DriveParameter((GAIN,), 0.0, np.inf, 1.0, 'N m/V'),
    'back_emf': DriveParameter((BACK_EMF,), 0.0, np.inf, 0.2, 'N m s/rad'),
    'armature': DriveParameter((ARMATURE,), 0.0, np.inf, 0.5, 'kg m^2'),
    'viscous': DriveParameter((VISCOUS,), 0.0, np.inf, 0.02, 'N m s/rad'),
    'coulomb': DriveParameter((COULOMB,), 0.0, np.inf, 0.03, 'N m'),
    'stribeck': DriveParameter((STRIBECK,), 0.0, np.inf, 0.03, 'N m'),
    'stribeck_speed': DriveParameter((SPEED,), 1e-3, 100.0, 1.0, 'rad/s'),
    'load': DriveParameter((LOAD_MOTOR, LOAD_EXTERNAL), 0.0, 0.95, 0.1, ''),
    'load_motor': DriveParameter((LOAD_MOTOR,), 0.0, 0.95, 0.1, ''),
    'load_external': DriveParameter((LOAD_EXTERNAL,), 0.0, 0.95, 0.1, ''),
    'load_stribeck': DriveParameter((LOAD_MOTOR_STRIBECK, LOAD_EXTERNAL_STRIBECK),
                                    0.0, 0.95, 0.1, ''),
    'load_motor_stribeck': DriveParameter((LOAD_MOTOR_STRIBECK,), 0.0, 0.95, 0.1, ''),
    'load_external_stribeck': DriveParameter((LOAD_EXTERNAL_STRIBECK,), 0.0, 0.95, 0.1,
                                             ''),
    'offset': DriveParameter((OFFSET,), -0.5, 0.5, 0.02, 'rad'),
}

#: Parameters of every drive.
DRIVE = ('gain', 'back_emf', 'armature', 'offset')
#: Friction classes, with increasing number of parameters.
CLASSES: Mapping[str, tuple[str, ...]] = {
    'coulomb': ('viscous', 'coulomb'),
    'stribeck': ('viscous', 'coulomb', 'stribeck', 'stribeck_speed'),
    'load': ('viscous', 'coulomb', 'load'),
    'load+stribeck': ('viscous', 'coulomb', 'load', 'stribeck', 'load_stribeck',
                      'stribeck_speed'),
    'directional': ('viscous', 'coulomb', 'load_motor', 'load_external', 'stribeck',
                    'load_motor_stribeck', 'load_external_stribeck', 'stribeck_speed'),
}


def friction_of(friction: str | Sequence[str]) -> tuple[str, ...]:
    """Friction parameters of a class or of a list, or ParameterError."""
    known = [name for name in PARAMETERS if name not in DRIVE]
    if isinstance(friction, str):
        if friction not in CLASSES:
            raise ParameterError(f'must be a class, got {friction!r}', subject='friction',
                                 remedy='choose among '
                                 + ', '.join(CLASSES) + ', or list some of ' + ', '.join(known))
        return CLASSES[friction]
    if not isinstance(friction, Sequence):
        raise ParameterError(f'must be a class or a list, got {friction!r}', subject='friction',
                             remedy='name one of ' + ', '.join(CLASSES) + ', or list some of '
                                    + ', '.join(known))
    names = tuple(friction)
    for name in names:
        if name not in known:
            raise ParameterError('is not a friction parameter of a drive', subject=str(name),
                                 remedy='choose among ' + ', '.join(known))
    columns = [column for name in names for column in PARAMETERS[name].columns]
    if len(set(columns)) != len(columns):
        raise ParameterError('names an effect twice', subject='friction',
                             remedy='load stands for load_motor and load_external together')
    if any('stribeck' in name for name in names) and 'stribeck_speed' not in names:
        raise ParameterError('lacks stribeck_speed', subject='friction',
                             remedy='add it: Stribeck friction depends on it')
    return names


@dataclass(frozen=True, eq=False)
class Layout:
    """Estimated parameters of all joints in one vector; known ones have a value per joint."""

    joints: tuple[str, ...]
    names: tuple[str, ...]
    known: Mapping[str, FloatArray]

    @property
    def free(self) -> tuple[str, ...]:
        """Estimated parameters of a joint."""
        return tuple(name for name in self.names if name not in self.known)

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the entries of the vector: ``joint/parameter``."""
        return tuple(f'{joint}/{name}' for joint in self.joints for name in self.free)

    def table(self, x: FloatArray) -> FloatArray:
        """Table of the kernel, shape (n, COLUMNS), from a vector."""
        out = np.zeros((len(self.joints), COLUMNS))
        out[:, SPEED] = 1.0
        for name, values in self.known.items():
            out[:, PARAMETERS[name].columns] = np.asarray(values)[:, np.newaxis]
        values = np.reshape(x, (len(self.joints), len(self.free)))
        for k, name in enumerate(self.free):
            out[:, PARAMETERS[name].columns] = values[:, k, np.newaxis]
        return out

    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """Lower and upper bounds of the vector."""
        low, high = ([getattr(PARAMETERS[name], side) for name in self.free]
                     for side in ('low', 'high'))
        n = len(self.joints)
        return np.tile(low, n), np.tile(high, n)

    def scales(self, effort: FloatArray, inertia: FloatArray, command: FloatArray,
               speed: FloatArray) -> FloatArray:
        """Typical size of each entry of the vector, from typical sizes of each joint, (n,)."""
        unit = {'gain': effort / command, 'back_emf': effort / speed, 'viscous': effort / speed,
                'armature': inertia, 'coulomb': effort, 'stribeck': effort,
                'stribeck_speed': speed}
        one = np.ones(len(self.joints))
        return np.stack([PARAMETERS[name].typical * unit.get(name, one) for name in self.free],
                        axis=1).ravel()


@helper
def duty(law, j, goal, q, v):
    """Command of the servo of joint j as a fraction of its supply."""
    asked = law[j, PROPORTIONAL] * (goal - q) - law[j, DERIVATIVE] * v
    return min(max(asked, -law[j, LIMIT]), law[j, LIMIT])


@helper
def dry_limit(joints, j, motor, external, v):
    """Largest dry friction F of joint j."""
    slow = v / joints[j, SPEED]
    s = math.exp(-slow * slow)
    load = ((joints[j, LOAD_MOTOR] + joints[j, LOAD_MOTOR_STRIBECK] * s) * motor
            - (joints[j, LOAD_EXTERNAL] + joints[j, LOAD_EXTERNAL_STRIBECK] * s) * external)
    return joints[j, COULOMB] + joints[j, STRIBECK] * s + abs(load)


@part
def stop(W, largest, v, f):
    """Find the dry friction f of all joints, and the resulting speeds v.

    W f is the change of the speeds by friction within the step.
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
    """Write drive efforts, braking per unit of speed, and F of all joints."""
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
    """Advance the speeds by h; return whether the mass matrix is regular.

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
def simulate_drives(model, law, joints, time, goal, supply, enabled, step, start, out):
    """Write the positions of the encoders at each time, (N,), into out, (N, n).

    ``law``, (n, 3), contains proportional gain, derivative gain and limit, and ``joints``, (n,
    COLUMNS), the parameters of the drives. Goal, supply and enabled, (N, n), hold from each time
    to the next. A step is at most ``step`` s; ``start``, (2, n), is the measured position and the
    velocity at the first time. The result is the number of rows written: fewer than N if a joint
    moves no inertia or became too fast.
    """
    n = joints.shape[0]
    frames = np.empty((HEIGHT, model.shape[0]))
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
