# SPDX-License-Identifier: Apache-2.0
"""``Identification``: identified parameters, their uncertainty, and a verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from robot_dynamics.dynamics.base_parameters import BaseParameters
from robot_dynamics.errors import Finding, ParameterError
from robot_dynamics.identification.consistent import impossible_bodies
from robot_dynamics.identification.least_squares import Essential
from robot_dynamics.identification.model import Model
from robot_dynamics.identification.model_selection import Choice
from robot_dynamics.identification.signals import SignalSettings
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import Robot

#: Verdicts, from good to bad.
GOOD, FAIR, POOR = 'good', 'fair', 'poor'


@dataclass(frozen=True)
class Missing:
    """Parameters that the recording does not determine, and a motion that would do so."""

    parameters: tuple[str, ...]
    motion: str


@dataclass(frozen=True, eq=False)
class Residuals:
    """Errors of predicted efforts by joint, shape (n,).

    ``rmse`` is the RMS of measured minus predicted effort, N m or N, ``relative`` the same divided
    by the RMS effort, and ``total`` the relative error of all joints together.
    """

    rmse: FloatArray
    relative: FloatArray
    total: float

    @classmethod
    def of(cls, errors: FloatArray, squares: FloatArray, rows: FloatArray) -> Residuals:
        """Residuals from sums of squares of errors and efforts of each joint."""
        safe = np.maximum(squares, 1e-300)
        return cls(np.sqrt(errors / np.maximum(rows, 1.0)), np.sqrt(errors / safe),
                   float(np.sqrt(np.sum(errors) / np.sum(safe))))

    @property
    def worst(self) -> int:
        """Index of the joint with the largest relative error."""
        return int(np.argmax(self.relative))

    def to_dict(self) -> dict[str, Any]:
        """Residuals in plain types."""
        return {'rmse': self.rmse.tolist(), 'relative': self.relative.tolist(),
                'total': self.total}


def base_dict(base: BaseParameters, values: FloatArray, deviations: FloatArray) -> dict[str, Any]:
    """Base parameters with values and deviations, classes, rank and condition in plain types."""
    return {
        'base': [{'name': name, 'value': float(value), 'standard_deviation': float(sd)}
                 for name, value, sd in zip(base.base_names, values, deviations, strict=True)],
        'classes': dict(zip(base.names, base.classes, strict=True)), 'rank': base.rank}


def findings_list(findings: Sequence[Finding]) -> list[dict[str, str]]:
    """Findings in plain types."""
    return [{'severity': one.severity.value, 'subject': one.subject, 'message': one.message,
             'remedy': one.remedy} for one in findings]


@dataclass(frozen=True, eq=False)
class Identification:
    """Result of `identify`.

    Parameters
    ----------
    model : Model
        The arm with all its parameters: bodies and friction.
    covariance : ndarray, shape (p, p)
        Covariance of `Model.parameters`, with that of the prior: the description is assumed to
        have the deviation `description_deviation`.
    base : BaseParameters
        Base parameters of the recording, of bodies and friction together.
    base_values, base_covariance : ndarray, shape (r,) and (r, r)
        Base parameters by least squares without a prior, and their covariance, which accounts
        for correlated errors of neighbouring samples.
    structural_rank : int
        Number of structural base parameters of bodies and armatures.
    estimator : str
        Estimator of `model`.
    in_sample, validation : Residuals
        Errors on the rows of the fit, and errors of each half of the recording predicted from the
        other half, with all selections made on that other half.
    signals : SignalSettings
        Filters and lag.
    tilt : ndarray, shape (2,)
        Angles of gravity relative to the description, rad.
    choices : tuple of Choice
        Selected settings and the reasons.
    findings : tuple of Finding
        Remarks for the user.
    verdict : {'good', 'fair', 'poor'}
        Whether to use the model.
    verdict_reasons : tuple of str
        Reasons of the verdict.
    worst : tuple of (float, float, float)
        Start and end (s) of the worst pieces of three seconds, and their relative errors.
    halves : tuple of Model, Model
        Models from each half: the first predicts the time after `middle`, the second the
        time before.
    middle : float
        Time between the halves, s.
    missing : tuple of Missing
        Undetermined parameters of bodies, and motions that determine them.
    seconds : mapping of str to float
        Duration of each stage of the computation, s.
    essential : Essential, optional
        Essential base parameters by weighted least squares, if requested.
    reference : ndarray, shape (n,)
        Efforts that the verdict compares errors with, N m or N: effort limits, or the largest
        measured range.
    description_deviation : float
        Relative standard deviation of described masses that is assumed in `covariance`; 0 if the
        estimator has no prior.

    See Also
    --------
    identify, robot_dynamics.identification.outputs.make_outputs

    Examples
    --------
    >>> import numpy as np
    >>> from robot_dynamics import Dynamics, Robot
    >>> from robot_dynamics.identification import (EstimateSettings, dataset_from_arrays, identify)
    >>> robot = Robot.from_urdf('urdf/planar_2r.urdf')
    >>> t, w = np.arange(0.0, 20.0, 0.01)[:, None], np.array([1.0, 1.7])
    >>> q, v, a = np.sin(w * t), w * np.cos(w * t), -w**2 * np.sin(w * t)
    >>> tau = Dynamics(robot).inverse_dynamics(q, v, a) + 0.3 * v
    >>> dataset = dataset_from_arrays(robot, t[:, 0], q, tau)
    >>> found = identify(dataset, robot, EstimateSettings(
    ...     friction='coulomb', armature=False, cutoff=5.0, lag=0.0))
    >>> found.validation.total < 0.01, found.is_consistent
    (True, True)
    >>> found.identified_robot().joint_names == robot.joint_names
    True
    """

    model: Model
    covariance: FloatArray
    base: BaseParameters
    base_values: FloatArray
    base_covariance: FloatArray
    structural_rank: int
    estimator: str
    in_sample: Residuals
    validation: Residuals
    signals: SignalSettings
    tilt: FloatArray
    choices: tuple[Choice, ...]
    findings: tuple[Finding, ...]
    verdict: str
    verdict_reasons: tuple[str, ...]
    worst: tuple[tuple[float, float, float], ...]
    halves: tuple[Model, Model]
    middle: float
    missing: tuple[Missing, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)
    essential: Essential | None = None
    reference: FloatArray = field(default_factory=lambda: np.zeros(0))
    description_deviation: float = 0.0

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all parameters."""
        return self.model.names

    @property
    def parameters(self) -> dict[str, float]:
        """All parameters by name."""
        return dict(zip(self.names, self.model.parameters.tolist(), strict=True))

    @property
    def standard_deviations(self) -> dict[str, float]:
        """Standard deviations of all parameters by name, given the prior."""
        return dict(zip(self.names, np.sqrt(np.diag(self.covariance)).tolist(), strict=True))

    @property
    def base_deviations(self) -> FloatArray:
        """Standard deviations of the base parameters, shape (r,)."""
        return np.sqrt(np.diag(self.base_covariance))

    @property
    def relative_deviations(self) -> FloatArray:
        """Standard deviations of the base parameters relative to their values, shape (r,)."""
        with np.errstate(divide='ignore'):
            return self.base_deviations / np.abs(self.base_values)

    @property
    def classes(self) -> dict[str, str]:
        """Class of each parameter by name: independent, combined or unidentifiable."""
        return dict(zip(self.base.names, self.base.classes, strict=True))

    @property
    def essential_parameters(self) -> dict[str, tuple[float, float]]:
        """Value and standard deviation of each essential base parameter, by name."""
        if self.essential is None:
            return {}
        names, fit = self.base.base_names, self.essential.fit
        deviations = np.sqrt(np.diag(fit.covariance))
        return {names[k]: (float(value), float(sd)) for k, value, sd in zip(
            self.essential.columns, fit.x, deviations, strict=True)}

    def confidence_interval(self, level: float = 0.95) -> FloatArray:
        """Interval of each base parameter at a confidence level, shape (r, 2)."""
        if not 0.0 < level < 1.0:
            raise ParameterError(f'must be between 0 and 1, got {level!r}', subject='level',
                                 remedy='give a probability')
        from scipy.special import ndtri
        half = float(ndtri(0.5 + 0.5 * level)) * self.base_deviations
        return np.stack([self.base_values - half, self.base_values + half], axis=1)

    @property
    def is_consistent(self) -> bool:
        """Whether every body is physically consistent."""
        return not self.impossible_bodies

    @property
    def impossible_bodies(self) -> dict[str, str]:
        """Physically inconsistent bodies, and the violated condition of each."""
        return impossible_bodies(self.model.robot.body_names, self.model.inertial)

    def friction(self, term: str) -> dict[str, float]:
        """Parameter of a friction term by axis, of the axes that have the term."""
        return {self.model.axis_names[feature.axis]: float(value) for feature, value in zip(
            self.model.features, self.model.friction, strict=True) if feature.term == term}

    def identified_robot(self) -> Robot:
        """Robot with the identified inertial parameters and gravity."""
        return self.model.robot.with_parameters(self.model.inertial).with_gravity(
            self.model.gravity)

    def to_dict(self) -> dict[str, Any]:
        """Result in plain types, for JSON and YAML."""
        return {
            'verdict': self.verdict, 'verdict_reasons': list(self.verdict_reasons),
            'joints': list(self.model.robot.joint_names),
            'in_sample': self.in_sample.to_dict(), 'validation': self.validation.to_dict(),
            'estimator': self.estimator, 'consistent': self.is_consistent,
            'parameters': self.parameters, 'standard_deviations': self.standard_deviations,
            'friction_options': {name: feature.option for name, feature in zip(
                self.names[10 * self.model.robot.n_bodies:], self.model.features, strict=True)},
            'friction_axes': dict(zip(self.model.axis_names, self.model.axes.tolist(),
                                      strict=True)),
            'loads': self.model.loads.tolist(),
            'reference_efforts': self.reference.tolist(),
            'description_deviation': self.description_deviation,
            'gravity': self.model.gravity.tolist(), 'tilt': self.tilt.tolist(),
            **base_dict(self.base, self.base_values, self.base_deviations),
            'essential': {name: {'value': value, 'standard_deviation': sd} for name, (value, sd)
                          in self.essential_parameters.items()},
            'condition': self.base.condition, 'structural_rank': self.structural_rank,
            'signals': {'cutoff': self.signals.cutoff, 'order': self.signals.order,
                        'velocity': self.signals.velocity, 'derivative': self.signals.derivative,
                        'lag': self.signals.lag},
            'choices': [asdict(choice) for choice in self.choices],
            'findings': findings_list(self.findings),
            'missing': [{'parameters': list(one.parameters), 'motion': one.motion}
                        for one in self.missing],
            'worst': [list(one) for one in self.worst],
        }
