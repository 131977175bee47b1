# SPDX-License-Identifier: Apache-2.0
"""What the recursive Lagrangian forms share: the chain, its matrices, and who counts.

W_i = A_1 A_2 ... A_i takes link i to the base; A_i(q_i) and its derivatives by q_i follow
from the joint. The same recursions run with 4x4 matrices of rotation and translation and
with 3x3 matrices of rotation alone::

    W_i   = W_(i-1) A_i
    W_i'  = W_(i-1)' A_i  + W_(i-1) A_i,q v_i
    W_i'' = W_(i-1)'' A_i + 2 W_(i-1)' A_i,q v_i + W_(i-1) (A_i,qq v_i^2 + A_i,q a_i)

and the same for jW_i from link j on, jW_j = 1; then, for i >= j::

    W_i,j   = W_j,j jW_i
    W_i',j  = W_j',j jW_i  + W_j,j jW_i'
    W_i'',j = W_j'',j jW_i + 2 W_j',j jW_i' + W_j,j jW_i''

Van Winssen, deSilva, "Accurate trajectory control of robotic manipulators", eqs. 64 to 67,
with the factor 2 that 67 lacks; after J. M. Hollerbach, "A recursive Lagrangian formulation
of manipulator dynamics and a comparative study of dynamics formulation complexity".

Everything here is to be read and compared with, not to be run in a loop: the derivatives of
`robot_dynamics.dynamics.Dynamics` are the same numbers, thousands of times faster.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robot_dynamics.errors import ModelError
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.inertia import pseudo_inertia
from robot_dynamics.model.joints import JointType
from robot_dynamics.model.robot import Robot


class Arithmetic:
    """Does what recursions ask for, and counts it as if no entry were known to be zero.

    Attributes
    ----------
    multiplications, additions : int
        Done so far.
    """

    def __init__(self) -> None:
        self.multiplications = 0
        self.additions = 0

    def product(self, X: FloatArray, Y: FloatArray) -> FloatArray:
        """Multiply a matrix by a matrix or vector."""
        rows, inner, columns = len(X), Y.shape[0], Y.shape[1] if Y.ndim == 2 else 1
        self._count(rows * inner * columns, rows * (inner - 1) * columns)
        return X @ Y

    def sum(self, *terms: FloatArray) -> FloatArray:
        """Add up two or more arrays."""
        self._count(0, (len(terms) - 1) * terms[0].size)
        return np.sum(terms, axis=0)

    def scaled(self, factor: float, X: FloatArray) -> FloatArray:
        """Multiply an array by a number."""
        self._count(X.size, 0)
        return factor * X

    def number(self, *factors: float) -> float:
        """Multiply numbers."""
        self._count(len(factors) - 1, 0)
        return float(np.prod(factors))

    def outer(self, x: FloatArray, y: FloatArray) -> FloatArray:
        """Multiply a column by a row."""
        self._count(x.size * y.size, 0)
        return np.outer(x, y)

    def trace(self, X: FloatArray, Y: FloatArray) -> float:
        """Return the trace of X Y, no other entry of which is computed."""
        self._count(X.size, X.size - 1)
        return float(np.sum(X * Y.T))

    def dot(self, x: FloatArray, y: FloatArray) -> float:
        """Return the inner product."""
        self._count(x.size, x.size - 1)
        return float(x @ y)

    def add(self, *numbers: float) -> float:
        """Add up numbers."""
        self._count(0, len(numbers) - 1)
        return float(sum(numbers))

    def _count(self, multiplications: int, additions: int) -> None:
        self.multiplications += multiplications
        self.additions += additions


@dataclass(frozen=True, eq=False)
class Recursion:
    """What a recursive form computes, efforts and their derivatives.

    Attributes
    ----------
    tau : ndarray, shape (n,)
        M a + C v + g.
    dtau_dq, dtau_dv, M : ndarray, shape (n, n)
        Its derivatives by q, v and a.
    arithmetic : Arithmetic
        What that took.
    """

    tau: FloatArray
    dtau_dq: FloatArray
    dtau_dv: FloatArray
    M: FloatArray
    arithmetic: Arithmetic


class Chain:
    """A robot without branches.

    Parameters
    ----------
    robot : Robot
        Each body hangs on the one before it, each joint has its own coordinate.

    Raises
    ------
    ModelError
        Where it is something else.
    """

    def __init__(self, robot: Robot):
        robot.require_single_coordinates('the recursive Lagrangian form')
        if not (robot.is_directly_driven
                and np.array_equal(robot.parents, np.arange(-1, robot.n_bodies - 1))):
            raise ModelError('is no chain of links with a joint each', subject=robot.name,
                             remedy='lock the joints of other branches, or use the derivatives '
                                    'of Dynamics')
        self.robot, self.n = robot, robot.n
        #: Second moments of each link about its frame, first moments and mass around them.
        self.moments = pseudo_inertia(robot.inertial_parameters)
        self.points = robot.placements[:, :3, 3]
        self.offsets = robot.link_offsets
        self.is_prismatic = robot.joint_types == JointType.PRISMATIC

    def rotations(self, i: int, q: float) -> list[FloatArray]:
        """Return the rotation of a joint and its first three derivatives, (3, 3) each."""
        R, axis = self.robot.placements[i, :3, :3], self.robot.axes[i]
        if self.is_prismatic[i]:
            return [R] + [np.zeros((3, 3))] * 3
        S = np.array([[0.0, -axis[2], axis[1]], [axis[2], 0.0, -axis[0]],
                      [-axis[1], axis[0], 0.0]])
        along = np.outer(axis, axis)
        sine, cosine = np.sin(q), np.cos(q)
        # S S = along - 1 takes sine and cosine around.
        across = np.eye(3) - along
        return [R @ (along + cosine * across + sine * S), R @ (cosine * S - sine * across),
                R @ (-cosine * across - sine * S), R @ (sine * across - cosine * S)]

    def transformations(self, i: int, q: float) -> list[FloatArray]:
        """Return the pose of a joint and its first three derivatives, (4, 4) each."""
        matrices = []
        for order, R in enumerate(self.rotations(i, q)):
            A = np.zeros((4, 4))
            A[:3, :3], A[:3, 3] = R, R @ self.offsets[i]
            matrices.append(A)
            if self.is_prismatic[i] and order < 2:
                axis = self.robot.placements[i, :3, :3] @ self.robot.axes[i]
                A[:3, 3] += axis * (q if order == 0 else 1.0)
        matrices[0][:3, 3] += self.points[i]
        matrices[0][3, 3] = 1.0
        return matrices


class Motion:
    """Matrices of all links, their rates, and their derivatives by each joint.

    Parameters
    ----------
    joints : list of lists of ndarrays
        A_i and its first three derivatives, each (k, k).
    v, a : ndarray, shape (n,)
        Velocities and accelerations.
    ops : Arithmetic
        Counts.

    Attributes
    ----------
    W, W_dot, W_ddot : list of ndarrays
        Of each link.
    from_link : dict
        jW_i by (j, i), for j <= i.
    dW, dW_dot, dW_ddot : dict
        Their derivatives by q_j, by (i, j) for j <= i.
    """

    def __init__(self, joints: list[list[FloatArray]], v: FloatArray, a: FloatArray,
                 ops: Arithmetic):
        self._joints, self._ops = joints, ops
        self._v, self._a = v, a
        k = joints[0][0].shape[0]
        self._start = (np.eye(k), np.zeros((k, k)), np.zeros((k, k)))
        n = len(joints)
        links = []
        for i in range(n):
            links.append(self._next(links[i - 1] if i else self._start, i, is_first=i == 0))
        self.W, self.W_dot, self.W_ddot = map(list, zip(*links, strict=True))
        self.from_link: dict[tuple[int, int], FloatArray] = {}
        self.dW: dict[tuple[int, int], FloatArray] = {}
        self.dW_dot: dict[tuple[int, int], FloatArray] = {}
        self.dW_ddot: dict[tuple[int, int], FloatArray] = {}
        for j in range(n):
            self._along(j, links[j - 1] if j else self._start)

    def second(self, i: int, j: int) -> FloatArray:
        """Return d2 W_i / dq_i dq_j for i >= j."""
        A = self._joints[i]
        if i == j:
            return self._ops.product(self.W[i - 1], A[2]) if i else A[2]
        return self._ops.product(self.dW[i - 1, j], A[1])

    def _next(self, before: tuple[FloatArray, ...], i: int, *, is_first: bool
              ) -> tuple[FloatArray, ...]:
        """Return W, W' and W'' of the next link."""
        ops, (A, A1, A2, _), v, a = self._ops, self._joints[i], self._v[i], self._a[i]
        W, W_dot, W_ddot = before
        if is_first:
            return A, ops.scaled(v, A1), ops.sum(ops.scaled(ops.number(v, v), A2),
                                                 ops.scaled(a, A1))
        turned = ops.product(W, A1)
        return (ops.product(W, A), ops.sum(ops.product(W_dot, A), ops.scaled(v, turned)),
                ops.sum(ops.product(W_ddot, A),
                        ops.scaled(ops.number(2.0, v), ops.product(W_dot, A1)),
                        ops.scaled(ops.number(v, v), ops.product(W, A2)), ops.scaled(a, turned)))

    def _along(self, j: int, before: tuple[FloatArray, ...]) -> None:
        """Write the derivatives of all links by one joint."""
        ops, (_, A1, A2, A3), v, a = self._ops, self._joints[j], self._v[j], self._a[j]
        W, W_dot, W_ddot = before
        own = ops.product(W, A1)
        curved = ops.product(W, A2)
        own_dot = ops.sum(ops.product(W_dot, A1), ops.scaled(v, curved))
        own_ddot = ops.sum(
            ops.product(W_ddot, A1), ops.scaled(ops.number(2.0, v), ops.product(W_dot, A2)),
            ops.scaled(ops.number(v, v), ops.product(W, A3)), ops.scaled(a, curved))
        relative = self._start
        for i in range(j, len(self._joints)):
            if i == j:
                self.dW[i, j], self.dW_dot[i, j], self.dW_ddot[i, j] = own, own_dot, own_ddot
            else:
                relative = self._next(relative, i, is_first=i == j + 1)
                R, R_dot, R_ddot = relative
                self.dW[i, j] = ops.product(own, R)
                self.dW_dot[i, j] = ops.sum(ops.product(own_dot, R), ops.product(own, R_dot))
                self.dW_ddot[i, j] = ops.sum(
                    ops.product(own_ddot, R),
                    ops.scaled(2.0, ops.product(own_dot, R_dot)), ops.product(own, R_ddot))
            self.from_link[j, i] = relative[0]


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
