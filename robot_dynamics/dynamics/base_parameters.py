# SPDX-License-Identifier: Apache-2.0
r"""Which parameters, and which combinations of them, a motion can tell of.

With W the stacked regressors of a motion, or of all motions, its columns fall into three
classes (L. Zollo, E. Lopez, L. Spedaliere, N. Garcia Aracil and E. Guglielmelli,
"Identification of dynamic parameters for robots with elastic joints", Advances in Mechanical
Engineering 7(2), 2015, section 5): zeros, whose parameters have no effect; a base L of
independent columns; and others, K = L A. Then W pi = L (pi_L + A pi_K), eq. (41): only the
base parameters pi_L + A pi_K can be told, and one of them is a single parameter where its
row of A is zero.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.dynamics.equations import Dynamics
from robot_dynamics.errors import DimensionError, ParameterError, shown
from robot_dynamics.model.arrays import FloatArray, IntArray, real_array

#: Classes of parameters.
UNIDENTIFIABLE, COMBINED, INDEPENDENT = 'unidentifiable', 'combined', 'independent'
#: A column is dependent where what others leave of it is below this part of it.
TOLERANCE = 1e-8
#: Ways to choose the base.
METHODS = ('qr', 'gauss_jordan')

# Random states that stand for all motions: several times more rows than any robot's rank.
_STATES = 400


@dataclass(frozen=True, eq=False)
class BaseParameters:
    """What can be told of p parameters.

    Parameters
    ----------
    names : tuple of str, length p
        The parameters.
    independent : ndarray of int64, shape (r,)
        Those of the base columns L.
    dependent : ndarray of int64, shape (k,)
        Those of K.
    null : ndarray of int64
        Those of zero columns.
    regrouping : ndarray, shape (r, k)
        A in K = L A.
    condition : float
        Condition number of L with its columns scaled to unit length.
    gap : float
        Smallest part of a base column that the others leave, over the largest part left of a
        dependent one: many decades for all motions, fewer where noise blurs the rank.
    """

    names: tuple[str, ...]
    independent: IntArray
    dependent: IntArray
    null: IntArray
    regrouping: FloatArray
    condition: float
    gap: float

    @property
    def rank(self) -> int:
        """Number of base parameters."""
        return len(self.independent)

    @property
    def matrix(self) -> FloatArray:
        """B in base = B pi, shape (r, p)."""
        B = np.zeros((self.rank, len(self.names)))
        B[np.arange(self.rank), self.independent] = 1.0
        B[:, self.dependent] = self.regrouping
        return B

    @property
    def classes(self) -> tuple[str, ...]:
        """Class of each parameter."""
        out = [UNIDENTIFIABLE] * len(self.names)
        for row, k in zip(self.regrouping, self.independent, strict=True):
            out[k] = COMBINED if np.any(row) else INDEPENDENT
        for k in self.dependent:
            out[k] = COMBINED
        return tuple(out)

    @property
    def base_names(self) -> tuple[str, ...]:
        """Each base parameter in words: ``a/m - 4*a/Jzz``."""
        return tuple(self.combination(k) for k in range(self.rank))

    def combination(self, k: int) -> str:
        """Return base parameter k in words."""
        text = self.names[self.independent[k]]
        for factor, column in zip(self.regrouping[k], self.dependent, strict=True):
            if factor:
                size = abs(factor)
                times = '' if abs(size - 1.0) < 1e-9 else f'{size:.10g}*'
                text += f' {"-" if factor < 0 else "+"} {times}{self.names[column]}'
        return text

    def partners(self, name: str) -> tuple[str, ...]:
        """Return with which parameters one can only be told together.

        The base is a choice, but these groups are not: a parameter belongs to the group of
        all with which it is connected through combinations.

        Parameters
        ----------
        name : str
            A parameter.

        Returns
        -------
        tuple of str
            The others of its group, in order; empty where it is independent or has no effect.
        """
        if name not in self.names:
            raise ParameterError('is no parameter', subject=name,
                                 remedy='name one of ' + ', '.join(self.names[:20]))
        linked, group = self.matrix != 0.0, np.zeros(len(self.names), dtype=bool)
        grown = np.array([other == name for other in self.names])
        while np.any(grown & ~group):
            group = grown
            grown = group | np.any(linked[np.any(linked[:, group], axis=1)], axis=0)
        return tuple(other for other, inside in zip(self.names, group, strict=True)
                     if inside and other != name)

    def values(self, parameters: ArrayLike) -> FloatArray:
        """Return the base parameters of parameters of shape (..., p), shape (..., r)."""
        pi = real_array(parameters, 'parameters')
        if pi.shape[-1:] != (len(self.names),):
            raise DimensionError(f'has shape {pi.shape}', subject='parameters',
                                 remedy=f'give {len(self.names)} parameters')
        return pi @ self.matrix.T


def base_parameters(W: ArrayLike, names: Sequence[str], *, method: str = 'qr',
                    tolerance: float = TOLERANCE) -> BaseParameters:
    """Find what a stack of regressors can tell.

    Parameters
    ----------
    W : array_like, shape (N, p)
        Stacked regressors, or their triangular factor (`Dynamics.normal_equations` with
        ``factor='qr'``), which has the same dependencies.
    names : sequence of str, length p
        Of the columns.
    method : {'qr', 'gauss_jordan'}
        How the base is chosen: the columns that stand out most come first, by a QR
        decomposition with pivoting of the columns scaled to unit length; or the first ones
        in order, as Gauss-Jordan elimination takes them, eqs. (39)-(41) of the paper above.
    tolerance : float
        What is left of a column of unit length that counts as nothing. Larger for noisy
        motions, whose columns are never quite dependent.

    Returns
    -------
    BaseParameters
        Base, classes and combinations.
    """
    matrix = real_array(W, 'W')
    names = _checked_names(names)
    if matrix.ndim != 2 or matrix.shape[1] != len(names):
        raise DimensionError(f'has shape {matrix.shape}', subject='W',
                             remedy=f'give rows of {len(names)} numbers')
    if not np.all(np.isfinite(matrix)):
        raise ParameterError('holds numbers that are not finite', subject='W',
                             remedy='leave such rows out')
    if not isinstance(method, str) or method not in METHODS:
        raise ParameterError(f'is {shown(method)}', subject='method',
                             remedy='choose among ' + ', '.join(METHODS))
    if not (isinstance(tolerance, Real) and 0.0 < tolerance < 1.0):
        raise ParameterError(f'is {shown(tolerance)}', subject='tolerance',
                             remedy='give a small positive number')
    # What is very large or very small has squares that are no numbers any more. By a power
    # of two, so that no digit changes.
    matrix = np.ldexp(matrix, -np.frexp(np.max(np.abs(matrix), initial=0.0))[1])
    lengths = np.sqrt(np.sum(matrix * matrix, axis=0))
    largest = np.max(lengths, initial=0.0)
    null = np.flatnonzero(lengths <= 1e-12 * largest)
    active = np.flatnonzero(lengths > 1e-12 * largest)
    scaled = matrix[:, active] / lengths[active]
    order, parts = (_pivoted if method == 'qr' else _in_order)(scaled, tolerance)
    base, rest = order[parts > tolerance], order[parts <= tolerance]
    base.sort()
    rest.sort()
    A, smallest = np.zeros((len(base), len(rest))), np.inf
    if len(base):
        Q, R = np.linalg.qr(scaled[:, base])
        A = np.linalg.solve(R, Q.T @ scaled[:, rest])
        smallest = float(np.min(parts[parts > tolerance]))
    left = float(np.max(np.linalg.norm(scaled[:, rest] - scaled[:, base] @ A, axis=0),
                        initial=0.0))
    A[np.abs(A) < max(1e-9, 10.0 * tolerance)] = 0.0
    A = A / lengths[active[base]][:, np.newaxis] * lengths[active[rest]]
    A = np.where(np.abs(A - np.round(A)) < 1e-9 * np.maximum(np.abs(A), 1.0), np.round(A), A)
    condition = float(np.linalg.cond(scaled[:, base])) if len(base) else np.nan
    return BaseParameters(names, active[base], active[rest], null, A, condition,
                          smallest / max(left, np.finfo(float).tiny))


def structural_base(dynamics: Dynamics, terms: Sequence[str] = (), *, method: str = 'qr',
                    seed: int = 0) -> BaseParameters:
    """Find what the best of all motions can tell of a robot: its structural base parameters.

    Random states, whose regressors have, with probability one, the rank that the equations
    have; rounding is ten decades away from it.

    Parameters
    ----------
    dynamics : Dynamics
        Equations; gravity counts. A joint axis along it hides parameters.
    terms : sequence of str
        Joint terms to include. Base parameters change with ``armature``.
    method : str
        As in `base_parameters`.
    seed : int
        Of the states.
    """
    robot, random = dynamics.robot, np.random.default_rng(seed)
    shape = (_STATES, robot.n)
    if robot.all_joints_1dof:
        q = random.uniform(-np.pi, np.pi, shape)
    else:
        q = robot.integrate(np.broadcast_to(robot.neutral(), (_STATES, robot.nq)).copy(),
                            random.uniform(-2.0, 2.0, shape))
    v, a = random.uniform(-3.0, 3.0, shape), random.uniform(-5.0, 5.0, shape)
    W = dynamics.regressor(q, v, a, terms)
    return base_parameters(W.reshape(-1, W.shape[-1]), dynamics.column_names(terms),
                           method=method)


def _checked_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of columns as a tuple."""
    if not isinstance(names, Iterable):
        raise ParameterError(f'is {shown(names)}', subject='names',
                             remedy='give a list of one name for each column of W')
    return tuple(names)


def _pivoted(scaled: FloatArray, tolerance: float) -> tuple[IntArray, FloatArray]:
    """Return columns by how much stands out of the ones before, and that part of each."""
    from scipy.linalg import qr
    if scaled.shape[1] == 0:
        return np.zeros(0, dtype=np.int64), np.zeros(0)
    R, order = qr(scaled, mode='r', pivoting=True)
    parts = np.zeros(len(order))
    diagonal = np.abs(np.diag(R))[:len(order)]
    parts[:len(diagonal)] = diagonal
    return np.asarray(order, dtype=np.int64), parts


def _in_order(scaled: FloatArray, tolerance: float) -> tuple[IntArray, FloatArray]:
    """Return the columns as they come, and what the base before leaves of each."""
    count = scaled.shape[1]
    parts = np.zeros(count)
    base = np.zeros((scaled.shape[0], 0))
    for k in range(count):
        left = scaled[:, k]
        for _ in range(2):  # Once more against rounding.
            left = left - base @ (base.T @ left)
        parts[k] = np.linalg.norm(left)
        if parts[k] > tolerance and base.shape[1] < scaled.shape[0]:
            base = np.column_stack([base, left / parts[k]])
        else:
            parts[k] = min(parts[k], tolerance)
    return np.arange(count), parts

