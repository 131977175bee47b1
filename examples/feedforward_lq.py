# SPDX-License-Identifier: Apache-2.0
"""Feedforward with an LQ feedback, and its certificate.

    python examples/feedforward_lq.py

The controller commands the model effort of the desired motion and feeds back deviations with a
gain from the discrete Riccati equation. Needs MuJoCo (pip install mujoco).
"""

import numpy as np

from robot_dynamics import FeedforwardLQController, Robot
from robot_dynamics.control import PointToPoint
from robot_dynamics.simulation import Plant

PERIOD = 0.002      # s


def main() -> None:
    robot = Robot.from_urdf('arm7')
    controller = FeedforwardLQController(robot, gain='riccati', period=PERIOD, delay=0.0)
    print('certificate:', controller.certificate)

    start = np.mean([robot.limits.lower, robot.limits.upper], axis=0)
    motion = PointToPoint(start, start + 0.6, velocity_limit=1.0, acceleration_limit=4.0)
    plant = Plant(robot)
    plant.reset(start)
    controller.reset(plant.q, plant.v)
    worst = 0.0
    for k in range(round(motion.duration / PERIOD)):
        q_d, v_d, a_d = motion.sample(k * PERIOD)
        tau = controller.update(plant.q, plant.v, q_d, v_d, a_d, PERIOD if k else 0.0, adapt=False)
        plant.set_effort(tau)
        plant.advance(PERIOD)
        worst = max(worst, float(np.abs(motion.sample((k + 1) * PERIOD)[0] - plant.q).max()))
    print(f'moved every joint by 0.6 rad in {motion.duration:.2f} s')
    print(f'largest error {1e3 * worst:.3f} mrad')
    print('gain of joint 1 on its position and velocity:',
          np.round(controller.K[0, [0, robot.n]], 1))


if __name__ == '__main__':
    main()
