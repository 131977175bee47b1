# SPDX-License-Identifier: Apache-2.0
"""The adaptation law: a gradient in the metric of the prior, kept physical.

Each body's estimate is seen as its 4x4 pseudo-inertia P (see
`robot_dynamics.model.inertia`), and its size is measured against a fixed matrix
Q = L L^T > 0, the pseudo-inertia of what is thought possible for that body: in the
coordinates X = L^-1 P L^-T a distance is ``|dX|_F``. Masses and inertias, heavy and light
links become comparable, whatever units and frames they are in. With y = Yr^T s the
gradient of a body, and U(y) the symmetric matrix for which tr(U P) = y . pi for every P,
the steepest way in this metric is::

    dP/dt = gamma Q U(y) Q        or        dpi/dt = Gamma y

with Gamma constant, symmetric and positive definite. So V = 1/2 s^T M s +
|X - X_true|_F^2 / (2 gamma) does not grow, and the gain of the loop does not change with
what is learnt.

The estimate is then moved to the nearest point, in the same metric, of convex sets that
hold the true parameters: a largest mass, a largest spread of mass, and P >= 0 (some body
of positive mass has them). A projection on a convex set brings the estimate closer to
every point of the set, so V does not grow by it either.

Friction coefficients and other joint terms follow the same law with a diagonal gain,
between a least and a largest value.

Where some combinations are known the gain is restricted to the others
(`control.adaptation.restriction`). A leakage sigma adds -sigma (pi - pi_0), which ends
the drift that errors of the model's structure cause, at the price of a small bias.

A law without projection, and one in base coordinates, keeps its estimates within a ball
about the prior instead. Without projection pi only moves along Gamma Yr^T: in the metric
of Gamma^-1 at right angles to everything the efforts do not depend on, so that exactly the
base parameters are learnt and nothing else drifts.

References
----------
J.-J. E. Slotine and W. Li, "On the adaptive control of robot manipulators",
International Journal of Robotics Research 6(3), 1987, eq. (12).

T. Lee, J. Kwon and F. C. Park, "A natural adaptive control law for robot manipulators",
IROS 2018, eqs. (14)-(18): the pseudo-inertia as coordinates. There the metric is that of
the present estimate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from robot_dynamics.control.adaptation import gradient_kernel as adaptation_kernel
from robot_dynamics.control.adaptation import restriction_kernel
from robot_dynamics.control.adaptation.restriction import Restriction
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.inertia import (
    parameters_from_pseudo_inertia,
    project_to_consistent,
    pseudo_inertia,
)


class StepOutcome(IntEnum):
    """What became of one adaptation step."""

    ACCEPTED = adaptation_kernel.ACCEPTED
    NOT_FINITE = adaptation_kernel.NOT_FINITE
    TOO_LARGE = adaptation_kernel.TOO_LARGE


_OUTCOMES = tuple(StepOutcome)


@dataclass(frozen=True, eq=False)
class BodyMetric:
    """The metric of the bodies' estimates and how far these may go.

    Parameters
    ----------
    matrices : ndarray, shape (nb, 4, 4)
        Q of each body, positive definite. kg m^2, kg m, kg.
    gain : float
        gamma. 1/J.
    largest_mass : ndarray, shape (nb,)
        Largest mass. kg.
    largest_spread : ndarray, shape (nb,)
        Largest tr Sigma: the integral over the mass of the squared distance from the
        origin of the link frame. kg m^2.
    """

    matrices: FloatArray
    gain: float
    largest_mass: FloatArray
    largest_spread: FloatArray

    def gain_blocks(self) -> FloatArray:
        """Return Gamma of each body in its ten parameters, shape (nb, 10, 10).

        Column k is the parameters of gamma Q U(e_k) Q.
        """
        units = np.array([dual_matrix(unit) for unit in np.eye(10)])
        columns = self.matrices[:, None] @ units @ self.matrices[:, None]
        return self.gain * np.swapaxes(parameters_from_pseudo_inertia(columns), -1, -2)


@dataclass(frozen=True, eq=False)
class TermMetric:
    """Gains and ranges of the joint terms, each array of shape (k, n) for k terms.

    Parameters
    ----------
    prior : ndarray
        Values to start from: N m s/rad, N m, kg m^2 ...
    gain : ndarray
        Their entries on the diagonal of Gamma: squared unit of the value over J.
    least, largest : ndarray
        Range of the values.
    """

    prior: FloatArray
    gain: FloatArray
    least: FloatArray
    largest: FloatArray


def dual_matrix(weights: FloatArray) -> FloatArray:
    """Return the symmetric U with tr(U P) = weights . parameters for every P.

    Parameters
    ----------
    weights : ndarray, shape (10,)
        Weights of ``[m, mx, my, mz, Jxx, Jxy, Jxz, Jyy, Jyz, Jzz]``.

    Returns
    -------
    ndarray, shape (4, 4)
        From J = tr(Sigma) 1 - Sigma: Sigma_xx counts in Jyy and Jzz, Sigma_xy is -Jxy.
    """
    m, mx, my, mz, xx, xy, xz, yy, yz, zz = weights
    return 0.5 * np.array([[2.0 * (yy + zz), -xy, -xz, mx],
                           [-xy, 2.0 * (xx + zz), -yz, my],
                           [-xz, -yz, 2.0 * (xx + yy), mz],
                           [mx, my, mz, 2.0 * m]])


def weights_from_dual(dual: FloatArray) -> FloatArray:
    """Return the ten weights with weights . parameters = tr(U P): the way back.

    Parameters
    ----------
    dual : ndarray, shape (4, 4)
        U, symmetric.
    """
    x, y, z = dual[0, 0], dual[1, 1], dual[2, 2]
    return np.array([dual[3, 3], 2.0 * dual[0, 3], 2.0 * dual[1, 3], 2.0 * dual[2, 3],
                     0.5 * (y + z - x), -2.0 * dual[0, 1], -2.0 * dual[0, 2],
                     0.5 * (x + z - y), -2.0 * dual[1, 2], 0.5 * (x + y - z)])


class Estimates:
    """Estimates of bodies and joint terms, where they start, and their metric.

    Parameters
    ----------
    inertial : ndarray, shape (nb, 10)
        Inertial parameters to start from, of real bodies.
    bodies : BodyMetric
        Metric, gain and largest values of the bodies.
    terms : TermMetric
        The same for the joint terms.
    """

    def __init__(self, inertial: FloatArray, bodies: BodyMetric, terms: TermMetric):
        self.metric, self.term_metric = bodies, terms
        self.prior = np.concatenate([inertial.ravel(), np.ravel(terms.prior)])
        self.estimate = np.empty(self.prior.size)
        self.bodies = self.estimate[:inertial.size]
        self.terms = self.estimate[inertial.size:].reshape(terms.prior.shape)
        self._term_gains = np.ravel(terms.gain).astype(np.float64)
        self._term_ranges = np.stack([np.ravel(terms.least), np.ravel(terms.largest)])
        self._target = np.empty_like(self.estimate)

    def reset(self) -> None:
        """Forget what was learnt."""
        self.estimate[:] = self.prior

    def gain(self) -> FloatArray:
        """Return Gamma before any restriction, shape (10 nb + k n, 10 nb + k n)."""
        return metric_gain(self.metric, self.term_metric)

    def precision(self) -> FloatArray:
        """Return Gamma^-1 before any restriction, shape (10 nb + k n, 10 nb + k n)."""
        return metric_precision(self.metric, self.term_metric)


class Adaptation(Estimates):
    """The estimates and their law; memory without a clock.

    Parameters
    ----------
    prior : ndarray, shape (nb, 10)
        Inertial parameters to start from. Where no body can have them, the nearest
        that a body can have.
    bodies : BodyMetric
        Metric, gain and largest values of the bodies.
    terms : TermMetric
        The same for the joint terms.
    constraints : ndarray, shape (k, 10 nb + k n), optional
        Combinations that are known; nothing is where not given.
    keeps_bodies : bool
        Whether every body's estimate stays one that a body can have. Otherwise all stay
        within a ball about the prior that holds the largest payload.
    leakage : float
        sigma, rate of the return to the prior. 1/s.

    Attributes
    ----------
    prior : ndarray, shape (10 nb + k n,)
        Where the estimates start.
    estimate : ndarray, shape (10 nb + k n,)
        Every estimate, in the order of `Dynamics.parameter_names`.
    bodies : ndarray, shape (10 nb,)
        The part of it that belongs to the bodies.
    terms : ndarray, shape (k, n)
        The part of it that belongs to the joint terms.
    """

    def __init__(self, prior: FloatArray, bodies: BodyMetric, terms: TermMetric, *,
                 constraints: FloatArray | None = None, keeps_bodies: bool = True,
                 leakage: float = 0.0):
        inertial = project_to_consistent(prior)
        super().__init__(inertial, bodies, terms)
        self.leakage = leakage
        self._constants = body_constants(bodies)
        self.keeps_bodies = keeps_bodies
        self._radius = None if keeps_bodies else _radius(bodies, inertial)
        self._restriction = None if constraints is None or not len(constraints) \
            else Restriction(self.gain(), constraints)
        self._load_kernels()
        self.reset()

    def _load_kernels(self) -> None:
        """Load what this law needs, and nothing else: each takes seconds to compile."""
        if self._restriction is None:
            self._propose = adaptation_kernel.propose.load()
        else:
            self._propose_restricted = restriction_kernel.propose_restricted.load()
        if self._radius is not None:
            self._settle_in_ball = restriction_kernel.settle_in_ball.load()
        elif self._restriction is None:
            self._settle = adaptation_kernel.settle.load()
        else:
            self._settle_restricted = restriction_kernel.settle_restricted.load()

    def step(self, gradient: FloatArray, dt: float) -> StepOutcome:
        """Move the estimates along a gradient for a time, or refuse to.

        Parameters
        ----------
        gradient : ndarray, shape (10 nb + k n,)
            Yr^T s and what a composite law adds. W per unit of the parameter.
        dt : float
            Time. s.

        Returns
        -------
        StepOutcome
            Unless it is ``ACCEPTED`` the estimates are as they were.
        """
        if self._restriction is None:
            refused = self._propose(self.estimate, gradient, dt, self._constants,
                                    self._term_gains, self._target)
        else:
            refused = self._propose_restricted(self.estimate, gradient, dt, self._constants,
                                               self._restriction.gain, self._target)
        if not refused and self.leakage > 0.0:
            # Exact over the step: however fast it is, it does not lead beyond the prior.
            self._target -= math.expm1(-self.leakage * dt) * (self.prior - self.estimate)
        return _OUTCOMES[refused or self._settle_target()]

    def move_to(self, target: FloatArray) -> StepOutcome:
        """Move the estimates to the admissible ones that are nearest to others.

        Parameters
        ----------
        target : ndarray, shape (10 nb + k n,)
            The others, with what is known as it is.

        Returns
        -------
        StepOutcome
            Unless it is ``ACCEPTED`` the estimates are as they were.
        """
        self._target[:] = target
        return _OUTCOMES[self._settle_target()]

    def _settle_target(self) -> int:
        """Move the estimates to the admissible ones nearest to the target."""
        if self._radius is not None:
            return self._settle_in_ball(self._target, self._constants, self._term_ranges,
                                        self.prior, self._radius, self.estimate)
        if self._restriction is None:
            return self._settle(self._target, self._constants, self._term_ranges,
                                self.estimate)
        return self._settle_restricted(self._target, self._constants, self._term_ranges,
                                       self.prior, self._restriction.projection,
                                       self.estimate)

    def distance(self, bodies: FloatArray, terms: FloatArray) -> float:
        """Return half the squared distance in the metric of Gamma^-1: its share in V. J.

        Parameters
        ----------
        bodies : ndarray, shape (nb, 10)
            Other inertial parameters, e.g. the true ones.
        terms : ndarray, shape (k, n)
            Other values of the joint terms.
        """
        inverse = np.linalg.inv(np.linalg.cholesky(self.metric.matrices))
        difference = pseudo_inertia(bodies - self.bodies.reshape(-1, 10))
        coordinates = inverse @ difference @ np.swapaxes(inverse, -1, -2)
        return 0.5 * float(np.sum(coordinates**2) / self.metric.gain
                           + np.sum((terms - self.terms)**2 / self.term_metric.gain))


def metric_gain(bodies: BodyMetric, terms: TermMetric) -> FloatArray:
    """Return Gamma, shape (10 nb + k n, 10 nb + k n)."""
    count = 10 * len(bodies.matrices)
    matrix = np.diag(np.concatenate([np.zeros(count), terms.gain.ravel()]))
    for body, block in enumerate(bodies.gain_blocks()):
        part = slice(10 * body, 10 * body + 10)
        matrix[part, part] = block
    return matrix


def metric_precision(bodies: BodyMetric, terms: TermMetric) -> FloatArray:
    """Return Gamma^-1, shape (10 nb + k n, 10 nb + k n)."""
    count = 10 * len(bodies.matrices)
    matrix = np.diag(np.concatenate([np.zeros(count), 1.0 / terms.gain.ravel()]))
    for body, block in enumerate(bodies.gain_blocks()):
        part = slice(10 * body, 10 * body + 10)
        matrix[part, part] = np.linalg.inv(block)
    return matrix


def body_constants(metric: BodyMetric) -> FloatArray:
    """Return the constants of `adaptation_kernel.propose`, a row a body."""
    rows = []
    gains = metric.gain_blocks()
    for body, matrix in enumerate(metric.matrices):
        root = np.linalg.cholesky(matrix)
        trace = weights_from_dual(np.linalg.inv(matrix))
        mass = np.eye(10)[0]
        spread = 0.5 * (np.eye(10)[4] + np.eye(10)[7] + np.eye(10)[9])  # tr Sigma = tr J / 2
        ways = [gains[body] @ c / (c @ gains[body] @ c) for c in (mass, spread)]
        rows.append(np.concatenate([
            gains[body].ravel(), trace, [metric.gain], mass, spread,
            [metric.largest_mass[body], metric.largest_spread[body]], *ways,
            root.ravel(), np.linalg.inv(root).ravel(), parameters_from_pseudo_inertia(matrix)]))
    return np.array(rows)


def _radius(metric: BodyMetric, prior: FloatArray) -> float:
    """Return |X|_F of the largest masses and spreads beyond the prior, of all bodies."""
    P = pseudo_inertia(prior)
    mass = metric.largest_mass - P[:, 3, 3]
    spread = metric.largest_spread - np.trace(P[:, :3, :3], axis1=1, axis2=2)
    largest = np.zeros_like(P)
    largest[:, range(3), range(3)] = spread[:, None]
    largest[:, 3, 3] = mass
    inverse = np.linalg.inv(np.linalg.cholesky(metric.matrices))
    return float(np.linalg.norm(inverse @ largest @ np.swapaxes(inverse, -1, -2)))
