# SPDX-License-Identifier: Apache-2.0
"""Friction over speed: as identified, as a URDF has it, and as measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.identification.friction import LOADED, columns_of
from robot_dynamics.identification.model import Model
from robot_dynamics.identification.observation_matrix import axis_loads
from robot_dynamics.identification.plain_friction import PlainFriction
from robot_dynamics.model.arrays import FloatArray

if TYPE_CHECKING:
    from robot_dynamics.report.identification.curves import Predicted


#: Points of a curve, and bins of the measured friction with their least samples.
POINTS, BINS, IN_A_BIN = 161, 40, 5


def friction_curves(model: Model, parts: Sequence[Predicted], plain: PlainFriction,
                    width: float) -> list[dict[str, Any]]:
    """Return the curves of every joint.

    Parameters
    ----------
    model : Model
        The identified arm.
    parts : sequence of Predicted
        The recording.
    plain : PlainFriction
        Friction as the URDF has it.
    width : float
        Speed below which its Coulomb friction fades out, rad/s or m/s.

    Returns
    -------
    list of dict
        ``speed``, ``identified`` (at steady speed and the usual load), ``urdf``; medians of
        what was measured beyond the bodies and rotors, ``at`` and ``measured``.
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
                             + plain.friction[j] * np.tanh(v / width)).tolist(),
                    'at': at, 'measured': measured})
    return out


def steady(term: str, option: float, speed: FloatArray, load: float) -> FloatArray:
    """Return the effect of a term per unit of its parameter at a steady speed, shape (N,)."""
    if term in ('dahl', 'load_dahl'):
        return np.sign(speed) * (abs(load) if term == 'load_dahl' else 1.0)
    still = np.zeros_like(speed)
    return columns_of(term, (option,), still, speed, still, np.full_like(speed, load))[:, 0]


def _usual_loads(model: Model, parts: Sequence[Predicted]) -> FloatArray:
    """Return the median load of every axis; zero where friction depends on none."""
    if not any(feature.term in LOADED for feature in model.features):
        return np.zeros(len(model.axes))
    loaded = Dynamics(model.robot.with_gravity(model.gravity).with_parameters(model.loads))
    efforts = np.concatenate([loaded.inverse_dynamics(part.motion.q, part.motion.v, part.motion.a)
                              for part in parts])
    return np.median(np.abs(axis_loads(model.axes, efforts)), axis=0)


def _medians(speed: FloatArray, effort: FloatArray, largest: float
             ) -> tuple[list[float], list[float]]:
    """Return medians of the effort in bins of speed that hold enough samples."""
    place = np.clip(((speed / largest + 1.0) * 0.5 * BINS).astype(int), -1, BINS)
    at, out = [], []
    for k in range(BINS):
        inside = (place == k) & (np.abs(speed) <= largest)
        if np.count_nonzero(inside) >= IN_A_BIN:
            at.append(float(np.median(speed[inside])))
            out.append(float(np.median(effort[inside])))
    return at, out
