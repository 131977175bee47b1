# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace

import numpy as np
import pytest

from robot_dynamics.bringup.doctor.findings import Level
from robot_dynamics.bringup.doctor.rates import judge_control, judge_gains, lowest_rate
from robot_dynamics.bringup.doctor.requirements import Wishes
from robot_dynamics.control.feedback.gains import AdaptationGains, FeedbackGains, check_gains
from robot_dynamics.errors import ControlError


@pytest.mark.parametrize(('feedback', 'adaptation'), [
    (FeedbackGains(), AdaptationGains()), (FeedbackGains(), None),
    (FeedbackGains(bandwidth=200.0), None), (FeedbackGains(), AdaptationGains(composite=10.0))])
def test_the_lowest_rate_is_the_lowest(feedback, adaptation):
    rate = lowest_rate(feedback, adaptation, 0.001)
    check_gains(feedback, adaptation, period=1.0 / rate, delay=0.001)
    with pytest.raises(ControlError):
        check_gains(feedback, adaptation, period=1.0 / (0.99 * rate), delay=0.001)


def test_gains_that_no_rate_is_high_enough_for():
    assert lowest_rate(FeedbackGains(bandwidth=600.0), None, 0.001) is None
    (remark,) = judge_gains('/c', Wishes(), FeedbackGains(bandwidth=600.0), None)
    assert remark.level is Level.ERROR and 'feedback.bandwidth' in remark.remedy


def test_gains_that_need_a_higher_rate():
    assert judge_gains('/c', Wishes(rate=500.0), FeedbackGains(), AdaptationGains()) == []
    (remark,) = judge_gains('/c', Wishes(rate=50.0), FeedbackGains(), AdaptationGains())
    assert remark.level is Level.ERROR
    assert 'its gains need 80 Hz, and its rate is 50 Hz' in remark.message


def test_the_controller_itself_is_asked(robot):
    (remark,) = judge_control(robot)
    assert remark.level is Level.OK and '80 Hz or more' in remark.message
    effort = robot.limits.effort.copy()
    effort[3] = np.nan
    (remark,) = judge_control(replace(robot, limits=replace(robot.limits, effort=effort)))
    assert (remark.level, remark.subject) == (Level.ERROR, 'joint4')
    unphysical = robot.inertial_parameters.copy()
    unphysical[2, 0] = -1.0
    (remark,) = judge_control(robot.with_parameters(unphysical))
    assert (remark.level, remark.subject) == (Level.ERROR, 'link3')


def test_a_crowd_is_no_arm(monkeypatch, robot):
    monkeypatch.setattr('robot_dynamics.bringup.doctor.rates.MOST_BODIES', 6)
    (remark,) = judge_control(robot)
    assert remark.level is Level.NOTE and '7 moving bodies' in remark.message
