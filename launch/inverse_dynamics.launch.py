# SPDX-License-Identifier: Apache-2.0
"""The torque that an arm needs by its model, in parts; without commands.

Without robot:=, the description is taken from the topic robot_description.
"""

from robot_dynamics.bringup.launching.actions import system_launch

NAMES = ('robot', 'robot_args', 'use_sim_time', 'namespace', 'identified')


def generate_launch_description():
    return system_launch(NAMES, robot='', plant='none', controller='none')
