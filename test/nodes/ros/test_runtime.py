# SPDX-License-Identifier: Apache-2.0
"""The frame around every node, without ROS."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytest.importorskip('rclpy', reason='ROS 2 (rclpy) is not installed')

#: Prints whether a node has kept the real-time priority that it was started with.
PROGRAM = """
import importlib, os, sys
from robot_dynamics.nodes.ros import runtime
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
runtime._run = lambda *_: print(os.sched_getscheduler(0) == os.SCHED_FIFO)
sys.exit(importlib.import_module(f'robot_dynamics.nodes.{sys.argv[1]}').main([]))
"""


@pytest.fixture(scope='module')
def _may_be_real_time():
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except PermissionError:
        pytest.skip('real-time priorities need a permission')
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


@pytest.mark.usefixtures('_may_be_real_time')
@pytest.mark.parametrize(('node', 'keeps'), [
    ('pd_gravity_controller', True), ('command_guard', True), ('simulated_arm', True),
    ('reference', False), ('recorder', False), ('inverse_dynamics', False)])
def test_only_what_controls_the_arm_keeps_a_real_time_priority(node, keeps):
    answer = subprocess.run([sys.executable, '-c', PROGRAM, node], check=True, text=True,
                            stdout=subprocess.PIPE, timeout=300.0)
    assert answer.stdout.split() == [str(keeps)]
