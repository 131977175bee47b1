# SPDX-License-Identifier: Apache-2.0
"""Least squares for base parameters: ordinary, weighted, robust, with instrumental variables.

Each solves W x = y with rows of all joints, with one error variance per joint, and estimates
the covariance of x. `essential` leaves out poorly determined parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from robot_dynamics.errors import ParameterError
from robot_dynamics.identification.dataset.settings import require_choice
from robot_dynamics.model.arrays import FloatArray, IntArray

#: Huber's constant: 95 % of the efficiency of least squares for normal errors.
HUBER = 1.345
_PASSES, _CLOSE = 30, 1e-10
#: Correlation time of the errors of efforts and positions, s.
CORRELATION = 1.0
#: Relative deviation above which a parameter is left out.
LIMIT = 0.3
#: Largest relative growth of errors in total.
GROWTH = 0.01


@dataclass(frozen=True, eq=False)
class Equations:
    """Rows of several joints: columns W, (m, p), and efforts y, (m,).

    ``joint`` and ``order``, (m,), are the joint and the sample of each row, samples increasing
    with time. Z, (m, p), are instruments: columns without the noise of W.
    """

    W: FloatArray
    y: FloatArray
    joint: IntArray
    order: IntArray
    Z: FloatArray | None = None


@dataclass(frozen=True, eq=False)
class LinearFit:
    """Parameters x, covariance, error deviation sigma of each joint, and residual y - W x.

    ``growth`` is the mean factor of the variances by the correlation of errors.
    """

    x: FloatArray
    covariance: FloatArray
    sigma: FloatArray
    residual: FloatArray
    growth: float = 1.0


def estimate(name: str, equations: Equations, *, correlation: float = 0.0) -> LinearFit:
    """Estimate parameters.

    Parameters
    ----------
    name : {'ols', 'wls', 'huber', 'iv'}
        ``ols``: the pseudo-inverse of L. Zollo et al. 2015, eqs. (38) and (42); ``wls``: rows
        weighted by the inverse variance of their joint; ``huber``: the same with less weight for
        large errors (P. J. Huber, "Robust estimation of a location parameter", Annals of
        Mathematical Statistics 35(1), 1964); ``iv``: instrumental variables (A. Janot, P.-O.
        Vandanjon and M. Gautier, "A generic instrumental variable approach for industrial robot
        identification", IEEE Transactions on Control Systems Technology 22(1), 2014).
    equations : Equations
        Equations with full column rank.
    correlation : float
        Samples over which errors are correlated. The variances are then the larger ones of those
        for independent errors and those of W. K. Newey and K. D. West, "A simple, positive
        semi-definite, heteroskedasticity and autocorrelation consistent covariance matrix",
        Econometrica 55(3), 1987.
    """
    require_choice('estimator', name, tuple(ESTIMATORS))
    rows, columns = equations.W.shape
    if rows <= columns:
        raise ParameterError(f'has {rows} rows for {columns} parameters', subject='recording',
                             remedy='record longer, or ask for fewer parameters')
    return ESTIMATORS[name](equations, correlation)


def _ols(equations: Equations, correlation: float) -> LinearFit:
    weights = np.ones(len(equations.y))
    x = _solved(equations, weights)
    return _finished(equations, x, weights, correlation)


def _wls(equations: Equations, correlation: float) -> LinearFit:
    # Each joint has one weight, so that all passes only need triangular factors.
    few, counts = _triangular(equations)
    x = _solved(few, np.ones(len(few.y)))
    for _ in range(4):
        x = _solved(few, 1.0 / _sigma(few, x, counts)[few.joint] ** 2)
    return _finished(equations, x, _by_joint(equations, x), correlation)


def _huber(equations: Equations, correlation: float) -> LinearFit:
    x = _wls(equations, 0.0).x
    weights = np.ones(len(equations.y))
    for _ in range(_PASSES):
        residual = equations.y - equations.W @ x
        # A joint that is always at a stop has no equations.
        scale = np.array([1.4826 * np.median(np.abs(mine)) if len(mine) else 1.0 for mine in (
            residual[equations.joint == j] for j in range(int(equations.joint.max()) + 1))])
        sizes = np.abs(residual) / np.maximum(scale, 1e-12 * np.abs(equations.y).max()
                                              + 1e-300)[equations.joint]
        weights = (np.minimum(1.0, HUBER / np.maximum(sizes, 1e-12))
                   / np.maximum(scale, 1e-12)[equations.joint] ** 2)
        new = _solved(equations, weights)
        if np.max(np.abs(new - x)) <= _CLOSE * np.max(np.abs(new)):
            x = new
            break
        x = new
    return _finished(equations, x, weights, correlation)


def _iv(equations: Equations, correlation: float) -> LinearFit:
    if equations.Z is None:
        raise ParameterError('needs instruments', subject='iv',
                             remedy='give Z, columns made of other signals than W')
    x = _wls(equations, 0.0).x
    for _ in range(3):
        weights = _by_joint(equations, x)
        scaled = equations.Z * weights[:, np.newaxis]
        x = np.asarray(np.linalg.solve(scaled.T @ equations.W, scaled.T @ equations.y),
                       dtype=np.float64)
    weights = _by_joint(equations, x)
    return _finished(equations, x, weights, correlation)


#: Estimators by name.
ESTIMATORS: Mapping[str, Callable[[Equations, float], LinearFit]] = {
    'ols': _ols, 'wls': _wls, 'huber': _huber, 'iv': _iv}


def _solved(equations: Equations, weights: FloatArray) -> FloatArray:
    """Weighted least-squares solution, with columns scaled to unit length."""
    roots = np.sqrt(weights)
    W = equations.W * roots[:, np.newaxis]
    lengths = np.linalg.norm(W, axis=0)
    lengths[lengths == 0.0] = 1.0
    return np.linalg.lstsq(W / lengths, equations.y * roots, rcond=None)[0] / lengths


def _by_joint(equations: Equations, x: FloatArray) -> FloatArray:
    """Inverse variance of the joint of each row."""
    return 1.0 / _sigma(equations, x)[equations.joint] ** 2


def _sigma(equations: Equations, x: FloatArray, counts: FloatArray | None = None) -> FloatArray:
    """Standard deviation of the errors of each joint.

    For triangular factors, ``counts`` are the numbers of rows that they represent.
    """
    joint = equations.joint
    counts = np.bincount(joint).astype(float) if counts is None else counts
    rows = np.maximum(counts, 1.0)
    share = len(x) / counts.sum()
    errors = np.bincount(joint, (equations.y - equations.W @ x) ** 2, len(counts))
    efforts = np.bincount(joint, equations.y ** 2, len(counts))
    size = np.sqrt(errors / rows / max(1.0 - share, 1e-3))
    return np.maximum(size, np.maximum(1e-12 * np.sqrt(efforts / rows), 1e-150))


def _triangular(equations: Equations) -> tuple[Equations, FloatArray]:
    """Triangular factors of the equations of each joint, and the number of rows of each."""
    counts = np.bincount(equations.joint).astype(float)
    R, joint = triangles(np.column_stack([equations.W, equations.y]), equations.joint)
    return Equations(R[:, :-1], R[:, -1], joint, np.zeros(len(R), dtype=np.int64)), counts


def triangles(W: FloatArray, joint: IntArray) -> tuple[FloatArray, IntArray]:
    """Stacked triangular factors R_j^T R_j = W_j^T W_j of each joint, and their joints."""
    factors, owners = [], []
    for j in range(int(joint.max()) + 1):
        mine = W[joint == j]
        # Most bodies do not act on a joint.
        there = np.any(mine, axis=0)
        R = np.linalg.qr(mine[:, there], mode='r')
        factors.append(np.zeros((len(R), W.shape[1])))
        factors[-1][:, there] = R
        owners.append(np.full(len(R), j))
    return np.concatenate(factors), np.concatenate(owners)


def _finished(equations: Equations, x: FloatArray, weights: FloatArray, correlation: float
              ) -> LinearFit:
    """Fit with the sandwich covariance of its parameters."""
    W, residual = equations.W, equations.y - equations.W @ x
    instruments = W if equations.Z is None else equations.Z
    sigma = _sigma(equations, x)
    weighted = instruments * weights[:, np.newaxis]
    lengths = np.linalg.norm(W * np.sqrt(weights)[:, np.newaxis], axis=0)
    lengths[lengths == 0.0] = 1.0
    bread = np.linalg.pinv((weighted.T @ W) / lengths[:, np.newaxis] / lengths)
    variance = weights * sigma[equations.joint]
    plain = instruments * variance[:, np.newaxis]
    covariance = _baked(bread, plain.T @ plain / lengths[:, np.newaxis] / lengths, lengths)
    growth = 1.0
    if correlation > 0.0:
        filling = newey_west(weighted * residual[:, np.newaxis] / lengths, equations.joint,
                             equations.order, correlation)
        filling *= len(residual) / max(len(residual) - len(x), 1)
        other = _baked(bread, filling, lengths)
        grown = np.sqrt(np.maximum(1.0, np.diag(other) / np.maximum(np.diag(covariance),
                                                                    1e-300)))
        covariance = covariance * grown[:, np.newaxis] * grown
        growth = float(np.mean(grown ** 2))
    return LinearFit(x, covariance, sigma, residual, growth)


def _baked(bread: FloatArray, filling: FloatArray, lengths: FloatArray) -> FloatArray:
    return bread @ filling @ bread.T / lengths[:, np.newaxis] / lengths


def newey_west(scores: FloatArray, joint: IntArray, order: IntArray, correlation: float
               ) -> FloatArray:
    """Covariance, (p, p), of the sum of scores, (m, p), with correlated neighbouring samples."""
    places = order - order.min()
    samples = np.zeros((int(places.max()) + 1, scores.shape[1]))
    for j in range(int(joint.max()) + 1):
        mine = joint == j
        samples[places[mine]] += scores[mine]
    out = samples.T @ samples
    for lag in range(1, min(int(np.ceil(correlation)), len(samples) - 1) + 1):
        product = samples[lag:].T @ samples[:-lag]
        out += (1.0 - lag / (np.ceil(correlation) + 1.0)) * (product + product.T)
    return out


@dataclass(frozen=True, eq=False)
class Essential:
    """Essential parameters: columns that are kept, (k,), and their fit.

    ``growth`` is the weighted RMS error relative to that of all columns, minus 1.
    """

    columns: IntArray
    fit: LinearFit
    growth: float


def essential(equations: Equations, correlation: float) -> Essential:
    """Leave out the least determined parameters, one at a time.

    Until every relative standard deviation is below `LIMIT` or the errors would grow by more
    than `GROWTH` (W. Khalil and E. Dombre, "Modeling, identification and control of robots",
    2002, section 12.4.4).
    """
    columns = np.arange(equations.W.shape[1])
    best = estimate('wls', equations, correlation=correlation)
    weights = 1.0 / best.sigma[equations.joint]
    first = float(np.linalg.norm(weights * best.residual))
    grown = 0.0
    while len(columns) > 1:
        relative = np.sqrt(np.diag(best.covariance)) / np.maximum(np.abs(best.x), 1e-300)
        worst = int(np.argmax(relative))
        if relative[worst] <= LIMIT:
            break
        fewer = np.delete(columns, worst)
        Z = None if equations.Z is None else equations.Z[:, fewer]
        trial = estimate('wls', Equations(equations.W[:, fewer], equations.y, equations.joint,
                                          equations.order, Z), correlation=correlation)
        more = float(np.linalg.norm(weights * trial.residual)) / max(first, 1e-300) - 1.0
        if more > GROWTH:
            break
        columns, best, grown = fewer, trial, more
    return Essential(columns, best, grown)
