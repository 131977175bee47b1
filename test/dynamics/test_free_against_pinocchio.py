# SPDX-License-Identifier: Apache-2.0
"""Floating, planar and spherical joints against Pinocchio, where it is installed."""

import re
import sysconfig
from pathlib import Path

import numpy as np
import pytest

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.model.joints import JointType
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.rotation import plane_axes

pinocchio = pytest.importorskip('pinocchio', reason='pin is not installed')

EXAMPLES = Path(sysconfig.get_path('purelib'), 'cmeel.prefix/share/example-robot-data/robots')
HUMANOIDS = {
    'talos': 'talos_data/robots/talos_reduced.urdf',
    'icub': 'icub_description/robots/icub_reduced.urdf',
    'simple humanoid': 'simple_humanoid_description/urdf/simple_humanoid.urdf',
    'anymal': 'anymal_b_simple_description/robots/anymal.urdf',
}
#: Position of each of our ten parameters among Pinocchio's.
ORDER = [0, 1, 2, 3, 4, 5, 7, 6, 8, 9]


class Theirs:
    """Pinocchio's model of one of our robots, whose joints it has in another order.

    Its planar joints move in the plane x y, so that their links are turned.
    """

    def __init__(self, robot):
        self.robot, self.model = robot, pinocchio.Model()
        self.model.gravity.linear = np.array(robot.gravity)
        self.order = []
        self._visit(-1)
        bodies = [pinocchio.SE3(self._turn(i), robot.link_offsets[i])
                  for i in range(robot.n_bodies)]
        for i in self.order:
            parent = robot.parents[i]
            placement = pinocchio.SE3(robot.placements[i])
            if parent >= 0:
                placement = bodies[parent] * placement
            turned = pinocchio.SE3(self._turn(i), np.zeros(3)).inverse()
            above = 0 if parent < 0 else self.order.index(parent) + 1
            index = self.model.addJoint(above, self._joint(i), placement * turned, f'j{i}')
            inertia = pinocchio.Inertia.FromDynamicParameters(
                np.array(robot.inertial_parameters[i])[ORDER])
            self.model.appendBodyToJoint(index, inertia, bodies[i])
        self.data = self.model.createData()
        coordinates = robot.body_coordinates
        #: Our velocities in their order.
        self.rows = np.concatenate([np.arange(robot.n)[coordinates.velocities(i)]
                                    for i in self.order])

    def _visit(self, parent):
        """Each subtree without a gap, as Pinocchio needs it."""
        for i in np.flatnonzero(self.robot.parents == parent):
            self.order.append(int(i))
            self._visit(i)

    def _turn(self, i):
        planar = self.robot.joint_types[i] == JointType.PLANAR
        return plane_axes(self.robot.axes[i]).T if planar else np.eye(3)

    def _joint(self, i):
        kind, axis = self.robot.joint_types[i], self.robot.axes[i]
        if kind == JointType.PRISMATIC:
            return pinocchio.JointModelPrismaticUnaligned(axis)
        return {JointType.FLOATING: pinocchio.JointModelFreeFlyer,
                JointType.PLANAR: pinocchio.JointModelPlanar,
                JointType.SPHERICAL: pinocchio.JointModelSpherical}.get(
                    kind, lambda: pinocchio.JointModelRevoluteUnaligned(axis))()

    def position(self, q):
        """Their q: a planar joint's angle as cosine and sine."""
        parts = []
        for i in self.order:
            x = q[self.robot.body_coordinates.positions(i)]
            planar = self.robot.joint_types[i] == JointType.PLANAR
            parts.append([x[0], x[1], np.cos(x[2]), np.sin(x[2])] if planar else x)
        return np.concatenate(parts)


def near(ours, theirs):
    """Agree to 1e-10 of the largest entry."""
    np.testing.assert_allclose(ours, theirs, rtol=0,
                               atol=1e-10 * max(1.0, np.abs(theirs).max()))


def symmetric(upper):
    return np.triu(upper) + np.triu(upper, 1).T


def compare(dynamics, model, data, rows, position, rng):
    """Compare the equations at a random state; ``rows`` are our velocities in their order."""
    robot = dynamics.robot
    q = robot.integrate(robot.neutral(), rng.uniform(-1.5, 1.5, robot.n))
    v, a = rng.uniform(-1.5, 1.5, (2, robot.n))
    Q, V, A = position(q), v[rows], a[rows]
    M, C, g = dynamics.matrices(q, v)
    near(M[np.ix_(rows, rows)], symmetric(pinocchio.crba(model, data, Q)))
    near(C[np.ix_(rows, rows)], pinocchio.computeCoriolisMatrix(model, data, Q, V))
    near(g[rows], pinocchio.computeGeneralizedGravity(model, data, Q))
    tau = pinocchio.rnea(model, data, Q, V, A)
    near(dynamics.inverse_dynamics(q, v, a)[rows], tau)
    # Accelerations are as far off as M is badly conditioned.
    scale = np.linalg.cond(M) * np.abs(tau).max()
    np.testing.assert_allclose(dynamics.forward_dynamics(q, v, np.array(tau)[np.argsort(rows)]),
                               a, rtol=0, atol=1e-12 + 1e-14 * scale)
    return q, v, a, pinocchio.computeJointTorqueRegressor(model, data, Q, V, A)


@pytest.mark.slow
@pytest.mark.parametrize('seed', range(12))
def test_random_trees(free_tree, seed):
    robot = free_tree(seed, 7, roots=1 + seed % 2)
    theirs, dynamics = Theirs(robot), Dynamics(robot)
    rng = np.random.default_rng(seed)
    q, v, a, Y = compare(dynamics, theirs.model, theirs.data, theirs.rows, theirs.position, rng)
    planar = np.any(robot.joint_types == JointType.PLANAR)
    if not planar and not robot.link_offsets.any():
        ours = dynamics.regressor(q, v, a).reshape(robot.n, -1, 10)
        near(ours[theirs.rows][:, theirs.order], Y.reshape(robot.n, -1, 10)[..., ORDER])


@pytest.mark.parametrize('seed', range(6))
def test_poses_and_jacobians_of_random_trees(free_tree, seed):
    robot = free_tree(40 + seed, 6)
    theirs, dynamics = Theirs(robot), Dynamics(robot)
    rng = np.random.default_rng(seed)
    q = robot.integrate(robot.neutral(), rng.uniform(-1.5, 1.5, robot.n))
    pinocchio.computeJointJacobians(theirs.model, theirs.data, theirs.position(q))
    poses = dynamics.forward_kinematics(q)
    for index, i in enumerate(theirs.order):
        body = theirs.data.oMi[index + 1] * pinocchio.SE3(theirs._turn(i), robot.link_offsets[i])
        near(poses[i], body.homogeneous)
        J = pinocchio.getFrameJacobian(
            theirs.model, theirs.data, index + 1,
            pinocchio.SE3(np.eye(3), robot.link_offsets[i]) * pinocchio.SE3(
                theirs._turn(i), np.zeros(3)), pinocchio.LOCAL_WORLD_ALIGNED)
        near(dynamics.jacobian(q, f'b{i}')[:, theirs.rows], J)


@pytest.mark.parametrize('seed', range(6))
def test_integration_and_difference(free_tree, seed):
    robot = free_tree(60 + seed, 5)
    theirs = Theirs(robot)
    rng = np.random.default_rng(seed)
    q = robot.integrate(robot.neutral(), rng.uniform(-1.5, 1.5, robot.n))
    v = rng.uniform(-1.0, 1.0, robot.n)
    moved = robot.integrate(q, v)
    Q = theirs.position(q)
    expected = pinocchio.integrate(theirs.model, Q, v[theirs.rows])
    assert pinocchio.isSameConfiguration(theirs.model, theirs.position(moved), expected, 1e-12)
    near(robot.difference(q, moved)[theirs.rows],
         pinocchio.difference(theirs.model, Q, expected))


def humanoid(name):
    """A robot of example-robot-data and its text."""
    path = EXAMPLES / HUMANOIDS[name]
    if not path.exists():
        pytest.skip('example-robot-data is not installed')
    text = re.sub(r'<mimic\s[^>]*>', '', path.read_text())
    return Robot.from_urdf(text, floating_base=True), text


@pytest.mark.parametrize('name', HUMANOIDS)
def test_robots_that_float(name):
    robot, text = humanoid(name)
    model = pinocchio.buildModelFromXML(text, pinocchio.JointModelFreeFlyer())
    names = [robot.joint_names[0] if joint == 'root_joint' else joint
             for joint in list(model.names)[1:]]
    assert sorted(names) == sorted(robot.joint_names)
    assert robot.joint_names[0] == 'floating_base'
    places = robot.coordinates
    rows = np.concatenate([np.arange(robot.n)[places.velocities(joint)] for joint in names])

    def position(q):
        parts = []
        for joint, theirs in zip(names, list(model.joints)[1:], strict=True):
            x = q[places.positions(joint)]
            turns = theirs.nq == 2
            parts.append([np.cos(x[0]), np.sin(x[0])] if turns else x)
        return np.concatenate(parts)

    dynamics = Dynamics(robot)
    for state in range(3):
        q, v, a, Y = compare(dynamics, model, model.createData(), rows, position,
                             np.random.default_rng(state))
    order = [robot.body_joint_names.index(joint) for joint in names]
    ours = dynamics.regressor(q, v, a).reshape(robot.n, -1, 10)
    near(ours[rows][:, order], Y.reshape(robot.n, -1, 10)[..., ORDER])


def test_planar_base(shared):
    path = shared / 'data' / 'urdf' / 'stretch4.urdf'
    text = re.sub(r'<mimic\b[^>]*/>', '', path.read_text())
    robot, model = Robot.from_urdf(text), pinocchio.buildModelFromXML(text)
    assert sorted(robot.joint_names) == sorted(list(model.names)[1:])
    places = robot.coordinates
    names = list(model.names)[1:]
    rows = np.concatenate([np.arange(robot.n)[places.velocities(joint)] for joint in names])

    def position(q):
        parts = []
        for joint, theirs in zip(names, list(model.joints)[1:], strict=True):
            x = q[places.positions(joint)]
            parts.append(x if theirs.nq == 1 else
                         [*x[:-1], np.cos(x[-1]), np.sin(x[-1])])
        return np.concatenate(parts)

    compare(Dynamics(robot), model, model.createData(), rows, position,
            np.random.default_rng(0))
