# SPDX-License-Identifier: Apache-2.0
"""One controller takes an arm over from another, in motion, with a payload that no model has."""

from __future__ import annotations

import math

import numpy as np
import pytest

from benchmark.fault_parts.arm import StandIn
from robot_dynamics import Robot
from robot_dynamics.control import (
    AdaptiveController,
    ComputedTorqueController,
    ControlSession,
    FeedforwardLQController,
    PDGravityController,
    SessionSettings,
)
from robot_dynamics.control.motion.trajectory_points import TrajectoryPoint
from robot_dynamics.control.session.limits import RAMP_TIME
from robot_dynamics.control.session.modes import Mode
from robot_dynamics.model.modify import with_payload

PERIOD, OMEGA = 0.002, 2.0 * math.pi * 0.4
POSE = np.array([0.0, 0.4, 0.0, -1.5, 0.0, 1.6, 0.0])
#: Largest speed of the reference over the speed limits.
SHARE = 0.28


class LoadedArm:
    """The 7-joint arm with friction and 2 kg at its flange; records what it is sent."""

    def __init__(self, model):
        self.model = model
        self.arm = StandIn(with_payload(model, 2.0, (0.02, 0.0, 0.18), frame='flange'), 'flange',
                           POSE)
        self.now, self.efforts, self.speeds = 1.0, [], []

    def session(self, law):
        return ControlSession(self.model, law(self.model, period=PERIOD),
                              SessionSettings(period=PERIOD))

    def answer(self, session, seconds):
        """Let a session control it for some time."""
        for _ in range(round(seconds / PERIOD)):
            known = self.efforts[-1] if self.efforts else ()
            command = session.on_joint_state(self.now, self.now, self.model.joint_names,
                                             self.arm.q, self.arm.v, known)
            self.apply(command.effort)

    def apply(self, effort):
        """Apply an effort for a period."""
        self.efforts.append(effort.copy())
        self.arm.advance(PERIOD, effort, np.zeros(self.model.n, dtype=bool))
        self.speeds.append(np.max(np.abs(self.arm.v) / self.model.limits.velocity))
        self.now += PERIOD

    def follow(self, session, seconds):
        """Follow cosines with a reference that begins at rest."""
        assert session.mode is Mode.TRACKING, session.reason
        size = SHARE * self.model.limits.velocity / OMEGA
        q = session.q_d.copy()
        session.accept_trajectory(self.model.joint_names, [
            TrajectoryPoint(t, q + size * (1.0 - math.cos(OMEGA * t)),
                            size * OMEGA * math.sin(OMEGA * t),
                            size * OMEGA**2 * math.cos(OMEGA * t))
            for t in np.arange(0.0, seconds + 1.0, 0.02)])
        self.answer(session, seconds)
        assert session.mode is Mode.TRACKING, session.reason

    def hand_over(self, old, new):
        """What the nodes do while one follows the other."""
        while (command := old.wind_down(PERIOD)) is not None:
            self.apply(command.effort)
        last = old.stop('deactivated').effort
        for _ in range(10):
            self.apply(last)
        new.stop('not activated yet')
        new.reactivate()
        new.take_over(last.copy())


@pytest.mark.slow
@pytest.mark.parametrize('law', [FeedforwardLQController, PDGravityController,
                                 ComputedTorqueController, AdaptiveController])
def test_torque_is_continuous_in_motion_with_an_unknown_payload(law):
    model = Robot.from_urdf('arm7')
    arm = LoadedArm(model)
    old, new = arm.session(AdaptiveController), arm.session(law)
    arm.answer(old, 2.0)
    # Two periods in which it learns the payload, and to the largest speed.
    arm.follow(old, 2.25 / 0.4)
    begin, speed = len(arm.efforts), arm.speeds[-1]
    assert speed > 0.9 * SHARE
    arm.hand_over(old, new)
    arm.answer(new, PERIOD)
    # It misses some states, as a node may that has just been activated.
    for _ in range(2):
        arm.apply(arm.efforts[-1])
    arm.answer(new, 2.0)
    assert new.mode is Mode.TRACKING, new.reason
    steps = np.abs(np.diff(arm.efforts[begin - 1:], axis=0)) / model.limits.effort
    assert steps.max() <= PERIOD / RAMP_TIME + 1e-9
    # The wrist swings on with the payload while the arm brakes, but not beyond its speed limit.
    assert max(arm.speeds[begin:]) < 1.0
    assert arm.speeds[-1] < 0.01
