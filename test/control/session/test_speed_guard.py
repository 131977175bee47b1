# SPDX-License-Identifier: Apache-2.0
import math

import numpy as np
import pytest

from robot_dynamics.control.session.limits import SpeedGuard
from robot_dynamics.errors import RobotDynamicsError

LIMIT, UNITS = [1.0, 2.0, math.nan], ('rad', 'm', 'rad')


@pytest.mark.parametrize(('v', 'runs'), [
    ([0.0, 0.0, 0.0], False), ([1.5, -3.0, 1e9], False), ([-1.51, 0.0, 0.0], True),
    ([0.0, 3.01, 0.0], True), ([math.nan, 0.0, 0.0], True), ([0.0, math.inf, 0.0], True)])
def test_speeds(v, runs):
    guard = SpeedGuard('abc', LIMIT, units=UNITS)
    assert [guard.is_fast(np.array(v)) for _ in range(4)] == [False, False, runs, runs]
    assert not guard.is_fast(np.zeros(3))


def test_it_names_the_joint_that_is_farthest_beyond_its_limit():
    guard = SpeedGuard('abc', LIMIT, units=UNITS)
    guard.is_fast(np.array([1.6, -9.0, 50.0]))
    assert guard.detail == 'b at 9 m/s, 3 at most'


@pytest.mark.parametrize('wrong', [{'margin': 0.0}, {'margin': math.nan}, {'states': 0}])
def test_settings_are_checked(wrong):
    with pytest.raises(RobotDynamicsError, match=next(iter(wrong))):
        SpeedGuard('abc', LIMIT, units=UNITS, **wrong)
