# SPDX-License-Identifier: Apache-2.0
"""Least squares for links and motors, with Stribeck friction.

The equations are S^T Y Pi = S^T tau, filtered, row by row (see
`robot_dynamics.identification.elastic.encoders`).
Eq. 43 of Zollo et al., "Identification of Dynamic Parameters for Robots with Elastic
Joints" (see `robot_dynamics.elastic.friction`) is linear in f1 to f3 and f5, and nonlinear in the
speeds f4 and 1 / f6. For given speeds the other parameters follow by least squares, so that only
the speeds are searched (G. H. Golub and V. Pereyra, "The differentiation of pseudo-inverses and
nonlinear least squares problems whose variables separate", SIAM Journal on Numerical Analysis
10(2), 1973).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from robot_dynamics.dynamics.base_parameters import BaseParameters
from robot_dynamics.elastic.dynamics import ElasticDynamics
from robot_dynamics.elastic.friction import StribeckFriction
from robot_dynamics.elastic.robot import ParameterOrder
from robot_dynamics.errors import RecordingError
from robot_dynamics.identification.dataset.settings import (
    require_choice,
    require_number,
)
from robot_dynamics.identification.elastic.dataset import ElasticDataset
from robot_dynamics.identification.elastic.encoders import regressor
from robot_dynamics.identification.elastic.result import Curves
from robot_dynamics.identification.least_squares import (
    CORRELATION,
    ESTIMATORS,
    Equations,
    LinearFit,
    estimate,
)
from robot_dynamics.identification.observation_matrix import pieces_of, row_rate
from robot_dynamics.identification.result import Residuals
from robot_dynamics.identification.signals import WIDER, SignalSettings, low_pass, motions_of
from robot_dynamics.model.arrays import BoolArray, FloatArray, IntArray
from robot_dynamics.model.robot import position_units

#: Fraction of the RMS speed below which a motor is at standstill and the direction of its friction
#: unknown.
STANDSTILL = 0.02
_FEWEST_ROWS = 8
#: Initial speeds as fractions of the RMS speed of a motor.
_SHARES = np.geomspace(0.01, 1.0, 9)
#: Bounds of the speeds as fractions of it.
_RANGE = (1e-3, 3.0)
# Number of local optima that are refined.
_STARTS = 3
#: Kinds of friction: f_s and f_v, eq. 43, or the one with better predictions.
FRICTION = ('coulomb', 'stribeck', 'auto')


@dataclass(frozen=True)
class ElasticEstimateSettings:
    """Settings of `identify_elastic`.

    Parameters
    ----------
    estimator : str
        One of `robot_dynamics.identification.least_squares.ESTIMATORS`.
    friction : {'coulomb', 'stribeck', 'auto'}
        f_s and f_v alone, Stribeck friction (eq. 43), or the latter if it predicts each half of
        the recording much better from the other (`GAIN`).
    cutoff : float, optional
        Cut-off of the equations, Hz; by default the one with the smallest confidence ellipsoid
        of the base parameters.
    order : int
        Order of the filters.
    derivative : str
        Method of differentiation.
    velocity_threshold : float, optional
        Equations of slower motors are left out, rad/s or m/s; by default those at standstill.
    lag : float
        Lag of efforts behind the positions, s. Commands that are held until the next one precede
        their average effect by half a period.
    springs : {'auto', 'all'}
        Whether springs with deflections below the encoder resolution are taken as rigid.
    parameters : {'paper', 'tables', 'bodies'}
        Order of the parameters; of dependent ones the first represents all.

    Examples
    --------
    >>> from robot_dynamics.identification import ElasticEstimateSettings
    >>> ElasticEstimateSettings(friction='stribeck').estimator
    'wls'
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
        require_choice('estimator', self.estimator, tuple(ESTIMATORS))
        require_choice('friction', self.friction, FRICTION)
        require_choice('springs', self.springs, ('auto', 'all'))
        if self.cutoff is not None:
            require_number('cutoff', self.cutoff, 'give a frequency in Hz', closed=False)
        if self.velocity_threshold is not None:
            require_number('velocity_threshold', self.velocity_threshold,
                           'give a speed in rad/s or m/s')
        require_number('lag', self.lag, 'give s', -np.inf)


class ElasticStack:
    """Equations of all measured coordinates.

    All columns and efforts are filtered by the same low-pass and kept at twice its cut-off, as
    for rigid robots (`robot_dynamics.identification.observation_matrix`). Equations with friction
    of a motor slower than ``velocity_threshold``, by default `STANDSTILL` of its RMS speed, are
    not used; those of links have no friction. ``like`` is a stack of the same log with the used
    rows to take over.

    Attributes
    ----------
    W : ndarray, shape (M, m, 14 n)
        Columns.
    y : ndarray, shape (M, m)
        Efforts.
    time : ndarray, shape (M,)
        Times of the rows, s.
    used : ndarray of bool, shape (M, m)
        Equations that are used.
    rate : float
        Rows per second, Hz.
    """

    def __init__(self, dynamics: ElasticDynamics, data: ElasticDataset,
                 settings: SignalSettings, order: ParameterOrder, *,
                 velocity_threshold: float | None = None, like: ElasticStack | None = None):
        self.data, self.settings = data, settings
        self.n, self._units = dynamics.n, position_units(dynamics.robot.links)
        encoders = data.encoders
        # Equations with friction, which depends on the speed of these coordinates.
        has_motor = np.array(encoders.motors)
        motors = np.where(has_motor, self.n, 0) + np.arange(self.n)
        self.friction_rows = np.searchsorted(encoders.measured, motors)
        self.motions = motions_of(data.dataset, settings)
        self.rate = row_rate(self.motions[0].rate, settings.cutoff)
        columns, efforts, times, speeds = [], [], [], []
        for motion in self.motions:
            for outer, kept in pieces_of(motion, settings.cutoff):
                Y = regressor(dynamics, encoders, motion.q[outer], motion.v[outer],
                              motion.a[outer], order)
                columns.append(self._filtered(Y, motion.rate)[kept])
                efforts.append(self._filtered(motion.effort[outer], motion.rate)[kept])
                times.append(motion.time[outer][kept])
                speeds.append(motion.v[outer][kept])
        if not times or sum(map(len, times)) < _FEWEST_ROWS:
            raise RecordingError(f'is too short: {sum(map(len, times))} equations per joint',
                                 subject=data.source, remedy='record some more seconds')
        self.W, self.y = np.concatenate(columns), np.concatenate(efforts)
        self.time = np.concatenate(times)
        self.used: BoolArray = like.used if like is not None else self._fast_enough(
            np.concatenate(speeds)[:, self.friction_rows], velocity_threshold)

    def columns_of(self, joint: int, effects: Callable[[FloatArray], FloatArray]) -> FloatArray:
        """Filtered friction columns of a motor, (M, k), in the equations ``friction_rows[joint]``.

        ``effects`` maps speeds, (N,), to the effort per unit of each parameter, (N, k).
        """
        place = self.friction_rows[joint]
        return np.concatenate([
            self._filtered(effects(motion.v[outer, place]), motion.rate)[kept]
            for motion in self.motions for outer, kept in pieces_of(motion, self.settings.cutoff)])

    def equations(self, W: FloatArray, instruments: FloatArray | None = None) -> Equations:
        """Equations in use, one coordinate after the other, of columns of shape (M, m, p)."""
        # Sorted by coordinate, then time.
        coordinate, order = np.nonzero(self.used.T)
        return Equations(W[order, coordinate], self.y[order, coordinate], coordinate, order,
                         None if instruments is None else instruments[order, coordinate])

    def _filtered(self, x: FloatArray, rate: float) -> FloatArray:
        return low_pass(x, rate, self.settings.cutoff, self.settings.order)

    def _fast_enough(self, speed: FloatArray, threshold: float | None) -> BoolArray:
        used = np.ones(self.y.shape, dtype=bool)
        limits = np.full(self.n, threshold) if threshold is not None else \
            STANDSTILL * np.sqrt(np.mean(speed**2, axis=0))
        used[:, self.friction_rows] = np.abs(speed) >= limits
        for joint, place in enumerate(self.friction_rows):
            if np.count_nonzero(used[:, place]) < _FEWEST_ROWS:
                raise RecordingError(
                    f'exceeds {limits[joint]:.3g} {self._units[joint]}/s in '
                    f'{np.count_nonzero(used[:, place])} equations only',
                    subject=self.data.dataset.joint_names[place],
                    remedy='move it faster, or lower velocity_threshold')
        return used


class Problem:
    """Least squares of a recording in its base parameters, with a kind of friction."""

    def __init__(self, dynamics: ElasticDynamics, stack: ElasticStack, base: BaseParameters,
                 settings: ElasticEstimateSettings):
        self.stack, self.base, self.settings = stack, base, settings
        self.n = dynamics.n
        self._joint_names = dynamics.robot.links.joint_names
        #: Parameters of the description, in the order of the columns.
        self.described = dynamics.robot.parameters(settings.parameters)
        self._instruments: ElasticStack | None = None
        if settings.estimator == 'iv':
            low = replace(stack.settings, wider=stack.settings.wider / WIDER)
            self._instruments = ElasticStack(dynamics, stack.data, low, settings.parameters,
                                             like=stack)

    @property
    def is_enough(self) -> bool:
        """Whether each half has enough equations for all parameters."""
        return int(np.count_nonzero(self.stack.used)) > 2 * (self.base.rank + 4 * self.n)

    def volume(self, fit: LinearFit) -> float:
        """Logarithm of the volume of the confidence ellipsoid, up to a constant."""
        covariance = fit.covariance[:self.base.rank, :self.base.rank]
        size = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
        return float(np.linalg.slogdet(covariance / np.outer(size, size))[1]
                     + 2.0 * np.sum(np.log(size)))

    def solve(self, friction: str) -> tuple[LinearFit, StribeckSpeeds | None]:
        """Base parameters, followed by f3 and f5 of each motor, and the speeds of friction."""
        if friction == 'coulomb':
            return self._estimate(self.equations(None)), None
        plain = self.stack.equations(self._columns_of(self.stack, None))
        speeds = find_speeds(self.stack, plain, 1.0 / estimate('wls', plain).sigma)
        fit = self._estimate(self.equations(speeds))
        # Linearised around the solution, for the deviations of the speeds.
        tangent = self._estimate(self.equations(speeds, fit))
        return replace(fit, covariance=tangent.covariance), speeds

    def equations(self, speeds: StribeckSpeeds | None, around: LinearFit | None = None
                  ) -> Equations:
        """Equations with columns of friction, and of changes of its speeds around a solution."""
        Z = None if self._instruments is None else \
            self._columns_of(self._instruments, speeds, around)
        return self.stack.equations(self._columns_of(self.stack, speeds, around), Z)

    def friction(self, fit: LinearFit, speeds: StribeckSpeeds | None
                 ) -> tuple[StribeckFriction | None, FloatArray]:
        """Friction of eq. 43, and the standard deviations of f1 to f6, shape (n, 6)."""
        deviations = np.full((self.n, 6), np.nan)
        if speeds is None:
            return None, deviations
        n, r = self.n, self.base.rank
        names = [self.base.names[k] for k in self.base.independent]
        plain = {kind: [names.index(f'{joint}/{kind}') for joint in self._joint_names
                        if f'{joint}/{kind}' in names] for kind in ('coulomb', 'viscous')}
        if not len(plain['coulomb']) == len(plain['viscous']) == n:
            raise RecordingError('does not determine f_s and f_v of every motor',
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
        """Power that friction takes from a motor, W, and its standard deviation.

        ``effects`` maps ``coulomb`` and ``viscous`` to the power per unit; parameters that are not
        independent do not count.
        """
        weights = np.zeros(len(fit.x))
        for k, name in enumerate(self.base.base_names):
            owner, _, kind = name.rpartition('/')
            if owner == self._joint_names[joint]:
                weights[k] = effects.get(kind, 0.0)
        return float(weights @ fit.x), float(np.sqrt(weights @ fit.covariance @ weights))

    def residuals(self, fit: LinearFit, speeds: StribeckSpeeds | None
                  ) -> tuple[Residuals, Residuals]:
        """Residuals of the fit, and of each half predicted from the other."""
        equations = self.equations(speeds)
        early = equations.order < self._middle
        x = self._halves(equations)
        left = equations.y - np.where(early, equations.W @ x[1], equations.W @ x[0])
        return self._residuals(equations, fit.residual), self._residuals(equations, left)

    def curves(self, fit: LinearFit, speeds: StribeckSpeeds | None) -> Curves:
        """Filtered efforts, measured, fitted, and predicted from the other half."""
        stack = self.stack
        W = self._columns_of(stack, speeds)
        x = self._halves(self.equations(speeds))
        early = np.arange(len(stack.time)) < self._middle
        held = np.where(early[:, np.newaxis], W @ x[1], W @ x[0])
        return Curves(stack.time, stack.y, W @ fit.x[:W.shape[2]], held)

    def condition(self, fit: LinearFit) -> float:
        """Condition number of the weighted base columns scaled to unit length."""
        equations = self.stack.equations(self._columns_of(self.stack, None))
        W = equations.W / fit.sigma[equations.joint, np.newaxis]
        return float(np.linalg.cond(W / np.linalg.norm(W, axis=0)))

    @property
    def _middle(self) -> int:
        return len(self.stack.time) // 2

    def _halves(self, equations: Equations) -> tuple[FloatArray, FloatArray]:
        """Parameters from the first and from the second half of the recording."""
        first = equations.order < self._middle
        out = []
        for train in (first, ~first):
            part = replace(equations, W=equations.W[train], y=equations.y[train],
                           joint=equations.joint[train], order=equations.order[train],
                           Z=None if equations.Z is None else equations.Z[train])
            out.append(estimate('wls' if equations.Z is None else 'iv', part).x)
        return out[0], out[1]

    def _residuals(self, equations: Equations, left: FloatArray) -> Residuals:
        count, encoders = len(self.stack.friction_rows), self.stack.data.encoders
        size = int(equations.joint.max()) + 1
        errors = np.bincount(equations.joint, left**2, size).astype(np.float64)
        rows = np.bincount(equations.joint, minlength=size).astype(np.float64)
        driven = self.stack.friction_rows[encoders.measured % count]
        efforts = np.bincount(equations.joint, equations.y**2, size).astype(np.float64)
        squares = efforts[driven] / np.maximum(rows[driven], 1) * rows
        total = float(np.sqrt(np.sum(errors) / max(float(np.sum(efforts)), 1e-300)))
        return replace(Residuals.of(errors, squares, rows), total=total)

    def _estimate(self, equations: Equations) -> LinearFit:
        return estimate(self.settings.estimator, equations,
                        correlation=CORRELATION * self.stack.rate)

    def _columns_of(self, stack: ElasticStack, speeds: StribeckSpeeds | None,
                    around: LinearFit | None = None) -> FloatArray:
        """Columns of the base parameters, of friction, and of changes of its speeds."""
        parts = [stack.W[..., self.base.independent]]
        if speeds is not None:
            parts.append(stribeck_columns(stack, speeds))
        if speeds is not None and around is not None:
            n, r = self.n, self.base.rank
            by = around.x[r:r + 2 * n]
            for more, size in (_stepped(speeds, 'rise'), _stepped(speeds, 'drop')):
                change = (stribeck_columns(stack, more) - parts[1]) * by
                parts.append((change[..., :n] + change[..., n:]) / size)
        return np.concatenate(parts, axis=-1)


def _stepped(speeds: StribeckSpeeds, name: str) -> tuple[StribeckSpeeds, FloatArray]:
    """Speeds of which one kind is slightly higher, and the difference."""
    size = 1e-4 * getattr(speeds, name)
    return replace(speeds, **{name: getattr(speeds, name) + size}), size


@dataclass(frozen=True, eq=False)
class StribeckSpeeds:
    """Speeds at which friction rises, f4, and drops, 1 / f6, of each motor, (n,), rad/s or m/s."""

    rise: FloatArray
    drop: FloatArray


def stribeck_columns(stack: ElasticStack, speeds: StribeckSpeeds) -> FloatArray:
    """Columns of f3 and f5 of all motors, shape (M, m, 2 n), f3 first.

    They are -sign(v) exp(-|v| / f4) and -sign(v) exp(-1 / (f6 |v|)); friction is minus f3 and f5
    times these.
    """
    n = stack.n
    out = np.zeros((*stack.y.shape, 2 * n))
    for joint in range(n):
        out[:, stack.friction_rows[joint], [joint, n + joint]] = _pair(
            stack, joint, speeds.rise[joint], speeds.drop[joint])
    return out


def find_speeds(stack: ElasticStack, plain: Equations, weights: FloatArray) -> StribeckSpeeds:
    """Speeds with the smallest squared error in the equations of each motor.

    ``plain`` are the equations with f_s and f_v alone, and ``weights`` the inverse standard
    deviations of the errors of each coordinate, shape (m,).
    """
    n = stack.n
    usual = np.array([np.sqrt(np.mean(np.concatenate(
        [motion.v[:, place] for motion in stack.motions])**2)) for place in stack.friction_rows])
    scale = weights[plain.joint]
    # Rows are projected on the complement of the other columns.
    Q, _ = np.linalg.qr(_unit(plain.W * scale[:, np.newaxis]))
    left = plain.y * scale
    left = left - Q @ (Q.T @ left)
    found = StribeckSpeeds(usual.copy(), usual.copy())
    for joint in range(n):
        mine = plain.joint == stack.friction_rows[joint]
        found.rise[joint], found.drop[joint] = _best_speeds(
            stack, joint, usual[joint], plain.order[mine], scale[mine, np.newaxis], Q[mine],
            left[mine])
    return found


def _best_speeds(stack: ElasticStack, joint: int, usual: float, rows: IntArray, size: FloatArray,
                 Q: FloatArray, left: FloatArray) -> FloatArray:
    """Speeds of one motor, rise and drop, from its rows after projection."""
    from scipy.optimize import minimize

    def explained(columns: FloatArray) -> FloatArray:
        """Reduction of the squares by pairs of columns, shape (k, rows, 2)."""
        known = np.einsum('ij,kil->kjl', Q, columns)
        G = np.einsum('kil,kim->klm', columns, columns) - np.einsum('kjl,kjm->klm', known, known)
        b = np.einsum('kil,i->kl', columns, left)
        return np.einsum('kl,klm,km->k', b, np.linalg.pinv(G, rcond=1e-12), b)

    def speeds(logs: FloatArray) -> FloatArray:
        return np.clip(np.exp(logs), *_RANGE) * usual

    def cost(logs: FloatArray) -> float:
        pair = _pair(stack, joint, *speeds(logs))[rows]
        return -float(explained(_unit(pair * size)[np.newaxis])[0])

    each = [_unit(_pair(stack, joint, speed, speed)[rows] * size) for speed in _SHARES * usual]
    scores = np.array([explained(np.stack([np.stack([rise[:, 0], drop[:, 1]], axis=1)
                                           for drop in each])) for rise in each])
    ends = [minimize(cost, np.log(_SHARES[list(place)]), method='Nelder-Mead',
                     options={'xatol': 1e-3, 'fatol': 0.0, 'maxfev': 100})
            for place in _peaks(scores)]
    return speeds(min(ends, key=lambda end: end.fun).x)


def _peaks(scores: FloatArray) -> list[tuple[int, int]]:
    """Indices of the highest local maxima."""
    padded = np.pad(scores, 1, constant_values=-np.inf)
    around = np.max([np.roll(padded, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1)],
                    axis=0)[1:-1, 1:-1]
    peaks = np.argwhere(scores >= around)
    order = np.argsort(-scores[tuple(peaks.T)])[:_STARTS]
    return [tuple(place) for place in peaks[order].tolist()]


def _pair(stack: ElasticStack, joint: int, rise: float, drop: float) -> FloatArray:
    """Columns of f3 and f5 of a motor, shape (M, 2)."""
    def effects(v: FloatArray) -> FloatArray:
        speed = np.abs(v)
        with np.errstate(divide='ignore'):
            fading = np.stack([np.exp(-speed / rise), np.exp(-drop / speed)], axis=1)
        return -np.sign(v)[:, np.newaxis] * fading
    return stack.columns_of(joint, effects)


def _unit(columns: FloatArray) -> FloatArray:
    lengths = np.linalg.norm(columns, axis=0)
    return columns / np.where(lengths > 0.0, lengths, 1.0)
