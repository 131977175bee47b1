# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from robot_dynamics.model.findings import Severity
from robot_dynamics.model.robot import Robot


def load(make_urdf, limit, kind='revolute'):
    return Robot.from_urdf(make_urdf(f'j {kind} base arm|{limit}'))


def test_sound_limits_pass_in_silence(make_urdf):
    robot = load(make_urdf, '<limit lower="-1" upper="2" effort="30" velocity="4"/>')
    limits = robot.limits
    assert (limits.lower[0], limits.upper[0], limits.effort[0], limits.velocity[0]) \
        == (-1.0, 2.0, 30.0, 4.0)
    assert robot.findings == ()


@pytest.mark.parametrize('effort', ['0', '-5', 'inf', 'nan', '1.7976931348623157e+308'])
def test_efforts_that_limit_nothing_become_nan(make_urdf, effort):
    robot = load(make_urdf, f'<limit lower="-1" upper="1" effort="{effort}" velocity="4"/>')
    assert np.isnan(robot.limits.effort[0])
    assert robot.limits.velocity[0] == 4.0
    (finding,) = robot.findings
    assert (finding.severity, finding.subject) == (Severity.WARNING, 'j')
    assert 'effort' in finding.message
    assert 'velocity' not in finding.message
    assert finding.remedy


def test_missing_velocity_and_effort_make_one_finding(make_urdf):
    robot = load(make_urdf, '<limit lower="-1" upper="1"/>')
    (finding,) = robot.findings
    assert 'no velocity limit and no effort limit' in finding.message


@pytest.mark.parametrize('kind', ['revolute', 'prismatic'])
def test_missing_limit(make_urdf, kind):
    robot = load(make_urdf, '', kind)
    assert (robot.limits.lower[0], robot.limits.upper[0]) == (-np.inf, np.inf)
    assert np.isnan(robot.limits.effort[0])
    (finding,) = robot.findings
    assert f'is {kind} and has no <limit>' in finding.message


@pytest.mark.parametrize('limit', [
    '<limit effort="3" velocity="1"/>',
    '<limit lower="0" upper="0" effort="3" velocity="1"/>',
    '<limit lower="1" upper="-1" effort="3" velocity="1"/>',
])
def test_continuous_joint_has_no_position_limit(make_urdf, limit):
    robot = load(make_urdf, limit, 'continuous')
    assert (robot.limits.lower[0], robot.limits.upper[0]) == (-np.inf, np.inf)
    assert robot.limits.effort[0] == 3.0
    assert robot.findings == ()


def test_limits_of_a_continuous_joint_do_not_count(make_urdf):
    robot = load(make_urdf, '<limit lower="-6" upper="6" effort="3" velocity="1"/>', 'continuous')
    assert (robot.limits.lower[0], robot.limits.upper[0]) == (-np.inf, np.inf)
    (finding,) = robot.findings
    assert (finding.severity, finding.subject) == (Severity.INFO, 'j')
    assert '-6 to 6 do not count' in finding.message


def test_continuous_joint_without_limit_lacks_effort_and_velocity(make_urdf):
    robot = load(make_urdf, '', 'continuous')
    (finding,) = robot.findings
    assert 'no velocity limit and no effort limit' in finding.message


def test_range_of_one_point_is_kept_and_warned_of(make_urdf):
    robot = load(make_urdf, '<limit effort="3" velocity="1"/>')
    assert (robot.limits.lower[0], robot.limits.upper[0]) == (0.0, 0.0)
    (finding,) = robot.findings
    assert 'cannot move' in finding.message


def test_huge_positions_are_no_limit(make_urdf):
    robot = load(make_urdf, '<limit lower="-1.8e308" upper="1e16" effort="3" velocity="1"/>')
    assert (robot.limits.lower[0], robot.limits.upper[0]) == (-np.inf, np.inf)


def test_joints_that_are_held_or_follow_need_no_limit(make_urdf):
    text = make_urdf('a revolute x y|<limit lower="-1" upper="1" effort="1" velocity="1"/>',
                     'b revolute y z|<mimic joint="a"/><axis xyz="0 1 0"/>', 'c revolute z w|')
    assert Robot.from_urdf(text, joints=['a']).findings == ()
