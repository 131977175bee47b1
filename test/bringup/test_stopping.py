# SPDX-License-Identifier: Apache-2.0
"""A node that is told to stop more than once still ends cleanly."""

import signal
import subprocess
import sys
import time

import pytest

from robot_dynamics.bringup.command import child_environment

pytestmark = pytest.mark.ros


@pytest.mark.timeout(120)
def test_many_interrupts_are_one():
    pytest.importorskip('rclpy', reason='needs ROS 2')
    process = subprocess.Popen(
        [sys.executable, '-m', 'robot_dynamics.nodes.adaptive_controller', '--ros-args',
         '-p', 'robot:=arm7'], env=child_environment(), stderr=subprocess.PIPE, text=True)
    with process:
        for line in process.stderr:
            if 'not activated yet' in line:
                break
        deadline = time.monotonic() + 20.0
        while process.poll() is None and time.monotonic() < deadline:
            process.send_signal(signal.SIGINT)
            time.sleep(0.005)
        if process.poll() is None:
            process.kill()
    assert process.returncode == 0
