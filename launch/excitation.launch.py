# SPDX-License-Identifier: Apache-2.0
"""An arm that follows an excitation plan once, is recorded, and stays at rest.

plan:= is a file of robot-dynamics excite. With plant:=none the arm and its driver run already.
"""

from launch import LaunchDescription

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
        *declare_arguments(NAMES, extra=EXCITATION_ARGUMENTS),
        system_actions(NAMES, lambda *given, **more: node_actions(
            excitation_processes(*given, **more)), extra=tuple(EXCITATION_ARGUMENTS),
            inverse_dynamics=False)])
