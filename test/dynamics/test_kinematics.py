# SPDX-License-Identifier: Apache-2.0
"""Poses and Jacobians."""

import numpy as np
import pytest

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import ModelError
from robot_dynamics.model.robot_data import Frame


@pytest.fixture(params=range(6))
def case(request, tree, make):
    """Equations of a random tree with a tool frame on its last body, and a position."""
    rng = np.random.default_rng(request.param)
    robot = tree(40 + request.param, 6)
    tool = np.eye(4)
    tool[:3, :3] = robot.placements[0, :3, :3]
    tool[:3, 3] = rng.uniform(-0.5, 0.5, 3)
    fixed = np.eye(4)
    fixed[:3, 3] = 1.0, 2.0, 3.0
    robot = make(robot.parents, robot.joint_types, robot.placements, robot.axes,
                 robot.link_offsets, robot.inertial_parameters,
                 frames={'tool': Frame(5, tool), 'camera': Frame(-1, fixed)}.items())
    return Dynamics(robot), rng.uniform(-2.0, 2.0, 6)


def test_poses_follow_the_definition(case):
    dynamics, q = case
    robot = dynamics.robot
    poses = dynamics.forward_kinematics(q)
    assert poses.shape == (6, 4, 4)
    for i in range(6):
        above = np.eye(4) if robot.parents[i] < 0 else poses[robot.parents[i]]
        axis, relative = robot.axes[i], np.array(robot.placements[i])
        if robot.joint_types[i] == 2:
            move = axis * q[i] + robot.link_offsets[i]
            relative[:3, 3] += relative[:3, :3] @ move
        else:
            cross = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]],
                              [-axis[1], axis[0], 0]])
            turn = np.eye(3) + np.sin(q[i]) * cross + (1 - np.cos(q[i])) * cross @ cross
            relative[:3, :3] = relative[:3, :3] @ turn
            relative[:3, 3] += relative[:3, :3] @ robot.link_offsets[i]
        np.testing.assert_allclose(poses[i], above @ relative, atol=1e-13)


def test_named_frames(case):
    dynamics, q = case
    frames = dynamics.robot.frames
    poses = dynamics.forward_kinematics(q)
    np.testing.assert_array_equal(dynamics.forward_kinematics(q, 'b2'), poses[2])
    np.testing.assert_allclose(dynamics.forward_kinematics(q, 'tool'),
                               poses[5] @ frames['tool'].pose, atol=1e-15)
    np.testing.assert_array_equal(dynamics.forward_kinematics(q, 'camera'), frames['camera'].pose)
    np.testing.assert_array_equal(dynamics.forward_kinematics(q, 'base'), np.eye(4))


@pytest.mark.parametrize('link', ['b0', 'b3', 'b5', 'tool', 'camera', 'base'])
def test_jacobian_is_the_rate_of_the_pose(case, link):
    dynamics, q = case
    J = dynamics.jacobian(q, link)
    assert J.shape == (6, 6)
    h = 1e-6
    for k in range(6):
        step = np.zeros(6)
        step[k] = h
        after = dynamics.forward_kinematics(q + step, link)
        before = dynamics.forward_kinematics(q - step, link)
        rate = (after - before) / (2.0 * h)
        spin = rate[:3, :3] @ dynamics.forward_kinematics(q, link)[:3, :3].T
        np.testing.assert_allclose(J[:3, k], rate[:3, 3], atol=1e-8)
        np.testing.assert_allclose(J[3:, k], [spin[2, 1], spin[0, 2], spin[1, 0]], atol=1e-8)


def test_mass_matrix_from_jacobians(case):
    """M = sum J^T G J over the bodies, G the spatial inertia at the link origin."""
    dynamics, q = case
    M = np.zeros((6, 6))
    for body, name, pi in zip(dynamics.forward_kinematics(q), dynamics.robot.body_names,
                              dynamics.robot.inertial_parameters, strict=True):
        R, J = body[:3, :3], dynamics.jacobian(q, name)
        m, h = pi[0], R @ pi[1:4]
        xx, xy, xz, yy, yz, zz = pi[4:]
        inertia = R @ [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]] @ R.T
        skew = np.array([[0, -h[2], h[1]], [h[2], 0, -h[0]], [-h[1], h[0], 0]])
        M += J.T @ np.block([[m * np.eye(3), -skew], [skew, inertia]]) @ J
    np.testing.assert_allclose(dynamics.mass_matrix(q), M, atol=1e-12)


def test_batches(case):
    dynamics, q = case
    many = q + np.linspace(0.0, 1.0, 6).reshape(2, 3, 1)
    poses, tool = dynamics.forward_kinematics(many), dynamics.forward_kinematics(many, 'tool')
    camera, J = dynamics.forward_kinematics(many, 'camera'), dynamics.jacobian(many, 'tool')
    assert poses.shape == (2, 3, 6, 4, 4) and tool.shape == camera.shape == (2, 3, 4, 4)
    assert J.shape == (2, 3, 6, 6)
    for index in np.ndindex(2, 3):
        np.testing.assert_array_equal(poses[index], dynamics.forward_kinematics(many[index]))
        # Another kernel, which adds the same terms in another order.
        np.testing.assert_allclose(J[index], dynamics.jacobian(many[index], 'tool'), rtol=0.0,
                                   atol=1e-14)


def test_unknown_links_are_refused_with_the_names(case):
    dynamics, q = case
    for call in (dynamics.forward_kinematics, dynamics.jacobian):
        with pytest.raises(ModelError, match=r'gripper.*base, b0, b1.*tool'):
            call(q, 'gripper')
