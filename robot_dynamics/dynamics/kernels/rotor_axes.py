# SPDX-License-Identifier: Apache-2.0
r"""How rotors that ride on moving links turn with them.

The rotor of motor i turns about b_i = R z_m,i, an axis of the link that it is mounted on.
With w_h the angular velocity that unit speed of joint h gives to what it carries, and only
for joints that carry that link::

    W_i,h  = w_h . b_i                  turn of the link about the axis of the rotor
    X_i,hk = w_h . (w_k x b_i)          dW_i,h / dq_k for h before k

Moving with joint k, w_h and b_i turn together if k comes before h, so that W_i,h changes
with joints from h on only.
"""

import math

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
from robot_dynamics.dynamics.kernels.loading import part
from robot_dynamics.dynamics.kernels.pose import (
    IDENTITY,
    link_origin,
    parent_row,
    place,
)

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
