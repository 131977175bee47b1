# SPDX-License-Identifier: Apache-2.0
"""The friction of a model in the terms that descriptions and controllers have.

A URDF knows damping, Coulomb friction and, as this package writes it, rotor inertia, one
number a joint each. Presliding, load and whatever else was identified is replaced by what
comes nearest to it along the motion of the recording.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robot_dynamics.identification.dataset import Dataset
from robot_dynamics.identification.model import Model
from robot_dynamics.identification.signals import SignalSettings, motions_of
from robot_dynamics.model.arrays import FloatArray

#: Speed below which controllers let Coulomb friction fade out, rad/s or m/s; the default of
#: `robot_dynamics.dynamics.Dynamics`.
COULOMB_VELOCITY = 0.05
#: Samples that the fit looks at, at most.
SAMPLES = 100_000


@dataclass(frozen=True, eq=False)
class PlainFriction:
    """Joint terms of a description.

    Parameters
    ----------
    damping, friction, armature : ndarray, shape (n,)
        Viscous coefficient, Coulomb effort and reflected rotor inertia; none is negative.
    lost : ndarray, shape (n,)
        Root mean square of the friction that these do not say, N m or N. Constant offsets are
        part of it.
    """

    damping: FloatArray
    friction: FloatArray
    armature: FloatArray
    lost: FloatArray


def plain_friction(model: Model, dataset: Dataset, signals: SignalSettings) -> PlainFriction:
    """Return the damping, friction and rotor inertia nearest to the friction of a model.

    Parameters
    ----------
    model : Model
        The arm with friction.
    dataset : Dataset
        The motion along which they are compared.
    signals : SignalSettings
        How its signals are made.

    Returns
    -------
    PlainFriction
        For every joint D, F >= 0 minimise |friction - D v - F tanh(v / `COULOMB_VELOCITY`) - c|.
        The inertia of a motor that turns with several joints is kept on the diagonal only.
    """
    from scipy.optimize import nnls
    n = dataset.n
    armature = np.zeros(n)
    for feature, value in zip(model.features, model.friction, strict=True):
        if feature.term == 'armature':
            armature += value * model.axes[feature.axis] ** 2
    motions = motions_of(dataset, signals)
    v = np.concatenate([motion.v for motion in motions])
    rubs = np.concatenate([model.without('armature').friction_efforts(motion)
                           for motion in motions])
    step = max(1, len(v) // SAMPLES)
    v, rubs = v[::step], rubs[::step]
    damping, friction, lost = np.zeros(n), np.zeros(n), np.zeros(n)
    constant = np.ones(len(v))
    for j in range(n):
        # A constant has either sign.
        A = np.stack([v[:, j], np.tanh(v[:, j] / COULOMB_VELOCITY), constant, -constant], axis=1)
        lengths = np.linalg.norm(A, axis=0)
        lengths[lengths == 0.0] = 1.0
        # A triangular factor has the same sums of squares.
        R = np.linalg.qr(np.column_stack([A / lengths, rubs[:, j]]), mode='r')
        x = nnls(R[:, :-1], R[:, -1])[0] / lengths
        damping[j], friction[j] = x[:2]
        lost[j] = np.sqrt(np.mean((rubs[:, j] - A[:, :2] @ x[:2]) ** 2))
    return PlainFriction(damping, friction, np.maximum(armature, 0.0), lost)
