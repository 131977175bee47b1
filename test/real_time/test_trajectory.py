# SPDX-License-Identifier: Apache-2.0
"""References in C: the same motion as that of the buffer in Python."""

import numpy as np
import pytest

pytest.importorskip('mujoco')

from robot_dynamics import Robot
from robot_dynamics.control import ComputedTorqueController, ControlSession, SessionSettings
from robot_dynamics.control.motion.trajectory import Progress
from robot_dynamics.control.session.modes import Mode
from test.real_time.beside import Beside, limited_buffer

PERIOD = 0.002


class Follower:
    """An arm that is where it shall be, and reports the effort that it was sent."""

    def __init__(self, robot):
        session = ControlSession(robot, ComputedTorqueController(robot),
                                 SessionSettings(period=PERIOD), trajectory=limited_buffer(robot))
        self.beside, self.session = Beside(session), session
        self.t, self.effort, self.progress = 1.0, np.zeros(robot.n), set()
        self.q = np.clip(np.full(robot.n, 0.3), robot.limits.lower + 0.2,
                         robot.limits.upper - 0.2)
        self.run(1.2)
        assert session.mode is Mode.TRACKING

    def run(self, seconds):
        buffer, session = self.session.trajectory, self.session
        for _ in range(round(seconds / PERIOD)):
            v = np.zeros_like(self.q)
            if session.mode is Mode.TRACKING:
                self.q, v, _ = buffer.sample(self.t)
            command = self.beside.state(self.t, self.q, v, self.effort)
            self.effort = command.effort.copy()
            self.t += PERIOD
            self.progress.add(buffer.progress)


def smooth(random, t, amplitude, rate, phase):
    """Position, velocity and acceleration of sines at times."""
    x = np.multiply.outer(t, rate) + phase
    return (amplitude * np.sin(x), amplitude * rate * np.cos(x),
            -amplitude * rate**2 * np.sin(x))


@pytest.mark.parametrize('seed', range(2))
@pytest.mark.parametrize('name', ['arm7', 'planar_2r'])
def test_references_of_every_kind(name, seed, programs):
    follower, random = Follower(Robot.from_urdf(name)), np.random.default_rng(seed)
    n, accepted = follower.q.size, 0
    for _ in range(30):
        amplitude, rate = random.uniform(0.02, 0.1, n), random.uniform(0.5, 1.5, n)
        phase, count = random.uniform(-3.0, 3.0, n), int(random.integers(1, 12))
        t = np.cumsum(random.uniform(0.05, 0.4, count)) - random.choice([0.0, 0.05])
        q, v, a = smooth(random, t, amplitude, rate, phase)
        stamp = random.choice([0.0, follower.t + 0.1, follower.t - 0.04, follower.t + 0.5])
        # From where the motion is then, at its speed or not.
        start = smooth(random, 0.0, amplitude, rate, phase)[0]
        here = follower.session.trajectory.sample(max(stamp, follower.t))[0]
        q += here - start + random.choice([0.0, 2.0 * np.pi], p=[0.9, 0.1])
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
