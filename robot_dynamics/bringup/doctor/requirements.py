# SPDX-License-Identifier: Apache-2.0
"""What a controller asks of joint states, from its parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, TypeVar

from robot_dynamics.control.feedback.gains import AdaptationGains, FeedbackGains
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.nodes.observing.graph_snapshot import GraphSnapshot, NodeInfo

#: Controllers without adaptation.
LEARN_NOTHING = ('computed_torque_controller', 'pd_gravity_controller',
                 'gravity_compensation_controller', 'feedforward_lq_controller',
                 'elastic_pd_controller')
#: Controllers whose gains are judged by themselves when they are configured.
JUDGE_THEIR_GAINS = ('elastic_pd_controller',)

_Gains = TypeVar('_Gains', FeedbackGains, AdaptationGains)


@dataclass(frozen=True)
class Wishes:
    """Parameters of a controller that joint states have to live up to; the defaults are its own.

    Parameters
    ----------
    rate : float
        Rate at which it takes states. Hz.
    state_timeout, state_skew, max_age, max_future : float
        Silence, skew, age and lead that it stands. s.
    velocity_cutoff : float
        Corner frequency of estimated velocities. Hz.
    state_publishers : int
        How many publishers it wants; 0 for any number.
    delay : float
        Time that it takes to answer. s.
    effort_kind : str
        What it takes reported efforts for.
    hardware_gravity_compensation : bool
        Whether it leaves gravity to the arm.
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
    def of(cls, node: NodeInfo) -> Wishes:
        """Return those of a controller; the defaults where it does not say."""
        told = node.parameters or {}
        return cls(**{field.name: told[field.name] for field in fields(cls)
                      if field.name in told})


def first_controller(graph: GraphSnapshot) -> NodeInfo | None:
    """Return the controller that joint states are judged for: one that commands, if there is."""
    return next((node for node in graph.controllers if node.commanded_topics),
                graph.controllers[0] if graph.controllers else None)


def motor_prefix(node: NodeInfo) -> str:
    """Return what stands before the names of joints in the states that a controller takes."""
    return (node.parameters or {}).get('motor_prefix', '')


def gains_of(node: NodeInfo) -> tuple[FeedbackGains, AdaptationGains | None]:
    """Return the gains that a controller runs with; the defaults where it does not say."""
    told = node.parameters or {}
    if 'feedback.stiffness' in told:
        told = {**told, 'feedback.position_gain': told['feedback.stiffness']}
    feedback = _group(told, 'feedback.', FeedbackGains)
    adaptation = _group(told, 'adaptation.', AdaptationGains)
    learns = node.base_name not in LEARN_NOTHING
    return feedback, adaptation if learns else None


def _group(told: Mapping[str, Any], prefix: str, gains: type[_Gains]) -> _Gains:
    """Return the gains that parameters with a prefix tell."""
    values = {field.name: told[prefix + field.name] for field in fields(gains)
              if prefix + field.name in told}
    if 'terms' in values:  # An empty list is told as nothing.
        values['terms'] = tuple(values['terms'] or ())
    try:
        return gains(**values)
    except RobotDynamicsError:  # No node starts with such; it is another's parameter.
        return gains()
