# SPDX-License-Identifier: Apache-2.0
"""Fault detection of an arm with an unknown payload, under adaptive control."""

import numpy as np
import pytest

from robot_dynamics.control.faults.fault_detector import Event, FaultDetector
from robot_dynamics.control.faults.load_estimator import LoadEstimator
from robot_dynamics.control.faults.motion_predictor import MotionFilter, MotionPredictor
from robot_dynamics.control.faults.residuals import MomentumObserver
from robot_dynamics.control.faults.tolerances import default_tolerances, given_tolerances
from robot_dynamics.control.laws.slotine_li import AdaptiveController
from robot_dynamics.control.motion.references import exciting_fourier
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.model.modify import with_payload, with_scaled_masses
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import resolve_robot
from robot_dynamics.simulation.faults import Fault, FaultKind

pytest.importorskip('mujoco')
from robot_dynamics.simulation.faults import FaultyPlant

PERIOD, STEP = 0.002, 0.0005


def watch(seconds, steps_of=lambda: 4, *, fault=None, masses=0.77, com=(0.0, 0.0, 0.15),
          picked_up=0.0, share_of_limits=None):
    """Lead an arm along a motion; return the events with times and joints, and the largest share.

    It carries 2 kg with a centre from a time on. Thresholds are a share of the effort limits, or
    the default ones.
    """
    robot = Robot.from_urdf(resolve_robot('arm7'))
    empty = with_scaled_masses(robot, masses)
    laden = with_payload(empty, 2.0, com)
    plant = FaultyPlant(empty if picked_up else laden, timestep=STEP)
    motion = exciting_fourier(robot, 0)
    q_d, v_d, _ = motion.sample(0.0)
    plant.reset(q_d, v_d)
    if fault is not None:
        plant.add_fault(fault)
    law, motion_filter = AdaptiveController(robot), MotionFilter(PERIOD)
    law.reset(q_d, v_d)
    observer = MomentumObserver(robot, Dynamics(robot))
    predictor = MotionPredictor(robot, motion_filter)
    load = LoadEstimator(observer, predictor)
    tolerances = default_tolerances(robot, motion_filter) if share_of_limits is None \
        else given_tolerances(share_of_limits * robot.limits.effort, motion_filter, robot.n)
    detector = FaultDetector(predictor, tolerances, load)
    share, events, t, dt = 0.0, [], 0.0, 0.0
    while t < seconds:
        if picked_up and t >= picked_up:
            state, effort, picked_up = (plant.q, plant.v), plant.effort, 0.0
            plant = FaultyPlant(laden, timestep=STEP)
            plant.reset(*state)
            plant.set_effort(effort)
        q, v, effort = plant.q, plant.v, plant.effort
        known = -1.0 if dt > 2.5 * PERIOD else dt
        observer.update(q, v, effort, known)
        counts = predictor.update(observer.matrices, q, v, effort, known)
        load.update(q, v, dt)
        events.append((t, detector.update(t, counts=counts), detector.joint))
        share = max(share, detector.excess.max())
        effort = law.update(q, v, *motion.sample(t), dt, adapt=True)
        plant.set_effort(np.clip(effort, -robot.limits.effort, robot.limits.effort))
        steps = steps_of()
        plant.advance(steps=steps)
        dt = steps * STEP
        t += dt
    return events, share


@pytest.mark.parametrize('is_regular', [True, False])
def test_an_unknown_payload_and_wrong_masses_raise_no_alarm(is_regular):
    random = np.random.default_rng(3)

    def steps_of():
        # As from a machine that is busy: half a millisecond to six apart.
        return 4 if is_regular else int(random.integers(1, 13))

    events, share = watch(15.0, steps_of)
    assert {event for _, event, _ in events} == {Event.NOTHING}
    assert 0.1 < share < 0.85


@pytest.mark.parametrize('com', [(0.0, 0.0, 0.15), (0.1, 0.05, 0.15)])
def test_small_thresholds_follow_an_unknown_payload(com):
    events, share = watch(6.0, masses=1.0, com=com, share_of_limits=0.15)
    assert {event for t, event, _ in events if t > 0.5} == {Event.NOTHING}
    assert share > 0.1
    assert Event.FAULT not in {event for _, event, _ in events}


def test_a_payload_picked_up_is_never_a_fault_and_ends_as_an_event():
    events, _ = watch(8.0, masses=1.0, picked_up=3.0, share_of_limits=0.06)
    seen = {event for _, event, _ in events}
    assert Event.FAULT not in seen and seen & {Event.UNDECIDED, Event.CONTACT}
    assert {event for t, event, _ in events if t < 3.0 or t > 5.0} == {Event.NOTHING}


@pytest.mark.slow
def test_a_block_is_found_all_the_same():
    events, _ = watch(5.0, lambda: 4, fault=Fault('joint2', FaultKind.BLOCK, size=1e3, begin=4.0))
    found = [(t, joint) for t, event, joint in events if event is Event.FAULT]
    assert found and 4.0 <= found[0][0] < 4.2 and found[0][1] == 1
