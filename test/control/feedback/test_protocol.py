# SPDX-License-Identifier: Apache-2.0
"""An arm whose hardware adds gravity by itself, as a Franka does."""

import numpy as np
import pytest

from robot_dynamics.control.feedback.protocol import HardwareGravityController
from robot_dynamics.control.laws.slotine_li import AdaptiveController
from robot_dynamics.control.motion.trajectory_points import TrajectoryPoint
from robot_dynamics.control.session.limits import RAMP_TIME, EffortLimiter
from robot_dynamics.control.session.modes import Mode
from robot_dynamics.control.session.safe_command import SafeKind
from robot_dynamics.control.session.session import ControlSession, SessionSettings
from robot_dynamics.control.session.start_gate import StartGate
from robot_dynamics.control.states.reported_effort import EffortKind, ReportedEffort
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.model.modify import with_payload, with_scaled_masses
from test.control.session.trusting_supervisor import TrustingSupervisor

JOINTS = ['shoulder', 'elbow', 'wrist']

POSE = np.array([0.1, 0.2, 0.0])

MOVING = np.array([0.5, -0.3, 0.2])

PERIOD = 0.002


class Rig:
    """A session whose arm gets what is sent and the gravity of the hardware on top."""

    def __init__(self, robot, controller, *, limit=None, kind=EffortKind.TORQUE, **options):
        self.gravity = Dynamics(robot).gravity_torque
        self.limiter = EffortLimiter.for_robot(robot, limit)
        self.law = HardwareGravityController(controller, self.gravity,
                                             self.limiter.hardware_gravity)
        reported = ReportedEffort(kind, None, self.gravity, hardware_gravity=True)
        gate = StartGate(self.limiter.limit, samples=5, settle_time=0.05,
                         compare_effort=reported.comparable, as_sent=reported.as_sent)
        self.session = ControlSession(robot, self.law, SessionSettings(period=PERIOD, **options),
                                      limiter=self.limiter, gate=gate,
                                      supervisor=TrustingSupervisor(robot))
        self.hardware_gravity = self.gravity
        self.now = 10.0
        self.sent = np.zeros(3)

    def effort(self, q):
        """Return what a torque sensor in the joints reads."""
        return self.sent + self.hardware_gravity(q)

    def state(self, q=POSE, v=(0.0, 0.0, 0.0)):
        self.now += PERIOD
        command = self.session.on_joint_state(self.now, self.now, JOINTS, q, v, self.effort(q))
        if command is not None:
            self.sent = command.effort.copy()
        return command

    def track(self):
        for _ in range(100):
            self.state()
            if self.session.mode is Mode.TRACKING:
                # Until efforts may change at once.
                for _ in range(round(2.0 * RAMP_TIME / PERIOD)):
                    self.state()
                return self
        raise AssertionError(self.session.reason)


@pytest.fixture
def gravity(arm3):
    return Dynamics(arm3).gravity_torque


@pytest.fixture
def law(pd_controller, gravity):
    """A law whose every effort is gravity of the model and something easy."""
    pd_controller.gravity = gravity(POSE)
    return pd_controller


def test_what_is_sent_and_the_gravity_added_are_what_the_law_wants(law, gravity):
    carried = np.zeros(3)
    controller = HardwareGravityController(law, gravity, carried)
    q_d, v_d = POSE + 0.1, MOVING
    still = np.zeros(3)
    for sent, wanted in (
            (controller.update(POSE, still, q_d, v_d, still, PERIOD, adapt=True).copy(),
             law.gravity + 10.0 + 10.0 * MOVING),
            (controller.holding_effort(POSE, MOVING, POSE).copy(), law.gravity - 10.0 * MOVING),
            (controller.safe_effort(POSE, MOVING).copy(), law.gravity - 10.0 * MOVING)):
        np.testing.assert_allclose(sent + gravity(POSE), wanted, atol=1e-12)
        np.testing.assert_array_equal(carried, gravity(POSE))
    assert np.abs(gravity(POSE)).max() > 10.0


def test_the_law_hears_of_joint_efforts(law, gravity):
    controller = HardwareGravityController(law, gravity, np.zeros(3))
    controller.safe_effort(POSE, np.zeros(3))
    controller.note_applied(np.array([1.0, 2.0, 3.0]))
    np.testing.assert_allclose(law.applied, gravity(POSE) + [1.0, 2.0, 3.0])
    controller.reset(POSE, MOVING)
    np.testing.assert_array_equal(law.resets[0], (POSE, MOVING))


def test_at_rest_nothing_is_sent(arm3, law):
    rig = Rig(arm3, law).track()
    np.testing.assert_allclose(rig.sent, 0.0, atol=1e-9)
    # Tracking needs what the joint has to do beyond its weight, and only that.
    rig.state(POSE - 0.01)
    np.testing.assert_allclose(rig.sent, 100.0 * 0.01 + rig.law.controller.gravity
                               - rig.gravity(POSE - 0.01), atol=1e-9)


@pytest.mark.parametrize('kind', SafeKind)
def test_the_safe_command_is_damping_while_states_come_and_nothing_after(arm3, law, kind):
    rig = Rig(arm3, law, safe_kind=kind).track()
    law.answer = RuntimeError('no')
    command = rig.state(POSE, MOVING)
    assert command.is_safe
    np.testing.assert_allclose(command.effort, 0.0 if kind is SafeKind.ZERO
                               else -law.kd * MOVING, atol=1e-9)
    np.testing.assert_allclose(rig.session.stop('end').effort, 0.0, atol=1e-9)


def test_a_law_that_fails_leaves_the_arm_to_its_hardware(arm3, law):
    rig = Rig(arm3, law).track()
    law.answer = law.safe_answer = RuntimeError('no')
    command = rig.state(POSE, MOVING)
    assert command.is_safe
    np.testing.assert_allclose(command.effort, 0.0, atol=1e-9)


def test_the_gate_compares_what_was_sent_with_reported_joint_efforts(arm3, law):
    rig = Rig(arm3, law)
    rig.state()
    # It hangs 1 cm lower now, so that something is sent which can be recognised.
    for _ in range(100):
        rig.sent[:] = 0.0  # deaf: only the hardware's own gravity
        rig.state(POSE - 0.018)
    assert rig.session.mode is Mode.HOLDING
    assert 'not the one commanded' in rig.session.reason
    for _ in range(6):
        rig.state(POSE - 0.018)
    assert rig.session.mode is Mode.TRACKING


@pytest.mark.parametrize('push', [100.0, -100.0])
def test_neither_the_effort_sent_nor_that_of_the_joint_is_beyond_the_limit(arm3, law, push):
    limit = 25.0
    rig = Rig(arm3, law, limit=[limit, limit, 8.0]).track()
    carried = rig.gravity(POSE)
    assert np.abs(carried).max() < limit
    law.answer = [push] * 3
    rig.state()
    assert (np.abs(rig.sent) <= rig.limiter.limit).all()
    assert (np.abs(rig.sent + carried) <= rig.limiter.limit + 1e-12).all()
    # And as much as that is used: one of the two is at the limit.
    closest = np.maximum(np.abs(rig.sent), np.abs(rig.sent + carried))
    np.testing.assert_allclose(closest, rig.limiter.limit)
    assert rig.limiter.saturated.all()
    rig.state()
    assert not rig.session.adapted


def test_gravity_that_is_no_number_sends_nothing_and_keeps_the_limits(arm3, law):
    rig = Rig(arm3, law).track()
    before = rig.limiter.hardware_gravity.copy()
    rig.law._gravity = lambda q: np.full(3, np.nan)
    command = rig.state()
    assert command.is_safe
    np.testing.assert_allclose(command.effort, 0.0, atol=1e-9)
    np.testing.assert_array_equal(rig.limiter.hardware_gravity, before)


@pytest.mark.slow
@pytest.mark.parametrize('hardware', ['model', 'real'])
def test_an_adaptive_arm_is_tracked_whatever_the_hardware_thinks_of_its_weight(arm3, hardware):
    """It carries the gravity of the model, or that of the real arm with its load.

    In the latter case its efforts cannot be compared with ours.
    """
    pytest.importorskip('mujoco')
    from robot_dynamics.simulation.plant import Plant
    real = with_payload(with_scaled_masses(arm3, 0.8), 0.3, (0.05, 0.0, 0.0))
    plant = Plant(real)
    plant.reset(POSE)
    rig = Rig(arm3, AdaptiveController(arm3, period=PERIOD),
              kind=EffortKind.NONE if hardware == 'real' else EffortKind.TORQUE)
    rig.hardware_gravity = Dynamics(real if hardware == 'real' else arm3).gravity_torque
    errors = []
    began = None
    for _ in range(6000):
        rig.state(plant.q, plant.v)
        plant.set_effort(rig.effort(plant.q))
        plant.advance(PERIOD)
        if rig.session.mode is Mode.TRACKING:
            if began is None:
                began = rig.now
                times = np.arange(0.1, 11.0, 0.04)
                wave = 0.4 * (1.0 - np.cos(2.0 * times))
                speed, push = 0.8 * np.sin(2.0 * times), 1.6 * np.cos(2.0 * times)
                rig.session.accept_trajectory(
                    JOINTS, [TrajectoryPoint(t, POSE + w, [s] * 3, [p] * 3) for t, w, s, p
                             in zip(times, wave, speed, push, strict=True)], stamp=began)
            errors.append(np.abs(rig.session.q_d - plant.q).max())
    assert began is not None, rig.session.reason
    assert rig.session.counts['safe_entries'] == 0, rig.session.reason
    assert max(errors) < 0.1
    assert max(errors[-1500:]) < 0.012
