# SPDX-License-Identifier: Apache-2.0
r"""Least squares over bodies that exist, drawn towards a description of the robot.

With the normal equations H x = h of weighted least squares, x = [pi, friction]::

    minimise  1/2 x^T H x - h^T x
              + lambda sum_i (tr(P_i^-1 J_i(pi)) - log det J_i(pi))

J_i is the pseudo-inertia of body i (4 x 4, linear in its ten parameters) and P_i that of the
description. The second part is the Bregman divergence of -log det, convex, zero-gradient at
J_i = P_i, and infinite where a body would stop to be one. A damped Newton method takes a
dozen steps.

References
----------
T. Lee, P. M. Wensing and F. C. Park, "Geometric robot dynamic identification: a convex
programming approach", IEEE Transactions on Robotics 36(2), 2020, eqs. (21)-(24).
P. M. Wensing, S. Kim and J.-J. E. Slotine, "Linear matrix inequalities for physically
consistent inertial parameter identification", IEEE RA-L 3(1), 2018.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.errors import ParameterError
from robot_dynamics.model.consistency import parameters_from_pseudo_inertia, pseudo_inertia

FloatArray = NDArray[np.float64]

#: Newton steps at most, and the decrement from which on nothing changes any more.
MAX_STEPS, DECREMENT = 60, 1e-10
#: Smallest radius of gyration and mass that a body of the description is given, m and kg: a
#: description with points, rods or no mass has no log det.
SMALLEST_RADIUS, SMALLEST_MASS = 0.01, 1e-3

_BASIS = pseudo_inertia(np.eye(10))


@dataclass(frozen=True, eq=False)
class ConsistentFit:
    """A minimum.

    Parameters
    ----------
    x : ndarray, shape (p,)
        Inertial parameters, then the others.
    hessian : ndarray, shape (p, p)
        Of the whole objective there.
    steps : int
        Newton steps taken.
    """

    x: FloatArray
    hessian: FloatArray
    steps: int


def prior_of(inertial_parameters: FloatArray) -> FloatArray:
    """Return pseudo-inertias, positive definite, of the bodies of a description.

    Parameters
    ----------
    inertial_parameters : ndarray, shape (nb, 10)
        As described.

    Returns
    -------
    ndarray, shape (nb, 4, 4)
        Bodies without mass get a little, and all of them an extent of a centimetre at least.
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


def fit_consistent(H: FloatArray, h: FloatArray, prior: FloatArray, strength: float,
                   start: FloatArray | None = None) -> ConsistentFit:
    """Minimise the objective of this module.

    Parameters
    ----------
    H, h : ndarray, shape (p, p) and (p,)
        Normal equations; the first 10 nb unknowns are inertial parameters.
    prior : ndarray, shape (nb, 4, 4)
        Positive definite pseudo-inertias.
    strength : float
        lambda, > 0, in units of the weighted squared error.
    start : ndarray, shape (p,), optional
        Where to begin; the description if not given.

    Returns
    -------
    ConsistentFit
        The minimum.
    """
    if not 0.0 < strength < np.inf:
        raise ParameterError(f'is {strength!r}', subject='prior strength',
                             remedy='give a positive number')
    bodies = len(prior)
    rigid = 10 * bodies
    inverse = np.linalg.inv(prior)
    pull = np.einsum('bij,kij->bk', inverse, _BASIS).ravel()
    # Unknowns are scaled by their curvature, so that none is lost in rounding.
    scale = np.sqrt(np.diag(H) + strength * _curvature(prior, rigid, len(h)))
    scale = 1.0 / np.where(scale > 0.0, scale, 1.0)
    if start is None:
        start = np.zeros(len(h))
        start[:rigid] = parameters_from_pseudo_inertia(prior).ravel()
    x, value = start.copy(), _value(H, h, pull, strength, bodies, start)
    if not np.isfinite(value):
        raise ParameterError('is no set of bodies', subject='start', remedy='begin at the prior')
    for step in range(1, MAX_STEPS + 1):
        gradient, hessian = _slopes(H, h, pull, strength, bodies, x)
        scaled = hessian * scale[:, np.newaxis] * scale
        scaled[np.diag_indices(len(h))] += 1e-12
        move = -scale * np.linalg.solve(scaled, scale * gradient)
        decrement = -float(gradient @ move)
        if decrement < DECREMENT * max(1.0, abs(value)):
            return ConsistentFit(x, hessian, step)
        length = 1.0
        while True:
            trial = x + length * move
            new = _value(H, h, pull, strength, bodies, trial)
            if new <= value - 0.2 * length * decrement:
                x, value = trial, new
                break
            length *= 0.5
            if length < 1e-9:
                return ConsistentFit(x, hessian, step)
    return ConsistentFit(x, hessian, MAX_STEPS)


def _curvature(prior: FloatArray, rigid: int, count: int) -> FloatArray:
    inverse = np.linalg.inv(prior)
    out = np.zeros(count)
    products = np.einsum('bij,kjl->bkil', inverse, _BASIS)
    out[:rigid] = np.einsum('bkij,bkji->bk', products, products).ravel()
    return out


def _value(H: FloatArray, h: FloatArray, pull: FloatArray, strength: float, bodies: int,
           x: FloatArray) -> float:
    sign, log = np.linalg.slogdet(_pseudo(x, bodies))
    if np.any(sign <= 0.0) or not _all_definite(x, bodies):
        return np.inf
    rigid = 10 * bodies
    return float(0.5 * x @ (H @ x) - h @ x + strength * (pull @ x[:rigid] - np.sum(log)))


def _pseudo(x: FloatArray, bodies: int) -> FloatArray:
    return pseudo_inertia(x[:10 * bodies].reshape(bodies, 10))


def _all_definite(x: FloatArray, bodies: int) -> bool:
    try:
        np.linalg.cholesky(_pseudo(x, bodies))
    except np.linalg.LinAlgError:
        return False
    return True


def _slopes(H: FloatArray, h: FloatArray, pull: FloatArray, strength: float, bodies: int,
            x: FloatArray) -> tuple[FloatArray, FloatArray]:
    rigid = 10 * bodies
    inverse = np.linalg.inv(_pseudo(x, bodies))
    products = np.einsum('bij,kjl->bkil', inverse, _BASIS)
    gradient = H @ x - h
    gradient[:rigid] += strength * (pull - np.einsum('bkii->bk', products).ravel())
    hessian = H.copy()
    bends = strength * np.einsum('bkij,blji->bkl', products, products)
    for k in range(bodies):
        mine = slice(10 * k, 10 * k + 10)
        hessian[mine, mine] += bends[k]
    return gradient, hessian
