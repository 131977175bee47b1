# SPDX-License-Identifier: Apache-2.0
"""Payload of an arm, from recordings with it and without it.

A YAML file contains settings of both recordings, and the recording without the payload::

    payload:
      without: empty.mcap      # beside the YAML; the other recordings are with the payload
      body: wrist_3_link       # the link that carries it; the last one if not given
      known_mass: 2.805        # kg, of a payload that was weighed: drive gains are estimated too

A drive gain and the mass of a payload have the same effect on the efforts of a joint. Only a
weighed payload separates them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import ParameterError, RecordingError
from robot_dynamics.identification.consistent import fit_consistent
from robot_dynamics.identification.dataset.dataset import Dataset, load_dataset
from robot_dynamics.identification.dataset.settings import (
    require_mapping,
    require_number,
    settings_from,
)
from robot_dynamics.identification.least_squares import (
    CORRELATION,
    Equations,
    LinearFit,
    estimate,
)
from robot_dynamics.identification.model import Model
from robot_dynamics.identification.observation_matrix import ROWS_PER_CUTOFF
from robot_dynamics.identification.result import Identification
from robot_dynamics.identification.rigid import estimate_settings, identify
from robot_dynamics.identification.signals import SignalSettings, low_pass, motions_of
from robot_dynamics.model.arrays import BoolArray, FloatArray, IntArray
from robot_dynamics.model.inertia import com_from_parameters, pseudo_inertia
from robot_dynamics.model.robot import Robot

#: Radius of the ball that is the prior of the inertia, m.
BALL = 0.1
# Relative norm of a column below which it is left out.
_NEGLIGIBLE = 1e-6
# Gauss-Newton steps, and least varying load of a joint with a gain, relative to the largest.
_STEPS, _LEAST_LOAD = 6, 1e-3


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
    #: Inertia about the centre of mass, shape (3, 3), kg m^2, and its standard deviations. What
    #: the recording does not determine is that of a ball.
    inertia: FloatArray
    inertia_deviations: FloatArray
    #: Reported over true effort of each joint, shape (n,), and standard deviations, infinite for
    #: joints that the payload does not load; None without a known mass.
    gains: FloatArray | None = None
    gain_deviations: FloatArray | None = None


def identify_payload(dataset: Dataset, arm: Model, signals: SignalSettings,
                     body: str | None = None, known_mass: float | None = None) -> Payload:
    """Payload of an arm that was identified without it.

    The friction of the arm is taken as known except for one constant per joint. With a known
    mass, effort_j = k_j (Y_j pi) + constant is solved for the gains k_j and the other parameters
    of the payload: M. Gautier and S. Briot, "Global identification of joint drive gains and
    dynamic parameters of robots", Journal of Dynamic Systems, Measurement, and Control 136(5),
    2014. Only the efforts contain errors; they are minimised by Gauss-Newton steps.

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
    known_mass : float, optional
        Weighed mass of the payload, kg.

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
    equations = _Rows(whole, efforts, np.concatenate(order),
                      CORRELATION * ROWS_PER_CUTOFF * signals.cutoff)
    payload = _solved(body, equations)
    return payload if known_mass is None else _with_gains(payload, equations, known_mass)


@dataclass(frozen=True, eq=False)
class _Rows:
    """Columns, (m, n, 10), efforts, (m, n), and places in time of all joints."""

    whole: FloatArray
    efforts: FloatArray
    order: IntArray
    correlation: float

    @property
    def seen(self) -> BoolArray:
        """Parameters with an effect, shape (10,)."""
        lengths = np.linalg.norm(self.whole.reshape(-1, 10), axis=0)
        return lengths > _NEGLIGIBLE * np.max(lengths)

    def estimate(self, W: FloatArray, y: FloatArray) -> LinearFit:
        """Estimate for columns (m, n, p) and sides (m, n), and constants of the joints."""
        m, n = y.shape
        W = np.concatenate([W, np.broadcast_to(np.eye(n), (m, n, n))], axis=-1)
        # Rows of one joint after the other.
        return estimate('wls', Equations(
            W.transpose(1, 0, 2).reshape(n * m, -1), y.T.ravel(), np.repeat(np.arange(n), m),
            np.tile(self.order, n)), correlation=self.correlation)


def _solved(body: str, rows: _Rows) -> Payload:
    """Payload from the rows of all joints."""
    seen = rows.seen
    fit = rows.estimate(rows.whole[..., seen], rows.efforts)
    parameters, deviations = np.zeros(10), np.full(10, np.inf)
    size = int(seen.sum())
    parameters[seen] = fit.x[:size]
    deviations[seen] = np.sqrt(np.diag(fit.covariance))[:size]
    if not parameters[0] > 0.0:
        raise RecordingError(f'has an estimated payload of {parameters[0]:.3g} kg', subject=body,
                             remedy='check sign and unit of the efforts, and that the arm was '
                                    'identified without the payload')
    covariance = np.zeros((10, 10))
    covariance[np.ix_(seen, seen)] = fit.covariance[:size, :size]
    return Payload(body, parameters, deviations, float(parameters[0]),
                   parameters[1:4] / parameters[0], *_inertia(parameters, covariance, seen))


def _inertia(parameters: FloatArray, covariance: FloatArray, seen: BoolArray
             ) -> tuple[FloatArray, FloatArray]:
    """Inertia about the centre, (3, 3), of a physical body, and its standard deviations.

    The estimate is combined with a prior, a ball of the estimated mass around the estimated
    centre, which determines what the recording does not.
    """
    ball = np.zeros(10)
    ball[:4] = parameters[:4]
    ball[4:] = _about_origin(parameters[0], parameters[1:4] / parameters[0],
                             0.4 * parameters[0] * BALL ** 2 * np.eye(3))
    information = np.zeros((10, 10))
    information[np.ix_(seen, seen)] = np.linalg.pinv(covariance[np.ix_(seen, seen)],
                                                     hermitian=True)
    fit = fit_consistent(information, information @ parameters, pseudo_inertia(ball[np.newaxis]),
                         1.0)
    value = com_from_parameters(fit.x)[2]
    steps = 1e-6 * np.sqrt(np.diag(fit.covariance))
    slopes = np.stack([(com_from_parameters(fit.x + step)[2] - value).ravel() / np.max(step)
                       for step in np.diag(steps)], axis=1)
    variance = np.einsum('ik,kl,il->i', slopes, fit.covariance, slopes)
    return value, np.sqrt(variance).reshape(3, 3)


def _about_origin(mass: float, com: FloatArray, inertia: FloatArray) -> FloatArray:
    """Entries xx, xy, xz, yy, yz, zz of the inertia about the origin, shape (6,)."""
    J = inertia + mass * (com @ com * np.eye(3) - np.outer(com, com))
    return J[np.triu_indices(3)]


def _with_gains(payload: Payload, rows: _Rows, known_mass: float) -> Payload:
    """Payload of a known mass, and the gains of the drives."""
    n = rows.efforts.shape[1]
    others = rows.seen.copy()
    others[0] = False
    pi = payload.parameters * known_mass / payload.mass
    k, offsets = np.full(n, payload.mass / known_mass), np.zeros(n)
    effects = rows.whole @ pi
    sizes = np.sqrt(np.mean((effects - np.mean(effects, axis=0)) ** 2, axis=0))
    moved = sizes > _LEAST_LOAD * np.max(sizes)
    for _ in range(_STEPS):
        effects = rows.whole @ pi
        slopes = np.concatenate([effects[..., np.newaxis] * np.eye(n)[:, moved],
                                 k[:, np.newaxis] * rows.whole[..., others]], axis=-1)
        fit = rows.estimate(slopes, rows.efforts - k * effects - offsets)
        size = int(moved.sum())
        k[moved] += fit.x[:size]
        pi[others] += fit.x[size:-n]
        offsets += fit.x[-n:]
    k[~moved] = 1.0
    deviations, gain_deviations = np.full(10, np.inf), np.full(n, np.inf)
    deviations[0] = 0.0
    deviations[others] = np.sqrt(np.diag(fit.covariance))[size:-n]
    gain_deviations[moved] = np.sqrt(np.diag(fit.covariance))[:size]
    covariance = np.diag(np.full(10, 1e-12 * known_mass ** 2))
    covariance[np.ix_(others, others)] = fit.covariance[size:-n, size:-n]
    return Payload(payload.body, pi, deviations, known_mass, pi[1:4] / known_mass,
                   *_inertia(pi, covariance, rows.seen), k, gain_deviations)


def identify_payload_from(content: Mapping[str, Any], folder: Path, robot: Robot,
                          loaded: Dataset) -> tuple[Payload, Identification, Dataset]:
    """Payload, arm without it and recording of the arm, as the content of a YAML file describes.

    ``folder`` is that of the YAML file, and ``loaded`` the recording with the payload.
    """
    part = require_mapping(content.get('payload'), 'payload', ('without', 'body', 'known_mass'))
    mass = part.get('known_mass')
    if mass is not None:
        require_number('payload.known_mass', mass, 'give kg', closed=False)
    if not isinstance(part.get('without'), str):
        raise ParameterError(f'must name a recording, got {part.get("without")!r}',
                             subject='payload.without',
                             remedy='give the recording of the arm without the payload')
    empty = load_dataset(folder / part['without'], robot, settings_from(content))
    found = identify(empty, robot, estimate_settings(content))
    payload = identify_payload(loaded, found.model, found.signals, part.get('body'), mass)
    return payload, found, empty
