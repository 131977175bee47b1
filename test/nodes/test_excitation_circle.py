# SPDX-License-Identifier: Apache-2.0
"""From a wrong model to the right one and back to work, with every process as it runs."""

from __future__ import annotations

import numpy as np
import pytest
from std_msgs.msg import String

from robot_dynamics.control.motion.references import exciting_fourier
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.identification.dataset.dataset import load_dataset
from robot_dynamics.identification.excitation.design import (
    DesignSettings,
    design,
    resting_pose,
)
from robot_dynamics.identification.excitation.limits import MotionLimits
from robot_dynamics.identification.excitation.plan import ExcitationPlan
from robot_dynamics.identification.rigid import EstimateSettings, identify
from robot_dynamics.model.modify import with_scaled_masses
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import resolve_robot
from robot_dynamics.nodes.ros import qos

pytest.importorskip('mujoco', reason='the simulated arm needs MuJoCo')
pytestmark = pytest.mark.timeout(400)

ARM, RATE = 'rpr', 200.0
#: What each link weighs in the wrong description, as a share of what it does.
WRONG = (1.6, 0.4, 2.2)
#: On a machine with other work the arm is slow, not its controller late.
WAITS, FOLLOWS = ({'use_sim_time': True, 'wait_for_commands': 1.5},
                  {'use_sim_time': True, 'state_timeout': 2.0})
#: The simulated arm has torque sensors and stands upright.
KNOWN = EstimateSettings(friction='coulomb', armature=False, gravity='known', lag=0.0)


def described(path, robot: Robot):
    path.write_text(robot.to_urdf())
    return path


def short_plan(path, robot: Robot):
    start = resting_pose(robot)
    limits = MotionLimits.for_robot(robot, start, scale=0.7, acceleration=4.0)
    settings = DesignSettings(seconds=6.0, restarts=1, iterations=30)
    ExcitationPlan.of(robot, design(robot, start, limits, settings), settings).write(path)
    return path


def excite(start, robot, plan, recording) -> str:
    """Lead the simulated arm through a plan; return what went wrong."""
    controller = start('computed_torque_controller', robot=robot, rate=RATE,
                       max_tracking_error=2.0, **FOLLOWS)
    player = start('excitation', robot=robot, plan=plan, output=recording, approach=0.5,
                   max_deviation=2.0, patience=60.0, use_sim_time=True, state_timeout=3.0)
    ends = [player.wait(150.0), controller.stop(timeout=60.0)]
    return '' if all(status == 0 for status, _, _ in ends) else \
        ''.join(stderr for _, _, stderr in ends)


def tracks(start, observer, controller: str, robot) -> bool:
    """Whether a controller with a description of its own takes the simulated arm over."""
    modes = observer.collect(String, f'{controller}/mode', qos.latched())
    node = start(controller, robot=robot, rate=RATE, max_tracking_error=2.0, **FOLLOWS)
    found = observer.spin(90.0, lambda: bool(modes) and modes[-1].data == 'tracking')
    status, _, stderr = node.stop(timeout=60.0)
    assert status == 0, stderr
    return found


def test_a_wrong_arm_is_excited_identified_and_controlled(start, observer, tmp_path):
    right = Robot.from_urdf(resolve_robot(ARM))
    wrong = with_scaled_masses(right, dict(zip(right.body_names, WRONG, strict=True)))
    wrong_urdf = described(tmp_path / 'wrong.urdf', wrong)
    plan = short_plan(tmp_path / 'plan.yaml', wrong)
    recording = tmp_path / 'recording'
    start('simulated_arm', robot=ARM, rate=RATE, hold_time=0.9, rotors=[0.0], **WAITS)
    assert excite(start, wrong_urdf, plan, recording) == ''

    found = identify(load_dataset(recording, wrong), wrong, KNOWN)
    identified = found.identified_robot()
    motion = exciting_fourier(right, 11)
    q, v, a = motion.sample_many(np.linspace(2.0, 12.0, 1000))
    wanted, before, after = (Dynamics(robot).inverse_dynamics(q, v, a)
                             for robot in (right, wrong, identified))
    size = np.linalg.norm(wanted)
    left, was = (np.linalg.norm(tau - wanted) / size for tau in (after, before))
    assert left < 0.02, (left, was, found.verdict_reasons)
    assert was > 20.0 * left, (left, was)

    identified_urdf = described(tmp_path / 'identified.urdf', identified)
    for name in ('adaptive_controller', 'feedforward_lq_controller'):
        assert tracks(start, observer, name, identified_urdf), name
