# SPDX-License-Identifier: Apache-2.0
"""An arm in Gazebo with ros2_control, its controller, a reference and the torque by its parts.

Any URDF is accepted: the tags for effort control are added. Gazebo holds the arm until the
controller sends commands, so that it does not fall.
"""

from robot_dynamics.bringup.launching.actions import system_launch
from robot_dynamics.bringup.launching.gazebo import GAZEBO_ARGUMENTS, gazebo_actions

NAMES = ('robot', 'robot_args', 'controller', 'standby', 'rate', 'reference', 'namespace', 'seed',
         'identified')


def generate_launch_description():
    return system_launch(NAMES, gazebo_actions, extra=GAZEBO_ARGUMENTS, plant='none',
                         use_sim_time=True)
