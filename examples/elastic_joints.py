# SPDX-License-Identifier: Apache-2.0
"""An arm with elastic joints: equations, simulation, and PD control of its motors.

    python examples/elastic_joints.py

The controller measures the motors only. On-line gravity compensation brings the links, behind
their springs, to the set point without a steady-state error.
"""

from pathlib import Path

import numpy as np

from robot_dynamics import ElasticDynamics, ElasticPDController, ElasticRobot, Robot
from robot_dynamics.simulation import ElasticPlant

SPRINGS = Path(__file__).parents[1] / 'config' / 'elastic' / 'planar_2r.yaml'
PERIOD = 0.002      # s


def main() -> None:
    links = Robot.from_urdf('planar_2r')
    robot = ElasticRobot.from_yaml(SPRINGS, links)
    dynamics = ElasticDynamics(robot)
    both = np.zeros(2 * robot.n)                    # links, then motors
    inertia, _, gravity = dynamics.matrices(both, both)
    print('inertia of links and motors:\n', np.round(inertia, 3))
    print('gravity and springs:', np.round(gravity, 3))

    goal, still = np.array([0.5, -0.4]), np.zeros(robot.n)
    controller = ElasticPDController(robot, period=PERIOD)
    print('gains: K_P', np.round(controller.gains.stiffness, 2), 'N m/rad, K_D',
          np.round(controller.gains.damping, 2), 'N m s/rad')
    plant = ElasticPlant(robot)
    for k in range(round(4.0 / PERIOD)):
        if k % 500 == 0:
            error = 1e3 * np.abs(goal - plant.q).max()
            print(f't = {k * PERIOD:.0f} s: largest error of a link {error:8.3f} mrad')
        plant.set_effort(controller.update(plant.motor_q, plant.motor_v, goal, still, still,
                                           PERIOD, adapt=False))
        plant.advance(PERIOD)


if __name__ == '__main__':
    main()
