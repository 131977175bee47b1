# SPDX-License-Identifier: Apache-2.0
"""The adaptive controller, or another one, on an arm with a running driver.

Without robot:=, its description is taken from the topic robot_description. The
controller holds the arm where it is until a trajectory arrives on its topic, such as
adaptive_controller/reference.
"""

from robot_dynamics.bringup.launching.actions import system_launch

NAMES = ('robot', 'robot_args', 'controller', 'standby', 'rate', 'elastic_joints', 'use_sim_time',
         'namespace', 'identified')


def generate_launch_description():
    return system_launch(NAMES, robot='', plant='none', reference='none', inverse_dynamics=False)
