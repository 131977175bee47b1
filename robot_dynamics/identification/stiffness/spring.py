# SPDX-License-Identifier: Apache-2.0
r"""Ratio, lost motion and stiffness of a joint with encoders before and behind its gear.

With theta_m the angle of the motor, k its turns in a turn of the joint, q the angle of the
joint and tau the torque between them::

    theta_m / k - q = c + tau / K + h/2 s

s being the sign of what the lost motion h follows: the way the motor goes (hysteresis, or play
of a joint that resists), or the way the torque goes (backlash, a dead zone of the spring); the
one that explains more is taken. Rows within the play are left out. Of the torque of a motor
its inertia, viscous and dry friction are taken away, which are estimated with it::

    tau = tau_m - J theta'' - B theta' - F sign(theta')

so that rows of a motor at rest, whose dry friction may be anything, are left out; and F / K looks
like lost motion that follows the way it goes, of which only the difference can be told. Left out,
too, is when brakes carry the joint: its torque is zero then, for long.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robot_dynamics.errors import RecordingError
from robot_dynamics.identification.dataset.dataset import Dataset, Segment
from robot_dynamics.identification.filters import derivative, evenly, lasting, low_pass, widened
from robot_dynamics.identification.least_squares import Equations, LinearFit, estimate
from robot_dynamics.identification.signals import cutoff_of
from robot_dynamics.identification.stiffness.log import JointLog
from robot_dynamics.model.arrays import FloatArray

#: What lost motion may follow.
DIRECTION, LOAD = 'direction', 'load'
#: A column of lost motion has to lower the squares by this part.
EXPLAINS = 0.05
#: Estimates count as seen from so many standard deviations on.
SEEN = 3.0
#: Torques below this part of their root mean square may be within the play.
LOADED = 0.1
#: A joint moves by so much at least, rad or m, and the motor with it: their correlation.
LEAST_MOTION, TOGETHER = 1e-3, 0.5
#: A motor stands still below this part of the root mean square of its speed.
STANDSTILL = 0.02
#: Brakes carry a joint whose torque is zero for so long, s; left out around it, in 1 / cut-off.
BRAKED, AROUND = 0.2, 2.0
# Errors are taken to be correlated over so long, s; rows a cut-off; passes over the play.
_CORRELATION, _ROWS, _PASSES = 1.0, 4.0, 3
# A motor turned when it came back by so many deviations of its noise.
_NOISE = 6.0
_FEWEST = 32


@dataclass(frozen=True, eq=False)
class SpringReport:
    """What two encoders tell of a joint.

    Parameters
    ----------
    ratio, ratio_deviation : float
        k; the deviation is nan where k was given.
    measured_ratio : float
        k by straight regression, whether given or not.
    lost_motion, lost_deviation : float
        h, rad or m, seen from the joint.
    follows : {'direction', 'load', ''}
        What the lost motion follows; nothing where none was seen.
    stiffness, stiffness_deviation : float
        K, N m/rad or N/m; nan without a torque, or where nothing gave way.
    dry_friction, dry_deviation : float
        F - K h / 2 of a motor whose own torque is given, seen from the joint, N m or N; else nan.
    braked : float
        How long brakes carried the joint, s, which was left out.
    steps : tuple of (float, float)
        Steps of the encoders of motor and joint, seen from the joint.
    residual : float
        Root mean square of the deflection that is not explained.
    cutoff : float
        Of the filter, Hz.
    deflection, load, explained : ndarray, shape (m,)
        theta_m / k - q without its constant, the torque (nan where there is none) and the
        deflection explained, in rows.
    way : ndarray, shape (m,)
        Which way the motor goes.
    time : ndarray, shape (m,)
        s.
    """

    ratio: float
    ratio_deviation: float
    measured_ratio: float
    lost_motion: float
    lost_deviation: float
    follows: str
    stiffness: float
    stiffness_deviation: float
    dry_friction: float
    dry_deviation: float
    braked: float
    steps: tuple[float, float]
    residual: float
    cutoff: float
    deflection: FloatArray
    load: FloatArray
    explained: FloatArray
    way: FloatArray
    time: FloatArray


def examine_spring(log: JointLog) -> SpringReport:
    """Return what two encoders tell of a joint.

    Parameters
    ----------
    log : JointLog
        With motor and link, and a torque where there is one.
    """
    rows = _Rows(log)
    fits = {follows: rows.fit(follows) for follows in ('', *rows.kinds)}
    chosen = follows = _best(fits)
    fit, columns = fits[chosen]
    drift = fit.x[columns.index('link')] if 'link' in columns else 0.0
    # Of the ratio by straight regression: angles of the motor are over the better one now.
    scale = 1.0 / (1.0 + drift)
    value = dict(zip(columns, fit.x * scale, strict=True))
    deviation = dict(zip(columns, np.sqrt(np.diag(fit.covariance)) * scale, strict=True))
    K = K_deviation = np.nan
    if 'torque' in value and value['torque'] > SEEN * deviation['torque']:
        K = 1.0 / value['torque']
        K_deviation = deviation['torque'] * K**2
    lost, lost_deviation = value.get('lost', 0.0), deviation.get('lost', np.nan)
    dry = dry_deviation = np.nan
    if 'dry' in value and value['dry'] > SEEN * deviation['dry']:
        # More motion is lost with the direction than dry friction makes up for.
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
        rows.torque if rows.torque is not None else np.full(len(deflection), np.nan),
        explained, rows.way, rows.time)


def _best(fits: dict[str, tuple[LinearFit, list[str]]]) -> str:
    """Return what the lost motion follows, nothing where none is seen."""
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
                                 remedy='check which columns they are')
        self.measured_ratio = float(np.polyfit(link, motor, 1)[0])
        self.ratio = log.about.gear_ratio or self.measured_ratio
        theta = motor / self.ratio
        self.steps = (_step(motor) / abs(self.ratio), _step(link))
        both = np.stack([theta, link], axis=1)
        time = period * np.arange(len(theta))
        self.cutoff = cutoff_of(Dataset(
            ('motor', 'link'), (Segment(time, both, both * np.nan, both * 0.0),), period,
            np.eye(2), ('motor', 'link'), False))
        rate = log.rate
        step = max(1, int(rate / (_ROWS * self.cutoff)))
        trim = min(len(theta) // 10, int(np.ceil(rate / self.cutoff)))
        self._kept = slice(trim, len(theta) - trim, step)
        self._rate, self.row_rate = rate, rate / step
        smooth = low_pass(theta, rate, self.cutoff)
        speed = derivative(smooth, rate)
        noise = float(np.std(theta - low_pass(theta, rate, min(3.0 * self.cutoff, 0.4 * rate))))
        way, since = direction(theta, max(3.0 * max(self.steps), _NOISE * noise))
        self.time = time[self._kept]
        self.link = self._filtered(link)
        self.deflection = self._filtered(theta - link)
        self.way, self.since = self._filtered(way), since[self._kept]
        self._columns = {'link': self.link, 'one': np.ones(len(self.link))}
        self.torque, self.braked = None, 0.0
        self._usable = np.ones(len(self.link), dtype=bool)
        if 'torque' in raw:
            is_motor = log.about.torque_side == 'motor'
            torque = raw['torque'] * (self.ratio if is_motor else 1.0)
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
        # Dry friction of a motor takes the place of lost motion that follows the direction.
        self.kinds = (DIRECTION,) if self.torque is None else \
            (LOAD,) if 'dry' in self._columns else (DIRECTION, LOAD)
        rows = np.count_nonzero(self._usable)
        if rows < _FEWEST:
            raise RecordingError(f'is too short: {rows} rows below {self.cutoff:.3g} Hz'
                                 + (', without brakes' if self.braked else ''), subject=log.name,
                                 remedy='record some more seconds of its motion')

    def column(self, name: str, follows: str) -> FloatArray:
        """Return a column."""
        if name == 'lost':
            return self.way if follows == DIRECTION else self._load_sign
        return self._columns[name]

    def fit(self, follows: str) -> tuple[LinearFit, list[str]]:
        """Return least squares of the deflection, and the names of its columns."""
        names = [*self._columns, *(['lost'] if follows else [])]
        used = self._usable
        for _ in range(_PASSES):
            W = np.stack([self.column(name, follows) for name in names], axis=1)[used]
            fit = estimate('ols', Equations(
                W, self.deflection[used], np.zeros(len(W), dtype=np.int64),
                np.flatnonzero(used)), correlation=_CORRELATION * self.row_rate)
            if not follows:
                break
            if follows == LOAD:
                self._find_load(dict(zip(names, fit.x, strict=True)))
            lost = 2.0 * abs(fit.x[-1])
            outside = self.since > 1.5 * lost if follows == DIRECTION else \
                np.abs(self.torque) > LOADED * np.sqrt(np.mean(self.torque**2))
            # Of a row within a change of the sign the filter shows a part of both sides.
            outside &= np.abs(self.column('lost', follows)) > 0.9
            outside &= self._usable
            if np.count_nonzero(outside) < max(_FEWEST, 2 * len(names)):
                break
            used = outside
        return fit, names

    def _leave_out(self, log: JointLog, time: FloatArray, is_motor: bool) -> None:
        """Leave out when brakes carry the joint, and when its motor stands still."""
        free = np.interp(time, log.time, (log.signals['torque'] == 0.0).astype(float)) > 0.5
        free = lasting(free, BRAKED * self._rate)
        self.braked = float(np.count_nonzero(free)) / self._rate
        around = int(np.ceil(AROUND / self.cutoff * self._rate))
        self._usable &= ~widened(free, around)[self._kept]
        if is_motor:
            # Of a row within a reversal the filter shows a part of both sides.
            self._usable &= np.abs(self._columns['dry']) > 0.9

    def _find_load(self, value: dict[str, float]) -> None:
        """Find which way the spring is loaded: the motor takes a part of its own torque."""
        if value['torque'] > 0.0:
            across = sum(value[name] * whole for name, whole in self._whole.items())
            self._load_sign = self._filtered(np.sign(across))

    def _filtered(self, signal: FloatArray) -> FloatArray:
        return low_pass(signal, self._rate, self.cutoff)[self._kept]


def direction(position: FloatArray, least: float) -> tuple[FloatArray, FloatArray]:
    """Return which way something goes, and how far it went since it turned.

    Parameters
    ----------
    position : ndarray, shape (N,)
        Where it is.
    least : float
        It turned when it came back by this.

    Returns
    -------
    way : ndarray, shape (N,)
        1 or -1; 0 before it first moved.
    since : ndarray, shape (N,)
        Distance from where it turned.
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
    """Return the step of an encoder: the smallest change that is no rounding."""
    changes = np.abs(np.diff(signal))
    return float(np.min(changes, initial=np.inf, where=changes > 1e-9 * np.ptp(signal)))
