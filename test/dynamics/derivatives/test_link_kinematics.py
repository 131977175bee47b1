# SPDX-License-Identifier: Apache-2.0
"""Derivatives of Jacobians and the centre of mass, against complex steps and the recursion."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import ModelError, ParameterError
from robot_dynamics.model.joints import JointType
from robot_dynamics.model.robot_data import Frame

#: Pose of a tool on the last link.
POSE = np.array([[0.0, -0.8, 0.6, 0.3], [1.0, 0.0, 0.0, -0.2], [0.0, 0.6, 0.8, 0.1],
                 [0.0, 0.0, 0.0, 1.0]])


@pytest.fixture
def tool(case):
    """The case's robot with a tool on its last link, and the number of that link."""
    robot, q, v, a = case
    last = robot.n_bodies - 1
    return replace(robot, frames={'tool': Frame(last, POSE), 'stand': Frame(-1, POSE)}), last, \
        q, v, a


def judge(robot, last, q, v, a, exact, near, axes):
    """Compare the Jacobian of a tool and all its derivatives with complex steps."""
    dynamics = Dynamics(robot)
    of = {'base': 'base_jacobian', 'link': 'body_jacobian'}[axes]

    def J(r):
        return getattr(r, of)(last, POSE)

    def rate(r):
        return getattr(r, of)(last, POSE, rate=True)

    near(dynamics.jacobian(q, 'tool', axes), np.real(J(exact.here)))
    near(dynamics.jacobian_dot(q, v, 'tool', axes), exact.by_time(J, a))
    near(dynamics.jacobian_dot(q, v, 'tool', axes), np.real(rate(exact.here)))
    near(dynamics.jacobian_ddot(q, v, a, 'tool', axes), exact.by_time(rate, a))
    dJ_dq, dJdot_dq = dynamics.jacobian_derivatives(q, v, 'tool', axes)
    near(dJ_dq, exact.by_q(J))
    near(dJdot_dq, exact.by_q(rate))
    if robot.all_joints_1dof:
        near(dJ_dq, exact.by_v(rate))


@pytest.mark.parametrize('axes', ['base', 'link'])
def test_derivatives_of_jacobians(tool, differences, near, axes):
    robot, last, q, v, a = tool
    judge(robot, last, q, v, a, differences(robot, q, v), near, axes)


@pytest.mark.slow
@settings(max_examples=40)
@given(seed=st.integers(0, 10**6), branch=st.floats(0.0, 1.0), data=st.data(),
       kinds=st.lists(st.sampled_from(tuple(JointType)), min_size=1, max_size=6))
def test_random_trees(random_case, differences, near, seed, branch, data, kinds):
    robot, q, v, a = random_case(seed, kinds, branch)
    link = data.draw(st.integers(0, robot.n_bodies - 1), 'link')
    robot = replace(robot, frames={'tool': Frame(link, POSE)})
    for axes in ('base', 'link'):
        judge(robot, link, q, v, a, differences(robot, q, v), near, axes)


def test_recursion_from_link_to_link(case, recursion, lie, near):
    """Eqs. 27, 28, 31 and 32 hold between the links of every branch."""
    robot, q, v, _ = case
    dynamics, here, (adj, _) = Dynamics(robot), recursion(robot, q, v), lie
    zero = np.zeros((6, robot.n))
    for k, name in enumerate(robot.body_names):
        parent = robot.parents[k]
        J_p, Jdot_p, dJ_p, dJdot_p = (zero, zero, [zero] * robot.n, [zero] * robot.n)
        if parent >= 0:
            above = robot.body_names[parent]
            J_p = dynamics.jacobian(q, above, 'link')
            Jdot_p = dynamics.jacobian_dot(q, v, above, 'link')
            dJ_p, dJdot_p = dynamics.jacobian_derivatives(q, v, above, 'link')
        Ad, Xi = np.real(here.Ad[k]), here.Xi[k]
        near(dynamics.jacobian(q, name, 'link'), Ad @ J_p + Xi)
        near(dynamics.jacobian_dot(q, v, name, 'link'), Ad @ Jdot_p - adj(Xi @ v) @ Ad @ J_p)
        dJ, dJdot = dynamics.jacobian_derivatives(q, v, name, 'link')
        for h in range(robot.n):
            turn = adj(Xi[:, h])
            near(dJ[h], Ad @ dJ_p[h] - turn @ Ad @ J_p)
            near(dJdot[h], Ad @ dJdot_p[h] - turn @ Ad @ Jdot_p - adj(Xi @ v) @ dJ[h])


def test_acceleration_of_a_frame(tool, near):
    robot, _, q, v, a = tool
    dynamics = Dynamics(robot)
    h = 1e-5

    def velocity(t):
        return dynamics.jacobian(robot.integrate(q, v + 0.5 * t * a, t), 'tool') @ (v + t * a)
    near(dynamics.jacobian(q, 'tool') @ a + dynamics.jacobian_dot(q, v, 'tool') @ v,
         (velocity(h) - velocity(-h)) / (2.0 * h), 1e-7)


def test_what_stands_still_has_no_jacobian(tool):
    robot, _, q, v, a = tool
    dynamics = Dynamics(robot)
    for axes in ('base', 'link'):
        assert not dynamics.jacobian(q, 'stand', axes).any()
        assert not dynamics.jacobian_ddot(q, v, a, 'stand', axes).any()
        assert not dynamics.jacobian_derivatives(q, v, 'stand', axes)[1].any()


def test_centre_of_mass(case, differences, near):
    robot, q, v, _ = case
    dynamics, exact = Dynamics(robot), differences(robot, q, v)

    def centre(r):
        total = 0.0
        for R, p, pi in zip(r.R, r.p, robot.inertial_parameters, strict=True):
            total = total + pi[0] * p + R @ pi[1:4]
        return total / robot.inertial_parameters[:, 0].sum()
    near(dynamics.com_position(q), np.real(centre(exact.here)))
    J = dynamics.com_jacobian(q)
    near(J.T, exact.by_q(centre))
    mass = robot.inertial_parameters[:, 0].sum()
    near(-mass * J.T @ robot.gravity, dynamics.gravity_torque(q))


def test_batches(mixed, state, near):
    robot = mixed(2)
    dynamics, link = Dynamics(robot), robot.body_names[-1]
    states = [state(robot, np.random.default_rng(k)) for k in range(3)]
    q, v, a = (np.array(x) for x in zip(*states, strict=True))
    near(dynamics.jacobian_ddot(q, v, a, link)[1], dynamics.jacobian_ddot(*states[1], link))
    near(dynamics.jacobian_dot(q, v, link)[2], dynamics.jacobian_dot(*states[2][:2], link))
    near(dynamics.jacobian_derivatives(q, v, link)[1][0],
         dynamics.jacobian_derivatives(*states[0][:2], link)[1])
    near(dynamics.com_position(q)[1], dynamics.com_position(states[1][0]))
    near(dynamics.com_jacobian(q[:, None])[2, 0], dynamics.com_jacobian(states[2][0]))


def test_wrong_arguments_are_refused(tree):
    dynamics, zero = Dynamics(tree(0, 2)), np.zeros(2)
    for axes in ('world', None, 1):
        with pytest.raises(ParameterError, match='axes must be one of base, link'):
            dynamics.jacobian_dot(zero, zero, 'b1', axes)
        with pytest.raises(ParameterError, match='axes must be one of base, link'):
            dynamics.jacobian_derivatives(zero, zero, 'b1', axes)
        with pytest.raises(ParameterError, match='axes must be one of base, link'):
            dynamics.jacobian(zero, 'b1', axes)
    with pytest.raises(ModelError, match='nowhere is not a link'):
        dynamics.jacobian_dot(zero, zero, 'nowhere')
    weightless = Dynamics(tree(0, 2).with_parameters(np.zeros(20)))
    for call in (weightless.com_position, weightless.com_jacobian):
        with pytest.raises(ModelError, match='no moving mass'):
            call(zero)
