# SPDX-License-Identifier: Apache-2.0
"""The laws that can be written as C: their templates, constants and equations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from robot_dynamics.control.laws.model_based import PDGravityController
from robot_dynamics.real_time.constants import Constant


@dataclass(frozen=True)
class Law:
    """A law: its class in Python, its constants, and the equations that it needs.

    The templates ``laws/<name>.h`` and ``laws/<name>.c`` become ``law_state.h`` and ``law.c``;
    the templates `shared` keep their names.
    """

    kind: type
    constants: Callable[[Any], list[Constant]]
    kernels: Sequence[str]
    shared: Sequence[str] = ()


def feedback_constants(law: Any) -> list[Constant]:
    """Gains of the linear feedback of a law, see `LinearFeedback`, and its model."""
    n, values = law.robot.n, law.feedback._now
    return [Constant('damping_rate', law.damping_rate, '1/s'),
            Constant('longest_delay', law.longest_delay, 's'),
            Constant('bandwidth', law.feedback.bandwidth, 'omega_D, 1/s'),
            Constant('error_rate', values[1:1 + n], 'lambda, 1/s'),
            Constant('position_gain', values[1 + n:1 + 2 * n], 'K_P, N m/rad or N/m'),
            Constant('damping_gain', values[1 + 2 * n:], 'K_D, N m s/rad or N s/m'),
            Constant('model', law.model.parameters.ravel(), 'of the arm with its payload')]


LAWS = {
    'pd_gravity': Law(PDGravityController, feedback_constants, ('gravity', 'mass_matrix')),
}
