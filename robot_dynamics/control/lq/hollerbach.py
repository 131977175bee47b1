# SPDX-License-Identifier: Apache-2.0
r"""What the recursive Lagrangian forms share: the chain, its matrices, and who counts.

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
from robot_dynamics.model.robot import JointType, Robot


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
