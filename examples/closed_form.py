# SPDX-License-Identifier: Apache-2.0
"""The Coriolis matrix of an arm as formulas, and as C code.

    python examples/closed_form.py

Shows how formulas are derived from a DH table or a URDF. Lengths and gravity may be symbols. The
same formulas are written as text, LaTeX, Python, C or Mathematica; `robot-dynamics closed-form`
does so from the command line. It prints the matrix of a planar arm, the beginning of the C code
for seven joints, and the difference between formulas and `Dynamics`, in N m s/rad:

    planar_elbow: Christoffel matrix
    q1, ...: positions, rad or m
    v1, ...: velocities, rad/s or m/s
    m1, ...: inertial parameters, ten per body: m, mx, my, mz, Jxx, Jxy, Jxz, Jyy, Jyz, Jzz
    a1, ...: lengths, m, and gravity, m/s^2
    ...
    C[2, 1] = n2z
    ...
    C of a 7-joint arm: 1089 lines, for example
    ...
    largest difference from Dynamics: 0.0
"""

import numpy as np

from robot_dynamics import Dynamics, Robot
from robot_dynamics.closed_form import derive, document

TABLE = {
    'name': 'planar_elbow',
    'convention': 'standard',
    'gravity': [0, '-g', 0],
    'links': [{'a': 'a1', 'alpha': 0, 'd': 0}, {'a': 'a2', 'alpha': 0, 'd': 0}],
}


def main() -> tuple:
    formulas = derive(TABLE, 'C')
    print(document(formulas))

    code = document(derive(Robot.from_urdf('arm7'), 'C'), 'c')
    lines = code.splitlines()
    print(f'C of a 7-joint arm: {len(lines)} lines, for example')
    print('\n'.join(lines[:8]))

    # The same as Python code: a function of q, v, the inertial parameters, and (a1, a2, g).
    names: dict = {}
    exec(document(formulas, 'python'), names)
    robot = Robot.from_dh({**TABLE, 'gravity': [0.0, -9.81, 0.0], 'links': [
        {**link, 'a': a, 'mass': mass, 'com': [-0.5 * a, 0.0, 0.0],
         'inertia_com': {'xx': 0.01, 'yy': 0.09, 'zz': 0.09}}
        for link, a, mass in zip(TABLE['links'], (0.45, 0.35), (4.0, 2.5), strict=True)]})
    lengths = (0.45, 0.35, 9.81)
    q = np.column_stack([np.zeros(181), np.linspace(-np.pi, np.pi, 181)])
    v = np.tile([1.0, 1.0], (181, 1))
    C = np.array([names['coriolis_matrix'](*row, robot.parameters, lengths)
                  for row in zip(q, v, strict=True)])
    error = np.abs(C - Dynamics(robot).coriolis_matrix(q, v)).max()
    print(f'largest difference from Dynamics: {error:.1f}')
    return q[:, 1], C


def draw(figure, q2, C) -> None:
    axes = figure.subplots()
    for i, j in np.ndindex(2, 2):
        axes.plot(q2, C[:, i, j], label=f'C[{i + 1}, {j + 1}]')
    axes.set(xlabel='q2, rad', ylabel='N m s/rad')
    axes.legend(ncols=4, fontsize='small')


if __name__ == '__main__':
    main()
