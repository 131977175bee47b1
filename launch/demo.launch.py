# SPDX-License-Identifier: Apache-2.0
"""An arm with a wrong model of itself is tracked better and better; then a report is written."""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument

from robot_dynamics.bringup.arguments import DEMO_SYSTEM
from robot_dynamics.bringup.launching.actions import declare_arguments, system_actions
from robot_dynamics.bringup.launching.demo import DEMO_ARGUMENTS, demo_actions

NAMES = tuple(argument.name for argument in DEMO_SYSTEM)


def generate_launch_description():
    return LaunchDescription([
        *declare_arguments(NAMES, DEMO_SYSTEM, plant='loaded'),
        *(DeclareLaunchArgument(name, default_value=default, description=text)
          for name, (default, text) in DEMO_ARGUMENTS.items()),
        system_actions(NAMES, demo_actions, extra=tuple(DEMO_ARGUMENTS))])
