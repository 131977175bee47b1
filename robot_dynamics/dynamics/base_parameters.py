# SPDX-License-Identifier: Apache-2.0
r"""Identifiable parameters, and identifiable combinations of parameters, of a motion.

With W the stacked regressors of a motion, or of all motions, its columns fall into three
classes (L. Zollo, E. Lopez, L. Spedaliere, N. Garcia Aracil and E. Guglielmelli,
"Identification of dynamic parameters for robots with elastic joints", Advances in Mechanical
Engineering 7(2), 2015, section 5): zeros, whose parameters have no effect; a base L of independent
columns; and dependent columns K = L A. Then W pi = L (pi_L + A pi_K), eq. (41): only the base
parameters pi_L + A pi_K are identifiable. A base parameter is a single parameter if its row of A
is zero.
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
from robot_dynamics.model.inertia import PARAMETER_SUFFIXES

#: Classes of parameters.
UNIDENTIFIABLE, COMBINED, INDEPENDENT = 'unidentifiable', 'combined', 'independent'
#: Relative residual of a column, after projection on others, below which it is dependent.
TOLERANCE = 1e-8
#: Ways to choose the base.
METHODS = ('qr', 'gauss_jordan')

# Number of random states that represent all motions: several times more rows than any rank.
_STATES = 400


@dataclass(frozen=True, eq=False)
class BaseParameters:
    """Base of the identifiable combinations of p parameters.

    Parameters
    ----------
    names : tuple of str, length p
        The parameters.
    independent : ndarray of int64, shape (r,)
        Indices of the base columns L.
    dependent : ndarray of int64, shape (k,)
        Indices of the columns K.
    null : ndarray of int64
        Indices of the zero columns.
    regrouping : ndarray, shape (r, k)
        A in K = L A.
    condition : float
        Condition number of L with its columns scaled to unit length.
    gap : float
        Smallest relative residual of a base column over the largest one of a dependent column:
        many decades for structural base parameters, fewer if noise blurs the rank.
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
    def kinds(self) -> str:
        """Numbers of base parameters by kind: ``'7 inertial, 4 of friction and rotors'``."""
        inertial = sum(self.names[k].rpartition('/')[2] in PARAMETER_SUFFIXES
                       for k in self.independent)
        others = self.rank - inertial
        return f'{inertial} inertial' + (f', {others} of friction and rotors' if others else '')

    def __str__(self) -> str:
        width = len(str(self.rank))
        return '\n'.join([f'{self.rank} base parameters: {self.kinds}; condition number '
                          f'{self.condition:.3g}',
                          *(f'{k + 1:{width}}  {name}' for k, name in enumerate(self.base_names))])

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
        """Each base parameter as text: ``a/m - 4*a/Jzz``."""
        return tuple(self.combination(k) for k in range(self.rank))

    def combination(self, k: int) -> str:
        """Base parameter k as text."""
        text = self.names[self.independent[k]]
        for factor, column in zip(self.regrouping[k], self.dependent, strict=True):
            if factor:
                size = abs(factor)
                times = '' if abs(size - 1.0) < 1e-9 else f'{size:.10g}*'
                text += f' {"-" if factor < 0 else "+"} {times}{self.names[column]}'
        return text

    def partners(self, name: str) -> tuple[str, ...]:
        """Parameters that are only identifiable together with a given one.

        Unlike the base, these groups are unique: a group contains all parameters that are
        connected through combinations.

        Parameters
        ----------
        name : str
            A parameter.

        Returns
        -------
        tuple of str
            The others of its group, in order; empty if it is independent or has no effect.
        """
        if name not in self.names:
            raise ParameterError('is not a parameter', subject=name,
                                 remedy='name one of ' + ', '.join(self.names[:20]))
        linked, group = self.matrix != 0.0, np.zeros(len(self.names), dtype=bool)
        grown = np.array([other == name for other in self.names])
        while np.any(grown & ~group):
            group = grown
            grown = group | np.any(linked[np.any(linked[:, group], axis=1)], axis=0)
        return tuple(other for other, inside in zip(self.names, group, strict=True)
                     if inside and other != name)

    def values(self, parameters: ArrayLike) -> FloatArray:
        """Base parameters, shape (..., r), of parameters of shape (..., p)."""
        pi = real_array(parameters, 'parameters')
        if pi.shape[-1:] != (len(self.names),):
            raise DimensionError(f'must have {len(self.names)} values, got shape {pi.shape}',
                                 subject='parameters', remedy='give one for each name')
        return pi @ self.matrix.T


def base_parameters(W: ArrayLike, names: Sequence[str], *, method: str = 'qr',
                    tolerance: float = TOLERANCE) -> BaseParameters:
    """Base parameters of a stack of regressors.

    Parameters
    ----------
    W : array_like, shape (N, p)
        Stacked regressors, or their triangular factor (`Dynamics.normal_equations` with
        ``factor='qr'``), which has the same dependencies.
    names : sequence of str, length p
        Names of the columns.
    method : {'qr', 'gauss_jordan'}
        Choice of the base: by a QR decomposition with pivoting of the columns scaled to unit
        length, or the first independent columns in order, as by Gauss-Jordan elimination, eqs.
        (39)-(41) of the paper above.
    tolerance : float
        Residual of a column of unit length that counts as zero. Use a larger value for noisy
        motions, whose columns are never exactly dependent.

    Returns
    -------
    BaseParameters
        Base, classes and combinations.
    """
    matrix = real_array(W, 'W')
    names = _checked_names(names)
    if matrix.ndim != 2 or matrix.shape[1] != len(names):
        raise DimensionError(f'must have shape (N, {len(names)}), got {matrix.shape}', subject='W',
                             remedy='give one column for each name')
    if not np.all(np.isfinite(matrix)):
        raise ParameterError('contains NaN or inf', subject='W',
                             remedy='leave such rows out')
    if not isinstance(method, str) or method not in METHODS:
        raise ParameterError(f'must be one of {", ".join(METHODS)}, got {shown(method)}',
                             subject='method', remedy='choose one of them')
    if not (isinstance(tolerance, Real) and 0.0 < tolerance < 1.0):
        raise ParameterError(f'must be between 0 and 1, got {shown(tolerance)}',
                             subject='tolerance', remedy='give a small positive number')
    # Squares of very large or small numbers overflow or underflow. Scaling by a power of two is
    # exact.
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
    """Structural base parameters of a robot: those identifiable by a suitable motion.

    The regressors of random states have the structural rank with probability one. Rounding is ten
    decades below the smallest independent residual.

    Parameters
    ----------
    dynamics : Dynamics
        Equations, including gravity: a joint axis along gravity makes parameters unidentifiable.
    terms : sequence of str
        Joint terms to include. Base parameters change with ``armature``.
    method : str
        As in `base_parameters`.
    seed : int
        Seed of the states.
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
    """Names of columns as a tuple."""
    if not isinstance(names, Iterable):
        raise ParameterError(f'must be a list, got {shown(names)}', subject='names',
                             remedy='give a list of one name for each column of W')
    return tuple(names)


def _pivoted(scaled: FloatArray, tolerance: float) -> tuple[IntArray, FloatArray]:
    """Columns by decreasing residual after projection on the previous ones, and residuals."""
    from scipy.linalg import qr
    if scaled.shape[1] == 0:
        return np.zeros(0, dtype=np.int64), np.zeros(0)
    R, order = qr(scaled, mode='r', pivoting=True)
    parts = np.zeros(len(order))
    diagonal = np.abs(np.diag(R))[:len(order)]
    parts[:len(diagonal)] = diagonal
    return np.asarray(order, dtype=np.int64), parts


def _in_order(scaled: FloatArray, tolerance: float) -> tuple[IntArray, FloatArray]:
    """Columns in their order, and their residuals after projection on the base before them."""
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
