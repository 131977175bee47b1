# SPDX-License-Identifier: Apache-2.0
"""Any robot, written as URDF and read back, is the same robot; other readers agree."""

import json
import re
import warnings
from dataclasses import replace
from xml.etree import ElementTree

import mujoco
import numpy as np
import pinocchio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import InertiaError, ModelError
from robot_dynamics.model import Frame, JointLimits, JointType, Robot
from robot_dynamics.model.inertia import parameters_from_com
from robot_dynamics.model.rotation import rotation_from_rpy

DH_ARMS = ('Panda', 'Puma560', 'TwoLink', 'UR10')


def read_back(robot):
    return Robot.from_urdf(robot.to_urdf(), joints=robot.joint_names, gravity=robot.gravity)


def motion(robot, seed=0):
    rng = np.random.default_rng(seed)
    return rng.uniform(-1.5, 1.5, (3, robot.n))


def assert_same_dynamics(one, other, tolerance=1e-12):
    """Compare M, C, g and tau, relative to their size."""
    first, second = Dynamics(one), Dynamics(other)
    for seed in range(3):
        q, v, a = motion(one, seed)
        pairs = list(zip(first.matrices(q, v), second.matrices(q, v), strict=True))
        pairs.append((first.inverse_dynamics(q, v, a), second.inverse_dynamics(q, v, a)))
        scale = max(1.0, *(np.max(np.abs(expected)) for expected, _ in pairs))
        for expected, actual in pairs:
            np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance * scale)


def assert_same_frames(one, other, tolerance=1e-12):
    first, second = Dynamics(one), Dynamics(other)
    q = motion(one)[0]
    for name in one.frames:
        np.testing.assert_allclose(second.forward_kinematics(q, name),
                                   first.forward_kinematics(q, name), rtol=0, atol=tolerance)


def small_robot(**changes):
    """Two bodies with everything that a URDF says about a joint."""
    fields = dict(
        name='small', base_name='base', body_names=('upper', 'lower'),
        body_joint_names=('j1', 'j2'), parents=[-1, 0],
        joint_types=[JointType.REVOLUTE, JointType.PRISMATIC],
        placements=np.stack([np.eye(4), np.eye(4)]), axes=[[0, 1, 0], [0, 0, 1]],
        link_offsets=np.zeros((2, 3)),
        inertial_parameters=[parameters_from_com(2.0, [0.1, 0, 0], 0.02 * np.eye(3)),
                             parameters_from_com(1.0, [0, 0, 0.2], 0.01 * np.eye(3))],
        gravity=[0, 0, -9.81], joint_names=('j1', 'j2'), coupling=np.eye(2),
        coupling_offset=np.zeros(2),
        limits=JointLimits(np.array([-1.0, 0.0]), np.array([2.0, 0.5]), np.array([3.0, 0.4]),
                           np.array([50.0, 100.0])),
        damping=[0.1, 0.2], friction=[0.3, 0.4], armature=[0.0, 0.0],
        frames={'base': Frame(-1, np.eye(4)), 'upper': Frame(0, np.eye(4)),
                'lower': Frame(1, np.eye(4))})
    return Robot(**(fields | changes))


# Random robots ---------------------------------------------------------------


@st.composite
def robots(draw):
    """Random trees: any joint, offset, coupling, order and named frames."""
    rng = np.random.default_rng(draw(st.integers(0, 2 ** 32 - 1)))
    count = draw(st.integers(1, 6))
    single = [kind for kind in JointType if kind.has_one_coordinate]
    kinds = [draw(st.sampled_from(single)) for _ in range(count)]
    parents = [draw(st.integers(-1, k - 1)) for k in range(count)]
    # Which bodies follow another, one that comes before them.
    drivers = [k if k == 0 or draw(st.booleans()) else draw(st.integers(0, k - 1))
               for k in range(count)]
    independent = [k for k in range(count) if drivers[k] == k]
    while any(drivers[k] not in independent for k in range(count)):
        drivers = [drivers[k] for k in drivers]
    order = list(rng.permutation(independent))
    coupling, offsets = np.zeros((count, len(order))), np.zeros(count)
    for k in range(count):
        follows = drivers[k] != k
        coupling[k, order.index(drivers[k])] = (rng.uniform(0.2, 2.0) * rng.choice([-1.0, 1.0])
                                                if follows else 1.0)
        offsets[k] = rng.normal() if follows else 0.0
    n = len(order)
    axes = rng.normal(size=(count, 3))
    names = [f'body & "{k}" <é>' for k in range(count)]
    frames = {'root': Frame(-1, np.eye(4)), "camera's": Frame(-1, _pose(rng))}
    frames |= {name: Frame(k, np.eye(4)) for k, name in enumerate(names)}
    frames['tip'] = Frame(count - 1, _pose(rng))
    lower = rng.choice([-np.inf, -3.0, -0.1], n)
    return Robot(
        name='random & robot', base_name='root', body_names=tuple(names),
        body_joint_names=tuple(f'joint<{k}>' for k in range(count)), parents=parents,
        joint_types=kinds, placements=[_pose(rng) for _ in range(count)],
        axes=axes / np.linalg.norm(axes, axis=1)[:, None],
        link_offsets=rng.normal(size=(count, 3)) * rng.choice([0.0, 0.3], (count, 1)),
        inertial_parameters=[_body(rng) for _ in range(count)], gravity=rng.normal(size=3) * 9.0,
        joint_names=tuple(f'joint<{k}>' for k in order), coupling=coupling,
        coupling_offset=offsets,
        limits=JointLimits(lower, lower + rng.choice([np.inf, 4.0], n) if np.all(lower > -np.inf)
                           else np.full(n, 5.0), rng.choice([np.nan, 2.0], n),
                           rng.choice([np.nan, 80.0], n)),
        damping=rng.choice([0.0, 0.3], n), friction=rng.choice([0.0, 0.7], n),
        armature=rng.choice([0.0, 0.02], n), frames=frames)


def _pose(rng):
    pose = np.eye(4)
    # Now and then right in gimbal lock.
    pitch = rng.choice([rng.uniform(-1.5, 1.5), np.pi / 2, -np.pi / 2, 0.0])
    pose[:3, :3] = rotation_from_rpy([rng.uniform(-3, 3), pitch, rng.uniform(-3, 3)])
    pose[:3, 3] = rng.normal(size=3) * 0.5
    return pose


def _body(rng):
    if rng.random() < 0.1:
        return np.zeros(10)
    points, masses = rng.normal(size=(4, 3)) * 0.2, rng.uniform(0.1, 2.0, 4)
    com = masses @ points / masses.sum()
    about = sum(m * ((x - com) @ (x - com) * np.eye(3) - np.outer(x - com, x - com))
                for m, x in zip(masses, points, strict=True))
    return parameters_from_com(masses.sum(), com, about)


@pytest.mark.slow
@settings(deadline=None)
@given(robot=robots())
def test_random_robot_comes_back(robot):
    back = read_back(robot)
    assert_same_dynamics(robot, back)
    assert_same_frames(robot, back)
    assert back.name == robot.name
    assert back.joint_names == robot.joint_names
    assert set(back.body_joint_names) == set(robot.body_joint_names)
    assert set(robot.frames) <= set(back.frames)
    for name in ('velocity', 'effort'):
        np.testing.assert_array_equal(getattr(back.limits, name), getattr(robot.limits, name))
    own = [robot.body_joint_names.index(name) for name in robot.joint_names]
    turns = robot.joint_types[own] == JointType.CONTINUOUS
    held = is_followed_within_limits(robot)
    for name, infinity in (('lower', -np.inf), ('upper', np.inf)):
        written, read = getattr(robot.limits, name), getattr(back.limits, name)
        np.testing.assert_array_equal(read[~turns], written[~turns])
        np.testing.assert_array_equal(read[turns & ~held], infinity)
        np.testing.assert_allclose(read[turns & held], written[turns & held], atol=1e-12)
    np.testing.assert_array_equal(back.damping, robot.damping)
    np.testing.assert_array_equal(back.friction, robot.friction)
    np.testing.assert_array_equal(back.armature, robot.armature)


def is_followed_within_limits(robot):
    """Which coordinates move another joint that does not turn without end, shape (n,)."""
    followers = [name not in robot.joint_names and kind != JointType.CONTINUOUS
                 for name, kind in zip(robot.body_joint_names, robot.joint_types, strict=True)]
    return np.any(robot.coupling[followers], axis=0)


@pytest.mark.slow
@settings(deadline=None)
@given(robot=robots())
def test_text_is_stable(robot):
    back = read_back(robot)
    assert_same_dynamics(robot, read_back(back))
    assert not re.search(r'"[^"<]*\d[eE][-+]?\d', robot.to_urdf())


# Known robots ----------------------------------------------------------------


@pytest.mark.parametrize('name', DH_ARMS)
def test_dh_arm_comes_back(shared, name):
    robot = Robot.from_dh(shared / 'data' / 'dh' / f'{name}.json')
    back = read_back(robot)
    assert_same_dynamics(robot, back)
    assert_same_frames(robot, back)
    written = json.loads((shared / 'data' / 'dh' / f'{name}.json').read_text())
    for sample in written['samples']:
        np.testing.assert_allclose(Dynamics(back).forward_kinematics(sample['q'], 'tool'),
                                   sample['T'], rtol=0, atol=1e-14)


@pytest.mark.parametrize('name', ['panda_hand', 'gen3_robotiq', 'baxter', 'tiago_no_hand'])
def test_urdf_comes_back(shared, name):
    path = shared / 'data' / 'urdf' / f'{name}.urdf'
    robot = Robot.from_urdf(path)
    back = Robot.from_urdf(robot.to_urdf())
    assert back.joint_names == robot.joint_names
    assert back.body_names == robot.body_names
    assert_same_dynamics(robot, back)
    assert set(back.frames) == set(robot.frames)
    assert_same_frames(robot, back)


@pytest.mark.parametrize('name', ['Panda', 'UR10'])
def test_pinocchio_reads_it(shared, name):
    robot = Robot.from_dh(shared / 'data' / 'dh' / f'{name}.json')
    model = pinocchio.buildModelFromXML(robot.to_urdf())
    data = model.createData()
    assert tuple(model.names[1:]) == robot.joint_names
    q, v, a = motion(robot)
    q_pin = np.concatenate([[np.cos(x), np.sin(x)] if joint.nq == 2 else [x]
                            for x, joint in zip(q, model.joints[1:], strict=True)])
    np.testing.assert_allclose(pinocchio.rnea(model, data, q_pin, v, a),
                               Dynamics(robot).inverse_dynamics(q, v, a), rtol=1e-11)
    pinocchio.framesForwardKinematics(model, data, q_pin)
    for frame in robot.frames:
        np.testing.assert_allclose(data.oMf[model.getFrameId(frame)].homogeneous,
                                   Dynamics(robot).forward_kinematics(q, frame), atol=1e-12)


def test_mujoco_reads_it(shared):
    robot = Robot.from_dh(shared / 'data' / 'dh' / 'Panda.json')
    # The damping of the table's joints is zero, so tau is that of the rigid bodies.
    model = mujoco.MjModel.from_xml_string(robot.to_urdf())
    data = mujoco.MjData(model)
    q, v, a = motion(robot)
    q = np.clip(q, robot.limits.lower + 0.1, robot.limits.upper - 0.1)
    data.qpos[:], data.qvel[:], data.qacc[:] = q, v, a
    mujoco.mj_inverse(model, data)
    np.testing.assert_allclose(data.qfrc_inverse, Dynamics(robot).inverse_dynamics(q, v, a),
                               rtol=1e-9)
    # An effort limit that is not known does not clamp.
    data.qfrc_applied[:] = data.qfrc_inverse
    mujoco.mj_forward(model, data)
    np.testing.assert_allclose(data.qacc, a, rtol=1e-8)


def test_mimic_joint(cases):
    robot = Robot.from_urdf(cases / 'urdf_mimic' / 'mimic.urdf')
    numbers = json.loads((cases / 'urdf_mimic' / 'expected.json').read_text())['numbers']
    back = read_back(robot)
    np.testing.assert_array_equal(back.coupling, numbers['S'])
    np.testing.assert_array_equal(back.coupling_offset, numbers['offset'])
    tau = Dynamics(back).inverse_dynamics(numbers['q'], numbers['v'], numbers['a'])
    np.testing.assert_allclose(tau, numbers['tau'], atol=1e-9)
    follower = ElementTree.fromstring(robot.to_urdf()).find("joint[@name='j2_coupled']")
    assert follower.find('mimic').attrib == {'joint': 'j2', 'multiplier': '-0.5', 'offset': '0.1'}
    # -0.5 times the range of j2, turned round, plus 0.1.
    assert follower.find('limit').attrib == {'lower': '-1.4', 'upper': '1.6', 'velocity': '2',
                                             'effort': '0'}


# Details ---------------------------------------------------------------------


def joint_of(robot, name):
    return ElementTree.fromstring(robot.to_urdf()).find(f"joint[@name='{name}']")


def test_small_robot_as_written():
    joint = joint_of(small_robot(), 'j1')
    assert joint.get('type') == 'revolute'
    assert joint.find('limit').attrib == {'lower': '-1', 'upper': '2', 'velocity': '3',
                                          'effort': '50'}
    assert joint.find('dynamics').attrib == {'damping': '0.1', 'friction': '0.3'}
    assert joint.find('axis').get('xyz') == '0 1 0'
    links = ElementTree.fromstring(small_robot().to_urdf()).findall('link')
    assert [link.get('name') for link in links] == ['base', 'upper', 'lower']


def test_joint_without_limits():
    none = JointLimits(np.full(2, -np.inf), np.full(2, np.inf), np.full(2, np.nan),
                       np.full(2, np.nan))
    robot = small_robot(limits=none)
    assert joint_of(robot, 'j1').get('type') == 'continuous'
    assert joint_of(robot, 'j1').find('limit') is None
    slider = joint_of(robot, 'j2')
    assert slider.get('type') == 'prismatic'
    assert float(slider.find('limit').get('lower')) == -1e15
    back = read_back(robot)
    np.testing.assert_array_equal(back.limits.lower, none.lower)
    np.testing.assert_array_equal(back.limits.upper, none.upper)
    assert np.all(np.isnan(back.limits.effort))


def test_continuous_joint_keeps_velocity_and_effort():
    robot = small_robot(joint_types=[JointType.CONTINUOUS, JointType.PRISMATIC])
    joint = joint_of(robot, 'j1')
    assert joint.get('type') == 'continuous'
    assert joint.find('limit').attrib == {'velocity': '3', 'effort': '50'}


def test_rotor_inertia_is_written_as_an_attribute():
    assert joint_of(small_robot(armature=[0.0, 0.25]), 'j2').find('dynamics').attrib == {
        'damping': '0.2', 'friction': '0.4', 'armature': '0.25'}


def test_rotor_inertia_alone_is_read_by_others():
    robot = small_robot(damping=[0, 0], friction=[0, 0], armature=[0.25, 0.0])
    assert joint_of(robot, 'j2').find('dynamics') is None
    # urdfdom refuses a <dynamics> that has neither damping nor friction.
    assert pinocchio.buildModelFromXML(robot.to_urdf()).nv == 2
    np.testing.assert_array_equal(read_back(robot).armature, [0.25, 0.0])


def test_frame_off_its_joint_gets_a_link_of_its_own():
    robot = small_robot(link_offsets=[[0.3, 0.1, 0], [0.2, 0, 0]])
    root = ElementTree.fromstring(robot.to_urdf())
    assert joint_of(robot, 'j1').find('child').get('link') == 'upper_on_joint'
    assert root.find("link[@name='upper']/inertial") is None
    assert root.find("joint[@name='upper_fixed']/origin").get('xyz') == '0.3 0 0'
    # What lies along the axis, or does not turn, goes into the placement.
    assert joint_of(robot, 'j1').find('origin').get('xyz') == '0 0.1 0'
    assert joint_of(robot, 'j2').find('child').get('link') == 'lower'


def test_added_names_do_not_collide():
    frames = {'base': Frame(-1, np.eye(4)), 'upper': Frame(0, np.eye(4)),
              'lower': Frame(1, np.eye(4)), 'upper_on_joint': Frame(0, np.eye(4))}
    robot = small_robot(link_offsets=[[0.3, 0, 0], [0, 0, 0]], frames=frames,
                        body_joint_names=('upper_fixed', 'j2'), joint_names=('upper_fixed', 'j2'))
    back = read_back(robot)
    assert_same_frames(robot, back)
    assert back.body_names[0] == 'upper_on_joint_2'


def test_added_names_stay_short_enough_to_be_read():
    long = 'l' * 200
    robot = small_robot(link_offsets=[[0.3, 0, 0], [0, 0, 0]], body_names=(long, 'lower'),
                        frames={'base': Frame(-1, np.eye(4)), long: Frame(0, np.eye(4)),
                                'f' * 200: Frame(1, np.eye(4)),
                                'l' * 191 + '_on_joint': Frame(1, np.eye(4))})
    back = read_back(robot)
    assert_same_frames(robot, back)
    assert back.body_names[0] == 'l' * 189 + '_on_joint_2'


@pytest.mark.parametrize('value', [1e-300, 5e-324, 999999999999.9999, 1 / 3, -0.0, 123456.0])
def test_numbers_read_back_exactly(value):
    text = joint_of(small_robot(damping=[value, 0.0]), 'j1')
    dynamics = text.find('dynamics')
    assert 'e' not in str(dynamics.get('damping', '0')).lower()
    assert float(dynamics.get('damping', '0')) == value


def test_body_without_inertia_has_no_inertial():
    robot = small_robot(inertial_parameters=np.zeros((2, 10)))
    assert '<inertial>' not in robot.to_urdf()


@pytest.mark.parametrize(('changes', 'message'), [
    ({'inertial_parameters': np.eye(10)[[1, 0]]}, 'upper must include a mass'),
    ({'coupling': [[1, 0], [1, 1]]}, 'j2 follows j1, j2, but a URDF joint follows exactly one'),
    ({'coupling': [[1, 0], [0, 0]]}, 'j2 follows no joint, but a URDF joint follows exactly one'),
    ({'coupling': [[1, 0], [0, 2]]}, 'j2 has the name of a coordinate and does not move 1:1'),
    ({'coupling_offset': [0.1, 0]}, 'j1 has the name of a coordinate and does not move 1:1'),
    ({'joint_names': ('j1', 'x')}, 'x does not move a body of its own'),
    ({'name': 'a${b}'}, r"'a\$\{b\}' cannot be written: xacro would expand this name; rename it"),
    ({'body_joint_names': ('j1', '$(x)'), 'joint_names': ('j1', '$(x)')},
     r"'\$\(x\)' cannot be written: xacro would expand"),
])
def test_what_no_urdf_can_say(changes, message):
    with pytest.raises(ModelError, match=message) as caught:
        small_robot(**changes).to_urdf()
    assert caught.value.remedy


@pytest.mark.parametrize('mass', [1e-12, -1e-12, 1e-15, 1e-160, 5e-324])
def test_first_moment_with_too_little_mass(mass):
    """Identified parameters can be so; the centre of mass would be lost in rounding."""
    parameters = np.array(small_robot().inertial_parameters)
    parameters[1, 0] = mass
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        with pytest.raises(InertiaError, match='too little mass for its first moment') as caught:
            small_robot(inertial_parameters=parameters).to_urdf()
    assert caught.value.subject == 'lower'
    assert 'give the body a mass' in caught.value.remedy


@pytest.mark.parametrize('mass', [1e-6, -1.0])
def test_little_or_negative_mass_comes_back(mass):
    parameters = np.array(small_robot().inertial_parameters)
    parameters[1, 0] = mass
    robot = small_robot(inertial_parameters=parameters)
    np.testing.assert_allclose(read_back(robot).parameters, robot.parameters, rtol=0, atol=1e-9)


def test_a_number_that_could_not_be_read_back_is_not_written():
    text = """<robot name="r"><link name="base"/>
      <link name="far"><inertial><mass value="1e11"/>
        <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
      <link name="tip"><inertial><mass value="1e11"/>
        <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
      <joint name="j" type="revolute"><parent link="base"/><child link="far"/>
        <axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
      <joint name="f" type="fixed"><parent link="far"/><child link="tip"/>
        <origin xyz="1000 0 0"/></joint></robot>"""
    with pytest.raises(ModelError, match=r'far has 5e.16 in its <inertia>') as caught:
        Robot.from_urdf(text).to_urdf()
    assert caught.value.remedy


def test_first_moment_without_mass_is_an_inertia_error():
    with pytest.raises(InertiaError):
        replace(small_robot(), inertial_parameters=np.eye(10)[[1, 0]]).to_urdf()
