# SPDX-License-Identifier: Apache-2.0
"""``examine``: ratio, lost motion, stiffness and resonances of the joints of a log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from robot_dynamics.identification.stiffness.log import JointLog
from robot_dynamics.identification.stiffness.modes import ModesReport, examine_modes
from robot_dynamics.identification.stiffness.spring import DIRECTION, SpringReport, examine_spring


@dataclass(frozen=True, eq=False)
class JointReport:
    """Results of a joint: of its spring from two encoders, of modes from torque and acceleration.

    The duration is in s, or in samples without a known rate. ``missing`` are the undetermined
    quantities, and what a log needs for them.
    """

    name: str
    samples: int
    duration: float
    has_rate: bool
    spring: SpringReport | None
    modes: ModesReport | None
    missing: tuple[str, ...]

    @property
    def lines(self) -> tuple[str, ...]:
        """Results in lines of text."""
        unit = 's' if self.has_rate else 'samples'
        out = [f'{self.name}: {self.samples} rows, {self.duration:.4g} {unit}']
        out += _of_spring(self.spring) if self.spring is not None else []
        out += _of_modes(self.modes) if self.modes is not None else []
        return (*out, *(f'  not determined: {text}' for text in self.missing))

    def to_dict(self) -> dict[str, Any]:
        """Results in plain types, without time series; nan becomes None."""
        return {'joint': self.name, 'samples': self.samples, 'duration': self.duration,
                'has_rate': self.has_rate, 'spring': _plain(self.spring),
                'modes': _plain(self.modes), 'missing': list(self.missing)}


def examine(logs: Sequence[JointLog]) -> tuple[JointReport, ...]:
    """Examine joints.

    Parameters
    ----------
    logs : sequence of JointLog
        Signals of the joints.

    Examples
    --------
    >>> import numpy as np
    >>> from robot_dynamics.identification import examine
    >>> from robot_dynamics.identification.stiffness.log import JointColumns, JointLog
    >>> t = np.arange(0.0, 20.0, 0.005)
    >>> link, torque = np.sin(t), 10.0 * np.cos(0.7 * t)
    >>> signals = {'motor': link + torque / 2000.0, 'link': link, 'torque': torque}
    >>> (report,) = examine([JointLog('elbow', t, signals, True, JointColumns())])
    >>> round(report.spring.stiffness)
    2000
    """
    return tuple(_examined(log) for log in logs)


def _examined(log: JointLog) -> JointReport:
    signals = log.signals
    spring = modes = None
    missing = []
    if 'motor' in signals and 'link' in signals:
        spring = examine_spring(log)
        if 'torque' not in signals:
            missing.append('stiffness: no torque; lost motion contains the spring deflection')
        elif not np.isfinite(spring.stiffness):
            missing.append('stiffness: the deflection does not follow the torque; load the joint '
                           'more, or use finer encoders')
    else:
        missing.append('ratio, backlash and hysteresis: they need encoders of motor and joint')
    if 'torque' in signals and 'acceleration' in signals:
        modes = examine_modes(signals['torque'], signals['acceleration'], log.rate,
                              has_rate=log.has_rate, inertia=log.about.inertia, name=log.name)
        if spring is None and not np.isfinite(modes.stiffness):
            needed = [what for what, there in (('the rate of the samples', log.has_rate),
                                               ('the inertia that the spring carries',
                                                log.about.inertia is not None)) if not there]
            missing.append('stiffness: needs ' + (' and '.join(needed) or 'a resonance'))
    return JointReport(log.name, len(log.time), float(log.time[-1]), log.has_rate, spring, modes,
                       tuple(missing))


def _of_spring(spring: SpringReport) -> list[str]:
    given = not np.isfinite(spring.ratio_deviation)
    ratio = (f'  ratio {spring.measured_ratio:.7g} by regression, {spring.ratio:.7g} as given'
             if given else f'  ratio {spring.ratio:.7g} +- {spring.ratio_deviation:.1g}')
    out = [ratio]
    if spring.follows:
        kind = 'hysteresis, with the direction of motion' if spring.follows == DIRECTION else \
            'backlash, with the sign of the torque'
        out.append(f'  lost motion {1e3 * spring.lost_motion:.4g} +- '
                   f'{1e3 * spring.lost_deviation:.1g} mrad (or mm): {kind}')
    else:
        out.append(f'  lost motion: none seen above {2e3 * spring.residual:.2g} mrad (or mm)')
    if np.isfinite(spring.stiffness):
        out.append(f'  stiffness {spring.stiffness:.5g} +- {spring.stiffness_deviation:.1g} '
                   'N m/rad (or N/m)')
    if np.isfinite(spring.dry_friction):
        out.append(f'  dry friction of the motor {spring.dry_friction:.4g} +- '
                   f'{spring.dry_deviation:.1g} N m (or N), if no motion is lost with '
                   'the direction')
    if spring.braked:
        out.append(f'  left out: {spring.braked:.3g} s without a torque, carried by brakes')
    out.append(f'  deflection {1e3 * np.sqrt(np.mean(spring.deflection**2)):.3g} mrad RMS, of '
               f'which {1e3 * spring.residual:.2g} unexplained; below {spring.cutoff:.3g} Hz; '
               f'encoder steps {1e3 * spring.steps[0]:.2g} and {1e3 * spring.steps[1]:.2g} mrad')
    return out


def _of_modes(modes: ModesReport) -> list[str]:
    unit = 'Hz' if modes.has_rate else 'of the rate'
    out = [f'  resonance at {mode.frequency:.4g} {unit}, damping ratio {mode.damping:.2g}'
           for mode in modes.modes] or ['  no resonance']
    if np.isfinite(modes.stiffness):
        out.append(f'  stiffness {modes.stiffness:.4g} N m/rad (or N/m), by the lowest resonance '
                   'and the inertia')
    out.append(f'  difference equation of order {modes.order}: {100 * modes.one_step:.2g} % error '
               f'of the next sample, {100 * modes.simulated:.2g} % in free simulation')
    return out


def _plain(part: SpringReport | ModesReport | None) -> dict[str, Any] | None:
    if part is None:
        return None
    out: dict[str, Any] = {}
    for each in fields(part):
        value = getattr(part, each.name)
        if each.name == 'modes':
            out['modes'] = [{'frequency': float(mode.frequency), 'damping': float(mode.damping)}
                            for mode in value]
        elif isinstance(value, tuple):
            out[each.name] = [float(x) for x in value]
        elif isinstance(value, (float, np.floating)):
            out[each.name] = float(value) if np.isfinite(value) else None
        elif not isinstance(value, np.ndarray):
            out[each.name] = value
    return out
