# SPDX-License-Identifier: Apache-2.0
"""A controller and the model torque on an arm with a running driver.

hardware:= selects the settings for the driver (config/hardware, docs/hardware.md). Without
robot:=, the description is taken from the topic robot_description. The controller
holds the arm where it is until a trajectory arrives on its topic, such as
adaptive_controller/reference.
"""

from robot_dynamics.bringup.hardware import HARDWARE_ARGUMENTS, hardware_processes
from robot_dynamics.bringup.launching.actions import system_launch

NAMES = ('robot', 'robot_args', 'controller', 'standby', 'elastic_joints', 'use_sim_time',
         'namespace', 'identified')


def generate_launch_description():
    return system_launch(NAMES, hardware_processes, extra=HARDWARE_ARGUMENTS, robot='',
                         plant='none', reference='none')
