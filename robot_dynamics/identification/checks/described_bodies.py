# SPDX-License-Identifier: Apache-2.0
"""Identified bodies against described ones.

Masses, centres and extents that are far from the description contradict it, or show a mistake in
the log. A description may be empty: bodies without mass, or with the same round numbers.
"""

from __future__ import annotations

import numpy as np

from robot_dynamics.errors import Finding, Severity
from robot_dynamics.identification.model import Model
from robot_dynamics.model.arrays import BoolArray, FloatArray
from robot_dynamics.model.inertia import com_from_parameters

#: Factor between identified and described masses, or radii of gyration, that is far.
FAR = 4.0
#: Smaller changes of mass, as a fraction of the mass of the arm, do not count.
OF_ARM = 0.02
#: A centre of mass is far if it moved by more than this, m, and by more than this multiple of the
#: described radius of gyration.
MOVED, RADII = 0.1, 2.0
#: Masses that exporters and authors write where none is known, kg.
ROUND_MASSES = (0.001, 0.01, 0.1, 1.0, 10.0)
#: Smallest radius of gyration that is compared, m.
SMALLEST_RADIUS = 0.02


def description_findings(model: Model) -> tuple[Finding, ...]:
    """Warnings on bodies that are far from their description, except for placeholders."""
    robot, found = model.robot, []
    identified = model.inertial.reshape(-1, 10)
    known = ~placeholders(robot.inertial_parameters)
    least = OF_ARM * float(np.sum(robot.inertial_parameters[known, 0]))
    for name, old, new in zip(np.array(robot.body_names)[known], robot.inertial_parameters[known],
                              identified[known], strict=True):
        differences = _differences(old, new, least)
        if differences:
            found.append(Finding(
                Severity.WARNING, str(name), 'is far from its description: '
                + ', '.join(differences), 'correct the description, or check names, units and '
                'signs of the log'))
    return tuple(found)


def placeholders(inertial_parameters: FloatArray) -> BoolArray:
    """Mask of bodies without a real description: without mass, or with round numbers.

    Three or more bodies with equal masses and inertias are placeholders too.
    """
    solid = inertial_parameters[:, 0] > 0.0
    mass, _, J = com_from_parameters(inertial_parameters * solid[:, np.newaxis])
    of = np.column_stack([mass, J.reshape(-1, 9)])
    round_mass = np.any(np.isclose(of[:, :1], ROUND_MASSES, rtol=1e-6), axis=1)
    round_inertia = np.all(np.isclose(of[:, 1:], of[:, 1:2] * np.eye(3).ravel(), atol=1e-12),
                           axis=1)
    alike = np.array([np.count_nonzero(np.all(np.isclose(of, one, rtol=1e-6, atol=1e-12), axis=1))
                      for one in of])
    return ~solid | (round_mass & round_inertia) | (alike >= 3)


def _differences(old: FloatArray, new: FloatArray, least: float) -> list[str]:
    """What is far from the description of a body, in words."""
    if not new[0] > 0.0:
        return [f'mass {new[0]:.3g} kg where {old[0]:.3g} kg is described']
    out = []
    if abs(new[0] - old[0]) > least and not 1.0 / FAR < new[0] / old[0] < FAR:
        out.append(f'mass {new[0]:.3g} kg where {old[0]:.3g} kg is described')
    (_, before, J), (_, after, K) = com_from_parameters(old), com_from_parameters(new)
    radii = [max(float(np.sqrt(max(np.trace(one), 0.0) / (2.0 * ten[0]))), SMALLEST_RADIUS)
             for one, ten in ((J, old), (K, new))]
    moved = float(np.linalg.norm(after - before))
    if moved > max(MOVED, RADII * radii[0]):
        out.append(f'centre of mass {1e3 * moved:.0f} mm away')
    if not 1.0 / FAR < radii[1] / radii[0] < FAR and old[0] > least:
        out.append(f'radius of gyration {1e3 * radii[1]:.0f} mm where {1e3 * radii[0]:.0f} mm is '
                   'described')
    return out
