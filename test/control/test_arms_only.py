# SPDX-License-Identifier: Apache-2.0
"""Controllers are for arms: what floats is refused in one line that says what to do."""

import pytest

from robot_dynamics.control.laws.model_based import PDGravityController
from robot_dynamics.control.laws.slotine_li import AdaptiveController
from robot_dynamics.control.motion.references import exciting_fourier
from robot_dynamics.control.motion.trajectory import TrajectoryBuffer
from robot_dynamics.control.session.session import ControlSession, SessionSettings
from robot_dynamics.control.states.joint_state import JointStateMonitor
from robot_dynamics.errors import ModelError
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import shipped_robots


@pytest.fixture(scope='module')
def floating():
    return Robot.from_urdf(shipped_robots()['arm7'], floating_base=True)


@pytest.mark.parametrize('use', [
    AdaptiveController, PDGravityController, JointStateMonitor.for_robot,
    TrajectoryBuffer.for_robot, lambda robot: exciting_fourier(robot, 0),
    lambda robot: ControlSession(robot, None, SessionSettings(period=0.01))])
def test_a_robot_that_floats_is_refused(floating, use):
    with pytest.raises(ModelError) as caught:
        use(floating)
    assert caught.value.subject == 'floating_base'
    assert 'is floating' in caught.value.message
    assert "locked={'floating_base': 0}" in caught.value.remedy
    assert '\n' not in str(caught.value)


def test_held_it_is_an_arm():
    held = Robot.from_urdf(shipped_robots()['arm7'], floating_base=True,
                           locked={'floating_base': 0})
    assert len(AdaptiveController(held).estimate) == len(
        AdaptiveController(Robot.from_urdf(shipped_robots()['arm7'])).estimate)
