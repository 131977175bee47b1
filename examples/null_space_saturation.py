# SPDX-License-Identifier: Apache-2.0
"""A task of the hand within joint limits: saturation in the null space.

    python examples/null_space_saturation.py

Shows how a redundant arm follows a line although some joints reach their bounds. The solution of
least norm ignores bounds. Saturation in the null space (SNS) holds joints at their bounds and
gives the rest of the task to the others. Accelerations are in rad/s^2, bounds of speed in rad/s.
First for one state, then for a whole path. It prints joint accelerations and peak speeds:

    least norm: [ 1.3  -4.93 -1.83 -1.78 -0.04 -1.46  0.  ], hand [0. 0. 2.]
    within 4:   [ 2.56 -4.   -3.09 -1.58 -0.11 -2.17  0.  ], hand [0. 0. 2.]
    line of 0.3 m in 1.1 s
    peak speeds, unbounded: [0.27 1.25 0.36 0.24 0.02 0.31 0.  ]
    peak speeds, bounded:   [0.75 0.9  0.86 0.31 0.05 0.68 0.  ]
    largest deviation from the line 0.00 mm
"""

import numpy as np

from robot_dynamics import Dynamics, Robot
from robot_dynamics.control import JointBounds, Line, TipMotion, TipTask, end_effector_acceleration


def main() -> tuple:
    robot = Robot.from_urdf('arm7')
    dynamics, hand = Dynamics(robot), robot.body_names[-1]
    q = np.array([0.0, 0.8, -0.7, -2.0, -0.3, 1.1, 0.0])
    upwards = np.array([0.0, 0.0, 2.0])         # m/s^2
    J = dynamics.jacobian(q, hand)[:3]
    for name, bound in (('least norm:', np.inf), ('within 4:  ', 4.0)):
        command = end_effector_acceleration(dynamics, q, np.zeros(robot.n), hand, upwards, bound)
        print(f'{name} {np.round(command.u, 2)}, hand {np.round(J @ command.u, 6) + 0.0}')

    tip = dynamics.forward_kinematics(q, hand)[:3, 3]
    task = TipTask(hand, Line(tip, [0.0, 0.0, 0.3]), speed=0.5, acceleration=5.0,
                   keeps_orientation=False)
    free = TipMotion(dynamics, q, task, JointBounds.for_robot(robot, velocity=100.0))
    bounds = JointBounds.for_robot(robot, velocity=0.9, acceleration=40.0)
    bounded = TipMotion(dynamics, q, task, bounds)
    print(f'line of {task.path.length:.1f} m in {task.duration:.1f} s')
    times = np.linspace(0.0, task.duration, 500)
    for name, motion in (('unbounded:', free), ('bounded:  ', bounded)):
        peaks = np.abs(motion.sample_many(times)[1]).max(axis=0)
        print(f'peak speeds, {name}', np.round(peaks, 2))
    way = dynamics.forward_kinematics(bounded.sample_many(times)[0], hand)[:, :3, 3] - tip
    print(f'largest deviation from the line {1e3 * np.abs(way[:, :2]).max():.2f} mm')
    return times, free.sample_many(times)[1], bounded.sample_many(times)[1]


def draw(figure, times, free, bounded) -> None:
    panels = figure.subplots(1, 2, sharey=True)
    for axes, speeds, title in zip(panels, (free, bounded), ('least norm', 'bounded'),
                                   strict=True):
        axes.plot(times, speeds)
        axes.axhspan(-0.9, 0.9, color='0.93')
        axes.set(title=title, xlabel='time, s')
    panels[0].set_ylabel('joint speeds, rad/s')


if __name__ == '__main__':
    main()
