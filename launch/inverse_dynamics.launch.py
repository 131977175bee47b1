# SPDX-License-Identifier: Apache-2.0
"""The torque that an arm needs by its model, in parts; without commands.

Without robot:=, the description is taken from the topic robot_description.
"""

from launch import LaunchDescription

from robot_dynamics.bringup.launching.actions import declare_arguments, system_actions

NAMES = ('robot', 'use_sim_time', 'namespace', 'identified')


def generate_launch_description():
    return LaunchDescription([
        *declare_arguments(NAMES, robot=''),
        system_actions(NAMES, plant='none', controller='none')])
