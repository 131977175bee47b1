# SPDX-License-Identifier: Apache-2.0
"""The natural adaptation law: on pseudo-inertia matrices, in the metric of the estimate.

The estimate of a body is its 4x4 pseudo-inertia P > 0. With y = Yr^T s and U(y) the
symmetric matrix for which tr(U P) = y . pi for every P, the law is::

    dP/dt = gamma P U(y) P

and with the Bregman divergence of -log det P from the truth,

    V = 1/2 s^T M s + (1/gamma) sum (log det P - log det P_true + tr(P^-1 P_true) - 4),

the derivative of V is that of the law of Slotine and Li. A step is taken by P+ = (L S)
(L S)^T with P = L L^T, A = dt gamma L^T U L and S = 1 + A/2 + A^2/8, which is L exp(A) L^T
to third order and positive definite whatever A is: an estimate is the pseudo-inertia of a
body at every step, and no projection is needed. Largest masses and second moments are
kept by projections in the same divergence, which do not let V grow.

The gain of the loop grows with the estimate, as P (x) P. gamma is chosen where the metric
matrix Q is (`robot_dynamics.control.adaptation.metric`). What is learnt may make the loop faster::

    w_s^2 = y . Gamma(P) y / (s^T M s),     y = Yr^T s

is its frequency in the direction of s, at most w_A. Where it is beyond a largest one the
step is shortened by the ratio of the squares, so that the loop stays within its stability
limit whatever is learnt.

References
----------
T. Lee, J. Kwon and F. C. Park, "A natural adaptive control law for robot manipulators",
IROS 2018, eqs. (14)-(18).
"""

from __future__ import annotations

import numpy as np

from robot_dynamics.control.adaptation import gradient_kernel as adaptation_kernel
from robot_dynamics.control.adaptation.gradient import (
    BodyMetric,
    Estimates,
    StepOutcome,
    TermMetric,
    body_constants,
)
from robot_dynamics.control.adaptation.natural_kernel import allowed_share, natural_step
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.inertia import (
    parameters_from_pseudo_inertia,
    project_to_consistent,
    pseudo_inertia,
)

#: Least part of Q in every prior, so that a thin body can be learnt to be thick.
LEAST_SHARE = 1e-6

_OUTCOMES = tuple(StepOutcome)


class NaturalAdaptation(Estimates):
    """The estimates and the natural law; memory without a clock.

    Parameters
    ----------
    prior : ndarray, shape (nb, 10)
        Inertial parameters to start from. Where no body can have them, the nearest
        that a body can have.
    bodies : BodyMetric
        Q, gain and largest values of the bodies.
    terms : TermMetric
        Gains and ranges of the joint terms.
    learnt : ndarray of bool, shape (nb,), optional
        Which bodies are not known.
    largest_frequency : float
        Frequency w_s of the loop beyond which steps are shortened. rad/s.

    Attributes
    ----------
    estimate, bodies, terms
        As those of `robot_dynamics.control.adaptation.gradient.Adaptation`.
    """

    #: Every body's estimate stays one that a body can have.
    keeps_bodies = True

    def __init__(self, prior: FloatArray, bodies: BodyMetric, terms: TermMetric, *,
                 learnt: FloatArray | None = None, largest_frequency: float = np.inf):
        learnt = np.ones(len(prior), dtype=bool) if learnt is None else np.asarray(learnt)
        P = pseudo_inertia(project_to_consistent(prior))
        P[learnt] += LEAST_SHARE * bodies.matrices[learnt]
        super().__init__(parameters_from_pseudo_inertia(P), bodies, terms)
        self._step, self._share = natural_step.load(), allowed_share.load()
        self._fastest = float(largest_frequency)
        self._constants = np.array([
            np.concatenate([[float(learnt[b]), bodies.gain],
                            np.full(3, bodies.largest_spread[b]), [bodies.largest_mass[b]],
                            matrix.ravel()])
            for b, matrix in enumerate(bodies.matrices)])
        self._settle, self._cone = adaptation_kernel.settle.load(), body_constants(bodies)
        self.reset()

    def share(self, gradient: FloatArray, s: FloatArray, mass_matrix: FloatArray) -> float:
        """Return by how much steps have to be shortened at this gradient: 1 for not at all.

        Parameters
        ----------
        gradient : ndarray, shape (10 nb + k n,)
            Yr^T s alone. W per unit of the parameter.
        s : ndarray, shape (n,)
            Sliding variable. rad/s or m/s.
        mass_matrix : ndarray, shape (n, n)
            M.
        """
        return self._share(self.estimate, gradient, s, mass_matrix, self._fastest,
                           self._constants, self._term_gains)

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
        return _OUTCOMES[self._step(self.estimate, gradient, dt, self._constants, self._term_gains,
                                    self._term_ranges, self._target)]

    def move_to(self, target: FloatArray) -> StepOutcome:
        """Move the estimates to the bodies that are nearest to others, in the metric of Q.

        Parameters
        ----------
        target : ndarray, shape (10 nb + k n,)
            The others, with the bodies that are known as they are.

        Returns
        -------
        StepOutcome
            Unless it is ``ACCEPTED`` the estimates are as they were.
        """
        self._target[:] = target
        return _OUTCOMES[self._settle(self._target, self._cone, self._term_ranges, self.estimate)]

    def distance(self, bodies: FloatArray, terms: FloatArray) -> float:
        """Return the divergence from other parameters over gamma: their share in V. J.

        Parameters
        ----------
        bodies : ndarray, shape (nb, 10)
            Other inertial parameters, e.g. the true ones, of bodies of positive mass.
        terms : ndarray, shape (k, n)
            Other values of the joint terms.
        """
        total = 0.5 * float(np.sum((terms - self.terms)**2 / self.term_metric.gain))
        for true, estimate in zip(pseudo_inertia(bodies),
                                  pseudo_inertia(self.bodies.reshape(-1, 10)), strict=True):
            ratio = np.linalg.solve(estimate, true)
            total += float(np.trace(ratio) - np.linalg.slogdet(ratio)[1] - 4.0) \
                / self.metric.gain
        return total
