# SPDX-License-Identifier: Apache-2.0
"""An arm with elastic joints: equations, simulation, and PD control of its motors.

    python examples/elastic_joints.py

Shows the equations of links and motors, and a regulator for them. The controller measures the
motors only. On-line gravity compensation brings the links, behind their springs, to the set point.
It prints inertias in kg m^2, efforts in N m, gains, and the error of the links in mrad:

    inertia of links and motors:
     [[1.443 0.37  0.    0.005]
     [0.37  0.145 0.    0.   ]
     [0.    0.    0.5   0.   ]
     [0.005 0.    0.    0.25 ]]
    gravity and springs: [25.751  4.905  0.     0.   ]
    gains: K_P [59.91 59.91] N m/rad, K_D [16.67  8.33] N m s/rad
    t = 0 s: largest error of a link  500.000 mrad
    t = 1 s: largest error of a link    8.206 mrad
    t = 2 s: largest error of a link    4.410 mrad
    t = 3 s: largest error of a link    3.756 mrad
"""

from pathlib import Path

import numpy as np

from robot_dynamics import ElasticDynamics, ElasticPDController, ElasticRobot, Robot
from robot_dynamics.simulation import ElasticPlant

SPRINGS = Path(__file__).parents[1] / 'config' / 'elastic' / 'planar_2r.yaml'
PERIOD = 0.002      # s


def main() -> tuple:
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
    plant, errors = ElasticPlant(robot), []
    for k in range(round(4.0 / PERIOD)):
        errors.append(1e3 * (goal - plant.q))
        if k % 500 == 0:
            largest = np.abs(errors[-1]).max()
            print(f't = {k * PERIOD:.0f} s: largest error of a link {largest:8.3f} mrad')
        plant.set_effort(controller.update(plant.motor_q, plant.motor_v, goal, still, still,
                                           PERIOD, adapt=False))
        plant.advance(PERIOD)
    return PERIOD * np.arange(len(errors)), np.array(errors)


def draw(figure, time, errors) -> None:
    axes = figure.subplots()
    axes.plot(time, errors)
    axes.set(xlabel='time, s', ylabel='error of the links, mrad')
    axes.legend(['link 1', 'link 2'])


if __name__ == '__main__':
    main()
