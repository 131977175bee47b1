# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from robot_dynamics.control.motion.pose_setpoint import PoseSetpoint, SetpointLimits
from robot_dynamics.errors import ControlError, ParameterError

DT = 0.002
AHEAD = np.array([0.4, -0.1, 0.2])
TURNED = Rotation.from_rotvec([0.6, -1.2, 0.9])


def begun(**limits):
    setpoint = PoseSetpoint(SetpointLimits(timeout=1e9, **limits))
    pose = np.eye(4)
    pose[:3, 3] = [0.1, 0.2, 0.3]
    setpoint.begin(pose)
    return setpoint


def run(setpoint, seconds):
    """Positions, rotation vectors, twists and accelerations, one row a step."""
    rows = []
    for _ in range(round(seconds / DT)):
        setpoint.advance(DT)
        rows.append(np.concatenate([
            setpoint.position, Rotation.from_quat(setpoint.quaternion).as_rotvec(),
            setpoint.twist, setpoint.acceleration]))
    return np.array(rows)


def test_reaches_a_pose_within_its_limits_without_overshoot():
    setpoint = begun()
    setpoint.follow_pose(AHEAD, TURNED.as_quat())
    rows = run(setpoint, 5.0)
    np.testing.assert_allclose(rows[-1, :3], AHEAD, atol=1e-9)
    np.testing.assert_allclose(rows[-1, 3:6], TURNED.as_rotvec(), atol=1e-9)
    for first, most in ((6, 0.25), (9, 1.0), (12, 1.0), (15, 4.0)):
        sizes = np.linalg.norm(rows[:, first:first + 3], axis=1)
        # Both are used.
        assert 0.99 * most < sizes.max() <= most * (1.0 + 1e-9)
    left = np.linalg.norm(rows[:, :3] - AHEAD, axis=1)
    assert np.diff(left).max() < 1e-9


def test_twist_is_the_derivative_of_the_pose_and_acceleration_that_of_the_twist():
    setpoint = begun()
    setpoint.follow_pose(AHEAD, TURNED.as_quat())
    rows = run(setpoint, 1.0)
    np.testing.assert_allclose(np.diff(rows[:, 6:12], axis=0) / DT, rows[1:, 12:], atol=1e-9)
    middle = 0.5 * (rows[1:, 6:9] + rows[:-1, 6:9])
    np.testing.assert_allclose(np.diff(rows[:, :3], axis=0) / DT, middle, atol=1e-9)
    turns = Rotation.from_rotvec(rows[:, 3:6])
    rate = (turns[1:] * turns[:-1].inv()).as_rotvec() / DT
    np.testing.assert_allclose(rate, 0.5 * (rows[1:, 9:12] + rows[:-1, 9:12]), atol=1e-6)


def test_takes_the_short_way_round():
    setpoint = begun()
    setpoint.follow_pose(setpoint.position.copy(),
                         -Rotation.from_rotvec([0.0, 0.0, 3.0]).as_quat())
    rows = run(setpoint, 1.0)
    assert rows[-1, 5] > 0.5


def test_follows_a_twist_cut_to_the_limits():
    setpoint = begun(speed=0.1)
    setpoint.follow_twist(np.array([0.3, 0.4, 0.0, 0.0, 0.0, 0.5]))
    rows = run(setpoint, 2.0)
    np.testing.assert_allclose(rows[-1, 6:12], [0.06, 0.08, 0.0, 0.0, 0.0, 0.5], atol=1e-9)


@pytest.mark.parametrize('goal', ['pose', 'twist'])
def test_comes_to_rest_when_goals_stop(goal):
    setpoint = begun()
    setpoint.limits = SetpointLimits(timeout=0.1)
    if goal == 'pose':
        setpoint.follow_pose(AHEAD + 10.0, TURNED.as_quat())
    else:
        setpoint.follow_twist(np.full(6, 0.1))
    rows = run(setpoint, 1.0)
    moving = np.linalg.norm(rows[:, 6:9], axis=1)
    assert moving[45] > 0.08 and moving[-1] < 1e-9
    # From its speed then, at the largest acceleration: no farther than that takes.
    way = np.linalg.norm(rows[-1, :3] - rows[50, :3])
    assert way < 0.5 * moving.max() ** 2 / 1.0 + 0.1 * moving.max()
    assert setpoint.age == np.inf


def test_yields_to_an_arm_that_is_held_back():
    setpoint = begun()
    setpoint.position[:] = [0.3, 0.2, 0.3]
    setpoint.quaternion[:] = Rotation.from_rotvec([0.0, 0.0, 0.8]).as_quat()
    pose = np.eye(4)
    pose[:3, 3] = [0.1, 0.2, 0.3]
    setpoint.twist[:] = 0.1
    setpoint.yield_to(pose, 1.0, 1.0)
    assert setpoint.twist.all()
    setpoint.yield_to(pose, 0.5, 0.25)
    assert not setpoint.twist.any()
    np.testing.assert_allclose(setpoint.position, [0.2, 0.2, 0.3])
    np.testing.assert_allclose(Rotation.from_quat(setpoint.quaternion).as_rotvec(),
                               [0.0, 0.0, 0.2], atol=1e-12)


def test_does_not_move_without_time():
    setpoint = begun()
    setpoint.follow_pose(AHEAD, TURNED.as_quat())
    before = setpoint.position.copy()
    setpoint.advance(0.0)
    np.testing.assert_array_equal(setpoint.position, before)


def test_refuses_what_is_not_a_pose():
    setpoint = begun()
    unit = np.array([0.0, 0.0, 0.0, 1.0])
    with pytest.raises(ControlError, match='length 1, got 0'):
        setpoint.follow_pose(AHEAD, 0.0 * unit)
    with pytest.raises(ControlError, match='pose contains NaN'):
        setpoint.follow_pose(np.array([np.nan, 0.0, 0.0]), unit)
    with pytest.raises(ControlError, match='twist contains NaN'):
        setpoint.follow_twist(np.full(6, np.inf))
    with pytest.raises(ParameterError, match='speed must be a positive'):
        SetpointLimits(speed=0.0)
    # Nothing of that was followed.
    assert not run(setpoint, 0.1)[-1, 6:12].any()
