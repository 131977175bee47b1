# SPDX-License-Identifier: Apache-2.0
"""A simulated arm with a wrong model is tracked better and better; then a report is written."""

from launch import LaunchDescription

from robot_dynamics.bringup.arguments import DEMO_SYSTEM
from robot_dynamics.bringup.launching.actions import declare_arguments, system_actions
from robot_dynamics.bringup.launching.demo import DEMO_ARGUMENTS, demo_actions

NAMES = tuple(argument.name for argument in DEMO_SYSTEM)


def generate_launch_description():
    return LaunchDescription([
        *declare_arguments(NAMES, DEMO_SYSTEM, extra=DEMO_ARGUMENTS, plant='loaded'),
        system_actions(NAMES, demo_actions, extra=tuple(DEMO_ARGUMENTS))])
