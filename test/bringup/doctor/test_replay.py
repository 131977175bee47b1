# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace

import numpy as np

from robot_dynamics.bringup.doctor.replay import clock_at, replay
from robot_dynamics.bringup.doctor.requirements import Wishes
from robot_dynamics.control.states.joint_state import Reason
from robot_dynamics.nodes.observing.graph_snapshot import ClockSample


def test_a_good_stream_is_taken_as_it_is(robot, stream):
    samples = stream(50)
    replayed = replay(samples, robot, Wishes(), simulated=False)
    assert replayed.counts[Reason.ACCEPTED] == replayed.total == 50
    np.testing.assert_allclose(replayed.q, [sample.position for sample in samples])
    np.testing.assert_allclose(replayed.effort, [sample.effort for sample in samples])
    np.testing.assert_allclose(np.diff(replayed.time), 0.002, atol=1e-8)


def test_joints_are_matched_by_name(robot, stream):
    samples = stream(5, change=lambda k, s: replace(
        s, names=s.names[::-1], position=s.position[::-1], velocity=s.velocity[::-1],
        effort=s.effort[::-1]))
    replayed = replay(samples, robot, Wishes(), simulated=False)
    np.testing.assert_allclose(replayed.q[0], stream(1)[0].position)


def test_without_a_robot_the_joints_are_those_named(stream):
    replayed = replay(stream(5), None, Wishes(), simulated=False)
    assert replayed.joints == tuple(f'joint{k}' for k in range(1, 8))
    assert replayed.counts[Reason.ACCEPTED] == 5


def test_messages_are_counted_by_what_became_of_them(robot, stream):
    nan = float('nan')
    samples = stream(10, change=lambda k, s: replace(s, position=(nan,) * 7) if k < 3 else s)
    replayed = replay(samples, robot, Wishes(), simulated=False)
    assert (replayed.counts[Reason.NOT_FINITE], replayed.counts[Reason.ACCEPTED]) == (3, 7)


def test_simulated_stamps_that_begin_at_zero_are_stamps(robot, stream):
    start = stream(1)[0].stamp
    samples = stream(5, change=lambda k, s: replace(s, stamp=s.stamp - start + 1))
    replayed = replay(samples, robot, Wishes(), simulated=True)
    assert replayed.counts[Reason.ACCEPTED] == 5


def test_nothing_at_all(robot):
    replayed = replay((), robot, Wishes(), simulated=False)
    assert replayed.total == 0 and replayed.q.shape == (0, 7)


def test_the_clock_is_read_between_its_samples():
    origin = 1_790_000_000_000_000_000
    clock = (ClockSample(origin, 100), ClockSample(origin + 10, 200))
    assert clock_at(clock, origin + 5) == 150
    assert clock_at(clock, origin - 5) == 100
