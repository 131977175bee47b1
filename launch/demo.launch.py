# SPDX-License-Identifier: Apache-2.0
"""A simulated arm with a wrong model is tracked better and better; then a report is written."""

from robot_dynamics.bringup.arguments import DEMO_SYSTEM
from robot_dynamics.bringup.demo import DEMO_ARGUMENTS, demo_actions
from robot_dynamics.bringup.launching.actions import system_launch


def generate_launch_description():
    return system_launch(tuple(DEMO_SYSTEM), demo_actions, arguments=DEMO_SYSTEM,
                         extra=DEMO_ARGUMENTS)
