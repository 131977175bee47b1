# SPDX-License-Identifier: Apache-2.0
"""Real descriptions against torques, mass matrices and poses computed by others."""

import json
import re

import numpy as np
import pytest

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import ModelError
from robot_dynamics.model.robot import Robot

FILES = ('asr_twodof', 'baxter', 'double_pendulum_continuous', 'gen3_robotiq',
         'gz_cart_effort.xacro', 'gz_gripper_mimic_effort.xacro', 'iiwa14_no_inertials',
         'kinova_j2s6s200', 'kr210l150', 'panda_hand', 'puma560_no_inertials', 'scara',
         'schunk_lwa4p', 'so101', 'stretch4', 'talos_left_arm', 'tiago_no_hand', 'ur10',
         'ur5_joint_limited', 'ur5e_unbound_prefix', 'xarm7', 'z1')
# pinocchio reads neither undeclared prefixes nor planar joints as one coordinate.
READ_BY_PIN = tuple(name for name in FILES if name not in ('ur5e_unbound_prefix', 'stretch4'))
HELD = {'stretch4': {'mobile_base_planar_joint': 0.0}}


@pytest.fixture(scope='module')
def reference(shared):
    text = (shared / 'data' / 'urdf_reference.json').read_text(encoding='utf-8')
    return json.loads(text)['urdfs']


def without_mimic(path):
    """The references let mimic joints move independently."""
    return re.sub(r'<mimic\b[^>]*/>', '', path.read_text(encoding='utf-8'))


def test_no_file_is_forgotten(shared):
    assert {path.name for path in (shared / 'data' / 'urdf').iterdir()} \
        == {f'{name}.urdf' for name in FILES}


@pytest.mark.parametrize('name', FILES)
def test_file_loads_as_it_is(shared, name):
    robot = Robot.from_urdf(shared / 'data' / 'urdf' / f'{name}.urdf', locked=HELD.get(name))
    assert np.all(np.isfinite(robot.parameters))
    assert np.all(robot.parents < np.arange(robot.n_bodies))


@pytest.mark.parametrize('name', FILES)
def test_torque_mass_and_pose(shared, reference, name):
    expected = reference[f'{name}.urdf']
    robot = Robot.from_urdf(without_mimic(shared / 'data' / 'urdf' / f'{name}.urdf'),
                            locked=HELD.get(name))
    dynamics = Dynamics(robot)
    column = dict(zip(expected['joint_names'], expected['v_index'], strict=True))
    assert set(robot.joint_names) == set(column) - set(HELD.get(name, {}))
    pick = [column[joint] for joint in robot.joint_names]
    moving = sum(robot.inertial_parameters[:, 0])
    if name not in HELD:
        assert moving == pytest.approx(expected['mass_moving'], rel=1e-9)
    for sample in expected['samples']:
        state = np.array([np.array(sample[key])[pick] for key in ('q', 'qd', 'qdd')])
        doubt = rounding_of_the_inputs(dynamics, state)
        tau = dynamics.inverse_dynamics(*state)
        diagonal = np.diag(dynamics.mass_matrix(state[0]))
        assert np.all(np.abs(tau - np.array(sample['tau'])[pick])
                      <= 1e-9 * np.abs(tau) + doubt[:, 0])
        assert np.all(np.abs(diagonal - np.array(sample['M_diag'])[pick])
                      <= 1e-9 * diagonal + doubt[:, 1])
        for link, pose in sample['fk'].items():
            np.testing.assert_allclose(dynamics.forward_kinematics(state[0], link), pose, rtol=0,
                                       atol=5e-9)


def rounding_of_the_inputs(dynamics, state):
    """How far tau and diag(M), shape (n, 2), can be off for figures of nine decimals.

    The references were computed before positions, velocities and accelerations were
    rounded; each may be off by half a unit of the last decimal, as the results may.
    """
    half, step = 0.5e-9, 1e-5
    doubt = np.full((dynamics.n, 2), half)
    for row in range(3):
        for joint in range(dynamics.n):
            shift = np.zeros_like(state)
            shift[row, joint] = step
            ahead, behind = state + shift, state - shift
            slope = (dynamics.inverse_dynamics(*ahead)
                     - dynamics.inverse_dynamics(*behind)) / (2.0 * step)
            doubt[:, 0] += half * np.abs(slope)
            if row == 0:
                slope = (np.diag(dynamics.mass_matrix(ahead[0]))
                         - np.diag(dynamics.mass_matrix(behind[0]))) / (2.0 * step)
                doubt[:, 1] += half * np.abs(slope)
    return doubt


@pytest.mark.parametrize('name', READ_BY_PIN)
def test_torque_to_machine_precision(shared, name):
    pin = pytest.importorskip('pinocchio')
    path = shared / 'data' / 'urdf' / f'{name}.urdf'
    model = pin.buildModelFromUrdf(str(path))
    data = model.createData()
    robot = Robot.from_urdf(without_mimic(path))
    dynamics = Dynamics(robot)
    joints = [model.joints[model.getJointId(joint)] for joint in robot.joint_names]
    rows = [joint.idx_v for joint in joints]
    rng = np.random.default_rng(7)
    for _ in range(5):
        q, v, a = rng.uniform(-1.0, 1.0, (3, robot.n))
        full = pin.neutral(model)
        v_full, a_full = np.zeros((2, model.nv))
        v_full[rows], a_full[rows] = v, a
        for joint, position in zip(joints, q, strict=True):
            full[joint.idx_q:joint.idx_q + joint.nq] = \
                position if joint.nq == 1 else (np.cos(position), np.sin(position))
        tau = pin.rnea(model, data, full, v_full, a_full)[rows]
        np.testing.assert_allclose(dynamics.inverse_dynamics(q, v, a), tau, rtol=1e-11,
                                   atol=1e-12 * max(1.0, np.max(np.abs(tau))))


@pytest.mark.parametrize('name', READ_BY_PIN)
def test_lumped_inertia_to_machine_precision(shared, name):
    pin = pytest.importorskip('pinocchio')
    path = shared / 'data' / 'urdf' / f'{name}.urdf'
    model = pin.buildModelFromUrdf(str(path))
    robot = Robot.from_urdf(without_mimic(path))
    for joint, parameters in zip(robot.body_joint_names, robot.inertial_parameters, strict=True):
        m, mx, my, mz, xx, xy, yy, xz, yz, zz = \
            model.inertias[model.getJointId(joint)].toDynamicParameters()
        np.testing.assert_allclose(parameters, [m, mx, my, mz, xx, xy, xz, yy, yz, zz],
                                   rtol=1e-12, atol=1e-14 * max(1.0, abs(m)))


def test_planar_base_moves_unless_it_is_held_or_left_out(shared):
    path = shared / 'data' / 'urdf' / 'stretch4.urdf'
    free = Robot.from_urdf(path)
    assert free.velocity_names[:3] == tuple(f'mobile_base_planar_joint/{name}'
                                            for name in ('vx', 'vy', 'w'))
    arm = Robot.from_urdf(path, base_link='base_link')
    held = Robot.from_urdf(path, locked={'mobile_base_planar_joint': 0.0})
    assert arm.joint_names == held.joint_names == free.joint_names[1:]
    np.testing.assert_array_equal(arm.parameters, held.parameters)
    np.testing.assert_array_equal(arm.parameters, free.parameters[10:])
    with pytest.raises(ModelError) as caught:
        free.require_single_coordinates('control')
    assert caught.value.subject == 'mobile_base_planar_joint'
    for way in ("locked={'mobile_base_planar_joint': 0}", "base_link='base_link'", 'name the'):
        assert way in str(caught.value)


def test_inertia_no_body_can_have_is_not_reported_where_it_stands_still(shared):
    path = shared / 'data' / 'urdf' / 'tiago_no_hand.urdf'
    assert not [f for f in Robot.from_urdf(path).findings if 'antenna' in f.subject]


@pytest.mark.parametrize('name', ['ur10', 'panda_hand', 'xarm7', 'baxter', 'talos_left_arm'])
def test_sound_descriptions_have_no_findings(shared, name):
    assert Robot.from_urdf(shared / 'data' / 'urdf' / f'{name}.urdf').findings == ()
