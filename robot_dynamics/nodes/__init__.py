# SPDX-License-Identifier: Apache-2.0
"""Thin ROS 2 nodes; the only room that imports rclpy and messages."""

import importlib.util
import sys

from robot_dynamics.errors import BringupError
from robot_dynamics.nodes.ros.stopping import attend_while_importing


def require_ros() -> None:
    """Raise `BringupError` if this Python has no ROS 2, instead of an error from every node."""
    if importlib.util.find_spec('rclpy') is None:
        raise BringupError('is not installed for this Python', subject='rclpy',
                           remedy='source the setup.bash of ROS 2, or use the Python of .venv, '
                                  'which ./demo makes with the ROS 2 wheels')


def _is_started() -> bool:
    """Whether this process is ``python -m robot_dynamics.nodes.<node>``."""
    return sys.argv[:1] == ['-m'] and any(
        text.startswith(f'{__name__}.') for text in sys.orig_argv)


if _is_started():
    try:
        require_ros()
    except BringupError as error:
        sys.exit(str(error))

# Imported before any node, long before its main() runs.
attend_while_importing()
