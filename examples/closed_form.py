# SPDX-License-Identifier: Apache-2.0
"""The Coriolis matrix of an arm as formulas, and as C code.

    python examples/closed_form.py

`robot-dynamics closed-form` writes the same from the command line, and also LaTeX, Python and
Mathematica. Lengths and gravity may be symbols.
"""

from robot_dynamics import Robot
from robot_dynamics.closed_form import derive, document

TABLE = {
    'name': 'planar_elbow',
    'convention': 'standard',
    'gravity': [0, '-g', 0],
    'links': [{'a': 'a1', 'alpha': 0, 'd': 0}, {'a': 'a2', 'alpha': 0, 'd': 0}],
}


def main() -> None:
    print(document(derive(TABLE, 'C')))

    code = document(derive(Robot.from_urdf('arm7'), 'C'), 'c')
    lines = code.splitlines()
    print(f'C of a 7-joint arm in C: {len(lines)} lines, for example')
    print('\n'.join(lines[:12]))


if __name__ == '__main__':
    main()
