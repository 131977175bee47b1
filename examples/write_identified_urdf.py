# SPDX-License-Identifier: Apache-2.0
"""An identified model as URDF.

    python examples/write_identified_urdf.py

`identified_urdf` replaces masses, centres of mass, inertia and joint friction in the text of a
description. Meshes, limits and comments stay. `robot-dynamics identify` does the same and also
writes a report and a parameter file for the nodes.
"""

from pathlib import Path

import numpy as np

from robot_dynamics import Dynamics, Robot
from robot_dynamics.control.motion.references import exciting_fourier
from robot_dynamics.identification.dataset import dataset_from_arrays
from robot_dynamics.identification.friction import plain_friction
from robot_dynamics.identification.identified_urdf import identified_urdf
from robot_dynamics.identification.identify import identify

URDF = Path(__file__).parents[1] / 'urdf' / 'planar_2r.urdf'


def main() -> None:
    described = Robot.from_urdf(URDF)
    arm = described.with_parameters(1.2 * described.parameters)     # 20 % heavier than described
    time = np.arange(0.0, 20.0, 0.005)
    q, v, a = exciting_fourier(arm, seed=1).sample_many(time)
    tau = Dynamics(arm).inverse_dynamics(q, v, a)

    dataset = dataset_from_arrays(described, time, q, tau)
    found = identify(dataset, described)
    friction = plain_friction(found.model, dataset, found.signals)
    text, findings = identified_urdf(URDF.read_text(), found.identified_robot(), friction)
    for finding in findings:
        print(finding)

    better = Robot.from_urdf(text)
    for name, robot in (('described', described), ('identified', better), ('true', arm)):
        print(f'{name:11} masses', np.round(robot.parameters[::10], 3), 'kg')
    error = Dynamics(better).inverse_dynamics(q, v, a) - tau
    print(f'largest effort error of the identified URDF {np.abs(error).max():.2e} N m')


if __name__ == '__main__':
    main()
