# SPDX-License-Identifier: Apache-2.0
"""A robot with a floating base: poses with quaternions, momentum in free fall.

    python examples/floating_base.py

Positions have nq = n + 1 numbers: the base contributes x y z and a unit quaternion. Velocities of
the base are those of its body, in its own axes.
"""

import numpy as np

from robot_dynamics import Dynamics, Robot


def main() -> None:
    robot = Robot.from_urdf('arm7', floating_base=True)
    dynamics = Dynamics(robot)
    print(f'{robot.n} velocities, {robot.nq} positions:', *robot.position_names[:8], '...')

    random = np.random.default_rng(0)
    q = robot.integrate(robot.neutral(), random.uniform(-0.3, 0.3, robot.n), dt=1.0)
    v = random.uniform(-1.0, 1.0, robot.n)
    print('quaternion of the base:', np.round(q[3:7], 4))

    M = dynamics.mass_matrix(q)
    total = robot.parameters[::10].sum()
    print(f'mass of all links {total:.3f} kg, first entry of M {M[0, 0]:.3f} kg')

    # Without efforts the centre of mass falls with g, however the arm moves.
    dt, before = 1e-4, dynamics.com_jacobian(q) @ v
    a = dynamics.forward_dynamics(q, v, np.zeros(robot.n))
    after = dynamics.com_jacobian(robot.integrate(q, v + 0.5 * dt * a, dt)) @ (v + dt * a)
    print('acceleration of the centre of mass:', np.round((after - before) / dt, 3), 'm/s^2')


if __name__ == '__main__':
    main()
