# SPDX-License-Identifier: Apache-2.0
"""The adaptation law: a gradient in the metric of the prior, kept physical.

Each body's estimate is its 4x4 pseudo-inertia P (see
`robot_dynamics.model.consistency`). Its size is measured against a fixed metric
matrix Q = L L^T > 0, the pseudo-inertia of what is thought possible for that
body: coordinates X = L^-1 P L^-T, distance ``|dX|_F``. Parameters of a heavy and
of a light link, masses and inertias, become comparable, whatever units and
frames they are in. With y = Yr^T s the gradient of a body and U(y) the symmetric
matrix for which tr(U P) = y . pi for every P::

    dX/dt = gamma L^T U(y) L        (dP/dt = gamma Q U Q)

which is the gradient law dpi/dt = Gamma Yr^T s with Gamma constant and positive
definite, so that V = 1/2 s^T M s + |X - X_true|_F^2 / (2 gamma) does not grow.

The estimate is then moved to the nearest point, in the same metric, of convex sets
that hold the true parameters: P >= 0 (a body of positive mass can have them), a
largest mass and a largest spread of mass. A projection on a convex set brings the
estimate closer to every point of it, so V does not grow by it either.

Friction coefficients and other joint terms follow the same law with a diagonal gain,
between a least and a largest value.

References
----------
J.-J. E. Slotine and W. Li, "On the adaptive control of robot manipulators",
International Journal of Robotics Research 6(3), 1987, eq. (12).

T. Lee, J. Kwon and F. C. Park, "A natural adaptive control law for robot
manipulators", IROS 2018, eqs. (14)-(18): the pseudo-inertia as coordinates; here
the metric is constant, so that the gain of the loop does not grow with the estimate.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from robot_dynamics.control.adaptation_kernel import adaptation_step
from robot_dynamics.model.consistency import (
    parameters_from_pseudo_inertia,
    project_to_consistent,
    pseudo_inertia,
)
from robot_dynamics.model.robot import FloatArray


class StepOutcome(IntEnum):
    """What became of one adaptation step."""

    ACCEPTED = 0
    NOT_FINITE = 1
    TOO_LARGE = 2


@dataclass(frozen=True, eq=False)
class BodyMetric:
    """The metric of the bodies' estimates and how far these may go.

    Parameters
    ----------
    matrices : ndarray, shape (nb, 4, 4)
        Q of each body, positive definite. kg m^2, kg m, kg.
    gain : float
        gamma. 1/J, with X dimensionless and y . pi a power.
    largest_mass : ndarray, shape (nb,)
        Largest mass. kg.
    largest_spread : ndarray, shape (nb,)
        Largest tr Sigma, the integral of the squared distance from the frame
        origin over the mass. kg m^2.
    """

    matrices: FloatArray
    gain: float
    largest_mass: FloatArray
    largest_spread: FloatArray

    def gain_blocks(self) -> FloatArray:
        """Return Gamma of each body in the ten parameters, shape (nb, 10, 10).

        Column k of a block is the step gamma Q U(e_k) Q as parameters.
        """
        units = np.array([dual_matrix(unit) for unit in np.eye(10)])
        steps = np.einsum('bij,kjl,blm->bkim', self.matrices, units, self.matrices)
        return self.gain * np.swapaxes(parameters_from_pseudo_inertia(steps), -1, -2)


def dual_matrix(gradient: FloatArray) -> FloatArray:
    """Return the symmetric U with tr(U P) = gradient . parameters for every P.

    Parameters
    ----------
    gradient : ndarray, shape (10,)
        Weights of ``[m, mx, my, mz, Jxx, Jxy, Jxz, Jyy, Jyz, Jzz]``.

    Returns
    -------
    ndarray, shape (4, 4)
        From J = tr(Sigma) 1 - Sigma: the weight of Sigma_xx is that of Jyy and Jzz
        together, the weight of Sigma_xy is minus that of Jxy.
    """
    m, mx, my, mz, xx, xy, xz, yy, yz, zz = gradient
    return 0.5 * np.array([[2.0 * (yy + zz), -xy, -xz, mx],
                           [-xy, 2.0 * (xx + zz), -yz, my],
                           [-xz, -yz, 2.0 * (xx + yy), mz],
                           [mx, my, mz, 2.0 * m]])


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


class Adaptation:
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

    Attributes
    ----------
    estimate : ndarray, shape (10 nb + k n,)
        Every estimate, in the order of `Dynamics.parameter_names`.
    bodies : ndarray, shape (10 nb,)
        The part of it that belongs to the bodies.
    terms : ndarray, shape (k, n)
        The part of it that belongs to the joint terms.
    """

    def __init__(self, prior: FloatArray, bodies: BodyMetric, terms: TermMetric):
        self.metric = bodies
        self.term_metric = terms
        self._kernel = adaptation_step.load()
        self._prior = project_to_consistent(prior)
        self._roots = np.linalg.cholesky(bodies.matrices)
        count = self._prior.size
        self.estimate = np.empty(count + terms.prior.size)
        self.bodies = self.estimate[:count]
        self.terms = self.estimate[count:].reshape(terms.prior.shape)
        self._coordinates = np.empty((len(self._prior), 4, 4))
        self._trial = np.empty_like(self._coordinates)
        self.reset()

    def reset(self) -> None:
        """Forget what was learnt."""
        self._coordinates[:] = self._coordinates_of(self._prior)
        self.bodies[:] = self._prior.ravel()
        self.terms[:] = self.term_metric.prior

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
        bodies, terms = self.metric, self.term_metric
        return StepOutcome(self._kernel(
            self._coordinates, self._trial, self._roots, gradient, dt * bodies.gain,
            bodies.largest_mass, bodies.largest_spread, self.estimate, self.terms,
            terms.gain, dt, terms.least, terms.largest))

    def distance(self, bodies: FloatArray, terms: FloatArray) -> float:
        """Return |pi - estimate|^2 / 2 in the metric of Gamma^-1: its share in V. J.

        Parameters
        ----------
        bodies : ndarray, shape (nb, 10)
            Other inertial parameters, e.g. the true ones.
        terms : ndarray, shape (k, n)
            Other values of the joint terms.
        """
        coordinates = self._coordinates_of(bodies) - self._coordinates
        difference = terms - self.terms
        return 0.5 * float(np.sum(coordinates**2) / self.metric.gain
                           + np.sum(difference**2 / self.term_metric.gain))

    def _coordinates_of(self, bodies: FloatArray) -> FloatArray:
        """Return X = L^-1 P L^-T of each body."""
        inverse = np.linalg.inv(self._roots)
        return inverse @ pseudo_inertia(bodies) @ np.swapaxes(inverse, -1, -2)
