# SPDX-License-Identifier: Apache-2.0
"""Fewer parameters that say the same: the essential ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robot_dynamics.errors import ParameterError
from robot_dynamics.identification.estimators.linear import Equations, LinearFit, estimate
from robot_dynamics.model.arrays import IntArray

#: A parameter is left out while its relative deviation is larger than this.
LIMIT = 0.3
#: Errors may grow by this part altogether.
GROWTH = 0.01


@dataclass(frozen=True, eq=False)
class Essential:
    """Essential parameters.

    Parameters
    ----------
    columns : ndarray of int64, shape (k,)
        Which columns of the equations are left.
    fit : LinearFit
        Their fit.
    growth : float
        Weighted root mean square error over that of all parameters, minus 1.
    """

    columns: IntArray
    fit: LinearFit
    growth: float


def essential(equations: Equations, *, limit: float = LIMIT, growth: float = GROWTH,
              correlation: float = 0.0) -> Essential:
    """Leave out, one after the other, the parameter that is known worst.

    As W. Khalil and E. Dombre, "Modeling, identification and control of robots", 2002,
    section 12.4.4: until every relative standard deviation is small, or the errors would grow.

    Parameters
    ----------
    equations : Equations
        Of base parameters.
    limit : float
        Relative standard deviation that may stay.
    growth : float
        By how much the errors may grow.
    correlation : float
        As in `estimate`.

    Returns
    -------
    Essential
        What is left.
    """
    if not (0.0 < limit < np.inf and 0.0 <= growth < np.inf):
        raise ParameterError(f'are {limit!r} and {growth!r}', subject='limit and growth',
                             remedy='give positive numbers')
    columns = np.arange(equations.W.shape[1])
    best = estimate('wls', equations, correlation=correlation)
    weights = 1.0 / best.sigma[equations.joint]
    first = float(np.linalg.norm(weights * best.residual))
    grown = 0.0
    while len(columns) > 1:
        relative = np.sqrt(np.diag(best.covariance)) / np.maximum(np.abs(best.x), 1e-300)
        worst = int(np.argmax(relative))
        if relative[worst] <= limit:
            break
        fewer = np.delete(columns, worst)
        Z = None if equations.Z is None else equations.Z[:, fewer]
        trial = estimate('wls', Equations(equations.W[:, fewer], equations.y, equations.joint,
                                          equations.order, Z), correlation=correlation)
        more = float(np.linalg.norm(weights * trial.residual)) / max(first, 1e-300) - 1.0
        if more > growth:
            break
        columns, best, grown = fewer, trial, more
    return Essential(columns, best, grown)
