# SPDX-License-Identifier: Apache-2.0
import math
from dataclasses import replace

import pytest

from robot_dynamics.bringup.doctor.findings import Level
from robot_dynamics.bringup.doctor.motion import judge_motion
from robot_dynamics.bringup.doctor.replay import replay
from robot_dynamics.bringup.doctor.requirements import Wishes

TOPIC = '/joint_states'


def judge(robot, samples):
    return judge_motion(TOPIC, robot, replay(samples, robot, Wishes(), simulated=False), samples)


def test_an_arm_that_moves_as_it_says(robot, stream):
    assert judge(robot, stream()) == []


@pytest.mark.parametrize(('factor', 'guess'), [
    (-1.0, 'the other sign?'), (math.degrees(1.0) / 10.0, ''), (0.2, '')])
def test_velocities_of_something_else(robot, stream, factor, guess):
    slow = replace(robot, limits=replace(robot.limits, velocity=robot.limits.velocity * 0 + 10.0))
    (remark,) = judge(slow, stream(change=lambda k, s: replace(
        s, velocity=tuple(factor * v for v in s.velocity))))
    assert remark.level is Level.WARNING
    assert f'its velocity is {factor:.3g} times the rate of change' in remark.message
    assert guess in remark.message
    assert remark.subject == ', '.join(robot.joint_names)


def test_velocities_in_degrees(robot, stream):
    fast = replace(robot, limits=replace(robot.limits, velocity=robot.limits.velocity * 0 + 100.0))
    (remark,) = judge(fast, stream(change=lambda k, s: replace(
        s, velocity=tuple(math.degrees(v) for v in s.velocity))))
    assert 'degrees per second?' in remark.message


def test_velocities_that_are_always_zero(robot, stream):
    (remark,) = judge(robot, stream(change=lambda k, s: replace(s, velocity=(0.0,) * 7)))
    assert remark.level is Level.WARNING
    assert 'moves, and its velocity is always zero' in remark.message


def test_an_arm_at_rest_says_nothing_about_velocities(robot, stream):
    still = stream(1)[0].position
    assert judge(robot, stream(change=lambda k, s: replace(
        s, position=still, velocity=(0.001 * (-1) ** k,) * 7))) == []


def test_outside_its_limits(robot, stream):
    (remark,) = judge(robot, stream(5, change=lambda k, s: replace(
        s, position=(*s.position[:6], 3.5))))
    assert (remark.level, remark.subject) == (Level.WARNING, 'joint7')
    assert remark.message == 'is at 3.5 rad, outside its limits -2.897 to 2.897'


def test_positions_in_degrees(robot, stream):
    remarks = judge(robot, stream(5, change=lambda k, s: replace(
        s, position=tuple(math.degrees(q) for q in s.position), velocity=())))
    # Where the arm is near zero degrees are no wonder.
    assert {remark.subject for remark in remarks} >= {'joint4', 'joint6'}
    assert all('in degrees?' in remark.message for remark in remarks)


def test_nothing_that_could_be_judged(robot, stream):
    nan = float('nan')
    assert judge(robot, stream(5, change=lambda k, s: replace(s, position=(nan,) * 7))) == []
