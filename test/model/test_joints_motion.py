# SPDX-License-Identifier: Apache-2.0
"""Integration and difference of positions of joints with several coordinates."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

from robot_dynamics.errors import DimensionError, RobotDynamicsError, StateError
from robot_dynamics.model import joints as motion
from robot_dynamics.model.joints import Coordinates, JointType

FREE = Coordinates(('base', 'arm', 'cart', 'ball'),
                   (JointType.FLOATING, JointType.REVOLUTE, JointType.PLANAR,
                    JointType.SPHERICAL))
SINGLE = Coordinates(('a', 'b'), (JointType.REVOLUTE, JointType.PRISMATIC))

seeds = st.integers(0, 2 ** 32 - 1)
sizes = st.floats(-9.0, 0.4).map(lambda exponent: 10.0 ** exponent)


def anywhere(rng, *shape):
    return motion.integrate(FREE, motion.neutral(FREE), 2.0 * rng.normal(size=(*shape, FREE.n)))


def pose(q):
    """Pose of the floating body, shape (4, 4)."""
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = Rotation.from_quat(q[3:7]).as_matrix(), q[:3]
    return T


def planar_pose(q):
    """Pose of the body in the plane, shape (3, 3)."""
    c, s = np.cos(q[2]), np.sin(q[2])
    return np.array([[c, -s, q[0]], [s, c, q[1]], [0.0, 0.0, 1.0]])


def test_neutral():
    np.testing.assert_array_equal(motion.neutral(FREE), [0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0,
                                                         0, 0, 0, 1])
    np.testing.assert_array_equal(motion.neutral(SINGLE), [0, 0])


@given(seed=seeds, size=sizes)
def test_integration_is_the_exponential_of_the_twist(seed, size):
    rng = np.random.default_rng(seed)
    q, v = anywhere(rng), size * rng.normal(size=FREE.n)
    moved = motion.integrate(FREE, q, v, 0.5)
    x, y, z = v[3:6]
    twist = np.array([[0, -z, y, v[0]], [z, 0, -x, v[1]], [-y, x, 0, v[2]], [0, 0, 0, 0]])
    np.testing.assert_allclose(pose(moved), pose(q) @ expm(0.5 * twist), atol=1e-13)
    in_plane = np.array([[0, -v[9], v[7]], [v[9], 0, v[8]], [0, 0, 0]])
    np.testing.assert_allclose(planar_pose(moved[8:11]),
                               planar_pose(q[8:11]) @ expm(0.5 * in_plane), atol=1e-13)
    np.testing.assert_allclose(
        Rotation.from_quat(moved[11:]).as_matrix(),
        (Rotation.from_quat(q[11:]) * Rotation.from_rotvec(0.5 * v[10:])).as_matrix(), atol=1e-13)
    assert moved[7] == q[7] + 0.5 * v[6]
    for part in (slice(3, 7), slice(11, 15)):
        assert np.linalg.norm(moved[part]) == pytest.approx(1.0, abs=1e-15)


@given(seed=seeds, size=sizes)
def test_difference_undoes_integration(seed, size):
    rng = np.random.default_rng(seed)
    q, v = anywhere(rng), size * rng.uniform(-1.0, 1.0, FREE.n)
    moved = motion.integrate(FREE, q, v)
    found = motion.difference(FREE, q, moved)
    again = motion.integrate(FREE, q, found)
    np.testing.assert_allclose(pose(again), pose(moved), atol=1e-12)
    np.testing.assert_allclose(planar_pose(again[8:11]), planar_pose(moved[8:11]), atol=1e-12)
    if np.linalg.norm(v[3:6]) < 3.0 and np.linalg.norm(v[10:]) < 3.0:
        np.testing.assert_allclose(found, v, atol=1e-12)


@given(seed=seeds)
def test_the_other_quaternion_of_a_turn_is_no_other_position(seed):
    rng = np.random.default_rng(seed)
    one, other = anywhere(rng), anywhere(rng)
    turned = other.copy()
    turned[3:7] *= -1.0
    turned[10] += 4.0 * np.pi
    found = motion.difference(FREE, one, turned)
    np.testing.assert_allclose(found, motion.difference(FREE, one, other), atol=1e-12)
    assert np.linalg.norm(found[3:6]) <= np.pi + 1e-12
    assert abs(found[9]) <= np.pi + 1e-12


def test_half_a_turn():
    q0, q1 = motion.neutral(FREE), motion.neutral(FREE)
    q1[:7] = [1.0, 2.0, 0.0, 0.0, 0.0, 1.0, 0.0]
    v = motion.difference(FREE, q0, q1)
    np.testing.assert_allclose(np.abs(v[3:6]), [0.0, 0.0, np.pi])
    np.testing.assert_allclose(motion.integrate(FREE, q0, v)[:3], q1[:3], atol=1e-15)


def test_an_angle_in_the_plane_counts_on():
    q = motion.integrate(FREE, motion.neutral(FREE), np.full(FREE.n, 0.0) + 10.0 * (
        np.arange(FREE.n) == 9))
    assert q[10] == 10.0


def test_joints_of_one_coordinate_add():
    np.testing.assert_array_equal(motion.integrate(SINGLE, [1, 2], [3, 4], 0.5), [2.5, 4.0])
    np.testing.assert_array_equal(motion.difference(SINGLE, [1, 2], [[3, 7]]), [[2, 5]])


def test_batches():
    rng = np.random.default_rng(0)
    q, v = anywhere(rng, 3, 1), rng.normal(size=(4, FREE.n))
    moved, found = motion.integrate(FREE, q, v), motion.difference(FREE, q, anywhere(rng, 4))
    assert moved.shape == (3, 4, FREE.nq)
    assert found.shape == (3, 4, FREE.n)
    np.testing.assert_allclose(moved[1, 2], motion.integrate(FREE, q[1, 0], v[2]), atol=1e-15)


@pytest.mark.parametrize('q, v, words', [
    (np.zeros(13), np.zeros(13), r'q must have shape \(15,\) or .*got \(13,\)'),
    (motion.neutral(FREE), np.zeros(15), r'v must have shape \(13,\) or .*got \(15,\)'),
    (1.0, np.zeros(13), r'q must have shape .*got \(\)'),
    (np.tile(motion.neutral(FREE), (2, 1)), np.zeros((3, 13)), 'do not broadcast'),
    ('here', np.zeros(13), 'q must hold real numbers'),
])
def test_wrong_shapes(q, v, words):
    with pytest.raises(DimensionError, match=words):
        motion.integrate(FREE, q, v)


@pytest.mark.parametrize('dt', [None, 'x', '1', [1.0, 2.0], np.zeros(2), {}, 1j, np.nan, np.inf])
@pytest.mark.parametrize('coordinates', [FREE, SINGLE], ids=['free', 'single'])
def test_what_is_no_time(coordinates, dt):
    with pytest.raises(RobotDynamicsError) as caught:
        motion.integrate(coordinates, motion.neutral(coordinates), np.ones(coordinates.n), dt)
    assert (caught.value.subject, caught.value.remedy) == ('dt', 'give a finite number of seconds')


def test_time_of_any_number():
    for dt in (2, np.float32(2.0), np.array(2.0)):
        np.testing.assert_array_equal(motion.integrate(SINGLE, [1, 2], [3, 4], dt), [7.0, 10.0])


@pytest.mark.parametrize('size', [np.nan, np.inf, 1e300])
@pytest.mark.parametrize('coordinates', [FREE, SINGLE], ids=['free', 'single'])
def test_velocities_out_of_bounds_travel_without_a_warning(coordinates, size):
    q, v = motion.neutral(coordinates), np.full(coordinates.n, size)
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        moved = motion.integrate(coordinates, q, v)
        motion.difference(coordinates, q, np.where(np.isnan(moved), size, moved)
                          if coordinates is SINGLE else q * np.nan)
    # A prismatic or revolute joint is where it was sent.
    assert np.array_equal(moved[-1 if coordinates is SINGLE else 7], size, equal_nan=True)


@pytest.mark.parametrize('at, joint', [(6, 'base'), (14, 'ball')])
def test_wrong_quaternions_name_the_joint(at, joint):
    q = np.tile(motion.neutral(FREE), (3, 1))
    q[1, at] = 1.001
    with pytest.raises(StateError) as caught:
        motion.difference(FREE, motion.neutral(FREE), q)
    assert caught.value.subject == joint
    assert 'got one of length 1.001' in caught.value.message
    assert 'divided by their length' in caught.value.remedy


def test_what_rounds_to_unit_length_passes():
    q = motion.neutral(FREE)
    q[3:7] = [0.5, 0.5, 0.7071, 0.0]
    assert motion.check_positions(FREE, q, 'q') is q
    np.testing.assert_allclose(motion.integrate(FREE, q, np.zeros(13))[3:7],
                               q[3:7] / np.linalg.norm(q[3:7]), atol=1e-16)


def test_rotation_of_a_quaternion():
    rng = np.random.default_rng(1)
    for quaternion in rng.normal(size=(5, 4)):
        np.testing.assert_allclose(motion.rotation_of_quaternion(quaternion),
                                   Rotation.from_quat(quaternion).as_matrix(), atol=1e-15)
