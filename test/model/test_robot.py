# SPDX-License-Identifier: Apache-2.0
"""What `Robot` promises, whoever builds it: checked, read-only, and so are its copies."""

import copy
import dataclasses
import pickle
from pathlib import Path

import numpy as np
import pytest

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import (
    DimensionError,
    InertiaError,
    ModelError,
    ModelTypeError,
    RobotDynamicsError,
)
from robot_dynamics.model import Frame, JointLimits, JointType, Robot
from robot_dynamics.model.robot import arm_length
from robot_dynamics.model.shipped import shipped_robots


def make(**changes):
    """Two bodies, the second sliding on the first."""
    fields = dict(
        name='made', base_name='base', body_names=('upper', 'lower'),
        body_joint_names=('j1', 'j2'), parents=[-1, 0],
        joint_types=[JointType.CONTINUOUS, JointType.PRISMATIC],
        placements=[np.eye(4), np.eye(4)], axes=[[0, 0.6, 0.8], [0, 0, 1]],
        link_offsets=np.zeros((2, 3)), inertial_parameters=np.ones((2, 10)),
        gravity=[0, 0, -9.81], joint_names=('j1', 'j2'), coupling=np.eye(2),
        coupling_offset=np.zeros(2),
        limits=JointLimits([-1, 0], [2, 0.5], [3, np.nan], [50, 100]),
        damping=[0.1, 0.2], friction=[0.3, 0.4], armature=[0, 0],
        frames={'base': Frame(-1, np.eye(4)), 'tool': Frame(1, np.eye(4))})
    return Robot(**(fields | changes))


def limits(lower=(-1, 0), upper=(2, 0.5), velocity=(3, 4), effort=(50, 100)):
    return JointLimits(lower, upper, velocity, effort)


@pytest.mark.parametrize('name', ['lower', 'upper', 'velocity', 'effort'])
@pytest.mark.parametrize('wrong', [(0, [1, 2]), ('a', 1), (None, {}), (10**400, 0)])
def test_limits_that_are_no_numbers_are_named(name, wrong):
    with pytest.raises(DimensionError, match=f'{name} limits'):
        limits(**{name: wrong})


MIRROR = np.diag([1.0, 1.0, -1.0, 1.0])


@pytest.mark.parametrize(('changes', 'message'), [
    ({'axes': [[0, 2, 0], [0, 0, 1]]}, 'upper must have a joint axis of length 1, got 2'),
    ({'axes': [[0, 1, 0], [0, 0, 0]]}, 'lower must have a joint axis of length 1, got 0'),
    ({'joint_types': [7, 0]}, 'upper has a joint of the unknown type 7'),
    ({'joint_types': [0.5, 0]}, 'joint_types must hold integers'),
    ({'parents': [-1, 0.5]}, 'parents must hold integers'),
    ({'parents': [-1, 1]}, 'made must have its bodies in base-to-tip order'),
    ({'parents': [-2, 0]}, 'made must have its bodies in base-to-tip order'),
    ({'placements': [np.eye(4), MIRROR]}, 'lower has a pose that is not a rotation'),
    ({'placements': [2 * np.eye(4), np.eye(4)]}, 'upper has a pose that is not a rotation'),
    ({'placements': [np.eye(4), np.eye(4) + np.eye(4)[3]]}, 'lower has a pose that is no'),
    ({'frames': {'tool': Frame(2, np.eye(4))}}, 'tool is a frame of the unknown body 2'),
    ({'frames': {'tool': Frame(-2, np.eye(4))}}, 'tool is a frame of the unknown body -2'),
    ({'frames': {'tool': Frame(0.5, np.eye(4))}}, r'tool is a frame of the unknown body 0\.5'),
    ({'frames': {'tool': Frame(0, MIRROR)}}, 'tool has a pose that is not a rotation'),
    ({'limits': limits(lower=(3, 0))}, 'j1 must have a lower limit.*got 3 to 2'),
    ({'limits': limits(upper=(2, np.nan))}, 'j2 must have a lower limit.*got 0 to nan'),
    ({'limits': limits(lower=(np.inf, 0), upper=(np.inf, 1))},
     'j1 must have a lower limit.*got inf to inf'),
    ({'limits': limits(velocity=(3, 0))}, 'j2 must have a positive velocity limit, got 0'),
    ({'limits': limits(effort=(-5, 1))}, 'j1 must have a positive effort limit, got -5'),
    ({'limits': JointLimits([0], [1], [1], [1])}, 'limits must have one value for each of 2 '),
    ({'damping': [0, -1]}, 'j2 has the negative damping -1'),
    ({'friction': [-1, 0]}, 'j1 has the negative friction -1'),
    ({'armature': [0, -1]}, 'j2 has the negative armature -1'),
    ({'armature': [0, np.nan]}, 'armature contains NaN or inf'),
    ({'coupling': np.full((2, 2), np.inf)}, 'coupling contains NaN or inf'),
    ({'gravity': [0, 0]}, r'gravity must have shape \(3,\), got \(2,\)'),
    ({'gravity': 'down'}, 'gravity must hold real numbers'),
    ({'inertial_parameters': np.ones((2, 10)) * 1j}, 'inertial_parameters must hold real'),
    ({'body_names': ('upper', 'upper')}, 'upper is the name of two links'),
    ({'base_name': 'lower'}, 'lower is the name of two links'),
    ({'body_joint_names': ('j1', 'j1')}, 'j1 is the name of two joints'),
    ({'body_joint_names': ('j1',)}, 'body_joint_names must have 2 names, got 1'),
    ({'joint_names': ('j1', 'j1')}, 'j1 is the name of two joints'),
    ({'joint_names': ('j1', 2)}, '2 cannot be the name of a joint'),
    ({'name': ''}, "'' cannot be the name of a robot"),
    ({'name': 'a\x00b'}, r"'a\\x00b' cannot be the name of a robot"),
    ({'base_name': ' '}, "' ' cannot be the name of a link"),
    ({'body_names': ('upper', 'two\nlines')}, r"'two\\nlines' cannot be the name of a link"),
    ({'body_joint_names': ('j1', 'zero\u200bwidth')}, 'cannot be the name of a joint'),
    ({'frames': {'n' * 201: Frame(0, np.eye(4))}}, 'cannot be the name of a frame'),
])
def test_what_is_no_robot(changes, message):
    with pytest.raises((ModelError, DimensionError), match=message) as caught:
        make(**changes)
    assert caught.value.remedy


def test_rounding_of_a_reader_is_forgiven():
    tilted = np.eye(4)
    tilted[0, 1] = 1e-8
    assert make(placements=[np.eye(4), tilted], axes=[[0, 0, 1 + 1e-8], [0, 0, 1]]).n == 2


def test_nothing_that_was_given_is_shared_or_changed():
    axes, lower = np.array([[0.0, 0.6, 0.8], [0.0, 0.0, 1.0]]), np.array([-1.0, 0.0])
    given = limits(lower=lower)
    robot = make(axes=axes, limits=given, body_names=['upper', 'lower'])
    axes[:], lower[:] = 7.0, -7.0
    assert robot.axes[0, 0] == 0.0
    assert robot.limits.lower[0] == -1.0
    assert robot.body_names == ('upper', 'lower')
    assert axes.flags.writeable and lower.flags.writeable
    with pytest.raises(ValueError, match='read-only'):
        given.lower[0] = 5.0


@pytest.mark.parametrize('duplicate', [copy.copy, copy.deepcopy,
                                       lambda thing: pickle.loads(pickle.dumps(thing))])
def test_copies_and_pickles_are_the_same_and_read_only(duplicate):
    robot = make()
    twin = duplicate(robot)
    for field in dataclasses.fields(Robot):
        one, other = getattr(robot, field.name), getattr(twin, field.name)
        if isinstance(one, np.ndarray):
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one, other)
            assert not other.flags.writeable, field.name
    assert twin.body_names == robot.body_names
    assert list(twin.frames) == ['base', 'tool']
    np.testing.assert_array_equal(twin.limits.effort, robot.limits.effort)
    for array in (twin.limits.lower, twin.frames['tool'].pose, twin.parameters):
        with pytest.raises(ValueError, match='read-only'):
            array[...] = 0.0
    with pytest.raises(TypeError):
        twin.frames['more'] = Frame(0, np.eye(4))


def test_parameters_of_another_shape_are_refused():
    robot = make()
    numbers = np.arange(20.0)
    for given in (numbers, numbers.reshape(2, 10), numbers.tolist()):
        np.testing.assert_array_equal(robot.with_parameters(given).parameters, numbers)
    for wrong in (numbers.reshape(10, 2), numbers[:10], numbers.reshape(20, 1), None, 'abc',
                  numbers * 1j):
        with pytest.raises(DimensionError, match='parameters must') as caught:
            robot.with_parameters(wrong)
        assert caught.value.remedy


def test_gravity_of_another_shape_is_refused():
    assert make().with_gravity((1, 2, 3)).gravity.tolist() == [1.0, 2.0, 3.0]
    for wrong in (9.81, (0, 9.81), 'down', None):
        with pytest.raises(DimensionError, match='gravity must'):
            make().with_gravity(wrong)


@pytest.mark.parametrize(('types', 'ratio', 'turns'), [
    # A second body follows the first by a ratio; only a whole number of its turns
    # brings it back.
    ((JointType.CONTINUOUS, JointType.CONTINUOUS), 2.0, True),
    ((JointType.CONTINUOUS, JointType.CONTINUOUS), -1.0, True),
    ((JointType.CONTINUOUS, JointType.CONTINUOUS), 0.5, False),
    ((JointType.CONTINUOUS, JointType.REVOLUTE), 1.0, False),
    ((JointType.CONTINUOUS, JointType.PRISMATIC), 1.0, False),
    ((JointType.REVOLUTE, JointType.REVOLUTE), 1.0, False),
])
def test_what_turns_without_end(types, ratio, turns):
    robot = make(joint_types=types, joint_names=('q',), coupling=[[1.0], [ratio]],
                 limits=JointLimits([-1], [1], [1], [1]), damping=[0], friction=[0], armature=[0])
    assert robot.is_continuous.tolist() == [turns]
    assert make().is_continuous.tolist() == [True, False]


@pytest.mark.parametrize('kind', [RobotDynamicsError, ModelError, InertiaError, DimensionError])
def test_errors_reach_other_processes(kind):
    error = kind('is wrong', subject='joint', remedy='mend it')
    for twin in (pickle.loads(pickle.dumps(error)), copy.deepcopy(error)):
        assert type(twin) is kind
        assert (twin.message, twin.subject, twin.remedy) == ('is wrong', 'joint', 'mend it')
        assert str(twin) == str(error)


def test_a_robot_in_a_console_is_one_line():
    robot = Robot.from_urdf(shipped_robots()['rpr'])
    assert repr(robot) == '<Robot rpr: 3 joints, 3 moving bodies, 18 kg>'
    assert repr(Dynamics(robot)) == '<Dynamics of <Robot rpr: 3 joints, 3 moving bodies, 18 kg>>'


def test_the_constructor_names_the_readers():
    for source in ('arm.urdf', Path('arm.urdf'), {'links': []}):
        with pytest.raises(ModelTypeError, match=r'Robot\.from_urdf.*Robot\.from_dh') as caught:
            Robot(source)
        assert isinstance(caught.value, TypeError)


@pytest.mark.parametrize('name', ['arm7', 'arm7.urdf', 'puma560'])
def test_shipped_robots_are_read_by_name(name):
    assert Robot.from_urdf(name).name == name.removesuffix('.urdf')


@pytest.mark.parametrize('name', ['puma560', 'puma560.yaml'])
def test_shipped_tables_are_read_by_name(name):
    assert Robot.from_dh(name).n == 6


def test_a_file_wins_over_a_shipped_robot(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path('arm7').write_text(Robot.from_urdf('planar_2r').to_urdf(), encoding='utf-8')
    assert Robot.from_urdf('arm7').name == 'planar_2r'


@pytest.mark.parametrize('read', [Robot.from_urdf, Robot.from_dh])
def test_an_unknown_name_lists_the_shipped_robots(read):
    with pytest.raises(KeyError, match='did you mean puma560') as caught:
        read('puma56')
    assert str(caught.value).startswith('puma56 is neither a file nor a robot of this package')


def test_a_missing_file_is_missing():
    for name in ('arm8.urdf', 'folder/arm7'):
        with pytest.raises(ModelError, match=f'{name} does not exist'):
            Robot.from_urdf(name)


def reaching(**changes):
    """The second body 0.5 m from the first, and displaced by 0.2 m."""
    placements = np.array([np.eye(4), np.eye(4)])
    placements[:, :3, 3] = [[0.0, 0.0, 1.0], [0.3, 0.0, 0.4]]
    return make(placements=placements, link_offsets=[[0, 0, 0], [0, 0, 0.2]], **changes)


def test_the_last_frame_is_one_that_moves():
    robot = make(frames={'base': Frame(-1, np.eye(4)), 'tool': Frame(1, np.eye(4)),
                         'elbow': Frame(0, np.eye(4)), 'mount': Frame(-1, np.eye(4))})
    assert robot.last_frame == 'elbow'


def test_length_is_that_of_the_longest_chain_beyond_the_first_joint():
    assert arm_length(reaching(inertial_parameters=np.zeros((2, 10)))) == pytest.approx(0.7)


def test_length_of_links_at_one_point_is_twice_their_radius_of_gyration():
    parameters = np.zeros((2, 10))
    parameters[1] = 2.0, 0.0, 0.0, 0.0, 0.3, 0.0, 0.0, 0.4, 0.0, 0.5
    # int |r|^2 dm = (0.3 + 0.4 + 0.5) / 2
    assert arm_length(make(inertial_parameters=parameters)) == pytest.approx(
        2.0 * np.sqrt(0.6 / 2.0))


def test_length_of_links_without_extent_is_a_metre():
    assert arm_length(make(inertial_parameters=np.zeros((2, 10)))) == 1.0
