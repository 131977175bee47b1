# SPDX-License-Identifier: Apache-2.0
r"""The recursive Lagrangian form and its derivatives with 4x4 matrices.

With J_i the pseudo-inertia of link i (second moments, first moments, mass) and c its first
moments, from the tip to the base::

    D_i  = J_i W_i''^T  + A_(i+1) D_(i+1)
    c_i  = J_i (0, 0, 0, 1)^T + A_(i+1) c_(i+1)
    P_ij = J_i W_i,j^T   + A_(i+1) P_(i+1)j
    Q_ij = J_i W_i',j^T  + A_(i+1) Q_(i+1)j
    N_ij = J_i W_i'',j^T + A_(i+1) N_(i+1)j

    tau_i          = tr(W_i,i D_i) - g^T W_i,i c_i
    M_ij           = tr(W_i,i P_ij)                                       i >= j
    d tau_i/d v_j  = 2 tr(W_i,i Q_ij)                                     i >= j
                   = 2 tr(W_j,i Q_jj)                                     i < j
    d tau_i/d q_j  = tr(W_i,ij D_i) + tr(W_i,i N_ij) - g^T W_i,ij c_i     i >= j
                   = tr(W_j,ij D_j) + tr(W_j,i N_jj) - g^T W_j,ij c_j     i < j

Van Winssen, deSilva, "Accurate trajectory control of robotic manipulators", eqs. 68 to 78,
corrected: d W_p''/d v_j is 2 d W_p'/d q_j (42), so that the derivatives by v double; and
above the diagonal the matrices are those of link j, and W_j,i = W_i,i iW_j (74, 76, 78).
"""

from __future__ import annotations

import numpy as np

from robot_dynamics.control.lq.hollerbach import Arithmetic, Chain, Motion, Recursion
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import Robot


def recursion_4x4(robot: Robot, q: FloatArray, v: FloatArray, a: FloatArray) -> Recursion:
    """Return efforts and their derivatives.

    Parameters
    ----------
    robot : Robot
        A chain of revolute, continuous and prismatic joints.
    q, v, a : ndarray, shape (n,)
        A motion.
    """
    chain, ops = Chain(robot), Arithmetic()
    n = chain.n
    joints = [chain.transformations(i, q[i]) for i in range(n)]
    motion = Motion(joints, v, a, ops)
    gravity = np.append(robot.gravity, 0.0)
    tau, dq, dv, M = np.zeros(n), np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n))
    P: dict[int, FloatArray] = {}
    Q: dict[int, FloatArray] = {}
    N: dict[int, FloatArray] = {}
    D = c = None
    for i in range(n - 1, -1, -1):
        J = chain.moments[i]
        following = joints[i + 1][0] if i + 1 < n else None
        D = _carried(ops, ops.product(J, motion.W_ddot[i].T), following, D)
        c = _carried(ops, J[:, 3], following, c)
        for j in range(i + 1):
            for sums, derivatives in ((P, motion.dW), (Q, motion.dW_dot), (N, motion.dW_ddot)):
                sums[j] = _carried(ops, ops.product(J, derivatives[i, j].T), following,
                                   sums.get(j))
        turned = motion.dW[i, i]
        tau[i] = ops.add(ops.trace(turned, D), -ops.dot(gravity, ops.product(turned, c)))
        for j in range(i + 1):
            M[i, j] = M[j, i] = ops.trace(turned, P[j])
            dv[i, j] = ops.number(2.0, ops.trace(turned, Q[j]))
            second = motion.second(i, j)
            bent = ops.add(ops.trace(second, D), -ops.dot(gravity, ops.product(second, c)))
            dq[i, j] = ops.add(bent, ops.trace(turned, N[j]))
            if j < i:
                dv[j, i] = ops.number(2.0, ops.trace(motion.dW[i, j], Q[i]))
                dq[j, i] = ops.add(bent, ops.trace(motion.dW[i, j], N[i]))
    return Recursion(tau, dq, dv, M, ops)


def _carried(ops: Arithmetic, own: FloatArray, following: FloatArray | None,
             beyond: FloatArray | None) -> FloatArray:
    """Return what a link adds to what the next ones add up to, seen from it."""
    return own if following is None else ops.sum(own, ops.product(following, beyond))
