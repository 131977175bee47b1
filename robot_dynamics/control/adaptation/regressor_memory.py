# SPDX-License-Identifier: Apache-2.0
"""Regressor memory (concurrent learning): least squares on past motion, in proximal steps.

The filtered regressors and efforts of the prediction error are summed with exponential forgetting
of time constant T::

    Omega = integral of exp(-(t - u)/T) Y_f^T W Y_f du,    b = the same of Y_f^T W tau_f

True parameters satisfy Omega pi = b. From time to time the estimate moves to the minimum of the
remembered prediction error plus the distance from the present estimate, in the metric of the
adaptation law::

    argmin over p of  1/2 (p - pi_true)^T Omega (p - pi_true) + 1/2 |p - pi|^2 (in Gamma^-1)
        =  pi + (Omega + Gamma^-1)^-1 (b - Omega pi)

A gradient follows the direction that the present sample excites. The memory covers a whole motion,
and its minimum also determines weakly excited directions, in which a gradient law is slow. The
proximal step in the metric of Gamma^-1 brings the estimate closer to parameters that explain the
memory, for any Omega: it does not increase V of the law and has no gain that could be too high.
Directions without excitation are unchanged.

When the arm picks up a payload, the memory no longer describes the arm. Each step is therefore
tested on recent samples first: if its parameters fit these far worse than the memory, the memory
is cleared and the step is rejected. The computation of a step is spread over many samples.

Least squares also fit noise: p parameters lower the squared error of N independent samples by p/N
of it. A step that lowers the remembered error by less is not taken. Estimates that are right then
do not follow noise, and without noise every step is taken.

References
----------
R. T. Rockafellar, "Monotone operators and the proximal point algorithm", SIAM Journal on Control
and Optimization 14(5), 1976, proposition 1.

G. Chowdhary and E. Johnson, "Concurrent learning for convergence in adaptive control without
persistency of excitation", CDC 2010: the use of remembered data.
"""

from __future__ import annotations

import math

import numpy as np

from robot_dynamics.dynamics.kernels.loading import kernel
from robot_dynamics.model.arrays import FloatArray

#: T. s.
MEMORY = 10.0

#: Time between two steps. s.
INTERVAL = 0.5

#: Cut-off of a second filter. Noise of velocities is amplified in accelerations, and least squares
#: with a noisy regressor underestimate the parameter. Hz.
CUTOFF = 5.0

#: Ratio of the present error to the remembered one, with the parameters that fit the memory best,
#: above which the arm is considered changed, for example by a payload.
CONTRADICTION = 6.0

#: Share of the power of the efforts below which an error is neglected.
NEGLIGIBLE = 1e-4

#: Number of recent samples that are compared with the memory.
RECENT = 10

#: Samples over which one regressor is added and over which a step is computed, and the largest
#: number of multiplications per sample: with many joints, steps are less frequent.
SAMPLES_TO_TAKE_IN = 5
SAMPLES_TO_WORK_OUT = 100
LARGEST_WORK = 20000


class RegressorMemory:
    """Fading sums of regressors and efforts, and the steps that follow.

    `precision`, shape (p, p), is Gamma^-1, the inverse of the gain of the adaptation law;
    `weights`, shape (n,), the diagonal of W. `contradictions` counts how often the memory was
    cleared because recent samples contradicted it.
    """

    def __init__(self, precision: FloatArray, weights: FloatArray):
        count, joints = len(precision), len(weights)
        self._precision = np.ascontiguousarray(precision)
        self._weights = np.array(weights)
        self._smooth, self._take_in = smooth.load(), take_in.load()
        self._factorise, self._minimise = factorise_rows.load(), minimise.load()
        self._error = mean_errors.load()
        self._rows_to_take_in = min(-(-(count + 1) // SAMPLES_TO_TAKE_IN),
                                    max(1, LARGEST_WORK // (joints * (count + 1))))
        self._work = min(count**3 // (6 * SAMPLES_TO_WORK_OUT) + 1, LARGEST_WORK)
        # Samples are regressors with the effort in the last column.
        self._smoothed = np.zeros((joints, count + 1))
        self._sample = np.zeros((joints, count + 1))
        self._recent = np.zeros((RECENT, joints, count + 1))
        # Integral of [Y_f, tau_f]^T W [Y_f, tau_f], on and above the diagonal.
        self._sums = np.zeros((count + 1, count + 1))
        # Omega + Gamma^-1 and b at the begin of a step; then its factor.
        self._factor = np.zeros((count, count + 1))
        self._target = np.zeros(count)
        self.contradictions = 0
        self.forget()

    def forget(self) -> None:
        """Clear the memory."""
        self._sums[:] = 0.0
        self._smoothed[:] = 0.0
        self._recent[:] = 0.0
        self._time = 0.0
        self._row = 0
        self._rows_factorised = -1
        self._since_sample = self._since_step = self._since_recent = 0.0
        self._next_recent = 0

    def observe(self, filtered: FloatArray, dt: float) -> bool:
        """Add a filtered regressor with the effort in its last column; whether a step is ready."""
        self._since_sample += dt
        self._since_step += dt
        self._since_recent += dt
        self._smooth(filtered, 1.0 - math.exp(-2.0 * math.pi * CUTOFF * dt), self._smoothed)
        if self._row == 0:
            self._begin_sample()
        self._row = self._take_in(self._sample, self._weights, self._span, self._fading,
                                  self._row, self._rows_to_take_in, self._sums)
        count = len(self._precision)
        if 0 <= self._rows_factorised < count:
            self._rows_factorised = self._factorise(self._factor, self._rows_factorised,
                                                    self._work)
        # Between two samples, where the sums are those of whole samples.
        if self._row == 0:
            if self._rows_factorised == count:
                self._rows_factorised = -1
                return True
            if self._since_step >= INTERVAL:
                self._begin_step()
        return False

    def target(self, estimate: FloatArray) -> FloatArray | None:
        """Target of the step that is ready, (Omega + Gamma^-1)^-1 (b + Gamma^-1 pi), shape (p,).

        A buffer of this object; None if noise explains the errors of the present estimate, or if
        recent samples contradict the memory, which is then cleared.
        """
        self._minimise(self._factor, self._precision, estimate, self._target)
        present, past, power = self._error(self._recent, self._weights, self._target, self._sums)
        if present > CONTRADICTION * (past + NEGLIGIBLE * power) / self._time:
            self.contradictions += 1
            self.forget()
            return None
        samples = self._time * 2.0 * CUTOFF * len(self._weights)
        _, now, _ = self._error(self._recent, self._weights, estimate, self._sums)
        if now <= past * (1.0 + len(estimate) / samples):
            return None
        return self._target

    def _begin_sample(self) -> None:
        """Begin to add the present smoothed sample."""
        self._sample[:] = self._smoothed
        self._span, self._since_sample = self._since_sample, 0.0
        self._fading = math.exp(-self._span / MEMORY)
        self._time = self._fading * self._time + self._span
        if self._since_recent >= INTERVAL / RECENT:
            self._recent[self._next_recent] = self._sample
            self._next_recent = (self._next_recent + 1) % RECENT
            self._since_recent = 0.0

    def _begin_step(self) -> None:
        """Begin a step with the present sums."""
        count = len(self._precision)
        self._factor[:] = self._sums[:count]
        self._factor[:, :count] += self._precision
        self._rows_factorised = 0
        self._since_step = 0.0


@kernel('void(f8[:, ::1], f8, f8[:, ::1])')
def smooth(sample, share, smoothed):
    """Low pass: move `smoothed` by a share of the way to a sample."""
    for i in range(sample.shape[0]):
        for k in range(sample.shape[1]):
            smoothed[i, k] += share * (sample[i, k] - smoothed[i, k])


@kernel('i8(f8[:, ::1], f8[::1], f8, f8, i8, i8, f8[:, ::1])')
def take_in(sample, weights, span, fading, row, rows, sums):
    """Add S^T W S over a time to some rows of the fading sums; return the next row.

    Only entries on and above the diagonal are kept.
    """
    count = sums.shape[0]
    end = min(row + rows, count)
    for i in range(row, end):
        for j in range(i, count):
            sums[i, j] *= fading
        for k in range(weights.size):
            factor = span * weights[k] * sample[k, i]
            if factor != 0.0:
                for j in range(i, count):
                    sums[i, j] += factor * sample[k, j]
    return end if end < count else 0


@kernel('i8(f8[:, ::1], i8, i8)')
def factorise_rows(matrix, row, work):
    """Continue A = U^T D^-1 U, row by row of U with D its diagonal, in place; return the next row.

    Only entries on and above the diagonal are read; about `work` multiplications are made. A is
    positive definite: the precision is, and the sums are positive semi-definite.
    """
    count = matrix.shape[0]
    done = 0
    while row < count and done < work:
        for k in range(row):
            factor = matrix[k, row] / matrix[k, k]
            if factor != 0.0:
                for j in range(row, count):
                    matrix[row, j] -= factor * matrix[k, j]
        done += row * (count - row)
        row += 1
    return row


@kernel('void(f8[:, ::1], f8[:, ::1], f8[::1], f8[::1])')
def minimise(factor, precision, estimate, target):
    """Solve U^T D^-1 U target = b + Gamma^-1 pi, with b in the last column of the factor."""
    count = estimate.size
    for i in range(count):
        total = factor[i, count]
        for j in range(count):
            total += precision[i, j] * estimate[j]
        target[i] = total
    for i in range(count):
        share = target[i] / factor[i, i]
        for j in range(i + 1, count):
            target[j] -= factor[i, j] * share
    for i in range(count - 1, -1, -1):
        total = target[i]
        for j in range(i + 1, count):
            total -= factor[i, j] * target[j]
        target[i] = total / factor[i, i]


@kernel('UniTuple(f8, 3)(f8[:, :, ::1], f8[::1], f8[::1], f8[:, ::1])')
def mean_errors(recent, weights, estimate, sums):
    """Squared errors tau - Y pi, weighted by W.

    The mean over recent samples, the sum over the memory, and the sum of tau^T W tau.
    """
    last = estimate.size
    present = 0.0
    for r in range(recent.shape[0]):
        for i in range(weights.size):
            error = recent[r, i, last]
            for k in range(last):
                error -= recent[r, i, k] * estimate[k]
            present += weights[i] * error * error
    power = sums[last, last]
    past = power
    for i in range(last):
        total = 0.5 * sums[i, i] * estimate[i] - sums[i, last]
        for j in range(i + 1, last):
            total += sums[i, j] * estimate[j]
        past += 2.0 * total * estimate[i]
    return present / recent.shape[0], max(past, 0.0), power
