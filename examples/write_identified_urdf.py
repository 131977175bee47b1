# SPDX-License-Identifier: Apache-2.0
"""An identified model as URDF, and the other files of an identification.

    python examples/write_identified_urdf.py [folder]

The URDF has new masses, centres of mass, inertia and joint friction. Meshes, limits and comments
are unchanged. `robot-dynamics identify` writes the same files and a report.
"""

import sys
from pathlib import Path

import numpy as np

from robot_dynamics import Dynamics, Robot, identify
from robot_dynamics.control import exciting_fourier
from robot_dynamics.identification import dataset_from_arrays, make_outputs
from robot_dynamics.report import write_files

URDF = Path(__file__).parents[1] / 'urdf' / 'planar_2r.urdf'


def main() -> None:
    described = Robot.from_urdf(URDF)
    arm = described.with_parameters(1.2 * described.parameters)     # 20 % heavier than described
    time = np.arange(0.0, 20.0, 0.005)
    q, v, a = exciting_fourier(arm, seed=1).sample_many(time)
    tau = Dynamics(arm).inverse_dynamics(q, v, a)

    dataset = dataset_from_arrays(described, time, q, tau)
    outputs = make_outputs(identify(dataset, described), dataset, URDF.read_text())
    for name, content in outputs.files.items():
        print(f'{name}: {len(content)} bytes')
    if len(sys.argv) > 1:
        write_files(sys.argv[1], outputs.files)     # never over a file of yours

    better = Robot.from_urdf(outputs.files['identified.urdf'])
    for name, robot in (('described', described), ('identified', better), ('true', arm)):
        print(f'{name:11} masses', np.round(robot.parameters[::10], 3), 'kg')
    error = Dynamics(better).inverse_dynamics(q, v, a) - tau
    print(f'largest effort error of the identified URDF {np.abs(error).max():.2e} N m')


if __name__ == '__main__':
    main()
