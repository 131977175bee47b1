# SPDX-License-Identifier: Apache-2.0
"""``started_context``: rclpy for a command that looks at a system and takes no part in it."""

from __future__ import annotations

import rclpy
from rclpy.context import Context

from robot_dynamics.errors import BringupError
from robot_dynamics.nodes.ros.transports import without_shared_memory


def started_context(domain: int | None) -> Context:
    """Return a context of its own; whoever asks for it shuts it down.

    Parameters
    ----------
    domain : int, optional
        ROS domain; that of the environment by default.

    Raises
    ------
    BringupError
        When ROS 2 cannot be started.
    """
    context = Context()
    try:
        with without_shared_memory():
            rclpy.init(args=[], context=context, domain_id=domain)
    except RuntimeError as error:
        raise BringupError(f'cannot be started: {" ".join(str(error).split())}',
                           subject='ROS 2', remedy='see what the environment says of RMW, domain '
                                                   'and DDS profiles') from error
    return context
