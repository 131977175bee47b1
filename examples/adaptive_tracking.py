# SPDX-License-Identifier: Apache-2.0
"""Adaptive tracking with an unknown payload, simulated without ROS.

    python examples/adaptive_tracking.py [seconds]

Shows the adaptive controller in a plain loop at 500 Hz: `update` takes the state and the desired
motion, and returns efforts. MuJoCo simulates an arm that carries 2 kg. The model of both
controllers lacks this payload. The adaptive law estimates it; the error of PD + gravity remains.
Needs MuJoCo (pip install mujoco). It prints the RMS error of all joints in each second, mrad:

    second  PD + gravity  adaptive, mrad
         1        128.96     25.28
         2         79.18      6.57
         3         48.69      2.13
         4         74.70      2.46
"""

import sys

import numpy as np

from robot_dynamics import AdaptiveController, PDGravityController, Robot
from robot_dynamics.control import Payload, exciting_fourier
from robot_dynamics.simulation import Plant

PERIOD = 0.002      # s


def tracking_error(controller, arm: Robot, seconds: float) -> np.ndarray:
    """Root mean square error of all joints in each second, mrad."""
    motion = exciting_fourier(controller.robot, seed=0)
    plant = Plant(arm)
    plant.reset(motion.sample(0.0)[0])
    controller.reset(plant.q, plant.v)
    errors = []
    for k in range(round(seconds / PERIOD)):
        q_d, v_d, a_d = motion.sample(k * PERIOD)
        tau = controller.update(plant.q, plant.v, q_d, v_d, a_d, PERIOD if k else 0.0, adapt=True)
        controller.note_applied(tau)
        plant.set_effort(tau)
        plant.advance(PERIOD)
        errors.append(q_d - plant.q)
    per_second = np.array(errors).reshape(round(seconds), -1)
    return 1e3 * np.sqrt(np.mean(per_second**2, axis=1))


def main() -> tuple:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 4.0
    model = Robot.from_urdf('arm7')
    load = Payload(mass=2.0, com=(0.02, 0.0, 0.18)).load_on(model)
    arm = model.with_parameters(model.parameters + load.ravel())

    fixed = tracking_error(PDGravityController(model), arm, seconds)
    adaptive = tracking_error(AdaptiveController(model), arm, seconds)
    print('second  PD + gravity  adaptive, mrad')
    for k, (one, other) in enumerate(zip(fixed, adaptive, strict=True)):
        print(f'{k + 1:6d}  {one:12.2f}  {other:8.2f}')
    return fixed, adaptive


def draw(figure, fixed, adaptive) -> None:
    axes = figure.subplots()
    second = np.arange(1, len(fixed) + 1)
    axes.semilogy(second, fixed, 'o-', label='PD + gravity')
    axes.semilogy(second, adaptive, 'o-', label='adaptive')
    axes.set(xlabel='second', ylabel='RMS error, mrad', xticks=second)
    axes.legend()


if __name__ == '__main__':
    main()
