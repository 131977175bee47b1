# SPDX-License-Identifier: Apache-2.0
"""Whether lengths, masses and inertias look like those of an arm in SI units.

A description in grams or millimetres loads without complaint and gives torques that
are wrong by powers of ten. Units show in proportions: no body turns like one that
reaches farther than the arm it belongs to.
"""

from __future__ import annotations

import numpy as np

from robot_dynamics.bringup.doctor.findings import Remark, gathered, note, ok, warning
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.inertia import com_from_parameters
from robot_dynamics.model.joints import JointType
from robot_dynamics.model.robot import Robot

#: Reach beyond which, and below which, lengths are doubted. m.
LONGEST_REACH, SHORTEST_REACH = 50.0, 0.01
#: Mass over the cube of the reach. Arms have 5 to 150, from a desk to a foundry; a
#: gripper of its own some hundreds. kg/m^3.
DENSEST, THINNEST = 3000.0, 0.02
#: Radius of gyration over the reach; that of a body within a ball of its diameter is 0.5.
WIDEST = 2.0
#: Distance of a centre of mass from its joint over the reach.
FARTHEST = 3.0
#: Radius of gyration below which a body with some mass is doubted. m, kg.
NARROWEST, SOME_MASS = 5e-4, 0.1
#: Shortest length that proportions are compared with. m.
_LEAST_LENGTH = 0.05
#: Acceleration of free fall on earth, and how far it may be off. m/s^2.
_GRAVITY, _GRAVITY_TOLERANCE = 9.81, 0.1
_AXES = {(1.0, 0.0, 0.0): '+x', (-1.0, 0.0, 0.0): '-x', (0.0, 1.0, 0.0): '+y',
         (0.0, -1.0, 0.0): '-y', (0.0, 0.0, 1.0): '+z', (0.0, 0.0, -1.0): '-z'}


def judge_masses(robot: Robot) -> list[Remark]:
    """Say what about lengths, masses and inertias looks wrong."""
    mass, com, inertia = _bodies(robot)
    if not np.any(mass > 0.0):
        return []  # The reader has said so.
    length = reach(robot) or float(np.linalg.norm(com, axis=1).max())
    remarks = [*_length(robot, length), *_total(robot, float(mass.sum()), length),
               *_centres(robot, mass, com, length), *_inertias(robot, mass, inertia, length),
               *_placeholders(robot, mass, inertia)]
    if not remarks:
        remarks = [ok('masses', f'{mass.sum():.3g} kg move within a reach of {length:.3g} m')]
    return gathered(remarks)


def judge_gravity(robot: Robot) -> list[Remark]:
    """Say which way gravity pulls, and whether that is usual."""
    strength = float(np.linalg.norm(robot.gravity))
    if strength == 0.0:
        return [note('gravity', 'there is none', 'right in space or for an arm that moves '
                     'horizontally only; else give gravity')]
    direction = robot.gravity / strength
    along = _AXES.get(tuple(float(x) + 0.0 for x in np.round(direction, 6)))
    axis = along or 'along (' + ', '.join(f'{x:.2f}' for x in direction) + ')'
    text = f'{strength:.4g} m/s^2 along {axis} of {robot.base_name!r}' if along else \
        f'{strength:.4g} m/s^2 {axis} of {robot.base_name!r}'
    if abs(strength - _GRAVITY) > _GRAVITY_TOLERANCE:
        return [warning('gravity', text, 'on earth give 9.81 m/s^2')]
    if along != '-z':
        return [note('gravity', text, 'right where the base is mounted on a wall, a ceiling or '
                                      'a slope; else give [0.0, 0.0, -9.81]')]
    return [ok('gravity', text)]


def reach(robot: Robot) -> float:
    """Return how far the farthest frame can be from the first joint: lengths added up. m."""
    far = np.zeros(robot.n_bodies)
    for k, parent in enumerate(robot.parents):
        length = float(np.linalg.norm(robot.link_offsets[k]))
        if parent >= 0:
            length += far[parent] + float(np.linalg.norm(robot.placements[k][:3, 3]))
        far[k] = length + _stroke(robot, k)
    tips = [far[frame.body] + float(np.linalg.norm(frame.pose[:3, 3]))
            for frame in robot.frames.values() if frame.body >= 0]
    return float(max([*far, *tips]))


def _stroke(robot: Robot, body: int) -> float:
    """Return how far a sliding joint takes its body. m."""
    name = robot.body_joint_names[body]
    if robot.joint_types[body] != JointType.PRISMATIC or name not in robot.joint_names:
        return 0.0
    k = robot.coordinates.velocities(robot.joint_names.index(name)).start
    ends = np.abs([robot.limits.lower[k], robot.limits.upper[k]])
    return float(ends.max()) if np.isfinite(ends).all() else 0.0


def _bodies(robot: Robot) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return mass (nb,), centre (nb, 3) and principal moments about it (nb, 3) of each body."""
    p = robot.inertial_parameters.copy()
    # A first moment without mass has no centre; the reader warns of it.
    p[p[:, 0] == 0.0, 1:4] = 0.0
    mass, com, tensor = com_from_parameters(p)
    return mass, com, np.linalg.eigvalsh(tensor)


def _length(robot: Robot, length: float) -> list[Remark]:
    if length > LONGEST_REACH:
        return [warning(robot.name, f'reaches {length:.3g} m', 'lengths are in metres: were they '
                                                              'written in millimetres?')]
    if 0.0 < length < SHORTEST_REACH:
        return [warning(robot.name, f'reaches {1e3 * length:.3g} mm', 'lengths are in metres: '
                                                                     'check them')]
    return []


def _total(robot: Robot, total: float, length: float) -> list[Remark]:
    density = total / max(length, _LEAST_LENGTH)**3
    text = f'moves {total:.3g} kg within a reach of {length:.3g} m'
    if density > DENSEST:
        return [warning(robot.name, text, 'masses are in kilograms: were they written in grams?')]
    if density < THINNEST and length <= LONGEST_REACH:
        return [warning(robot.name, text, 'masses are in kilograms: were they written in tonnes, '
                                          'or are most of them missing?')]
    return []


def _centres(robot: Robot, mass: FloatArray, com: FloatArray, length: float) -> list[Remark]:
    heavy = mass > 0.0
    distances = np.linalg.norm(com, axis=1)
    far = heavy & (distances > FARTHEST * max(length, _LEAST_LENGTH))
    remarks = [warning(robot.body_names[k], f'has its centre of mass {distances[k]:.3g} m from '
                       f'its joint, in an arm that reaches {length:.3g} m',
                       'its <inertial> origin is in metres, in the frame of the link')
               for k in np.flatnonzero(far)]
    if heavy.sum() > 1 and not np.any(distances[heavy] > 1e-9):
        remarks.append(warning(robot.name, 'every centre of mass lies in the origin of its link',
                               'give <inertial> its origin: gravity is carried by what it says'))
    return remarks


def _inertias(robot: Robot, mass: FloatArray, moments: FloatArray, length: float
              ) -> list[Remark]:
    remarks = []
    for name, m, largest in zip(robot.body_names, mass, moments.max(axis=1), strict=True):
        if m <= 0.0 or largest <= 0.0:
            continue
        gyration = float(np.sqrt(largest / m))
        if gyration > WIDEST * max(length, _LEAST_LENGTH):
            ratio = gyration / max(length, _LEAST_LENGTH)
            unit = 'kg mm^2' if ratio < 700.0 else 'g mm^2'
            guess = f'was it written in {unit}?' if ratio > 10.0 else 'check it'
            remarks.append(warning(
                name, f'turns like a body that reaches {gyration:.3g} m from its centre of mass '
                f'(inertia {largest:.3g} kg m^2 for {m:.3g} kg)',
                f'inertia is in kg m^2: {guess}'))
        elif gyration < NARROWEST and m >= SOME_MASS:
            remarks.append(warning(
                name, f'turns like a body of less than a millimetre (inertia {largest:.3g} kg m^2 '
                f'for {m:.3g} kg)', 'inertia is in kg m^2: check it'))
    return remarks


def _placeholders(robot: Robot, mass: FloatArray, moments: FloatArray) -> list[Remark]:
    """Notice numbers that somebody typed to make a simulator run."""
    rows = np.column_stack([mass, moments])[mass > 0.0]
    if len(rows) < 3 or not np.allclose(rows, rows[0], rtol=1e-6, atol=0.0):
        return []
    return [warning(robot.name, f'all {len(rows)} links have the same mass and inertia '
                    f'({rows[0, 0]:.3g} kg)', 'put in those of the real links: these look like '
                                              'placeholders')]
