# SPDX-License-Identifier: Apache-2.0
"""``ElasticIdentification``: identified parameters of a robot with elastic joints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from robot_dynamics.dynamics.base_parameters import BaseParameters
from robot_dynamics.elastic.friction import StribeckFriction
from robot_dynamics.elastic.robot import ElasticRobot, ParameterOrder
from robot_dynamics.errors import Finding
from robot_dynamics.identification.elastic.encoders import Encoders, Loss, names_by_class
from robot_dynamics.identification.result import Residuals, base_dict, findings_list
from robot_dynamics.identification.signals import SignalSettings
from robot_dynamics.model.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class Curves:
    """Efforts over time, filtered as the equations: times, s, (M,), and efforts, N m or N, (M, m).

    For each measured coordinate: measured, by the fit, and by a fit to the other half of the
    recording.
    """

    time: FloatArray
    measured: FloatArray
    fitted: FloatArray
    held: FloatArray


@dataclass(frozen=True, eq=False)
class ElasticIdentification:
    """Result of `identify_elastic`.

    Parameters
    ----------
    robot : ElasticRobot
        The description.
    encoders : Encoders
        Measured links and motors.
    order : str
        Order of the parameters.
    base : BaseParameters
        Base parameters of the recording among the 14 n parameters.
    values, covariance : ndarray, shape (r,) and (r, r)
        Base parameters, and their covariance, which accounts for correlated errors of
        neighbouring samples.
    structural : BaseParameters
        Structural base parameters with these encoders.
    losses : tuple of Loss
        Parameters that are less well determined than with all encoders.
    friction : StribeckFriction, optional
        Friction of the motors beyond f_s and f_v, if requested.
    friction_deviations : ndarray, shape (n, 6)
        Standard deviations of f1 to f6; nan if not requested.
    estimator : str
        The estimator.
    in_sample, validation : Residuals
        Errors of each measured coordinate on the rows of the fit, and of each half predicted
        from the other. Errors of links are relative to the efforts of their motors, because
        efforts of links are zero.
    signals : SignalSettings
        Filters and lag.
    condition : float
        Condition number of the weighted equations with columns of unit length.
    verdict : {'good', 'fair', 'poor'}
        Whether to use the model.
    findings : tuple of Finding
        Remarks for the user.
    curves : Curves
        Efforts over time.

    See Also
    --------
    identify_elastic, Identification

    Examples
    --------
    >>> import numpy as np
    >>> from robot_dynamics import Robot
    >>> from robot_dynamics.elastic.dynamics import ElasticDynamics
    >>> from robot_dynamics.elastic.robot import ElasticJoints, ElasticRobot
    >>> from robot_dynamics.identification import (ElasticEstimateSettings,
    ...                                            elastic_dataset_from_arrays, identify_elastic)
    >>> robot = ElasticRobot(Robot.from_urdf('urdf/planar_2r.urdf'),
    ...                      ElasticJoints([50.0, 50.0], [1e-4, 1e-4], [500.0, 500.0]))
    >>> t, w = np.arange(0.0, 20.0, 0.01)[:, None], np.array([1.0, 1.7, 1.3, 2.1])
    >>> y, v, a = np.sin(w * t), w * np.cos(w * t), -w**2 * np.sin(w * t)
    >>> tau = ElasticDynamics(robot).regressor(y, v, a) @ robot.parameters('paper')
    >>> data = elastic_dataset_from_arrays(robot, t[:, 0], tau[:, 2:], q=y[:, :2],
    ...                                    theta=y[:, 2:], link_effort=tau[:, :2])
    >>> settings = ElasticEstimateSettings(cutoff=8.0, springs='all')
    >>> found = identify_elastic(data, robot, settings)
    >>> stiffness = found.independent[f'{robot.links.joint_names[0]}/stiffness']
    >>> round(stiffness[0])
    500
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
        """Independent parameters with their standard deviations."""
        kinds = self.classes
        return {self.base.names[k]: (float(value), float(sd)) for k, value, sd in zip(
            self.base.independent, self.values, self.deviations, strict=True)
            if kinds[self.base.names[k]] == 'independent'}

    def nearest_parameters(self) -> FloatArray:
        """Parameters nearest to the description with these base parameters, shape (14 n,)."""
        described = self.robot.parameters(self.order)
        B = self.base.matrix
        # Relative to their size, so that masses and inertias are weighted alike.
        size = np.abs(described) + 1e-3 * np.max(np.abs(self.values), initial=1.0)
        back = size[:, np.newaxis] * np.linalg.pinv(B * size)
        return described + back @ (self.values - B @ described)

    def identified_robot(self) -> ElasticRobot:
        """Robot nearest to its description with these base parameters.

        Raises
        ------
        ParameterError
            If a stiffness or a rotor inertia is negative.
        """
        return self.robot.with_parameters(self.nearest_parameters(), self.order)

    def to_dict(self) -> dict[str, Any]:
        """Result in plain types, for JSON and YAML."""
        return {
            'verdict': self.verdict, 'robot': self.robot.links.name,
            'joints': list(self.robot.links.joint_names),
            'encoders': {'links': list(self.encoders.links),
                         'motors': list(self.encoders.motors)},
            'estimator': self.estimator, **base_dict(self.base, self.values, self.deviations),
            'structural_rank': self.structural.rank, 'condition': self.condition,
            'losses': [{'name': loss.name, 'before': loss.before, 'after': loss.after,
                        'partners': list(loss.partners)} for loss in self.losses],
            'friction': None if self.friction is None else {
                'f': self.friction.coefficients.tolist(),
                'standard_deviations': self.friction_deviations.tolist()},
            'in_sample': self.in_sample.to_dict(), 'validation': self.validation.to_dict(),
            'signals': {'cutoff': self.signals.cutoff, 'order': self.signals.order,
                        'derivative': self.signals.derivative,
                        'velocity': self.signals.velocity},
            'findings': findings_list(self.findings),
        }

    def __str__(self) -> str:
        by_class = names_by_class(self.base.names, self.base)
        lines = [f'{self.verdict}: {self.base.rank} of {self.structural.rank} base parameters '
                 f'by {self.estimator}, {100 * self.validation.total:.2g} % error of the efforts '
                 'of each half predicted from the other']
        width = max(map(len, self.base.base_names), default=0)
        lines += [f'  {name:<{width}}  {value:12.6g} +- {sd:.2g}' for name, value, sd in zip(
            self.base.base_names, self.values, self.deviations, strict=True)]
        lines += [f'{kind}: {", ".join(names) or "none"}' for kind, names in by_class.items()]
        lines += [str(loss) for loss in self.losses]
        lines += [f'{finding.severity.value}: {finding}' for finding in self.findings]
        return '\n'.join(lines)
