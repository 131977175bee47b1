# SPDX-License-Identifier: Apache-2.0
r"""Simulation of an arm in its control loop, along a recording.

With the gains P and D of the position controller and its recorded reference q_d::

    (M + R) dv/dt + C v + g + f = P (q_d - q) + D (dq_d/dt - v)

R is the inertia of the rotors, and f the friction of the model along the measured motion. The
simulated motion then has no noise of encoders, and needs no differentiation. Without a recorded
reference, the right-hand side is tau + P (q_m - q) + D (v_m - v) with the measured efforts and
motion: the reference that explains these efforts. Without gains, it is tau, and the acceleration
gets omega^2 (q_m - q) + 2 omega (v_m - v) in addition.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.dynamics.kernels.loading import kernel, part
from robot_dynamics.dynamics.kernels.matrices import HEIGHT, fill_matrices
from robot_dynamics.dynamics.kernels.solve import SOLVED, factorise, substitute
from robot_dynamics.dynamics.packing import body_table
from robot_dynamics.errors import ParameterError, RecordingError
from robot_dynamics.identification.dataset.dataset import Dataset, Segment
from robot_dynamics.identification.model import Model
from robot_dynamics.identification.signals import (
    Motion,
    SignalSettings,
    by_lines,
    derivative,
    evenly,
    grid,
    motions_of,
)
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import Robot

#: omega without gains, as a multiple of 2 pi times the cut-off of the equations.
BANDWIDTH = 10.0
#: Largest product of a step of integration and the fastest eigenvalue of the loop.
STEP = 0.5
#: Speed at which a joint diverged, rad/s or m/s.
TOO_FAST = 1e4
# Poses at which the eigenvalues are computed.
_POSES = 50


def simulated_motions(dataset: Dataset, signals: SignalSettings, model: Model
                      ) -> tuple[Motion, ...]:
    """Simulated motion of each segment, with the measured efforts.

    Raises
    ------
    ParameterError
        If the robot has mimic joints.
    RecordingError
        If the simulated arm leaves its reference.
    """
    robot, n = model.robot, model.robot.n
    if robot.coupling.shape != (n, n) or np.any(robot.coupling != np.eye(n)):
        raise ParameterError('must not have mimic joints', subject=robot.name,
                             remedy='name the joints of the arm alone, or use another estimator')
    robot = replace(robot.with_gravity(model.gravity).with_parameters(model.inertial),
                    armature=np.zeros(n))
    table, rotors, rest = body_table(robot), rotor_inertia(model), model.without('armature')
    gains = np.zeros((4, n))
    if dataset.gains is None:
        omega = 2.0 * np.pi * BANDWIDTH * signals.cutoff
        gains[2], gains[3] = omega ** 2, 2.0 * omega
    else:
        gains[:2] = dataset.gains
    motions = motions_of(dataset, signals)
    fastest = _fastest(robot, rotors, gains, motions)
    out = []
    for segment, motion in zip(dataset.segments, motions, strict=True):
        inputs = _inputs(dataset, segment, motion, gains)
        inputs[:, 0] -= rest.friction_efforts(motion)
        made = np.empty((motion.count, 3, n))
        count = max(1, math.ceil(fastest / motion.rate / STEP))
        rows = simulate_loop.load()(table, rotors, gains, inputs, 1.0 / motion.rate, count,
                                    np.stack([motion.q[0], motion.v[0]]), made)
        if rows < motion.count:
            raise RecordingError(
                f'cannot be simulated in its control loop beyond {motion.time[rows]:.3g} s',
                subject=dataset.source, remedy='check loop.proportional, loop.derivative and '
                'loop.reference of the YAML, or use the estimator consistent')
        q, v, a = (np.ascontiguousarray(made[:, k]) for k in range(3))
        out.append(replace(motion, q=q, v=v, a=a))
    return tuple(out)


def rotor_inertia(model: Model) -> FloatArray:
    """Inertia of all rotors, shape (n, n); negative estimates count as zero."""
    out = np.zeros((model.robot.n, model.robot.n))
    for feature, value in zip(model.features, model.friction, strict=True):
        if feature.term == 'armature':
            axis = model.axes[feature.axis]
            out += max(float(value), 0.0) * np.outer(axis, axis)
    return out


def _fastest(robot: Robot, rotors: FloatArray, gains: FloatArray, motions: Sequence[Motion]
             ) -> float:
    """Fastest eigenvalue of the loop, 1/s, over some poses of the motions."""
    q = np.concatenate([motion.q for motion in motions])
    q = np.ascontiguousarray(q[::max(1, len(q) // _POSES)])
    inverse = np.linalg.inv(Dynamics(robot).mass_matrix(q) + rotors)
    stiff, damped = (np.max(np.abs(np.linalg.eigvals(inverse * gain))) for gain in gains[:2])
    return float(max(np.sqrt(stiff), damped, np.max(gains[3])))


def _inputs(dataset: Dataset, segment: Segment, motion: Motion, gains: FloatArray) -> FloatArray:
    """Efforts and accelerations of the loop without those that depend on its state, (N, 2, n)."""
    q, v, effort = motion.q, motion.v, motion.effort
    if dataset.gains is not None and segment.reference is not None:
        desired = evenly(segment.time, segment.reference, dataset.period)
        times = grid(segment.time, dataset.period)
        q, v = (by_lines(motion.time, times, one)
                for one in (desired, derivative(desired, 1.0 / dataset.period)))
        effort = np.zeros_like(q)
    return np.stack([effort + gains[0] * q + gains[1] * v, gains[2] * q + gains[3] * v], axis=1)


@part
def accelerate(model, rotors, gains, inputs, q, v, frames, M, C, g, a):
    """Write the accelerations of the arm in its loop; return whether it has inertia."""
    n = q.size
    fill_matrices(model, q, v, frames, M, C, g)
    for j in range(n):
        a[j] = inputs[0, j] - gains[0, j] * q[j] - gains[1, j] * v[j] - g[j]
        for i in range(n):
            a[j] -= C[j, i] * v[i]
            M[j, i] += rotors[j, i]
    is_movable = factorise(M) == SOLVED
    if is_movable:
        substitute(M, a)
        for j in range(n):
            a[j] += inputs[1, j] - gains[2, j] * q[j] - gains[3, j] * v[j]
    return is_movable


@kernel('int64(float64[:, ::1], float64[:, ::1], float64[:, ::1], float64[:, :, ::1], float64, '
        'int64, float64[:, ::1], float64[:, :, ::1])', on_demand=True, nogil=True)
def simulate_loop(model, rotors, gains, inputs, period, count, start, out):
    """Write position, velocity and acceleration at each sample into out, (N, 3, n).

    ``inputs``, (N, 2, n), are efforts and accelerations added to those of the gains, (4, n), and
    linear between samples. Runge-Kutta steps of fourth order, ``count`` in a period, s, begin at
    ``start``, (2, n): position and velocity. The result is the number of rows written: fewer than
    N if the arm has no inertia or became too fast.
    """
    n = start.shape[1]
    frames = np.empty((HEIGHT, model.shape[0]))
    M, C, g = np.empty((n, n)), np.empty((n, n)), np.empty(n)
    q, v, moved = start[0].copy(), start[1].copy(), np.empty(n)
    speeds, slopes, now = np.zeros((4, n)), np.zeros((4, n)), np.empty((2, n))
    h = period / count
    for k in range(out.shape[0]):
        after = min(k + 1, out.shape[0] - 1)
        for step in range(count):
            for stage in range(4):
                share = 0.0 if stage == 0 else (1.0 if stage == 3 else 0.5)
                along = (step + share) / count
                for j in range(n):
                    speeds[stage, j] = v[j] + share * h * slopes[stage - 1, j]
                    moved[j] = q[j] + share * h * speeds[stage - 1, j]
                    for i in range(2):
                        now[i, j] = (inputs[k, i, j]
                                     + along * (inputs[after, i, j] - inputs[k, i, j]))
                if not accelerate(model, rotors, gains, now, moved, speeds[stage], frames, M, C, g,
                                  slopes[stage]):
                    return k
                if step == 0 and stage == 0:
                    for j in range(n):
                        if not abs(v[j]) < TOO_FAST:
                            return k
                        out[k, 0, j], out[k, 1, j], out[k, 2, j] = q[j], v[j], slopes[0, j]
            for j in range(n):
                q[j] += h / 6.0 * (speeds[0, j] + 2.0 * speeds[1, j] + 2.0 * speeds[2, j]
                                   + speeds[3, j])
                v[j] += h / 6.0 * (slopes[0, j] + 2.0 * slopes[1, j] + 2.0 * slopes[2, j]
                                   + slopes[3, j])
    return out.shape[0]
