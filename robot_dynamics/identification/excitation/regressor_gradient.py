# SPDX-License-Identifier: Apache-2.0
r"""How anything that is computed from regressors changes with the motion.

For weights Z of the entries of the regressors Y(q, v, a) of a motion, the sum
L = sum Z_jc Y_jc is differentiated by q, v and a in one pass, whatever the number of columns.
In row j, Z says parameters of bodies, and L is the sum of the efforts of each joint j for its
own set of them. With 4 x 4 matrices in base axes, T_k the pose of body k, S_j the twist of
joint j, V_k and A_k twist and its time derivative, J_jk the pseudo-inertia of body k in row j,
K_jk = T_k J_jk T_k^T, G gravity and R_k = A_k + V_k V_k - G,

.. math::

    L = \sum_k \sum_{j \le k} \mathrm{tr}(S_j K_{jk} R_k^T)

(J. Hollerbach, "A recursive Lagrangian formulation of manipulator dynamics", IEEE Transactions
on Systems, Man, and Cybernetics 10(11), 1980, has this form of the efforts), and with
P_k = sum_j S_j K_jk, <X, Y> = tr(X Y^T), p the parent of h, [X, Y] = X Y - Y X and k over the
bodies that joint h carries:

.. math::

    \partial L/\partial a_h &= \sum_k \langle P_k, S_h \rangle \\
    \partial L/\partial v_h &= 2 \sum_k \langle P_k, S_h V_k + [V_p, S_h] \rangle \\
    \partial L/\partial q_h &= \sum_k \mathrm{tr}\Big(S_h \sum_{h < j \le k} S_j K_{jk} R_k^T
        + \sum_{j \le h} S_j S_h K_{jk} R_k^T\Big)
        + \langle P_k, \ddot S_h + 2 \dot S_h V_k + S_h (A_k + V_k V_k) \rangle

with dS_h/dt = [V_p, S_h].
"""

from __future__ import annotations

import numpy as np

from robot_dynamics.identification.excitation.gradient_kernel import weighted_sum_slopes
from robot_dynamics.model.arrays import BoolArray, FloatArray
from robot_dynamics.model.joints import JointType
from robot_dynamics.model.robot import Robot


class RegressorGradient:
    """Derivatives of weighted sums of the entries of regressors.

    Parameters
    ----------
    robot : Robot
        Joints of one coordinate each; any tree, mimic joints too.
    """

    def __init__(self, robot: Robot):
        robot.require_single_coordinates('excitation')
        self._robot = robot
        self._slides = robot.joint_types == JointType.PRISMATIC
        self._parents = np.array(robot.parents, dtype=np.int64)

    def __call__(self, q: FloatArray, v: FloatArray, a: FloatArray, weights: FloatArray
                 ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Differentiate L.

        Parameters
        ----------
        q, v, a : ndarray, shape (m, n)
            The motion.
        weights : ndarray, shape (m, n, 10 nb)
            Z.

        Returns
        -------
        dL_dq, dL_dv, dL_da : ndarray, shape (m, n)
            Derivatives.
        """
        robot = self._robot
        coupling, bodies = robot.coupling, robot.n_bodies
        # Efforts of joints are those of bodies through the coupling, and so are weights.
        Z = (coupling @ weights).reshape(len(q), bodies, bodies, 10)
        motion = _motion(robot, self._slides, q @ coupling.T + robot.coupling_offset,
                         v @ coupling.T, a @ coupling.T)
        slopes = tuple(np.empty((len(q), bodies)) for _ in range(3))
        weighted_sum_slopes.load()(*motion, np.array(robot.gravity), self._parents, Z, *slopes)
        return tuple(slope @ coupling for slope in slopes)


def _motion(robot: Robot, slides: BoolArray, q: FloatArray, v: FloatArray,
            a: FloatArray) -> tuple[FloatArray, ...]:
    """Return T, S, V, A, dS/dt and d^2S/dt^2 of all bodies, shape (nb, m, 4, 4) each."""
    count, bodies = len(q), robot.n_bodies
    T, S, V, A, S_dot, S_ddot = (np.zeros((bodies, count, 4, 4)) for _ in range(6))
    base, still = np.broadcast_to(np.eye(4), (count, 4, 4)), np.zeros((count, 4, 4))
    for k, parent in enumerate(robot.parents):
        above, twist, change = ((T[parent], V[parent], A[parent]) if parent >= 0
                                else (base, still, still))
        place = above @ robot.placements[k]
        axis = place[:, :3, :3] @ robot.axes[k]
        local = np.broadcast_to(np.eye(4), (count, 4, 4)).copy()
        if slides[k]:
            S[k, :, :3, 3] = axis
            local[:, :3, 3] = robot.link_offsets[k] + q[:, k, np.newaxis] * robot.axes[k]
        else:
            S[k, :, :3, :3] = _cross(axis)
            S[k, :, :3, 3] = -np.cross(axis, place[:, :3, 3])
            local[:, :3, :3] = _turned(robot.axes[k], q[:, k])
            local[:, :3, 3] = local[:, :3, :3] @ robot.link_offsets[k]
        np.matmul(place, local, out=T[k])
        rate = twist @ S[k] - S[k] @ twist
        S_dot[k] = rate
        S_ddot[k] = change @ S[k] - S[k] @ change + twist @ rate - rate @ twist
        speed, pull = v[:, k, np.newaxis, np.newaxis], a[:, k, np.newaxis, np.newaxis]
        V[k] = twist + speed * S[k]
        # d/dt (S_k v_k), where S_k is carried by the parent.
        A[k] = change + pull * S[k] + speed * rate
    return T, S, V, A, S_dot, S_ddot


def _turned(axis: FloatArray, angle: FloatArray) -> FloatArray:
    """Return rotations about an axis, shape (m, 3, 3), by the formula of Rodrigues."""
    skew = _cross(axis[np.newaxis])
    sine, versine = np.sin(angle), 1.0 - np.cos(angle)
    return (np.eye(3) + sine[:, np.newaxis, np.newaxis] * skew
            + versine[:, np.newaxis, np.newaxis] * (skew @ skew))


def _cross(vectors: FloatArray) -> FloatArray:
    """Return the matrices of cross products with vectors of shape (m, 3)."""
    out = np.zeros((len(vectors), 3, 3))
    out[:, 0, 1], out[:, 0, 2], out[:, 1, 2] = -vectors[:, 2], vectors[:, 1], -vectors[:, 0]
    return out - np.swapaxes(out, -1, -2)
