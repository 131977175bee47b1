# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from robot_dynamics.bringup.plants import (
    LARGEST_EFFORT,
    LARGEST_SAG,
    LARGEST_SHARE,
    fit_payload,
    hand,
    sag,
)
from robot_dynamics.control.feedback.drives import ROTOR_SHARE
from robot_dynamics.control.feedback.gains import FeedbackGains
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import shipped_robots

PLANT = {'payload_mass': 2.0, 'payload_com': [0.0, 0.0, 0.15], 'mass_scale': 0.8}


def tree(parents, mass=1.0, limit='effort="9"'):
    """A robot of equal links; parents by name, 'base' for none."""
    joints = ''.join(
        f'<joint name="j_{child}" type="revolute"><parent link="{parent}"/><child link="{child}"/>'
        '<axis xyz="0 1 0"/><limit lower="-1" upper="1" velocity="1" ' + limit + '/></joint>'
        f'<link name="{child}"><inertial><mass value="{mass}"/><inertia ixx="1" iyy="1" izz="1" '
        'ixy="0" ixz="0" iyz="0"/></inertial></link>' for child, parent in parents.items())
    return Robot.from_urdf(f'<robot name="tree"><link name="base"/>{joints}</robot>')


ARM = {'a': 'base', 'b': 'a', 'c': 'b'}


@pytest.mark.parametrize(('parents', 'expected'), [
    (ARM, 'c'),
    ({**ARM, 'left': 'c', 'right': 'c'}, 'c'),
    ({**ARM, 'left': 'c', 'right': 'c', 'left_tip': 'left', 'right_tip': 'right'}, 'c'),
    # A thumb alone is where the arm ends.
    ({**ARM, 'thumb': 'c'}, 'thumb'),
    # A head, and wheels, hold nothing.
    ({**ARM, 'head': 'a', 'wheel': 'base'}, 'c'),
    # Two arms: the first one, not the trunk.
    ({'trunk': 'base', 'l1': 'trunk', 'l2': 'l1', 'r1': 'trunk', 'r2': 'r1'}, 'l2'),
    ({'l1': 'base', 'l2': 'l1', 'l3': 'l2', 'r1': 'base', 'r2': 'r1', 'r3': 'r2'}, 'l3')])
def test_the_hand(parents, expected):
    robot = tree(parents)
    assert robot.body_names[hand(robot)] == expected


def fitted(robot, plant=PLANT):
    return fit_payload(robot, plant, np.zeros((1, robot.n)))


def test_the_robot_the_payload_was_written_for_keeps_it():
    assert fitted(Robot.from_urdf(shipped_robots()['arm7'])) == {}


def test_a_light_arm_gets_less_of_the_same_material():
    payload = fitted(tree(ARM))
    assert payload['payload_mass'] == pytest.approx(3 * LARGEST_SHARE)
    assert payload['payload_com'][2] == pytest.approx(0.15 * np.cbrt(0.45 / 2.0), abs=1e-3)
    assert 'payload_frame' not in payload


def test_only_a_robot_with_several_last_links_gets_a_payload_frame():
    robot = tree({**ARM, 'left': 'c', 'right': 'c'}, mass=10.0)
    assert fitted(robot) == {'payload_frame': 'c'}
    assert fitted(robot, {**PLANT, 'payload_frame': 'left'}) == {}


def test_no_payload_nothing_to_fit():
    robot = tree({**ARM, 'left': 'c', 'right': 'c'})
    assert fitted(robot, {'payload_mass': 0.0}) == {}
    assert fitted(robot, {}) == {}


def test_a_robot_without_masses_is_not_changed():
    assert fitted(tree(ARM, mass=0.0)) == {}


def test_the_sag_is_what_the_feedback_leaves():
    # One joint about a horizontal axis, its link centred on it, and the payload beside it.
    robot = tree({'a': 'base'}, mass=10.0)
    gains = FeedbackGains()
    plant = {'payload_mass': 2.0, 'payload_com': [0.3, 0.0, 0.0], 'mass_scale': 0.8}
    inertia = 1.0 + ROTOR_SHARE * 9.0
    expected = 2.0 * 9.81 * 0.3 / (inertia * gains.bandwidth * gains.error_rate)
    assert sag(robot, plant, np.zeros((1, 1))) == pytest.approx(expected)
    # Above the axis there is no lever.
    assert sag(robot, plant, np.full((1, 1), -np.pi / 2)) == pytest.approx(0.0, abs=1e-12)
    # The worst posture counts.
    assert sag(robot, plant, np.array([[-np.pi / 2], [0.0]])) == pytest.approx(expected)


def test_a_wrist_is_not_pulled_far_away():
    robot = Robot.from_urdf(shipped_robots()['puma560'])
    # The wrist holds a long payload out to the side.
    plant = {**PLANT, 'payload_mass': 5.0, 'payload_com': [0.0, 0.0, 0.9]}
    postures = np.array([[0.0, 0.0, 0.0, 0.0, np.pi / 2, 0.0]])
    assert sag(robot, plant, postures) > LARGEST_SAG
    payload = fit_payload(robot, plant, postures)
    assert 0.05 < payload['payload_mass'] < 5.0
    assert sag(robot, {**plant, **payload}, postures) <= LARGEST_SAG
    heavier = payload['payload_mass'] / 0.8
    scale = np.cbrt(heavier / 5.0)
    assert sag(robot, {**plant, 'payload_mass': heavier, 'payload_com': [0, 0, 0.9 * scale]},
               postures) > LARGEST_SAG


def test_a_payload_beyond_the_effort_limit_is_reduced():
    """Baxter's shoulder holds its own arm with 0.8 of its limit, and 2 kg with 1.2 of it."""
    robot = tree({'a': 'base'}, mass=10.0, limit='effort="9"')
    # 1.5 kg at 1 m: 14.7 N m. With its density, 0.8 of a mass has 0.93 of its lever.
    plant = {'payload_mass': 1.5, 'payload_com': [1.0, 0.0, 0.0], 'mass_scale': 1.0}
    payload = fitted(robot, plant)
    torque = 9.81 * payload['payload_mass'] * payload['payload_com'][0]
    assert 0.74 * LARGEST_EFFORT * 9.0 < torque <= LARGEST_EFFORT * 9.0


def test_a_joint_that_moves_no_mass_sags_without_end():
    robot = tree(ARM, limit='effort="0"')
    parameters = np.array(robot.inertial_parameters)
    parameters[-1] = 0.0
    assert sag(robot.with_parameters(parameters), PLANT, np.zeros((1, 3))) == np.inf
