# SPDX-License-Identifier: Apache-2.0
"""Where something is true for long, and what is around it."""

from __future__ import annotations

import numpy as np

from robot_dynamics.model.arrays import BoolArray


def lasting(true: BoolArray, least: float) -> BoolArray:
    """Return where something is true for so many samples at least."""
    out = np.zeros_like(true)
    edges = np.diff(np.concatenate([[0], true.astype(np.int8), [0]]))
    for first, end in zip(np.flatnonzero(edges == 1), np.flatnonzero(edges == -1), strict=True):
        out[first:end] = end - first >= least
    return out


def widened(true: BoolArray, margin: int) -> BoolArray:
    """Return where something is true within so many samples."""
    edges = np.diff(np.concatenate([[0], true.astype(np.int8), [0]]))
    change = np.zeros(len(true) + 1, dtype=np.int64)
    np.add.at(change, np.maximum(np.flatnonzero(edges == 1) - margin, 0), 1)
    np.add.at(change, np.minimum(np.flatnonzero(edges == -1) + margin, len(true)), -1)
    return np.cumsum(change[:-1]) > 0
