# SPDX-License-Identifier: Apache-2.0
"""Recordings of rosbag2, read without ROS: MCAP and SQLite, also damaged ones."""

from robot_dynamics.recordings.bag import read_topics

__all__ = ['read_topics']
