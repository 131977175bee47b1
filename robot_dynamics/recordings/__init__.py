# SPDX-License-Identifier: Apache-2.0
"""Reading of rosbag2 recordings (MCAP and SQLite) without ROS, including damaged ones."""

from robot_dynamics.recordings.bag import read_topics

__all__ = ['read_topics']
