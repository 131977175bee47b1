# SPDX-License-Identifier: Apache-2.0
"""Isolation of the joint that best explains the motion since the beginning of a fault."""

from __future__ import annotations

import math

import numpy as np

from robot_dynamics.control.faults.load_estimator import LoadEstimator
from robot_dynamics.control.faults.motion_predictor import (
    ACTING,
    CORRECTED,
    HOLDING,
    MEASURED,
    PREDICTED,
    REMAINDER,
    MotionPredictor,
)
from robot_dynamics.control.faults.tolerances import Tolerances
from robot_dynamics.dynamics.kernels.loading import kernel, routine
from robot_dynamics.dynamics.kernels.solve import SOLVED, factorise, substitute

#: Largest motion of a joint between two states for which the mean of the efforts at both ends is a
#: valid approximation. rad or m.
FARTHEST = 0.05
#: Time in which dry friction stops a reversing joint; until then its direction is unknown. s.
STOPPING = 0.01
#: Deviation from the prediction, in standard deviations of velocity noise, above which the
#: predicted friction of a joint is invalid.
THROWN = 3.0
#: Standard deviation of the mean over an interval in which the value changes once at an unknown
#: time, as a share of the change (a uniform distribution).
BETWEEN = 1.0 / math.sqrt(12.0)
#: Rows of the sums: known impulse, spread of changes between states, elapsed time (first entry),
#: dry and viscous friction at the last state; and work vectors, the last of them zero.
IMPULSE, BETWEEN_STATES, ELAPSED, FRICTION, NOW, EXCESS, SOLUTION, UNIT, NONE = range(9)
SUMS = 9


class FaultIsolator:
    r"""Residual of a change of momentum, for a fault of each joint.

    Between the state before a fault and any later one, with measured values,

    .. math:: f = M v - M_0 v_0 - \int (\tau + C^T v - g - \text{friction}) \, dt

    is the impulse of external efforts. A fault of the actuator of joint i changes only f_i. The
    remainder is noise and uncertainty: efforts missing in the model, the time of a change between
    two states, and the friction of joints that reverse unexpectedly. A fault of joint i moves
    joint j by h_ji / h_ii times as much as joint i (h the inverse of M); if that is negligible,
    the friction of joint j is as predicted. Each suspect joint therefore has its own covariance
    R_i. With a fault of joint i,

    .. math:: f^T R_i^{-1} f - (R_i^{-1} f)_i^2 / (R_i^{-1})_{ii}

    remains unexplained, and is summed over the states since the alarm. A payload of the last link
    is compared too: its efforts are part of the covariance, instead of those of a joint. As in De
    Luca and Mattone, faults are isolated by the momentum; as in Willsky and Jones, they are
    weighted by likelihood, with free efforts of the fault.

    Parameters
    ----------
    predictor : MotionPredictor
        Source of the motion.
    load : LoadEstimator, optional
        Source of the efforts of a payload; none by default.

    References
    ----------
    A. De Luca and R. Mattone, "Actuator failure detection and isolation using generalized
    momenta", ICRA 2003. A. S. Willsky and H. L. Jones, "A generalized likelihood ratio approach to
    the detection and estimation of jumps in linear systems", IEEE Transactions on Automatic
    Control 21, 1976.
    """

    def __init__(self, predictor: MotionPredictor, load: LoadEstimator | None = None):
        n, motion_filter = predictor.velocity.size, predictor.filter
        self._predictor, self._load, self._no_load = predictor, load, np.zeros((n, 4))
        size = int(motion_filter.lengths[-1]) + 1
        self._inertias, self._motions = np.zeros((size, n, n)), np.zeros((size, 6, n))
        self._steps = np.zeros(size)
        self._newest, self._count = -1, 0
        self._anchor, self._thrown = np.zeros((n + 1, n)), np.zeros((2, n, n))
        self._sums = np.zeros((SUMS, n))
        # With a fault of each joint, without a fault, with a payload.
        self._left, self._work = np.zeros(n + 2), np.zeros((4, n, n))
        self._states, self._goes_on = 0, False
        self._compare = compare.load()

    @property
    def joint(self) -> int:
        """Joint with the least residual."""
        return int(self._left[:-2].argmin())

    @property
    def left(self) -> float:
        """Residual of that joint, per state and healthy joint, in variances."""
        n = self._left.size - 2
        return float(self._left[:-2].min() / max(self._states * (n - 1), 1))

    @property
    def share(self) -> float:
        """Residual of that joint as a share of the whole."""
        return float(self._left[:-2].min() / max(self._left[-2], np.finfo(float).tiny))

    @property
    def lead(self) -> float:
        """Difference to the residual of the second-best joint, per state."""
        if self._left.size == 3:
            return np.inf
        best, second = np.partition(self._left[:-2], 1)[:2]
        return float((second - best) / max(self._states, 1))

    @property
    def lead_of_load(self) -> float:
        """Difference of the residual with a payload to that of the best joint, per state."""
        return float((self._left[-1] - self._left[:-2].min()) / max(self._states, 1))

    def remember(self) -> None:
        """Store the last state of the predictor."""
        predictor = self._predictor
        self._newest = (self._newest + 1) % len(self._steps)
        self._inertias[self._newest] = predictor.inertia
        self._motions[self._newest] = predictor.motion
        self._steps[self._newest] = predictor.step
        self._count = min(self._count + 1, len(self._steps))

    def begin(self, states: int, tolerances: Tolerances) -> None:
        """Assume that a fault began a number of states ago, and weigh the last state."""
        for part in (self._left, self._sums, self._thrown):
            part[:] = 0.0
        self._states, self._goes_on = 0, True
        self._weigh(min(states, self._count - 1), tolerances)

    def go_on(self, tolerances: Tolerances) -> None:
        """Weigh the last state as well.

        After a gap, or a motion beyond `FARTHEST`, no further states are weighed, and the previous
        residuals are used.
        """
        predictor = self._predictor
        farthest = np.abs(predictor.motion[MEASURED]).max() * predictor.step
        self._goes_on = self._goes_on and bool(farthest <= FARTHEST)
        if self._goes_on:
            self._weigh(1, tolerances)

    def reset(self) -> None:
        """Note a gap."""
        self._count, self._goes_on = 0, False

    def _weigh(self, count: int, tolerances: Tolerances) -> None:
        predictor, motion_filter = self._predictor, self._predictor.filter
        # Spread of the shortest window, which is mostly noise of velocities.
        noise = motion_filter.settings.velocity_noise * tolerances.noise[0] \
            / motion_filter.noise[0]
        elapsed = self._sums[ELAPSED, 0] / motion_filter.period + count
        window = min(int(np.searchsorted(motion_filter.lengths, elapsed)),
                     len(motion_filter.lengths) - 1)
        if count > 0 and self._compare(
                self._inertias, self._motions, self._steps, self._newest, count,
                predictor.friction, noise, motion_filter.corrected,
                tolerances.effort[0, window],
                self._no_load if self._load is None else self._load.spread, self._anchor,
                self._sums, self._thrown, self._left, self._work):
            self._states += 1
        else:
            self._goes_on = False


@routine
def friction_at(inertia, motion, friction, noise, work, known, unknown):
    """Write the known friction at a state, and its spread for each suspect.

    With a fault of joint i, joint j would deviate from its prediction by h_ji / h_ii times as much
    as joint i, with h the inverse of the inertia. Its friction differs from the predicted one only
    by that deviation, and only at speeds so low that it may have reversed. Returns whether the
    inertia is invertible.
    """
    n = noise.size
    factor, inverse = work[0], work[1]
    for i in range(n):
        for j in range(n):
            factor[i, j] = inertia[i, j]
            inverse[i, j] = 1.0 if i == j else 0.0
    if factorise(factor) != SOLVED:
        return False
    for i in range(n):
        substitute(factor, inverse[i])
    for j in range(n):
        dry = friction[1, j]
        slow = math.sqrt(noise[j] ** 2 + (dry * STOPPING / inertia[j, j]) ** 2)
        direction = math.erf(motion[MEASURED, j] / (math.sqrt(2.0) * slow))
        change = direction - math.erf(motion[PREDICTED, j] / (math.sqrt(2.0) * slow))
        known[j] = motion[HOLDING, j] - dry * change - friction[0, j] * motion[MEASURED, j]
        free = dry * math.sqrt(max(1.0 - direction * direction, 0.0))
        for i in range(n):
            off = inverse[i, j] / inverse[i, i] \
                * (motion[MEASURED, i] - motion[PREDICTED, i]) / (THROWN * noise[j])
            unknown[i, j] = free * (1.0 - math.exp(-0.5 * off * off))
    return True


@routine
def left_unexplained(covariance, more, more_of, suspect, f, R, solved, unit):
    """Residual of f with a fault of one joint, squared in standard deviations.

    f^T R^-1 f - (R^-1 f)_i^2 / (R^-1)_ii with R the covariance and the squares of more + more_of
    on its diagonal; all of f^T R^-1 f without a suspect (-1). Negative if R is singular.
    """
    n = f.size
    for i in range(n):
        for j in range(i + 1):
            R[i, j] = covariance[i, j]
        R[i, i] += (more[i] + more_of[i]) ** 2
        solved[i], unit[i] = f[i], 1.0 if i == suspect else 0.0
    if factorise(R) != SOLVED:
        return -1.0
    substitute(R, solved)
    total = 0.0
    for i in range(n):
        total += f[i] * solved[i]
    if suspect >= 0:
        substitute(R, unit)
        total -= solved[suspect] ** 2 / unit[suspect]
    return max(total, 0.0)


@kernel('b1(f8[:, :, ::1], f8[:, :, ::1], f8[::1], i8, i8, f8[:, ::1], f8[::1], f8, f8[::1], '
        'f8[:, ::1], f8[:, ::1], f8[:, ::1], f8[:, :, ::1], f8[::1], f8[:, :, ::1])')
def compare(inertias, motions, steps, newest, count, friction, noise, start, effort, load,
            anchor, sums, thrown, left, work):
    """Add the last states, and weigh the residual of a fault of each joint at the newest one.

    `count` of the states in the ring (inertias, motions, steps) up to row `newest` are added.
    `start` is the standard deviation of the velocity at the beginning, as a share of that of a
    measured one (`noise`), `effort` that of unknown efforts, `load` (n, 4) those of a payload.
    `anchor` (n + 1, n) holds inertia and
    momentum before the fault, `sums` the rows above, `thrown` (2, n, n) the spread of friction by
    suspect and joint. `left` (n + 2,) grows by the residual with each joint faulty, without a
    fault, and with a payload. Returns whether the newest state could be weighed.
    """
    n, size = noise.size, inertias.shape[0]
    unknown, covariance, known, f = work[2], work[3], sums[NOW], sums[EXCESS]
    if not sums[ELAPSED, 0] > 0.0:
        row = (newest - count) % size
        for i in range(n):
            anchor[n, i] = 0.0
            for j in range(n):
                anchor[i, j] = inertias[row, i, j]
                anchor[n, i] += anchor[i, j] * motions[row, CORRECTED, j]
        if not friction_at(inertias[row], motions[row], friction, noise, work, sums[FRICTION],
                           thrown[1]):
            return False
    for back in range(count - 1, -1, -1):
        row = (newest - back) % size
        before = (row - 1) % size
        if not friction_at(inertias[row], motions[row], friction, noise, work, known, unknown):
            return False
        half = 0.5 * steps[row]
        sums[ELAPSED, 0] += steps[row]
        for j in range(n):
            acting = motions[row, ACTING, j], motions[before, ACTING, j]
            rest = motions[row, REMAINDER, j], motions[before, REMAINDER, j]
            sums[IMPULSE, j] += half * (acting[0] + acting[1] + rest[0] + rest[1] + known[j]
                                        + sums[FRICTION, j])
            sums[BETWEEN_STATES, j] += BETWEEN * steps[row] * (
                abs(acting[0] - acting[1]) + abs(rest[0] - rest[1])
                + abs(known[j] - sums[FRICTION, j]))
            sums[FRICTION, j] = known[j]
            for i in range(n):
                thrown[0, i, j] += half * (unknown[i, j] + thrown[1, i, j])
                thrown[1, i, j] = unknown[i, j]
    M = inertias[newest]
    for i in range(n):
        f[i] = -anchor[n, i] - sums[IMPULSE, i]
        for j in range(n):
            f[i] += M[i, j] * motions[newest, MEASURED, j]
        for j in range(i + 1):
            total = 0.0
            for k in range(n):
                total += (M[i, k] * M[j, k] + start * start * anchor[i, k] * anchor[j, k]) \
                    * noise[k] * noise[k]
            covariance[i, j] = total
        covariance[i, i] += (effort[i] * sums[ELAPSED, 0]) ** 2
    for suspect in range(n + 2):
        is_joint = suspect < n
        if suspect == n + 1:
            for i in range(n):
                for j in range(i + 1):
                    for k in range(load.shape[1]):
                        covariance[i, j] += load[i, k] * load[j, k] * sums[ELAPSED, 0] ** 2
        rest_of = left_unexplained(
            covariance, sums[BETWEEN_STATES], thrown[0, suspect] if is_joint else sums[NONE],
            suspect if is_joint else -1, f, work[0], sums[SOLUTION], sums[UNIT])
        if not (rest_of >= 0.0 and math.isfinite(rest_of)):
            return False
        left[suspect] += rest_of
    return True
