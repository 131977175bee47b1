# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace

import numpy as np
import pytest

from robot_dynamics.bringup.doctor.efforts import Looks, judge_efforts, looks_of_efforts
from robot_dynamics.bringup.doctor.findings import Level
from robot_dynamics.bringup.doctor.replay import replay
from robot_dynamics.bringup.doctor.requirements import Wishes

TOPIC = '/joint_states'

EFFORTS = {
    'torque': (lambda gravity: gravity, Looks.TORQUE),
    'payload': (lambda gravity: 1.3 * gravity + 0.5, Looks.TORQUE),
    'nothing': (lambda gravity: 0.0 * gravity, Looks.NOTHING),
    'current': (lambda gravity: gravity / 12.0, Looks.SCALED),
    'sign': (lambda gravity: -gravity, Looks.REVERSED),
    'other': (lambda gravity: 0.0 * gravity + [9.0, -1.0, 9.0, 1.0, -9.0, 9.0, 9.0], Looks.OTHER),
    'none': (lambda gravity: np.nan * gravity, Looks.UNKNOWN),
}


def seen(robot, stream, name):
    return replay(stream(50, effort=EFFORTS[name][0]), robot, Wishes(), simulated=False)


@pytest.mark.parametrize('name', EFFORTS)
def test_what_efforts_look_like(robot, stream, name):
    assert looks_of_efforts(robot, seen(robot, stream, name))[0] is EFFORTS[name][1]


def test_an_arm_that_gravity_asks_nothing_of_tells_nothing(robot, stream):
    floating = robot.with_gravity((0.0, 0.0, 0.0))
    assert looks_of_efforts(floating, seen(robot, stream, 'nothing'))[0] is Looks.UNKNOWN


@pytest.mark.parametrize(('name', 'kind', 'level', 'words'), [
    ('torque', 'torque', Level.OK, 'efforts are joint torques: 1.00 times'),
    ('nothing', 'torque', Level.ERROR, 'it never sees that the arm obeys'),
    ('current', 'torque', Level.WARNING, '(0.0833 times gravity)'),
    ('sign', 'torque', Level.WARNING, 'of the other sign (-1 times gravity)'),
    ('torque', 'gravity_compensated', Level.WARNING, 'what comes on top of it'),
    ('torque', 'none', Level.NOTE, 'does not use them'),
    ('nothing', 'gravity_compensated', None, ''), ('nothing', 'none', None, ''),
    ('current', 'current', None, ''), ('other', 'torque', None, ''), ('none', 'torque', None, '')])
def test_what_a_controller_takes_them_for(robot, stream, name, kind, level, words):
    remarks = judge_efforts(TOPIC, robot, seen(robot, stream, name), Wishes(effort_kind=kind))
    assert [remark.level for remark in remarks] == ([] if level is None else [level])
    assert all(words in remark.message for remark in remarks)


def test_hardware_that_carries_itself_reports_what_it_was_sent(robot, stream):
    wishes = replace(Wishes(), hardware_gravity_compensation=True)
    assert judge_efforts(TOPIC, robot, seen(robot, stream, 'nothing'), wishes) == []


@pytest.mark.parametrize(('name', 'words'), [
    ('torque', 'effort_kind torque is right'), ('nothing', 'gravity_compensated'),
    ('sign', 'effort_scale to -1'), ('current', 'effort_scale')])
def test_without_a_controller_it_says_what_to_set(robot, stream, name, words):
    (remark,) = judge_efforts(TOPIC, robot, seen(robot, stream, name), None)
    assert remark.level is Level.NOTE
    assert words in remark.remedy
