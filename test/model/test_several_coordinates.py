# SPDX-License-Identifier: Apache-2.0
"""Robots with floating, planar and spherical joints: their geometry, checks and URDF."""

from dataclasses import replace

import numpy as np
import pytest

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import DimensionError, ModelError
from robot_dynamics.model import JointLimits, JointType, Robot
from robot_dynamics.model.joints import Coordinates, directions, integrate, joint_motion
from robot_dynamics.model.rotation import plane_axes, rotation_from_rpy

LIMIT = '<limit lower="-2" upper="2" effort="5" velocity="3"/>'


def normals():
    rng = np.random.default_rng(2)
    random = rng.normal(size=(6, 3))
    near = np.array([[1e-9, 0, -1], [0, 1e-7, -1], [1e-4, 1e-4, -1], [0, 0, 1], [0, 0, -1],
                     [1, 0, 0], [0, 1, 0], [0, -1, 0], [1e-200, 0, -1]])
    both = np.concatenate([random, near])
    return both / np.linalg.norm(both, axis=1)[:, None]


@pytest.mark.parametrize('normal', normals())
def test_axes_of_a_plane(normal):
    axes = plane_axes(normal)
    np.testing.assert_allclose(axes @ axes.T, np.eye(3), atol=1e-14)
    assert np.linalg.det(axes) == pytest.approx(1.0, abs=1e-14)
    np.testing.assert_array_equal(axes[:, 2], normal)
    # By the shortest turn: by no more than the angle from z to the normal.
    assert np.trace(axes) == pytest.approx(1.0 + 2.0 * normal[2], abs=1e-14)


@pytest.mark.parametrize('kind', JointType)
def test_directions_are_the_derivative_of_the_motion(kind):
    rng = np.random.default_rng(int(kind))
    axis = normals()[0]
    offset = rng.normal(size=3) if kind.has_one_coordinate else np.zeros(3)
    joint = Coordinates(('joint',), (kind,))
    start = integrate(joint, np.eye(7)[6, -joint.nq:] if kind.quaternion else
                      np.zeros(joint.nq), rng.normal(size=joint.n))
    pose = joint_motion(kind, axis, offset, start)
    h = 1e-6
    for k, (slides, along) in enumerate(zip(*directions(kind, axis), strict=True)):
        ahead, behind = (joint_motion(kind, axis, offset, integrate(
            joint, start, step * np.eye(joint.n)[k])) for step in (h, -h))
        # In the axes of the moved link, of its point that was at the joint.
        moved = pose[:3, :3].T @ (ahead - behind)[:3] / (2.0 * h)
        w, linear = moved[:, :3], moved[:, :3] @ -offset + moved[:, 3]
        np.testing.assert_allclose([w[2, 1], w[0, 2], w[1, 0]], along * (not slides), atol=1e-9)
        np.testing.assert_allclose(linear, along * slides, atol=1e-9)


def robot_of(make_urdf, *more):
    """Planar, revolute, floating and prismatic joints in a row, frames between."""
    turned = '<origin xyz="0.1 0.2 0.3" rpy="0.4 0.5 0.6"/>'
    return Robot.from_urdf(make_urdf(
        f'cart planar world a|{turned}<axis xyz="1 2 3"/>', f'elbow revolute a b|{turned}{LIMIT}',
        f'free floating b c|{turned}', f'tool fixed c d|{turned}', f'lift prismatic d e|{LIMIT}',
        *more))


def test_urdf_comes_back(make_urdf):
    robot = robot_of(make_urdf)
    back = Robot.from_urdf(robot.to_urdf())
    assert back.joint_names == robot.joint_names
    assert back.joint_types.tolist() == robot.joint_types.tolist() == [4, 0, 3, 2]
    assert set(back.frames) == set(robot.frames)
    rng = np.random.default_rng(0)
    q = robot.integrate(robot.neutral(), rng.normal(size=robot.n))
    v, a = rng.normal(size=(2, robot.n))
    one, other = Dynamics(robot), Dynamics(back)
    np.testing.assert_allclose(other.inverse_dynamics(q, v, a), one.inverse_dynamics(q, v, a),
                               rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(other.forward_kinematics(q, 'e'), one.forward_kinematics(q, 'e'),
                               atol=1e-13)


def test_urdf_of_a_robot_that_floats_floats(make_urdf):
    robot = Robot.from_urdf(make_urdf(f'a revolute base x|{LIMIT}',
                                      f'b revolute x y|{LIMIT}<mimic joint="a"/>'),
                            floating_base=True)
    back = Robot.from_urdf(robot.to_urdf())
    assert back.base_name == 'world'
    assert back.joint_names == robot.joint_names == ('floating_base', 'a')
    np.testing.assert_array_equal(back.coupling, robot.coupling)
    np.testing.assert_allclose(back.inertial_parameters, robot.inertial_parameters, rtol=1e-14)


def test_no_urdf_has_spherical_joints(make_urdf):
    robot = replace(robot_of(make_urdf), **spherical())
    with pytest.raises(ModelError) as caught:
        robot.to_urdf()
    assert caught.value.subject == 'ball'
    assert 'three revolute joints' in caught.value.remedy


def spherical():
    """Fields of a robot of one body on a ball joint, with a frame that is no joint."""
    return {'body_names': ('body',), 'body_joint_names': ('ball',), 'joint_names': ('ball',),
            'parents': [-1], 'joint_types': [JointType.SPHERICAL], 'placements': [np.eye(4)],
            'axes': [[1, 0, 0]], 'link_offsets': np.zeros((1, 3)),
            'inertial_parameters': np.ones((1, 10)), 'coupling': np.eye(3),
            'coupling_offset': np.zeros(3), 'damping': np.zeros(3), 'friction': np.zeros(3),
            'armature': np.zeros(3), 'frames': {},
            'limits': JointLimits(np.full(3, -np.inf), np.full(3, np.inf), np.full(3, np.nan),
                                  np.full(3, np.nan))}


@pytest.mark.parametrize('fields, error, words', [
    ({'joint_names': ('other',), 'coupling': np.ones((3, 1)), 'damping': [0], 'friction': [0],
      'armature': [0], 'limits': JointLimits([-1], [1], [1], [1])}, ModelError,
     'ball is spherical and not among the independent joints'),
    ({'coupling': np.diag([1.0, 2.0, 1.0])}, ModelError, 'ball is spherical and coupled'),
    ({'coupling_offset': [0, 0, 0.1]}, ModelError, 'ball is spherical and coupled'),
    ({'link_offsets': [[0, 0, 0.1]]}, ModelError, 'ball is spherical and has its link frame off'),
    ({'limits': JointLimits([-1, -1, -1], [1, 1, 1], [1, 1, 1], [1, 1, 1])}, ModelError,
     'ball is spherical and has position limits'),
    ({'coupling': np.eye(1)}, DimensionError, r'coupling must have shape \(3, 3\), got \(1, 1\)'),
    ({'damping': [-1, 0, 0]}, ModelError, 'ball/wx has the negative damping'),
    ({'joint_types': [6]}, ModelError, 'body has a joint of the unknown type 6'),
])
def test_what_is_no_robot(make_urdf, fields, error, words):
    with pytest.raises(error, match=words):
        replace(robot_of(make_urdf), **spherical() | fields)


def test_names_of_coordinates_are_unique(make_urdf):
    with pytest.raises(ModelError, match='free/vx is the name of two coordinates'):
        robot_of(make_urdf, f'free/vx revolute e f|{LIMIT}')


def test_a_free_body_is_no_singularity(make_urdf):
    assert robot_of(make_urdf).findings == ()


def test_the_axes_of_a_planar_joint_that_no_axis_is_given(make_urdf):
    """The specification's default is x."""
    robot = Robot.from_urdf(make_urdf('cart planar world a|'))
    q = [0.3, 0.5, 0.7]
    pose = Dynamics(robot).forward_kinematics(q, 'a')
    np.testing.assert_allclose(pose[:3, 3], [0.0, 0.5, -0.3], atol=1e-15)
    np.testing.assert_allclose(pose[:3, :3], rotation_from_rpy([0.7, 0.0, 0.0]), atol=1e-15)


def test_only_arms_are_for_what_asks_for_them(make_urdf):
    robot = robot_of(make_urdf)
    with pytest.raises(ModelError) as caught:
        robot.require_single_coordinates('adaptive control')
    assert str(caught.value) == (
        "cart is planar, but adaptive control needs joints with one coordinate each; read the "
        "robot with base_link='a', or name the joints that move in joints; in Python also hold "
        "it with locked={'cart': 0}")
    held = Robot.from_urdf(robot.to_urdf(), locked={'cart': 0, 'free': 0})
    held.require_single_coordinates('adaptive control')
