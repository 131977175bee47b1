# SPDX-License-Identifier: Apache-2.0
"""An arm with a wrong model of itself is tracked better and better; then a report is written."""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument

from robot_dynamics.bringup.demo_launching import DEMO_ARGUMENTS, demo_actions
from robot_dynamics.bringup.launching import declare_arguments, system_actions

NAMES = ('robot', 'controller', 'plant', 'rate', 'seed')


def generate_launch_description():
    return LaunchDescription([
        *declare_arguments(NAMES, plant='loaded'),
        *(DeclareLaunchArgument(name, default_value=default, description=text)
          for name, (default, text) in DEMO_ARGUMENTS.items()),
        system_actions(NAMES, demo_actions, extra=tuple(DEMO_ARGUMENTS))])
