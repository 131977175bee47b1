# SPDX-License-Identifier: Apache-2.0
"""Normal equations and triangular factors of stacked regressors, without the stack."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.dynamics.gram_pieces import Motion, OneByOne, SideBySide
from robot_dynamics.dynamics.threads import in_pieces
from robot_dynamics.errors import ParameterError, shown
from robot_dynamics.model.arrays import FloatArray, IntArray, real_array

if TYPE_CHECKING:
    from robot_dynamics.dynamics.equations import Dynamics

Result = TypeVar('Result')

_COLUMNS = 'give distinct whole numbers'


class Gram(NamedTuple):
    """Normal equations of W x = tau in p columns: W^T W x = W^T tau.

    Those of several recordings add up, field by field.

    Parameters
    ----------
    W_W : ndarray, shape (p, p)
        W^T W.
    W_tau : ndarray, shape (p,)
        W^T tau.
    tau_tau : float
        tau^T tau.
    """

    W_W: FloatArray
    W_tau: FloatArray
    tau_tau: float


class Factor(NamedTuple):
    """Triangular factor of [W tau]: |W x - tau|^2 = |R x - z|^2 + rest^2.

    Parameters
    ----------
    R : ndarray, shape (p, p)
        Upper triangular, no negative number on its diagonal; R^T R = W^T W.
    z : ndarray, shape (p,)
        Right-hand side; R^T z = W^T tau.
    rest : float
        What no x can explain: the length of the part of tau outside the span of W.
    """

    R: FloatArray
    z: FloatArray
    rest: float


class GramMethods:
    """Methods of `Dynamics` that turn a recording into a few numbers."""

    def normal_equations(self: Dynamics, q: ArrayLike, v: ArrayLike, a: ArrayLike, tau: ArrayLike,
                       weights: ArrayLike | None = None, *, terms: Sequence[str] = (),
                       columns: Sequence[int] | None = None, factor: str = 'gram',
                       ) -> Gram | Factor:
        r"""Least-squares equations of a recording, in memory that does not grow with it.

        W stacks the regressors Y(q, v, a) of all samples and tau their efforts, each row
        multiplied by the root of its weight, so that ::

            |W x - tau|^2 = sum_k sum_j weight_kj (Y_j(q_k, v_k, a_k) x - tau_kj)^2

        Parameters
        ----------
        q, v, a, tau : array_like, shape (..., n)
            Positions, velocities, accelerations, joint efforts.
        weights : array_like, shape (n,) or (..., n), optional
            Weight of the squared error of each joint, or of each row; one if not given.
            With the inverse of the variance of the efforts the estimate is the best one.
        terms : sequence of str
            Joint terms whose columns Y has too.
        columns : sequence of int, optional
            Columns of Y to keep, in this order, such as those of base parameters. All of
            them if not given.
        factor : {'gram', 'qr'}
            The normal equations, or the triangular factor of a QR decomposition. That
            takes several times as long, and errors in it grow with the condition number
            of W instead of its square.

        Returns
        -------
        Gram or Factor
            W^T W, W^T tau and tau^T tau, or R, z and rest.
        """
        if not isinstance(factor, str) or factor not in ('gram', 'qr'):
            raise ParameterError(f'is {shown(factor)}, no known factor', subject='factor',
                                 remedy="choose 'gram' or 'qr'")
        kept = _checked_columns(columns, self._choose(terms)[1])
        arguments = {'q': q, 'v': v, 'a': a, 'tau': tau}
        same = np.ones(self.n)
        if weights is not None:
            weights = _checked_weights(weights)
            if weights.shape == same.shape:
                same = weights
            else:
                arguments['weights'] = weights
        rows = self._gather(**arguments).rows
        kind = SideBySide if self._batches.takes(len(rows[0])) else OneByOne
        pieces = kind(self, terms, kept)

        def stream(work: Callable[[Motion], Result]) -> Iterator[Result]:
            # In the order of the pieces, so that results do not depend on the threads.
            def on_piece(piece: slice) -> Result:
                q, v, a, tau, *own = (x[piece] for x in rows)
                squares = own[0] if own else np.broadcast_to(same, tau.shape)
                return work(Motion(q, v, a, tau, np.sqrt(squares)))
            return in_pieces(len(rows[0]), self._batches.threads, on_piece,
                             pieces.size)

        if factor == 'gram':
            return _sum(stream(pieces.products), len(kept))
        return _merge(stream(pieces.triangles), pieces, len(kept))


def _sum(shares: Iterator[FloatArray], p: int) -> Gram:
    """Add the shares of all pieces in the upper triangle of [W tau]^T [W tau]."""
    G = np.zeros((p + 1, p + 1))
    for share in shares:
        G += share
    W_W = np.triu(G[:p, :p])
    return Gram(W_W + np.triu(W_W, 1).T, G[:p, p].copy(), float(G[p, p]))


def _merge(shares: Iterator[FloatArray], pieces: OneByOne | SideBySide, p: int) -> Factor:
    """Merge the triangular factors of all pieces into one of [W tau]."""
    triangles = None
    for share in shares:
        triangles = pieces.merged(triangles, share)
    # Rows of zeros make the triangle whole where there are fewer rows than columns.
    rows = [np.zeros((p + 1, p + 1))] + ([] if triangles is None else [pieces.rows(triangles)])
    whole = np.linalg.qr(np.vstack(rows[::-1]), mode='r')
    whole *= np.where(np.diag(whole) < 0.0, -1.0, 1.0)[:, np.newaxis]
    return Factor(whole[:p, :p].copy(), whole[:p, p].copy(), float(whole[p, p]))


def _checked_columns(columns: Sequence[int] | None, width: int) -> IntArray:
    """Return the columns to keep; refuse what are none, or come twice."""
    if columns is None:
        return np.arange(width)
    numbers = real_array(columns, 'columns', _COLUMNS)
    if (numbers.ndim != 1 or np.asarray(columns).dtype == bool
            or not np.all((numbers >= 0) & (numbers < width) & (numbers == np.floor(numbers)))):
        raise ParameterError('are not columns of the regressor', subject='columns',
                             remedy=f'{_COLUMNS} from 0 to {width - 1}')
    kept = numbers.astype(np.int64)
    if len(np.unique(kept)) != len(kept):
        raise ParameterError('names a column twice', subject='columns',
                             remedy='name each column once')
    return kept


def _checked_weights(weights: ArrayLike) -> FloatArray:
    """Return the weights; refuse what no squared error can have."""
    array = real_array(weights, 'weights')
    if not np.all((array >= 0.0) & (array < np.inf)):
        raise ParameterError('holds a negative or infinite number', subject='weights',
                             remedy='give the inverse of a variance for each joint or row')
    return array
