# SPDX-License-Identifier: Apache-2.0
"""Against Pinocchio, an independent implementation, where it is installed."""

import re

import numpy as np
import pytest

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import ModelError
from robot_dynamics.model.joints import JointType
from robot_dynamics.model.robot import Robot

pinocchio = pytest.importorskip('pinocchio', reason='pin is not installed')

#: All descriptions of the reference data.
URDFS = ('asr_twodof', 'baxter', 'double_pendulum_continuous', 'gen3_robotiq',
         'gz_cart_effort.xacro', 'gz_gripper_mimic_effort.xacro', 'iiwa14_no_inertials',
         'kinova_j2s6s200', 'kr210l150', 'panda_hand', 'puma560_no_inertials', 'scara',
         'schunk_lwa4p', 'so101', 'stretch4', 'talos_left_arm', 'tiago_no_hand', 'ur10',
         'ur5_joint_limited', 'ur5e_unbound_prefix', 'xarm7', 'z1')


#: Position of each of our ten parameters among Pinocchio's.
ORDER = [0, 1, 2, 3, 4, 5, 7, 6, 8, 9]


def near(ours, theirs):
    """Agree to 1e-9 of the largest entry."""
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-9 * max(1.0, np.abs(theirs).max()))


def matrix(values, rows):
    """A matrix as one, also if it has one column only."""
    return np.reshape(values, (rows, -1))


class Pair:
    """One robot in both programs; ``S`` takes our velocities to theirs.

    Pinocchio gets mimic joints as joints of their own.
    """

    def __init__(self, text, floating=False):
        self.robot = Robot.from_urdf(text, floating_base=floating)
        free = re.sub(r'<mimic\s[^>]*>', '', text)
        root = (pinocchio.JointModelFreeFlyer(),) if floating else ()
        self.model = pinocchio.buildModelFromXML(free, *root)
        self.data = self.model.createData()
        self.dynamics = Dynamics(self.robot)
        at = self.robot.body_coordinates
        theirs = list(self.model.names)[1:]
        ours = [*at.joints[:1], *theirs[1:]] if floating else theirs
        assert sorted(ours) == sorted(at.joints)
        rows = [k for joint in ours for k in range(at.n)[at.velocities(joint)]]
        self.S = self.robot.coupling[rows]
        self.bodies = [self.robot.body_joint_names.index(joint) for joint in ours]
        places = [k for joint in ours for k in range(at.nq)[at.positions(joint)]]
        matrix, offset = self.robot.position_coupling
        self.to_q, self.offset = matrix[places], offset[places]

    def state(self, rng):
        """Our state and theirs: q, v, a of each."""
        v, a, step = rng.uniform(-1.0, 1.0, (3, self.robot.n))
        q = self.robot.integrate(self.robot.neutral(), step)
        Q = self.to_q @ q + self.offset
        return (q, v, a), (self._with_turns(Q), self.S @ v, self.S @ a)

    def _with_turns(self, Q):
        """Positions as Pinocchio wants them: cosine and sine of what turns without end."""
        result, at = np.empty(self.model.nq), 0
        for joint in list(self.model.joints)[1:]:
            theirs = slice(joint.idx_q, joint.idx_q + joint.nq)
            turns = (joint.nq, joint.nv) in ((2, 1), (4, 3))
            count = joint.nq - turns
            ours = Q[at:at + count]
            result[theirs] = [*ours[:-1], np.cos(ours[-1]), np.sin(ours[-1])] if turns else ours
            at += count
        return result


@pytest.fixture(scope='module')
def urdf(shared):
    """Text of a description by its name."""
    def read(name):
        return (shared / 'data' / 'urdf' / f'{name}.urdf').read_text()
    return read


def judge(pair, rng):
    """Compare at a random state what Pinocchio has."""
    (q, v, a), (Q, V, A) = pair.state(rng)
    model, data, S, dynamics = pair.model, pair.data, pair.S, pair.dynamics
    dq, dv, M = pinocchio.computeRNEADerivatives(model, data, Q, V, A)
    for ours, theirs in zip(dynamics.inverse_dynamics_derivatives(q, v, a), (dq, dv, M),
                            strict=True):
        near(ours, S.T @ theirs @ S)
    of_gravity = S.T @ pinocchio.computeGeneralizedGravityDerivatives(model, data, Q) @ S
    near(dynamics.state_derivatives(q, v).dg_dq.T, of_gravity)
    C = S.T @ pinocchio.computeCoriolisMatrix(model, data, Q, V) @ S
    near(dynamics.coriolis_matrix(q, v), C)
    in_time = dynamics.time_derivatives(q, v, a)
    near(in_time.M_dot, C + C.T)
    near(in_time.g_dot, of_gravity @ v)
    if pair.robot.inertial_parameters.any():
        near(dynamics.com_position(q), pinocchio.centerOfMass(model, data, Q))
        near(dynamics.com_jacobian(q),
             matrix(pinocchio.jacobianCenterOfMass(model, data, Q), 3) @ S)


def judge_parameters(pair, rng):
    """Derivatives along the parameters: together they are Pinocchio's regressor."""
    (q, v, a), (Q, V, A) = pair.state(rng)
    Y = pinocchio.computeJointTorqueRegressor(pair.model, pair.data, Q, V, A)
    Y = (pair.S.T @ matrix(Y, len(pair.S))).reshape(pair.robot.n, -1, 10)[..., ORDER]
    dM, dC, dg = pair.dynamics.parameter_derivatives(q, v)
    ours = (dM @ a + dC @ v + dg).T.reshape(pair.robot.n, -1, 10)
    near(ours[:, pair.bodies], Y)


def judge_jacobians(pair, rng):
    """Compare Jacobians of the first and the last link, their rates and their derivatives."""
    (q, v, _), (Q, V, _) = pair.state(rng)
    model, data, S, dynamics = pair.model, pair.data, pair.S, pair.dynamics
    pinocchio.computeJointJacobiansTimeVariation(model, data, Q, V)
    pinocchio.computeJointKinematicHessians(model, data, Q)
    pinocchio.updateFramePlacements(model, data)
    n = model.nv
    for axes, theirs in (('base', pinocchio.LOCAL_WORLD_ALIGNED), ('link', pinocchio.LOCAL)):
        for name in (pair.robot.body_names[0], pair.robot.body_names[-1]):
            frame = model.getFrameId(name)
            J = pinocchio.getFrameJacobian(model, data, frame, theirs)
            near(dynamics.jacobian(q, name, axes), matrix(J, 6) @ S)
            rate = pinocchio.getFrameJacobianTimeVariation(model, data, frame, theirs)
            near(dynamics.jacobian_dot(q, v, name, axes), matrix(rate, 6) @ S)
            if axes == 'link' and JointType.PLANAR in pair.robot.body_coordinates.types:
                # Pinocchio's lacks what the turn of a planar joint does to its own axes, as
                # differences of Pinocchio's Jacobian show.
                continue
            dJ = pinocchio.getFrameKinematicHessian(model, data, frame, theirs)
            # The wheel returns indices in the order of Eigen's memory, first one fastest.
            dJ = np.reshape(dJ, (n, n, 6))
            near(dynamics.jacobian_derivatives(q, v, name, axes)[0],
                 np.einsum('hkr,hi,kj->irj', dJ, S, S))


def test_no_description_is_left_out(shared):
    assert sorted(path.stem for path in (shared / 'data' / 'urdf').iterdir()) == sorted(URDFS)


@pytest.mark.slow
@pytest.mark.parametrize('floating', [False, True])
@pytest.mark.parametrize('name', URDFS)
def test_descriptions(urdf, name, floating):
    pair = Pair(urdf(name), floating)
    for seed in range(2):
        judge(pair, np.random.default_rng(seed))
    judge_parameters(pair, np.random.default_rng(2))
    judge_jacobians(pair, np.random.default_rng(3))


@pytest.mark.slow
@pytest.mark.parametrize('floating', [False, True])
@pytest.mark.parametrize('name', URDFS)
def test_forward_dynamics_derivatives(urdf, name, floating):
    pair = Pair(urdf(name), floating)
    (q, v, a), (Q, V, A) = pair.state(np.random.default_rng(0))
    M = pair.dynamics.mass_matrix(q)
    tau = pair.dynamics.inverse_dynamics(q, v, a)
    if np.linalg.cond(M) > 1e12:
        with pytest.raises(ModelError, match='moves no inertia'):
            pair.dynamics.forward_dynamics_derivatives(q, v, tau)
        return
    model, data, S = pair.model, pair.data, pair.S
    if pair.robot.is_directly_driven:
        theirs = pinocchio.computeABADerivatives(
            model, data, Q, V, pinocchio.rnea(model, data, Q, V, A))
        theirs = [S.T @ derivative @ S for derivative in theirs]
    else:
        # Pinocchio knows no mimic joints: its inverse dynamics, coupled here.
        dq, dv, M = (S.T @ derivative @ S for derivative in pinocchio.computeRNEADerivatives(
            model, data, Q, V, A))
        theirs = -np.linalg.solve(M, dq), -np.linalg.solve(M, dv), np.linalg.inv(M)
    for ours, expected in zip(pair.dynamics.forward_dynamics_derivatives(q, v, tau), theirs,
                              strict=True):
        near(ours, expected)
