# SPDX-License-Identifier: Apache-2.0
"""Feedforward with an LQ feedback, and its certificate.

    python examples/feedforward_lq.py

Shows LQ control along a trajectory. The controller commands the model effort of the desired motion
and feeds back deviations with a gain from the discrete Riccati equation. The certificate has the
spectral radius of the closed loop for wrong models. Needs MuJoCo (pip install mujoco). Errors are
in mrad, gains in N m/rad and N m s/rad:

    certificate: largest spectral radius of 40 points, ...
    moved every joint by 0.6 rad in 1.12 s
    largest error 0.264 mrad
    gain of joint 1 on its position and velocity: [2886.1  150.9]
"""

import numpy as np

from robot_dynamics import FeedforwardLQController, Robot
from robot_dynamics.control import PointToPoint
from robot_dynamics.simulation import Plant

PERIOD = 0.002      # s


def main() -> tuple:
    robot = Robot.from_urdf('arm7')
    controller = FeedforwardLQController(robot, gain='riccati', period=PERIOD, delay=0.0)
    print('certificate:', controller.certificate)

    start = np.mean([robot.limits.lower, robot.limits.upper], axis=0)
    motion = PointToPoint(start, start + 0.6, velocity_limit=1.0, acceleration_limit=4.0)
    plant = Plant(robot)
    plant.reset(start)
    controller.reset(plant.q, plant.v)
    errors = []
    for k in range(round(motion.duration / PERIOD)):
        q_d, v_d, a_d = motion.sample(k * PERIOD)
        tau = controller.update(plant.q, plant.v, q_d, v_d, a_d, PERIOD if k else 0.0, adapt=False)
        plant.set_effort(tau)
        plant.advance(PERIOD)
        errors.append(1e3 * (motion.sample((k + 1) * PERIOD)[0] - plant.q))
    errors = np.array(errors)
    print(f'moved every joint by 0.6 rad in {motion.duration:.2f} s')
    print(f'largest error {np.abs(errors).max():.3f} mrad')
    print('gain of joint 1 on its position and velocity:',
          np.round(controller.K[0, [0, robot.n]], 1))
    return PERIOD * np.arange(1, len(errors) + 1), errors


def draw(figure, time, errors) -> None:
    axes = figure.subplots()
    axes.plot(time, errors)
    axes.set(xlabel='time, s', ylabel='tracking errors, mrad')
    axes.legend([f'joint {k + 1}' for k in range(errors.shape[1])], ncols=4, fontsize='small')


if __name__ == '__main__':
    main()
