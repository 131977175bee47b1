# SPDX-License-Identifier: Apache-2.0
"""``identify_elastic``: from a log of links and motors to an `ElasticIdentification`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Real

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.dynamics.base_parameters import BaseParameters, base_parameters
from robot_dynamics.elastic.dynamics import ElasticDynamics
from robot_dynamics.elastic.friction import StribeckFriction
from robot_dynamics.elastic.parameters import ParameterOrder
from robot_dynamics.elastic.robot import ElasticRobot
from robot_dynamics.errors import ParameterError, RecordingError
from robot_dynamics.identification.elastic.dataset import ElasticDataset
from robot_dynamics.identification.elastic.encoders import (
    Encoders,
    losses,
    measured_base_parameters,
    require_fit,
)
from robot_dynamics.identification.elastic.equations import ElasticStack
from robot_dynamics.identification.elastic.friction import (
    StribeckSpeeds,
    find_speeds,
    stribeck_columns,
)
from robot_dynamics.identification.elastic.resolution import unseen_springs
from robot_dynamics.identification.elastic.result import ElasticIdentification
from robot_dynamics.identification.estimators.linear import (
    ESTIMATORS,
    Equations,
    LinearFit,
    estimate,
)
from robot_dynamics.identification.judge import CONDITION, FAIR_ERROR, GOOD_ERROR
from robot_dynamics.identification.result import FAIR, GOOD, POOR, Residuals
from robot_dynamics.identification.signals import SignalSettings, cutoff_of
from robot_dynamics.identification.signals.motion import WIDER
from robot_dynamics.identification.signals.spectrum import OF_RATE
from robot_dynamics.model.findings import Finding, Severity

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: What is left of a column that counts as nothing, in the columns of a recording.
RECORDED_TOLERANCE = 1e-5
#: Errors are taken to be correlated over so long, s.
CORRELATION = 1.0
#: Kinds of friction: f_s and f_v, or those of eq. 43, or what predicts better.
FRICTION = ('coulomb', 'stribeck', 'auto')
#: Richer friction has to leave less than this part of the error of predictions. Its terms are
#: nearly alike where speeds do not differ much, and a little noise spreads them widely.
GAIN = 0.5
#: Cut-offs that are tried, in those that the spectrum of the positions suggests.
CUTOFFS = (1.0, 2.0, 4.0, 8.0)


@dataclass(frozen=True)
class ElasticEstimateSettings:
    """How to estimate; what is not given is chosen.

    Parameters
    ----------
    estimator : str
        One of `robot_dynamics.identification.estimators.linear.ESTIMATORS`.
    friction : {'coulomb', 'stribeck', 'auto'}
        f_s and f_v alone, friction that falls from standstill (eq. 43), or the latter where
        each half of the recording is predicted much better from the other (`GAIN`).
    cutoff : float, optional
        Of the equations, Hz; if not given, the one with which the base parameters are known
        best: whose confidence ellipsoid has the smallest volume.
    order : int
        Of the filters.
    derivative : str
        How to differentiate.
    velocity_threshold : float, optional
        Equations of motors that are slower are left out, rad/s or m/s; those of motors that
        stand still if not given.
    lag : float
        By how much efforts come later than the positions they belong to, s. Commands that
        are held until the next one come half a period before what acts on average.
    springs : {'auto', 'all'}
        Whether springs that give way less than encoders can tell are taken to be rigid.
    parameters : {'paper', 'tables', 'bodies'}
        Order of the parameters; of those that can only be told together the first stand for all.
    """

    estimator: str = 'wls'
    friction: str = 'coulomb'
    cutoff: float | None = None
    order: int = 4
    derivative: str = 'central'
    velocity_threshold: float | None = None
    lag: float = 0.0
    springs: str = 'auto'
    parameters: ParameterOrder = 'paper'

    def __post_init__(self) -> None:
        for name, known in (('estimator', tuple(ESTIMATORS)), ('friction', FRICTION),
                            ('springs', ('auto', 'all'))):
            if getattr(self, name) not in known:
                raise ParameterError(f'is {getattr(self, name)!r}', subject=name,
                                     remedy='choose among ' + ', '.join(known))
        for name, least in (('cutoff', np.nextafter(0.0, 1.0)), ('velocity_threshold', 0.0)):
            value = getattr(self, name)
            if value is not None and not (isinstance(value, Real) and least <= value < np.inf):
                raise ParameterError(f'is {value!r}', subject=name,
                                     remedy='give a positive number')
        if not (isinstance(self.lag, Real) and np.isfinite(self.lag)):
            raise ParameterError(f'is {self.lag!r}', subject='lag', remedy='give seconds')


def identify_elastic(data: ElasticDataset, robot: ElasticRobot,
                     settings: ElasticEstimateSettings | None = None) -> ElasticIdentification:
    """Identify a robot with elastic joints.

    Parameters
    ----------
    data : ElasticDataset
        A log of its links and motors.
    robot : ElasticRobot
        Its description, of which kinematics, gear ratios and rotor axes have to be right.
    settings : ElasticEstimateSettings, optional
        What is not left to the data.

    Returns
    -------
    ElasticIdentification
        Base parameters with standard deviations, three classes of parameters, and what
        missing encoders cost.
    """
    settings = ElasticEstimateSettings() if settings is None else settings
    require_fit(data.encoders, robot)
    if data.dataset.joint_names != data.encoders.names(robot):
        raise RecordingError('is of other joints: ' + ', '.join(data.dataset.joint_names),
                             subject=data.source, remedy='load it with this robot')
    dynamics, order = ElasticDynamics(robot), settings.parameters
    data, stiff = _with_seen_springs(data, robot, settings)
    whole = measured_base_parameters(dynamics, Encoders.both(robot.n), order)
    structural = measured_base_parameters(dynamics, data.encoders, order)
    stacks = _stacks(dynamics, data, settings)
    base = _recorded(stacks[0], structural)
    problems = [_Problem(dynamics, stack, base, settings) for stack in stacks]
    problem, fit, speeds, in_sample, validation = _solved(problems, settings.friction)
    friction, friction_deviations = problem.friction(fit, speeds)
    verdict, findings = _judged(base, structural, validation, problem.condition(fit), fit)
    r = base.rank
    return ElasticIdentification(
        robot, data.encoders, order, base, fit.x[:r], fit.covariance[:r, :r], structural,
        losses(whole, structural), friction, friction_deviations, settings.estimator, in_sample,
        validation, problem.stack.settings, problem.condition(fit), verdict,
        data.dataset.findings + stiff + findings)


def _with_seen_springs(data: ElasticDataset, robot: ElasticRobot,
                       settings: ElasticEstimateSettings
                       ) -> tuple[ElasticDataset, tuple[Finding, ...]]:
    """Return the log with springs that nothing is seen of as rigid ones, and which they are."""
    if settings.springs == 'all':
        return data, ()
    cutoff = cutoff_of(data.dataset) if settings.cutoff is None else settings.cutoff
    joints = unseen_springs(data, cutoff)
    if not joints:
        return data, ()
    return data.with_rigid(joints), tuple(Finding(
        Severity.WARNING, robot.links.joint_names[joint], 'its spring gives way less than its '
        'encoders can tell, and is taken to be rigid',
        'load the joint more, or use finer encoders') for joint in joints)


def _stacks(dynamics: ElasticDynamics, data: ElasticDataset, settings: ElasticEstimateSettings
            ) -> list[ElasticStack]:
    """Return equations with the cut-off that is asked for, or with all that are tried."""
    measured = data.dataset.velocity_source == 'measured' and data.dataset.has_velocity
    first = cutoff_of(data.dataset)
    tried = [settings.cutoff] if settings.cutoff is not None else sorted(
        {min(share * first, OF_RATE / data.dataset.period) for share in CUTOFFS})
    stacks, refused = [], None
    for cutoff in tried:
        signals = SignalSettings(cutoff, settings.order, settings.derivative,
                                 'measured' if measured else 'position', lag=settings.lag)
        try:
            stacks.append(ElasticStack(dynamics, data, signals, settings.parameters,
                                       velocity_threshold=settings.velocity_threshold))
        except RecordingError as error:
            # Too few rows at a low cut-off; a higher one may have enough.
            refused = error
    if not stacks:
        raise refused
    return stacks


def _solved(problems: list[_Problem], friction: str
            ) -> tuple[_Problem, LinearFit, StribeckSpeeds | None, Residuals, Residuals]:
    """Return the problem with the best cut-off and friction, its solution and its errors."""
    found = []
    for kind in ('coulomb', 'stribeck') if friction == 'auto' else (friction,):
        solved = [(problem, *problem.solve(kind)) for problem in problems if problem.is_enough]
        if not solved:
            raise RecordingError('is too short for its parameters',
                                 subject=problems[0].stack.data.source,
                                 remedy='record longer, or give a higher cutoff')
        best = min(solved, key=lambda one: one[0].volume(one[1]))
        found.append((*best, *best[0].residuals(*best[1:])))
    plain, rich = found[0], found[-1]
    return rich if rich[4].total < GAIN * plain[4].total else plain


def _recorded(stack: ElasticStack, structural: BaseParameters) -> BaseParameters:
    """Return what a recording tells: what any motion could, or less."""
    W = stack.equations().W
    R = np.linalg.qr(W, mode='r')
    recorded = base_parameters(R, structural.names, method='gauss_jordan',
                               tolerance=RECORDED_TOLERANCE)
    # What follows from the equations is known without rounding and noise.
    return structural if recorded.rank >= structural.rank else recorded


class _Problem:
    """Least squares of a recording in its base, with the friction that is asked for."""

    def __init__(self, dynamics: ElasticDynamics, stack: ElasticStack, base: BaseParameters,
                 settings: ElasticEstimateSettings):
        self.stack, self.base, self.settings = stack, base, settings
        self.n = dynamics.n
        self._joint_names = dynamics.robot.links.joint_names
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

    def residuals(self, fit: LinearFit, speeds: StribeckSpeeds | None
                  ) -> tuple[Residuals, Residuals]:
        """Return what is left of the efforts, in the fit and of each half from the other."""
        equations = self.equations(speeds)
        middle = len(self.stack.time) // 2
        first = equations.order < middle
        left = np.empty(len(equations.y))
        for train in (first, ~first):
            part = replace(equations, W=equations.W[train], y=equations.y[train],
                           joint=equations.joint[train], order=equations.order[train],
                           Z=None if equations.Z is None else equations.Z[train])
            x = estimate('wls' if equations.Z is None else 'iv', part).x
            left[~train] = equations.y[~train] - equations.W[~train] @ x
        return self._residuals(equations, fit.residual), self._residuals(equations, left)

    def condition(self, fit: LinearFit) -> float:
        """Return the condition number of the weighted base columns of unit length."""
        equations = self.stack.equations(self._columns)
        W = equations.W / fit.sigma[equations.joint, np.newaxis]
        return float(np.linalg.cond(W / np.linalg.norm(W, axis=0)))

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


def _judged(base: BaseParameters, structural: BaseParameters, validation: Residuals,
            condition: float, fit: LinearFit) -> tuple[str, tuple[Finding, ...]]:
    """Return a verdict and what to do."""
    findings = []
    verdict = (GOOD if validation.total <= GOOD_ERROR else
               FAIR if validation.total <= FAIR_ERROR else POOR)
    if base.rank < structural.rank:
        findings.append(Finding(
            Severity.WARNING, 'recording', f'tells {base.rank} of {structural.rank} base '
            'parameters', 'move every joint, several at a time, with changing speed'))
    if condition > CONDITION:
        findings.append(Finding(
            Severity.INFO, 'recording', f'has a condition number of {condition:.0f}: the motion '
            'hardly tells some parameters apart', 'move faster, in more ways'))
    for name, value, sd in zip(base.base_names, fit.x, np.sqrt(np.diag(fit.covariance)),
                               strict=False):
        if name.endswith(('/stiffness', '/rotor_inertia')) and value < 2.0 * sd:
            verdict = POOR if value < 0.0 else verdict
            findings.append(Finding(
                Severity.WARNING, name, f'is {value:.3g} +- {sd:.2g}', 'record more motion under '
                'load, or with finer encoders; check sign and unit of the efforts'))
    return verdict, tuple(findings)


__all__ = ['ElasticEstimateSettings', 'identify_elastic']
