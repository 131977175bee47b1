# SPDX-License-Identifier: Apache-2.0
"""Least squares over physically consistent bodies, regularised towards a description.

With the normal equations H x = h of weighted least squares, x = [pi, friction]::

    minimise  1/2 x^T H x - h^T x
              + lambda sum_i (tr(P_i^-1 J_i(pi)) - log det J_i(pi))

J_i is the pseudo-inertia of body i (4 x 4, linear in its ten parameters) and P_i that of the
description. The second part is the Bregman divergence of -log det: convex, with zero gradient
at J_i = P_i, and infinite at the boundary of physical consistency. A damped Newton method
takes about a dozen steps.

References
----------
T. Lee, P. M. Wensing and F. C. Park, "Geometric robot dynamic identification: a convex
programming approach", IEEE Transactions on Robotics 36(2), 2020, eqs. (21)-(24).
P. M. Wensing, S. Kim and J.-J. E. Slotine, "Linear matrix inequalities for physically
consistent inertial parameter identification", IEEE RA-L 3(1), 2018.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robot_dynamics.errors import ParameterError, RecordingError
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.inertia import (
    check_body,
    parameters_from_pseudo_inertia,
    pseudo_inertia,
)

#: Largest number of Newton steps, and the decrement of convergence.
MAX_STEPS, DECREMENT = 60, 1e-10
#: Smallest radius of gyration, m, and mass, kg, of a described body: log det is not finite for
#: points, rods and massless bodies.
SMALLEST_RADIUS, SMALLEST_MASS = 0.01, 1e-3

#: Relative standard deviation of described bodies, at least.
DESCRIPTION = 0.3
#: Variance relative to that of the prior below which a direction is determined.
DETERMINED = 0.1

# Shortest fraction of a Newton step.
_SHORTEST = 1e-9
_BASIS = pseudo_inertia(np.eye(10))
_FLAT = _BASIS.reshape(10, 16)


@dataclass(frozen=True, eq=False)
class ConsistentFit:
    """Minimum x, (p,), of the objective, and its Hessian there, (p, p)."""

    x: FloatArray
    hessian: FloatArray

    @property
    def covariance(self) -> FloatArray:
        """Covariance of the minimum given the prior, shape (p, p)."""
        scale = 1.0 / np.sqrt(np.maximum(np.diag(self.hessian), 1e-300))
        # Hermitian pseudo-inverse, so that rounding makes no variance negative.
        return np.linalg.pinv(self.hessian * scale[:, np.newaxis] * scale, rcond=1e-13,
                              hermitian=True) * np.outer(scale, scale)


def prior_of(inertial_parameters: FloatArray) -> FloatArray:
    """Positive definite pseudo-inertias of described bodies, shape (nb, 4, 4).

    Bodies without mass get a small mass, and every body has an extent of at least a centimetre.
    """
    P = pseudo_inertia(inertial_parameters)
    out = np.empty_like(P)
    for k, one in enumerate(P):
        mass = max(float(one[3, 3]), SMALLEST_MASS)
        centre = one[:3, 3] / mass if one[3, 3] > 0.0 else np.zeros(3)
        spread = one[:3, :3] - mass * np.outer(centre, centre)
        values, vectors = np.linalg.eigh(0.5 * (spread + spread.T))
        spread = (vectors * np.maximum(values, mass * SMALLEST_RADIUS ** 2)) @ vectors.T
        out[k, :3, :3] = spread + mass * np.outer(centre, centre)
        out[k, :3, 3] = out[k, 3, :3] = mass * centre
        out[k, 3, 3] = mass
    return out


def impossible_bodies(names: Sequence[str], inertial_parameters: FloatArray) -> dict[str, str]:
    """Physically inconsistent bodies, and the violated condition of each."""
    verdicts = {name: check_body(ten) for name, ten in zip(
        names, inertial_parameters.reshape(-1, 10), strict=True)}
    return {name: one.violation for name, one in verdicts.items() if not one.is_consistent}


def fit_consistent(H: FloatArray, h: FloatArray, prior: FloatArray, prior_weight: float,
                   start: FloatArray | None = None) -> ConsistentFit:
    """Minimise the objective of this module, with prior_weight its lambda > 0.

    H, (p, p), and h, (p,), are normal equations, their first 10 nb unknowns inertial parameters;
    ``prior``, (nb, 4, 4), holds positive definite pseudo-inertias, from which the search begins
    unless ``start``, (p,), is given. Raises a RecordingError if the solution has bodies without
    mass or extent, as with efforts in a wrong unit or of another arm.
    """
    if not 0.0 < prior_weight < np.inf:
        raise ParameterError(f'must be a positive number, got {prior_weight!r}',
                             subject='prior weight', remedy='give for example 10')
    try:
        return _minimum(_Problem(H, h, prior, prior_weight), prior, prior_weight, start)
    except np.linalg.LinAlgError:
        raise RecordingError(
            'require bodies without mass or extent', subject='efforts of the recording',
            remedy='check their unit, and that they move this arm; or give a larger '
                   'prior weight (estimate.strength)') from None


def posterior_covariance(found: ConsistentFit, H: FloatArray, prior: FloatArray,
                         prior_weight: float, growth: float = 1.0) -> tuple[FloatArray, float]:
    """Covariance of the parameters, (p, p), and the assumed deviation of the description.

    The normal equations have the covariance ``growth`` H. The pseudo-inertia J of each described
    body is assumed to have the relative deviation s = `DESCRIPTION`: the covariance s^2 P^-1 with
    P_kl = tr(J^-1 E_k J^-1 E_l), so that s is the relative deviation of its mass. It is larger if
    the estimates differ more from the description in directions that the recording determines.
    With the Hessian A of the objective and its lambda, errors are A^-1 (noise + lambda P error of
    the description), and their covariance is A^-1 (growth H + lambda^2 s^2 P) A^-1.
    """
    described = parameters_from_pseudo_inertia(prior).ravel()
    rigid = len(described)
    P = np.zeros((rigid, rigid))
    for k, bend in enumerate(_barrier(described)[1]):
        P[10 * k:10 * k + 10, 10 * k:10 * k + 10] = bend
    inverse = found.covariance
    deviation = max(DESCRIPTION, _disagreement(found.x[:rigid] - described, P,
                                               inverse[:rigid, :rigid], prior_weight))
    filling = growth * H
    filling[:rigid, :rigid] += (prior_weight * deviation) ** 2 * P
    return inverse @ filling @ inverse, deviation


def _disagreement(change: FloatArray, P: FloatArray, inverse: FloatArray, prior_weight: float
                  ) -> float:
    """RMS change of the description per determined direction, in the metric P."""
    L = np.linalg.cholesky(P)
    # Variances relative to those of the prior alone: near 1 where nothing else is known.
    sizes, axes = np.linalg.eigh(prior_weight * L.T @ inverse @ L)
    determined = axes[:, sizes < DETERMINED].T @ (L.T @ change)
    return float(np.sqrt(np.mean(determined ** 2))) if len(determined) else 0.0


def _minimum(problem: _Problem, prior: FloatArray, prior_weight: float, start: FloatArray | None
             ) -> ConsistentFit:
    """Minimum by a damped Newton method."""
    rigid = problem.rigid
    # Unknowns are scaled by their curvature, to reduce rounding errors.
    described = parameters_from_pseudo_inertia(prior).ravel()
    curvature = np.einsum('bkk->bk', _barrier(described)[1]).ravel()
    scale = _inverse_roots(problem.diagonal[:rigid] + prior_weight * curvature)
    x = described if start is None else np.array(start[:rigid], dtype=np.float64)
    value = problem.value(x)
    if not np.isfinite(value):
        raise ParameterError('must be physically consistent', subject='start',
                             remedy='start at the prior')
    for _ in range(MAX_STEPS):
        gradient, hessian = problem.slopes(x)
        scaled = hessian * scale[:, np.newaxis] * scale
        scaled[np.diag_indices(rigid)] += 1e-12
        move = -scale * np.linalg.solve(scaled, scale * gradient)
        decrement = -float(gradient @ move)
        if decrement < DECREMENT * max(1.0, abs(value)):
            break
        length = 1.0
        while length >= _SHORTEST:
            trial = x + length * move
            new = problem.value(trial)
            if new <= value - 0.2 * length * decrement:
                break
            length *= 0.5
        else:
            break
        x, value = trial, new
    return ConsistentFit(problem.all_of(x), problem.whole_hessian(x))


class _Problem:
    """The objective as a function of the inertial parameters alone.

    The objective is quadratic in the other parameters, so that their optimum follows from the
    inertial ones: f = F^-1 (h_f - B^T pi), which leaves S = R - B F^-1 B^T.
    """

    def __init__(self, H: FloatArray, h: FloatArray, prior: FloatArray, prior_weight: float):
        self._H, self._prior_weight, self._bodies = H, prior_weight, len(prior)
        self.rigid = rigid = 10 * self._bodies
        self.diagonal = np.diag(H)
        F, B = H[rigid:, rigid:], H[:rigid, rigid:]
        scale = _inverse_roots(np.diag(F))
        scaled = F * scale[:, np.newaxis] * scale
        # Regularised, as terms may be equal or zero.
        scaled[np.diag_indices(len(F))] += 1e-12
        answers = np.linalg.solve(scaled, scale[:, np.newaxis]
                                  * np.column_stack([B.T, h[rigid:]]))
        self._answers = scale[:, np.newaxis] * answers
        self._S = H[:rigid, :rigid] - B @ self._answers[:, :-1]
        self._s = h[:rigid] - B @ self._answers[:, -1]
        self._rest = -0.5 * float(h[rigid:] @ self._answers[:, -1])
        self._pull = (np.linalg.inv(prior).reshape(self._bodies, 16) @ _FLAT.T).ravel()

    def value(self, x: FloatArray) -> float:
        """Objective, infinite for inconsistent bodies."""
        try:
            factors = np.linalg.cholesky(_pseudo(x))
        except np.linalg.LinAlgError:
            return np.inf
        logs = 2.0 * np.sum(np.log(np.einsum('bii->bi', factors)))
        return float(0.5 * x @ (self._S @ x) - self._s @ x + self._rest
                     + self._prior_weight * (self._pull @ x - logs))

    def slopes(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Gradient and Hessian."""
        traces, bends = _barrier(x)
        gradient = self._S @ x - self._s + self._prior_weight * (self._pull - traces)
        return gradient, self._bent(self._S, bends)

    def all_of(self, x: FloatArray) -> FloatArray:
        """All parameters."""
        return np.concatenate([x, self._answers[:, -1] - self._answers[:, :-1] @ x])

    def whole_hessian(self, x: FloatArray) -> FloatArray:
        """Hessian of the objective in all parameters."""
        return self._bent(self._H, _barrier(x)[1])

    def _bent(self, H: FloatArray, bends: FloatArray) -> FloatArray:
        out = H.copy()
        for k in range(self._bodies):
            mine = slice(10 * k, 10 * k + 10)
            out[mine, mine] += self._prior_weight * bends[k]
        return out


def _pseudo(x: FloatArray) -> FloatArray:
    return (x.reshape(-1, 10) @ _FLAT).reshape(-1, 4, 4)


def _barrier(x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """tr(J^-1 E_k), (rigid,), and tr(J^-1 E_k J^-1 E_l) of each body."""
    products = np.linalg.inv(_pseudo(x))[:, np.newaxis] @ _BASIS
    rows = products.reshape(-1, 10, 16)
    columns = products.transpose(0, 1, 3, 2).reshape(-1, 10, 16)
    return np.einsum('bkii->bk', products).ravel(), rows @ columns.transpose(0, 2, 1)


def _inverse_roots(sizes: FloatArray) -> FloatArray:
    """1 / sqrt, or 1 for zero."""
    return 1.0 / np.sqrt(np.where(sizes > 0.0, sizes, 1.0))
