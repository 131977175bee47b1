# SPDX-License-Identifier: Apache-2.0
"""A known payload in the model, and an unknown one estimated from two logs.

    python examples/payload.py

Shows how a payload is added to a model, and how an unknown one is estimated: as the difference
from the arm that was identified without it. Masses are in kg, positions in m in the frame of the
link, efforts in N m:

    gravity torque, empty: [25.751  4.905] N m
    gravity torque, loaded: [36.788  9.32 ] N m
    estimated payload: 1.500 kg at [ 0.3 -0.   0. ] m
"""

import numpy as np

from robot_dynamics import Dynamics, Robot, identify
from robot_dynamics.control import Payload, exciting_fourier
from robot_dynamics.identification import dataset_from_arrays, identify_payload


def log_of(arm: Robot, seed: int):
    """Time, positions and efforts of an exciting motion."""
    time = np.arange(0.0, 20.0, 0.005)
    q, v, a = exciting_fourier(arm, seed).sample_many(time)
    return time, q, Dynamics(arm).inverse_dynamics(q, v, a)


def main() -> tuple:
    robot = Robot.from_urdf('planar_2r')
    payload = Payload(mass=1.5, com=(0.3, 0.0, 0.0), frame=robot.body_names[-1])
    loaded = robot.with_parameters(robot.parameters + payload.load_on(robot).ravel())
    q = np.zeros(robot.n)
    for name, arm in (('empty', robot), ('loaded', loaded)):
        print(f'gravity torque, {name}:', np.round(Dynamics(arm).gravity_torque(q), 3), 'N m')

    # First the arm without the payload, then the difference.
    empty = identify(dataset_from_arrays(robot, *log_of(robot, 1)), robot)
    found = identify_payload(dataset_from_arrays(robot, *log_of(loaded, 2)), empty.model,
                             empty.signals)
    print(f'estimated payload: {found.mass:.3f} kg at', np.round(found.com, 3), 'm')
    q = np.column_stack([np.linspace(-np.pi, np.pi, 100), np.zeros(100)])
    return q[:, 0], *(Dynamics(arm).gravity_torque(q)[:, 0] for arm in (robot, loaded))


def draw(figure, angles, empty, loaded) -> None:
    axes = figure.subplots()
    axes.plot(angles, empty, label='empty')
    axes.plot(angles, loaded, label='with 1.5 kg')
    axes.set(xlabel='position of joint 1, rad', ylabel='gravity torque of joint 1, N m')
    axes.legend()


if __name__ == '__main__':
    main()
