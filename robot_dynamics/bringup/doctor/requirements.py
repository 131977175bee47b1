# SPDX-License-Identifier: Apache-2.0
"""Requirements of a controller: the joint states that it accepts, and the rate for its gains."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, TypeVar

from robot_dynamics.bringup.doctor.findings import (
    CheckResult,
    collected,
    error,
    from_error,
    note,
    ok,
)
from robot_dynamics.control.feedback.drives import with_rotors
from robot_dynamics.control.feedback.gains import AdaptationGains, FeedbackGains, check_gains
from robot_dynamics.control.laws.slotine_li import AdaptiveController
from robot_dynamics.control.session.limits import EffortLimiter
from robot_dynamics.errors import ControlError, RobotDynamicsError
from robot_dynamics.model.robot import Robot
from robot_dynamics.nodes.controllers import CONTROLLER_NODES
from robot_dynamics.nodes.observing.graph_snapshot import GraphSnapshot, NodeInfo

#: Range of rates in which the lowest stable one is searched. Hz.
_SLOWEST, _FASTEST = 1.0, 10_000.0
#: Largest number of bodies for a trial of the adaptive controller, which learns ten parameters
#: of each.
MOST_BODIES = 150

_Gains = TypeVar('_Gains', FeedbackGains, AdaptationGains)


@dataclass(frozen=True)
class StateRequirements:
    """Parameters of a controller that constrain joint states; the defaults are those of the nodes.

    Rate in Hz, times in s. ``delay`` is the time from a state to its effort; ``state_publishers``
    is 0 for any number.
    """

    rate: float = 500.0
    state_timeout: float = 0.1
    state_skew: float = 0.02
    max_age: float = 0.2
    max_future: float = 0.05
    velocity_cutoff: float = 30.0
    state_publishers: int = 1
    delay: float = 0.001
    effort_kind: str = 'torque'
    hardware_gravity_compensation: bool = False

    @classmethod
    def of(cls, node: NodeInfo) -> StateRequirements:
        """Requirements of a controller; the defaults for parameters that it does not have."""
        known = node.parameters or {}
        return cls(**{field.name: known[field.name] for field in fields(cls)
                      if field.name in known})


def first_controller(graph: GraphSnapshot) -> NodeInfo | None:
    """Controller for the checks of joint states: an active one, if there is one."""
    return next((node for node in graph.controllers if node.commanded_topics),
                graph.controllers[0] if graph.controllers else None)


def has_feedback_gains(node: NodeInfo) -> bool:
    """Whether the lowest rate of a controller follows from its parameters ``feedback.*``."""
    row = CONTROLLER_NODES.get(node.base_name)
    return row is None or row.has_feedback_gains


def gains_of(node: NodeInfo) -> tuple[FeedbackGains, AdaptationGains | None]:
    """Gains of a controller; the defaults for parameters that it does not have."""
    known = dict(node.parameters or {})
    if known.get('feedback.stiffness'):  # an empty list arrives as None
        known['feedback.position_gain'] = tuple(known['feedback.stiffness'])
    row = CONTROLLER_NODES.get(node.base_name)
    learns = row is None or row.learns
    return (_group(known, 'feedback.', FeedbackGains),
            _group(known, 'adaptation.', AdaptationGains) if learns else None)


def _group(known: Mapping[str, Any], prefix: str, gains: type[_Gains]) -> _Gains:
    values = {field.name: known[prefix + field.name] for field in fields(gains)
              if prefix + field.name in known}
    if 'terms' in values:  # an empty list arrives as None
        values['terms'] = tuple(values['terms'] or ())
    try:
        return gains(**values)
    except RobotDynamicsError:  # no node starts with these: parameters of something else
        return gains()


def lowest_rate(feedback: FeedbackGains, adaptation: AdaptationGains | None,
                delay: float) -> float | None:
    """Lowest rate at which gains are stable, Hz; or None."""
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


@collected
def check_gains_for_rate(name: str, requirements: StateRequirements, feedback: FeedbackGains,
                         adaptation: AdaptationGains | None) -> Iterator[CheckResult]:
    """Check that the gains of a controller suit its rate and delay."""
    needed = lowest_rate(feedback, adaptation, requirements.delay)
    if needed is None:
        yield error(name, f'has too high gains for a delay of {1e3 * requirements.delay:g} ms',
                    'lower feedback.bandwidth and feedback.error_rate')
    elif needed > requirements.rate:
        yield error(name, f'has gains that need {needed:.0f} Hz, at a rate of '
                    f'{requirements.rate:g} Hz',
                    'raise rate, or lower feedback.bandwidth, feedback.error_rate and '
                    'adaptation.composite, and set adaptation.longest_step above a period')


@collected
def check_default_controller(robot: Robot) -> Iterator[CheckResult]:
    """Check that the adaptive controller accepts a robot with its default parameters."""
    if robot.n_bodies > MOST_BODIES:
        yield note('adaptive_controller', f'was not tried: the robot has {robot.n_bodies} moving '
                   'bodies', 'choose the joints of one arm by the parameter joints')
        return
    default = StateRequirements()
    is_accepted = True
    for build in (EffortLimiter.for_robot, partial(
            AdaptiveController, period=1.0 / default.rate, delay=default.delay)):
        try:
            build(with_rotors(robot))
        except RobotDynamicsError as refusal:
            is_accepted = False
            yield from_error(refusal, robot.name)
    if is_accepted:
        needed = lowest_rate(FeedbackGains(), AdaptationGains(), default.delay)
        yield ok('adaptive_controller', 'accepts the robot with its default gains, at '
                 f'{needed:.0f} Hz or more; {default.rate:g} Hz is usual')
