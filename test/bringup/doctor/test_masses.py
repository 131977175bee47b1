# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace

import numpy as np
import pytest

from robot_dynamics.bringup.descriptions import load_description
from robot_dynamics.bringup.doctor.findings import Level
from robot_dynamics.bringup.doctor.masses import judge_gravity, judge_masses, reach
from robot_dynamics.model.shipped import shipped_robots


def scaled(robot, *, mass=1.0, first=1.0, inertia=1.0):
    """Return a robot whose author mistook units: inertia is that about the centre of mass."""
    from robot_dynamics.model.inertia import com_from_parameters, parameters_from_com
    m, com, tensor = com_from_parameters(robot.inertial_parameters)
    return robot.with_parameters(parameters_from_com(mass * m, first * com, inertia * tensor))


def in_millimetres(robot):
    placements = robot.placements.copy()
    placements[:, :3, 3] *= 1000.0
    frames = {}
    for name, frame in robot.frames.items():
        pose = frame.pose.copy()
        pose[:3, 3] *= 1000.0
        frames[name] = replace(frame, pose=pose)
    return replace(robot, placements=placements, frames=frames)


def messages(remarks, level=Level.WARNING):
    return [f'{remark.message}; {remark.remedy}' for remark in remarks if remark.level is level]


@pytest.mark.parametrize('name', shipped_robots())
def test_the_robots_here_look_right(name, is_well):
    assert is_well(judge_masses(load_description(name).robot))


@pytest.mark.parametrize(('mistake', 'words'), [
    ({'mass': 1e3}, 'were they written in grams?'),
    ({'mass': 1e-3}, 'in tonnes'),
    ({'inertia': 1e6}, 'was it written in kg mm^2?'),
    ({'inertia': 1e9}, 'was it written in g mm^2?'),
    ({'inertia': 1e-8}, 'a body of less than a millimetre'),
    ({'first': 1e3}, 'its <inertial> origin is in metres'),
    ({'first': 0.0}, 'every centre of mass lies in the origin of its link')])
def test_units_that_were_mistaken(robot, mistake, words):
    found = messages(judge_masses(scaled(robot, **mistake)))
    assert len([text for text in found if words in text]) >= 1, found


def test_a_mistake_in_every_link_is_told_once_where_it_says_the_same(robot):
    found = judge_masses(scaled(robot, mass=1e3))
    assert len(found) == 1 and found[0].subject == 'arm7'


def test_lengths_in_millimetres(robot):
    (found,) = messages(judge_masses(in_millimetres(robot)))
    assert 'were they written in millimetres?' in found


def test_placeholders(robot):
    same = np.tile(robot.inertial_parameters[2], (robot.n, 1))
    (found,) = messages(judge_masses(robot.with_parameters(same)))
    assert 'look like placeholders' in found


def test_a_robot_without_mass_is_left_to_the_reader(robot):
    assert judge_masses(robot.with_parameters(np.zeros((robot.n, 10)))) == []


def test_reach_adds_lengths_and_strokes(robot):
    assert 0.9 < reach(robot) < 1.1
    # 2.1 m: 0.5 m, a stroke of 1.5 m and a hand of 0.1 m.
    rpr = load_description('rpr').robot
    assert reach(rpr) > rpr.limits.upper[1]


@pytest.mark.parametrize(('gravity', 'level', 'words'), [
    ((0.0, 0.0, -9.81), Level.OK, '9.81 m/s^2 along -z of'),
    ((0.0, 9.81, 0.0), Level.NOTE, 'along +y'),
    ((0.0, -6.9367, -6.9367), Level.NOTE, 'along (0.00, -0.71, -0.71)'),
    ((0.0, 0.0, -9810.0), Level.WARNING, '9810 m/s^2'),
    ((0.0, 0.0, -1.62), Level.WARNING, '1.62 m/s^2'),
    ((0.0, 0.0, 0.0), Level.NOTE, 'there is none')])
def test_gravity(robot, gravity, level, words):
    (remark,) = judge_gravity(robot.with_gravity(gravity))
    assert remark.level is level
    assert words in remark.message
