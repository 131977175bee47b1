# SPDX-License-Identifier: Apache-2.0
"""Roll-pitch-yaw angles against scipy, and back, also in gimbal lock."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from robot_dynamics.errors import DimensionError
from robot_dynamics.model.rotation import (
    quaternion_of_rotation,
    rotation_from_rpy,
    rotation_of_quaternion,
    rpy_from_rotation,
)

angles = st.floats(-10.0, 10.0)
# On, next to and far from gimbal lock.
pitches = st.one_of(angles, st.sampled_from([-1.0, 1.0]).flatmap(
    lambda sign: st.floats(-1e-6, 1e-6).map(lambda small: sign * np.pi / 2 + small)))


@settings(deadline=None)
@given(angles, pitches, angles)
def test_same_as_scipy(roll, pitch, yaw):
    expected = Rotation.from_euler('xyz', [roll, pitch, yaw]).as_matrix()
    np.testing.assert_allclose(rotation_from_rpy([roll, pitch, yaw]), expected, atol=1e-15)


@settings(deadline=None)
@given(angles, pitches, angles)
def test_angles_give_the_matrix_back(roll, pitch, yaw):
    R = rotation_from_rpy([roll, pitch, yaw])
    rpy = rpy_from_rotation(R)
    assert abs(rpy[1]) <= np.pi / 2 + 1e-15
    np.testing.assert_allclose(rotation_from_rpy(rpy), R, atol=2e-15)


@settings(deadline=None)
@given(angles, st.floats(-1.5, 1.5), angles)
def test_angles_come_back_away_from_gimbal_lock(roll, pitch, yaw):
    rpy = rpy_from_rotation(rotation_from_rpy([roll, pitch, yaw]))
    assert np.exp(1j * rpy) == pytest.approx(np.exp(1j * np.array([roll, pitch, yaw])), abs=1e-13)


def test_no_rotation_is_exactly_zero():
    assert not np.any(rpy_from_rotation(np.eye(3)))


@pytest.mark.parametrize('call', [lambda: rotation_from_rpy([0.0, 1.0]),
                                  lambda: rpy_from_rotation(np.zeros(9))])
def test_wrong_shape_is_refused(call):
    with pytest.raises(DimensionError, match='must have shape'):
        call()


@settings(deadline=None)
@given(angles, angles, angles)
def test_quaternion_gives_the_matrix_back(roll, pitch, yaw):
    R = rotation_from_rpy([roll, pitch, yaw])
    quaternion = quaternion_of_rotation(R)
    assert quaternion[3] >= 0.0
    np.testing.assert_allclose(rotation_of_quaternion(quaternion), R, atol=1e-14)
