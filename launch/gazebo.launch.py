# SPDX-License-Identifier: Apache-2.0
"""An arm in Gazebo behind ros2_control, its controller, a reference and the torque by its parts.

Any URDF will do: the tags for effort control are added on the way. The arm is held by
Gazebo until the controller speaks, so it does not fall.
"""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument

from robot_dynamics.bringup.launching.actions import declare_arguments, system_actions
from robot_dynamics.bringup.launching.gazebo import GAZEBO_ARGUMENTS, gazebo_actions

NAMES = ('robot', 'controller', 'standby', 'rate', 'namespace', 'seed', 'identified')


def generate_launch_description():
    return LaunchDescription([
        *declare_arguments(NAMES),
        *(DeclareLaunchArgument(name, default_value=default, description=text)
          for name, (default, text) in GAZEBO_ARGUMENTS.items()),
        system_actions(NAMES, gazebo_actions, extra=tuple(GAZEBO_ARGUMENTS), plant='none',
                       use_sim_time=True)])
