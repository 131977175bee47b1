# SPDX-License-Identifier: Apache-2.0
"""Robots for the simulated arm."""

from dataclasses import replace

import numpy as np
import pytest

from robot_dynamics.model.joints import JointType
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.robot_data import JointLimits
from robot_dynamics.model.shipped import shipped_robots

_LINK = """
  <link name="{name}"><inertial><origin xyz="0.1 0.02 0"/><mass value="{mass}"/>
    <inertia ixx="0.01" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
_JOINT = """
  <joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{child}"/>
    <origin xyz="0.3 0 0"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" velocity="3" effort="{effort}"/>{extra}</joint>"""

PENDULUM = ('<robot name="pendulum"><link name="base"/>' + _LINK.format(name='rod', mass=2.0)
            + _JOINT.format(name='hinge', parent='base', child='rod', effort=5, extra='')
            + '</robot>')
GRIPPER = ('<robot name="gripper"><link name="base"/>'
           + ''.join(_LINK.format(name=name, mass=mass)
                     for name, mass in (('palm', 2.0), ('left', 0.4), ('right', 0.4)))
           + _JOINT.format(name='wrist', parent='base', child='palm', effort=20, extra='')
           + _JOINT.format(name='left_finger', parent='palm', child='left', effort=20, extra='')
           + _JOINT.format(name='right_finger', parent='palm', child='right', effort=20,
                           extra='<mimic joint="left_finger" multiplier="-0.5" offset="0.2"/>')
           + '</robot>')


def without_limits(robot):
    """The robot with joints that turn or slide without end and drives of any strength."""
    inf, nan = np.full(robot.n, np.inf), np.full(robot.n, np.nan)
    return replace(robot, limits=JointLimits(-inf, inf, nan, nan))


@pytest.fixture(scope='session')
def unlimited():
    """`without_limits`."""
    return without_limits


@pytest.fixture(params=sorted(shipped_robots()))
def shipped(request):
    """Each robot of the package, without limits and dry friction."""
    path = shipped_robots()[request.param]
    read = Robot.from_dh if path.suffix == '.yaml' else Robot.from_urdf
    robot = without_limits(read(path))
    return replace(robot, friction=np.zeros(robot.n))


@pytest.fixture
def pendulum():
    """One joint of at most 5 N m and 2 rad to each side."""
    return Robot.from_urdf(PENDULUM)


@pytest.fixture
def gripper():
    """A wrist and a finger that another one mimics."""
    return Robot.from_urdf(GRIPPER)


@pytest.fixture
def branching():
    """A tree with links off their joints, sliding joints, rotors and bodies out of order."""
    random = np.random.default_rng(3)
    parents = np.array([-1, 0, 0, 1, 2, 3])
    count = len(parents)
    placements = np.tile(np.eye(4), (count, 1, 1))
    bodies = []
    for placement in placements:
        rotation = np.linalg.qr(random.normal(size=(3, 3)))[0]
        placement[:3, :3] = rotation * np.sign(np.linalg.det(rotation))
        placement[:3, 3] = random.uniform(-0.4, 0.4, 3)
        points = random.normal(scale=0.2, size=(8, 3))
        second = points.T @ points
        tensor = np.trace(second) * np.eye(3) - second
        bodies.append(np.concatenate([[8.0], points.sum(axis=0), tensor[np.triu_indices(3)]]))
    axes = random.normal(size=(count, 3))
    types = np.array([JointType.REVOLUTE, JointType.PRISMATIC, JointType.CONTINUOUS,
                      JointType.REVOLUTE, JointType.PRISMATIC, JointType.REVOLUTE])
    names = tuple(f'joint{i}' for i in range(count))
    inf, nan = np.full(count, np.inf), np.full(count, np.nan)
    return Robot(
        name='branching', base_name='base', body_names=tuple(f'body{i}' for i in range(count)),
        body_joint_names=names, parents=parents, joint_types=types, placements=placements,
        axes=axes / np.linalg.norm(axes, axis=1, keepdims=True),
        link_offsets=random.uniform(-0.3, 0.3, (count, 3)), inertial_parameters=bodies,
        gravity=(1.0, -2.0, -9.0), joint_names=names, coupling=np.eye(count),
        coupling_offset=np.zeros(count), limits=JointLimits(-inf, inf, nan, nan),
        damping=np.zeros(count), friction=np.zeros(count),
        armature=random.uniform(0.01, 0.1, count))
