# SPDX-License-Identifier: Apache-2.0
"""Efforts of an arm along a motion, and their parts.

    python examples/model_and_torque.py [URDF, or name of a shipped robot]

Shows how a URDF becomes a `Robot` and its equations, and how they are evaluated for a whole motion
in one call: tau = M a + C v + g. Positions are in rad, efforts in N m; arrays have a row for each
time and a column for each joint. It prints the largest part of each kind, and the effort limit:

    joint     |M a|  |C v|    |g|  |tau|  limit, N m
    joint1     4.42   0.65   0.00   4.37      176
    joint2     4.82   1.72  35.34  39.90      176
    joint3     3.50   0.78   3.88   4.84      110
    joint4     2.60   0.77  18.71  20.77      110
    joint5     0.09   0.04   0.60   0.69      110
    joint6     0.22   0.14   1.42   1.40       40
    joint7     0.01   0.00   0.02   0.04       40
    sum of the parts against inverse dynamics: 0.0 N m
"""

import sys

import numpy as np

from robot_dynamics import Dynamics, Robot
from robot_dynamics.control import exciting_fourier


def main() -> tuple:
    robot = Robot.from_urdf(sys.argv[1] if len(sys.argv) > 1 else 'arm7')
    dynamics = Dynamics(robot)
    time = np.arange(0.0, 10.0, 0.01)
    q, v, a = exciting_fourier(robot, seed=0).sample_many(time)

    tau = dynamics.inverse_dynamics(q, v, a)                # shape (1000, n)
    M, C, g = dynamics.matrices(q, v)
    inertial = np.einsum('kij,kj->ki', M, a)
    centrifugal = np.einsum('kij,kj->ki', C, v)

    print('joint     |M a|  |C v|    |g|  |tau|  limit, N m')
    peaks = np.abs([inertial, centrifugal, g, tau]).max(axis=1).T
    for name, parts, limit in zip(robot.joint_names, peaks, robot.limits.effort, strict=True):
        print(f'{name:8}', *(f'{part:6.2f}' for part in parts), f'{limit:8g}')
    error = np.abs(inertial + centrifugal + g - tau).max()
    print(f'sum of the parts against inverse dynamics: {error:.1f} N m')
    return time, inertial, centrifugal, g, tau


def draw(figure, time, inertial, centrifugal, g, tau) -> None:
    axes = figure.subplots()
    joint = 1
    for values, label in ((inertial, 'M a'), (centrifugal, 'C v'), (g, 'g'), (tau, 'sum')):
        axes.plot(time, values[:, joint], label=label, color='k' if label == 'sum' else None)
    axes.set(xlabel='time, s', ylabel='effort of joint 2, N m')
    axes.legend(ncols=4, fontsize='small')


if __name__ == '__main__':
    main()
