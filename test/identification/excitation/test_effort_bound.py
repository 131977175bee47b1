# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import ModelError, TrajectoryError
from robot_dynamics.identification.excitation.curves import BSplineBasis, RestToRest
from robot_dynamics.identification.excitation.effort_bound import EffortEnclosure, bends
from robot_dynamics.model.robot import Robot

ROBOTS = ['arm7', 'rpr', 'puma560.yaml', 'tree']


def motion_of(robot, seed=0, size=0.2, seconds=4.0):
    random, basis = np.random.default_rng(seed), BSplineBasis(seconds, 8)
    return RestToRest(basis, np.zeros(robot.n),
                      size * random.normal(size=(basis.count, robot.n)))


@pytest.mark.parametrize('name', ROBOTS)
@pytest.mark.parametrize('seed', range(4))
def test_second_derivatives_of_efforts_are_within_their_bound(robots, name, seed):
    robot = robots(name)
    motion, enclosure = motion_of(robot, seed), EffortEnclosure(Dynamics(robot))
    bound, h = bends(robot, [motion.largest(k) for k in range(1, 5)]), 1e-3
    t = np.linspace(0.01, motion.duration - 0.01, 800)
    tau = [enclosure.efforts(*(motion.evaluate(t + step, k) for k in range(3)))
           for step in (-h, 0.0, h)]
    bend = np.abs(tau[0] - 2.0 * tau[1] + tau[2]).max(axis=0) / h**2
    assert np.all(bend <= bound)
    # No use if it were larger by decades: thousands of samples would not do.
    assert np.all(bound < 2e4 * bend.max())


def test_the_bound_is_reached_by_what_is_simple():
    """A mass on a slide: effort m a, whose second derivative is m times the snap."""
    slide = Robot.from_urdf(
        '<robot name="slide"><link name="base"/><link name="body"><inertial><mass value="3"/>'
        '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        '<joint name="x" type="prismatic"><parent link="base"/><child link="body"/>'
        '<axis xyz="1 0 0"/><limit lower="-1" upper="1" velocity="1" effort="9"/></joint></robot>')
    rates = [np.array([value]) for value in (1.0, 2.0, 3.0, 4.0)]
    assert bends(slide, rates) == pytest.approx([12.0])


@pytest.mark.parametrize('name', ROBOTS)
def test_no_effort_is_above_the_largest_and_that_is_close(robots, name):
    robot = robots(name)
    motion, enclosure = motion_of(robot, 7), EffortEnclosure(Dynamics(robot))
    t = np.random.default_rng(0).uniform(0.0, motion.duration, 20_000)
    tau = np.abs(enclosure.efforts(*(motion.evaluate(t, k) for k in range(3)))) + robot.friction
    found, seen = enclosure.largest(motion), tau.max(axis=0)
    assert np.all(seen <= found)
    assert np.all(found <= 1.03 * seen + 0.01 * seen.max())
    when, value = enclosure.worst(motion, 0)
    assert 0.0 <= when <= motion.duration
    assert abs(value) == pytest.approx(seen[0], rel=0.03)


def test_efforts_have_rotors_and_friction_in_them(robots):
    robot = robots('arm7')
    motion, enclosure = motion_of(robot, 1), EffortEnclosure(Dynamics(robot))
    samples = [motion.evaluate([1.3], k) for k in range(3)]
    wanted = (Dynamics(robot).inverse_dynamics(*samples)
              + robot.damping * samples[1])
    np.testing.assert_allclose(enclosure.efforts(*samples), wanted)


def test_motions_and_robots_without_bounds_are_refused(robots):
    robot = robots('arm7')
    enclosure = EffortEnclosure(Dynamics(robot))
    with pytest.raises(TrajectoryError, match='too fast to be bounded'):
        enclosure.largest(motion_of(robot, size=1e4, seconds=1.0))
    floating = Robot.from_urdf(robot.to_urdf(), floating_base=True)
    with pytest.raises(ModelError):
        EffortEnclosure(Dynamics(floating))
