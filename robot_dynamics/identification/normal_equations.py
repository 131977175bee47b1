# SPDX-License-Identifier: Apache-2.0
"""Normal equations of a selected model, by joint and by block of time."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from copy import copy

import numpy as np

from robot_dynamics.errors import ParameterError
from robot_dynamics.identification.observation_matrix import Stack
from robot_dynamics.model.arrays import FloatArray, IntArray

# Number of cached products: of the training blocks and their folds, for two gravity vectors.
_KEPT = 16


class NormalEquations:
    """Products [A y]^T [A y] of a stack, from which any model's normal equations follow.

    They are those of blocks of equal duration; ``counts``, (blocks, n), are the rows of each.
    """

    def __init__(self, stack: Stack, blocks: int):
        self.stack, self.blocks = stack, blocks
        self._bounds = np.linspace(0, len(stack.time), blocks + 1).astype(int)
        before = np.concatenate([np.zeros((1, stack.used.shape[1])),
                                 np.cumsum(stack.used.astype(float), axis=0)])
        self.counts = np.diff(before[self._bounds], axis=0)
        self._products = [self._of(j) for j in range(len(stack.joints))]
        self._whole: dict[tuple[bytes, int, int], FloatArray] = {}

    def without_rows(self) -> NormalEquations:
        """The same without the equations, for another process; loads cannot change any more."""
        out = copy(self)
        out.stack = self.stack.without_rows()
        out._whole = {}
        return out

    @classmethod
    def joined(cls, parts: Sequence[NormalEquations]) -> NormalEquations:
        """Blocks of several recordings, one after the other, from stacks with the same columns.

        Raises
        ------
        ParameterError
            If their columns differ.
        """
        first = parts[0]
        for part in parts[1:]:
            if part.stack.features != first.stack.features:
                raise ParameterError('must be the same for all recordings, got other widths',
                                     subject='friction columns',
                                     remedy='give one coulomb_width')
        out = first.without_rows()
        out.blocks = sum(part.blocks for part in parts)
        out.counts = np.concatenate([part.counts for part in parts])
        out._products = [np.concatenate(products) for products
                         in zip(*(part._products for part in parts), strict=True)]
        return out

    def first_row(self, block: int) -> int:
        """First row of a block."""
        return int(self._bounds[block])

    def block_of_rows(self) -> IntArray:
        """Block of each row of the stack."""
        return np.repeat(np.arange(self.blocks), np.diff(self._bounds))

    def reload(self, terms: Collection[str]) -> None:
        """Update the products after the stack recomputed the columns of some terms."""
        for j, products in enumerate(self._products):
            places = self.stack.places(self.stack.joints[j], terms)
            for b, A, y in self._rows(j):
                new = np.column_stack([A[:, places].T @ A, A[:, places].T @ y])
                products[b, places], products[b, :, places] = new, new
        self._whole.clear()

    def _rows(self, j: int) -> Iterator[tuple[int, FloatArray, FloatArray]]:
        """Yield the equations of a joint in each block."""
        one, used = self.stack.joints[j], self.stack.used[:, j]
        for b in range(self.blocks):
            piece = slice(self._bounds[b], self._bounds[b + 1])
            A, y = one.A[piece], one.y[piece]
            yield (b, A, y) if np.all(used[piece]) else (b, A[used[piece]], y[used[piece]])

    def _of(self, j: int) -> FloatArray:
        size = self.stack.joints[j].A.shape[1] + 1
        out = np.empty((self.blocks, size, size))
        for b, A, y in self._rows(j):
            out[b, :-1, :-1], out[b, -1, -1] = A.T @ A, y @ y
            out[b, :-1, -1] = out[b, -1, :-1] = A.T @ y
        return out

    def of_model(self, features: Sequence[int], gravity: FloatArray, blocks: IntArray,
                 tilted: FloatArray | None = None) -> FloatArray:
        """Products in the columns of a model over consecutive blocks, shape (n, p + 1, p + 1).

        Columns: 10 nb inertial parameters, the features, the tilts, and the efforts. With
        inertial parameters ``tilted``, (10 nb,), two columns hold the effect of a tilt of
        gravity, (3,), along the rows of `tangents`, per m/s^2. The array may be cached and must
        not be written to.
        """
        run = slice(int(blocks[0]), int(blocks[-1]) + 1)
        if tilted is not None:
            return self._of_columns(features, gravity, run, tilted)
        # Most models differ in their features only: these are selected from all.
        key = gravity.tobytes(), run.start, run.stop
        if key not in self._whole:
            if len(self._whole) == _KEPT:
                self._whole.clear()
            self._whole[key] = self._of_columns(range(len(self.stack.features)), gravity, run)
        whole = self._whole[key]
        if len(features) == len(self.stack.features):
            return whole
        rigid = self.stack.n_rigid
        places = np.concatenate([np.arange(rigid), rigid + np.array(features, dtype=np.int64),
                                 [rigid + len(self.stack.features)]])
        return whole.take(places, axis=1).take(places, axis=2)

    def _of_columns(self, features: Sequence[int], gravity: FloatArray, run: slice,
                    tilted: FloatArray | None = None) -> FloatArray:
        stack = self.stack
        p = stack.n_rigid + len(features) + (0 if tilted is None else 2)
        out = np.zeros((len(stack.joints), p + 1, p + 1))
        for j, (rows, blocks) in enumerate(zip(stack.joints, self._products, strict=True)):
            products = blocks[run].sum(axis=0)
            T, where = selection(stack, rows.columns, features, gravity, tilted)
            # Most columns of a model are columns of the stack; a few are combinations of them.
            first = np.append(np.argmax(T == 1.0, axis=0), T.shape[0])
            rest = np.zeros((T.shape[0] + 1, T.shape[1] + 1))
            rest[:-1, :-1], rest[-1, -1] = T, 1.0
            rest[first, np.arange(len(first))] -= 1.0
            some = np.flatnonzero(np.any(rest, axis=1))
            made = np.flatnonzero(np.any(rest, axis=0))
            parts = rest[np.ix_(some, made)]
            half = products[:, first]
            half[:, made] += products[:, some] @ parts
            full = half[first]
            full[made] += parts.T @ half[some]
            places = np.append(where, p)
            out[j, places[:, np.newaxis], places] = full
        return out


def selection(stack: Stack, columns: IntArray, features: Sequence[int], gravity: FloatArray,
              tilted: FloatArray | None = None) -> tuple[FloatArray, IntArray]:
    """Matrix T of A_model = A T, shape (c, k), and the indices of these columns in the model.

    ``columns`` are the columns of the joint; the others are as in `NormalEquations.of_model`.
    """
    rigid = stack.n_rigid
    inertial = columns[columns < rigid]
    # Mass and first moment of the same bodies under gravity along x, y and z.
    heavy = np.flatnonzero(inertial % 10 < 4)
    pulls = len(inertial) + np.arange(3 * len(heavy)).reshape(3, -1)
    place = {int(column): k for k, column in enumerate(columns)}
    chosen = [k for k, feature in enumerate(features) if stack.first_feature + feature in place]
    T = np.zeros((len(columns), len(inertial) + len(chosen)))
    np.fill_diagonal(T[:len(inertial)], 1.0)
    T[pulls, heavy] = gravity[:, np.newaxis]
    for k, feature in enumerate(chosen):
        T[place[stack.first_feature + features[feature]], len(inertial) + k] = 1.0
    where = np.append(inertial, rigid + np.array(chosen, dtype=np.int64))
    if tilted is not None:
        turned = np.zeros((len(columns), 2))
        turned[pulls] = tilted[inertial[heavy], np.newaxis] * tangents(gravity).T[:, np.newaxis]
        T = np.concatenate([T, turned], axis=1)
        where = np.append(where, rigid + len(features) + np.arange(2))
    return T, where


def tangents(gravity: FloatArray) -> FloatArray:
    """Two unit vectors perpendicular to gravity, shape (2, 3): x and y of an upright base."""
    down = gravity / np.linalg.norm(gravity)
    first = np.eye(3)[int(np.argmin(np.abs(down)))]
    first = first - (first @ down) * down
    first /= np.linalg.norm(first)
    return np.stack([first, np.cross(down, first)])
