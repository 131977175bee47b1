# SPDX-License-Identifier: Apache-2.0
"""An arm that follows an excitation plan once, is recorded, and stays at rest.

plan:= is a file of robot-dynamics excite. With plant:=none the arm and its driver run already.
"""

from robot_dynamics.bringup.excitation import EXCITATION_ARGUMENTS, excitation_processes
from robot_dynamics.bringup.launching.actions import system_launch

NAMES = ('robot', 'robot_args', 'controller', 'plant', 'rate', 'elastic_joints',
         'use_sim_time', 'namespace', 'seed', 'identified')


def generate_launch_description():
    return system_launch(NAMES, excitation_processes, extra=EXCITATION_ARGUMENTS,
                         inverse_dynamics=False)
