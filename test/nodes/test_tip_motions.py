# SPDX-License-Identifier: Apache-2.0
"""Lines and circles that the parameters of the reference node ask for."""

import numpy as np
import pytest

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import ParameterError, RobotDynamicsError, TrajectoryError
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import resolve_robot
from robot_dynamics.nodes.reference import (
    MOTION_PARAMETERS,
    check_motion,
    make_motion,
)

POSE = np.array([0.0, -0.3, 0.1, -2.2, 0.0, 2.0, 0.785])


@pytest.fixture(scope='module')
def robot():
    return Robot.from_urdf(resolve_robot('arm7'))


def values(**changes):
    return {**{row.name: row.default for row in MOTION_PARAMETERS}, **changes}


@pytest.mark.parametrize('changes', [
    {'trajectory': 'line', 'displacement': (0.1, 0.05, -0.1)},
    {'trajectory': 'circle', 'keep_orientation': False, 'link': 'link7', 'poses': tuple(POSE)}])
def test_goes_there_and_comes_back_to_the_very_pose(robot, changes):
    start = POSE + 0.1 if 'poses' in changes else POSE
    motion = make_motion(robot, values(tip_speed=0.2, **changes), start)
    assert motion.duration == np.inf
    times = np.linspace(0.0, 30.0, 3001)
    q, v, a = motion.sample_many(times)
    np.testing.assert_array_equal(q[0], start)
    assert np.abs(v).max() <= 0.9 + 1e-6 and np.abs(a).max() <= 3.0 + 6e-6
    np.testing.assert_allclose(np.gradient(q, times, axis=0)[1:-1], v[1:-1], atol=2e-2)
    link = changes.get('link', 'flange')
    tip = Dynamics(robot).forward_kinematics(q, link)[:, :3, 3]
    first = Dynamics(robot).forward_kinematics(POSE, link)[:3, 3]
    reach = np.linalg.norm(tip - first, axis=1).max()
    assert reach == pytest.approx(0.15 if changes['trajectory'] == 'line' else 0.2, abs=1e-3)
    # It stands at the pose where it began, again and again.
    stands = np.flatnonzero(np.abs(q - POSE).max(axis=1) < 1e-9)
    assert np.ptp(stands) > 1000


def test_once_when_it_does_not_repeat(robot):
    motion = make_motion(robot, values(trajectory='line', repeat=False), POSE)
    end = Dynamics(robot).forward_kinematics(motion.sample(motion.duration)[0], 'flange')
    begin = Dynamics(robot).forward_kinematics(POSE, 'flange')
    np.testing.assert_allclose((end - begin)[:3, 3], [0.1, 0.0, 0.0], atol=1e-5)
    np.testing.assert_allclose(end[:3, :3], begin[:3, :3], atol=1e-5)


def test_what_can_only_be_known_where_the_arm_is_is_refused_there(robot):
    far = values(trajectory='line', displacement=(2.0, 0.0, 0.0), tip_speed=1.0)
    check_motion(robot, far)
    with pytest.raises(TrajectoryError, match='joint'):
        make_motion(robot, far, POSE)
    # Where the pose is given, it is known at once.
    with pytest.raises(TrajectoryError, match='joint'):
        check_motion(robot, {**far, 'poses': tuple(POSE)})


@pytest.mark.parametrize(('changes', 'says'), [
    ({'trajectory': 'line', 'displacement': (1.0,)}, 'displacement'),
    ({'trajectory': 'line', 'displacement': (0.0, 0.0, 0.0)}, 'displacement'),
    ({'trajectory': 'line', 'link': 'hnad'}, 'link'),
    ({'trajectory': 'circle', 'normal': (0.0, 1.0, 0.0)}, 'perpendicular'),
    ({'trajectory': 'circle', 'centre': ()}, 'centre'),
    ({'trajectory': 'circle', 'poses': (1.0, 2.0)}, 'poses'),
    ({'trajectory': 'circle', 'poses': (*POSE, *POSE)}, 'poses'),
])
def test_wrong_parameters_are_refused_at_the_start(robot, changes, says):
    with pytest.raises(RobotDynamicsError, match=says):
        check_motion(robot, values(**changes))


def test_other_motions_are_checked_as_before(robot):
    check_motion(robot, values())
    with pytest.raises(ParameterError, match='poses'):
        check_motion(robot, values(trajectory='quintic', poses=(1.0,)))
