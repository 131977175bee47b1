# SPDX-License-Identifier: Apache-2.0
"""Gains of the tracking controllers, their stability rules, and the update laws by name.

============  ============================================================================
name          update of the estimates by Yr^T s
============  ============================================================================
gradient      Gamma Yr^T s, as Slotine and Li wrote it; within a ball about the prior
projection    the same, kept physically consistent, with leakage to the prior
dead_zone     the same, kept physically consistent, zero for small s
composite     kept physically consistent, and the prediction error added
memory        composite, and the regressor memory of past motion (concurrent learning)
natural       on pseudo-inertias, in the metric of the estimate, prediction error added
natural_memory  natural, and the regressor memory of past motion
============  ============================================================================

References
----------
J.-J. E. Slotine and W. Li, "On the adaptive control of robot manipulators", International Journal
of Robotics Research 6(3), 1987. "Composite adaptive control of robot manipulators", Automatica
25(4), 1989.

P. A. Ioannou and P. V. Kokotovic, "Instability analysis and improvement of robustness of adaptive
control", Automatica 20(5), 1984: leakage and dead zone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from robot_dynamics.control.checks import (
    check_fields,
    exceeds,
    not_negative,
    number,
    positive,
    rounded_down,
)
from robot_dynamics.dynamics.joint_terms import check_terms
from robot_dynamics.errors import ControlError, ParameterError
from robot_dynamics.model.arrays import store

#: Largest omega_D (T/2 + delay). At 0.5 the loop rings, at 1 it is in a limit cycle.
FEEDBACK_MARGIN = 0.5
#: Largest rate of position errors times (T/2 + delay), with a bandwidth at its own limit. At 0.6
#: an adaptive arm oscillates with its full effort, at 1 any arm does.
RATE_MARGIN = 0.3
#: omega_D (T/2 + delay) from which a running loop is not continued, see above.
LATE_MARGIN = 1.0
#: Largest share of a prediction error that one sample may correct: above 1 it overshoots, at 2
#: it is unstable.
COMPOSITE_MARGIN = 1.5
#: Lowest frequency of the adaptation; gains are proportional to its square. rad/s.
SLOWEST = 1e-6
#: Largest share of the mass or length of an arm; its square must not overflow.
LARGEST_SHARE = 1e6
#: Coordinates of the estimates.
COORDINATES = ('links', 'base')


@dataclass(frozen=True)
class FeedbackGains:
    """Gains of the linear feedback tau_fb = omega_D M0(q) (e_dot + lambda e) + K_P e.

    Parameters
    ----------
    bandwidth : float
        omega_D: rate at which s = e_dot + lambda e decays. 1/s.
    error_rate : float
        lambda: rate at which the position error decays on s = 0. A fifth of the bandwidth
        separates the two. 1/s.
    position_gain : float or tuple of float
        K_P, one for all joints or one for each, in addition to omega_D and lambda. The nodes call
        it ``feedback.stiffness``. N m/rad or N/m.

    Examples
    --------
    >>> FeedbackGains(bandwidth=40.0, error_rate=8.0).position_gain
    0.0
    """

    bandwidth: float = 60.0
    error_rate: float = 12.0
    position_gain: float | tuple[float, ...] = 0.0

    def __post_init__(self) -> None:
        check_fields(self, positive, bandwidth='1/s', error_rate='1/s')
        if isinstance(self.position_gain, tuple):
            store(self, 'position_gain', tuple(not_negative('position_gain', gain, 'N m/rad')
                                               for gain in self.position_gain))
        else:
            check_fields(self, not_negative, position_gain='N m/rad')


@dataclass(frozen=True)
class AdaptationGains:
    """Gains of the adaptation.

    Parameters
    ----------
    law : str
        Name of the update law, see the table of this module.
    coordinates : str
        ``links``: every link's estimate stays physically consistent. ``base``: only base
        parameters are learnt, and parameters without influence on the efforts do not drift.
    frequency : float
        w_A: largest frequency of the loop that the estimates close, from which the common gain
        follows; see `robot_dynamics.control.adaptation.metric`. rad/s.
    payload : float
        Mass that a tip link may carry beyond the model, as a share of the mass of all moving
        links: it sets the gain of tip links relative to the others.
    spread : float
        Assumed distance of unknown mass from the link frame, as a share of the arm length.
    terms : tuple of str
        Joint terms that are learnt beside the inertial parameters, see
        `robot_dynamics.dynamics.joint_terms`. Add ``armature`` for an arm with rotors, as the
        nodes do; without rotors it slows the others down.
    term_frequency : float
        Largest frequency of the loop that one such term closes at its joint. rad/s.
    composite : float
        Weight of the prediction error in the law; zero for the tracking error alone.
    composite_cutoff : float
        Cut-off of the filter of the prediction error. Hz.
    leakage : float
        sigma: rate at which estimates return to the prior, under laws with leakage. 1/s.
    dead_zone : float
        Norm of s below which estimates do not change, under laws with a dead zone. rad/s or m/s.
    coulomb_velocity : float
        Speed below which Coulomb friction fades out. rad/s or m/s.
    largest_payload : float
        Mass the estimate of a link may gain, as a share of the mass of all links.
    longest_step : float
        Longest time between two samples over which the estimates are moved. s.
    largest_sliding : float
        Largest plausible absolute entry of s. rad/s or m/s.
    rest_after : float
        Time without desired motion after which the arm counts as at rest and estimates do not
        change; inf for never. s.
    rest_sliding : float
        Absolute entry of s above which estimates change even at rest. rad/s or m/s.

    Examples
    --------
    >>> AdaptationGains(law='natural', frequency=30.0).parts.is_natural
    True
    """

    law: str = 'memory'
    coordinates: str = 'links'
    frequency: float = 60.0
    payload: float = 0.01
    spread: float = 0.4
    terms: tuple[str, ...] = ('viscous', 'coulomb')
    term_frequency: float = 6.0
    composite: float = 2.0
    composite_cutoff: float = 10.0
    leakage: float = 0.02
    dead_zone: float = 0.02
    coulomb_velocity: float = 0.05
    largest_payload: float = 0.5
    longest_step: float = 0.015
    largest_sliding: float = 10.0
    rest_after: float = 2.0
    rest_sliding: float = 0.1

    def __post_init__(self) -> None:
        check_fields(self, positive, frequency='rad/s', payload='', spread='',
                     term_frequency='rad/s', composite_cutoff='Hz', coulomb_velocity='rad/s',
                     largest_payload='', longest_step='s', largest_sliding='rad/s')
        check_fields(self, not_negative, composite='', leakage='1/s', dead_zone='rad/s')
        for name in ('rest_after', 'rest_sliding'):
            # Written so that NaN fails; inf is never.
            if not number(name, getattr(self, name)) >= 0.0:
                raise ParameterError(f'must be zero or a positive number, got '
                                     f'{getattr(self, name)}', subject=name,
                                     remedy='use inf for never')
        for name in ('payload', 'spread', 'largest_payload'):
            if getattr(self, name) > LARGEST_SHARE:
                raise ParameterError(f'must not be above {LARGEST_SHARE:g}, got '
                                     f'{getattr(self, name):g}', subject=name,
                                     remedy='give a share of the mass or the length of the arm')
        if not isinstance(self.law, str) or self.law not in UPDATE_LAWS:
            raise ParameterError(f'must be one of {", ".join(UPDATE_LAWS)}, got {self.law!r}',
                                 subject='law', remedy='choose one of them')
        if self.coordinates not in COORDINATES:
            raise ParameterError(f'must be {" or ".join(COORDINATES)}, got {self.coordinates!r}',
                                 subject='coordinates', remedy='choose one of them')
        if self.coordinates == 'base' and self.parts.is_natural:
            raise ParameterError('must be links for the natural law, which moves whole bodies',
                                 subject='coordinates',
                                 remedy='choose links, or another law')
        for name in ('frequency', 'term_frequency'):
            if getattr(self, name) < SLOWEST:
                raise ParameterError(f'must be {SLOWEST:g} rad/s or more, got '
                                     f'{getattr(self, name):g}', subject=name,
                                     remedy='raise it, or disable adaptation')
        store(self, 'terms', check_terms(self.terms))

    @property
    def parts(self) -> UpdateLaw:
        """Components of the update law."""
        return UPDATE_LAWS[self.law]

    @property
    def composite_weight(self) -> float:
        """Weight of the prediction error, zero under a law without it."""
        return self.composite if self.parts.is_composite else 0.0


def dead_time(period: float, delay: float) -> float:
    """Mean delay T/2 + delay of an effort that is held for a period T, s."""
    return 0.5 * period + delay


def largest_frequency(bandwidth: float, period: float, delay: float) -> float:
    """Largest w_A of a stable loop of feedback and adaptation, rad/s.

    To first order s obeys a PI loop with dead time tau and the open loop ``(omega_D p + w_A^2) /
    p^2 exp(-p tau)``: stable while w_A^2 tau < omega_D.
    """
    return math.sqrt(bandwidth / dead_time(period, delay))


def check_gains(feedback: FeedbackGains, adaptation: AdaptationGains | None, *, period: float,
                delay: float) -> None:
    """Reject gains that are unstable at a sampling period and delay, s.

    The delay is the time from the measurement of a state to the effort that answers it. Raises a
    ControlError that names the gain and its largest value.
    """
    positive('period', period, 's')
    not_negative('delay', delay, 's')
    tau = dead_time(period, delay)
    for name, margin in (('bandwidth', FEEDBACK_MARGIN), ('error_rate', RATE_MARGIN)):
        rate, most = getattr(feedback, name), margin / tau
        if exceeds(rate, most):
            raise ControlError(f'is {rate:g} 1/s, too large for a period of {1e3 * period:g} ms '
                               f'and a delay of {1e3 * delay:g} ms', subject=name,
                               remedy=f'set it to {rounded_down(most):g} 1/s or less')
    if adaptation is not None:
        if exceeds(period, adaptation.longest_step):
            raise ControlError(f'is {adaptation.longest_step:g} s, too short for '
                               f'states that come every {period:g} s',
                               subject='longest_step',
                               remedy=f'set it to {float(f"{2.0 * period:.2g}"):g} s, or raise '
                                      'the rate of the states')
        limit = largest_frequency(feedback.bandwidth, period, delay)
        if adaptation.frequency >= limit:
            raise ControlError(f'is {adaptation.frequency:g} rad/s, beyond the stability limit '
                               f'of {limit:.3g} rad/s', subject='frequency',
                               remedy=f'set it to {0.3 * limit:.2g} to {0.5 * limit:.2g} rad/s')
        together = math.hypot(adaptation.frequency,
                              math.sqrt(len(adaptation.terms)) * adaptation.term_frequency)
        if together >= limit:
            left = math.sqrt((limit**2 - adaptation.frequency**2) / len(adaptation.terms))
            raise ControlError(f'is {adaptation.term_frequency:g} rad/s for each of '
                               f'{len(adaptation.terms)} terms, together with the inertial '
                               f'parameters beyond the stability limit of {limit:.3g} rad/s',
                               subject='term_frequency',
                               remedy=f'set it to {0.5 * left:.2g} rad/s or less')
        most = COMPOSITE_MARGIN * feedback.bandwidth / (adaptation.frequency**2 * period)
        if adaptation.composite_weight > most:
            raise ControlError(f'is {adaptation.composite:g}, too large for a period of '
                               f'{1e3 * period:g} ms', subject='composite',
                               remedy=f'set it to {most:.2g} or less')


@dataclass(frozen=True)
class UpdateLaw:
    """Components of an update law.

    Physically consistent estimates, leakage to the prior, dead zone of s, prediction error, memory
    of past motion, and the metric of the estimate instead of that of the prior.
    """

    keeps_bodies: bool = True
    leaks: bool = False
    has_dead_zone: bool = False
    is_composite: bool = False
    remembers: bool = False
    is_natural: bool = False


UPDATE_LAWS = {
    'gradient': UpdateLaw(keeps_bodies=False),
    'projection': UpdateLaw(leaks=True),
    'dead_zone': UpdateLaw(has_dead_zone=True),
    'composite': UpdateLaw(is_composite=True),
    'memory': UpdateLaw(is_composite=True, remembers=True),
    'natural': UpdateLaw(is_composite=True, is_natural=True),
    'natural_memory': UpdateLaw(is_composite=True, is_natural=True, remembers=True),
}
