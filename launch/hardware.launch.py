# SPDX-License-Identifier: Apache-2.0
"""A controller and the model torque on an arm with a running driver.

hardware:= selects the settings for the driver (config/hardware, docs/hardware.md). Without
robot:=, the description is taken from the topic robot_description. The controller
holds the arm where it is until a trajectory arrives on its topic, such as
adaptive_controller/reference.
"""

from launch import LaunchDescription

from robot_dynamics.bringup.hardware import HARDWARE_ARGUMENTS, hardware_processes
from robot_dynamics.bringup.launching.actions import (
    declare_arguments,
    node_actions,
    system_actions,
)

NAMES = ('robot', 'controller', 'standby', 'elastic_joints', 'use_sim_time', 'namespace',
         'identified')


def generate_launch_description():
    return LaunchDescription([
        *declare_arguments(NAMES, extra=HARDWARE_ARGUMENTS, robot=''),
        system_actions(NAMES, lambda *given, **more: node_actions(
            hardware_processes(*given, **more)), extra=tuple(HARDWARE_ARGUMENTS), plant='none',
            reference=False)])
