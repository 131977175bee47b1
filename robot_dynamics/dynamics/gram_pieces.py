# SPDX-License-Identifier: Apache-2.0
"""Pieces of a recording as products or triangular factors of [W tau]."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from robot_dynamics.dynamics.coupling import product
from robot_dynamics.dynamics.gram_layout import GramLayout
from robot_dynamics.model.arrays import FloatArray, IntArray

if TYPE_CHECKING:
    from robot_dynamics.dynamics.equations import Dynamics


#: Columns of the tables that kernels fill before they multiply: some hundred samples. What
#: is fastest is much the same for robots of any size.
TABLE_COLUMNS = 32


class Motion(NamedTuple):
    """A piece of a recording; arrays of N rows.

    Parameters
    ----------
    q, v, a, tau : ndarray
        Positions, velocities, accelerations, efforts of the independent joints.
    roots : ndarray, shape (N, n)
        Roots of the weights.
    """

    q: FloatArray
    v: FloatArray
    a: FloatArray
    tau: FloatArray
    roots: FloatArray


class OneByOne:
    """Pieces of any robot, by its regressors.

    Parameters
    ----------
    dynamics : Dynamics
        The equations.
    terms : sequence of str
        Joint terms.
    kept : ndarray of int64, shape (p,)
        Columns to keep.

    Attributes
    ----------
    size : int
        Samples of a piece, whatever the number of threads, so that sums are always the same.
    """

    size = 512

    def __init__(self, dynamics: Dynamics, terms: Sequence[str], kept: IntArray):
        self._dynamics, self._terms, self._kept = dynamics, terms, kept

    def products(self, motion: Motion) -> FloatArray:
        """Products [W tau]^T [W tau], shape (p + 1, p + 1), or their upper triangle."""
        rows = self._rows(motion)
        return product(rows.T, rows)

    def triangles(self, motion: Motion) -> FloatArray:
        """Triangular factors of [W tau], as `merged` and `rows` take them."""
        return np.linalg.qr(self._rows(motion), mode='r')

    def merged(self, one: FloatArray | None, other: FloatArray) -> FloatArray:
        """Triangular factors of two pieces together; the first may be used up."""
        return other if one is None else np.linalg.qr(np.vstack([one, other]), mode='r')

    def rows(self, triangles: FloatArray) -> FloatArray:
        """Rows of the triangular factors, shape (..., p + 1)."""
        return triangles

    def _rows(self, motion: Motion) -> FloatArray:
        Y = self._dynamics.regressor(motion.q, motion.v, motion.a, self._terms)[..., self._kept]
        rows = np.concatenate([Y, motion.tau[..., np.newaxis]], axis=-1)
        with np.errstate(over='ignore', invalid='ignore'):
            return (rows * motion.roots[..., np.newaxis]).reshape(-1, rows.shape[-1])


class SideBySide:
    """Pieces of a robot whose joints have one coordinate each, by kernels for batches.

    Parameters, attributes and methods are those of `OneByOne`.
    """

    size = 8192

    def __init__(self, dynamics: Dynamics, terms: Sequence[str], kept: IntArray):
        from robot_dynamics.dynamics.kernels import lanes_gram
        robot, carrying = dynamics.robot, dynamics._batches.carrying
        choice = dynamics._choose(terms)[0]
        layout = GramLayout.of(carrying, kept, robot.n_bodies, robot.n, len(choice) - 1,
                               lanes_gram.TILE)
        self._kernels, self._layout, self._coupling = lanes_gram, layout, dynamics._coupling
        self._arrays = (dynamics._model, *carrying.arrays, choice, layout.places,
                        layout.term_places, layout.effort_places, layout.starts, layout.columns)
        self._columns = len(kept) + 1

    def products(self, motion: Motion) -> FloatArray:
        """Upper triangle of [W tau]^T [W tau], shape (p + 1, p + 1)."""
        G = np.zeros((self._columns + 1, self._columns + 1))
        self._add(motion, False, G)
        return G[:-1, :-1]

    def triangles(self, motion: Motion) -> FloatArray:
        """Triangular factors of the rows of each joint, one below the other."""
        widest = int(np.max(self._layout.widths))
        R = np.zeros((len(self._layout.columns), widest))
        self._add(motion, True, R)
        return R

    def merged(self, one: FloatArray | None, other: FloatArray) -> FloatArray:
        """Triangular factors of two pieces together; the first is overwritten."""
        if one is None:
            return other
        self._kernels.merge_triangles.load()(self._layout.starts, self._layout.effort_places,
                                             other, one)
        return one

    def rows(self, triangles: FloatArray) -> FloatArray:
        """Rows of the triangular factors, shape (..., p + 1)."""
        rows = np.zeros((len(triangles), self._columns))
        for start, width in zip(self._layout.starts[:-1], self._layout.widths, strict=True):
            mine = slice(start, start + width)
            rows[mine, self._layout.columns[mine]] = triangles[mine, :width]
        return rows

    def _add(self, motion: Motion, is_factor: bool, out: FloatArray) -> None:
        to, (q, v, a, tau, roots) = self._coupling, motion
        self._kernels.add_batch.load()(
            *self._arrays, to.positions(q), to.rates(v), to.rates(a), v, a, tau, roots,
            TABLE_COLUMNS, is_factor, out)
