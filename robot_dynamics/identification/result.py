# SPDX-License-Identifier: Apache-2.0
"""``Identification``: parameters, how well they are known, and whether to believe them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from robot_dynamics.dynamics.base_parameters import BaseParameters
from robot_dynamics.errors import Finding, ParameterError
from robot_dynamics.identification.least_squares import Essential
from robot_dynamics.identification.model import Model
from robot_dynamics.identification.model_selection import Choice
from robot_dynamics.identification.signals import SignalSettings
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.inertia import check_body
from robot_dynamics.model.robot import Robot

#: Verdicts, from good to bad.
GOOD, FAIR, POOR = 'good', 'fair', 'poor'


@dataclass(frozen=True)
class Missing:
    """Base parameters that a recording does not tell.

    Parameters
    ----------
    parameters : tuple of str
        In words, as `BaseParameters.base_names`.
    motion : str
        What would tell them.
    """

    parameters: tuple[str, ...]
    motion: str


@dataclass(frozen=True, eq=False)
class Residuals:
    """What is left of the efforts, by joint.

    Parameters
    ----------
    rmse : ndarray, shape (n,)
        Root mean square of measured minus predicted effort, N m or N.
    relative : ndarray, shape (n,)
        That over the root mean square of the effort.
    total : float
        The same of all joints together.
    """

    rmse: FloatArray
    relative: FloatArray
    total: float

    @classmethod
    def of(cls, errors: FloatArray, squares: FloatArray, rows: FloatArray) -> Residuals:
        """Make it of sums of squares of errors and efforts of each joint."""
        safe = np.maximum(squares, 1e-300)
        return cls(np.sqrt(errors / np.maximum(rows, 1.0)), np.sqrt(errors / safe),
                   float(np.sqrt(np.sum(errors) / np.sum(safe))))

    @property
    def worst(self) -> int:
        """Number of the joint with the largest relative error."""
        return int(np.argmax(self.relative))


@dataclass(frozen=True, eq=False)
class Identification:
    """What a recording tells of an arm.

    Parameters
    ----------
    model : Model
        The arm with all its parameters: bodies and friction.
    covariance : ndarray, shape (p, p)
        Of `Model.parameters`, given the pull towards the description.
    base : BaseParameters
        What the motion of the recording can tell, of bodies and friction together.
    base_values, base_covariance : ndarray, shape (r,) and (r, r)
        Base parameters by least squares, without any description, and their covariance,
        which counts that errors of neighbouring samples are alike.
    structural_rank : int
        Base parameters of the bodies (and armatures) that the best motion could tell.
    estimator : str
        Which estimator made `model`.
    in_sample, validation : Residuals
        On the rows of the fit; and of each half, predicted from the other, with every
        choice made in the other.
    signals : SignalSettings
        Filters and the like.
    tilt : ndarray, shape (2,)
        Of gravity against the description, rad.
    choices : tuple of Choice
        What was chosen and why.
    findings : tuple of Finding
        What a user should know.
    verdict : {'good', 'fair', 'poor'}
        Whether to use it.
    verdict_reasons : tuple of str
        Why.
    worst : tuple of (float, float, float)
        Start and end (s) of the worst three seconds, and the relative error there.
    halves : tuple of Model, Model
        What each half alone tells: the first predicts what comes after `middle`, the second
        what comes before.
    middle : float
        Where the halves meet, s.
    missing : tuple of Missing
        What the recording does not tell of the bodies, and which motion would.
    seconds : mapping of str to float
        How long each stage took.
    essential : Essential, optional
        Fewer base parameters that say the same, by weighted least squares, if asked for.
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
        """Standard deviations of all parameters by name, given the description."""
        return dict(zip(self.names, np.sqrt(np.diag(self.covariance)).tolist(), strict=True))

    @property
    def base_deviations(self) -> FloatArray:
        """Standard deviations of the base parameters, shape (r,)."""
        return np.sqrt(np.diag(self.base_covariance))

    @property
    def relative_deviations(self) -> FloatArray:
        """Standard deviations of the base parameters over their size, shape (r,)."""
        with np.errstate(divide='ignore'):
            return self.base_deviations / np.abs(self.base_values)

    @property
    def classes(self) -> dict[str, str]:
        """Whether each parameter is independent, combined or unidentifiable, by name."""
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
        """Return between what a base parameter lies with a probability, shape (r, 2)."""
        if not 0.0 < level < 1.0:
            raise ParameterError(f'is {level!r}', subject='level', remedy='give a probability')
        from scipy.special import ndtri
        half = float(ndtri(0.5 + 0.5 * level)) * self.base_deviations
        return np.stack([self.base_values - half, self.base_values + half], axis=1)

    @property
    def is_consistent(self) -> bool:
        """Whether every body is one that can exist."""
        return not self.impossible_bodies

    @property
    def impossible_bodies(self) -> dict[str, str]:
        """Bodies that cannot exist, and why not."""
        verdicts = {name: check_body(ten) for name, ten in zip(
            self.model.robot.body_names, self.model.inertial.reshape(-1, 10), strict=True)}
        return {name: one.violation for name, one in verdicts.items() if not one.is_consistent}

    def friction(self, term: str) -> dict[str, float]:
        """Return the parameter of a friction term of each axis that has it, by its name."""
        return {self.model.axis_names[feature.axis]: float(value) for feature, value in zip(
            self.model.features, self.model.friction, strict=True) if feature.term == term}

    def identified_robot(self) -> Robot:
        """Return the robot with the inertial parameters and the gravity identified."""
        return self.model.robot.with_parameters(self.model.inertial).with_gravity(
            self.model.gravity)

    def to_dict(self) -> dict[str, Any]:
        """Return everything in plain types, for JSON and YAML."""
        return {
            'verdict': self.verdict, 'verdict_reasons': list(self.verdict_reasons),
            'joints': list(self.model.robot.joint_names),
            'in_sample': _plain(self.in_sample), 'validation': _plain(self.validation),
            'estimator': self.estimator, 'consistent': self.is_consistent,
            'parameters': self.parameters, 'standard_deviations': self.standard_deviations,
            'friction_options': {name: feature.option for name, feature in zip(
                self.names[10 * self.model.robot.n_bodies:], self.model.features, strict=True)},
            'gravity': self.model.gravity.tolist(), 'tilt': self.tilt.tolist(),
            'base': [{'name': name, 'value': float(value), 'standard_deviation': float(sd)}
                     for name, value, sd in zip(self.base.base_names, self.base_values,
                                                self.base_deviations, strict=True)],
            'essential': {name: {'value': value, 'standard_deviation': sd} for name, (value, sd)
                          in self.essential_parameters.items()},
            'classes': self.classes, 'condition': self.base.condition, 'rank': self.base.rank,
            'structural_rank': self.structural_rank,
            'signals': {'cutoff': self.signals.cutoff, 'order': self.signals.order,
                        'velocity': self.signals.velocity, 'derivative': self.signals.derivative,
                        'lag': self.signals.lag},
            'choices': [{'what': c.what, 'value': c.value, 'reason': c.reason}
                        for c in self.choices],
            'findings': [{'severity': f.severity.value, 'subject': f.subject,
                          'message': f.message, 'remedy': f.remedy} for f in self.findings],
            'missing': [{'parameters': list(one.parameters), 'motion': one.motion}
                        for one in self.missing],
            'worst': [list(one) for one in self.worst],
        }


def _plain(residuals: Residuals) -> dict[str, Any]:
    return {'rmse': residuals.rmse.tolist(), 'relative': residuals.relative.tolist(),
            'total': residuals.total}
