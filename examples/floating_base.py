# SPDX-License-Identifier: Apache-2.0
"""A robot with a floating base: poses with quaternions, momentum in free fall.

    python examples/floating_base.py

Shows how a robot without a fixed base is described. Positions have nq = n + 1 numbers: the base
contributes x y z in m and a unit quaternion. Velocities of the base are those of its body, in its
own axes. It prints masses, and the acceleration of the centre of mass in free fall:

    13 velocities, 14 positions: floating_base/x floating_base/y ...
    quaternion of the base: [-0.144   0.0933  0.1229  0.9775]
    mass of all links 17.700 kg, first entry of M 17.700 kg
    acceleration of the centre of mass: [... -9.81...] m/s^2
"""

import numpy as np

from robot_dynamics import Dynamics, Robot


def main() -> tuple:
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
    return (M,)


def draw(figure, M) -> None:
    axes = figure.subplots()
    size = np.log10(np.maximum(np.abs(M), 1e-6))
    figure.colorbar(axes.imshow(size, cmap='viridis'), label='log10 |M|')
    axes.set(xlabel='6 velocities of the base, 7 of the arm', ylabel='efforts')


if __name__ == '__main__':
    main()
