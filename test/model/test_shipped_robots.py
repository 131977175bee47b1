# SPDX-License-Identifier: Apache-2.0
"""The shipped robots against the figures they are made from and against other programs."""

import json
from xml.etree import ElementTree

import mujoco
import numpy as np
import pinocchio
import pytest

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.model import Robot
from robot_dynamics.model.inertia import check_body, com_from_parameters, parameters_from_com
from robot_dynamics.model.modify import with_payload
from robot_dynamics.model.rotation import rotation_from_rpy
from robot_dynamics.model.shipped import resolve_robot, shipped_robots

URDFS = ('arm7', 'planar_2r', 'planar_3r', 'puma560', 'rpr', 'two_link_payload')


def read(name):
    path = resolve_robot(name)
    return Robot.from_dh(path) if path.suffix == '.yaml' else Robot.from_urdf(path)


def reference(shared, name):
    return json.loads((shared / 'reference' / f'{name}.json').read_text(encoding='utf-8'))


def assert_close(actual, expected, tolerance=1e-10):
    expected = np.asarray(expected)
    np.testing.assert_allclose(actual, expected, rtol=0,
                               atol=tolerance * max(1.0, np.max(np.abs(expected))))


def test_all_are_tested_here():
    assert set(shipped_robots()) == {*URDFS, 'puma560.yaml'}


@pytest.mark.parametrize('name', URDFS)
def test_nothing_to_remark(name):
    robot = read(name)
    assert robot.findings == ()
    assert robot.name == name
    for limit in (robot.limits.velocity, robot.limits.effort):
        assert np.all(limit > 0.0)
    assert np.all(robot.limits.lower < robot.limits.upper)
    assert not np.any(robot.damping)
    assert not np.any(robot.friction)


@pytest.mark.parametrize('name', URDFS)
def test_header_says_where_the_figures_are_from(name):
    text = resolve_robot(name).read_text(encoding='utf-8')
    assert text.splitlines()[1] == '<!-- SPDX-License-Identifier: Apache-2.0 -->'
    header = text[text.index('<!--\n'):text.index('-->\n<robot')]
    assert 'chosen here' in header or 'computed, not measured' in header


@pytest.mark.parametrize('name', URDFS)
def test_bodies_are_real(name):
    robot = read(name)
    for parameters in robot.inertial_parameters:
        verdict = check_body(parameters)
        assert verdict.is_definite
        # Not needle-like: the thinnest direction still has some mass about it.
        assert verdict.principal_moments[0] > 0.02 * verdict.principal_moments[2]


@pytest.mark.parametrize('name', URDFS)
def test_other_programs_read_the_same_robot(name):
    path, robot = str(resolve_robot(name)), read(name)
    judge = pinocchio.buildModelFromUrdf(path)
    simulator = mujoco.MjModel.from_xml_path(path)
    state = mujoco.MjData(simulator)
    rng = np.random.default_rng(3)
    q = rng.uniform(robot.limits.lower, robot.limits.upper)
    v, a = rng.normal(size=(2, robot.n))
    tau = Dynamics(robot).inverse_dynamics(q, v, a)
    assert tuple(judge.names[1:]) == robot.joint_names
    assert_close(pinocchio.rnea(judge, judge.createData(), q, v, a), tau, 1e-12)
    state.qpos[:], state.qvel[:], state.qacc[:] = q, v, a
    mujoco.mj_inverse(simulator, state)
    assert_close(state.qfrc_inverse, tau, 1e-12)


@pytest.mark.parametrize(('name', 'figures'), [
    ('planar_2r', 'ref_planar_elbow'), ('puma560', 'ref_puma560'),
    ('puma560.yaml', 'ref_puma560')])
def test_equations_of_the_reference(shared, name, figures):
    # The figures are those of the bodies alone.
    dynamics = Dynamics(read(name), armature=False)
    for state in reference(shared, figures)['states']:
        q, v, a = (np.array(state[key]) for key in ('q', 'qd', 'qdd'))
        M, C, g = dynamics.matrices(q, v)
        assert_close(M, state['M'])
        assert_close(C, state['C_christoffel'])
        assert_close(g, state['g'])
        assert_close(dynamics.inverse_dynamics(q, v, a), state['tau'])


def test_rpr_is_the_reference_and_feels_no_gravity(shared):
    dynamics = Dynamics(read('rpr'))
    for state in reference(shared, 'ref_rpr')['states']:
        M, C, g = dynamics.matrices(state['q'], state['qd'])
        assert_close(M, state['M'])
        assert_close(C, state['S'])
        np.testing.assert_array_equal(g, np.zeros(3))


def test_two_links_with_payload_are_the_reference(shared):
    dynamics = Dynamics(read('two_link_payload'))
    for point in reference(shared, 'ref_two_link_lq')['operating_points']:
        q, v, a = (np.array(point[key]) for key in ('theta', 'theta_dot', 'theta_ddot'))
        assert_close(dynamics.mass_matrix(q), point['M'])
        assert_close(dynamics.inverse_dynamics(q, v, a), point['tau'])


def test_both_pumas_are_one(shared):
    by_urdf, by_dh = read('puma560'), read('puma560.yaml')
    toolbox = Robot.from_dh(shared / 'data' / 'dh' / 'Puma560.json')
    q = np.array([0.3, 0.6, 1.2, -0.4, 0.7, 0.5])
    pose = Dynamics(by_urdf).forward_kinematics(q, 'tool')
    for other in (by_dh, toolbox):
        assert_close(Dynamics(other).forward_kinematics(q, 'tool'), pose, 1e-14)
        assert_close(Dynamics(other, armature=False).mass_matrix(q),
                     Dynamics(by_urdf, armature=False).mass_matrix(q), 1e-14)
    for name in ('damping', 'friction', 'armature', 'parameters'):
        assert_close(getattr(by_dh, name), getattr(toolbox, name), 1e-15)
    for name in ('lower', 'upper', 'velocity', 'effort'):
        assert_close(getattr(by_urdf.limits, name), getattr(by_dh.limits, name), 1e-15)


def test_inertia_of_planar_3r_is_that_of_its_bars():
    robot = read('planar_3r')
    for parameters in robot.inertial_parameters:
        mass, com, tensor = com_from_parameters(parameters)
        np.testing.assert_allclose(com, [0.25, 0, 0])
        across = mass * (0.5 ** 2 + 0.06 ** 2) / 12
        np.testing.assert_allclose(np.diag(tensor), [mass * 0.06 ** 2 / 6, across, across])


# The 7R arm --------------------------------------------------------------------


def _solid(visual):
    """Return volume and parameters at density one of the solid of a <visual>."""
    origin = visual.find('origin')
    (shape,) = visual.find('geometry')
    if shape.tag == 'cylinder':
        r, length = float(shape.get('radius')), float(shape.get('length'))
        volume = np.pi * r * r * length
        across = r * r / 4 + length * length / 12
        moments = [across, across, r * r / 2]
    else:
        x, y, z = map(float, shape.get('size').split())
        volume = x * y * z
        moments = [(y * y + z * z) / 12, (x * x + z * z) / 12, (x * x + y * y) / 12]
    R = rotation_from_rpy([float(word) for word in origin.get('rpy').split()])
    centre = [float(word) for word in origin.get('xyz').split()]
    return parameters_from_com(volume, centre, volume * R @ np.diag(moments) @ R.T)


def test_inertias_of_arm7_are_those_of_its_drawn_solids():
    robot = read('arm7')
    root = ElementTree.parse(resolve_robot('arm7')).getroot()
    for name, parameters in zip(robot.body_names, robot.inertial_parameters, strict=True):
        solids = sum(_solid(visual) for visual in root.findall(f"link[@name='{name}']/visual"))
        np.testing.assert_allclose(parameters, parameters[0] / solids[0] * solids, rtol=0,
                                   atol=2e-8)


def test_arm7_has_the_published_kinematics_and_mass():
    robot = read('arm7')
    table = {'convention': 'modified', 'tool': {'xyz': [0, 0, 0.107]},
             'a': [0, 0, 0, 0.0825, -0.0825, 0, 0.088], 'd': [0.333, 0, 0.316, 0, 0.384, 0, 0],
             'alpha': [0, -np.pi / 2, np.pi / 2, np.pi / 2, -np.pi / 2, np.pi / 2, np.pi / 2]}
    q = np.array([0.2, -0.5, 0.3, -2.0, 0.4, 1.8, -0.6])
    assert_close(Dynamics(robot).forward_kinematics(q, 'flange'),
                 Dynamics(Robot.from_dh(table)).forward_kinematics(q, 'tool'), 1e-14)
    root = ElementTree.parse(resolve_robot('arm7')).getroot()
    assert sum(float(mass.get('value')) for mass in root.iter('mass')) == pytest.approx(17.7)


def test_arm7_carries_a_payload_far_from_its_limits():
    robot = with_payload(read('arm7'), 2.0, [0, 0, 0.18], frame='flange')
    rng = np.random.default_rng(5)
    q = rng.uniform(robot.limits.lower, robot.limits.upper, (5000, 7))
    v, a = rng.uniform(-1.2, 1.2, (5000, 7)), rng.uniform(-2.5, 2.5, (5000, 7))
    tau = Dynamics(robot).inverse_dynamics(q, v, a)
    assert np.all(np.abs(tau) < 0.55 * robot.limits.effort)
