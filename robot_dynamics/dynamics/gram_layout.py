# SPDX-License-Identifier: Apache-2.0
"""Where the columns of a regressor stand in the tables that `lanes_gram` works on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robot_dynamics.dynamics.carrying import Carrying
from robot_dynamics.model.arrays import IntArray


@dataclass(frozen=True)
class GramLayout:
    """Rows of the tables of all joints, and what they are for.

    Each joint's rows are the columns that are kept and not always zero in its row of the
    regressor, in the order in which they are kept; then its effort; then as many zeros as
    it takes to fill the last tile. After all of them comes one row for what is not kept.

    Attributes
    ----------
    places : ndarray of int64, shape (P, 10)
        Row of each inertial parameter of each pair of `Carrying`.
    term_places : ndarray of int64, shape (terms, n)
        Row of each joint term.
    effort_places : ndarray of int64, shape (n,)
        Row of each effort.
    starts : ndarray of int64, shape (n + 1,)
        Where the rows of each joint begin, and where all end.
    columns : ndarray of int64, shape (rows,)
        Which column, from 0 to p - 1, a row is; p is the effort, p + 1 a row of zeros.
    """

    places: IntArray
    term_places: IntArray
    effort_places: IntArray
    starts: IntArray
    columns: IntArray

    @classmethod
    def of(cls, carrying: Carrying, kept: IntArray, bodies: int, joints: int, terms: int,
           tile: int) -> GramLayout:
        """Lay out the tables.

        Parameters
        ----------
        carrying : Carrying
            Which joints move which bodies.
        kept : ndarray of int64, shape (p,)
            Columns of the regressor to keep.
        bodies, joints, terms : int
            How many there are.
        tile : int
            Rows of a tile.
        """
        index = np.full(10 * bodies + terms * joints, -1)
        index[kept] = np.arange(len(kept))
        of_pairs = np.arange(bodies).repeat(np.diff(carrying.first))
        pair_columns = index[10 * of_pairs[:, np.newaxis] + np.arange(10)]
        term_columns = index[10 * bodies:].reshape(terms, joints)
        places = np.full_like(pair_columns, -1)
        term_places = np.full_like(term_columns, -1)
        effort_places = np.empty(joints, np.int64)
        starts, columns = [0], []
        for r in range(joints):
            mine = carrying.pairs[:, 0] == r
            mine_kept = np.concatenate([pair_columns[mine].ravel(), term_columns[:, r]])
            mine_kept = np.sort(mine_kept[mine_kept >= 0])
            start = len(columns)
            places[mine] = _rows(pair_columns[mine], mine_kept, start)
            term_places[:, r] = _rows(term_columns[:, r], mine_kept, start)
            effort_places[r] = start + len(mine_kept)
            columns += [*mine_kept, len(kept)]
            columns += [len(kept) + 1] * (-len(columns) % tile)
            starts.append(len(columns))
        for rows in (places, term_places):
            rows[rows < 0] = len(columns)
        return cls(places, term_places, effort_places, np.array(starts, np.int64),
                   np.array(columns, np.int64))

    @property
    def widths(self) -> IntArray:
        """Number of rows of each joint without the zeros, shape (n,)."""
        return self.effort_places + 1 - self.starts[:-1]


def _rows(columns: IntArray, ordered: IntArray, start: int) -> IntArray:
    """Row of each column that is kept, else -1."""
    return np.where(columns < 0, -1, start + np.searchsorted(ordered, columns))
