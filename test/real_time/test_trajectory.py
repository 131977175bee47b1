# SPDX-License-Identifier: Apache-2.0
"""References in C: the same motion as that of the buffer in Python."""

from copy import deepcopy
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

pytest.importorskip('mujoco')

from robot_dynamics import Robot
from robot_dynamics.control import ComputedTorqueController, ControlSession, SessionSettings
from robot_dynamics.control.motion.trajectory import Progress
from robot_dynamics.control.motion.trajectory_points import PointArrays
from robot_dynamics.control.session.modes import Mode
from robot_dynamics.errors import TrajectoryError
from robot_dynamics.model.joints import JointType
from test.real_time.beside import Beside, limited_buffer

PERIOD = 0.002


class Follower:
    """An arm that is where it shall be, and reports the effort that it was sent.

    Joints without limits begin before a half turn, and report angles within it.
    """

    def __init__(self, robot):
        session = ControlSession(robot, ComputedTorqueController(robot),
                                 SessionSettings(period=PERIOD), trajectory=limited_buffer(robot))
        self.beside, self.session = Beside(session), session
        self.t, self.effort, self.progress = 1.0, np.zeros(robot.n), set()
        self.q = np.where(robot.is_continuous, 3.1, np.clip(
            np.full(robot.n, 0.3), robot.limits.lower + 0.2, robot.limits.upper - 0.2))
        self.run(1.2)
        assert session.mode is Mode.TRACKING

    def run(self, seconds):
        buffer, session = self.session.trajectory, self.session
        for _ in range(round(seconds / PERIOD)):
            v = np.zeros_like(self.q)
            if session.mode is Mode.TRACKING:
                self.q, v, _ = buffer.sample(self.t)
            angle = np.remainder(self.q + np.pi, 2.0 * np.pi) - np.pi
            q = np.where(self.session.robot.is_continuous, angle, self.q)
            command = self.beside.state(self.t, q, v, self.effort)
            self.effort = command.effort.copy()
            self.t += PERIOD
            self.progress.add(buffer.progress)


def smooth(random, t, amplitude, rate, phase):
    """Position, velocity and acceleration of sines at times."""
    x = np.multiply.outer(t, rate) + phase
    return (amplitude * np.sin(x), amplitude * rate * np.cos(x),
            -amplitude * rate**2 * np.sin(x))


def endless():
    """An arm of two joints without position limits."""
    robot = Robot.from_urdf('planar_2r')
    return replace(robot, joint_types=np.full(2, JointType.CONTINUOUS), limits=replace(
        robot.limits, lower=np.full(2, -np.inf), upper=np.full(2, np.inf)))


ROBOTS = {'arm7': partial(Robot.from_urdf, 'arm7'),
          'planar_2r': partial(Robot.from_urdf, 'planar_2r'), 'endless': endless}


@pytest.mark.parametrize('seed', range(2))
@pytest.mark.parametrize('name', ROBOTS)
def test_references_of_every_kind(name, seed, programs):
    follower, random = Follower(ROBOTS[name]()), np.random.default_rng(seed)
    n, accepted = follower.q.size, 0
    for _ in range(30):
        amplitude, rate = random.uniform(0.02, 0.1, n), random.uniform(0.5, 1.5, n)
        phase, count = random.uniform(-3.0, 3.0, n), int(random.integers(1, 12))
        t = np.cumsum(random.uniform(0.05, 0.4, count)) - random.choice([0.0, 0.05])
        q, v, a = smooth(random, t, amplitude, rate, phase)
        stamp = random.choice([0.0, follower.t + 0.1, follower.t - 0.2, follower.t + 0.5])
        # From where the motion is then, at its speed or not.
        start = smooth(random, 0.0, amplitude, rate, phase)[0]
        here = follower.session.trajectory.sample(max(stamp, follower.t))[0]
        q += here - start + random.choice([0.0, 2.0 * np.pi], p=[0.7, 0.3])
        derivatives = [(), (v,), (v, a)][int(random.integers(3))]
        accepted += follower.beside.reference(t, q, *derivatives, stamp=stamp)
        follower.run(random.uniform(0.02, 0.5))
        if random.uniform() < 0.1:
            follower.beside.cancel()
            follower.run(0.2)
    assert accepted > 5
    # One that ends in motion.
    follower.run(3.0)
    here = follower.session.trajectory.sample(follower.t)[0]
    assert follower.beside.reference([0.5], [here + 0.02], [np.full(n, 0.1)])
    follower.run(1.0)
    assert follower.progress == set(Progress)
    follower.beside.compare(programs)


def test_references_at_their_limits(programs):
    """The largest reference of a shape is followed, one that is a little larger is not."""
    follower, random = Follower(Robot.from_urdf('arm7')), np.random.default_rng(0)
    session, names = follower.session, follower.session.robot.joint_names
    for k in range(40):
        t = np.cumsum(random.uniform(*random.choice([(0.05, 0.2), (0.5, 2.0)]),
                                     int(random.integers(1, 6))))
        q, v, a = random.normal(0.0, 1.0, (3, t.size, 7)) * [[[1.0]], [[2.0]], [[10.0]]]
        rows = (q, v, a)[:k % 3 + 1]
        here = session.trajectory.sample(follower.t)[0]

        def scaled(size, rows=rows, here=here):
            return [here + size * rows[0], *(size * row for row in rows[1:])]

        low, high = 0.0, 100.0
        while high - low > 1e-5 * high:
            size = 0.5 * (low + high)
            try:
                deepcopy(session.trajectory).accept(
                    names, PointArrays(t, *scaled(size)), stamp=None, now=session.monitor.stamp,
                    measured=session.pose)
                low = size
            except TrajectoryError:
                high = size
        assert not follower.beside.reference(t, *scaled(high))
        assert follower.beside.reference(t, *scaled(low))
        follower.run(random.uniform(0.0, 0.3))
        follower.beside.cancel()
        follower.run(1.0)
    follower.beside.compare(programs)


def test_a_stream_of_overlapping_chunks(programs):
    follower = Follower(Robot.from_urdf('arm7'))
    begin, q = follower.t, follower.q.copy()
    amplitude, rate = np.full(7, 0.08), np.linspace(0.4, 1.0, 7)
    for _ in range(20):
        t = follower.t - begin + np.arange(0.0, 0.42, 0.02)
        sines = smooth(None, t, amplitude, rate, np.pi / 2.0)
        assert follower.beside.reference(t, q + amplitude - sines[0], -sines[1], -sines[2],
                                         stamp=begin)
        follower.run(0.1)
    follower.beside.compare(programs)
