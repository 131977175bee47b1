# SPDX-License-Identifier: Apache-2.0
r"""Objective of the design of a motion: information on the base parameters, and its gradient.

W stacks the columns of the base parameters in the regressors of a motion. Either objective is
a smooth function of N = W^T W:

* ``condition``: of C, N with the columns of W scaled to unit length, with eigenvalues l_i, the
  squares of the singular values of the scaled W,

  .. math:: \frac{1}{2 p} \Big(\log \sum_i l_i^p + \log \sum_i l_i^{-p}\Big)

  which is an upper bound of the logarithm of the condition number and converges to it as p grows.
  The condition number itself is not differentiable at equal singular values, to which its
  minimisation leads (M. Gautier and W. Khalil, "Exciting trajectories for the identification of
  base inertial parameters of robots", International Journal of Robotics Research 11(4), 1992,
  minimise it directly).
* ``d_optimal``: -log det N / r, the volume of the confidence ellipsoid, which does not depend
  on the scale of parameters (J. Swevers et al., "Optimal robot excitation and identification",
  IEEE Transactions on Robotics and Automation 13(5), 1997).

The gradient: for weights Z of the entries of the regressors Y(q, v, a) of a motion, the sum L =
sum Z_jc Y_jc is differentiated by q, v and a in one pass, independent of the number of columns.
Row j of Z is a set of parameters of bodies, and L the sum of the efforts of each joint j for its
own set. With 4 x 4 matrices in base axes, T_k the pose of body k, S_j the twist of joint j, V_k
and A_k twist and its time derivative, J_jk the pseudo-inertia of body k in row j, K_jk = T_k J_jk
T_k^T, G gravity and R_k = A_k + V_k V_k - G,

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

from collections.abc import Sequence

import numpy as np

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.dynamics.base_parameters import structural_base
from robot_dynamics.dynamics.kernels.loading import kernel, part
from robot_dynamics.errors import ParameterError
from robot_dynamics.identification.dataset.settings import require_choice
from robot_dynamics.identification.excitation.curves import Basis
from robot_dynamics.identification.excitation.effort_bound import EffortEnclosure
from robot_dynamics.identification.excitation.limits import MotionLimits
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.joints import JointType
from robot_dynamics.model.robot import Robot

OBJECTIVES = ('condition', 'd_optimal')
#: p above; twice that for singular values.
POWER = 8
#: Joint terms with a gradient.
TERMS = ('viscous', 'coulomb', 'armature', 'offset')
# Width of the smooth sign of Coulomb friction, rad/s or m/s.
_COULOMB = 0.05
# Smallest eigenvalue, against rounding, of a matrix with a trace equal to its size.
_LEAST = 1e-14
# Rows of the enclosure of a motion in the penalty.
_ENOUGH = 800


class Information:
    """Information of motions on the base parameters of a robot, by one of `OBJECTIVES`.

    ``terms`` are those of `TERMS` that are identified with the bodies.
    """

    def __init__(self, robot, objective: str = 'condition', terms: Sequence[str] = ()):
        require_choice('objective', objective, OBJECTIVES)
        self.objective = objective
        self.dynamics = Dynamics(robot, coulomb_velocity=_COULOMB)
        self.terms = tuple(terms)
        self.base = structural_base(self.dynamics, self.terms)
        self._robot = robot
        self._inertial = 10 * robot.n_bodies
        if self.base.rank == 0:
            raise ParameterError('has no identifiable parameter', subject=robot.name,
                                 remedy='give the joint terms to be identified')

    def regressor(self, q: FloatArray, v: FloatArray, a: FloatArray) -> FloatArray:
        """W, shape (m n, r)."""
        Y = self.dynamics.regressor(q, v, a, self.terms)
        return Y.reshape(-1, Y.shape[-1])[:, self.base.independent]

    def condition(self, q: FloatArray, v: FloatArray, a: FloatArray) -> float:
        """Condition number of W with columns of unit length."""
        W = self.regressor(q, v, a)
        lengths = np.sqrt(np.sum(W * W, axis=0))
        if not np.all(lengths > 0.0):
            return float(np.inf)
        return float(np.linalg.cond(W / lengths))

    def value_and_gradient(self, q: FloatArray, v: FloatArray, a: FloatArray
                           ) -> tuple[float, tuple[FloatArray, FloatArray, FloatArray]]:
        """Objective and its derivatives by q, v and a, shape (m, n) each."""
        W = self.regressor(q, v, a)
        value, slope = self._of(W.T @ W)
        count, n = q.shape
        width = self._inertial + len(self.terms) * n
        Z = np.zeros((count, n, width))
        Z[..., self.base.independent] = 2.0 * (W @ slope).reshape(count, n, -1)
        dq, dv, da = regressor_gradient(self._robot, q, v, a, Z[..., :self._inertial])
        joints = np.arange(n)
        for k, term in enumerate(self.terms):
            own = Z[:, joints, self._inertial + k * n + joints]
            if term == 'viscous':
                dv += own
            elif term == 'coulomb':
                dv += own * (1.0 - np.tanh(v / _COULOMB) ** 2) / _COULOMB
            elif term == 'armature':
                da += own
        return value, (dq, dv, da)

    def _of(self, N: FloatArray) -> tuple[float, FloatArray]:
        """Objective of N and its derivative, symmetric, shape (r, r)."""
        r = len(N)
        lengths = np.sqrt(np.maximum(np.diag(N), 1e-300))
        C = N / np.outer(lengths, lengths)
        values, vectors = np.linalg.eigh(C)
        values = np.maximum(values, _LEAST)
        if self.objective == 'd_optimal':
            value = -(np.sum(np.log(values)) + 2.0 * np.sum(np.log(lengths))) / r
            inverse = (vectors / values) @ vectors.T
            return float(value), -inverse / np.outer(lengths, lengths) / r
        large, small = (values / values[-1]) ** POWER, (values[0] / values) ** POWER
        value = 0.5 * (np.log(values[-1] / values[0])
                       + (np.log(np.sum(large)) + np.log(np.sum(small))) / POWER)
        by_value = 0.5 * (large / np.sum(large) - small / np.sum(small)) / values
        S = (vectors * by_value) @ vectors.T
        # C_ij = N_ij / sqrt(N_ii N_jj): the diagonal of N acts through the scaling, too.
        slope = S / np.outer(lengths, lengths)
        slope[np.diag_indices(r)] -= np.einsum('ij,ij->i', S, C) / lengths ** 2
        return float(value), slope


def regressor_gradient(robot: Robot, q: FloatArray, v: FloatArray, a: FloatArray,
                       weights: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Derivatives of L by q, v and a, shape (m, n) each, for joints of one coordinate.

    The weights Z have shape (m, n, 10 nb).
    """
    robot.require_single_coordinates('excitation')
    coupling, bodies = robot.coupling, robot.n_bodies
    # The coupling maps weights of joints to those of bodies, as it does efforts.
    Z = (coupling @ weights).reshape(len(q), bodies, bodies, 10)
    motion = _motion(robot, q @ coupling.T + robot.coupling_offset, v @ coupling.T,
                     a @ coupling.T)
    dq, dv, da = (np.empty((len(q), bodies)) for _ in range(3))
    weighted_sum_slopes.load()(*motion, np.array(robot.gravity),
                               np.array(robot.parents, dtype=np.int64), Z, dq, dv, da)
    return dq @ coupling, dv @ coupling, da @ coupling


def _motion(robot: Robot, q: FloatArray, v: FloatArray, a: FloatArray) -> tuple[FloatArray, ...]:
    """T, S, V, A, dS/dt and d^2S/dt^2 of all bodies, shape (nb, m, 4, 4) each."""
    count, bodies = len(q), robot.n_bodies
    T, S, V, A, S_dot, S_ddot = (np.zeros((bodies, count, 4, 4)) for _ in range(6))
    base, still = np.broadcast_to(np.eye(4), (count, 4, 4)), np.zeros((count, 4, 4))
    for k, parent in enumerate(robot.parents):
        above, twist, change = ((T[parent], V[parent], A[parent]) if parent >= 0
                                else (base, still, still))
        place = above @ robot.placements[k]
        axis = place[:, :3, :3] @ robot.axes[k]
        local = np.broadcast_to(np.eye(4), (count, 4, 4)).copy()
        if robot.joint_types[k] == JointType.PRISMATIC:
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
    """Rotations about an axis, shape (m, 3, 3), by the formula of Rodrigues."""
    skew = _cross(axis[np.newaxis])
    sine, versine = np.sin(angle), 1.0 - np.cos(angle)
    return (np.eye(3) + sine[:, np.newaxis, np.newaxis] * skew
            + versine[:, np.newaxis, np.newaxis] * (skew @ skew))


def _cross(vectors: FloatArray) -> FloatArray:
    """Matrices of cross products with vectors of shape (m, 3)."""
    out = np.zeros((len(vectors), 3, 3))
    out[:, 0, 1], out[:, 0, 2], out[:, 1, 2] = -vectors[:, 2], vectors[:, 1], -vectors[:, 0]
    return out - np.swapaxes(out, -1, -2)


@part
def _times(x, y, out):
    """Write the product of two 4 x 4 matrices."""
    for i in range(4):
        for j in range(4):
            out[i, j] = (x[i, 0] * y[0, j] + x[i, 1] * y[1, j] + x[i, 2] * y[2, j]
                         + x[i, 3] * y[3, j])


@part
def _times_transposed(x, y, out):
    """Write x y^T."""
    for i in range(4):
        for j in range(4):
            out[i, j] = (x[i, 0] * y[j, 0] + x[i, 1] * y[j, 1] + x[i, 2] * y[j, 2]
                         + x[i, 3] * y[j, 3])


@kernel('void(f8[:,:,:,::1], f8[:,:,:,::1], f8[:,:,:,::1], f8[:,:,:,::1], '
                  'f8[:,:,:,::1], f8[:,:,:,::1], f8[::1], i8[::1], f8[:,:,:,::1], f8[:,::1], '
                  'f8[:,::1], f8[:,::1])', on_demand=True, nogil=True)
def weighted_sum_slopes(T, S, V, A, S_dot, S_ddot, gravity, parents, Z, dq, dv, da):
    """Write the derivatives of L by the motion of all bodies, (m, nb) each.

    Matrices T, S, V, A, dS/dt and d^2S/dt^2 have shape (nb, m, 4, 4); Z has shape
    (m, nb, nb, 10): row of a joint, body, parameter.
    """
    bodies, count = T.shape[0], T.shape[1]
    chain = np.empty(bodies, np.int64)
    J, K, Q, R, P = (np.empty((4, 4)), np.empty((4, 4)), np.empty((4, 4)), np.empty((4, 4)),
                     np.empty((4, 4)))
    before, after, some, PVt, PQt = (np.empty((4, 4)), np.empty((4, 4)), np.empty((4, 4)),
                                     np.empty((4, 4)), np.empty((4, 4)))
    SKR, KR = np.empty((bodies, 4, 4)), np.empty((bodies, 4, 4))
    dq[:] = 0.0
    dv[:] = 0.0
    da[:] = 0.0
    for m in range(count):
        for k in range(bodies):
            length, body = 0, k
            while body >= 0:
                length += 1
                body = parents[body]
            body = k
            for at in range(length - 1, -1, -1):
                chain[at] = body
                body = parents[body]
            _times(V[k, m], V[k, m], Q)
            for i in range(4):
                for j in range(4):
                    Q[i, j] += A[k, m, i, j]
                    R[i, j] = Q[i, j]
                    P[i, j] = 0.0
                    after[i, j] = 0.0
                    before[i, j] = 0.0
            for i in range(3):
                R[i, 3] -= gravity[i]
            for at in range(length):
                h = chain[at]
                # [[tr(J)/2 1 - J, m c], [m c^T, m]] of the tensor J about the origin.
                z = Z[m, h, k]
                half = 0.5 * (z[4] + z[7] + z[9])
                J[0, 0], J[1, 1], J[2, 2], J[3, 3] = half - z[4], half - z[7], half - z[9], z[0]
                J[0, 1] = J[1, 0] = -z[5]
                J[0, 2] = J[2, 0] = -z[6]
                J[1, 2] = J[2, 1] = -z[8]
                J[0, 3] = J[3, 0] = z[1]
                J[1, 3] = J[3, 1] = z[2]
                J[2, 3] = J[3, 2] = z[3]
                _times(T[k, m], J, some)
                _times_transposed(some, T[k, m], K)
                _times(S[h, m], K, some)
                _times_transposed(K, R, KR[at])
                _times(S[h, m], KR[at], SKR[at])
                for i in range(4):
                    for j in range(4):
                        P[i, j] += some[i, j]
                        after[i, j] += SKR[at, i, j]
            _times_transposed(P, V[k, m], PVt)
            _times_transposed(P, Q, PQt)
            for at in range(length):
                h = chain[at]
                _times(KR[at], S[h, m], some)
                by_q, by_v, by_a = 0.0, 0.0, 0.0
                for i in range(4):
                    for j in range(4):
                        after[i, j] -= SKR[at, i, j]
                        before[i, j] += some[i, j]
                for i in range(4):
                    for j in range(4):
                        s, rate = S[h, m, i, j], S_dot[h, m, i, j]
                        by_a += P[i, j] * s
                        by_v += PVt[i, j] * s + P[i, j] * rate
                        by_q += (s * (after[j, i] + before[j, i]) + P[i, j] * S_ddot[h, m, i, j]
                                 + 2.0 * PVt[i, j] * rate + PQt[i, j] * s)
                da[m, h] += by_a
                dv[m, h] += 2.0 * by_v
                dq[m, h] += by_q


class Penalty:
    """Sums of squares of excesses of motions from a start over limits, as fractions of them."""

    def __init__(self, basis: Basis, start: FloatArray, limits: MotionLimits,
                 efforts: EffortEnclosure):
        self._limits, self._efforts = limits, efforts
        # All rows are used in the final check; an approximation is sufficient for the penalty.
        self._rows = [rows[::max(1, len(rows) // _ENOUGH)]
                      for rows in (basis.hull(k)[0] for k in range(3))]
        middle, half = 0.5 * (limits.upper + limits.lower), 0.5 * (limits.upper - limits.lower)
        self._offset = (start - middle) / half
        self._sizes = (half, limits.velocity, limits.acceleration)

    def of_motion(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Penalty of position, velocity and acceleration of coefficients, and its gradient."""
        value, slope = 0.0, np.zeros_like(x)
        for k, (rows, size) in enumerate(zip(self._rows, self._sizes, strict=True)):
            share = rows @ x / size
            if k == 0:
                share += self._offset
            beyond = share - np.clip(share, -1.0, 1.0)
            value += float(np.sum(beyond * beyond)) / len(rows)
            slope += rows.T @ (2.0 * beyond / size) / len(rows)
        return value, slope

    def of_efforts(self, q: FloatArray, v: FloatArray, a: FloatArray
                   ) -> tuple[float, tuple[FloatArray, FloatArray, FloatArray] | None]:
        """Penalty of the efforts at samples, and its derivatives; None if it is zero."""
        robot = self._efforts.robot
        tau = self._efforts.efforts(q, v, a)
        room = np.maximum(self._limits.effort - robot.friction, 1e-9)
        share = tau / room
        beyond = share - np.clip(share, -1.0, 1.0)
        rows = np.flatnonzero(np.any(beyond != 0.0, axis=1))
        if rows.size == 0:
            return 0.0, None
        value = float(np.sum(beyond * beyond)) / len(q)
        by_effort = 2.0 * beyond[rows] / room / len(q)
        by_q, by_v, M = self._efforts.dynamics.inverse_dynamics_derivatives(
            q[rows], v[rows], a[rows])
        slopes = np.zeros_like(q), np.zeros_like(q), np.zeros_like(q)
        slopes[0][rows] = np.einsum('mi,mih->mh', by_effort, by_q)
        slopes[1][rows] = np.einsum('mi,mih->mh', by_effort, by_v) + by_effort * robot.damping
        slopes[2][rows] = np.einsum('mi,mih->mh', by_effort, M)
        return value, slopes
