# SPDX-License-Identifier: Apache-2.0
"""Two robots with elastic joints, with what is wrong in print corrected.

Zollo et al., "Identification of Dynamic Parameters for Robots with Elastic Joints", section 6.
"""

from __future__ import annotations

import numpy as np

from robot_dynamics.elastic.friction import StribeckFriction
from robot_dynamics.elastic.joints import ElasticJoints
from robot_dynamics.elastic.robot import ElasticRobot
from robot_dynamics.model.robot import Robot

#: f1 to f6 of eq. 44, of which f6 is a rate.
STRIBECK = np.array([[0.1434, 0.3302, 0.2499, 0.0537, 0.2991, 16.624],
                     [0.1391, 0.3576, 0.2451, 0.1073, 0.3389, 10.097]])

#: Inertia of the planar robot's links about their centres, of which the paper prints four
#: digits; Table 1 was computed with these.
LINK_INERTIA = (7.0 / 15.0, 7.0 / 30.0)

# Gear ratios of the PUMA 560 (Corke and Armstrong-Helouvry 1994); the paper names none.
_PUMA_RATIO = (62.6111, 107.815, 53.7063, 76.0364, 71.923, 76.686)
_PUMA_ROTORS = (2e-4, 2e-4, 2e-4, 3.3e-5, 3.3e-5, 3.3e-5)
_PUMA_DH = ((0.0, 0.0, np.pi / 2), (0.0, 0.4318, 0.0), (0.15005, 0.0203, -np.pi / 2),
            (0.4318, 0.0, np.pi / 2), (0.0, 0.0, -np.pi / 2), (0.0, 0.0, 0.0))
_PUMA_MASS = (0.0, 17.4, 4.8, 0.82, 0.34, 0.09)
_PUMA_CENTRE = ((0, 0, 0), (-0.3638, 0.006, 0.2275), (-0.0203, -0.0141, 0.070),
                (0.0, 0.019, 0.0), (0, 0, 0), (0.0, 0.0, 0.032))
_PUMA_INERTIA = ((0.0, 0.35, 0.0), (0.13, 0.524, 0.539), (0.066, 0.086, 0.0125),
                 (1.8e-3, 1.3e-3, 1.8e-3), (0.3e-3, 0.4e-3, 0.3e-3),
                 (0.15e-3, 0.15e-3, 0.04e-3))


def planar() -> ElasticRobot:
    """Return the planar robot (eqs. 44 and 45)."""
    lengths, rotors = 0.5, (21.18, 12.10)
    # The rotor of joint 2 stands on link 1, whose inertia includes its own.
    J1 = LINK_INERTIA[0] + 20.0 * 0.25**2 + rotors[1]
    J2 = LINK_INERTIA[1] + 10.0 * 0.25**2
    links = Robot.from_dh({
        'name': 'planar', 'convention': 'standard', 'gravity': [0.0, -9.81, 0.0],
        'links': [{'name': f'link{k}', 'joint': f'joint{k}', 'theta': 0, 'd': 0, 'a': lengths,
                   'alpha': 0} for k in (1, 2)]}).with_parameters(
        [[21.0, -5.0, 0, 0, 0, 0, 0, 1.25, 0, J1], [10.0, -2.5, 0, 0, 0, 0, 0, 0.625, 0, J2]])
    return ElasticRobot(links, ElasticJoints(
        0.1, rotors, [3000.0, 1800.0], coulomb=STRIBECK[:, 1], viscous=STRIBECK[:, 0],
        names=links.joint_names))


def planar_friction() -> StribeckFriction:
    """Return the friction of its motors (eq. 43)."""
    return StribeckFriction(*STRIBECK.T)


def puma(gravity: tuple[float, float, float] = (0.0, 0.0, -9.81)) -> ElasticRobot:
    """Return the PUMA 560 with springs (Tables 3 to 6).

    Bodies are links with the inertia that rotors have about their axes at rest (eq. A.14).
    """
    rows = [{'name': f'link{k}', 'joint': f'joint{k}', 'theta': 0, 'd': d, 'a': a, 'alpha': alpha}
            for k, (d, a, alpha) in enumerate(_PUMA_DH, 1)]
    bodies = []
    for k, (mass, centre, inertia) in enumerate(zip(_PUMA_MASS, _PUMA_CENTRE, _PUMA_INERTIA,
                                                    strict=True)):
        p = np.array(centre, dtype=float)
        J = np.diag(inertia) + mass * (p @ p * np.eye(3) - np.outer(p, p))
        J[2, 2] += _PUMA_ROTORS[k + 1] if k < 5 else 0.0
        bodies.append([mass, *(mass * p), *J[np.triu_indices(3)]])
    links = Robot.from_dh({'name': 'puma560', 'convention': 'standard', 'links': rows,
                           'gravity': list(gravity)}).with_parameters(bodies)
    return ElasticRobot(links, ElasticJoints(
        _PUMA_RATIO, _PUMA_ROTORS, 2000.0, names=links.joint_names,
        coulomb=[0.395, 0.126, 0.132, 0.0112, 0.00926, 0.00396],
        viscous=[0.00148, 0.000817, 0.00138, 7.12e-5, 8.26e-5, 3.67e-5]))
