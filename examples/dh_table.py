# SPDX-License-Identifier: Apache-2.0
"""A robot from a DH table, and its URDF.

    python examples/dh_table.py

Shows how a DH table becomes a robot, and how the robot is written as URDF. Lengths are in m,
masses in kg, inertias in kg m^2 about the centre of mass. The table may also be a YAML or JSON
file: docs/dh_tables.md lists its fields. It prints a pose, and the gravity torque by table and
URDF:

    pose of the last frame:
     [[ 0.9801  0.1987  0.      0.7729]
     [-0.1987  0.9801  0.      0.0634]
     [ 0.      0.      1.      0.    ]
     [ 0.      0.      0.      1.    ]]
    gravity torque: [24.4905  4.8072] N m
    the same from the URDF: [24.4905  4.8072] N m
    first lines of the URDF:
    <?xml version="1.0"?>
    <robot name="two_link">
    ...
"""

import numpy as np

from robot_dynamics import Dynamics, Robot

TABLE = {
    'name': 'two_link',
    'convention': 'standard',                 # mandatory: standard or modified
    'gravity': [0.0, -9.81, 0.0],             # free fall in the base frame, m/s^2
    'links': [
        {'a': 0.45, 'alpha': 0.0, 'd': 0.0, 'mass': 4.0, 'com': [-0.2, 0.02, 0.01],
         'inertia_com': {'xx': 0.012, 'yy': 0.085, 'zz': 0.09, 'xy': 0.003},
         'limits': {'lower': -3.1, 'upper': 3.1, 'velocity': 4.0, 'effort': 100.0}},
        {'a': 0.35, 'alpha': 0.0, 'd': 0.0, 'mass': 2.5, 'com': [-0.15, 0.0, 0.0],
         'inertia_com': {'xx': 0.006, 'yy': 0.04, 'zz': 0.043},
         'limits': {'lower': -2.6, 'upper': 2.6, 'velocity': 4.0, 'effort': 60.0}},
    ],
}


def main() -> tuple:
    robot = Robot.from_dh(TABLE)
    dynamics = Dynamics(robot)
    q = np.array([0.3, -0.5])
    pose = dynamics.forward_kinematics(q, 'link2')
    print('pose of the last frame:\n', np.round(pose, 4))
    print('gravity torque:', np.round(dynamics.gravity_torque(q), 4), 'N m')

    urdf = robot.to_urdf()
    again = Robot.from_urdf(urdf, gravity=robot.gravity)     # a URDF does not contain gravity
    torque = Dynamics(again).gravity_torque(q)
    print('the same from the URDF:', np.round(torque, 4), 'N m')
    print('first lines of the URDF:')
    print('\n'.join(urdf.splitlines()[:6]))
    angles = np.linspace(-np.pi, np.pi, 100)
    return angles, dynamics.gravity_torque(np.column_stack([angles, np.full(100, q[1])]))


def draw(figure, angles, torque) -> None:
    axes = figure.subplots()
    axes.plot(angles, torque)
    axes.set(xlabel='position of joint 1, rad', ylabel='gravity torque, N m')
    axes.legend(['joint 1', 'joint 2'])


if __name__ == '__main__':
    main()
