# SPDX-License-Identifier: Apache-2.0
r"""Parameters with bodies that exist, for what a recording tells of combinations of them.

Of all parameters Pi with the base parameters that were found, b = B Pi, those nearest to the
description are taken where every body of them can exist. Otherwise, with the covariance C::

    minimise  1/2 (B Pi - b)^T C^-1 (B Pi - b)  +  a pull towards the description

over bodies that exist, as `robot_dynamics.identification.estimators.consistent` does.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robot_dynamics.elastic.robot import places
from robot_dynamics.identification.elastic.result import ElasticIdentification
from robot_dynamics.identification.estimators.consistent import fit_consistent, prior_of
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.inertia import check_body

#: Weight of the pull: as much as one observation with an error as large as the parameters.
STRENGTH = 1.0
#: Base parameters count as known no better than this part of them: what bodies that exist
#: cannot meet anyway is not worth more digits than an iteration has.
BEST_KNOWN = 1e-4
# What is added to correlations, of which some are nearly one.
_ALMOST = 1e-6


@dataclass(frozen=True, eq=False)
class Written:
    """Parameters that a description can have.

    Parameters
    ----------
    parameters : ndarray, shape (14 n,)
        In the order ``'bodies'``.
    moved : float
        By how many standard deviations the base parameter that moved most had to.
    impossible : tuple of str
        Bodies that cannot exist.
    """

    parameters: FloatArray
    moved: float
    impossible: tuple[str, ...]


def parameters_with_bodies(found: ElasticIdentification, *, only_nearest: bool = False) -> Written:
    """Return parameters with the base parameters found, or near to them.

    Parameters
    ----------
    found : ElasticIdentification
        What a recording tells.
    only_nearest : bool
        Whether to keep the base parameters whatever bodies come of it.
    """
    where = places(found.robot.n, found.order)
    nearest = np.empty(len(where))
    nearest[where] = found.nearest_parameters()
    impossible = _impossible(found, nearest)
    if only_nearest or not impossible:
        return Written(nearest, 0.0, impossible)
    B = np.empty((found.base.rank, len(where)))
    B[:, where] = found.base.matrix
    Pi = _fitted(found, B)
    moved = np.abs(B @ Pi - found.values) / np.maximum(found.deviations, 1e-300)
    return Written(Pi, float(np.max(moved, initial=0.0)), _impossible(found, Pi))


def _fitted(found: ElasticIdentification, B: FloatArray) -> FloatArray:
    rigid = 10 * found.robot.n
    described = found.robot.parameters('bodies')
    sd = np.maximum(found.deviations, 1e-300)
    correlation = found.covariance / np.outer(sd, sd) + _ALMOST * np.eye(len(sd))
    size = np.maximum(sd, BEST_KNOWN * np.abs(found.values))
    information = np.linalg.inv(correlation) / np.outer(size, size)
    H, h = B.T @ information @ B, B.T @ information @ found.values
    # Rotors and springs are drawn to the description as bodies are.
    others = described[rigid:]
    pull = np.zeros_like(others)
    pull[others > 0.0] = STRENGTH / others[others > 0.0] ** 2
    H[np.arange(rigid, len(H)), np.arange(rigid, len(H))] += pull
    h[rigid:] += pull * others
    Pi = fit_consistent(H, h, prior_of(described[:rigid].reshape(-1, 10)), STRENGTH).x
    # What is not told at all stays as described to the last digit.
    untold = rigid + np.flatnonzero(~np.any(B[:, rigid:], axis=0))
    Pi[untold] = described[untold]
    return Pi


def _impossible(found: ElasticIdentification, parameters: FloatArray) -> tuple[str, ...]:
    n = found.robot.n
    return tuple(name for name, ten in zip(found.robot.links.body_names,
                                           parameters[:10 * n].reshape(n, 10), strict=True)
                 if not check_body(ten).is_consistent)
