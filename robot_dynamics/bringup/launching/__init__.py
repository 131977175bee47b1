# SPDX-License-Identifier: Apache-2.0
"""Actions of ROS 2's ``launch`` for the systems that `robot_dynamics.bringup` describes."""
