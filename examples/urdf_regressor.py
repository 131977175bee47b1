# SPDX-License-Identifier: Apache-2.0
"""Regressor and base parameters of a robot from its URDF.

    python examples/urdf_regressor.py [URDF, or name of a shipped robot]

Shows that joint efforts are linear in the inertial parameters of the links, tau = Y(q, v, a) pi.
Only some combinations of these parameters have an effect, the base parameters. Parameters are in
kg, kg m and kg m^2, efforts in N m. It prints efforts, and the base parameters with their values:

    planar_2r: joints joint1, joint2
    regressor of shape (2, 20)
    Y pi    [26.023109  4.901578]
    efforts [26.023109  4.901578] N m
    6 base parameters of 20 inertial parameters:
         2.12500 = link1/mx + 0.45*link2/m
         0.08000 = link1/my
         0.84785 = link1/Jzz + 0.2025*link2/m
         0.50000 = link2/mx
        -0.07500 = link2/my
         0.14525 = link2/Jzz
"""

import sys

import numpy as np

from robot_dynamics import Dynamics, Robot
from robot_dynamics.dynamics.base_parameters import structural_base


def main() -> tuple:
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
    print('Y pi   ', np.round(Y @ robot.parameters, 6))
    print('efforts', np.round(tau, 6), 'N m')

    base = structural_base(dynamics)
    print(f'{base.rank} base parameters of {len(robot.parameters)} inertial parameters:')
    for k, value in enumerate(base.values(robot.parameters)):
        print(f'  {value:10.5f} = {base.combination(k)}')
    # Their number is the rank of regressors stacked over many states.
    W = dynamics.regressor(*random.uniform(-1.0, 1.0, (3, 100, robot.n)))
    return np.linalg.svd(W.reshape(-1, W.shape[-1]), compute_uv=False), base.rank


def draw(figure, values, rank) -> None:
    axes = figure.subplots()
    axes.semilogy(np.arange(1, len(values) + 1), np.maximum(values, 1e-17), 'o')
    axes.axvline(rank + 0.5, color='0.5', linestyle=':', label=f'{rank} base parameters')
    axes.set(xlabel='number', ylabel='singular values of stacked regressors')
    axes.legend()


if __name__ == '__main__':
    main()
