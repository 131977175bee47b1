# SPDX-License-Identifier: Apache-2.0
"""Random trees and real robots, some joints moving in the caller's order, some locked.

Pinocchio moves every joint of the whole robot; where each stands is worked out here
from the description, joint by joint.
"""

from xml.etree import ElementTree

import numpy as np
import pinocchio
import pytest

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.urdf import read_tree
from robot_dynamics.model.urdf_document import parse_document

REAL = ('baxter', 'gen3_robotiq', 'talos_left_arm', 'tiago_no_hand')


class Whole:
    """Pinocchio's model of a whole description, each joint moving by itself."""

    def __init__(self, text):
        self._tree = read_tree(parse_document(text, 'text').root)
        self.model = pinocchio.buildModelFromXML(_without_couplings(text))
        self.model.armature[:] = 0.0
        self.data = self.model.createData()

    @property
    def free(self):
        """Names of the joints that can be independent."""
        return [joint.name for joint in self._tree.joints.values()
                if joint.kind.has_coordinate and joint.mimic is None]

    def place(self, names, q, locked):
        """Positions of all joints when some are at q, and their rates per rate of those."""
        Q, S = pinocchio.neutral(self.model), np.zeros((self.model.nv, len(names)))
        for name, joint in zip(self.model.names[1:], self.model.joints[1:], strict=True):
            position, rate = self._stand(name, names, q, locked)
            Q[joint.idx_q:joint.idx_q + joint.nq] = \
                [position] if joint.nq == 1 else [np.cos(position), np.sin(position)]
            S[joint.idx_v] = rate
        return Q, S

    def _stand(self, name, names, q, locked):
        joint = self._tree.joints[name]
        if name in names:
            rate = np.eye(len(names))[names.index(name)]
            return rate @ q, rate
        if name in locked or joint.mimic is None:
            return locked.get(name, joint.clip(0.0)), np.zeros(len(names))
        position, rate = self._stand(joint.mimic.joint, names, q, locked)
        ratio = joint.mimic.multiplier
        return ratio * position + joint.mimic.offset, ratio * rate


def _without_couplings(text):
    """What Pinocchio's parser refuses or makes something else of is left out or added."""
    root = ElementTree.fromstring(text)
    for joint in root.findall('joint'):
        for tag in ('mimic', 'dynamics', 'safety_controller'):
            for element in joint.findall(tag):
                joint.remove(element)
        if joint.find('limit') is None:
            ElementTree.SubElement(joint, 'limit', lower='-9', upper='9', velocity='1', effort='1')
    return ElementTree.tostring(root, encoding='unicode')


def judge(text, seed):
    """Read a robot with random choices and compare everything with the whole robot."""
    rng, whole = np.random.default_rng(seed), Whole(text)
    names = [str(name) for name in rng.permutation(whole.free)]
    held, moving = names[:rng.integers(0, len(names))], names[rng.integers(0, len(names)):]
    locked = {name: float(rng.normal()) for name in held if name not in moving}
    robot = Robot.from_urdf(text, joints=moving, locked=locked, gravity=rng.normal(size=3) * 9.0)
    assert robot.joint_names == tuple(moving)
    whole.model.gravity.linear = robot.gravity
    dynamics, (q, v, a) = Dynamics(robot), rng.uniform(-2.0, 2.0, (3, robot.n))
    Q, S = whole.place(moving, q, locked)
    tau = S.T @ pinocchio.rnea(whole.model, whole.data, Q, S @ v, S @ a)
    near(dynamics.inverse_dynamics(q, v, a), tau)
    near(dynamics.regressor(q, v, a) @ robot.parameters, tau)
    M = pinocchio.crba(whole.model, whole.data, Q)
    near(dynamics.mass_matrix(q), S.T @ (np.triu(M) + np.triu(M, 1).T) @ S)
    judge_frames(dynamics, whole, q, Q, S)
    back = Robot.from_urdf(robot.to_urdf(), joints=moving, gravity=robot.gravity)
    near(Dynamics(back).inverse_dynamics(q, v, a), tau)
    for name in ('lower', 'upper', 'velocity', 'effort'):
        np.testing.assert_allclose(getattr(back.limits, name), getattr(robot.limits, name),
                                   rtol=1e-12)


def judge_frames(dynamics, whole, q, Q, S):
    """Compare the pose and the Jacobian of every link."""
    pinocchio.computeJointJacobians(whole.model, whole.data, Q)
    pinocchio.updateFramePlacements(whole.model, whole.data)
    for name in dynamics.robot.frames:
        frame = whole.model.getFrameId(name, pinocchio.FrameType.BODY)
        near(dynamics.forward_kinematics(q, name), whole.data.oMf[frame].homogeneous)
        J = pinocchio.getFrameJacobian(whole.model, whole.data, frame,
                                       pinocchio.LOCAL_WORLD_ALIGNED)
        near(dynamics.jacobian(q, name), J.reshape(6, -1) @ S)


def near(ours, theirs):
    """Agree to 1e-11 of the largest entry."""
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-11 * max(1.0, np.abs(theirs).max()))


@pytest.mark.parametrize('seed', range(60))
def test_random_tree(random_urdf, seed):
    text, unknown = random_urdf(np.random.default_rng(seed))
    if unknown:
        # Joints of several coordinates: held, as a fixed joint is.
        text = text.replace('type="planar"', 'type="fixed"').replace('type="floating"',
                                                                     'type="fixed"')
    judge(text, seed)


@pytest.mark.parametrize('name', REAL)
@pytest.mark.parametrize('seed', range(3))
def test_real_robot(shared, name, seed):
    judge((shared / 'data' / 'urdf' / f'{name}.urdf').read_text(encoding='utf-8'), seed)
