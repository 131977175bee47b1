# SPDX-License-Identifier: Apache-2.0
r"""Base parameters: what of the inertial parameters the efforts depend on.

Not every parameter of every link changes an effort by itself. Of the columns of the
regressor, as functions of the motion, some are zero and some are linear combinations of
others::

    Y_d(q, v, a) = Y_b(q, v, a) K     for every motion
    tau = Y_b pi_b + Y_d pi_d = Y_b (pi_b + K pi_d) = Y_b beta,     beta = P pi

The entries of beta are the base parameters. They are found from regressors at many random
motions: columns are taken in their order, from base to tip, and one that the columns kept
before it span to rounding is dropped. So what a distal link has in common with the one
that carries it is counted with the latter.

References
----------
M. Gautier, "Numerical calculation of the base inertial parameters of robots", Journal of
Robotic Systems 8(4), 1991, sections 3 and 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics.dynamics.equations import Dynamics
from robot_dynamics.errors import DimensionError, ParameterError

FloatArray = NDArray[np.float64]

#: Part of a column that has to be new, against its length; rounding leaves some 1e-15 and
#: the smallest part that is new in robots is some 1e-4.
INDEPENDENT = 1e-8

#: Entries of K below this, columns scaled to length 1, are rounding.
NEGLIGIBLE = 1e-10

#: Rows of regressors looked at, for every column.
ROWS_PER_COLUMN = 5


@dataclass(frozen=True, eq=False)
class BaseParameters:
    """Which combinations of parameters the efforts depend on.

    Parameters
    ----------
    names : tuple of str
        Each base parameter as a sum of parameters: ``link1/Jzz + 0.25 link2/m``.
    kept : ndarray of int, shape (b,)
        Columns of the regressor that stay: Y_b.
    without_effect : ndarray of int, shape (z,)
        Columns that are zero for every motion.
    matrix : ndarray, shape (b, p)
        P, with beta = P pi. Columns that were not looked at are zero.
    """

    names: tuple[str, ...]
    kept: NDArray[np.int64]
    without_effect: NDArray[np.int64]
    matrix: FloatArray

    def __len__(self) -> int:
        """Return the number of base parameters."""
        return len(self.kept)

    def values(self, parameters: ArrayLike) -> FloatArray:
        """Return beta = P pi, shape (..., b), of parameters, shape (..., p)."""
        pi = np.asarray(parameters, dtype=np.float64)
        if pi.shape[-1:] != self.matrix.shape[1:]:
            raise DimensionError(f'have shape {pi.shape}, not (..., {self.matrix.shape[1]})',
                                 subject='parameters',
                                 remedy='give one value for each column of the regressor')
        return pi @ self.matrix.T


def base_parameters(dynamics: Dynamics, terms: Sequence[str] = (), *,
                    columns: Sequence[int] | None = None, seed: int = 0) -> BaseParameters:
    """Return the base parameters of a robot, or of some of its parameters.

    Parameters
    ----------
    dynamics : Dynamics
        Equations of the robot.
    terms : sequence of str
        Joint terms whose columns the regressor has too.
    columns : sequence of int, optional
        Columns to look at, in this order: the unknown ones where others are known. All
        of them where not given.
    seed : int
        Seed of the motions.

    Raises
    ------
    ParameterError
        Where a column does not exist or is named twice.
    """
    names = dynamics.parameter_names(terms)
    chosen = _checked(range(len(names)) if columns is None else columns, len(names))
    stacked = _stacked_regressors(dynamics, terms, seed)
    lengths = np.linalg.norm(stacked, axis=0)
    has_effect = lengths > INDEPENDENT * lengths.max(initial=0.0)
    kept, dependent = _split(stacked / np.where(has_effect, lengths, 1.0),
                             [k for k in chosen if has_effect[k]])
    matrix = np.zeros((len(kept), len(names)))
    matrix[np.arange(len(kept)), kept] = 1.0
    if dependent:
        scaled = np.linalg.lstsq(stacked[:, kept] / lengths[kept],
                                 stacked[:, dependent] / lengths[dependent], rcond=None)[0]
        scaled[np.abs(scaled) < NEGLIGIBLE] = 0.0
        matrix[:, dependent] = scaled * lengths[dependent] / lengths[kept][:, None]
    return BaseParameters(tuple(_sum(row, names, first)
                                for row, first in zip(matrix, kept, strict=True)),
                          np.array(kept, dtype=np.int64),
                          np.array([k for k in chosen if not has_effect[k]], dtype=np.int64),
                          matrix)


def _checked(columns: Sequence[int], count: int) -> list[int]:
    """Return the columns to look at."""
    chosen = [int(k) for k in columns]
    if len(set(chosen)) != len(chosen) or not all(0 <= k < count for k in chosen):
        raise ParameterError(f'are not different numbers from 0 to {count - 1}',
                             subject='columns', remedy='name each column of the regressor once')
    return chosen


def _stacked_regressors(dynamics: Dynamics, terms: Sequence[str], seed: int) -> FloatArray:
    """Return regressors at random motions one above the other."""
    robot, random = dynamics.robot, np.random.default_rng(seed)
    columns = len(dynamics.parameter_names(terms))
    count = ROWS_PER_COLUMN * columns // robot.n + 1
    shape = (count, robot.n)
    q = robot.integrate(np.broadcast_to(robot.neutral(), (count, robot.nq)),
                        random.uniform(-np.pi, np.pi, shape))
    v, a = random.normal(size=(2, *shape))
    return dynamics.regressor(q, v, a, terms).reshape(-1, columns)


def _split(scaled: FloatArray, columns: list[int]) -> tuple[list[int], list[int]]:
    """Return the columns that are new, one after the other, and those that are not.

    Gram-Schmidt, each column made orthogonal twice: once leaves rounding of what was large.
    """
    basis = np.empty((scaled.shape[0], 0))
    kept: list[int] = []
    dependent: list[int] = []
    for k in columns:
        rest = scaled[:, k] - basis @ (basis.T @ scaled[:, k])
        rest -= basis @ (basis.T @ rest)
        size = float(np.linalg.norm(rest))
        if size > INDEPENDENT:
            kept.append(k)
            basis = np.column_stack([basis, rest / size])
        else:
            dependent.append(k)
    return kept, dependent


def _sum(row: FloatArray, names: Sequence[str], first: int) -> str:
    """Return a combination in words, its own column first."""
    text = names[first]
    for k in np.flatnonzero(row):
        if k != first:
            size = f'{abs(row[k]):.12g}'
            factor = '' if size == '1' else f'{size} '
            text += f' {"-" if row[k] < 0.0 else "+"} {factor}{names[k]}'
    return text
