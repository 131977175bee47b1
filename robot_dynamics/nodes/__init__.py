# SPDX-License-Identifier: Apache-2.0
"""Thin ROS 2 nodes; the only room that imports rclpy and messages."""

from robot_dynamics.nodes.ros.stopping import attend_while_importing

# Imported before any node, long before its main() runs.
attend_while_importing()
