# SPDX-License-Identifier: Apache-2.0
"""Where coordinates stand in vectors of positions and velocities."""

import pytest

from robot_dynamics.errors import ModelError
from robot_dynamics.model.joints import Coordinates, JointType

MIXED = Coordinates(('a', 'base', 'cart', 'ball'),
                    (JointType.PRISMATIC, JointType.FLOATING, JointType.PLANAR,
                     JointType.SPHERICAL))


def test_single_coordinates_stand_like_joints():
    single = Coordinates(('a', 'b'), (JointType.REVOLUTE, JointType.CONTINUOUS))
    assert single.are_single
    assert single.several == ()
    assert single.n == single.nq == 2
    assert single.position_names == single.velocity_names == ('a', 'b')


def test_sizes_and_places():
    assert not MIXED.are_single
    assert MIXED.several == (1, 2, 3)
    assert (MIXED.n, MIXED.nq) == (1 + 6 + 3 + 3, 1 + 7 + 3 + 4)
    assert [MIXED.velocities(k) for k in range(4)] == [
        slice(0, 1), slice(1, 7), slice(7, 10), slice(10, 13)]
    assert MIXED.positions('cart') == slice(8, 11)
    assert MIXED.joint_of_velocity.tolist() == [0] + 6 * [1] + 3 * [2] + 3 * [3]


def test_names():
    assert MIXED.position_names == (
        'a', 'base/x', 'base/y', 'base/z', 'base/qx', 'base/qy', 'base/qz', 'base/qw',
        'cart/x', 'cart/y', 'cart/angle', 'ball/qx', 'ball/qy', 'ball/qz', 'ball/qw')
    assert MIXED.velocity_names == (
        'a', 'base/vx', 'base/vy', 'base/vz', 'base/wx', 'base/wy', 'base/wz',
        'cart/vx', 'cart/vy', 'cart/w', 'ball/wx', 'ball/wy', 'ball/wz')


def test_an_unknown_joint_is_named():
    with pytest.raises(ModelError) as caught:
        MIXED.velocities('bass')
    assert caught.value.subject == 'bass'
    assert 'a, base, cart, ball' in caught.value.remedy


@pytest.mark.parametrize('kind', JointType)
def test_quaternions_are_where_their_names_are(kind):
    if kind.quaternion is None:
        assert 'qw' not in kind.position_names
    else:
        assert kind.position_names[kind.quaternion] == ('qx', 'qy', 'qz', 'qw')
    assert kind.has_one_coordinate == (kind.velocity_names == ())
