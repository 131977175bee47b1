# SPDX-License-Identifier: Apache-2.0
"""Robots with elastic joints to try the equations on."""

import json

import numpy as np
import pytest

from robot_dynamics.elastic.joints import ElasticJoints
from robot_dynamics.elastic.robot import ElasticRobot
from robot_dynamics.model.robot import Robot


def referenced_robot(reference, gravity=None):
    """The robot that a file of reference values is about."""
    described = reference['robot']
    rows = [{'name': f'link{k}', 'joint': f'joint{k}', **row['dh_standard']}
            for k, row in enumerate(described['links'], 1)]
    inertial = []
    for row in described['links']:
        J = np.array(row['inertia_about_link_origin'])
        inertial.append([row['mass'], *row['first_moment'], *J[np.triu_indices(3)]])
    links = Robot.from_dh({
        'name': 'reference', 'convention': 'standard', 'links': rows,
        'gravity': described['gravity'] if gravity is None else gravity,
    }).with_parameters(inertial)
    motors = described.get('motor', described)
    joints = ElasticJoints(
        motors['km'], motors.get('ups', motors.get('Upsilon')), motors['K'],
        coulomb=motors['fs'], viscous=motors['fv'], names=links.joint_names)
    return ElasticRobot(links, joints)


@pytest.fixture(scope='session', params=['planar', 'puma'])
def reference(request, shared):
    """Reference values and the robot they are of."""
    values = json.loads((shared / 'reference' / f'ref_elastic_{request.param}.json').read_text())
    return values, referenced_robot(values)


@pytest.fixture(scope='session')
def with_gravity():
    """Make the robot of reference values under another gravity."""
    return referenced_robot


def tree(seed, joints=5):
    """A random tree with prismatic joints, skew rotor axes and springs that damp."""
    rng = np.random.default_rng(seed)
    parts = ['<robot name="tree"><link name="base"/>']
    for k in range(joints):
        x, y, z, roll, pitch, yaw = rng.uniform(-0.5, 0.5, 6)
        a, b, c = np.sort(rng.uniform(0.5, 1.0, 3))
        axis = rng.normal(size=3)
        kind = 'prismatic' if rng.uniform() < 0.3 else 'revolute'
        parent = 'base' if k == 0 else f'link{rng.integers(max(0, k - 2), k)}'
        parts.append(f"""
          <link name="link{k}"><inertial><origin xyz="{x} {y} {z}" rpy="{yaw} {roll} {pitch}"/>
            <mass value="{rng.uniform(1, 4)}"/>
            <inertia ixx="{a}" iyy="{b}" izz="{c}" ixy="0" ixz="0" iyz="0"/></inertial></link>
          <joint name="joint{k}" type="{kind}"><parent link="{parent}"/><child link="link{k}"/>
            <origin xyz="{y} {z} {x}" rpy="{roll} {pitch} {yaw}"/>
            <axis xyz="{axis[0]} {axis[1]} {axis[2]}"/>
            <limit lower="-3" upper="3" velocity="3" effort="90"/></joint>""")
    links = Robot.from_urdf('\n'.join(parts) + '</robot>')
    joint = ElasticJoints(
        rng.uniform(1.0, 8.0, joints), rng.uniform(1e-3, 1e-2, joints),
        rng.uniform(500.0, 3000.0, joints), rotor_axes=rng.normal(size=(joints, 3)),
        coulomb=rng.uniform(0.0, 1.0, joints), viscous=rng.uniform(0.0, 1.0, joints),
        spring_damping=rng.uniform(0.0, 1.0, joints), names=links.joint_names)
    return ElasticRobot(links, joint)


@pytest.fixture(params=range(4))
def robot(request):
    """Random trees with elastic joints."""
    return tree(request.param)


@pytest.fixture
def state(robot):
    """Draw coordinates, velocities and accelerations of a robot, as many as asked."""
    rng = np.random.default_rng(7)
    return lambda *shape: rng.uniform(-1.0, 1.0, (3, *shape, 2 * robot.n))
