# SPDX-License-Identifier: Apache-2.0
"""What the gains of the adaptive law come to, checked and in words, before an arm moves.

The gains follow from rules: K_D = omega_D M0(q), and Gamma from a covariance of the prior,
scaled so that the estimates close the loop no faster than w_A
(`control.adaptation.metric`). This report says what that comes to along a motion, with
the model as given and with the largest payload that is expected, joint terms included::

    w_A^2 = lambda_max(M^-1 Y Gamma Y^T) < omega_D / (T/2 + delay)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robot_dynamics.control.adaptation.metric import (
    Motions,
    arm_length,
    mass_matrices,
    typical_motions,
)
from robot_dynamics.control.feedback.gains import FEEDBACK_MARGIN, dead_time, largest_frequency
from robot_dynamics.control.laws.slotine_li import AdaptiveController
from robot_dynamics.control.motion.references import Reference
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import ControlError
from robot_dynamics.model.modify import with_payload

#: Points of a reference that are looked at, and how much of an endless one. s.
POINTS, LONGEST = 200, 60.0


@dataclass(frozen=True)
class LoopReport:
    """Frequencies of the loop, and their limits.

    Parameters
    ----------
    bandwidth : float
        omega_D. 1/s.
    largest_bandwidth : float
        What it may be at this period and delay. 1/s.
    frequency : float
        w_A at the worst point, without and with the payload. rad/s.
    limit : float
        Where the loop is unstable. rad/s.
    payload : float
        Largest payload expected. kg.
    law : str
        Name of the update law.
    """

    bandwidth: float
    largest_bandwidth: float
    frequency: float
    limit: float
    payload: float
    law: str

    def __str__(self) -> str:
        """Return it in one line."""
        return (f'update law {self.law}: feedback {self.bandwidth:.3g} of at most '
                f'{self.largest_bandwidth:.3g} 1/s, adaptation {self.frequency:.3g} of less than '
                f'{self.limit:.3g} rad/s, with up to {self.payload:.3g} kg at the tip')

    def require(self) -> None:
        """Raise ControlError where the loop is not stable."""
        # Written so that NaN fails.
        if not self.frequency < self.limit:
            raise ControlError(f'lets the estimates close the loop at {self.frequency:.3g} rad/s '
                               f'along this motion, beyond the stability limit of '
                               f'{self.limit:.3g} rad/s', subject='adaptation.frequency',
                               remedy='lower it in proportion')


def loop_report(law: AdaptiveController, reference: Reference | None = None, *,
                period: float = 0.002, delay: float = 0.001, payload: float | None = None,
                ) -> LoopReport:
    """Return what the gains of a law come to along a motion.

    Parameters
    ----------
    law : AdaptiveController
        The law with its gains.
    reference : Reference, optional
        The motion; motions all over the joint ranges where not given.
    period, delay : float
        Sampling period, and time from the measurement of a state to the torque that
        answers it. s.
    payload : float, optional
        Largest payload expected at the tips; the one that gains take for possible where not
        given. kg.
    """
    robot, gains = law.robot, law.gains
    motions = typical_motions(robot) if reference is None else _along(reference)
    load = gains.payload * float(robot.inertial_parameters[:, 0].sum()) \
        if payload is None else float(payload)
    gain = law.adaptation.gain()
    loaded = robot
    for tip in np.setdiff1d(np.arange(robot.n_bodies), robot.parents):
        if load > 0.0:
            loaded = with_payload(loaded, load, (0.0, 0.0, gains.spread * arm_length(robot)),
                                  frame=robot.body_names[tip])
    frequency = max(_frequency(dynamics, gain, motions, gains.terms)
                    for dynamics in (law.dynamics, Dynamics(loaded)))
    bandwidth = law.feedback.gains.bandwidth
    return LoopReport(bandwidth, FEEDBACK_MARGIN / dead_time(period, delay), frequency,
                      largest_frequency(bandwidth, period, delay), load, gains.law)


def _along(reference: Reference) -> Motions:
    """Return points of a reference."""
    end = min(reference.duration, LONGEST)
    return Motions(*reference.sample_many(np.linspace(0.0, end, POINTS)))


def _frequency(dynamics: Dynamics, gain: np.ndarray, motions: Motions,
               terms: tuple[str, ...]) -> float:
    """Return w_A with the joint terms, at the worst of some motions. rad/s."""
    Y = dynamics.regressor(motions.q, motions.v, motions.a, terms)
    stiffness = Y @ gain @ np.swapaxes(Y, -1, -2)
    mass = mass_matrices(dynamics, motions.q)
    eigenvalues = np.linalg.eigvals(np.linalg.solve(mass, stiffness)).real
    return float(np.sqrt(max(eigenvalues.max(), 0.0)))
