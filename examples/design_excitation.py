# SPDX-License-Identifier: Apache-2.0
"""An exciting motion for identification, within the limits of the arm.

    python examples/design_excitation.py [plan.yaml]

The motion minimises the condition number of the base regressor. Position, speed, acceleration and
effort limits hold at all times, not only at samples. The node `excitation` plays the plan.
"""

import sys
from pathlib import Path

import numpy as np

from robot_dynamics import Robot
from robot_dynamics.identification import DesignSettings, ExcitationPlan, MotionLimits, design
from robot_dynamics.identification.excitation.design import resting_pose


def main() -> None:
    robot = Robot.from_urdf('planar_2r')
    start = resting_pose(robot)
    limits = MotionLimits.for_robot(robot, start, scale=0.9, acceleration=5.0)
    settings = DesignSettings(seconds=8.0, restarts=1, iterations=40)
    found = design(robot, start, limits, settings)
    print(f'{found.rank} base parameters, condition {found.condition:.2f}; '
          f'random motions have {np.median(found.random_conditions):.1f}')
    print(f'largest use of a limit {100 * found.use.largest:.1f} %')

    plan = ExcitationPlan.of(robot, found, settings)
    if len(sys.argv) > 1:
        plan.write(Path(sys.argv[1]))
        print('written to', sys.argv[1])
    for time in (0.0, 2.0, 4.0, 8.0):
        print(f'q({time:.0f} s) =', np.round(found.motion.evaluate([time])[0], 3))


if __name__ == '__main__':
    main()
