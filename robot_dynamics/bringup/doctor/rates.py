# SPDX-License-Identifier: Apache-2.0
"""How fast a controller has to be for its gains, and whether it would take a robot at all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from robot_dynamics.bringup.doctor.findings import Remark, error, from_error, note, ok
from robot_dynamics.bringup.doctor.requirements import Wishes
from robot_dynamics.control.feedback.gains import AdaptationGains, FeedbackGains, check_gains
from robot_dynamics.control.laws.slotine_li import AdaptiveController
from robot_dynamics.control.session.limits import EffortLimiter
from robot_dynamics.errors import ControlError, RobotDynamicsError
from robot_dynamics.model.robot import Robot

#: Rates that are looked at. Hz.
_SLOWEST, _FASTEST = 1.0, 10_000.0
#: Bodies of which an adaptive controller, which learns ten parameters of each, is not asked.
MOST_BODIES = 150
#: Default of the parameters rate and delay of the controllers. Hz, s.
DEFAULT_RATE, DEFAULT_DELAY = 500.0, 0.001


def lowest_rate(feedback: FeedbackGains, adaptation: AdaptationGains | None,
                delay: float) -> float | None:
    """Return the lowest rate at which gains are stable, None where there is none. Hz."""
    def is_stable(rate: float) -> bool:
        try:
            check_gains(feedback, adaptation, period=1.0 / rate, delay=delay)
        except ControlError:
            return False
        return True

    low, high = _SLOWEST, _FASTEST
    if not is_stable(high):
        return None
    while high / low > 1.001:
        middle = (low * high) ** 0.5
        low, high = (low, middle) if is_stable(middle) else (middle, high)
    return high


def judge_control(robot: Robot) -> list[Remark]:
    """Say whether the adaptive controller, as it is by default, would take a robot."""
    if robot.n_bodies > MOST_BODIES:
        return [note('adaptive_controller', f'was not asked: {robot.n_bodies} moving bodies are '
                     'no arm', 'choose the joints of one arm by the parameter joints')]
    refusals = [refusal for refusal in (
        _refusal(lambda: EffortLimiter.for_robot(robot)),
        _refusal(lambda: AdaptiveController(robot, period=1.0 / DEFAULT_RATE,
                                            delay=DEFAULT_DELAY)))
        if refusal is not None]
    if refusals:
        return [from_error(refusal, robot.name) for refusal in refusals]
    needed = lowest_rate(FeedbackGains(), AdaptationGains(), DEFAULT_DELAY)
    return [ok('adaptive_controller', 'would take it with its default gains, at joint states of '
               f'{needed:.0f} Hz or more; {DEFAULT_RATE:g} Hz is usual')]


def judge_gains(name: str, wishes: Wishes, feedback: FeedbackGains,
                adaptation: AdaptationGains | None) -> list[Remark]:
    """Say whether the gains of a controller suit the rate that it was told."""
    needed = lowest_rate(feedback, adaptation, wishes.delay)
    if needed is None:
        return [error(name, f'its gains are too high for a delay of {1e3 * wishes.delay:g} ms',
                      'lower feedback.bandwidth and feedback.error_rate')]
    if needed > wishes.rate:
        return [error(name, f'its gains need {needed:.0f} Hz, and its rate is {wishes.rate:g} Hz',
                      'raise rate, or lower feedback.bandwidth, feedback.error_rate and '
                      'adaptation.composite, and let adaptation.longest_step be above a period')]
    return []


def _refusal(build: Callable[[], Any]) -> RobotDynamicsError | None:
    """Return the exception that something is refused with."""
    try:
        build()
    except RobotDynamicsError as refusal:
        return refusal
    return None
