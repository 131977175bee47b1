# SPDX-License-Identifier: Apache-2.0
"""A simulated arm, its controller, a reference and the torque by its parts."""

from robot_dynamics.bringup.launching.actions import system_launch

NAMES = ('robot', 'robot_args', 'controller', 'standby', 'plant', 'rate', 'elastic_joints',
         'reference', 'use_sim_time', 'namespace', 'seed', 'identified')


def generate_launch_description():
    return system_launch(NAMES)
