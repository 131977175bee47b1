# SPDX-License-Identifier: Apache-2.0
"""Which joint leaves least of a change of momentum."""

from types import SimpleNamespace

import numpy as np
import pytest

from robot_dynamics.control.faults.fault_isolator import FaultIsolator
from robot_dynamics.control.faults.motion_predictor import (
    ACTING,
    CORRECTED,
    MEASURED,
    PREDICTED,
    MotionFilter,
)
from robot_dynamics.control.faults.tolerances import given_tolerances

PERIOD = 0.002
FILTER = MotionFilter(PERIOD)
INERTIA = np.array([[2.0, 0.8, 0.1], [0.8, 1.0, 0.2], [0.1, 0.2, 0.3]])


class Arm:
    """States of an arm that nothing but efforts and faults moves."""

    def __init__(self, inertia=INERTIA, coulomb=0.0):
        n = len(inertia)
        self.predictor = SimpleNamespace(
            filter=FILTER, velocity=np.zeros(n), inertia=inertia, motion=np.zeros((6, n)),
            friction=np.array([[0.0] * n, [coulomb] * n]), step=PERIOD)
        self.tolerances = given_tolerances(1e-3, FILTER, n)
        self.isolator = FaultIsolator(self.predictor)
        self.predicted, self.v, self.acting = np.zeros(n), np.zeros(n), np.zeros(n)

    def live(self, count, fault=0.0, effort=0.0):
        for _ in range(count):
            solved = np.linalg.solve(self.predictor.inertia, np.broadcast_to(effort, self.v.shape))
            # Between two states an effort counts by its mean.
            mean = 0.5 * (solved + self.acting)
            self.acting = solved
            self.predicted = self.predicted + PERIOD * mean
            self.v = self.v + PERIOD * (mean + np.linalg.solve(
                self.predictor.inertia, np.broadcast_to(fault, self.v.shape)))
            motion = self.predictor.motion
            motion[MEASURED], motion[CORRECTED], motion[ACTING] = self.v, self.v, effort
            motion[PREDICTED] = self.predicted
            self.isolator.remember()


@pytest.mark.parametrize('joint', [0, 1, 2])
def test_a_fault_leaves_nothing_at_its_joint(joint):
    arm = Arm()
    # So long that the ring has come round.
    arm.live(100, effort=[3.0, -1.0, 0.5])
    arm.live(3, 20.0 * np.eye(3)[joint], effort=[-3.0, 2.0, 0.5])
    arm.isolator.begin(3, arm.tolerances)
    for size in (-50.0, 0.0, 90.0):
        arm.live(1, size * np.eye(3)[joint], effort=[1.0, 1.0, size])
        arm.isolator.go_on(arm.tolerances)
    assert arm.isolator.joint == joint
    assert arm.isolator.left < 1e-9 and arm.isolator.share < 1e-9 and arm.isolator.lead > 1.0


def test_a_contact_leaves_much_at_every_joint():
    arm = Arm()
    arm.live(50)
    arm.live(4, [8.0, 6.0, 4.0])
    arm.isolator.begin(4, arm.tolerances)
    assert arm.isolator.left > 10.0 and arm.isolator.share > 0.1


def test_friction_of_a_light_joint_does_not_hide_its_own_fault():
    light = np.diag([2.0, 1.0, 0.01])
    arm = Arm(light, coulomb=0.5)
    arm.live(50)
    arm.live(4, [0.0, 0.0, 0.2])
    arm.isolator.begin(4, arm.tolerances)
    assert arm.isolator.joint == 2 and arm.isolator.lead > 1.0


def test_it_looks_back_no_further_than_it_has_seen():
    arm = Arm()
    arm.live(3, [0.0, 20.0, 0.0])
    arm.isolator.begin(30, arm.tolerances)
    assert arm.isolator.joint == 1
    # After a gap what was weighed stays.
    left, lead = arm.isolator.left, arm.isolator.lead
    arm.isolator.reset()
    arm.live(5, [80.0, 0.0, 0.0])
    arm.isolator.go_on(arm.tolerances)
    assert (arm.isolator.left, arm.isolator.lead) == (left, lead)
    # With one state alone there is nothing to weigh.
    arm = Arm()
    arm.live(1)
    arm.isolator.begin(2, arm.tolerances)
    assert arm.isolator.left == 0.0


def test_an_arm_that_is_thrown_about_tells_nothing_more():
    arm = Arm()
    arm.live(50)
    arm.live(4, [0.0, 20.0, 0.0])
    arm.isolator.begin(4, arm.tolerances)
    left, lead = arm.isolator.left, arm.isolator.lead
    # Two milliseconds at 26 rad/s are beyond what a state can turn, and so is all that follows.
    arm.v[2] = 26.0
    for _ in range(2):
        arm.live(1, [9.0, 0.0, 9.0])
        arm.isolator.go_on(arm.tolerances)
        arm.v[2] = 0.0
    assert (arm.isolator.joint, arm.isolator.left, arm.isolator.lead) == (1, left, lead)


def test_a_robot_of_one_joint_has_no_second():
    arm = Arm(np.ones((1, 1)))
    arm.live(20)
    arm.live(3, [5.0])
    arm.isolator.begin(3, arm.tolerances)
    assert arm.isolator.joint == 0 and arm.isolator.left < 1e-9 and arm.isolator.lead == np.inf


def test_what_is_no_number_is_not_weighed():
    arm = Arm()
    arm.live(20)
    arm.live(3, [0.0, 20.0, 0.0])
    arm.isolator.begin(3, arm.tolerances)
    arm.live(1, [np.nan, 0.0, 0.0])
    arm.isolator.go_on(arm.tolerances)
    assert arm.isolator.joint == 1 and np.isfinite(arm.isolator.left)
