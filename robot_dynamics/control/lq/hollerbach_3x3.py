# SPDX-License-Identifier: Apache-2.0
r"""The recursive Lagrangian form and its derivatives with 3x3 matrices, for revolute joints.

W_i turns, p_i is the origin of link i: p_i = p_(i-1) + W_(i-1) t_i + W_i o_i with t_i fixed
in link i - 1 and o_i in link i, so that both conventions of the report are one: frames on
the joints that move them have o = 0, those of a standard DH table t = 0. With J_i the second
moments of link i about its origin, n_i its first moments, m_i its mass; from the tip on::

    e_i  = e_(i+1)  + m_i p_i''   + W_i'' n_i
    k_ij = k_(i+1)j + m_i p_i,j   + W_i,j n_i
    b_ij = b_(i+1)j + m_i p_i',j  + W_i',j n_i
    l_ij = l_(i+1)j + m_i p_i'',j + W_i'',j n_i

    D_i  = A_(i+1) D_(i+1)  + t_(i+1) e_(i+1)^T  + o_i e_i^T  + n_i p_i''^T   + J_i W_i''^T
    P_ij = A_(i+1) P_(i+1)j + t_(i+1) k_(i+1)j^T + o_i k_ij^T + n_i p_i,j^T   + J_i W_i,j^T
    Q_ij = A_(i+1) Q_(i+1)j + t_(i+1) b_(i+1)j^T + o_i b_ij^T + n_i p_i',j^T  + J_i W_i',j^T
    N_ij = A_(i+1) N_(i+1)j + t_(i+1) l_(i+1)j^T + o_i l_ij^T + n_i p_i'',j^T + J_i W_i'',j^T
    c_i  = A_(i+1) c_(i+1)  + t_(i+1) sum_(p>i) m_p + o_i sum_(p>=i) m_p + n_i

Efforts and derivatives are those of the 4x4 form for i >= j; for i < j, with ir_j the vector
from the joint point of link i to that of link j in the axes of link i::

    d tau_i/d v_j = 2 tr(W_i,i (iW_j Q_jj + ir_j b_jj^T))
    d tau_i/d q_j = tr(W_j,ij D_j) + tr(W_i,i (iW_j N_jj + ir_j l_jj^T)) - g^T W_j,ij c_j

Van Winssen, deSilva, "Accurate trajectory control of robotic manipulators", eqs. 79 to 94
and appendix B, corrected: the sign of p*, n_i = m_i r_i*, two conventions of frames in one
formula, gravity without the masses beyond (82), translation missing above the diagonal
(90, 92, 94), half of the derivatives by v (B.14).
"""

from __future__ import annotations

import numpy as np

from robot_dynamics.control.lq.hollerbach import Arithmetic, Chain, Motion, Recursion
from robot_dynamics.errors import ModelError
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import Robot


def recursion_3x3(robot: Robot, q: FloatArray, v: FloatArray, a: FloatArray) -> Recursion:
    """Return efforts and their derivatives.

    Parameters
    ----------
    robot : Robot
        A chain of revolute and continuous joints.
    q, v, a : ndarray, shape (n,)
        A motion.

    Raises
    ------
    ModelError
        Where a joint slides: nothing turns with it, so that this form says nothing of it.
    """
    return _Recursion3(Chain(robot), q, v, a).run()


class _Recursion3:
    """One run of `recursion_3x3`."""

    def __init__(self, chain: Chain, q: FloatArray, v: FloatArray, a: FloatArray):
        for name, slides in zip(chain.robot.joint_names, chain.is_prismatic, strict=True):
            if slides:
                raise ModelError('is prismatic: no rotation has a derivative by it', subject=name,
                                 remedy='use recursion_4x4')
        self.chain, self.ops, self.n = chain, Arithmetic(), chain.n
        self.joints = [chain.rotations(i, q[i]) for i in range(self.n)]
        self.motion = Motion(self.joints, v, a, self.ops)
        # Where frames sit on their joints, or fit on the one before, nothing is to be added.
        self.steps = [t if np.any(t) else None for t in chain.points]
        self.offsets = [o if np.any(o) else None for o in chain.offsets]
        self.vectors = self._vectors()
        self.p_ddot = self._points(self.motion.W_ddot)
        self.dp, self.dp_dot, self.dp_ddot = (
            self._point_derivatives(table) for table in (self.motion.dW, self.motion.dW_dot,
                                                         self.motion.dW_ddot))

    def run(self) -> Recursion:
        """Go from the tip to the base."""
        ops, motion, n = self.ops, self.motion, self.n
        gravity = self.chain.robot.gravity
        tau, dq, dv, M = np.zeros(n), np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n))
        D: FloatArray | None = None
        e: FloatArray | None = None
        c: FloatArray | None = None
        sums = [({}, {}) for _ in range(3)]  # (P, k), (Q, b), (N, l), each by j
        tables = ((motion.dW, self.dp), (motion.dW_dot, self.dp_dot),
                  (motion.dW_ddot, self.dp_ddot))
        mass_beyond = 0.0
        for i in range(n - 1, -1, -1):
            D, e = self._collected(i, motion.W_ddot[i], self.p_ddot[i], D, e)
            for j in range(i + 1):
                for (matrices, rows), (dW, dp) in zip(sums, tables, strict=True):
                    matrices[j], rows[j] = self._collected(i, dW[i, j], dp[i, j],
                                                           matrices.get(j), rows.get(j))
            c = self._weighed(i, c, mass_beyond)
            mass_beyond += float(self.chain.moments[i, 3, 3])
            (P, _), (Q, rate_rows), (N, bend_rows) = sums
            turned = motion.dW[i, i]
            tau[i] = ops.add(ops.trace(turned, D), -ops.dot(gravity, ops.product(turned, c)))
            for j in range(i + 1):
                M[i, j] = M[j, i] = ops.trace(turned, P[j])
                dv[i, j] = ops.number(2.0, ops.trace(turned, Q[j]))
                second = motion.second(i, j)
                bent = ops.add(ops.trace(second, D), -ops.dot(gravity, ops.product(second, c)))
                dq[i, j] = ops.add(bent, ops.trace(turned, N[j]))
                if j < i:
                    dv[j, i] = ops.number(2.0, self._above(j, i, Q[i], rate_rows[i]))
                    dq[j, i] = ops.add(bent, self._above(j, i, N[i], bend_rows[i]))
        return Recursion(tau, dq, dv, M, ops)

    def _points(self, W: list[FloatArray]) -> list[FloatArray]:
        """Return a rate of the origins of all links; the base stands still."""
        ops, points = self.ops, []
        for i in range(self.n):
            p = points[-1] if points else np.zeros(3)
            if i and self.steps[i] is not None:
                p = ops.sum(p, ops.product(W[i - 1], self.steps[i]))
            if self.offsets[i] is not None:
                p = ops.sum(p, ops.product(W[i], self.offsets[i]))
            points.append(p)
        return points

    def _point_derivatives(self, dW: dict[tuple[int, int], FloatArray]
                           ) -> dict[tuple[int, int], FloatArray]:
        """Return the derivatives of the origins by q_j, by (i, j) for j <= i."""
        ops, points = self.ops, {}
        for j in range(self.n):
            p = np.zeros(3)
            for i in range(j, self.n):
                if i > j and self.steps[i] is not None:
                    p = ops.sum(p, ops.product(dW[i - 1, j], self.steps[i]))
                if self.offsets[i] is not None:
                    p = ops.sum(p, ops.product(dW[i, j], self.offsets[i]))
                points[i, j] = p
        return points

    def _collected(self, i: int, W: FloatArray, p: FloatArray, beyond: FloatArray | None,
                   row: FloatArray | None) -> tuple[FloatArray, FloatArray]:
        """Return the matrix and the row of link i out of those of the link beyond."""
        ops, moments = self.ops, self.chain.moments[i]
        first, mass = moments[:3, 3], float(moments[3, 3])
        terms = [ops.outer(first, p), ops.product(moments[:3, :3], W.T)]
        if beyond is not None:
            terms.append(ops.product(self.joints[i + 1][0], beyond))
            if self.steps[i + 1] is not None:
                terms.append(ops.outer(self.steps[i + 1], row))
        own = ops.sum(ops.scaled(mass, p), ops.product(W, first))
        total = own if row is None else ops.sum(row, own)
        if self.offsets[i] is not None:
            terms.append(ops.outer(self.offsets[i], total))
        return ops.sum(*terms), total

    def _weighed(self, i: int, beyond: FloatArray | None, mass_beyond: float) -> FloatArray:
        """Return c_i."""
        ops, moments = self.ops, self.chain.moments[i]
        terms = [moments[:3, 3]]
        if beyond is not None:
            terms.append(ops.product(self.joints[i + 1][0], beyond))
            if self.steps[i + 1] is not None:
                terms.append(ops.scaled(mass_beyond, self.steps[i + 1]))
        if self.offsets[i] is not None:
            terms.append(ops.scaled(mass_beyond + float(moments[3, 3]), self.offsets[i]))
        return ops.sum(*terms)

    def _vectors(self) -> dict[tuple[int, int], FloatArray]:
        """Return the vectors jr_i from the joint of link j to that of link i, by (j, i)."""
        ops, vectors = self.ops, {}
        for j in range(self.n):
            vector = np.zeros(3)
            for i in range(j + 1, self.n):
                for step in (self.offsets[i - 1], self.steps[i]):
                    if step is not None:
                        vector = ops.sum(vector, ops.product(self.motion.from_link[j, i - 1],
                                                             step))
                vectors[j, i] = vector
        return vectors

    def _above(self, j: int, i: int, matrix: FloatArray, row: FloatArray) -> float:
        """Return tr(W_j,j (jW_i X_ii + jr_i x_ii^T))."""
        ops = self.ops
        seen = ops.sum(ops.product(self.motion.from_link[j, i], matrix),
                       ops.outer(self.vectors[j, i], row))
        return ops.trace(self.motion.dW[j, j], seen)
