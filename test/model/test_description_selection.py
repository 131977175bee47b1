# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from robot_dynamics.errors import ModelError, Severity
from robot_dynamics.model.robot import Robot

LIMIT = '<limit lower="-2" upper="2" effort="5" velocity="3"/><axis xyz="0 1 0"/>'
OFFSET = '<origin xyz="0 0 0.5"/>' + LIMIT


def mimic(joint, multiplier=1.0, offset=0.0):
    return f'{OFFSET}<mimic joint="{joint}" multiplier="{multiplier}" offset="{offset}"/>'


@pytest.fixture
def tree(make_urdf):
    """A base with two arms, one with a gripper that follows."""
    return make_urdf(
        f'l1 revolute base a|{OFFSET}', f'l2 revolute a b|{OFFSET}',
        f'r1 revolute base c|{OFFSET}', f'r2 prismatic c d|{OFFSET}',
        f'finger prismatic d e|{mimic("r2", -0.5, 0.1)}', 'flange fixed b f|')


def refusal(text, **arguments):
    with pytest.raises(ModelError) as caught:
        Robot.from_urdf(text, **arguments)
    assert caught.value.subject
    assert caught.value.remedy
    return caught.value


def test_everything_moves_by_default(tree):
    robot = Robot.from_urdf(tree)
    assert robot.joint_names == ('l1', 'l2', 'r1', 'r2')
    assert robot.body_names == ('a', 'b', 'c', 'd', 'e')


def test_sub_chain_in_the_callers_order(tree):
    robot = Robot.from_urdf(tree, joints=['l2', 'l1'])
    assert robot.joint_names == ('l2', 'l1')
    assert robot.body_joint_names == ('l1', 'l2')
    np.testing.assert_array_equal(robot.coupling, [[0, 1], [1, 0]])
    # The other arm stands still with the base and does not enter.
    assert robot.inertial_parameters[:, 0].tolist() == [1.0, 2.0]
    assert robot.frames['e'].body == -1


def test_order_of_limits_and_dynamics_follows_the_caller(make_urdf):
    text = make_urdf(
        'a revolute x y|<limit lower="-1" upper="1" effort="1" velocity="2"/>'
        '<dynamics damping="0.1" friction="0.2"/>',
        'b revolute y z|<origin xyz="1 0 0"/><axis xyz="0 1 0"/>'
        '<limit lower="-3" upper="3" effort="3" velocity="4"/>'
        '<dynamics damping="0.3" friction="0.4"/>')
    robot = Robot.from_urdf(text, joints=['b', 'a'])
    assert robot.limits.upper.tolist() == [3.0, 1.0]
    assert robot.limits.effort.tolist() == [3.0, 1.0]
    assert robot.damping.tolist() == [0.3, 0.1]
    assert robot.friction.tolist() == [0.4, 0.2]


def test_locking_a_joint_equals_a_fixed_joint_there(make_urdf):
    angle = 0.7
    locked = Robot.from_urdf(make_urdf(f'a revolute x y|{OFFSET}', f'b revolute y z|{OFFSET}'),
                             locked={'b': angle})
    fixed = Robot.from_urdf(make_urdf(
        f'a revolute x y|{OFFSET}', f'b fixed y z|<origin xyz="0 0 0.5" rpy="0 {angle} 0"/>'))
    assert locked.joint_names == fixed.joint_names == ('a',)
    np.testing.assert_allclose(locked.parameters, fixed.parameters, rtol=1e-14, atol=1e-16)
    np.testing.assert_allclose(locked.frames['z'].pose, fixed.frames['z'].pose, atol=1e-16)


def test_locking_a_prismatic_joint_moves_along_its_axis(make_urdf):
    text = make_urdf('a revolute x y|', 'b prismatic y z|<origin xyz="1 0 0" rpy="0 0 '
                     '1.5707963267948966"/><axis xyz="1 0 0"/><limit lower="0" upper="1"/>')
    robot = Robot.from_urdf(text, locked={'b': 0.25})
    np.testing.assert_allclose(robot.frames['z'].pose[:3, 3], [1.0, 0.25, 0.0], atol=1e-16)


def test_a_held_joint_stands_at_the_limit_nearest_to_zero(make_urdf):
    text = make_urdf(f'a revolute x y|{OFFSET}',
                     'b prismatic y z|<limit lower="0.2" upper="1" effort="1" velocity="1"/>')
    robot = Robot.from_urdf(text, joints=['a'])
    assert robot.frames['z'].pose[0, 3] == 0.2
    (finding,) = [f for f in robot.findings if f.subject == 'b']
    assert finding.severity is Severity.INFO
    assert 'held at 0.2' in finding.message


def test_locking_outside_the_limits_is_warned_of(tree):
    (finding,) = Robot.from_urdf(tree, locked={'l2': 2.5}).findings
    assert finding.severity is Severity.WARNING
    assert finding.subject == 'l2'


def test_mimic_moves_with_its_joint_and_is_held_with_it(tree):
    moving = Robot.from_urdf(tree, joints=['r2'])
    assert moving.body_joint_names == ('r2', 'finger')
    np.testing.assert_array_equal(moving.coupling, [[1.0], [-0.5]])
    np.testing.assert_array_equal(moving.coupling_offset, [0.0, 0.1])
    held = Robot.from_urdf(tree, locked={'r2': 0.4})
    assert 'finger' not in held.body_joint_names
    np.testing.assert_allclose(held.frames['e'].pose[:3, 3] - held.frames['d'].pose[:3, 3],
                               [0.0, -0.5 * 0.4 + 0.1, 0.5], atol=1e-15)


def test_chain_of_mimics(make_urdf):
    chain = (f'c revolute z w|{mimic("b", 3.0, 0.5)}', f'b revolute y z|{mimic("a", 2, -1)}',
             f'a revolute x y|{OFFSET}')
    robot = Robot.from_urdf(make_urdf(*chain))
    assert robot.joint_names == ('a',)
    assert robot.body_joint_names == ('a', 'b', 'c')
    np.testing.assert_array_equal(robot.coupling[:, 0], [1.0, 2.0, 6.0])
    np.testing.assert_array_equal(robot.coupling_offset, [0.0, -1.0, -2.5])
    held = Robot.from_urdf(make_urdf(*chain, f'other revolute w v|{OFFSET}'), joints=['other'])
    # a at 0, b at -1, c at -2.5: the other joint hangs from the base through all three.
    turn = -3.5
    np.testing.assert_allclose(held.placements[0, :3, 0], [np.cos(turn), 0, -np.sin(turn)],
                               atol=1e-15)


def test_mimic_by_zero_stands_still(make_urdf):
    robot = Robot.from_urdf(make_urdf(f'a revolute x y|{OFFSET}',
                                      f'b revolute y z|{mimic("a", 0, 0.3)}'))
    assert robot.body_joint_names == ('a',)
    np.testing.assert_allclose(robot.frames['z'].pose[0, 0], np.cos(0.3))


def test_mimic_reflects_damping_and_friction(make_urdf):
    rub = '<dynamics damping="0.2" friction="0.3"/>'
    robot = Robot.from_urdf(make_urdf(f'a revolute x y|{OFFSET}{rub}',
                                      f'b revolute y z|{mimic("a", -3)}{rub}'))
    np.testing.assert_allclose(robot.damping, [0.2 * (1 + 9)])
    np.testing.assert_allclose(robot.friction, [0.3 * (1 + 3)])


def test_mimic_can_be_locked_alone(tree):
    robot = Robot.from_urdf(tree, locked={'finger': 0.2})
    assert robot.joint_names == ('l1', 'l2', 'r1', 'r2')
    assert robot.frames['e'].body == robot.body_names.index('d')


def test_mimic_of_unknown_or_fixed_joint(make_urdf):
    for joints in ((f'a revolute x y|{mimic("ghost")}', f'b revolute y z|{OFFSET}'),
                   (f'a revolute x y|{mimic("b")}', 'b fixed y z|')):
        error = refusal(make_urdf(*joints))
        assert error.subject == 'a'
        assert error.remedy == "lock 'a', or let it mimic one of: b" if 'ghost' in error.message \
            else "lock 'a', or remove its <mimic> element"


@pytest.mark.parametrize('joints', [
    (f'a revolute x y|{mimic("a")}', f'b revolute y z|{OFFSET}'),
    (f'a revolute x y|{mimic("b")}', f'b revolute y z|{mimic("a")}'),
])
def test_mimic_in_a_circle(make_urdf, joints):
    assert 'mimics itself' in refusal(make_urdf(*joints)).message


def test_absurd_mimic_ratio(make_urdf):
    chain = [f'a0 revolute x0 x1|{OFFSET}']
    chain += [f'a{i} revolute x{i} x{i + 1}|{mimic(f"a{i - 1}", 1e6)}' for i in range(1, 4)]
    assert 'ratio' in refusal(make_urdf(*chain)).message


def test_base_link_cuts_the_tree(tree):
    robot = Robot.from_urdf(tree, base_link='c')
    assert robot.base_name == 'c'
    assert robot.joint_names == ('r2',)
    assert set(robot.frames) == {'c', 'd', 'e'}


def test_tilted_base_link_is_warned_of(make_urdf):
    joints = ('mount fixed world base|<origin rpy="0.5 0 0"/>', f'a revolute base tip|{OFFSET}')
    text = make_urdf(*joints)
    assert Robot.from_urdf(text).findings == ()
    (finding,) = Robot.from_urdf(text, base_link='base').findings
    assert finding.subject == 'base'
    assert '28.6 degrees' in finding.message


def test_several_roots_need_a_choice(make_urdf):
    text = make_urdf(f'a revolute x y|{OFFSET}', f'b revolute u v|{OFFSET}')
    error = refusal(text)
    assert 'x, u' in error.message
    assert Robot.from_urdf(text, base_link='u').joint_names == ('b',)


@pytest.mark.parametrize('kind', ['planar', 'floating'])
def test_joints_of_several_coordinates_can_be_held(make_urdf, kind):
    text = make_urdf(f'base {kind} world x|', f'a revolute x y|{OFFSET}')
    for arguments in ({'locked': {'base': 0}}, {'joints': ['a']}):
        robot = Robot.from_urdf(text, **arguments)
        assert robot.joint_names == ('a',)
        (finding,) = robot.findings
        assert (finding.severity, finding.subject) == (Severity.INFO, 'base')
    error = refusal(text, locked={'base': 0.1})
    assert 'cannot be locked at 0.1' in error.message
    assert 'lock it at 0, its described pose, or give x, y, ' in error.remedy


@pytest.mark.parametrize('kind, n, nq', [('planar', 3, 3), ('floating', 6, 7)])
def test_joints_of_several_coordinates_move(make_urdf, kind, n, nq):
    text = make_urdf('a revolute world x|<origin xyz="1 2 3"/>' + LIMIT, f'b {kind} x y|',
                     'c revolute y z|' + LIMIT)
    robot = Robot.from_urdf(text)
    assert (robot.n, robot.nq) == (n + 2, nq + 2)
    assert robot.joint_names == ('a', 'b', 'c')
    assert robot.coordinates.velocities('b') == slice(1, n + 1)
    assert robot.coordinates.positions('c') == slice(nq + 1, nq + 2)
    assert robot.body_coordinates.joint_of_velocity.tolist() == [0] + [1] * n + [2]
    assert robot.is_directly_driven
    other = Robot.from_urdf(text, joints=['c', 'b'])
    assert other.joint_names == ('c', 'b')
    assert other.velocity_names[0] == 'c'
    assert not other.is_directly_driven


def test_a_held_joint_of_several_coordinates_stands_where_it_is_put(make_urdf):
    text = make_urdf('base floating world x|<origin xyz="1 0 0"/>', f'a revolute x y|{OFFSET}')
    half = np.sqrt(0.5)
    robot = Robot.from_urdf(text, locked={'base': [0, 2, 0, 0, 0, half, half]})
    assert robot.findings == ()
    pose = robot.frames['x'].pose
    np.testing.assert_allclose(pose[:3, 3], [1, 2, 0])
    np.testing.assert_allclose(pose[:3, :3], [[0, -1, 0], [1, 0, 0], [0, 0, 1]], atol=1e-15)
    for wrong in ([0, 2, 0, 0, 0, 1, 1], [0, 2, 0], [[0, 0, 0, 0, 0, 0, 1]], 'x',
                  [np.nan, 0, 0, 0, 0, 0, 1]):
        error = refusal(text, locked={'base': wrong})
        assert error.subject == 'base'
        assert 'with a quaternion of length 1' in error.remedy


@pytest.mark.parametrize('arguments, subject, words', [
    ({'joints': ['l1', 'nope']}, 'nope', 'is not a joint of the description (given in joints)'),
    ({'locked': {'nope': 0}}, 'nope', 'is not a joint of the description (given in locked)'),
    ({'joints': 'l1'}, 'joints', 'must be a list of names'),
    ({'joints': []}, 'joints', 'must name at least one joint'),
    ({'joints': ['l1', 'l1']}, 'l1', 'twice'),
    ({'joints': ['l1'], 'locked': {'l1': 0}}, 'l1', 'in joints and in locked'),
    ({'joints': ['finger']}, 'finger', "mimics 'r2'"),
    ({'joints': ['flange']}, 'flange', 'is fixed'),
    ({'locked': {'flange': 0}}, 'flange', 'is fixed'),
    ({'locked': {'l1': float('nan')}}, 'l1', 'cannot be locked at nan'),
    ({'locked': {'l1': None}}, 'l1', 'cannot be locked at None'),
    ({'locked': ['l1']}, 'locked', 'got a value of type list'),
    ({'base_link': 'nope'}, 'nope', 'is not a link'),
    ({'base_link': 'c', 'joints': ['l1']}, 'l1', 'not below the base link'),
    ({'locked': {'l1': 0, 'l2': 0, 'r1': 0, 'r2': 0}}, 'made', 'no moving joint'),
    ({'joints': {'l1', 'r1'}}, 'joints', 'an ordered list of names, got a value of type set'),
    ({'joints': {'l1': 0}.keys()}, 'joints', 'ordered list'),
    ({'joints': 3}, 'joints', 'ordered list'),
    ({'joints': b'l1'}, 'joints', 'ordered list'),
    ({'joints': [['l1']]}, "['l1']", 'is not a joint'),
    ({'joints': [None]}, 'None', 'is not a joint'),
    ({'locked': {'l1': '0.5'}}, 'l1', "cannot be locked at '0.5'"),
    ({'locked': {'l1': 1j}}, 'l1', 'cannot be locked at 1j'),
    ({'locked': {'l1': None}}, 'l1', 'cannot be locked at None'),
    ({'locked': {'l1': 1e12}}, 'l1', 'cannot be locked at 1000000000000'),
    ({'base_link': ['a']}, "['a']", 'is not a link'),
    ({'base_link': ''}, "''", 'is not a link'),
    ({'floating_base': 'no'}, 'floating_base', "True or False, got 'no'"),
    ({'floating_base': None}, 'floating_base', 'True or False, got None'),
])
def test_impossible_choices(tree, arguments, subject, words):
    error = refusal(tree, **arguments)
    assert error.subject == subject
    assert words in error.message


def test_unknown_joint_lists_the_known_ones(tree):
    assert 'l1, l2, r1, r2' in refusal(tree, joints=['nope']).remedy


def test_joints_in_any_ordered_form(tree):
    """Names of numpy's do not get into the robot, whose names end up in messages and files."""
    for joints in (['r1', 'l1'], ('r1', 'l1'), np.array(['r1', 'l1']), iter(('r1', 'l1')),
                   {'r1': 0, 'l1': 0}):
        robot = Robot.from_urdf(tree, joints=joints)
        assert robot.joint_names == ('r1', 'l1')
        assert {type(name) for name in robot.joint_names} == {str}


def test_positions_of_any_number(tree):
    for value in (0.5, np.float32(0.5), np.array(0.5)):
        robot = Robot.from_urdf(tree, locked={np.str_('l1'): value})
        assert 'l1' not in robot.joint_names
