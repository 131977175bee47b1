# SPDX-License-Identifier: Apache-2.0
"""Masses, inertia and friction of an arm from a CSV log, and the identified URDF.

    python examples/identify_from_csv.py [log.csv arm.urdf]

Shows the way from a table to an identified model. Identification needs positions in rad and
efforts in N m; velocities are optional. Without arguments, the script writes a simulated log of
`planar_2r` with noise and viscous friction; its description is 30 % too light. `robot-dynamics
identify` does the same, and writes a report as well. It prints the verdict, choices, masses,
friction, and the size of the new URDF, in which meshes, limits and comments are unchanged:

    4000 samples in 20.0 s
    verdict: good; efforts predicted within 0.0... %
      signals: cut-off 4.69 Hz, velocity from position
      ...
    mass of all links, described and identified: 4.550 kg, 6.4... kg
    viscous friction of joint1: 0.399 N m s/rad
    viscous friction of joint2: 0.400 N m s/rad
    identified.urdf: ... lines
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

from robot_dynamics import Dynamics, Robot, identify, load_dataset
from robot_dynamics.control import exciting_fourier
from robot_dynamics.identification import make_outputs

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


def main() -> tuple:
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
    error = 100.0 * found.validation.total
    print(f'verdict: {found.verdict}; efforts predicted within {error:.2f} %')
    for choice in found.choices:
        print(f'  {choice.what}: {choice.value}')
    described_mass, mass = (robot.parameters[::10].sum()
                            for robot in (described, found.identified_robot()))
    print(f'mass of all links, described and identified: {described_mass:.3f} kg, {mass:.3f} kg')
    for joint, value in found.friction('viscous').items():
        print(f'viscous friction of {joint}: {value:.3f} N m s/rad')
    outputs = make_outputs(found, dataset, described.to_urdf())
    print(f'identified.urdf: {len(outputs.files["identified.urdf"].splitlines())} lines')
    return found.base.base_names, found.base_values, found.base_deviations


def draw(figure, names, values, deviations) -> None:
    axes = figure.subplots()
    axes.errorbar(values, range(len(names)), xerr=3.0 * deviations, fmt='o', capsize=3)
    axes.set_yticks(range(len(names)), names, fontsize='x-small')
    axes.set(xlabel='base parameters with 3 standard deviations, SI units')


if __name__ == '__main__':
    main()
