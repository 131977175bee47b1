# SPDX-License-Identifier: Apache-2.0
"""An exciting motion for identification, within the limits of the arm.

    python examples/design_excitation.py [plan.yaml]

Shows how a motion for identification is designed and kept as a plan. It minimises the condition
number of the base regressor. Limits of position, speed, acceleration and effort hold at all times,
not only at samples. The node `excitation` plays the plan. It prints the condition number, the
largest use of a limit, and some positions in rad:

    6 base parameters, condition 1.42; random motions have 4.3
    largest use of a limit 99... %
    q(0 s) = [0. 0.]
    q(2 s) = [-0.0... -2.4...]
    q(4 s) = [ 0.36... -0.3...]
    q(8 s) = [0. 0.]
"""

import sys
from pathlib import Path

import numpy as np

from robot_dynamics import Robot
from robot_dynamics.identification import DesignSettings, ExcitationPlan, MotionLimits, design
from robot_dynamics.identification.excitation.design import resting_pose


def main() -> tuple:
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
    times = np.linspace(0.0, 8.0, 400)
    return times, found.motion.evaluate(times), limits


def draw(figure, times, q, limits) -> None:
    axes = figure.subplots()
    for k, name in enumerate(limits.joint_names):
        (line,) = axes.plot(times, q[:, k], label=name)
        for limit in (limits.lower[k], limits.upper[k]):
            axes.axhline(limit, color=line.get_color(), linestyle=':')
    axes.set(xlabel='time, s', ylabel='positions and their limits, rad')
    axes.legend(ncols=2, fontsize='small')


if __name__ == '__main__':
    main()
