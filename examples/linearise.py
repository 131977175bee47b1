# SPDX-License-Identifier: Apache-2.0
"""Derivatives of the equations of motion, and a discrete linear model.

    python examples/linearise.py

Shows the derivatives that control design and optimisation need. They are analytic; the script
compares one of them with a difference quotient. Units are N m/rad and N m s/rad; states of the
discrete model are deviations of positions and velocities:

    d tau / d q3, analytic:   [ 0.26942 -4.33151 -2.18322 -1.46498 -0.29521  0.06521  0.01133]
    d tau / d q3, difference: [ 0.26942 -4.33151 -2.18322 -1.46498 -0.29521  0.06521  0.01133]
    largest d tau / d v: 1.03466 N m s/rad
    Phi (14, 14) Gamma (14, 7)
    largest eigenvalue of Phi: 1.01921
    dM/dt = sum dM/dq_h v_h: True
"""

import numpy as np

from robot_dynamics import Dynamics, Robot

PERIOD = 0.002      # s


def main() -> tuple:
    robot = Robot.from_urdf('arm7')
    dynamics = Dynamics(robot)
    random = np.random.default_rng(0)
    q, v, a = random.uniform(-0.5, 0.5, (3, robot.n))

    dtau_dq, dtau_dv, _ = dynamics.inverse_dynamics_derivatives(q, v, a)
    step = 1e-6
    ahead, behind = np.tile(q, (2, 1))
    ahead[2] += step
    behind[2] -= step
    difference = (dynamics.inverse_dynamics(ahead, v, a)
                  - dynamics.inverse_dynamics(behind, v, a)) / (2.0 * step)
    print('d tau / d q3, analytic:  ', np.round(dtau_dq[:, 2], 5))
    print('d tau / d q3, difference:', np.round(difference, 5))
    print('largest d tau / d v:', np.round(np.abs(dtau_dv).max(), 5), 'N m s/rad')

    # dx/dt = A x + B u about the motion, x = (deviation of q, deviation of v).
    tau = dynamics.inverse_dynamics(q, v, a)
    Phi, Gamma = dynamics.linearise(q, v, tau=tau).discrete(PERIOD)
    print('Phi', Phi.shape, 'Gamma', Gamma.shape)
    print('largest eigenvalue of Phi:', np.round(np.abs(np.linalg.eigvals(Phi)).max(), 5))

    dM_dq, *_ = dynamics.state_derivatives(q, v)
    dM_dt, *_ = dynamics.time_derivatives(q, v, a)
    print('dM/dt = sum dM/dq_h v_h:', np.allclose(np.tensordot(v, dM_dq, 1), dM_dt))
    return dtau_dq, dtau_dv


def draw(figure, dtau_dq, dtau_dv) -> None:
    for axes, values, title in zip(figure.subplots(1, 2), (dtau_dq, dtau_dv),
                                   ('d tau / d q, N m/rad', 'd tau / d v, N m s/rad'),
                                   strict=True):
        largest = np.abs(values).max()
        figure.colorbar(axes.imshow(values, cmap='RdBu', vmin=-largest, vmax=largest))
        axes.set(title=title, xticks=[], yticks=[])


if __name__ == '__main__':
    main()
