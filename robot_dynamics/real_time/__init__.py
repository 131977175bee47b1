# SPDX-License-Identifier: Apache-2.0
"""A controller for ros2_control: the control session and its law as C for one robot."""
