# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 (rclpy) is not installed')

from robot_dynamics.control.laws.model_based import PDGravityController
from robot_dynamics.control.session.safe_command import StatesLost
from robot_dynamics.model.robot import Robot
from robot_dynamics.nodes.controller.parameters import CONTROLLER_PARAMETERS, make_session


@pytest.fixture
def make():
    robot = Robot.from_urdf('arm7')

    def session(**changed):
        values = {row.name: row.default for row in CONTROLLER_PARAMETERS} | changed
        return make_session(robot, PDGravityController(robot), values)

    return session


def test_the_share_of_the_limits_applies_where_no_limit_is_given(make):
    own = Robot.from_urdf('arm7').limits.effort
    np.testing.assert_array_equal(make().limiter.limit, own)
    np.testing.assert_allclose(make(effort_limit_share=0.7).limiter.limit, 0.7 * own)
    given = make(effort_limit_share=0.7, effort_limit=(5.0,))
    np.testing.assert_array_equal(given.limiter.limit, np.full(7, 5.0))


@pytest.mark.parametrize('kind', StatesLost)
def test_what_an_arm_without_states_is_left_with(make, kind):
    assert make(states_lost=kind.value).settings.states_lost is kind
