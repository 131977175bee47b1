# SPDX-License-Identifier: Apache-2.0
"""Jacobians, and an arm that yields like a spring.

    python examples/impedance.py

Shows the Jacobian of a link and Cartesian impedance control in a plain loop. The last link is held
at its pose by a spring of 600 N/m, and pushed with 20 N for two seconds. Rows of the Jacobian are
velocity and angular velocity in base axes, m/s and rad/s per rad/s. It prints the displacement,
which is the force over the stiffness, 33.3 mm. Needs MuJoCo (pip install mujoco).

    Jacobian of link7: shape (6, 7)
    inertia of link7 along x, y, z: [5.29 3.17 2.31] kg
    pushed along y with 20 N: 33.3 mm along y, 0.0 mm across
    2 s later: 0.0 mm
"""

import numpy as np

from robot_dynamics import Dynamics, Robot
from robot_dynamics.control import (
    CartesianImpedanceController,
    Impedance,
    ImpedanceSettings,
)
from robot_dynamics.simulation import Plant

PERIOD = 0.002                              # s
PUSH = np.array([0.0, 20.0, 0.0])           # N, base axes


def main() -> tuple:
    robot = Robot.from_urdf('arm7')
    dynamics, link = Dynamics(robot), robot.body_names[-1]
    q, still = np.array([0.3, 0.5, 0.2, -1.5, 0.1, 1.6, 0.0]), np.zeros(robot.n)
    J = dynamics.jacobian(q, link)
    print(f'Jacobian of {link}: shape {J.shape}')
    inertia = 1.0 / np.diag(J @ np.linalg.solve(dynamics.mass_matrix(q), J.T))[:3]
    print(f'inertia of {link} along x, y, z:', np.round(inertia, 2), 'kg')

    spring = Impedance(stiffness=(600.0, 600.0, 600.0))     # N/m
    controller = CartesianImpedanceController(
        robot, link=link, settings=ImpedanceSettings(impedance=spring))
    plant = Plant(robot)
    plant.reset(q)
    controller.reset(plant.q, plant.v)
    start = dynamics.forward_kinematics(q, link)[:3, 3]
    time, moved = np.arange(0.0, 5.0, PERIOD), []
    for now in time:
        tau = controller.update(plant.q, plant.v, q, still, still, PERIOD, adapt=False)
        force = PUSH if 1.0 <= now < 3.0 else 0.0 * PUSH
        plant.set_effort(tau + dynamics.jacobian(plant.q, link)[:3].T @ force)
        plant.advance(PERIOD)
        moved.append(1e3 * (dynamics.forward_kinematics(plant.q, link)[:3, 3] - start))
    moved = np.array(moved)

    pushed, after = moved[np.searchsorted(time, 2.99)], moved[-1]
    print(f'pushed along y with {PUSH[1]:.0f} N: {pushed[1]:.1f} mm along y, '
          f'{np.hypot(pushed[0], pushed[2]):.1f} mm across')
    print(f'2 s later: {np.linalg.norm(after):.1f} mm')
    return time, moved


def draw(figure, time, moved) -> None:
    axes = figure.subplots()
    axes.axvspan(1.0, 3.0, color='0.9', label='20 N along y')
    for k, name in enumerate('xyz'):
        axes.plot(time, moved[:, k], label=name)
    axes.set(xlabel='time, s', ylabel='displacement of the link, mm')
    axes.legend(ncols=4, fontsize='small')


if __name__ == '__main__':
    main()
