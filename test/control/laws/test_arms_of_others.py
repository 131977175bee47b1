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

from benchmark.closed_loop import run_closed_loop
from robot_dynamics.control.feedback.drives import with_rotors
from robot_dynamics.control.feedback.gains import AdaptationGains
from robot_dynamics.control.laws.cartesian_impedance import CartesianImpedanceController
from robot_dynamics.control.laws.feedforward_lq import FeedforwardLQController
from robot_dynamics.control.laws.guiding import GuidingController
from robot_dynamics.control.laws.model_based import ComputedTorqueController, PDGravityController
from robot_dynamics.control.laws.slotine_li import AdaptiveController
from robot_dynamics.control.motion.references import exciting_fourier
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.model.modify import with_scaled_masses
from robot_dynamics.model.robot import Robot
from robot_dynamics.simulation.plant import Plant

DESCRIPTIONS = Path(sysconfig.get_path('purelib'),
                    'cmeel.prefix/share/example-robot-data/robots')
#: URDF of each arm, and the names of its joints where the robot has more.
ARMS = (
    ('asr_twodof_description/urdf/TwoDofs.urdf', ''),
    ('baxter_description/urdf/baxter.urdf', 'left_[sew]'),
    ('double_pendulum_description/urdf/double_pendulum.urdf', ''),
    ('kinova_description/robots/kinova.urdf', ''),
    ('panda_description/urdf/panda.urdf', ''),
    ('pr2_description/urdf/pr2.urdf', 'r_(shoulder|upper_arm|elbow|forearm|wrist)_.*_joint'),
    ('so_arm_description/urdf/so100.urdf', ''),
    ('so_arm_description/urdf/so101.urdf', ''),
    ('talos_data/robots/talos_left_arm.urdf', ''),
    ('tiago_description/robots/tiago.urdf', 'arm_[0-9]'),
    ('tiago_description/robots/tiago_dual.urdf', 'arm_right_[0-9]'),
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
    'cartesian_impedance': CartesianImpedanceController,
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


@pytest.mark.slow
@pytest.mark.skipif(not DESCRIPTIONS.is_dir(), reason='example-robot-data is not installed')
def test_two_arms_are_learnt_beside_a_head_with_placeholders_for_limits():
    """Baxter: its head has 50,000 N m and 10,000 rad/s."""
    text = re.sub(r'<mimic\s[^>]*>', '', (DESCRIPTIONS / ARMS[1][0]).read_text())
    robot = Robot.from_urdf(text, joints=[
        name for name in Robot.from_urdf(text).joint_names
        if re.match('(left|right)_[sew]|head_pan', name)])
    model = with_rotors(robot)
    assert model.n == 15
    assert model.armature[0] == 0.0
    controller = LAWS['adaptive'](model, period=0.002, delay=0.001)
    plant = Plant(with_rotors(with_scaled_masses(robot, 1.0 / 1.3)))
    plant.reset(exciting_fourier(robot, 0).start)
    record = run_closed_loop(controller, plant,
                             lambda q: exciting_fourier(robot, 0, start=q), 8.0)
    untaught = PDGravityController(model, period=0.002, delay=0.001)
    plant.reset(exciting_fourier(robot, 0).start)
    baseline = run_closed_loop(untaught, plant,
                               lambda q: exciting_fourier(robot, 0, start=q), 8.0)
    assert baseline.saturated == record.saturated == 0
    assert record.rms(4.0, 8.0) < baseline.rms(4.0, 8.0) / 20.0
