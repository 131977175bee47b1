# SPDX-License-Identifier: Apache-2.0
"""What the charts of the page show: efforts, errors, spectra, friction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from robot_dynamics.identification.dataset import Dataset
from robot_dynamics.identification.filters import low_pass
from robot_dynamics.identification.observation_matrix import TRIM
from robot_dynamics.identification.plain_friction import (
    COULOMB_VELOCITY,
    PlainFriction,
)
from robot_dynamics.identification.result import Identification
from robot_dynamics.identification.signals import Motion, motions_of
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import effort_units
from robot_dynamics.report.identification.friction_curves import friction_curves
from robot_dynamics.report.series import rounded, with_gaps

#: The stretch that is drawn in full, s, and its samples at most.
STRETCH, SAMPLES = 60.0, 1500
#: Points of the errors over the whole recording, at most, and their shortest window, s.
WINDOWS, SHORTEST_WINDOW = 300, 0.5
#: Points of a spectrum, at most, and the least of it that is drawn, as a part of its highest.
FREQUENCIES, LOWEST = 300, 1e-4


@dataclass(frozen=True, eq=False)
class Predicted:
    """One segment of the recording, filtered as its equations were.

    Parameters
    ----------
    motion : Motion
        The motion.
    measured, fitted, held : ndarray, shape (N, n)
        Effort, that of the identified model, and that of the half that has not seen it.
    """

    motion: Motion
    measured: FloatArray
    fitted: FloatArray
    held: FloatArray


def charts(found: Identification, dataset: Dataset, plain: PlainFriction) -> dict[str, Any]:
    """Return everything that the charts show, in plain types.

    Parameters
    ----------
    found, dataset : Identification, Dataset
        The result, and what it was made of.
    plain : PlainFriction
        Friction as the URDF has it.
    """
    whole = [predicted(found, motion) for motion in motions_of(dataset, found.signals)]
    parts = [settled(one) for one in whole]
    return {'joints': list(dataset.joint_names), 'units': list(effort_units(found.model.robot)),
            'efforts': _efforts(found, parts), 'overview': _overview(parts),
            'spectra': _spectra(found, whole),
            'friction': friction_curves(found.model, parts, plain, COULOMB_VELOCITY),
            'cutoff': found.signals.cutoff}


def predicted(found: Identification, motion: Motion) -> Predicted:
    """Return what a motion took, and what models say of it."""
    def filtered(effort: FloatArray) -> FloatArray:
        return low_pass(effort, motion.rate, found.signals.cutoff, found.signals.order)

    early = motion.time < found.middle
    held = np.where(early[:, np.newaxis], found.halves[1].efforts(motion),
                    found.halves[0].efforts(motion))
    return Predicted(motion, filtered(motion.effort), filtered(found.model.efforts(motion)),
                     filtered(held))


def settled(part: Predicted) -> Predicted:
    """Return the same without its ends, where filters settle and no equation was taken."""
    count, motion = part.motion.count, part.motion
    trim = int(min(TRIM * motion.rate, 0.1 * count))
    kept = slice(trim, count - trim)
    inner = Motion(*(x[kept] for x in (motion.time, motion.q, motion.v, motion.a, motion.effort)),
                   motion.rate)
    return Predicted(inner, part.measured[kept], part.fitted[kept], part.held[kept])


def _efforts(found: Identification, parts: list[Predicted]) -> dict[str, Any]:
    """Return efforts of the stretch around the worst three seconds, or of the beginning."""
    first, last = (float(part.motion.time[end]) for part, end in ((parts[0], 0), (parts[-1], -1)))
    worst = found.worst[0][0] + 1.5 if found.worst else first
    start = max(first, min(worst - 0.5 * STRETCH, last - STRETCH))
    time, *curves = (np.concatenate(pieces) for pieces in zip(*(
        (part.motion.time, part.measured, part.fitted, part.held) for part in parts), strict=True))
    kept = (time >= start) & (time <= start + STRETCH)
    time, values = with_gaps(time[kept], np.hstack(curves)[kept], SAMPLES)
    measured, fitted, held = np.hsplit(values, 3)
    return {'time': _rounded(time, 4),
            'measured': _columns(measured), 'predicted': _columns(fitted),
            'held': _columns(held), 'residual': _columns(measured - fitted),
            'held_residual': _columns(measured - held)}


def _overview(parts: list[Predicted]) -> dict[str, Any]:
    """Return the root mean square error in windows over the whole recording."""
    length = sum(float(one.motion.time[-1] - one.motion.time[0]) for one in parts)
    window = max(SHORTEST_WINDOW, length / WINDOWS)
    times, errors = [], []
    for one in parts:
        place = ((one.motion.time - one.motion.time[0]) / window).astype(int)
        count = np.maximum(np.bincount(place), 1)
        squares = np.stack([np.bincount(place, column)
                            for column in ((one.measured - one.held) ** 2).T], axis=1)
        times.append(one.motion.time[0] + window * (np.arange(len(count)) + 0.5))
        errors.append(np.sqrt(squares / count[:, np.newaxis]))
    time, values = np.concatenate(times), np.concatenate(errors)
    time, values = with_gaps(time, values, len(time))
    return {'time': _rounded(time, 3), 'window': window, 'errors': _columns(values)}


def _spectra(found: Identification, parts: list[Predicted]) -> dict[str, Any]:
    """Return amplitude densities of effort and error of the longest segment."""
    from scipy.signal import welch
    part = max(parts, key=lambda one: one.motion.count)
    motion = part.motion
    error = motion.effort - found.model.efforts(motion)
    length = min(motion.count, 2 * FREQUENCIES, max(16, motion.count // 4))
    out = {}
    for name, signal in (('effort', motion.effort), ('error', error)):
        frequency, power = welch(signal, fs=motion.rate, nperseg=length, axis=0,
                                 detrend='constant')
        density = np.sqrt(power[1:])
        out[name] = _columns(np.maximum(density, LOWEST * np.max(density, axis=0)))
    return {'frequency': _rounded(frequency[1:], 5), **out}


def _columns(values: FloatArray) -> list[list[float | None]]:
    """Return columns as lists, with as many figures as anybody can see; None for nan."""
    return [rounded(column) for column in values.T]


def _rounded(values: FloatArray, digits: int) -> list[float]:
    return np.round(values, digits).tolist()
