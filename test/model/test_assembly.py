# SPDX-License-Identifier: Apache-2.0

import numpy as np
import pytest

from robot_dynamics.errors import DimensionError, ModelError, Severity
from robot_dynamics.model.joints import JointType
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.rotation import axis_rotation


def numbers(values):
    return ' '.join(f'{value:.17g}' for value in values)


def random_urdf(rng, make_urdf, links=12, kinds=('revolute', 'continuous', 'prismatic', 'fixed')):
    """A random tree in which every link has a possible, unsymmetric inertia."""
    joints = []
    for i in range(1, links):
        kind = kinds[rng.integers(len(kinds))] if i > 1 else 'revolute'
        parent = f'k{rng.integers(max(0, i - 3), i)}'
        joints.append(
            f'j{i} {kind} {parent} k{i}|<origin xyz="{numbers(rng.normal(size=3))}" '
            f'rpy="{numbers(rng.uniform(-3, 3, 3))}"/><axis xyz="{numbers(rng.normal(size=3))}"/>'
            f'<limit lower="-3" upper="3" effort="9" velocity="9"/>')
    elements = []
    for i in range(links):
        points = rng.normal(size=(6, 3))
        tensor = sum(p @ p * np.eye(3) - np.outer(p, p) for p in points) * 0.01
        names = ('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz')
        entries = ' '.join(f'{name}="{tensor[row, column]:.17g}"' for name, row, column
                           in zip(names, (0, 0, 0, 1, 1, 2), (0, 1, 2, 1, 2, 2), strict=True))
        elements.append(
            f'<link name="k{i}"><inertial><origin xyz="{numbers(rng.normal(size=3))}" '
            f'rpy="{numbers(rng.uniform(-3, 3, 3))}"/><mass value="{rng.uniform(0.1, 5):.17g}"/>'
            f'<inertia {entries}/></inertial></link>')
    return make_urdf(*joints, links='\n'.join(elements))


def poses_of_bodies(robot, q):
    """Link frames in the base frame, straight from the documentation of `Robot`."""
    poses = []
    for i, value in enumerate(robot.coupling @ q + robot.coupling_offset):
        R, p = robot.placements[i, :3, :3], robot.placements[i, :3, 3]
        local = np.eye(4)
        if robot.joint_types[i] == JointType.PRISMATIC:
            local[:3, :3] = R
            local[:3, 3] = p + R @ (robot.axes[i] * value + robot.link_offsets[i])
        else:
            local[:3, :3] = R @ axis_rotation(robot.axes[i], value)
            local[:3, 3] = p + local[:3, :3] @ robot.link_offsets[i]
        poses.append(local if robot.parents[i] < 0 else poses[robot.parents[i]] @ local)
    return poses


@pytest.mark.parametrize('seed', range(12))
def test_random_trees_against_pinocchio(make_urdf, seed):
    pin = pytest.importorskip('pinocchio')
    rng = np.random.default_rng(seed)
    text = random_urdf(rng, make_urdf)
    robot = Robot.from_urdf(text)
    model = pin.buildModelFromXML(text)
    data = model.createData()
    q = rng.uniform(-2.0, 2.0, robot.n)
    full = pin.neutral(model)
    for name, position in zip(robot.joint_names, q, strict=True):
        joint = model.joints[model.getJointId(name)]
        full[joint.idx_q:joint.idx_q + joint.nq] = \
            position if joint.nq == 1 else (np.cos(position), np.sin(position))
    pin.framesForwardKinematics(model, data, full)
    poses = poses_of_bodies(robot, q)
    for link, frame in robot.frames.items():
        pose = frame.pose if frame.body < 0 else poses[frame.body] @ frame.pose
        np.testing.assert_allclose(
            pose, data.oMf[model.getFrameId(link, pin.FrameType.BODY)].homogeneous, atol=1e-12)
    for name, ours in zip(robot.body_joint_names, robot.inertial_parameters, strict=True):
        m, mx, my, mz, xx, xy, yy, xz, yz, zz = \
            model.inertias[model.getJointId(name)].toDynamicParameters()
        np.testing.assert_allclose(ours, [m, mx, my, mz, xx, xy, xz, yy, yz, zz], rtol=1e-11,
                                   atol=1e-11)


@pytest.mark.parametrize('seed', range(6))
def test_locked_joints_against_pinocchio(make_urdf, seed):
    pin = pytest.importorskip('pinocchio')
    rng = np.random.default_rng(100 + seed)
    text = random_urdf(rng, make_urdf, kinds=('revolute', 'prismatic', 'fixed'))
    model = pin.buildModelFromXML(text)
    moving = [name for name in model.names if name != 'universe']
    locked = {name: float(rng.uniform(-2, 2)) for name in moving[1::2]}
    neutral = pin.neutral(model)
    for name, position in locked.items():
        neutral[model.joints[model.getJointId(name)].idx_q] = position
    reduced = pin.buildReducedModel(model, [model.getJointId(name) for name in locked], neutral)
    robot = Robot.from_urdf(text, locked=locked)
    assert set(robot.joint_names) == set(reduced.names) - {'universe'}
    for name, ours in zip(robot.body_joint_names, robot.inertial_parameters, strict=True):
        m, mx, my, mz, xx, xy, yy, xz, yz, zz = \
            reduced.inertias[reduced.getJointId(name)].toDynamicParameters()
        np.testing.assert_allclose(ours, [m, mx, my, mz, xx, xy, xz, yy, yz, zz], rtol=1e-11,
                                   atol=1e-11)


def test_links_fixed_to_the_base_do_not_enter(make_urdf):
    robot = Robot.from_urdf(make_urdf(
        'w fixed world table|<origin xyz="0 0 1"/>', 'm fixed table stand|',
        'j revolute stand arm|<limit lower="-1" upper="1" effort="1" velocity="1"/>',
        'tail fixed arm tool|<origin xyz="0 0 0.5"/>', 'tip fixed tool tcp|<origin xyz="0 0 1"/>'))
    assert robot.base_name == 'world'
    assert robot.body_names == ('arm',)
    assert robot.inertial_parameters[0, 0] == 3.0
    assert robot.frames['stand'].body == -1
    assert robot.frames['stand'].pose[2, 3] == 1.0
    assert robot.frames['tcp'].body == 0
    assert robot.frames['tcp'].pose[2, 3] == 1.5
    assert robot.placements[0, 2, 3] == 1.0


def test_unlumped_inertia_is_kept_to_the_bit(make_urdf):
    robot = Robot.from_urdf(make_urdf(
        'j revolute base arm|', inertial='<mass value="0.3"/><inertia ixx="0.123456789" '
        'ixy="0.001" ixz="-0.002" iyy="0.2" iyz="0.003" izz="0.21"/>'))
    assert robot.parameters.tolist() == [0.3, 0, 0, 0, 0.123456789, 0.001, -0.002, 0.2, 0.003,
                                         0.21]


def test_gravity_is_the_callers(make_urdf):
    text = make_urdf('j revolute base arm|')
    assert Robot.from_urdf(text).gravity.tolist() == [0.0, 0.0, -9.81]
    assert Robot.from_urdf(text, gravity=(1, 2, 3)).gravity.tolist() == [1.0, 2.0, 3.0]
    for wrong in ((0, 0), 'down', None, [None] * 3, (0, 0, 1j)):
        with pytest.raises(DimensionError, match='gravity must'):
            Robot.from_urdf(text, gravity=wrong)
    with pytest.raises(ModelError, match='gravity'):
        Robot.from_urdf(text, gravity=(0, 0, np.nan))


def test_only_links_that_move_are_judged(make_urdf):
    bad = ('<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" '
           'izz="9"/></inertial>')
    links = ''.join(f'<link name="{name}">{bad}</link>' for name in ('base', 'arm', 'tool'))
    robot = Robot.from_urdf(make_urdf(
        'j revolute base arm|<limit lower="-1" upper="1" effort="1" velocity="1"/>',
        't fixed arm tool|', links=links))
    assert [(f.severity, f.subject) for f in robot.findings] \
        == [(Severity.WARNING, 'arm'), (Severity.WARNING, 'tool')]


def test_deep_chain_of_fixed_links_needs_no_recursion(make_urdf, within):
    text = make_urdf('j revolute k0 k1|',
                     *(f'f{i} fixed k{i} k{i + 1}|<origin xyz="0 0 0.001"/>'
                       for i in range(1, 1500)))
    robot = within(2.0, lambda: Robot.from_urdf(text))
    assert robot.inertial_parameters[0, 0] == 1500.0
    assert robot.frames['k1500'].pose[2, 3] == pytest.approx(1.499)


def test_long_chain_of_moving_links(make_urdf, within):
    def chain(count):
        return make_urdf(*(f'j{i} revolute k{i} k{i + 1}|<origin xyz="0 0 0.01"/>'
                           for i in range(count)))
    assert within(2.0, lambda: Robot.from_urdf(chain(300))).n == 300
    with pytest.raises(ModelError, match='more than 500 moving joints'):
        Robot.from_urdf(chain(501))
    assert Robot.from_urdf(chain(501), joints=['j3', 'j500']).n == 2


def test_too_many_links():
    links = ''.join(f'<link name="k{i}"/>' for i in range(5_001))
    with pytest.raises(ModelError, match='more than 5000 links'):
        Robot.from_urdf(f'<robot>{links}</robot>')


def test_nothing_of_a_robot_can_be_written_to(make_urdf):
    robot = Robot.from_urdf(make_urdf('j revolute base arm|'))
    for array in (robot.parameters, robot.frames['arm'].pose, robot.limits.effort,
                  robot.coupling):
        with pytest.raises(ValueError, match='read-only'):
            array[...] = 0.0
