# SPDX-License-Identifier: Apache-2.0
"""Update of the estimates of the adaptive law, and the rules that freeze them.

The update law (`robot_dynamics.control.feedback.gains`) combines the gradient Yr^T s of the
tracking error, the prediction error of recent samples and the memory of past motion. The estimates
do not change if the caller disables adaptation, if a time step is too long, if errors are
implausible, or while the arm is at rest. A step that is not finite or implausibly large is
rejected, and freezes the estimates until they are released. For `PATIENCE` after a step of the
reference, large steps are rejected without that: errors become plausible again.

*Prediction error.* The mean acceleration over a sampling interval follows from two velocities.
Y_m is the regressor at the middle of the interval and tau the effort that acted during it. Both
pass the same first-order low-pass filter, so that true parameters satisfy tau_f = Y_f pi. The
gradient of the weighted squared error, which can only lower V, is added to Yr^T s::

    Y_f^T W (tau_f - Y_f pi)        W = diag(w / (omega_D M_ii))

*Velocity filter.* Least squares with a noisy regressor underestimate a parameter. In addition, the
feedback responds to velocity noise with efforts of K_D times the noise, which look like friction
or inertia. The desired velocity has no noise and differs from the true one by the tracking error
only. With e = v - v_d of each joint the filter is therefore::

    v_filtered = v_d + g e,      g = max(0, 1 - c sigma^2 / mean e^2)

For c = 1 this is the gain of least mean square error if e contains independent noise of variance
sigma^2. The variance follows from second differences, to which the motion itself contributes
little within three samples::

    6 sigma^2 = mean (v_k - 2 v_{k-1} + v_{k-2})^2

for samples at equal intervals. Means decay with a time constant. Without noise, or with errors far
above the noise, v_filtered is the measured velocity.

*Dead zone.* The noise of s is that of the velocities. Under laws with the velocity filter, the
gradient Yr^T s is therefore scaled by ``max(0, 1 - z / |s|)`` with ``z^2 = c sum sigma^2``, so
that an s within the noise moves no estimate.

References
----------
J.-J. E. Slotine and W. Li, "Composite adaptive control of robot manipulators", Automatica 25(4),
1989, eqs. (16)-(20).

N. Wiener, "Extrapolation, Interpolation, and Smoothing of Stationary Time Series", MIT Press,
1949, chapter 3.

N. Sadegh and R. Horowitz, "Stability and robustness analysis of a class of adaptive controllers
for robotic manipulators", International Journal of Robotics Research 9(3), 1990: regressors of the
desired motion.
"""

from __future__ import annotations

import math

import numpy as np

from robot_dynamics.control.adaptation.gradient import Adaptation, StepOutcome
from robot_dynamics.control.adaptation.natural_adaptation import NaturalAdaptation
from robot_dynamics.control.adaptation.partial_knowledge import unknown_directions
from robot_dynamics.control.adaptation.regressor_memory import RegressorMemory
from robot_dynamics.control.feedback.gains import AdaptationGains
from robot_dynamics.control.feedback.linear_feedback import LinearFeedback
from robot_dynamics.control.feedback.typical_motions import effective_inertias, typical_motions
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.dynamics.kernels.loading import kernel, part
from robot_dynamics.model.arrays import FloatArray

#: Reason for frozen estimates of an arm at rest.
AT_REST = 'the arm is at rest'
_REFUSALS = {
    StepOutcome.NOT_FINITE: 'a step of the estimates was not finite',
    StepOutcome.TOO_LARGE: 'a step of the estimates was implausibly large',
}
#: Time constant of the means. s.
FADING = 0.5
#: c, above 1 because both means are estimates: errors within the noise count as zero.
MARGIN = 1.5
# Rows of what is kept of each joint.
LAST, BEFORE, NOISE, ERROR = range(4)
#: Change of a position error from one sample to the next that is a step of the reference, rad or
#: m; and the time for which large steps of the estimates are its consequence. s.
REFERENCE_STEP, PATIENCE = 0.1, 0.5
#: Desired speed below which the arm counts as at rest. rad/s or m/s.
STILL = 1e-4


class Learning:
    """Update of the estimates, or the reason why they do not change.

    `constraints`, shape (k, p), are the known combinations, `rotors`, shape (n,), known rotor
    inertias, kg m^2 or kg. `frozen_reason` is the reason why the last update did not adapt
    although that was allowed, empty if it did; `is_latched` is True while a rejected step keeps
    the estimates frozen until `release`. `rate` is the present gain over that of `gains`.
    """

    def __init__(self, dynamics: Dynamics, adaptation: Adaptation | NaturalAdaptation,
                 feedback: LinearFeedback, gains: AdaptationGains, constraints: FloatArray,
                 rotors: FloatArray):
        self.adaptation, self.gains = adaptation, gains
        # None for the gradient law: its steps are not shortened.
        self._natural = adaptation if isinstance(adaptation, NaturalAdaptation) else None
        self._has_dead_zone = gains.parts.has_dead_zone
        self._feedback = feedback
        self._weight = gains.composite_weight / feedback.gains.bandwidth
        self.prediction = PredictionError(dynamics, gains.terms, gains.composite_cutoff, rotors)
        self._velocity = VelocityFilter(dynamics.n)
        self.memory: _Memory | None = None
        if gains.parts.remembers and self._weight > 0.0:
            inertias = effective_inertias(dynamics, typical_motions(dynamics.robot))
            self.memory = _Memory(adaptation, self._weight / inertias, constraints)
        self._rest = RestDetector(gains.rest_after, gains.rest_sliding)
        self.rate, self._wanted_rate, self._pace = 1.0, 1.0, 0.0
        self.frozen_reason = ''
        self.is_latched = False
        self._error, self._patience = np.zeros(self._feedback.e.size), 0.0

    def reset(self) -> None:
        """Reset filters and finite differences; keep the estimates."""
        self.prediction.reset()
        self._velocity.reset()
        self._rest.reset()

    def forget(self) -> None:
        """Return to the prior and let the estimates change again."""
        self.adaptation.reset()
        if self.memory is not None:
            self.memory.forget()
        self.reset()
        self.release()

    def release(self) -> None:
        """Let the estimates change again after a rejected step."""
        self.is_latched = False
        self.frozen_reason = ''

    def change_rate(self, rate: float, seconds: float) -> None:
        """Begin a change of the gain to a multiple of that of `gains`, over a time, s."""
        self._wanted_rate, self._pace = rate, abs(rate - self.rate) / seconds

    def advance(self, dt: float) -> None:
        """Continue a change of the gain for a time, s."""
        step = self._pace * max(dt, 0.0)
        self.rate += min(max(self._wanted_rate - self.rate, -step), step)

    def learn(self, q: FloatArray, v: FloatArray, v_d: FloatArray, effort: FloatArray,
              dt: float, gradient: FloatArray, *, adapt: bool) -> None:
        """Add the last interval, and move the estimates where allowed.

        q, v and v_d are state and desired velocity at its end, `effort` acted during it; the
        gradient Yr^T s is changed.
        """
        gains = self.gains
        stepped = np.abs(self._feedback.e - self._error).max() > REFERENCE_STEP
        self._error[:] = self._feedback.e
        self._patience = PATIENCE if stepped else max(self._patience - dt, 0.0)
        if not 0.0 < dt <= gains.longest_step:
            self.prediction.skip(v)
            self._velocity.skip()
            if adapt and not self.is_latched:
                self.frozen_reason = 'the time step is too long' if dt > 0.0 else ''
            return
        if self._weight > 0.0:
            self.prediction.observe(q, self._velocity.observe(v, v_d, dt), effort, dt)
        if not adapt or self.is_latched:
            self._rest.reset()
            return
        if self._feedback.largest_s > gains.largest_sliding:
            self.frozen_reason = 'the tracking error is implausibly large'
            return
        if self._rest.observe(v_d, self._feedback.largest_s, dt):
            self.frozen_reason = AT_REST
            return
        outcome = self._move(gradient, dt)
        self.frozen_reason = _REFUSALS.get(outcome, '')
        self.is_latched = outcome is StepOutcome.NOT_FINITE or (
            outcome is not StepOutcome.ACCEPTED and self._patience == 0.0)

    def _move(self, gradient: FloatArray, dt: float) -> StepOutcome:
        """Move the estimates along the gradients, and to the target of the memory."""
        feedback = self._feedback
        zone = max(self._velocity.noise, self.gains.dead_zone if self._has_dead_zone else 0.0)
        if zone > 0.0:
            gradient *= _beyond(feedback.s, zone)
        share = self.rate
        if self._natural is not None:
            # The loop has `rate` times the power that the law computes for the gain of `gains`.
            share *= self._natural.share(gradient, feedback.s / math.sqrt(self.rate),
                                         feedback.mass_matrix)
        if self._weight > 0.0:
            self.prediction.add_gradient(self.adaptation.estimate, self._weight,
                                         feedback.mass_matrix, gradient)
        outcome = self.adaptation.step(gradient, share * dt)
        if outcome is StepOutcome.ACCEPTED and self.memory is not None:
            return self.memory.move(self.prediction.filtered, dt)
        return outcome


class _Memory:
    """The regressor memory in the coordinates that are learnt."""

    def __init__(self, adaptation: Adaptation | NaturalAdaptation, weights: FloatArray,
                 constraints: FloatArray):
        self._adaptation = adaptation
        precision = adaptation.precision()
        self._directions: FloatArray | None = None
        if len(constraints):
            # Orthonormal columns: N^T is a left inverse.
            self._directions = N = unknown_directions(constraints)
            precision = np.ascontiguousarray(N.T @ precision @ N)
            # [Y, tau] -> [Y N, tau - Y pi_0]
            self._to_unknown = np.zeros((len(N) + 1, N.shape[1] + 1))
            self._to_unknown[:-1, :-1], self._to_unknown[:-1, -1] = N, -adaptation.prior
            self._to_unknown[-1, -1] = 1.0
            self._sample = np.zeros((len(weights), N.shape[1] + 1))
        self._memory = RegressorMemory(precision, weights)

    def forget(self) -> None:
        """Clear the memory."""
        self._memory.forget()

    def move(self, filtered: FloatArray, dt: float) -> StepOutcome:
        """Add a sample; move the estimates when a step is ready."""
        adaptation, N = self._adaptation, self._directions
        if N is not None:
            filtered = np.dot(filtered, self._to_unknown, out=self._sample)
        if not self._memory.observe(filtered, dt):
            return StepOutcome.ACCEPTED
        target = self._memory.target(
            adaptation.estimate if N is None else N.T @ (adaptation.estimate - adaptation.prior))
        if target is None:
            return StepOutcome.ACCEPTED
        return adaptation.move_to(target if N is None else adaptation.prior + N @ target)


def _beyond(s: FloatArray, zone: float) -> float:
    """Share of s outside the dead zone: it grows continuously from zero."""
    length = float(np.sqrt(s @ s))
    return max(0.0, 1.0 - zone / length) if length > 0.0 else 0.0


class PredictionError:
    """Filtered regressor and effort, and the gradient of the prediction error.

    `cutoff` is that of the filter, Hz. The effort of known rotor inertias, kg m^2 or kg, is not an
    error. `filtered`, shape (n, p + 1), is Y_f and, in the last column, tau_f. `known`, shape
    (p,), overwritten in place, has known parameters on top of the estimates, such as those of a
    payload: their effort is subtracted from tau before the filter.
    """

    def __init__(self, dynamics: Dynamics, terms: tuple[str, ...], cutoff: float,
                 known_rotors: FloatArray):
        self._dynamics = dynamics
        self._terms = terms
        self._rate = 2.0 * math.pi * cutoff
        self._rotors = np.array(known_rotors)
        self._describe = describe_interval.load()
        self._filter = filter_interval.load()
        self._add = add_prediction_error.load()
        columns = len(dynamics.column_names(terms))
        self.filtered = np.zeros((dynamics.n, columns + 1))
        self.known = np.zeros(columns)
        # Middle of the last interval: q, v, a; then the velocity at its end.
        self._motion = np.zeros((4, dynamics.n))
        self._middle = (self._motion[0], self._motion[1], self._motion[2])
        self._is_first = True

    def reset(self) -> None:
        """Forget the last state and the filter."""
        self.filtered[:] = 0.0
        self._is_first = True

    def skip(self, v: FloatArray) -> None:
        """Store the velocity after an interval that is not used, e.g. a gap."""
        self._motion[3] = v
        self._is_first = False

    def observe(self, q: FloatArray, v: FloatArray, effort: FloatArray, dt: float) -> None:
        """Add one interval of length dt: the state at its end, and the effort during it."""
        if self._is_first:
            self.skip(v)
            return
        motion = self._motion
        self._describe(q, v, dt, motion)
        q_middle, v_middle, acceleration = self._middle
        sample = self._dynamics.regressor(q_middle, v_middle, acceleration, self._terms)
        # Both filters start at zero and delay regressor and effort equally, so that tau_f = Y_f pi
        # holds from the first sample.
        share = 1.0 - math.exp(-self._rate * dt)
        self._filter(sample, motion, effort, self._rotors, self.known, share, self.filtered)

    def add_gradient(self, estimate: FloatArray, weight: float, mass_matrix: FloatArray,
                     gradient: FloatArray) -> None:
        """Add Y_f^T W (tau_f - Y_f pi) to a gradient, with W_ii = weight / M_ii."""
        self._add(self.filtered, estimate, weight, mass_matrix, gradient)


@kernel('void(f8[::1], f8[::1], f8, f8[:, ::1])')
def describe_interval(q, v, dt, motion):
    """Write the middle of an interval from the state at its end and the velocity before."""
    for i in range(q.size):
        before = motion[3, i]
        motion[1, i] = 0.5 * (v[i] + before)
        # By the mean velocity instead of the previous position, which may differ by 2 pi.
        motion[0, i] = q[i] - 0.5 * dt * motion[1, i]
        motion[2, i] = (v[i] - before) / dt
        motion[3, i] = v[i]


@kernel('void(f8[:, ::1], f8[:, ::1], f8[::1], f8[::1], f8[::1], f8, f8[:, ::1])')
def filter_interval(sample, motion, effort, rotors, known, share, filtered):
    """Low pass: move the filtered regressor and effort by a share of the way to the interval."""
    last = sample.shape[1]
    for i in range(sample.shape[0]):
        moved = effort[i] - rotors[i] * motion[2, i] - row_times(sample, i, known)
        filtered[i, last] += share * (moved - filtered[i, last])
        for k in range(np.uint64(last)):
            filtered[i, k] += share * (sample[i, k] - filtered[i, k])


@kernel('void(f8[:, ::1], f8[::1], f8, f8[:, ::1], f8[::1])')
def add_prediction_error(filtered, estimate, weight, mass_matrix, gradient):
    """Add Y^T W (tau - Y pi) to the gradient, W_ii = weight / M_ii."""
    last = estimate.size
    for i in range(filtered.shape[0]):
        error = filtered[i, last] - row_times(filtered, i, estimate)
        error *= weight / mass_matrix[i, i]
        for k in range(np.uint64(last)):
            gradient[k] += filtered[i, k] * error


@part
def row_times(matrix, i, x):
    """Product of the first entries of a row with x, in four independent sums."""
    whole = np.uint64(x.size - x.size % 4)
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    for k in range(np.uint64(0), whole, np.uint64(4)):
        a += matrix[i, k] * x[k]
        b += matrix[i, k + np.uint64(1)] * x[k + np.uint64(1)]
        c += matrix[i, k + np.uint64(2)] * x[k + np.uint64(2)]
        d += matrix[i, k + np.uint64(3)] * x[k + np.uint64(3)]
    total = (a + b) + (c + d)
    for k in range(whole, np.uint64(x.size)):
        total += matrix[i, k] * x[k]
    return total


class VelocityFilter:
    """Filtered velocity of each joint from the measured and the desired one, `value`."""

    def __init__(self, n: int):
        self._kept = np.zeros((4, n))
        self._weigh = weigh_velocity.load()
        self.value = np.zeros(n)
        self.reset()

    @property
    def noise(self) -> float:
        """Norm of velocities that noise explains, sqrt(c sum sigma^2), rad/s or m/s."""
        return math.sqrt(MARGIN * float(self._kept[NOISE].sum()))

    def reset(self) -> None:
        """Forget everything."""
        self._kept[:] = 0.0
        self.skip()

    def skip(self) -> None:
        """Start over after a gap, but keep the means."""
        self._samples, self._span = 0, 1.0

    def observe(self, v: FloatArray, v_d: FloatArray, dt: float) -> FloatArray:
        """Add measured and desired velocity after a time, s, and return `value`."""
        share = 1.0 - math.exp(-dt / FADING) if self._samples >= 2 else 0.0
        ratio = dt / self._span
        try:
            self._weigh(v, v_d, ratio, share, self._kept, self.value)
        except TypeError:  # read-only, strided or of another type: slower, but right
            self._weigh(np.array(v, dtype=np.float64), np.array(v_d, dtype=np.float64), ratio,
                        share, self._kept, self.value)
        self._samples, self._span = self._samples + 1, dt
        return self.value


@kernel('void(f8[::1], f8[::1], f8, f8, f8[:, ::1], f8[::1])')
def weigh_velocity(v, v_d, ratio, share, kept, likely):
    """Move the means by a share of the way to a sample, and write the filtered velocities.

    ``ratio`` is the length of the last interval over that of the one before: the velocity change
    of a constant acceleration is not a second difference.
    """
    spread = 1.0 + (1.0 + ratio) * (1.0 + ratio) + ratio * ratio
    for i in range(v.size):
        bend = v[i] - kept[LAST, i] - ratio * (kept[LAST, i] - kept[BEFORE, i])
        error = v[i] - v_d[i]
        kept[NOISE, i] += share * (bend * bend / spread - kept[NOISE, i])
        kept[ERROR, i] += share * (error * error - kept[ERROR, i])
        kept[BEFORE, i], kept[LAST, i] = kept[LAST, i], v[i]
        gain = 1.0
        if kept[ERROR, i] > 0.0:
            gain = max(0.0, 1.0 - MARGIN * kept[NOISE, i] / kept[ERROR, i])
        likely[i] = v_d[i] + gain * error


class RestDetector:
    """Detects an arm at rest with nothing more to correct.

    The measurements of an arm at rest contain little about its parameters, and while friction
    holds the arm, an integral would wind up. Learning therefore pauses `after` a time without
    desired motion, s. It resumes when the desired motion does, or when an entry of s exceeds
    `sliding`, for example because of a payload.
    """

    def __init__(self, after: float, sliding: float):
        self._after, self._sliding = after, sliding
        self._still = 0.0

    def reset(self) -> None:
        """Restart the time without motion."""
        self._still = 0.0

    def observe(self, v_d: FloatArray, largest_s: float, dt: float) -> bool:
        """Whether the arm is at rest, after one more sample; see the class."""
        # As Python floats, which are faster than NumPy for a few numbers.
        speed = max(map(abs, np.asarray(v_d).tolist()))
        self._still = 0.0 if speed > STILL else self._still + dt
        return (self._still > self._after and largest_s <= self._sliding
                and not math.isinf(self._after))
