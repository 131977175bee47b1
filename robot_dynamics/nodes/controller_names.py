# SPDX-License-Identifier: Apache-2.0
"""The names of the controllers, and what each of them says."""

from __future__ import annotations

#: Controllers that follow a reference.
TRACKING_CONTROLLERS = ('adaptive_controller', 'feedforward_lq_controller',
                        'computed_torque_controller', 'pd_gravity_controller',
                        'elastic_pd_controller')

#: Every controller.
CONTROLLERS = (*TRACKING_CONTROLLERS, 'gravity_compensation_controller')

#: Topics of every controller, below its name.
COMMON_TOPICS = ('mode', 'command', 'tracking_error', 'timing')

#: What single ones say on top of that.
FURTHER_TOPICS = {
    'adaptive_controller': ('sliding_variable', 'parameter_estimate', 'parameter_names'),
}


def topics_of(controller: str) -> tuple[str, ...]:
    """Return the topics of a controller, relative to the namespace of the arm."""
    return tuple(f'{controller}/{name}'
                 for name in (*(('reference',) if controller in TRACKING_CONTROLLERS else ()),
                              *COMMON_TOPICS, *FURTHER_TOPICS.get(controller, ())))
