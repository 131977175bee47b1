# SPDX-License-Identifier: Apache-2.0
"""An arm that is led through an excitation plan once, recorded, and then left at rest.

plan:= is a file of robot-dynamics excite. With plant:=none the arm and its driver run already.
"""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument

from robot_dynamics.bringup.excitation import EXCITATION_ARGUMENTS, excitation_processes
from robot_dynamics.bringup.launching.actions import (
    declare_arguments,
    node_actions,
    system_actions,
)

NAMES = ('robot', 'controller', 'plant', 'rate', 'elastic_joints', 'use_sim_time', 'namespace',
         'seed', 'identified')


def generate_launch_description():
    return LaunchDescription([
        *declare_arguments(NAMES),
        *(DeclareLaunchArgument(name, default_value=default, description=text)
          for name, (default, text) in EXCITATION_ARGUMENTS.items()),
        system_actions(NAMES, lambda *given, **more: node_actions(
            excitation_processes(*given, **more)), extra=tuple(EXCITATION_ARGUMENTS),
            inverse_dynamics=False)])
