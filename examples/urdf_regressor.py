# SPDX-License-Identifier: Apache-2.0
"""Regressor and base parameters of a robot from its URDF.

    python examples/urdf_regressor.py [URDF, or name of a shipped robot]

Joint efforts are linear in the inertial parameters of the links: tau = Y(q, v, a) pi. Only some
combinations of these parameters have an effect, the base parameters.
"""

import sys

import numpy as np

from robot_dynamics import Dynamics, Robot
from robot_dynamics.dynamics.base_parameters import structural_base


def main() -> None:
    robot = Robot.from_urdf(sys.argv[1] if len(sys.argv) > 1 else 'planar_2r')
    dynamics = Dynamics(robot)
    print(f'{robot.name}: joints {", ".join(robot.joint_names)}')
    for finding in robot.findings:
        print(f'  {finding}')

    random = np.random.default_rng(0)
    q, v, a = random.uniform(-1.0, 1.0, (3, robot.n))
    Y = dynamics.regressor(q, v, a)                       # shape (n, 10 nb)
    tau = dynamics.inverse_dynamics(q, v, a)
    print(f'regressor of shape {Y.shape}')
    print('Y pi  ', np.round(Y @ robot.parameters, 6))
    print('efforts', np.round(tau, 6), 'N m')

    base = structural_base(dynamics)
    print(f'{base.rank} base parameters of {len(robot.parameters)} inertial parameters:')
    for k, value in enumerate(base.values(robot.parameters)):
        print(f'  {value:10.5f} = {base.combination(k)}')


if __name__ == '__main__':
    main()
