# SPDX-License-Identifier: Apache-2.0
"""Every controller with its defaults on the arms that others describe."""

from __future__ import annotations

import re
import sysconfig
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from robot_dynamics.control.feedback.drives import with_rotors
from robot_dynamics.control.feedback.gains import AdaptationGains
from robot_dynamics.control.laws.feedforward_lq import FeedforwardLQController
from robot_dynamics.control.laws.guiding import GuidingController
from robot_dynamics.control.laws.model_based import ComputedTorqueController, PDGravityController
from robot_dynamics.control.laws.slotine_li import AdaptiveController
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.model.robot import Robot

DESCRIPTIONS = Path(sysconfig.get_path('purelib'),
                    'cmeel.prefix/share/example-robot-data/robots')
#: URDF of each arm, and the names of its joints where the robot has more.
ARMS = (
    ('asr_twodof_description/urdf/TwoDofs.urdf', ''),
    ('baxter_description/urdf/baxter.urdf', 'left_[sew]'),
    ('double_pendulum_description/urdf/double_pendulum.urdf', ''),
    ('kinova_description/robots/kinova.urdf', ''),
    ('panda_description/urdf/panda.urdf', ''),
    ('so_arm_description/urdf/so100.urdf', ''),
    ('so_arm_description/urdf/so101.urdf', ''),
    ('tiago_description/robots/tiago.urdf', 'arm_[0-9]'),
    ('tiago_pro_description/robots/tiago_pro.urdf', 'arm_left_[0-9]'),
    ('ur_description/urdf/ur3_robot.urdf', ''),
    ('ur_description/urdf/ur3_gripper.urdf', ''),
    ('ur_description/urdf/ur5_robot.urdf', ''),
    ('ur_description/urdf/ur5_gripper.urdf', ''),
    ('ur_description/urdf/ur10_robot.urdf', ''),
    ('xarm_description/urdf/xarm7.urdf', ''),
    ('z1_description/urdf/z1.urdf', ''),
)
LAWS: dict[str, Callable[..., Any]] = {
    'adaptive': lambda robot, **timing: AdaptiveController(robot, adaptation=AdaptationGains(
        terms=('viscous', 'coulomb', 'armature')), **timing),
    'computed_torque': ComputedTorqueController,
    'feedforward_lq': FeedforwardLQController,
    'gravity': GuidingController,
    'pd_gravity': PDGravityController,
}


@pytest.mark.slow
@pytest.mark.skipif(not DESCRIPTIONS.is_dir(), reason='example-robot-data is not installed')
@pytest.mark.parametrize('law', LAWS)
@pytest.mark.parametrize(('description', 'joints'), ARMS)
def test_every_controller_starts_with_its_defaults(description, joints, law):
    text = re.sub(r'<mimic\s[^>]*>', '', (DESCRIPTIONS / description).read_text())
    robot = Robot.from_urdf(text)
    if joints:
        robot = Robot.from_urdf(text, joints=[
            name for name in robot.joint_names if re.match(joints, name)])
    robot = with_rotors(robot)
    controller = LAWS[law](robot, period=0.002, delay=0.002)
    q = np.clip(np.zeros(robot.n), robot.limits.lower, robot.limits.upper)
    rest = np.zeros(robot.n)
    np.testing.assert_allclose(controller.holding_effort(q, rest, q),
                               Dynamics(robot).gravity_torque(q), atol=1e-9)
