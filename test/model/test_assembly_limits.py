# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from robot_dynamics.errors import Severity
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
    assert '-6 to 6 are ignored' in finding.message


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


# Soft limits --------------------------------------------------------------------

HARD = '<limit lower="-1" upper="2" effort="3" velocity="4"/>'


def soft(lower, upper):
    return f'<safety_controller k_velocity="9" k_position="9" soft_lower_limit="{lower}" ' \
           f'soft_upper_limit="{upper}"/>'


@pytest.mark.parametrize(('lower', 'upper', 'expected'), [
    (-0.5, 1.5, (-0.5, 1.5)), (-0.5, 9.0, (-0.5, 2.0)), (-9.0, 1.5, (-1.0, 1.5))])
def test_soft_limits_narrow(make_urdf, lower, upper, expected):
    robot = load(make_urdf, HARD + soft(lower, upper))
    assert (robot.limits.lower[0], robot.limits.upper[0]) == expected
    assert (robot.limits.velocity[0], robot.limits.effort[0]) == (4.0, 3.0)
    (finding,) = robot.findings
    assert (finding.severity, finding.subject) == (Severity.INFO, 'j')
    assert f'limited to {expected[0]:g} to {expected[1]:g}, inside its limits -1 to 2' \
        in finding.message


@pytest.mark.parametrize('written', [
    soft(-1, 2), soft(-9, 9), soft(0, 0), soft(1, -1), '<safety_controller k_velocity="9"/>',
    soft(-1 + 1e-12, 2)])
def test_soft_limits_that_narrow_nothing_pass_in_silence(make_urdf, written):
    robot = load(make_urdf, HARD + written)
    assert (robot.limits.lower[0], robot.limits.upper[0]) == (-1.0, 2.0)
    assert robot.findings == ()


@pytest.mark.parametrize(('written', 'words'), [
    (soft(5, 6), 'soft limits 5 to 6 outside its limits -1 to 2'),
    (soft(2, 3), 'soft limits 2 to 3 outside its limits -1 to 2'),
    (soft('${x}', 1), 'soft limits that are not numbers'), (soft('nan', 1), 'not numbers')])
def test_soft_limits_that_cannot_be_are_warned_of(make_urdf, written, words):
    robot = load(make_urdf, HARD + written)
    assert (robot.limits.lower[0], robot.limits.upper[0]) == (-1.0, 2.0)
    (finding,) = robot.findings
    assert (finding.severity, finding.subject) == (Severity.WARNING, 'j')
    assert words in finding.message
    assert 'are ignored' in finding.remedy


def test_soft_limits_stand_in_for_missing_ones(make_urdf):
    robot = load(make_urdf, soft(-0.5, 1.5))
    assert (robot.limits.lower[0], robot.limits.upper[0]) == (-0.5, 1.5)
    assert [finding.severity for finding in robot.findings] == [Severity.INFO, Severity.WARNING]


def test_soft_limits_of_a_continuous_joint_do_not_count(make_urdf):
    robot = load(make_urdf, '<limit effort="3" velocity="4"/>' + soft(-1, 1), 'continuous')
    assert (robot.limits.lower[0], robot.limits.upper[0]) == (-np.inf, np.inf)
    assert robot.findings == ()


# Joints that follow ---------------------------------------------------------------


def gripper(make_urdf, mimic, limit, leader=HARD, kind='revolute', more=()):
    """A finger j and another that follows it."""
    return Robot.from_urdf(make_urdf(f'j {kind} base finger|{leader}',
                                     f'f revolute base other|<mimic joint="j" {mimic}/>{limit}',
                                     *more))


def limit(lower, upper, velocity=100):
    return f'<limit lower="{lower}" upper="{upper}" effort="9" velocity="{velocity}"/>'


@pytest.mark.parametrize(('mimic', 'own', 'expected'), [
    ('', limit(-0.5, 9), (-0.5, 2.0)),
    ('multiplier="2"', limit(-9, 1), (-1.0, 0.5)),
    ('multiplier="-2"', limit(-1, 1), (-0.5, 0.5)),
    ('multiplier="-2"', limit(-1, 9), (-1.0, 0.5)),
    ('offset="0.5"', limit(0, 1), (-0.5, 0.5)),
    ('multiplier="-0.5" offset="0.25"', limit(-0.5, 0.5), (-0.5, 1.5)),
    ('', HARD + soft(-0.75, 0.75), (-0.75, 0.75)),
])
def test_range_of_a_joint_that_follows_narrows(make_urdf, mimic, own, expected):
    robot = gripper(make_urdf, mimic, own)
    assert robot.joint_names == ('j',)
    assert (robot.limits.lower[0], robot.limits.upper[0]) == expected
    # Neither end takes the follower out of its range.
    assert robot.limits.effort[0] == 3.0
    (finding,) = robot.findings
    assert (finding.severity, finding.subject) == (Severity.INFO, 'j')
    assert f"limited to {expected[0]:g} to {expected[1]:g}: 'f' follows it" in finding.message


def test_both_ends_keep_every_follower_in_its_range(make_urdf):
    text = make_urdf(
        'j revolute base a|' + limit(-3, 3), 'f revolute base b|<mimic joint="j" multiplier="-3" '
        'offset="1"/>' + limit(-4, 6), 'g revolute base c|<mimic joint="f" multiplier="0.5" '
        'offset="-0.5"/>' + limit(-2, 0.5))
    robot = Robot.from_urdf(text)
    ends = np.outer(robot.coupling[:, 0], [robot.limits.lower[0], robot.limits.upper[0]]) \
        + robot.coupling_offset[:, None]
    # f is at 1 - 3 q in -4 to 6, g at -1.5 q in -2 to 0.5.
    np.testing.assert_allclose(ends, [[-1 / 3, 4 / 3], [2.0, -3.0], [0.5, -2.0]], atol=1e-15)


def test_range_of_a_follower_limits_a_continuous_joint(make_urdf):
    robot = gripper(make_urdf, 'multiplier="0.5"', limit(-1, 1),
                    leader='<limit effort="3" velocity="4"/>', kind='continuous')
    assert (robot.limits.lower[0], robot.limits.upper[0]) == (-2.0, 2.0)


@pytest.mark.parametrize('own', ['', limit(-1, 2), limit(-9, 9), limit(-1e16, 1e16),
                                 limit(-1 + 1e-12, 2 - 1e-12)])
def test_a_follower_that_reaches_further_says_nothing(make_urdf, own):
    robot = gripper(make_urdf, '', own)
    assert (robot.limits.lower[0], robot.limits.upper[0]) == (-1.0, 2.0)
    assert robot.findings == ()


@pytest.mark.parametrize(('mimic', 'own'), [
    ('offset="5"', limit(-1, 2)), ('multiplier="-1"', limit(1, 3)),
    ('', '<limit effort="9" velocity="9"/>')])
def test_limits_with_which_a_joint_cannot_follow_do_not_count(make_urdf, mimic, own):
    robot = gripper(make_urdf, mimic, own)
    assert (robot.limits.lower[0], robot.limits.upper[0]) == (-1.0, 2.0)
    warnings = [finding for finding in robot.findings if 'cannot follow' in finding.message]
    (finding,) = warnings
    assert (finding.severity, finding.subject) == (Severity.WARNING, 'f')
    assert 'are ignored' in finding.remedy


def test_speed_of_a_follower_narrows(make_urdf):
    robot = gripper(make_urdf, 'multiplier="-4"', limit(-9, 9, velocity=2))
    assert robot.limits.velocity[0] == 0.5
    (finding,) = robot.findings
    assert "limited to a velocity of 0.5: 'f' follows it at 2" in finding.message


def test_speed_that_nobody_gives_stays_unknown(make_urdf):
    robot = gripper(make_urdf, '', limit(-9, 9, velocity=2), leader=limit(-1, 2, velocity=0))
    assert np.isnan(robot.limits.velocity[0])


def test_what_follows_a_held_joint_limits_nothing(make_urdf):
    text = make_urdf('k revolute base arm|' + HARD, 'j revolute arm finger|' + HARD,
                     'f revolute arm other|<mimic joint="j"/>' + limit(-0.1, 0.1))
    assert Robot.from_urdf(text, joints=['k']).findings == ()
    assert Robot.from_urdf(text, joints=['j']).limits.upper[0] == 0.1
