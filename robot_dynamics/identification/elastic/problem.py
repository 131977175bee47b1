# SPDX-License-Identifier: Apache-2.0
"""``Problem``: least squares of a recording of links and motors, in what it tells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from robot_dynamics.dynamics.base_parameters import BaseParameters
from robot_dynamics.elastic.dynamics import ElasticDynamics
from robot_dynamics.elastic.friction import StribeckFriction
from robot_dynamics.errors import RecordingError
from robot_dynamics.identification.elastic.equations import ElasticStack
from robot_dynamics.identification.elastic.friction import (
    StribeckSpeeds,
    find_speeds,
    stribeck_columns,
)
from robot_dynamics.identification.elastic.result import Curves
from robot_dynamics.identification.elastic.settings import ElasticEstimateSettings
from robot_dynamics.identification.estimators.linear import Equations, LinearFit, estimate
from robot_dynamics.identification.result import Residuals
from robot_dynamics.identification.signals.motion import WIDER
from robot_dynamics.model.arrays import FloatArray

#: Errors are taken to be correlated over so long, s.
CORRELATION = 1.0


class Problem:
    """Least squares of a recording in its base, with the friction that is asked for.

    Parameters
    ----------
    dynamics : ElasticDynamics
        The robot.
    stack : ElasticStack
        Equations of the recording.
    base : BaseParameters
        What they tell.
    settings : ElasticEstimateSettings
        How to estimate.
    """

    def __init__(self, dynamics: ElasticDynamics, stack: ElasticStack, base: BaseParameters,
                 settings: ElasticEstimateSettings):
        self.stack, self.base, self.settings = stack, base, settings
        self.n = dynamics.n
        self._joint_names = dynamics.robot.links.joint_names
        #: Parameters of the description, in the order of the columns.
        self.described = dynamics.robot.parameters(settings.parameters)
        self._columns = base.independent
        self._instruments: ElasticStack | None = None
        if settings.estimator == 'iv':
            low = replace(stack.settings, wider=stack.settings.wider / WIDER)
            self._instruments = ElasticStack(dynamics, stack.data, low, settings.parameters,
                                             like=stack)

    @property
    def is_enough(self) -> bool:
        """Whether there are enough equations in each half for all that may be asked for."""
        return np.count_nonzero(self.stack.used) > 2 * (self.base.rank + 4 * self.n)

    def volume(self, fit: LinearFit) -> float:
        """Return the logarithm of that of the confidence ellipsoid, up to a constant."""
        covariance = fit.covariance[:self.base.rank, :self.base.rank]
        size = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
        return float(np.linalg.slogdet(covariance / np.outer(size, size))[1]
                     + 2.0 * np.sum(np.log(size)))

    def solve(self, friction: str) -> tuple[LinearFit, StribeckSpeeds | None]:
        """Return base parameters, after them f3 and f5 of each motor, and its speeds."""
        if friction == 'coulomb':
            return self._estimate(self.equations(None)), None
        first = estimate('wls', self.stack.equations(self._columns))
        speeds = find_speeds(self.stack, self._columns, 1.0 / first.sigma)
        fit = self._estimate(self.equations(speeds))
        # Once more around the solution, for how well the speeds are known.
        tangent = self._estimate(self.equations(speeds, fit))
        return replace(fit, covariance=tangent.covariance), speeds

    def equations(self, speeds: StribeckSpeeds | None, around: LinearFit | None = None
                  ) -> Equations:
        """Return the equations with columns of friction, and of changes of its speeds."""
        if speeds is None:
            return self.stack.equations(self._columns,
                                        instruments=self._of_instruments(None, None))
        W = self._with_friction(self.stack, speeds, around)
        return self.stack.equations(None, W, self._of_instruments(speeds, around))

    def friction(self, fit: LinearFit, speeds: StribeckSpeeds | None
                 ) -> tuple[StribeckFriction | None, FloatArray]:
        """Return friction by eq. 43, and the deviations of f1 to f6."""
        deviations = np.full((self.n, 6), np.nan)
        if speeds is None:
            return None, deviations
        n, r = self.n, self.base.rank
        names = [self.base.names[k] for k in self.base.independent]
        plain = {kind: [next((k for k, name in enumerate(names) if name == f'{joint}/{kind}'),
                             None) for joint in self._joint_names]
                 for kind in ('coulomb', 'viscous')}
        if None in plain['coulomb'] + plain['viscous']:
            raise RecordingError('does not tell f_s and f_v of every motor',
                                 subject=self.stack.data.source, remedy='move every joint')
        sd = np.sqrt(np.diag(fit.covariance))
        rise, drop = fit.x[r:r + n], fit.x[r + n:r + 2 * n]
        deviations[:, 0], deviations[:, 1] = sd[plain['viscous']], sd[plain['coulomb']]
        deviations[:, 2], deviations[:, 4] = sd[r:r + n], sd[r + n:r + 2 * n]
        deviations[:, 3] = sd[r + 2 * n:r + 3 * n]
        deviations[:, 5] = sd[r + 3 * n:] / speeds.drop**2
        return StribeckFriction(fit.x[plain['viscous']], fit.x[plain['coulomb']], rise,
                                speeds.rise, drop, 1.0 / speeds.drop), deviations

    def power_of(self, fit: LinearFit, joint: int, effects: Mapping[str, float]
                 ) -> tuple[float, float]:
        """Return what friction takes from a motor, W, and its standard deviation.

        Parameters
        ----------
        fit : LinearFit
            The solution.
        joint : int
            Which motor.
        effects : mapping of str to float
            Power by a unit of ``coulomb`` and ``viscous``; what is not told by itself does not
            count.
        """
        weights = np.zeros(len(fit.x))
        for k, name in enumerate(self.base.base_names):
            who, _, kind = name.rpartition('/')
            if who == self._joint_names[joint]:
                weights[k] = effects.get(kind, 0.0)
        return float(weights @ fit.x), float(np.sqrt(weights @ fit.covariance @ weights))

    def residuals(self, fit: LinearFit, speeds: StribeckSpeeds | None
                  ) -> tuple[Residuals, Residuals]:
        """Return what is left of the efforts, in the fit and of each half from the other."""
        equations = self.equations(speeds)
        early = equations.order < self._middle
        x = self._halves(equations)
        left = equations.y - np.where(early, equations.W @ x[1], equations.W @ x[0])
        return self._residuals(equations, fit.residual), self._residuals(equations, left)

    def curves(self, fit: LinearFit, speeds: StribeckSpeeds | None) -> Curves:
        """Return filtered efforts, those of the fit, and those that each half did not see."""
        stack = self.stack
        W = stack.W[..., self._columns] if speeds is None else \
            self._with_friction(stack, speeds, None)
        x = self._halves(self.equations(speeds))
        early = np.arange(len(stack.time)) < self._middle
        held = np.where(early[:, np.newaxis], W @ x[1], W @ x[0])
        return Curves(stack.time, stack.y, W @ fit.x[:W.shape[2]], held)

    def condition(self, fit: LinearFit) -> float:
        """Return the condition number of the weighted base columns of unit length."""
        equations = self.stack.equations(self._columns)
        W = equations.W / fit.sigma[equations.joint, np.newaxis]
        return float(np.linalg.cond(W / np.linalg.norm(W, axis=0)))

    @property
    def _middle(self) -> int:
        return len(self.stack.time) // 2

    def _halves(self, equations: Equations) -> tuple[FloatArray, FloatArray]:
        """Return what the first half of the recording tells alone, and the second."""
        first = equations.order < self._middle
        out = []
        for train in (first, ~first):
            part = replace(equations, W=equations.W[train], y=equations.y[train],
                           joint=equations.joint[train], order=equations.order[train],
                           Z=None if equations.Z is None else equations.Z[train])
            out.append(estimate('wls' if equations.Z is None else 'iv', part).x)
        return out[0], out[1]

    def _residuals(self, equations: Equations, left: FloatArray) -> Residuals:
        count, encoders = len(self.stack.rubbing), self.stack.data.encoders
        size = int(equations.joint.max()) + 1
        errors = np.bincount(equations.joint, left**2, size)
        rows = np.bincount(equations.joint, minlength=size)
        driven = self.stack.rubbing[encoders.measured % count]
        efforts = np.bincount(equations.joint, equations.y**2, size)
        squares = efforts[driven] / np.maximum(rows[driven], 1) * rows
        told = Residuals.of(errors, squares, rows.astype(float))
        return replace(told, total=float(np.sqrt(np.sum(errors) / max(np.sum(efforts), 1e-300))))

    def _estimate(self, equations: Equations) -> LinearFit:
        return estimate(self.settings.estimator, equations,
                        correlation=CORRELATION * self.stack.rate)

    def _of_instruments(self, speeds: StribeckSpeeds | None, around: LinearFit | None
                        ) -> FloatArray | None:
        if self._instruments is None:
            return None
        if speeds is None:
            return self._instruments.W
        return self._with_friction(self._instruments, speeds, around)

    def _with_friction(self, stack: ElasticStack, speeds: StribeckSpeeds,
                       around: LinearFit | None) -> FloatArray:
        parts = [stack.W[..., self._columns], stribeck_columns(stack, speeds)]
        if around is not None:
            n, r = self.n, self.base.rank
            by = around.x[r:r + 2 * n]
            for more, size in (_stepped(speeds, 'rise'), _stepped(speeds, 'drop')):
                change = (stribeck_columns(stack, more) - parts[1]) * by
                parts.append((change[..., :n] + change[..., n:]) / size)
        return np.concatenate(parts, axis=-1)


def _stepped(speeds: StribeckSpeeds, name: str) -> tuple[StribeckSpeeds, FloatArray]:
    """Return speeds of which one kind is a little higher, and by how much."""
    size = 1e-4 * getattr(speeds, name)
    return replace(speeds, **{name: getattr(speeds, name) + size}), size
