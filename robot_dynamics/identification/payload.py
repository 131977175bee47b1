# SPDX-License-Identifier: Apache-2.0
"""Payload of an arm, from recordings with it and without it.

A YAML file contains settings of both recordings, and the recording without the payload::

    payload:
      without: empty.mcap      # beside the YAML; the other recordings are with the payload
      body: wrist_3_link       # the link that carries it; the last one if not given
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import ParameterError, RecordingError
from robot_dynamics.identification.dataset.dataset import Dataset, load_dataset
from robot_dynamics.identification.dataset.settings import require_mapping, settings_from
from robot_dynamics.identification.least_squares import CORRELATION, Equations, estimate
from robot_dynamics.identification.model import Model
from robot_dynamics.identification.observation_matrix import ROWS_PER_CUTOFF
from robot_dynamics.identification.result import Identification
from robot_dynamics.identification.rigid import estimate_settings, identify
from robot_dynamics.identification.signals import SignalSettings, low_pass, motions_of
from robot_dynamics.model.arrays import FloatArray, IntArray
from robot_dynamics.model.robot import Robot

# Relative norm of a column below which it is left out.
_NEGLIGIBLE = 1e-6


@dataclass(frozen=True, eq=False)
class Payload:
    """A payload in the frame of the link that carries it."""

    body: str
    #: Parameters added to the link, shape (10,): mass, first moment, and inertia about its origin.
    parameters: FloatArray
    #: Standard deviations, shape (10,); infinite for parameters without effect on the recording.
    deviations: FloatArray
    #: Mass, kg.
    mass: float
    #: Centre of mass in the link frame, shape (3,), m.
    com: FloatArray


def identify_payload(dataset: Dataset, arm: Model, signals: SignalSettings,
                     body: str | None = None) -> Payload:
    """Payload of an arm that was identified without it.

    The friction of the arm is taken as known except for one constant per joint.

    Parameters
    ----------
    dataset : Dataset
        A recording with the payload.
    arm : Model
        The arm without it; `Identification.model`.
    signals : SignalSettings
        Signal settings of that identification.
    body : str, optional
        The link that carries the payload; the last one if not given.

    See Also
    --------
    identify, dataset_from_arrays

    Examples
    --------
    >>> import numpy as np
    >>> from robot_dynamics import Dynamics, Robot, with_payload
    >>> from robot_dynamics.identification import (EstimateSettings, dataset_from_arrays, identify,
    ...                                            identify_payload)
    >>> robot = Robot.from_urdf('urdf/planar_2r.urdf')
    >>> loaded = with_payload(robot, mass=1.0, com=[0.2, 0.0, 0.0])
    >>> t, w = np.arange(0.0, 20.0, 0.01)[:, None], np.array([1.0, 1.7])
    >>> q, v, a = np.sin(w * t), w * np.cos(w * t), -w**2 * np.sin(w * t)
    >>> logs = [dataset_from_arrays(robot, t[:, 0], q, Dynamics(one).inverse_dynamics(q, v, a))
    ...         for one in (robot, loaded)]
    >>> plain = EstimateSettings(friction='coulomb', armature=False, cutoff=5.0, lag=0.0)
    >>> arm = identify(logs[0], robot, plain)
    >>> payload = identify_payload(logs[1], arm.model, arm.signals)
    >>> payload.body == robot.body_names[-1], round(payload.mass, 2)
    (True, 1.0)
    """
    robot = arm.robot
    names = robot.body_names
    body = names[-1] if body is None else body
    if body not in names:
        raise ParameterError('is not a moving link', subject=body,
                             remedy='name one of ' + ', '.join(names))
    columns = 10 * names.index(body) + np.arange(10)
    dynamics = Dynamics(robot.with_gravity(arm.gravity))
    W, y, order, count = [], [], [], 0
    for motion in motions_of(dataset, signals):
        left = motion.effort - arm.efforts(motion)
        Y = dynamics.regressor(motion.q, motion.v, motion.a)[..., columns]
        rows = np.concatenate([Y, left[..., np.newaxis]], axis=-1)
        rows = low_pass(rows, motion.rate, signals.cutoff, signals.order)
        step = max(1, int(motion.rate / (ROWS_PER_CUTOFF * signals.cutoff)))
        kept = rows[motion.trim:motion.count - motion.trim:step]
        W.append(kept[..., :10])
        y.append(kept[..., 10])
        order.append(count + np.arange(len(kept)))
        count += len(kept)
    whole, efforts = np.concatenate(W), np.concatenate(y)
    if count < 8:
        raise RecordingError(f'is too short: {count} equations per joint', subject=dataset.source,
                             remedy='record some more seconds')
    return _solved(body, whole, efforts, np.concatenate(order),
                   CORRELATION * ROWS_PER_CUTOFF * signals.cutoff)


def _solved(body: str, whole: FloatArray, efforts: FloatArray, order: IntArray,
            correlation: float) -> Payload:
    """Payload from rows of all joints, (m, n, 10) and (m, n)."""
    m, n = efforts.shape
    lengths = np.linalg.norm(whole.reshape(-1, 10), axis=0)
    seen = lengths > _NEGLIGIBLE * np.max(lengths)
    offsets = np.broadcast_to(np.eye(n), (m, n, n))
    W = np.concatenate([whole[..., seen], offsets], axis=-1)
    # Rows of one joint after the other.
    W, y = W.transpose(1, 0, 2).reshape(n * m, -1), efforts.T.ravel()
    fit = estimate('wls', Equations(W, y, np.repeat(np.arange(n), m), np.tile(order, n)),
                   correlation=correlation)
    parameters, deviations = np.zeros(10), np.full(10, np.inf)
    size = int(seen.sum())
    parameters[seen] = fit.x[:size]
    deviations[seen] = np.sqrt(np.diag(fit.covariance))[:size]
    if not parameters[0] > 0.0:
        raise RecordingError(f'has an estimated payload of {parameters[0]:.3g} kg', subject=body,
                             remedy='check sign and unit of the efforts, and that the arm was '
                                    'identified without the payload')
    return Payload(body, parameters, deviations, float(parameters[0]),
                   parameters[1:4] / parameters[0])


def identify_payload_from(content: Mapping[str, Any], folder: Path, robot: Robot,
                          loaded: Dataset) -> tuple[Payload, Identification, Dataset]:
    """Payload, arm without it and recording of the arm, as the content of a YAML file describes.

    ``folder`` is that of the YAML file, and ``loaded`` the recording with the payload.
    """
    part = require_mapping(content.get('payload'), 'payload', ('without', 'body'))
    if not isinstance(part.get('without'), str):
        raise ParameterError(f'must name a recording, got {part.get("without")!r}',
                             subject='payload.without',
                             remedy='give the recording of the arm without the payload')
    empty = load_dataset(folder / part['without'], robot, settings_from(content))
    found = identify(empty, robot, estimate_settings(content))
    payload = identify_payload(loaded, found.model, found.signals, part.get('body'))
    return payload, found, empty
