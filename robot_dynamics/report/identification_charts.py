# SPDX-License-Identifier: Apache-2.0
"""Charts of the page about an identification: efforts, errors, spectra, friction over speed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.identification.dataset import Dataset
from robot_dynamics.identification.filters import low_pass
from robot_dynamics.identification.friction import (
    COULOMB_VELOCITY,
    LOADED,
    PlainFriction,
    columns_of,
)
from robot_dynamics.identification.model import Model
from robot_dynamics.identification.observation_matrix import TRIM, axis_loads
from robot_dynamics.identification.result import Identification
from robot_dynamics.identification.signals import Motion, motions_of
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import effort_units
from robot_dynamics.report.series import rounded, with_gaps

#: The stretch that is drawn in full, s, and its samples at most.
STRETCH, SAMPLES = 60.0, 1500
#: Points of the errors over the whole recording, at most, and their shortest window, s.
WINDOWS, SHORTEST_WINDOW = 300, 0.5
#: Points of a spectrum, at most, and the least of it that is drawn, as a part of its highest.
FREQUENCIES, LOWEST = 300, 1e-4
#: Points of a friction curve, and bins of the measured friction with their least samples.
POINTS, BINS, IN_A_BIN = 161, 40, 5


@dataclass(frozen=True, eq=False)
class Predicted:
    """One segment of the recording, filtered as its equations were.

    Parameters
    ----------
    motion : Motion
        The motion.
    measured, fitted, held : ndarray, shape (N, n)
        Effort, that of the identified model, and that of the fit to the other half.
    """

    motion: Motion
    measured: FloatArray
    fitted: FloatArray
    held: FloatArray


def charts(found: Identification, dataset: Dataset, plain: PlainFriction) -> dict[str, Any]:
    """The numbers that the page draws, in plain types."""
    whole = [predicted(found, motion) for motion in motions_of(dataset, found.signals)]
    parts = [settled(one) for one in whole]
    return {'joints': list(dataset.joint_names), 'units': list(effort_units(found.model.robot)),
            'efforts': _efforts(found, parts), 'overview': _overview(parts),
            'spectra': _spectra(found, whole),
            'friction': friction_curves(found.model, parts, plain),
            'cutoff': found.signals.cutoff}


def predicted(found: Identification, motion: Motion) -> Predicted:
    """Measured and predicted efforts of a motion."""
    def filtered(effort: FloatArray) -> FloatArray:
        return low_pass(effort, motion.rate, found.signals.cutoff, found.signals.order)

    early = motion.time < found.middle
    held = np.where(early[:, np.newaxis], found.halves[1].efforts(motion),
                    found.halves[0].efforts(motion))
    return Predicted(motion, filtered(motion.effort), filtered(found.model.efforts(motion)),
                     filtered(held))


def settled(part: Predicted) -> Predicted:
    """The motion without its ends, where filters settle and no equation was taken."""
    count, motion = part.motion.count, part.motion
    trim = int(min(TRIM * motion.rate, 0.1 * count))
    kept = slice(trim, count - trim)
    inner = Motion(motion.time[kept], motion.q[kept], motion.v[kept], motion.a[kept],
                   motion.effort[kept], motion.rate)
    return Predicted(inner, part.measured[kept], part.fitted[kept], part.held[kept])


def _efforts(found: Identification, parts: list[Predicted]) -> dict[str, Any]:
    """Efforts of the stretch around the worst three seconds, or of the beginning."""
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
    """Root mean square error in windows over the whole recording."""
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
    """Amplitude densities of effort and error of the longest segment."""
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
    """Columns as lists of numbers with four figures; None for nan."""
    return [rounded(column) for column in values.T]


def _rounded(values: FloatArray, digits: int) -> list[float]:
    return np.round(values, digits).tolist()


def friction_curves(model: Model, parts: Sequence[Predicted], plain: PlainFriction
                    ) -> list[dict[str, Any]]:
    """Friction over speed of every joint: identified, as in the URDF, and measured.

    Identified friction is that at steady speed and the median load; measured are medians of the
    efforts beyond those of bodies and rotors, ``at`` their speeds.
    """
    n = model.axes.shape[1]
    speed = np.concatenate([part.motion.v for part in parts])
    beyond = np.concatenate([
        part.measured - part.fitted + model.without('armature').friction_efforts(part.motion)
        for part in parts])
    load = _usual_loads(model, parts)
    out = []
    for j in range(n):
        largest = max(float(np.percentile(np.abs(speed[:, j]), 99.5)), 1e-9)
        x = np.linspace(-1.0, 1.0, POINTS)
        # Close together around zero, where friction changes.
        v = largest * np.sign(x) * np.abs(x) ** 2
        identified = np.zeros(POINTS)
        for feature, value in zip(model.features, model.friction, strict=True):
            along = model.axes[feature.axis, j]
            if along and feature.term != 'armature':
                identified += value * along * steady(feature.term, feature.option, along * v,
                                                     float(load[feature.axis]))
        at, measured = _medians(speed[:, j], beyond[:, j], largest)
        out.append({'speed': v.tolist(), 'identified': identified.tolist(),
                    'urdf': (plain.damping[j] * v
                             + plain.friction[j] * np.tanh(v / COULOMB_VELOCITY)).tolist(),
                    'at': at, 'measured': measured})
    return out


def steady(term: str, option: float, speed: FloatArray, load: float) -> FloatArray:
    """Effort of a term per unit of its parameter at a steady speed, shape (N,)."""
    if term in ('dahl', 'load_dahl'):
        return np.sign(speed) * (abs(load) if term == 'load_dahl' else 1.0)
    still = np.zeros_like(speed)
    return columns_of(term, (option,), still, speed, still, np.full_like(speed, load))[:, 0]


def _usual_loads(model: Model, parts: Sequence[Predicted]) -> FloatArray:
    """Median load of every axis; zero where friction does not depend on load."""
    if not any(feature.term in LOADED for feature in model.features):
        return np.zeros(len(model.axes))
    loaded = Dynamics(model.robot.with_gravity(model.gravity).with_parameters(model.loads),
                      armature=False)
    efforts = np.concatenate([loaded.inverse_dynamics(part.motion.q, part.motion.v, part.motion.a)
                              for part in parts])
    return np.median(np.abs(axis_loads(model.axes, efforts)), axis=0)


def _medians(speed: FloatArray, effort: FloatArray, largest: float
             ) -> tuple[list[float], list[float]]:
    """Medians of the effort in bins of speed that hold enough samples."""
    place = np.clip(((speed / largest + 1.0) * 0.5 * BINS).astype(int), -1, BINS)
    at, out = [], []
    for k in range(BINS):
        inside = (place == k) & (np.abs(speed) <= largest)
        if np.count_nonzero(inside) >= IN_A_BIN:
            at.append(float(np.median(speed[inside])))
            out.append(float(np.median(effort[inside])))
    return at, out
