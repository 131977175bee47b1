# SPDX-License-Identifier: Apache-2.0
"""Identification from the normal equations of several recordings, made in any process.

Normal equations add up, so that recordings need not be read together. A recording of an hour
becomes a few megabytes. The signal settings and the friction terms have to be the same for all
recordings, and known: those of an earlier `identify` of the arm.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robot_dynamics.errors import ParameterError, RecordingError
from robot_dynamics.identification.consistent import fit_consistent, posterior_covariance
from robot_dynamics.identification.dataset.dataset import Dataset
from robot_dynamics.identification.friction import LOADED, check_terms
from robot_dynamics.identification.model import Model
from robot_dynamics.identification.model_selection import PRIOR_WEIGHTS, ModelSelector
from robot_dynamics.identification.normal_equations import NormalEquations
from robot_dynamics.identification.observation_matrix import Stack
from robot_dynamics.identification.result import Residuals
from robot_dynamics.identification.signals import SignalSettings
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import Robot

#: Blocks of time of each recording, for cross-validation.
BLOCKS = 4


@dataclass(frozen=True, eq=False)
class SharedIdentification:
    """A model of several recordings."""

    #: Bodies, friction and gravity.
    model: Model
    #: Standard deviations of its parameters, with the error of the description, shape (p,).
    #: Errors of rows count as independent.
    deviations: FloatArray
    #: Assumed relative deviation of the description.
    description_deviation: float
    #: Errors in all recordings, and of each half of the recordings predicted from the other.
    in_sample: Residuals
    validation: Residuals


def recording_equations(dataset: Dataset, robot: Robot, signals: SignalSettings,
                        friction: str | Sequence[str], coulomb_width: float = 0.02
                        ) -> NormalEquations:
    """Normal equations of a recording, to be sent to another process.

    Parameters
    ----------
    dataset : Dataset
        The recording.
    robot : Robot
        The description of the arm.
    signals : SignalSettings
        Cut-off, source of velocities and lag, such as `Identification.signals` of the arm.
    friction : str or sequence of str
        Name of a family of friction terms, or terms; not load-dependent ones.
    coulomb_width : float
        Width of the smooth sign of Coulomb friction, rad/s or m/s.

    See Also
    --------
    identify_shared

    Examples
    --------
    >>> import numpy as np
    >>> from robot_dynamics import Robot
    >>> from robot_dynamics.identification import (SignalSettings, dataset_from_arrays,
    ...                                            recording_equations)
    >>> robot = Robot.from_urdf('urdf/planar_2r.urdf')
    >>> t = np.arange(0.0, 20.0, 0.01)
    >>> q = np.sin(np.outer(t, [1.0, 1.7]))
    >>> dataset = dataset_from_arrays(robot, t, q, np.zeros_like(q))
    >>> recording_equations(dataset, robot, SignalSettings(5.0), 'coulomb').blocks
    4
    """
    terms = check_terms(friction)
    loaded = [term for term in terms if term in LOADED]
    if loaded:
        raise ParameterError('depends on the load, and its columns change with the estimate',
                             subject=loaded[0], remedy='choose other friction terms')
    stack = Stack(robot, dataset, signals, terms, coulomb_width=coulomb_width)
    return NormalEquations(stack, BLOCKS).without_rows()


def identify_shared(parts: Sequence[NormalEquations]) -> SharedIdentification:
    """Identify an arm from the normal equations of its recordings.

    Parameters
    ----------
    parts : sequence of NormalEquations
        Those of `recording_equations`, of one arm.

    See Also
    --------
    recording_equations, identify

    Examples
    --------
    >>> import numpy as np
    >>> from robot_dynamics import Dynamics, Robot
    >>> from robot_dynamics.identification import (SignalSettings, dataset_from_arrays,
    ...                                            identify_shared, recording_equations)
    >>> robot = Robot.from_urdf('urdf/planar_2r.urdf')
    >>> parts = []
    >>> for w in ([1.0, 1.7], [1.3, 0.9]):
    ...     t, w = np.arange(0.0, 20.0, 0.01)[:, None], np.array(w)
    ...     q, v, a = np.sin(w * t), w * np.cos(w * t), -w**2 * np.sin(w * t)
    ...     tau = Dynamics(robot).inverse_dynamics(q, v, a) + 0.3 * v
    ...     parts.append(recording_equations(dataset_from_arrays(robot, t[:, 0], q, tau), robot,
    ...                                      SignalSettings(5.0), 'coulomb'))
    >>> found = identify_shared(parts)
    >>> values = dict(zip(found.model.names, found.model.parameters.tolist()))
    >>> round(values['joint1/viscous'], 2)
    0.3
    """
    if not parts:
        raise RecordingError('are missing', subject='normal equations', remedy='give one or more')
    normal = NormalEquations.joined(parts)
    stack = normal.stack
    selector = ModelSelector(stack, normal.blocks, families={'given': stack.terms}, normal=normal)
    every = np.arange(normal.blocks)
    halves = every[:len(every) // 2], every[len(every) // 2:]
    predicted = [selector.errors(selector.choose(train, prior_weights=PRIOR_WEIGHTS), test)
                 for train, test in (halves, halves[::-1])]
    chosen = selector.choose(every, prior_weights=PRIOR_WEIGHTS)
    whole = np.tensordot(chosen.fit.weights, selector.products(chosen), 1)
    fit = fit_consistent(whole[:-1, :-1], whole[:-1, -1], selector.prior, chosen.prior_weight,
                         chosen.fit.x)
    covariance, described = posterior_covariance(fit, whole[:-1, :-1], selector.prior,
                                                 chosen.prior_weight)
    return SharedIdentification(
        chosen.model, np.sqrt(np.diag(covariance)), described,
        Residuals.of(*selector.errors(chosen, every)),
        Residuals.of(*(one + other for one, other in zip(*predicted, strict=True))))
