# SPDX-License-Identifier: Apache-2.0
"""Parameters of the feedback that the controllers share."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from robot_dynamics.control.feedback.gains import FeedbackGains
from robot_dynamics.nodes.ros.parameters import Parameter, Values

_GAINS = FeedbackGains()

FEEDBACK_PARAMETERS = (
    Parameter('delay', 0.001, 'Time from the measurement of a state to the effort that answers '
              'it, which bounds the gains.', 's', 0.0, 0.1, read_only=True),
    Parameter('feedback.bandwidth', _GAINS.bandwidth, 'Rate at which s = e_dot + lambda e '
              'decays.', '1/s', 0.1, 1000.0, read_only=True),
    Parameter('feedback.error_rate', _GAINS.error_rate, 'lambda, rate at which the position '
              'error decays.', '1/s', 0.01, 1000.0, read_only=True),
    Parameter('feedback.stiffness', _GAINS.stiffness, 'Stiffness of every joint on top of '
              'that.', 'N m/rad or N/m', 0.0, 1e6, read_only=True),
)


def group(values: Values, prefix: str, kind: type) -> dict[str, Any]:
    """Return the parameters below a prefix as keywords of the dataclass that they make."""
    return {field.name: values[f'{prefix}.{field.name}'] for field in fields(kind)}


def feedback_keywords(values: Values) -> dict[str, Any]:
    """Return feedback, period and delay as the laws take them."""
    return {'feedback': FeedbackGains(**group(values, 'feedback', FeedbackGains)),
            'period': 1.0 / values['rate'], 'delay': values['delay']}
