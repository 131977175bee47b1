# SPDX-License-Identifier: Apache-2.0
"""Masses, inertia and friction of an arm from a CSV log.

    python examples/identify_from_csv.py [log.csv arm.urdf]

Without arguments, the script writes a simulated log of `planar_2r` with noise. Its description is
30 % too light. Identification needs positions and efforts; velocities are optional.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

from robot_dynamics import Dynamics, Robot, identify, load_dataset
from robot_dynamics.control import exciting_fourier

RATE = 200.0        # Hz


def write_log(path: Path, arm: Robot, seconds: float = 20.0) -> None:
    """Positions and efforts of an exciting motion, with noise and viscous friction."""
    time = np.arange(0.0, seconds, 1.0 / RATE)
    q, v, a = exciting_fourier(arm, seed=1).sample_many(time)
    tau = Dynamics(arm).inverse_dynamics(q, v, a) + 0.4 * v
    random = np.random.default_rng(0)
    tau += 0.01 * np.std(tau, axis=0) * random.standard_normal(tau.shape)
    columns = ['time']
    columns += [f'{name}_{what}' for what in ('position', 'effort') for name in arm.joint_names]
    np.savetxt(path, np.column_stack([time, q, tau]), delimiter=',', comments='',
               header=','.join(columns))


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        if len(sys.argv) > 2:
            log, described = Path(sys.argv[1]), Robot.from_urdf(sys.argv[2])
        else:
            arm, log = Robot.from_urdf('planar_2r'), Path(folder) / 'log.csv'
            write_log(log, arm)
            described = arm.with_parameters(0.7 * arm.parameters)
        dataset = load_dataset(log, described)
        print(f'{dataset.count} samples in {dataset.duration:.1f} s')
        found = identify(dataset, described)
    print('verdict:', found.verdict)
    for choice in found.choices:
        print(f'  {choice.what}: {choice.value}')
    print('mass of all links, described and identified:',
          *(f'{robot.parameters[::10].sum():.3f} kg' for robot in (described,
                                                                    found.identified_robot())))
    for joint, value in found.friction('viscous').items():
        print(f'viscous friction of {joint}: {value:.3f} N m s/rad')
    for name, value, deviation in zip(found.base.base_names, found.base_values,
                                      found.base_deviations, strict=True):
        print(f'{value:10.4f} +- {deviation:.4f}  {name}')


if __name__ == '__main__':
    main()
