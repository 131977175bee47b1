# SPDX-License-Identifier: Apache-2.0
"""The frame around every node, without ROS."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from robot_dynamics.bringup.processes import child_environment

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


@pytest.mark.ros
@pytest.mark.parametrize('is_writable', [False, True])
def test_logs_are_kept_elsewhere_where_the_home_cannot_be_written(tmp_path, is_writable):
    home, cache = tmp_path / 'home', tmp_path / 'cache'
    cache.mkdir()
    home.mkdir() if is_writable else home.write_text('not a directory')
    environment = {name: value for name, value in child_environment().items()
                   if name not in ('ROS_LOG_DIR', 'ROS_HOME', 'NUMBA_CACHE_DIR')}
    answer = subprocess.run(
        [sys.executable, '-c', 'import os\nfrom robot_dynamics.nodes.ros import runtime\n'
                               'runtime.started_context(None).shutdown()\n'
                               'print(os.environ.get("ROS_LOG_DIR"))'],
        env={**environment, 'HOME': str(home), 'XDG_CACHE_HOME': str(cache)}, check=True,
        text=True, stdout=subprocess.PIPE, timeout=300.0)
    expected = None if is_writable else cache / 'robot_dynamics' / 'log'
    assert answer.stdout.split()[-1] == str(expected)
