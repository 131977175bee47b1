# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace

import numpy as np
import pytest

from robot_dynamics.bringup.descriptions import load_description
from robot_dynamics.bringup.doctor.findings import Level
from robot_dynamics.bringup.doctor.ranges import judge_ranges


def with_limits(robot, **limits):
    return replace(robot, limits=replace(robot.limits, **{
        name: np.full(robot.n, value) if np.isscalar(value) else value
        for name, value in limits.items()}))


def test_limits_as_they_should_be(robot):
    (remark,) = judge_ranges(robot)
    assert remark.level is Level.OK
    assert remark.message == 'positions of 7, speeds of 7 and efforts of 7 of 7 joints'
    (remark,) = judge_ranges(with_limits(robot, velocity=np.nan, lower=-np.inf, upper=np.inf))
    assert remark.message == 'positions of 0, speeds of 0 and efforts of 7 of 7 joints'


@pytest.mark.parametrize(('limits', 'words'), [
    ({'lower': -170.0, 'upper': 170.0}, 'were they written in degrees?'),
    ({'velocity': 180.0}, 'was it written in degrees per second?')])
def test_degrees(robot, limits, words):
    (remark,) = judge_ranges(with_limits(robot, **limits))
    assert remark.level is Level.WARNING
    assert words in remark.remedy
    assert remark.subject == ', '.join(robot.joint_names)


def test_millimetres():
    robot = load_description('rpr').robot
    upper = robot.limits.upper.copy()
    upper[1] = 1500.0
    (remark,) = judge_ranges(with_limits(robot, upper=upper))
    assert remark.subject == 'joint2'
    assert 'were they written in millimetres?' in remark.remedy


@pytest.mark.parametrize('speed', [100.0, 1000.0, 1e4, 5e5])
def test_speeds_that_stand_for_none(robot, speed):
    first, second = judge_ranges(with_limits(robot, velocity=speed))
    assert first.level is Level.NOTE and 'limits nothing' in first.message
    assert second.level is Level.OK
