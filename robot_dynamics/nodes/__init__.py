# SPDX-License-Identifier: Apache-2.0
"""Thin ROS 2 nodes; the only room that imports rclpy and messages."""
