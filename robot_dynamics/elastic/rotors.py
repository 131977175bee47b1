# SPDX-License-Identifier: Apache-2.0
r"""Terms of the equations of motion due to rotors on moving links.

The rotor of motor i turns with k_i theta_i' about b_i = R z_m,i, an axis of the link it is
mounted on, with the angular velocity O_i. Zollo et al., "Identification of Dynamic
Parameters for Robots with Elastic Joints", eq. 1, give it the kinetic energy::

    T_i = k_i Ups_i theta_i' b_i . O_i + 1/2 k_i^2 Ups_i theta_i'^2

in addition to the part in the inertia of that link (eq. A.14). Column i of B_d (eq. 8) is k_i
Ups_i times W_i. Its derivative by q_k is X_i,hk; X_i is skew-symmetric in h and k if both signs
are kept. The Christoffel symbols of T (eq. 4, corrected: a factor 1/2 is missing in print) then
are::

    C_hk      = 1/2 sum_i k_i Ups_i theta_i' X_i,hk          link h, speed of link k
    C_h,n+i   = 1/2 k_i Ups_i sum_k X_i,hk q_k'              link h, speed of motor i
    C_n+i,k   = 1/2 k_i Ups_i sum_j X_i,(kj) q_j'            motor i, speed of link k

with (kj) the pair in order from base to tip.

With w_h the angular velocity that unit speed of joint h gives to what it carries, and only
for joints that carry that link::

    W_i,h  = w_h . b_i                  turn of the link about the axis of the rotor
    X_i,hk = w_h . (w_k x b_i)          dW_i,h / dq_k for h before k

If k comes before h, joint k rotates w_h and b_i together. W_i,h therefore depends only on joints
from h on.
"""

import math

import numpy as np

from robot_dynamics.dynamics.kernels.algebra import (
    ZERO,
    cross,
    dot,
    load,
    load_matrix,
    store,
    store_matrix,
    times,
)
from robot_dynamics.dynamics.kernels.layout import IS_PRISMATIC
from robot_dynamics.dynamics.kernels.loading import kernel, part
from robot_dynamics.dynamics.kernels.pose import IDENTITY, link_origin, parent_row, place

# Offsets in the row of a frame.
AXES = 0       # 9
POSITION = 9   # 3
FIELD_W = 12   # 3, w
WIDTH = 15


@part
def turn_rotors(model, rotor_axes, q, frames, W, X):
    """W and X of one sample, for the upper triangle h < k of each X_i."""
    joints = model.shape[0] - 1
    store_matrix(frames, 0, AXES, IDENTITY)
    store(frames, 0, POSITION, ZERO)
    for i in range(joints):
        parent = parent_row(model, i)
        parent_axes = load_matrix(frames, parent, AXES)
        axes, joint, z = place(model, i, q[i], math.sin(q[i]), math.cos(q[i]),
                               parent_axes, load(frames, parent, POSITION))
        store_matrix(frames, i + 1, AXES, axes)
        store(frames, i + 1, POSITION, link_origin(model, i, axes, joint))
        store(frames, i + 1, FIELD_W, ZERO if model[i, IS_PRISMATIC] != 0.0 else z)
        b = times(parent_axes, load(rotor_axes, i, 0))
        for h in range(joints):
            W[i, h] = 0.0
            for k in range(joints):
                X[i, h, k] = 0.0
        k = parent - 1
        while k >= 0:
            w_k = load(frames, k + 1, FIELD_W)
            W[i, k] = dot(w_k, b)
            turned = cross(w_k, b)
            h = parent_row(model, k) - 1
            while h >= 0:
                X[i, h, k] = dot(load(frames, h + 1, FIELD_W), turned)
                h = parent_row(model, h) - 1
            k = parent_row(model, k) - 1


@kernel('void(float64[:, ::1], float64[:, ::1], float64[::1], float64[:, ::1], '
        'float64[:, ::1], float64[:, ::1], float64[:, ::1], float64[:, :, ::1])',
        on_demand=True, nogil=True)
def rotor_columns(model, rotor_axes, ratio, q, v, v_r, a_r, Y):
    """Columns of Upsilon in the Slotine-Li regressor of a batch, shape (N, 2 n, n).

    Positions, velocities and accelerations are of shape (N, 2 n), links before motors.
    With v_r = v and a_r = a it is the regressor of the motion, eqs. 19-20 and 26-27.
    """
    joints = model.shape[0] - 1
    frames = np.zeros((joints + 1, WIDTH))
    W = np.empty((joints, joints))
    X = np.empty((joints, joints, joints))
    Y[:] = 0.0
    for s in range(q.shape[0]):
        turn_rotors(model, rotor_axes, q[s], frames, W, X)
        for i in range(joints):
            k_i = ratio[i]
            motor = joints + i
            moved = k_i * a_r[s, motor]
            for h in range(joints):
                link = W[i, h] * a_r[s, motor]
                moved += W[i, h] * a_r[s, h]
                for k in range(h + 1, joints):
                    x = X[i, h, k]
                    link += 0.5 * x * (v[s, motor] * v_r[s, k] + v_r[s, motor] * v[s, k])
                    Y[s, k, i] -= 0.5 * k_i * x * (v[s, motor] * v_r[s, h]
                                                   + v_r[s, motor] * v[s, h])
                    moved += 0.5 * x * (v[s, h] * v_r[s, k] + v[s, k] * v_r[s, h])
                Y[s, h, i] += k_i * link
            Y[s, motor, i] = k_i * moved


@kernel('void(float64[:, ::1], float64[:, ::1], float64[::1], float64[:, ::1], '
        'float64[:, ::1], float64[:, :, ::1], float64[:, :, ::1])', on_demand=True, nogil=True)
def add_rotor_matrices(model, rotor_axes, inertia, q, v, B, C):
    """Add the terms of rotors to B and C of a batch, both of shape (N, 2 n, 2 n).

    ``inertia`` are k_i Ups_i; the diagonal k_i^2 Ups_i of B is not added.
    """
    joints = model.shape[0] - 1
    frames = np.zeros((joints + 1, WIDTH))
    W = np.empty((joints, joints))
    X = np.empty((joints, joints, joints))
    for s in range(q.shape[0]):
        turn_rotors(model, rotor_axes, q[s], frames, W, X)
        for i in range(joints):
            motor = joints + i
            for h in range(joints):
                B[s, h, motor] += inertia[i] * W[i, h]
                B[s, motor, h] += inertia[i] * W[i, h]
                for k in range(h + 1, joints):
                    x = 0.5 * inertia[i] * X[i, h, k]
                    C[s, h, k] += x * v[s, motor]
                    C[s, k, h] -= x * v[s, motor]
                    C[s, h, motor] += x * v[s, k]
                    C[s, k, motor] -= x * v[s, h]
                    C[s, motor, h] += x * v[s, k]
                    C[s, motor, k] += x * v[s, h]


@kernel('void(float64[:, ::1], float64[:, ::1], float64[::1], float64[:, ::1], '
        'float64[:, ::1], float64[:, ::1], float64[:, :, ::1], float64[:, :, ::1])',
        on_demand=True, nogil=True)
def add_rotor_derivatives(model, rotor_axes, inertia, q, v, a, dq, dv):
    """Add the terms of rotors to d tau / dq and d tau / dv, both of shape (N, 2 n, 2 n).

    X_i,hk depends on joint j through its factors: a joint before h rotates all of them together,
    one from h on rotates w_k and b_i, and one from k on rotates b_i alone.
    """
    joints = model.shape[0] - 1
    frames = np.zeros((joints + 1, WIDTH))
    W = np.empty((joints, joints))
    X = np.empty((joints, joints, joints))
    for s in range(q.shape[0]):
        turn_rotors(model, rotor_axes, q[s], frames, W, X)
        for i in range(joints):
            motor = joints + i
            parent = parent_row(model, i)
            b = times(load_matrix(frames, parent, AXES), load(rotor_axes, i, 0))
            speed, acceleration = inertia[i] * v[s, motor], inertia[i] * a[s, motor]
            k = parent - 1
            while k >= 0:
                w_k = load(frames, k + 1, FIELD_W)
                h = parent_row(model, k) - 1
                while h >= 0:
                    x = X[i, h, k]
                    dq[s, h, k] += acceleration * x
                    dq[s, motor, k] += inertia[i] * x * a[s, h]
                    dv[s, h, k] += speed * x
                    dv[s, k, h] -= speed * x
                    dv[s, h, motor] += inertia[i] * x * v[s, k]
                    dv[s, k, motor] -= inertia[i] * x * v[s, h]
                    dv[s, motor, h] += inertia[i] * x * v[s, k]
                    dv[s, motor, k] += inertia[i] * x * v[s, h]
                    w_h = load(frames, h + 1, FIELD_W)
                    j = parent - 1
                    while j > h:
                        w_j = load(frames, j + 1, FIELD_W)
                        change = dot(w_h, cross(w_j, cross(w_k, b))) if j < k \
                            else dot(w_h, cross(w_k, cross(w_j, b)))
                        dq[s, h, j] += speed * change * v[s, k]
                        dq[s, k, j] -= speed * change * v[s, h]
                        dq[s, motor, j] += inertia[i] * change * v[s, h] * v[s, k]
                        j = parent_row(model, j) - 1
                    h = parent_row(model, h) - 1
                k = parent_row(model, k) - 1
