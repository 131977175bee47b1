# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace

import pytest

from robot_dynamics.nodes.ros.driver_controller import DriverController

JOINTS = ('joint1', 'joint2')
CONTROLLER = DriverController('/effort_controller', '/controller_manager', 'active', JOINTS,
                              ('joint1/effort', 'joint2/effort'))


def test_nothing_is_wrong_with_the_same_joints():
    assert CONTROLLER.why_other_joints(JOINTS, ordered=True) is None
    assert CONTROLLER.why_inactive() is None
    # A node of which nothing is known.
    bare = DriverController('/driver')
    assert bare.why_other_joints(JOINTS, ordered=True) is None and bare.why_inactive() is None


def test_another_order_names_both():
    reason = CONTROLLER.why_other_joints(JOINTS[::-1], ordered=True)
    assert '/effort_controller' in reason and 'command_joints' in reason
    assert 'joint1, joint2' in reason and 'joint2, joint1' in reason
    # Messages with names may have any order.
    assert CONTROLLER.why_other_joints(JOINTS[::-1], ordered=False) is None


@pytest.mark.parametrize('joints', [('joint1',), ('joint1', 'joint3'),
                                    ('joint1', 'joint2', 'joint3')])
@pytest.mark.parametrize('ordered', [True, False])
def test_another_set_names_both(joints, ordered):
    reason = CONTROLLER.why_other_joints(joints, ordered=ordered)
    assert 'joint1, joint2' in reason and ', '.join(joints) in reason


@pytest.mark.parametrize(('claimed', 'words'), [
    (('joint1/position', 'joint2/position'), 'no joint'),
    (('joint1/effort',), 'of joint1, and'),
    (('arm/joint1/effort', 'arm/joint2/effort', 'arm/joint3/effort'), 'joint1, joint2, joint3')])
def test_claimed_interfaces_decide_while_it_is_active(claimed, words):
    other = replace(CONTROLLER, claimed=claimed, joints=())
    assert words in other.why_other_joints(JOINTS, ordered=True)
    assert replace(other, state='inactive').why_other_joints(JOINTS, ordered=True) is None


def test_interfaces_behind_another_controller_count():
    chained = replace(CONTROLLER, claimed=('filter/joint1/effort', 'filter/joint2/effort'))
    assert chained.why_other_joints(JOINTS, ordered=True) is None


@pytest.mark.parametrize(('manager', 'command'), [
    ('/controller_manager', 'ros2 control switch_controllers --activate effort_controller'),
    ('/left/controller_manager', 'ros2 control switch_controllers --activate effort_controller '
                                 '-c /left/controller_manager')])
def test_an_inactive_controller_comes_with_the_command(manager, command):
    idle = replace(CONTROLLER, manager=manager, state='inactive')
    assert idle.why_inactive() == \
        f'/effort_controller is inactive and applies no efforts; {command}'
