# SPDX-License-Identifier: Apache-2.0
"""Against Pinocchio, an independent implementation, where it is installed."""

import re
import sysconfig
from pathlib import Path

import numpy as np
import pytest

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.model.joints import JointType
from robot_dynamics.model.robot import Robot

pinocchio = pytest.importorskip('pinocchio', reason='pin is not installed')

ROBOTS = Path(sysconfig.get_path('purelib'), 'cmeel.prefix/share/example-robot-data/robots')
EXAMPLES = {
    'ur5': 'ur_description/urdf/ur5_joint_limited_robot.urdf',
    'panda': 'panda_description/urdf/panda.urdf',
    'talos': 'talos_data/robots/talos_reduced.urdf',
    'icub': 'icub_description/robots/icub_reduced.urdf',
}
#: Position of each of our ten parameters among Pinocchio's.
ORDER = [0, 1, 2, 3, 4, 5, 7, 6, 8, 9]


def depth_first(parents):
    """Bodies in the order that Pinocchio needs: each subtree without a gap."""
    order = []

    def visit(parent):
        for i in np.flatnonzero(parents == parent):
            order.append(int(i))
            visit(i)
    visit(-1)
    return order


def model_of(robot):
    """Pinocchio's model of a robot without couplings, and its joints among ours."""
    model = pinocchio.Model()
    model.gravity.linear = np.array(robot.gravity)
    offsets = [pinocchio.SE3(np.eye(3), offset) for offset in robot.link_offsets]
    order = depth_first(robot.parents)
    for i in order:
        parent = robot.parents[i]
        joint = (pinocchio.JointModelPrismaticUnaligned
                 if robot.joint_types[i] == JointType.PRISMATIC
                 else pinocchio.JointModelRevoluteUnaligned)(robot.axes[i])
        placement = pinocchio.SE3(robot.placements[i])
        if parent >= 0:
            placement = offsets[parent] * placement
        above = 0 if parent < 0 else order.index(parent) + 1
        index = model.addJoint(above, joint, placement, f'j{i}')
        body = pinocchio.Inertia.FromDynamicParameters(
            np.array(robot.inertial_parameters[i])[ORDER])
        model.appendBodyToJoint(index, body, offsets[i])
    return model, order


def judge(dynamics, model, select, rng, spread=2.0):
    """Compare all equations at a random state.

    ``select`` maps our joint vectors to Pinocchio's: x_theirs = select @ x_ours.
    """
    data = model.createData()
    q, v, a, tau = rng.uniform(-spread, spread, (4, dynamics.n))
    Q, V, A = select @ q, select @ v, select @ a
    M = pinocchio.crba(model, data, Q)
    M = np.triu(M) + np.triu(M, 1).T
    C = pinocchio.computeCoriolisMatrix(model, data, Q, V)
    g = pinocchio.computeGeneralizedGravity(model, data, Q)
    S = select
    for ours, theirs in zip(dynamics.matrices(q, v), (S.T @ M @ S, S.T @ C @ S, S.T @ g),
                            strict=True):
        near(ours, theirs)
    near(dynamics.inverse_dynamics(q, v, a), S.T @ pinocchio.rnea(model, data, Q, V, A))
    forward = np.linalg.solve(S.T @ M @ S, tau - S.T @ (C @ V + g))
    near(dynamics.forward_dynamics(q, v, tau), forward)
    return q, v, a, S.T @ pinocchio.computeJointTorqueRegressor(model, data, Q, V, A)


def near(ours, theirs):
    """Agree to 1e-9 of the largest entry."""
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-9 * max(1.0, np.abs(theirs).max()))


@pytest.mark.parametrize('seed', range(8))
@pytest.mark.parametrize('offsets', [False, True])
def test_random_trees(tree, seed, offsets):
    robot = tree(60 + seed, 8, offsets=offsets)
    dynamics = Dynamics(robot)
    model, order = model_of(robot)
    select = np.eye(8)[order]
    for state in range(3):
        q, v, a, Y = judge(dynamics, model, select, np.random.default_rng(state))
        if not robot.link_offsets.any():
            near(dynamics.regressor(q, v, a).reshape(8, 8, 10)[:, order],
                 Y.reshape(8, 8, 10)[..., ORDER])


@pytest.mark.parametrize('name', EXAMPLES)
def test_example_robots(name):
    path = ROBOTS / EXAMPLES[name]
    if not path.exists():
        pytest.skip('example-robot-data is not installed')
    text = path.read_text()
    robot = Robot.from_urdf(path)
    model = pinocchio.buildModelFromXML(re.sub(r'<mimic\s[^>]*>', '', text))
    ours = dict(zip(robot.body_joint_names, robot.coupling, strict=True))
    if not set(list(model.names)[1:]) == set(ours):
        pytest.skip('Pinocchio reads other joints from this file')
    select = np.array([ours[joint] for joint in list(model.names)[1:]])
    for state in range(3):
        judge(Dynamics(robot), model, select, np.random.default_rng(state), spread=1.0)


def test_regressor_of_a_large_tree_column_by_column():
    path = ROBOTS / EXAMPLES['talos']
    if not path.exists():
        pytest.skip('example-robot-data is not installed')
    robot = Robot.from_urdf(path)
    model = pinocchio.buildModelFromUrdf(str(path))
    order = [robot.joint_names.index(joint) for joint in list(model.names)[1:]]
    select = np.eye(32)[order]
    q, v, a, Y = judge(Dynamics(robot), model, select, np.random.default_rng(0), spread=1.0)
    ours = Dynamics(robot).regressor(q, v, a).reshape(32, 32, 10)
    near(ours[:, order], Y.reshape(32, 32, 10)[..., ORDER])
