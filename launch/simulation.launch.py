# SPDX-License-Identifier: Apache-2.0
"""A simulated arm, its controller, a reference and the torque by its parts."""

from launch import LaunchDescription

from robot_dynamics.bringup.launching.actions import declare_arguments, system_actions

NAMES = ('robot', 'controller', 'standby', 'plant', 'rate', 'elastic_joints', 'use_sim_time',
         'namespace', 'seed', 'identified')


def generate_launch_description():
    return LaunchDescription([*declare_arguments(NAMES), system_actions(NAMES)])
