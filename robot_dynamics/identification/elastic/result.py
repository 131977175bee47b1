# SPDX-License-Identifier: Apache-2.0
"""``ElasticIdentification``: what a recording tells of a robot with elastic joints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from robot_dynamics.dynamics.base_parameters import BaseParameters
from robot_dynamics.elastic.friction import StribeckFriction
from robot_dynamics.elastic.robot import ElasticRobot, ParameterOrder
from robot_dynamics.errors import Finding
from robot_dynamics.identification.elastic.encoders import Encoders, Loss, told_by
from robot_dynamics.identification.result import Residuals
from robot_dynamics.identification.signals import SignalSettings
from robot_dynamics.model.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class Curves:
    """Efforts over time, low-passed as the equations were.

    Parameters
    ----------
    time : ndarray, shape (M,)
        s.
    measured, fitted, held : ndarray, shape (M, m)
        Of each coordinate that is measured: as it was, by the fit, and by a fit to the half
        of the recording that has not seen it. N m or N.
    """

    time: FloatArray
    measured: FloatArray
    fitted: FloatArray
    held: FloatArray


@dataclass(frozen=True, eq=False)
class ElasticIdentification:
    """What a recording of links and motors tells.

    Parameters
    ----------
    robot : ElasticRobot
        The description.
    encoders : Encoders
        Which links and motors were measured.
    order : str
        Order of the parameters.
    base : BaseParameters
        What the recording can tell of the 14 n parameters.
    values, covariance : ndarray, shape (r,) and (r, r)
        Base parameters, and their covariance, which counts that errors of neighbouring
        samples are alike.
    structural : BaseParameters
        What the best motion could tell with these encoders.
    losses : tuple of Loss
        What could be told with encoders on both sides, and cannot be, or less, with these.
    friction : StribeckFriction, optional
        Friction of the motors where more than f_s and f_v of it was asked for.
    friction_deviations : ndarray, shape (n, 6)
        Of f1 to f6; nan where they were not asked for.
    estimator : str
        How they were estimated.
    in_sample, validation : Residuals
        Of the efforts of each coordinate that is measured, on the rows of the fit, and each
        half from a fit to the other. Those of links are relative to the efforts of the motors
        of the same joints, as their own are zero.
    signals : SignalSettings
        Filters and the like.
    condition : float
        Of the weighted equations with columns of unit length.
    verdict : {'good', 'fair', 'poor'}
        Whether to use it.
    findings : tuple of Finding
        What a user should know.
    curves : Curves
        Efforts over time.
    """

    robot: ElasticRobot
    encoders: Encoders
    order: ParameterOrder
    base: BaseParameters
    values: FloatArray
    covariance: FloatArray
    structural: BaseParameters
    losses: tuple[Loss, ...]
    friction: StribeckFriction | None
    friction_deviations: FloatArray
    estimator: str
    in_sample: Residuals
    validation: Residuals
    signals: SignalSettings
    condition: float
    verdict: str
    findings: tuple[Finding, ...]
    curves: Curves

    @property
    def deviations(self) -> FloatArray:
        """Standard deviations of the base parameters, shape (r,)."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def classes(self) -> dict[str, str]:
        """Class of each parameter: independent, combined or unidentifiable."""
        return dict(zip(self.base.names, self.base.classes, strict=True))

    @property
    def independent(self) -> dict[str, tuple[float, float]]:
        """Parameters that are told by themselves, with their standard deviations."""
        kinds = self.classes
        return {self.base.names[k]: (float(value), float(sd)) for k, value, sd in zip(
            self.base.independent, self.values, self.deviations, strict=True)
            if kinds[self.base.names[k]] == 'independent'}

    def nearest_parameters(self) -> FloatArray:
        """Return the parameters nearest to the description with these base parameters."""
        described = self.robot.parameters(self.order)
        B = self.base.matrix
        # Relative to their size, so that a mass does not give way for an inertia.
        size = np.abs(described) + 1e-3 * np.max(np.abs(self.values), initial=1.0)
        back = size[:, np.newaxis] * np.linalg.pinv(B * size)
        return described + back @ (self.values - B @ described)

    def identified_robot(self) -> ElasticRobot:
        """Return the robot nearest to its description that has these base parameters.

        Raises
        ------
        ParameterError
            Where a stiffness or a rotor inertia came out negative.
        """
        return self.robot.with_parameters(self.nearest_parameters(), self.order)

    def to_dict(self) -> dict[str, Any]:
        """Return everything in plain types, for JSON and YAML."""
        return {
            'verdict': self.verdict, 'robot': self.robot.links.name,
            'joints': list(self.robot.links.joint_names),
            'encoders': {'links': list(self.encoders.links),
                         'motors': list(self.encoders.motors)},
            'estimator': self.estimator, 'rank': self.base.rank,
            'structural_rank': self.structural.rank, 'condition': self.condition,
            'base': [{'name': name, 'value': float(value), 'standard_deviation': float(sd)}
                     for name, value, sd in zip(self.base.base_names, self.values,
                                                self.deviations, strict=True)],
            'classes': self.classes,
            'losses': [{'name': loss.name, 'before': loss.before, 'after': loss.after,
                        'partners': list(loss.partners)} for loss in self.losses],
            'friction': None if self.friction is None else {
                'f': self.friction.coefficients.tolist(),
                'standard_deviations': self.friction_deviations.tolist()},
            'in_sample': _plain(self.in_sample), 'validation': _plain(self.validation),
            'signals': {'cutoff': self.signals.cutoff, 'order': self.signals.order,
                        'derivative': self.signals.derivative,
                        'velocity': self.signals.velocity},
            'findings': [{'severity': f.severity.value, 'subject': f.subject,
                          'message': f.message, 'remedy': f.remedy} for f in self.findings],
        }

    def __str__(self) -> str:
        told = told_by(self.base.names, self.base)
        lines = [f'{self.verdict}: {self.base.rank} of {self.structural.rank} base parameters '
                 f'by {self.estimator}, {100 * self.validation.total:.2g} % error of the efforts '
                 'of each half predicted from the other']
        width = max(map(len, self.base.base_names), default=0)
        lines += [f'  {name:<{width}}  {value:12.6g} +- {sd:.2g}' for name, value, sd in zip(
            self.base.base_names, self.values, self.deviations, strict=True)]
        lines += [f'{kind}: {", ".join(names) or "none"}' for kind, names in told.items()]
        lines += [str(loss) for loss in self.losses]
        lines += [f'{finding.severity.value}: {finding}' for finding in self.findings]
        return '\n'.join(lines)


def _plain(residuals: Residuals) -> dict[str, Any]:
    return {'rmse': residuals.rmse.tolist(), 'relative': residuals.relative.tolist(),
            'total': residuals.total}
