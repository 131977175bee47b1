# SPDX-License-Identifier: Apache-2.0
"""Alarms and decisions on innovations made by hand."""

from types import SimpleNamespace

import numpy as np
import pytest

from robot_dynamics.control.faults.fault_detector import Event, FaultDetector
from robot_dynamics.control.faults.motion_predictor import (
    CORRECTED,
    MEASURED,
    PREDICTED,
    MotionFilter,
)
from robot_dynamics.control.faults.tolerances import given_tolerances
from robot_dynamics.errors import ParameterError

PERIOD = 0.002
FILTER = MotionFilter(PERIOD)
#: Joints whose axes are near each other's: an effort of one nearly only accelerates both apart.
COUPLED = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.0], [0.0, 0.0, 0.5]])
#: Ten standard deviations of velocity noise of one state.
SLIP = 0.05


class Bench:
    """A detector of three joints, with 0.6 N m beside noise as too much, and time."""

    def __init__(self, thresholds=0.6, inertia=COUPLED, coulomb=0.0, speed=0.5, load=None,
                 **options):
        self.predictor = SimpleNamespace(
            filter=FILTER, innovation=np.zeros((2, 3)), velocity=np.full(3, 0.5), inertia=inertia,
            friction=np.array([[0.0] * 3, [coulomb] * 3]), motion=np.zeros((6, 3)), step=PERIOD,
            position=np.zeros(3), position_limits=np.array([[-1.0] * 3, [1.0] * 3]))
        self.detector = FaultDetector(self.predictor, given_tolerances(thresholds, FILTER, 3),
                                      load, **options)
        self.now = 0.0
        self.error, self.moved = np.zeros((2, 3)), np.zeros(3)
        self.speed = self.predictor.motion[:3] = speed

    def feed(self, effort, count=1, noise=0.0, random=None):
        """Let an effort that nobody commanded act, and return what is said of each state."""
        acceleration = np.linalg.solve(self.predictor.inertia, np.asarray(effort, dtype=float))
        transition, events = np.array([[1.0, PERIOD], [0.0, 1.0]]), []
        kick = np.array([0.5 * PERIOD**2, PERIOD])[:, None] * acceleration
        for _ in range(count):
            before = transition @ self.error + kick
            innovation = before.copy()
            if noise:
                innovation[1] += random.normal(scale=noise, size=3)
            self.error = before - FILTER.gains[-1] @ innovation
            self.moved += PERIOD * acceleration
            measured = self.speed + self.moved + innovation[1] - before[1]
            self.predictor.motion[MEASURED] = measured
            self.predictor.motion[PREDICTED] = measured - innovation[1]
            self.predictor.motion[CORRECTED] = self.speed + self.moved - self.error[1]
            self.predictor.innovation[:] = innovation
            events.append(self.say())
        return events

    def say(self, counts=True):
        self.now += PERIOD
        return self.detector.update(self.now, counts=counts)

    def slip(self, joint, size=SLIP):
        self.predictor.innovation[:] = 0.0
        self.predictor.innovation[1, joint] = size
        return self.say()


def test_noise_and_small_efforts_are_no_alarm():
    bench, random = Bench(), np.random.default_rng(0)
    assert set(bench.feed([0.1, 0.0, 0.0], 2000, 0.004, random)) == {Event.NOTHING}
    assert 0.0 < bench.detector.excess.max() < 1.0


@pytest.mark.parametrize('joint', [0, 1, 2])
def test_a_fault_is_found_at_its_joint_though_another_is_near(joint):
    bench, random = Bench(), np.random.default_rng(joint)
    bench.feed(np.zeros(3), 100, 0.004, random)
    events = bench.feed(6.0 * np.eye(3)[joint], 40, 0.004, random)
    found = events.index(Event.UNDECIDED)
    assert found < 12
    assert events[found:].count(Event.UNDECIDED) >= 5 and events[-1] is Event.FAULT
    assert bench.detector.joint == joint


def test_what_no_joint_explains_alone_is_a_contact():
    bench = Bench()
    events = bench.feed([6.0, 6.0, 3.0], 60)
    assert events[-1] is Event.CONTACT
    # What is small beside the first is what a model error lets through.
    bench = Bench()
    assert bench.feed([0.0, 0.0, 9.0 + 0.1], 60)[-1] is Event.FAULT


@pytest.mark.parametrize(('position', 'effort', 'wanted'), [
    (0.99, -6.0, Event.STOP), (-0.99, 6.0, Event.STOP), (0.99, 6.0, Event.FAULT),
    (0.9, -6.0, Event.FAULT)])
def test_a_joint_pushed_back_from_its_limit_is_at_its_stop(position, effort, wanted):
    bench = Bench()
    bench.predictor.position[2] = position
    assert bench.feed([0.0, 0.0, effort], 60)[-1] is wanted
    assert bench.detector.joint == 2


def test_what_a_payload_explains_is_undecided_until_it_is_used():
    # A payload is an effort of the second joint alone, up to some tens of N m.
    load = SimpleNamespace(spread=np.zeros((3, 4)), mass=0.0)
    load.spread[1, 0] = 30.0
    bench = Bench(load=load)
    assert set(bench.feed([0.0, 6.0, 0.0], 300)[50:]) == {Event.UNDECIDED}
    # The model with the payload explains the motion.
    assert bench.feed(np.zeros(3), 300)[-1] is Event.NOTHING and bench.detector.joint == -1
    # A payload that is never used was none.
    events = bench.feed([0.0, 6.0, 0.0], 1000)
    found = events.index(Event.UNDECIDED)
    assert events.index(Event.FAULT) - found == pytest.approx(1.5 / PERIOD, abs=1)
    # The third joint does not carry it.
    bench = Bench(load=load)
    events = bench.feed([0.0, 0.0, 6.0], 60)
    assert events.index(Event.FAULT) - events.index(Event.UNDECIDED) <= 15


def test_friction_of_joints_that_are_thrown_off_is_no_contact():
    # The first joint throws the second off, whose friction is not what was predicted then.
    near = np.array([[1.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 0.5]])
    arm = {'thresholds': 0.02, 'inertia': near, 'speed': 0.0}
    assert Bench(**arm).feed([4.0, 1.5, 0.0], 60)[-1] is Event.CONTACT
    bench = Bench(**arm, coulomb=3.0)
    assert bench.feed([4.0, 1.5, 0.0], 60)[-1] is Event.FAULT and bench.detector.joint == 0
    # Nothing throws the third off; and friction of a fast joint is what it was.
    assert Bench(**arm, coulomb=3.0).feed([4.0, 0.0, 2.5], 60)[-1] is Event.CONTACT
    arm['speed'] = 0.5
    assert Bench(**arm, coulomb=3.0).feed([4.0, 1.5, 0.0], 60)[-1] is Event.CONTACT


def test_a_fault_that_changes_is_one_fault():
    bench, random = Bench(), np.random.default_rng(0)
    bench.feed(np.zeros(3), 100, 0.004, random)
    events = [said for effort in (60.0, -20.0, 9.0, -9.0, 3.0, 0.0, 40.0, 1.0)
              for said in bench.feed([0.0, effort, 0.0], 1, 0.004, random)]
    assert events[-1] is Event.FAULT and bench.detector.joint == 1


def test_a_gap_while_nothing_is_decided_leaves_what_was_seen():
    bench = Bench()
    events = bench.feed([0.0, 0.0, 6.0], 40)
    found = events.index(Event.UNDECIDED) + 1
    bench = Bench()
    assert bench.feed([0.0, 0.0, 6.0], found)[-1] is Event.UNDECIDED
    assert bench.say(counts=False) is Event.UNDECIDED
    assert bench.feed(np.zeros(3), 6)[-1] is Event.FAULT and bench.detector.joint == 2
    # No more is to be had from an inertia that is none.
    bench = Bench()
    bench.feed([0.0, 0.0, 6.0], found)
    bench.predictor.inertia = np.full((3, 3), np.nan)
    said = [bench.say() for _ in range(20)]
    assert Event.FAULT in said and Event.CONTACT not in said and said[-1] is Event.NOTHING


def test_an_event_is_over_when_it_has_been_quiet_for_a_while():
    bench = Bench(window=0.02)
    assert bench.feed([0.0, 0.0, 6.0], 40)[-1] is Event.FAULT
    events = bench.feed(np.zeros(3), 300)
    assert events[0] is Event.FAULT and events[-1] is Event.NOTHING
    assert bench.detector.joint == -1
    # States of which nothing can be said are not quiet.
    bench = Bench()
    bench.feed([0.0, 0.0, 6.0], 40)
    assert [bench.say(counts=False) for _ in range(50)][-1] is Event.FAULT


def test_a_single_slip_of_a_sensor_is_half_of_an_alarm():
    bench = Bench()
    bench.feed(np.zeros(3), 100)
    bench.slip(2)
    once = bench.detector.excess.max()
    bench.slip(2)
    assert bench.detector.excess.max() > 1.2 * once


def test_slow_joints_have_tolerances_of_their_own():
    bench = Bench()
    bench.detector.tolerances.effort[1] = 100.0
    bench.predictor.velocity[:] = (0.5, 0.01, -0.01)
    assert bench.feed([0.0, 0.0, 6.0], 60)[-1] is Event.NOTHING
    bench.predictor.velocity[:] = -0.5
    assert bench.feed([0.0, 0.0, 6.0], 2)[-1] is not Event.CONTACT
    assert bench.feed([0.0, 0.0, 6.0], 40)[-1] is Event.FAULT


def test_where_strength_is_not_known_nothing_is_an_alarm():
    bench = Bench(np.inf)
    assert set(bench.feed(np.full(3, 1e5), 200)) == {Event.NOTHING}


def test_values_that_are_none_are_no_alarm_and_are_forgotten():
    bench = Bench()
    bench.predictor.innovation[:] = np.nan
    assert bench.say() is Event.NOTHING
    bench.predictor.innovation[:] = 0.0
    bench.say(counts=False)
    assert bench.feed([0.0, 0.0, 6.0], 40)[-1] is Event.FAULT
    bench.detector.reset()
    assert bench.detector.event is Event.NOTHING and bench.detector.joint == -1
    # An inertia that is none tells nothing.
    bench.predictor.inertia = np.full((3, 3), np.nan)
    assert bench.say() is Event.NOTHING


def test_a_robot_of_one_joint_is_watched():
    predictor = SimpleNamespace(filter=FILTER, innovation=np.zeros((2, 1)), velocity=np.ones(1),
                                inertia=np.ones((1, 1)), friction=np.zeros((2, 1)),
                                motion=np.ones((6, 1)), step=PERIOD, position=np.zeros(1),
                                position_limits=np.array([[-1.0], [1.0]]))
    detector = FaultDetector(predictor, given_tolerances(1.0, FILTER, 1))
    predictor.innovation[1] = 0.2
    events = [detector.update(PERIOD * k, counts=True) for k in range(20)]
    assert events[1] is Event.UNDECIDED and events[-1] is Event.FAULT and detector.joint == 0


def test_a_window_that_is_none_is_named():
    with pytest.raises(ParameterError, match='window'):
        Bench(window=0.0)


def test_what_is_unknown_of_a_payload_widens_the_thresholds():
    load = SimpleNamespace(spread=np.zeros((3, 4)), mass=2.0, doubt=np.array([0.0, 3.0, 0.0]))
    bench = Bench(load=load)
    assert set(bench.feed([0.0, 6.0, 0.0], 300)) == {Event.NOTHING}
    assert load.refines
    assert bench.feed([0.0, 0.0, 6.0], 100)[-1] is Event.FAULT and bench.detector.joint == 2
    # The state of a faulty arm must not improve the payload.
    assert not load.refines
    load.doubt = np.zeros(3)
    assert Event.UNDECIDED in Bench(load=load).feed([0.0, 6.0, 0.0], 300)
