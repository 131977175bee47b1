# SPDX-License-Identifier: Apache-2.0
"""Regressors by blocks, from derivatives of the energies (Lagrange) on the same tape.

Gabiccini, Bracci, De Carli, Fredianelli, Bicchi, "Explicit Lagrangian formulation of the
dynamic regressors for serial manipulators", sections III and IV, here for trees: the
Jacobian of a body has zero columns for joints that do not carry it.

The mass matrix of body i is linear in its ten parameters (eq. 50)::

    B = B_0 m + sum_l B_1l (m p)_l + sum_l B_2l J_l
    B_0 = Jv^T Jv,   B_1l = Jw^T R Q_l R^T Jv - Jv^T R Q_l R^T Jw,   B_2l = Jw^T R E_l R^T Jw

with Q_l x = e_l x x and E_l the symmetric unit tensors, and (eq. 52-60)::

    [Xr]_h = sum_j b_hj a_rj + sum_jk 1/2 (db_hj/dq_k + db_hk/dq_j) v_k v_rj
    [Wr]_h = 1/2 sum_jk db_jk/dq_h v_k v_rj
    Z_0 = -Jv^T g,   [Z_1]_h = -(d(R^T g)/dq_h)^T
    Yr  = Xr - Wr + Z

The classical regressor takes d/dt (B v) instead of Xr, and v for v_r (eq. 19-35).

Misprints of the paper are corrected: row k of W_1 is the transpose of the printed column, index k
of a derivative comes before that of the parameter, and X_2 of eq. (53) has E_l for each of six
parameters (entry (3,1) of eq. (16) is J_xz).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from robot_dynamics.closed_form.geometry import Geometry, pose_of
from robot_dynamics.closed_form.recording import live
from robot_dynamics.closed_form.recursion import Rows, zeros
from robot_dynamics.closed_form.tape import Formula, Scalar, Scalars, Tape
from robot_dynamics.closed_form.vectors import (
    IDENTITY,
    ZERO,
    Matrix,
    Vector,
    add,
    cross,
    dot,
    product,
    scale,
    subtract,
    times,
    transpose_times,
)


class Derivative:
    """Total derivative along rates of variables, by the rules of sums and products.

    Rates are given by variable: ``{q_k: 1}`` for the partial derivative by q_k, and
    ``{q_k: v_k, v_k: a_k}`` for all k for the derivative by time. Each formula is differentiated
    only once; derivatives are on the same tape.
    """

    def __init__(self, tape: Tape, rates: Mapping[Any, Scalar]):
        self._tape = tape
        self._known: dict[Formula, Scalar] = dict(rates)

    def __call__(self, x: Scalar) -> Scalar:
        """Derivative of a scalar."""
        if not isinstance(x, Formula):
            return 0
        if x not in self._known:
            for formula in live([x]):
                if formula not in self._known:
                    self._known[formula] = self._of(formula)
        return self._known[x]

    def _of(self, x: Formula) -> Scalar:
        tape, known = self._tape, self._known
        if x.operation == 'symbol':
            return 0
        rates = [known[part] if isinstance(part, Formula) else 0 for part in x.arguments]
        if x.operation == 'sine':
            return rates[0] * tape.cosine(x.arguments[0])
        if x.operation == 'cosine':
            return -(rates[0] * tape.sine(x.arguments[0]))
        if x.operation == 'negate':
            return -rates[0]
        if x.operation == 'add':
            return rates[0] + rates[1]
        if x.operation == 'subtract':
            return rates[0] - rates[1]
        return rates[0] * x.arguments[1] + x.arguments[0] * rates[1]


_HALF = Fraction(1, 2)

#: Rows and columns of the entries of an inertia tensor, in the order of its parameters.
_ENTRIES = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))


@dataclass(frozen=True)
class LinkBlocks:
    """Contribution of one body to a regressor, Y = X - W + Z, each with n rows of ten entries.

    One entry is for the mass (block 0), three are for the first moment (block 1), six for the
    inertia (block 2).
    """

    X: Rows
    W: Rows
    Z: Rows

    @property
    def regressor(self) -> Rows:
        """X - W + Z."""
        return [[x - w + z for x, w, z in zip(*rows, strict=True)]
                for rows in zip(self.X, self.W, self.Z, strict=True)]


class Lagrangian:
    """Kinetic and potential energy of a robot at positions q, differentiated on a tape."""

    def __init__(self, tape: Tape, geometry: Geometry, q: Scalars):
        self._tape = tape
        self._geometry = geometry
        self._q = list(q)
        self.n = geometry.n
        self._by_q = [Derivative(tape, {q_k: 1}) for q_k in q]
        self._axes, self._linear, self._angular = self._jacobians()

    def _jacobians(self) -> tuple[list[Matrix], list[list[Vector]], list[list[Vector]]]:
        """R, and the columns of R^T Jv and R^T Jw, of each body."""
        axes: list[Matrix] = []
        origins: list[Vector] = []
        screws: list[list[Any]] = []
        linear, angular = [], []
        for i, body in enumerate(self._geometry.bodies):
            pose = pose_of(self._tape, body, self._q, str(i + 1))
            R_p, p_p, above = (axes[body.parent], origins[body.parent], screws[body.parent]) \
                if body.parent >= 0 else (IDENTITY, ZERO, [])
            R = product(R_p, pose.rotation)
            joint = add(p_p, times(R_p, pose.joint))
            p = add(joint, times(R, body.offset))
            z = times(R, body.axis)
            screws.append([*above, (body, joint, z)])
            Jv, Jw = [ZERO] * self.n, [ZERO] * self.n
            for moving, point, direction in screws[i]:
                v, w = (direction, ZERO) if moving.is_prismatic \
                    else (cross(direction, subtract(p, point)), direction)
                for k, factor in moving.coordinates:
                    Jv[k] = add(Jv[k], scale(transpose_times(R, v), factor))
                    Jw[k] = add(Jw[k], scale(transpose_times(R, w), factor))
            axes.append(R)
            origins.append(p)
            linear.append(Jv)
            angular.append(Jw)
        return axes, linear, angular

    @cached_property
    def inertia(self) -> list[list[Rows]]:
        """B of each body and parameter: [i][l][h][j]."""
        return [self._inertia(Jv, Jw)
                for Jv, Jw in zip(self._linear, self._angular, strict=True)]

    def _inertia(self, Jv: list[Vector], Jw: list[Vector]) -> list[Rows]:
        tensors = [self._symmetric(lambda h, j: dot(Jv[h], Jv[j]))]
        for unit in IDENTITY:
            tensors.append(self._symmetric(
                lambda h, j, e=unit: dot(Jw[h], cross(e, Jv[j])) - dot(Jv[h], cross(e, Jw[j]))))
        for a, b in _ENTRIES:
            if a == b:
                tensors.append(self._symmetric(lambda h, j, a=a: Jw[h][a] * Jw[j][a]))
            else:
                tensors.append(self._symmetric(
                    lambda h, j, a=a, b=b: Jw[h][a] * Jw[j][b] + Jw[h][b] * Jw[j][a]))
        return tensors

    def _symmetric(self, entry) -> Rows:
        """Symmetric matrix from its upper triangle."""
        B = zeros(self.n, self.n)
        for h in range(self.n):
            for j in range(h, self.n):
                B[h][j] = B[j][h] = entry(h, j)
        return B

    def slotine_li_blocks(self, v: Scalars, v_r: Scalars, a_r: Scalars) -> list[LinkBlocks]:
        """Blocks of Yr for each body, eq. (52)-(60)."""
        return [LinkBlocks(X=_columns(self._x_r(B, v, v_r, a_r) for B in tensors),
                           W=_columns(self._w(B, v, v_r) for B in tensors),
                           Z=self._gravity(i)) for i, tensors in enumerate(self.inertia)]

    def classical_blocks(self, v: Scalars, a: Scalars) -> list[LinkBlocks]:
        """Blocks of Y for each body, eq. (19)-(34)."""
        by_time = Derivative(self._tape, dict(zip([*self._q, *v], [*v, *a], strict=True)))

        def momentum_rate(B: Rows) -> list[Scalar]:
            return [by_time(sum(b * v_j for b, v_j in zip(row, v, strict=True))) for row in B]

        return [LinkBlocks(X=_columns(momentum_rate(B) for B in tensors),
                           W=_columns(self._w(B, v, v) for B in tensors),
                           Z=self._gravity(i)) for i, tensors in enumerate(self.inertia)]

    def matrices(self, v: Scalars, parameters: Scalars) -> tuple[Rows, Rows, list[Scalar]]:
        """M by eq. (41), C by eq. (39) with its factor 1/2, g by eq. (27)."""
        n = self.n
        M = zeros(n, n)
        g: list[Scalar] = [0] * n
        for i, tensors in enumerate(self.inertia):
            of_body = parameters[10 * i:10 * i + 10]
            for pi, B in zip(of_body, tensors, strict=True):
                M = [[m + b * pi for m, b in zip(*rows, strict=True)]
                     for rows in zip(M, B, strict=True)]
            g = [g_h + sum(z * pi for z, pi in zip(row, of_body, strict=True))
                 for g_h, row in zip(g, self._gravity(i), strict=True)]
        d = [[[by_k(b) for b in row] for row in M] for by_k in self._by_q]  # [k][h][j]
        C = [[sum((d[k][h][j] + d[j][h][k] - d[h][j][k]) * _HALF * v[k] for k in range(n))
              for j in range(n)] for h in range(n)]
        return M, C, g

    def _x_r(self, B: Rows, v: Scalars, v_r: Scalars, a_r: Scalars) -> list[Scalar]:
        """Eq. (46)."""
        n = self.n
        d = [[[by_k(b) for b in row] for row in B] for by_k in self._by_q]
        return [sum(B[h][j] * a_r[j] for j in range(n))
                + sum((d[k][h][j] + d[j][h][k]) * v[k] * v_r[j]
                       for j in range(n) for k in range(n)) * _HALF for h in range(n)]

    def _w(self, B: Rows, v: Scalars, v_r: Scalars) -> list[Scalar]:
        """Eq. (47)."""
        n = self.n
        return [sum(self._by_q[h](B[j][k]) * v[k] * v_r[j]
                     for j in range(n) for k in range(n)) * _HALF for h in range(n)]

    def _gravity(self, i: int) -> Rows:
        """Eq. (28), (29) of body i."""
        g = transpose_times(self._axes[i], self._geometry.gravity)
        rows = []
        for by_h, Jv in zip(self._by_q, self._linear[i], strict=True):
            rows.append([-dot(Jv, g), *(-by_h(x) for x in g), *[0] * 6])
        return rows


def _columns(vectors: Iterable[list[Scalar]]) -> Rows:
    """Rows of a matrix given column by column."""
    return [list(row) for row in zip(*vectors, strict=True)]


def regressor_of_blocks(blocks: Sequence[LinkBlocks]) -> Rows:
    """Blocks of all bodies side by side, eq. (35), (61)."""
    return [[entry for part in parts for entry in part]
            for parts in zip(*(block.regressor for block in blocks), strict=True)]
