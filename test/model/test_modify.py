# SPDX-License-Identifier: Apache-2.0
"""Payloads and scaled masses, against the same robot described in another way."""

from dataclasses import replace

import numpy as np
import pinocchio
import pytest

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import DimensionError, InertiaError, ModelError
from robot_dynamics.model import Frame, Robot
from robot_dynamics.model.inertia import com_from_parameters
from robot_dynamics.model.modify import with_payload, with_scaled_masses
from robot_dynamics.model.shipped import resolve_robot

TENSOR = np.array([[0.02, 0.001, 0.0], [0.001, 0.03, -0.002], [0.0, -0.002, 0.025]])


@pytest.fixture(scope='module')
def arm():
    return Robot.from_urdf(resolve_robot('arm7'))


@pytest.fixture(scope='module')
def tree(shared):
    return Robot.from_urdf(shared / 'data' / 'urdf' / 'baxter.urdf')


def motion(robot):
    return np.random.default_rng(1).uniform(-1.0, 1.0, (3, robot.n))


def test_payload_in_a_frame_against_pinocchio(arm):
    model = pinocchio.buildModelFromUrdf(str(resolve_robot('arm7')))
    flange = model.frames[model.getFrameId('flange')]
    model.appendBodyToJoint(flange.parentJoint, pinocchio.Inertia(2.0, np.array([0.02, 0, 0.18]),
                                                                  TENSOR), flange.placement)
    q, v, a = motion(arm)
    loaded = with_payload(arm, 2.0, [0.02, 0, 0.18], TENSOR, 'flange')
    np.testing.assert_allclose(Dynamics(loaded).inverse_dynamics(q, v, a),
                               pinocchio.rnea(model, model.createData(), q, v, a), rtol=1e-11)


def test_default_is_the_last_link(arm):
    one = with_payload(arm, 2.0, [0.02, 0, 0.287], TENSOR)
    np.testing.assert_array_equal(
        one.parameters, with_payload(arm, 2.0, [0.02, 0, 0.287], TENSOR, 'link7').parameters)
    np.testing.assert_allclose(
        one.parameters, with_payload(arm, 2.0, [0.02, 0, 0.18], TENSOR, 'flange').parameters,
        atol=1e-15)
    np.testing.assert_array_equal(one.parameters[:60], arm.parameters[:60])


def test_point_mass_feels_its_weight(arm):
    q, step = motion(arm)[0], 1e-6
    empty, loaded = Dynamics(arm), Dynamics(with_payload(arm, 1.5, [0, 0, 0], frame='flange'))
    heights = empty.forward_kinematics(q + step * np.stack([np.eye(arm.n), -np.eye(arm.n)]),
                                       'flange')[..., 2, 3]
    np.testing.assert_allclose(loaded.gravity_torque(q) - empty.gravity_torque(q),
                               1.5 * 9.81 * (heights[0] - heights[1]) / (2 * step), atol=1e-7)


def test_original_is_not_changed(arm):
    before = arm.parameters.copy()
    with_payload(arm, 2.0, [0, 0, 0.1])
    with_scaled_masses(arm, 1.3)
    np.testing.assert_array_equal(arm.parameters, before)


def test_several_last_links_need_a_frame(tree):
    with pytest.raises(ModelError, match=r'has several last links; name the frame.*head'):
        with_payload(tree, 1.0, [0, 0, 0])
    loaded = with_payload(tree, 1.0, [0, 0, 0], frame='left_gripper')
    added = loaded.inertial_parameters[:, 0] - tree.inertial_parameters[:, 0]
    assert added[tree.frames['left_gripper'].body] == pytest.approx(1.0)
    assert np.count_nonzero(added) == 1


def test_scaled_masses(arm):
    q, v, a = motion(arm)
    heavy = with_scaled_masses(arm, 1.3)
    np.testing.assert_allclose(Dynamics(heavy).inverse_dynamics(q, v, a),
                               1.3 * Dynamics(arm).inverse_dynamics(q, v, a), rtol=1e-12)
    _, before, _ = com_from_parameters(arm.inertial_parameters)
    _, after, _ = com_from_parameters(heavy.inertial_parameters)
    np.testing.assert_allclose(after, before, atol=1e-15)


def test_scaled_mass_of_one_link(arm):
    scaled = with_scaled_masses(arm, {'link3': 2, 'link5': np.float64(0.5)})
    factors = np.array([1, 1, 2, 1, 0.5, 1, 1])
    np.testing.assert_array_equal(scaled.inertial_parameters,
                                  factors[:, None] * arm.inertial_parameters)


@pytest.mark.parametrize(('arguments', 'error', 'message'), [
    ({'frame': 'flang'}, ModelError, 'flang is not a frame of the robot; did you mean flange'),
    ({'frame': 'link0'}, ModelError, 'link0 is fixed to the base.*; name a frame'),
    ({'mass': 0.0}, ModelError, 'payload mass must be a positive number, got 0.0'),
    ({'mass': -1.0}, ModelError, 'payload mass must be a positive number, got -1.0'),
    ({'mass': float('nan')}, ModelError, 'payload mass must be a positive number, got nan'),
    ({'mass': 10**5000}, ModelError, 'payload mass must be .* got a huge number'),
    ({'mass': True}, ModelError, 'payload mass must be a positive number, got True'),
    ({'mass': '2'}, ModelError, "payload mass must be a positive number, got '2'"),
    ({'com': [0, 0]}, DimensionError, r'payload com must have shape \(3,\), got \(2,\)'),
    ({'inertia': [1, 1, 1]}, DimensionError,
     r'payload inertia must have shape \(3, 3\), got \(3,\)'),
    ({'inertia': np.diag([1, 1, 3])}, InertiaError, 'payload has an inertia that no .*triangle'),
    ({'inertia': np.diag([1, 1, -1])}, InertiaError, 'payload has an inertia that no '),
    ({'inertia': [[1, 0.1, 0], [0, 1, 0], [0, 0, 1]]}, InertiaError, 'must be symmetric'),
    ({'com': [0, 0, np.inf]}, ModelError, 'payload com contains NaN or inf'),
    ({'com': 'here'}, DimensionError, 'payload com must hold real numbers'),
    ({'com': [None, 0, 0]}, DimensionError, 'payload com must hold real numbers'),
    ({'inertia': 1j * np.eye(3)}, DimensionError, 'payload inertia must hold real numbers'),
    ({'frame': ['flange']}, ModelError, 'is not a frame of the robot'),
    ({'mass': 1e300}, ModelError, 'payload must have numbers within'),
    ({'com': [1e300, 0, 0]}, ModelError, 'payload must have numbers within'),
])
def test_bad_payload(arm, arguments, error, message):
    with pytest.raises(error, match=message):
        with_payload(arm, **({'mass': 1.0, 'com': [0, 0, 0]} | arguments))


@pytest.mark.parametrize(('factor', 'message'), [
    ({'link9': 1.0}, 'link9 is not a moving link of the robot; did you mean link.*link7'),
    ({'link1': 0.0}, 'mass factor of link1 must be a positive number, got 0.0'),
    (float('inf'), 'mass factor of link1 must be a positive number, got inf'),
    (None, 'mass factor of link1 must be a positive number, got None'),
])
def test_bad_factor(arm, factor, message):
    with pytest.raises(ModelError, match=message):
        with_scaled_masses(arm, factor)


def test_payload_in_every_frame_against_its_jacobian(tree):
    """A point mass adds m J^T J to the mass matrix and -m J^T g to gravity's torque."""
    q, com, mass = motion(tree)[0], np.array([0.05, -0.1, 0.2]), 1.7
    bare = Dynamics(tree)
    for name, frame in tree.frames.items():
        if frame.body < 0:
            continue
        at_com = np.array(frame.pose)
        at_com[:3, 3] += at_com[:3, :3] @ com
        located = replace(tree, frames={**tree.frames, 'com': Frame(frame.body, at_com)})
        J = Dynamics(located).jacobian(q, 'com')[:3]
        loaded = Dynamics(with_payload(tree, mass, com, frame=name))
        np.testing.assert_allclose(loaded.mass_matrix(q) - bare.mass_matrix(q), mass * J.T @ J,
                                   atol=1e-12)
        np.testing.assert_allclose(loaded.gravity_torque(q) - bare.gravity_torque(q),
                                   -mass * J.T @ tree.gravity, atol=1e-12)
