# SPDX-License-Identifier: Apache-2.0
"""A known payload in the model, and an unknown one estimated from two logs.

    python examples/payload.py

The estimate is the difference from the arm that was identified without the payload.
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


def main() -> None:
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


if __name__ == '__main__':
    main()
