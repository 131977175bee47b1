# SPDX-License-Identifier: Apache-2.0
"""Links with the motors on them, against rotors that are bodies of their own."""

import json

import numpy as np
import pytest

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.elastic.dynamics import ElasticDynamics
from robot_dynamics.elastic.joints import ElasticJoints
from robot_dynamics.elastic.robot import ElasticRobot, with_motors
from robot_dynamics.errors import DimensionError, ParameterError
from robot_dynamics.model.robot import Robot


def test_the_planar_robot_of_the_paper(shared, with_gravity):
    reference = json.loads((shared / 'reference' / 'ref_elastic_planar.json').read_text())
    raw, motor = reference['robot']['raw'], reference['robot']['motor']
    bodies = with_gravity(reference).links
    inertial = []
    for a, length, mass, inertia in zip(reference['robot']['a'], raw['l'], raw['m_links'],
                                        raw['I_links'], strict=True):
        x = length - a  # centre of mass from the far end of the link, where its frame is
        inertial.append([mass, mass * x, 0.0, 0.0, 0.0, 0.0, 0.0, mass * x * x, 0.0,
                         inertia + mass * x * x])
    links = bodies.with_parameters(inertial)
    joints = ElasticJoints(motor['km'], motor['ups'], motor['K'], names=links.joint_names)
    # The second motor stands at the end of the first link, where the frame of that link is.
    made = with_motors(links, joints, raw['m_motors'], np.zeros((2, 3)))
    np.testing.assert_allclose(made.inertial_parameters, bodies.inertial_parameters, rtol=1e-12,
                               atol=1e-12)


def test_rotors_as_bodies_of_their_own_move_the_same_way(robot):
    """A tree in which each rotor is a link, driven by joints that turn k times as fast."""
    rng = np.random.default_rng(5)
    n, links, joints = robot.n, robot.links, robot.joints
    masses, positions = rng.uniform(0.1, 0.5, n), rng.uniform(-0.2, 0.2, (n, 3))
    axes = robot.rotor_axes
    across = rng.uniform(1e-4, 1e-3, n)
    # Symmetric about the axis: Upsilon along it, less across.
    tensors = np.array([u * np.outer(z, z) + c * (np.eye(3) - np.outer(z, z))
                        for u, c, z in zip(joints.rotor_inertia, across, axes, strict=True)])
    elastic = ElasticDynamics(ElasticRobot(with_motors(links, joints, masses, positions, tensors),
                                           joints))
    tree = Dynamics(as_tree(links, axes, masses, positions, tensors))
    q, v = rng.uniform(-1.0, 1.0, (2, 2 * n))
    scale = np.concatenate([np.ones(n), joints.gear_ratio])
    B, C, g = elastic.matrices(q, v)
    M, C_tree, g_tree = tree.matrices(scale * q, scale * v)
    np.testing.assert_allclose(B, np.outer(scale, scale) * M, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(C, np.outer(scale, scale) * C_tree, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(g, scale * g_tree, rtol=1e-9, atol=1e-9)


def as_tree(links, axes, masses, positions, tensors):
    """Return links and rotors as bodies of one tree, links first."""
    text = links.to_urdf()
    parts = [text[:text.rindex('</robot>')]]
    carriers = (links.base_name, *links.body_names)
    for k, (mass, p, J, z) in enumerate(zip(
            masses.tolist(), positions.tolist(), tensors.tolist(), axes.tolist(), strict=True)):
        carrier = carriers[links.parents[k] + 1]
        parts.append(f"""
          <link name="rotor{k}"><inertial><mass value="{mass!r}"/>
            <inertia ixx="{J[0][0]!r}" ixy="{J[0][1]!r}" ixz="{J[0][2]!r}" iyy="{J[1][1]!r}"
                     iyz="{J[1][2]!r}" izz="{J[2][2]!r}"/></inertial></link>
          <joint name="spin{k}" type="continuous"><parent link="{carrier}"/>
            <child link="rotor{k}"/><origin xyz="{p[0]!r} {p[1]!r} {p[2]!r}"/>
            <axis xyz="{z[0]!r} {z[1]!r} {z[2]!r}"/></joint>""")
    names = [*links.joint_names, *(f'spin{k}' for k in range(len(masses)))]
    return Robot.from_urdf('\n'.join(parts) + '</robot>', joints=names)


def test_motors_that_cannot_be_are_refused(robot):
    n = robot.n
    with pytest.raises(ParameterError, match='joint1'):
        with_motors(robot.links, robot.joints, [0.1, -0.1] + [0.1] * (n - 2))
    for masses, positions, inertias, name in (
            ([0.1], None, None, 'masses'), ([0.1] * n, [0.0] * 3, None, 'positions'),
            ([0.1] * n, None, np.eye(3), 'inertias')):
        with pytest.raises(DimensionError, match=name):
            with_motors(robot.links, robot.joints, masses, positions, inertias)
