# SPDX-License-Identifier: Apache-2.0
"""The columns of the study: controllers by name, all with the same feedback where they can."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from robot_dynamics.control.adaptation.partial_knowledge import PartialKnowledge
from robot_dynamics.control.feedback.gains import AdaptationGains
from robot_dynamics.control.feedback.protocol import TrackingController
from robot_dynamics.control.laws.feedforward_lq import FeedforwardLQController
from robot_dynamics.control.laws.model_based import ComputedTorqueController, PDGravityController
from robot_dynamics.control.laws.slotine_li import AdaptiveController
from robot_dynamics.control.lq.design import FeedbackDesign
from robot_dynamics.model.robot import Robot

#: Sampling period, and the delay that gains are checked against. s.
PERIOD, DELAY = 0.002, 0.002

#: Riccati regulator at the rates of PD + gravity, and at the study's omega of 60 1/s.
LIKE_PD = FeedbackDesign(60.0, 1.0 / 12.0)
STIFF = FeedbackDesign(60.0, 1.0 / 60.0)
#: The same, making up for what the model does not know of as fast as the integral of PID.
STIFF_INTEGRAL = FeedbackDesign(60.0, 1.0 / 60.0, disturbance_rate=4.0)


class PIDGravity(PDGravityController):
    """PD + gravity with an integral: + w_I omega_D M0(q) (integral of s)."""

    #: 12 1/s, a fifth of the bandwidth, is unstable with 2 kg at the hand of arm7.
    INTEGRAL_RATE = 4.0

    def __init__(self, robot: Robot, **keywords):
        super().__init__(robot, **keywords)
        self._integral = np.zeros(robot.n)

    def update(self, q, v, q_d, v_d, a_d, dt, *, adapt):
        """Return the effort; what is integrated rests while efforts are cut."""
        tau = super().update(q, v, q_d, v_d, a_d, dt, adapt=adapt)
        if adapt:
            self._integral += dt * self.s
        tau += (self.INTEGRAL_RATE * self.feedback.gains.bandwidth
                * self.feedback.mass_matrix @ self._integral)
        return tau


def adaptive(robot: Robot, *, known: PartialKnowledge | None = None,
             **gains) -> AdaptiveController:
    """Return the adaptive law with gains that differ from the default."""
    return AdaptiveController(robot, adaptation=AdaptationGains(**gains), known=known,
                              period=PERIOD, delay=DELAY)


def all_links_but_the_last(robot: Robot) -> PartialKnowledge:
    """Return what is known where only the payload is not."""
    return PartialKnowledge(links=robot.body_names[:-1])


#: w_A of the natural law at the prior: it grows with what is learnt. rad/s.
NATURAL_FREQUENCY = 80.0

CONTENDERS: dict[str, Callable[[Robot], TrackingController]] = {
    'PD + gravity': lambda robot: PDGravityController(robot, period=PERIOD, delay=DELAY),
    'PID + gravity': lambda robot: PIDGravity(robot, period=PERIOD, delay=DELAY),
    'computed torque': lambda robot: ComputedTorqueController(robot, period=PERIOD, delay=DELAY),
    'one-step LQ': lambda robot: FeedforwardLQController(
        robot, gain='one_step', design=LIKE_PD, period=PERIOD, delay=DELAY),
    'Riccati LQ': lambda robot: FeedforwardLQController(
        robot, gain='riccati', design=STIFF, period=PERIOD, delay=DELAY),
    'Riccati LQI': lambda robot: FeedforwardLQController(
        robot, gain='riccati', design=STIFF_INTEGRAL, period=PERIOD, delay=DELAY),
    'gradient': lambda robot: adaptive(robot, law='projection'),
    'natural': lambda robot: adaptive(robot, law='natural', frequency=NATURAL_FREQUENCY,
                                      composite=1.0),
    'natural_memory': lambda robot: adaptive(robot, law='natural_memory',
                                             frequency=NATURAL_FREQUENCY, composite=1.0),
    'memory': adaptive,
    'partly known': lambda robot: adaptive(robot, known=all_links_but_the_last(robot)),
}
