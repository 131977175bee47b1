# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from robot_dynamics.errors import ModelError, SimulationError
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import shipped_robots
from robot_dynamics.simulation.mjcf import principal_inertia, quaternion, robot_to_mjcf


@pytest.mark.parametrize('angle', [0.0, 1e-9, 0.3, np.pi / 2.0, np.pi - 1e-9, np.pi, 5.0])
def test_quaternion_turns_as_the_matrix_does(angle):
    axis = np.array([0.6, -0.48, 0.64])
    cross = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    rotation = (np.cos(angle) * np.eye(3) + np.sin(angle) * cross
                + (1.0 - np.cos(angle)) * np.outer(axis, axis))
    w, x, y, z = quaternion(rotation)
    assert w * w + x * x + y * y + z * z == pytest.approx(1.0, abs=1e-15)
    back = np.array([[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                     [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                     [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]])
    np.testing.assert_allclose(back, rotation, atol=1e-14)


def test_principal_inertia_puts_the_body_together_again(branching):
    for parameters in branching.inertial_parameters:
        mass, centre, moments, axes = principal_inertia(parameters)
        about_origin = (axes @ np.diag(moments) @ axes.T
                        + mass * (centre @ centre * np.eye(3) - np.outer(centre, centre)))
        assert np.linalg.det(axes) == pytest.approx(1.0)
        np.testing.assert_allclose(
            np.concatenate([[mass], mass * centre, about_origin[np.triu_indices(3)]]),
            parameters, atol=1e-12)


def test_joint_properties_are_written_with_every_digit(pendulum):
    robot = replace(pendulum, friction=[0.1 + 0.2], damping=[1.0 / 3.0], armature=[0.07])
    joint = ElementTree.fromstring(robot_to_mjcf(robot)).find('.//joint')
    assert float(joint.get('frictionloss')) == 0.1 + 0.2
    assert float(joint.get('damping')) == 1.0 / 3.0
    assert float(joint.get('armature')) == 0.07
    assert [float(value) for value in joint.get('range').split()] == [-2.0, 2.0]


def test_joint_limits_can_be_left_out(pendulum):
    joint = ElementTree.fromstring(robot_to_mjcf(pendulum, joint_limits=False)).find('.//joint')
    assert joint.get('range') is None


def test_names_of_any_characters_are_kept(pendulum):
    text = robot_to_mjcf(replace(pendulum, body_names=('a<b>&"c"',)))
    assert ElementTree.fromstring(text).find('.//body').get('name') == 'a<b>&"c"'


def test_a_mimic_joint_becomes_a_constraint(gripper):
    root = ElementTree.fromstring(robot_to_mjcf(gripper))
    constraint = root.find('equality/joint')
    assert constraint.get('joint1') == 'right_finger'
    assert constraint.get('joint2') == 'left_finger'
    assert [float(x) for x in constraint.get('polycoef').split()] == [0.2, -0.5, 0.0, 0.0, 0.0]


def test_a_robot_that_floats_is_refused():
    robot = Robot.from_urdf(shipped_robots()['arm7'], floating_base=True)
    with pytest.raises(ModelError, match='floating_base is floating, but the simulated arm needs'):
        robot_to_mjcf(robot)


def test_a_joint_that_mimics_two_is_refused(gripper):
    coupling = gripper.coupling.copy()
    coupling[gripper.body_joint_names.index('right_finger')] = [0.3, -0.5]
    with pytest.raises(SimulationError, match='right_finger must mimic one joint') as caught:
        robot_to_mjcf(replace(gripper, coupling=coupling))
    assert 'lock it' in caught.value.remedy


def test_a_coordinate_that_is_no_joint_is_refused(gripper):
    coupling = gripper.coupling.copy()
    coupling[gripper.body_joint_names.index('left_finger')] *= 2.0
    with pytest.raises(SimulationError, match='left_finger must move one to one'):
        robot_to_mjcf(replace(gripper, coupling=coupling))


def test_every_shipped_robot_is_written():
    for name, path in shipped_robots().items():
        read = Robot.from_dh if path.suffix == '.yaml' else Robot.from_urdf
        robot = read(path)
        root = ElementTree.fromstring(robot_to_mjcf(robot))
        assert len(root.findall('.//body')) == robot.n_bodies, name
