# SPDX-License-Identifier: Apache-2.0
"""Ratio, lost motion and stiffness of a joint with encoders before and after its gear.

With theta_m the angle of the motor, k the gear ratio, q the angle of the joint and tau the
torque between them::

    theta_m / k - q = c + tau / K + h/2 s

s is the sign that the lost motion h depends on: the direction of motion (hysteresis, or play of a
joint with friction) or the sign of the torque (backlash, a dead zone of the spring). The one that
explains more is used. Rows within the play are left out. For a motor torque, the inertia and the
viscous and dry friction of the motor are estimated as well, and their efforts subtracted::

    tau = tau_m - J theta'' - B theta' - F sign(theta')

Rows of a motor at standstill, with undetermined dry friction, are left out. F / K looks like
lost motion that follows the direction: only the difference is determined. Rows in which brakes
carry the joint, with zero torque for long, are left out too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robot_dynamics.errors import RecordingError
from robot_dynamics.identification.dataset.dataset import Dataset, Segment
from robot_dynamics.identification.least_squares import (
    CORRELATION,
    Equations,
    LinearFit,
    estimate,
)
from robot_dynamics.identification.signals import (
    WIDER,
    cutoff_of,
    derivative,
    evenly,
    lasting,
    low_pass,
    widened,
)
from robot_dynamics.identification.stiffness.log import JointLog
from robot_dynamics.model.arrays import FloatArray

#: Signs that lost motion may follow.
DIRECTION, LOAD = 'direction', 'load'
#: Required relative reduction of the squares by lost motion.
EXPLAINS = 0.05
#: Standard deviations of a significant estimate.
SEEN = 3.0
#: Fraction of the RMS torque below which a row may be within the play.
LOADED = 0.1
#: Least motion of a joint, rad or m, and its least correlation with the motor.
LEAST_MOTION, TOGETHER = 1e-3, 0.5
#: Standstill of a motor as a fraction of its RMS speed.
STANDSTILL = 0.02
#: Duration of zero torque with brakes on, s; left out around it, in 1 / cut-off.
BRAKED, AROUND = 0.2, 2.0
# Rows per cut-off, and passes for the play.
_ROWS, _PASSES = 4.0, 3
# Reversal of a motor in standard deviations of its noise.
_NOISE = 6.0
_FEWEST = 32


@dataclass(frozen=True, eq=False)
class SpringReport:
    """Results from the two encoders of a joint."""

    #: k; the deviation is nan if k was given.
    ratio: float
    ratio_deviation: float
    #: k by linear regression, whether given or not.
    measured_ratio: float
    #: h, rad or m, on the side of the joint.
    lost_motion: float
    lost_deviation: float
    #: Sign that the lost motion follows: `DIRECTION` or `LOAD`, empty without lost motion.
    follows: str
    #: K, N m/rad or N/m; nan without a torque or a deflection.
    stiffness: float
    stiffness_deviation: float
    #: F - K h / 2 for the torque of a motor, on the side of the joint, N m or N; else nan.
    dry_friction: float
    dry_deviation: float
    #: Duration left out because brakes carried the joint, s.
    braked: float
    #: Resolution of the encoders of motor and joint, on the side of the joint.
    steps: tuple[float, float]
    #: RMS of the unexplained deflection.
    residual: float
    #: Cut-off of the filter, Hz.
    cutoff: float
    #: Rows, shape (m,): theta_m / k - q without its constant, rad or m.
    deflection: FloatArray
    #: Torque, nan if missing.
    load: FloatArray
    #: Explained deflection.
    explained: FloatArray
    #: Direction of the motor.
    way: FloatArray
    #: Times, s.
    time: FloatArray


def examine_spring(log: JointLog) -> SpringReport:
    """Results from the encoders of motor and link, and a torque if there is one."""
    rows = _Rows(log)
    fits = {follows: rows.fit(follows) for follows in ('', *rows.kinds)}
    chosen = follows = _best(fits)
    fit, columns = fits[chosen]
    drift = fit.x[columns.index('link')] if 'link' in columns else 0.0
    # Correction of the regressed ratio, by which all angles were divided.
    scale = 1.0 / (1.0 + drift)
    value = dict(zip(columns, fit.x * scale, strict=True))
    deviation = dict(zip(columns, np.sqrt(np.diag(fit.covariance)) * scale, strict=True))
    K = K_deviation = np.nan
    # The torque of a motor was multiplied by the regressed ratio too.
    load_scale = 1.0 / scale if log.about.torque_side == 'motor' else 1.0
    if 'torque' in value and value['torque'] > SEEN * deviation['torque']:
        K = load_scale / value['torque']
        K_deviation = K * deviation['torque'] / value['torque']
    lost, lost_deviation = value.get('lost', 0.0), deviation.get('lost', np.nan)
    dry = dry_deviation = np.nan
    if 'dry' in value and value['dry'] > SEEN * deviation['dry']:
        # Lost motion with the direction, beyond the effect of dry friction.
        follows, lost, lost_deviation = DIRECTION, value['dry'], deviation['dry']
    elif 'dry' in value and np.isfinite(K):
        dry, dry_deviation = -K * value['dry'], K * deviation['dry']
    deflection = (rows.deflection - drift * rows.link) * scale - value['one']
    explained = sum((value[name] * rows.column(name, chosen) for name in value
                     if name not in ('link', 'one')), np.zeros(len(deflection)))
    return SpringReport(
        rows.ratio * (1.0 + drift), abs(rows.ratio) * deviation.get('link', np.nan),
        rows.measured_ratio, 2.0 * lost, 2.0 * lost_deviation, follows, K, K_deviation, dry,
        dry_deviation, rows.braked, rows.steps, float(np.sqrt(np.mean(fit.residual**2))) * scale,
        rows.cutoff, deflection,
        np.full(len(deflection), np.nan) if rows.torque is None else rows.torque * load_scale,
        explained, rows.way, rows.time)


def _best(fits: dict[str, tuple[LinearFit, list[str]]]) -> str:
    """Sign that the lost motion follows, empty without lost motion."""
    squares = {follows: float(np.mean(fit.residual**2)) for follows, (fit, _) in fits.items()}
    best = min(squares, key=squares.__getitem__)
    fit = fits[best][0]
    is_seen = best and fit.x[-1] > SEEN * np.sqrt(fit.covariance[-1, -1])
    return best if is_seen and squares[best] < (1.0 - EXPLAINS) * squares[''] else ''


class _Rows:
    """Filtered rows of a joint, and columns that may explain its deflection."""

    def __init__(self, log: JointLog):
        period = 1.0 / log.rate
        raw = {name: evenly(log.time, values[:, np.newaxis], period)[:, 0]
               for name, values in log.signals.items()}
        motor, link = raw['motor'], raw['link']
        if min(np.ptp(motor), np.ptp(link)) < LEAST_MOTION:
            raise RecordingError('does not move', subject=log.name, remedy='record its motion')
        if not abs(np.corrcoef(motor, link)[0, 1]) > TOGETHER:
            raise RecordingError('and its motor do not move together', subject=log.name,
                                 remedy='check the columns of motor and link')
        self.measured_ratio = float(np.polyfit(link, motor, 1)[0])
        self.ratio = log.about.gear_ratio or self.measured_ratio
        theta = motor / self.ratio
        self.steps = (_step(motor) / abs(self.ratio), _step(link))
        both = np.stack([theta, link], axis=1)
        time: FloatArray = period * np.arange(len(theta), dtype=np.float64)
        self.cutoff = cutoff_of(Dataset(
            ('motor', 'link'), (Segment(time, both, both * np.nan, both * 0.0),), period,
            np.eye(2), ('motor', 'link'), False))
        rate = log.rate
        step = max(1, int(rate / (_ROWS * self.cutoff)))
        trim = min(len(theta) // 10, int(np.ceil(rate / self.cutoff)))
        self._kept = slice(trim, len(theta) - trim, step)
        self._rate, self.row_rate = rate, rate / step
        # All columns are filtered alike: at a wider cut-off before derivatives and products, and
        # at the cut-off after them.
        smooth = low_pass(both, rate, WIDER * self.cutoff)
        speed = derivative(smooth[:, 0], rate)
        noise = float(np.std(theta - smooth[:, 0]))
        way, since = direction(theta, max(3.0 * max(self.steps), _NOISE * noise))
        self.time = time[self._kept]
        self.link = self._filtered(smooth[:, 1])
        self.deflection = self._filtered(smooth[:, 0] - smooth[:, 1])
        self.way, self.since = self._filtered(way), since[self._kept]
        self._columns = {'link': self.link, 'one': np.ones(len(self.link))}
        self.torque: FloatArray | None = None
        self.braked = 0.0
        self._usable = np.ones(len(self.link), dtype=bool)
        if 'torque' in raw:
            is_motor = log.about.torque_side == 'motor'
            torque = low_pass(raw['torque'], rate, WIDER * self.cutoff)
            torque *= self.ratio if is_motor else 1.0
            whole = {'torque': torque}
            if is_motor:
                width = STANDSTILL * float(np.sqrt(np.mean(speed**2)))
                whole.update(inertia=derivative(speed, rate), viscous=speed,
                             dry=np.tanh(speed / width))
            self._whole = whole
            self._columns.update({name: self._filtered(one) for name, one in whole.items()})
            self.torque = self._columns['torque']
            self._load_sign = self._filtered(np.sign(torque))
            self._leave_out(log, time, is_motor)
        if log.about.gear_ratio is not None:
            del self._columns['link']
        # Dry friction of a motor replaces lost motion with the direction.
        self.kinds = (DIRECTION,) if self.torque is None else \
            (LOAD,) if 'dry' in self._columns else (DIRECTION, LOAD)
        rows = np.count_nonzero(self._usable)
        if rows < _FEWEST:
            raise RecordingError(f'is too short: {rows} rows below {self.cutoff:.3g} Hz'
                                 + (', without brakes' if self.braked else ''), subject=log.name,
                                 remedy='record some more seconds of its motion')

    def column(self, name: str, follows: str) -> FloatArray:
        """A column by name."""
        if name == 'lost':
            return self.way if follows == DIRECTION else self._load_sign
        return self._columns[name]

    def fit(self, follows: str) -> tuple[LinearFit, list[str]]:
        """Least squares of the deflection, and the names of its columns."""
        names = [*self._columns, *(['lost'] if follows else [])]
        used = self._usable
        for _ in range(_PASSES):
            W = np.stack([self.column(name, follows) for name in names], axis=1)[used]
            fit = estimate('ols', Equations(
                W, self.deflection[used], np.zeros(len(W), dtype=np.int64),
                np.flatnonzero(used)), correlation=CORRELATION * self.row_rate)
            if not follows:
                break
            if follows == LOAD:
                self._find_load(dict(zip(names, fit.x, strict=True)))
            lost = 2.0 * abs(fit.x[-1])
            if follows == DIRECTION or self.torque is None:
                outside = self.since > 1.5 * lost
            else:
                outside = np.abs(self.torque) > LOADED * np.sqrt(np.mean(self.torque**2))
            # Near a change of sign the filter mixes both sides.
            outside &= np.abs(self.column('lost', follows)) > 0.9
            outside &= self._usable
            if np.count_nonzero(outside) < max(_FEWEST, 2 * len(names)):
                break
            used = outside
        return fit, names

    def _leave_out(self, log: JointLog, time: FloatArray, is_motor: bool) -> None:
        """Leave out rows in which brakes carry the joint or its motor stands still."""
        free = np.interp(time, log.time, (log.signals['torque'] == 0.0).astype(float)) > 0.5
        free = lasting(free, BRAKED * self._rate)
        self.braked = float(np.count_nonzero(free)) / self._rate
        around = int(np.ceil(AROUND / self.cutoff * self._rate))
        self._usable &= ~widened(free, around)[self._kept]
        if is_motor:
            # Near a reversal the filter mixes both sides.
            self._usable &= np.abs(self._columns['dry']) > 0.9

    def _find_load(self, value: dict[str, float]) -> None:
        """Update the sign of the load: the motor needs a part of its own torque."""
        if value['torque'] > 0.0:
            across = sum(value[name] * whole for name, whole in self._whole.items())
            self._load_sign = self._filtered(np.sign(across))

    def _filtered(self, signal: FloatArray) -> FloatArray:
        return low_pass(signal, self._rate, self.cutoff)[self._kept]


def direction(position: FloatArray, least: float) -> tuple[FloatArray, FloatArray]:
    """Direction of motion, 1, -1 or 0 before the first motion, and distance since its reversal.

    A reversal counts once the position has moved back by ``least``.
    """
    way, since = np.zeros(len(position)), np.zeros(len(position))
    going, furthest, turned = 0.0, position[0], position[0]
    for k, x in enumerate(position.tolist()):
        if going == 0.0:
            if abs(x - turned) >= least:
                going, furthest = (1.0 if x > turned else -1.0), x
        elif going * (x - furthest) >= 0.0:
            furthest = x
        elif going * (furthest - x) >= least:
            going, turned, furthest = -going, furthest, x
        way[k], since[k] = going, abs(x - turned)
    return way, since


def _step(signal: FloatArray) -> float:
    """Resolution of an encoder: its smallest change above rounding."""
    changes = np.abs(np.diff(signal))
    return float(np.min(changes, initial=np.inf, where=changes > 1e-9 * np.ptp(signal)))
