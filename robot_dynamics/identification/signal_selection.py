# SPDX-License-Identifier: Apache-2.0
"""Selection of cut-off, source of velocities and lag of efforts by predictions of raw efforts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from robot_dynamics.errors import ParameterError, RecordingError, RobotDynamicsError
from robot_dynamics.identification.checks.alternatives import LAG_STEP, LONGEST_LAG, common_lag
from robot_dynamics.identification.dataset.dataset import Dataset, remembered
from robot_dynamics.identification.friction import FAMILIES
from robot_dynamics.identification.model import Model
from robot_dynamics.identification.model_selection import Choice, ModelSelector
from robot_dynamics.identification.observation_matrix import Stack
from robot_dynamics.identification.signals import (
    TRIM,
    Motion,
    SignalSettings,
    by_lines,
    cutoff_of,
    derivative,
    low_pass,
    motions_of,
)
from robot_dynamics.identification.stops import on_stops
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import Robot

#: Candidate cut-offs as multiples of that of the spectrum.
FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)
#: Largest number of rows of a log that are used for selection.
MOST_ROWS = 60_000
#: Largest lag of usable measured velocities, s.
LATE = 0.01
#: Largest lag of velocities that is searched, s, and least correlation with the slope of the
#: positions.
LONGEST_VELOCITY_LAG, CLEAR = 0.5, 0.5
#: Required relative improvement of squared errors by measured velocities.
SOURCE_GAIN = 0.02
#: Required relative improvement by a lag.
LAG_GAIN = 0.01
#: Fraction of that improvement expected of the remaining lag, because a fit absorbs most of a lag.
HOPELESS = 0.01
#: Measured velocities are tried at cut-offs at which differentiated positions have at most this
#: multiple of the least squared error.
NEAR = 4.0

_FAMILY = 'dahl+coulomb'
_BLOCKS, _PRIOR_WEIGHTS = 12, (10.0,)
_LAG_STEPS = 4


class SignalSelector:
    """Selects signal settings; friction terms in ``always`` are in all models."""

    def __init__(self, robot: Robot, dataset: Dataset, always: Sequence[str]):
        self.robot, self.always = robot, tuple(always)
        self.dataset = excerpt(dataset)
        self._joint_weights: FloatArray | None = None
        self._scores: dict[SignalSettings, float] = {}

    def choose(self, given: SignalSettings, cutoff: float | None, velocity: str,
               lag: float | None) -> tuple[SignalSettings, tuple[Choice, ...]]:
        """Signal settings with cut-off, Hz, source of velocities and lag, s; and the reasons."""
        first = cutoff_of(self.dataset) if cutoff is None else cutoff
        # Efforts that come late are moved before anything else is selected.
        coarse = common_lag(self.dataset, self.robot) if lag is None else lag
        given = replace(given, lag=coarse)
        if velocity == 'measured' and not self.dataset.has_velocity:
            raise ParameterError('must not be measured: velocities of the log are not complete',
                                 subject='velocity',
                                 remedy='set velocity: position')
        sources = ['measured' if velocity == 'measured' else 'position']
        choices: list[Choice] = []
        if velocity == 'auto' and self.dataset.has_velocity:
            lags, _ = compare_velocity(self.dataset)
            if np.any(np.isfinite(lags)) and np.nanmedian(np.abs(lags)) > LATE:
                choices.append(Choice('velocity', 'position', 'measured velocities lag behind '
                                      'positions'))
            else:
                sources.append('measured')
        highest = 0.1 / self.dataset.period
        cutoffs = sorted({min(first * factor, highest) for factor in FACTORS}) \
            if cutoff is None else [cutoff]
        candidates = [replace(given, cutoff=one, velocity=sources[0]) for one in cutoffs]
        best = candidates[0]
        if len(cutoffs) * len(sources) > 1:
            scores = [self.score(candidate) for candidate in candidates]
            for source in sources[1:]:
                near = [replace(one, velocity=source) for one, score
                        in zip(candidates, scores, strict=True) if score <= NEAR * min(scores)]
                candidates = candidates + near
                scores += [self.score(candidate) for candidate in near]
            best = candidates[preferred(candidates, scores)]
            choices.append(Choice(
                'signals', f'cut-off {best.cutoff:.3g} Hz, velocity from {best.velocity}',
                f'the spectrum suggests {first:.3g} Hz; error of raw efforts, by the best: '
                + ', '.join(f'{c.velocity} {c.cutoff:.3g} Hz {np.sqrt(s / min(scores)):.4f}'
                            for c, s in zip(candidates, scores, strict=True))))
        if lag is not None:
            return best, tuple(choices)
        if self.dataset.n == 1:
            # With a single joint, a small lag cannot be separated from friction.
            note = Choice('lag of efforts', f'{1e3 * coarse:+.0f} ms' if coarse else '0',
                          'one joint does not separate lag and friction' + (
                              ' more finely' if coarse else ''))
            return best, (*choices, note)
        best, note = self._with_lag(best)
        return best, (*choices, note)

    def score(self, settings: SignalSettings) -> float:
        """Squared error of raw efforts, each half predicted from the other."""
        if settings not in self._scores:
            try:
                self._scores[settings] = sum(
                    float(np.sum(self._weights() * np.mean(error ** 2, axis=0)))
                    for error, _, _ in self._halves(settings))
            except RobotDynamicsError:
                self._scores[settings] = np.inf
        return self._scores[settings]

    def _weights(self) -> FloatArray:
        if self._joint_weights is None:
            efforts = np.concatenate([s.effort for s in self.dataset.segments])
            self._joint_weights = 1.0 / np.maximum(np.var(efforts, axis=0), 1e-12)
        return self._joint_weights

    def _halves(self, settings: SignalSettings
                ) -> list[tuple[FloatArray, FloatArray, FloatArray]]:
        """Error, slope of the prediction and prediction of each half from the other."""
        stack = Stack(self.robot, self.dataset, settings, (*FAMILIES[_FAMILY], *self.always))
        selector = ModelSelector(stack, _BLOCKS, self.always)
        half = _BLOCKS // 2
        middle = stack.time[len(stack.time) // 2]
        out = []
        for train, late in ((np.arange(half), True), (np.arange(half, _BLOCKS), False)):
            model = selector.choose(train, (_FAMILY,), _PRIOR_WEIGHTS, 'known').model
            parts = [self._errors(model, motion, segment, settings, middle, late)
                     for motion, segment in zip(stack.motions, self.dataset.segments,
                                                strict=True)]
            error, slope, prediction = (np.concatenate(part) for part in zip(*parts, strict=True))
            out.append((error, slope, prediction))
            if not len(out[-1][0]):
                raise RecordingError('is too short for a selection', subject=self.dataset.source,
                                     remedy='record some more seconds')
        # Joints are weighted by their remaining errors, once known.
        if self._joint_weights is None:
            self._joint_weights = 1.0 / np.maximum(np.mean(
                np.concatenate([error for error, _, _ in out]) ** 2, axis=0), 1e-12)
        return out

    def _errors(self, model: Model, motion: Motion, segment, settings: SignalSettings,
                middle: float, late: bool) -> tuple[FloatArray, FloatArray, FloatArray]:
        # Equations and their predictions are filtered at the cut-off.
        predicted = low_pass(model.efforts(motion), motion.rate, settings.cutoff, settings.order)
        slope = derivative(predicted, motion.rate)
        # The prediction is smooth and can be interpolated; interpolation would reduce the noise of
        # measurements.
        at = segment.time - settings.lag
        kept = ((segment.time >= middle) == late) & (at >= motion.time[0] + TRIM) \
            & (at <= motion.time[-1] - TRIM)
        values, change = (by_lines(at[kept], motion.time, x) for x in (predicted, slope))
        # Contact forces at stops are not predicted.
        lying = on_stops(self.robot, self.dataset, motion, settings.cutoff)
        near = np.clip(np.rint((at[kept] - motion.time[0]) * motion.rate).astype(int), 0,
                       motion.count - 1)
        return np.where(lying[near], 0.0, segment.effort[kept] - values), change, values

    def _lags(self, settings: SignalSettings) -> tuple[FloatArray, FloatArray, float]:
        """Remaining lag of efforts of each joint, s, its information, and the expected gain."""
        halves = self._halves(settings)
        error, slope = (np.concatenate([half[k] for half in halves]) for k in (0, 1))
        squares = np.maximum(np.sum(slope ** 2, axis=0), 1e-300)
        lags, information = -np.sum(error * slope, axis=0) / squares, squares * self._weights()
        return lags, information, 2.0 * float(information @ lags ** 2) / len(error)

    def _with_lag(self, settings: SignalSettings) -> tuple[SignalSettings, Choice]:
        """Settings with a lag near that of the settings, if the joints agree on one."""
        none = Choice('lag of efforts', f'{1e3 * settings.lag:+.0f} ms' if settings.lag else '0',
                      'no lag common to the joints improves predictions' + (
                          ' further' if settings.lag else ''))
        trial, before = settings, self.score(settings)
        steps: list[float] = []
        for _ in range(_LAG_STEPS):
            try:
                lags, information, fall = self._lags(trial)
            except RobotDynamicsError:
                return settings, none
            if not steps and fall < HOPELESS * LAG_GAIN * before:
                return settings, none
            step = float(np.sum(lags * information) / np.sum(information))
            # A fit absorbs a constant fraction of the lag, so that the remainder decreases
            # geometrically.
            ratio = step / steps[-1] if len(steps) % 2 else 0.0
            steps.append(step)
            trial = replace(trial, lag=trial.lag + step / (1.0 - np.clip(ratio, 0.0, 0.9)))
            if abs(step) < 0.02 * self.dataset.period:
                break
        agree = np.sum(information[np.sign(lags + trial.lag) == np.sign(trial.lag)])
        after = self.score(trial)
        if abs(trial.lag) > LONGEST_LAG + LAG_STEP or agree < 0.7 * np.sum(information) \
                or not after < (1.0 - LAG_GAIN) * before:
            return settings, none
        return trial, Choice('lag of efforts', f'{1e3 * trial.lag:+.2f} ms',
                             'squared errors of raw efforts fall by '
                             f'{100 * (1 - after / before):.1f} %')


def preferred(candidates: Sequence[SignalSettings], scores: Sequence[float]) -> int:
    """Index of the best candidate; measured velocities only if they predict clearly better."""
    best = int(np.argmin(scores))
    plain = min((k for k, one in enumerate(candidates) if one.velocity == 'position'),
                key=lambda k: scores[k], default=best)
    return best if scores[best] < (1.0 - SOURCE_GAIN) * scores[plain] else plain


def excerpt(dataset: Dataset) -> Dataset:
    """Beginning of a long log, up to the length that the selection uses."""
    return dataset if dataset.count <= MOST_ROWS else _beginning(dataset)


# The beginning of a short log would be the log itself, which a cached result must not refer to.
@remembered
def _beginning(dataset: Dataset) -> Dataset:
    return dataset.between(0.0, MOST_ROWS / dataset.count)


@remembered
def compare_velocity(dataset: Dataset) -> tuple[FloatArray, FloatArray]:
    """Lag, s, and gain of measured velocities relative to the slope of positions, shape (n,) each.

    The lag is at the largest correlation of either sign. Both are nan without velocities or
    motion.
    """
    lags, gains = np.full(dataset.n, np.nan), np.full(dataset.n, np.nan)
    if not dataset.has_velocity:
        return lags, gains
    motions = motions_of(dataset, SignalSettings(max(cutoff_of(dataset), 2.0)))
    most = max(2, round(LONGEST_VELOCITY_LAG * motions[0].rate))
    for joint in range(dataset.n):
        products, powers, slopes = np.zeros(2 * most + 1), np.zeros(2 * most + 1), 0.0
        for segment, motion in zip(dataset.segments, motions, strict=True):
            measured = np.interp(motion.time, segment.time, segment.velocity[:, joint])
            trim = motion.trim
            v = motion.v[trim:motion.count - trim, joint]
            products += _correlation(measured, v, trim, most)
            powers += _correlation(measured ** 2, np.ones_like(v), trim, most)
            slopes += float(v @ v)
        alike = np.abs(products) / np.sqrt(np.maximum(powers * slopes, 1e-12))
        k = int(np.argmax(alike))
        if slopes < 1e-9 or alike[k] < CLEAR:
            continue
        lags[joint] = (k - most + _peak(alike, k)) / motions[0].rate
        gains[joint] = products[k] / slopes
    return lags, gains


def _correlation(late: FloatArray, early: FloatArray, first: int, most: int) -> FloatArray:
    """sum_i late[first + i + k] early[i] for k from -most to most."""
    from scipy.signal import correlate
    whole = correlate(late, early, method='fft')
    at = np.arange(first - most, first + most + 1) + len(early) - 1
    inside = (at >= 0) & (at < len(whole))
    return np.where(inside, whole[np.clip(at, 0, len(whole) - 1)], 0.0)


def _peak(values: FloatArray, k: int) -> float:
    """Offset of the maximum of a parabola through a maximum and its neighbours, in samples."""
    if not 0 < k < len(values) - 1:
        return 0.0
    before, here, after = values[k - 1:k + 2]
    bend = before - 2.0 * here + after
    return 0.0 if bend >= 0.0 else float(0.5 * (before - after) / bend)
