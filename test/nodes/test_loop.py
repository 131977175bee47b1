# SPDX-License-Identifier: Apache-2.0
"""The whole loop: simulated arm, controller and reference in processes of their own.

The arm waits for its controller: a machine that is busy, or stands still, makes it slow. In
wall time the loop is judged by the nodes' other tests and by ``benchmark/loop.py``.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import rclpy
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String

from robot_dynamics.bringup.processes import child_environment
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import resolve_robot
from robot_dynamics.nodes.ros import qos
from robot_dynamics.nodes.ros.transports import without_shared_memory

pytest.importorskip('mujoco', reason='the simulated arm needs MuJoCo')

REPOSITORY = Path(__file__).resolve().parents[2]
CONTROLLER = 'adaptive_controller'
#: The arm differs from the model: it carries 2 kg and its links are lighter.
PLANT = {'payload_mass': 2.0, 'mass_scale': 0.77}
#: The arm gives up waiting before its controller gives up hearing of it. s.
WAIT, STATE_TIMEOUT = 1.5, 2.0
#: How long the arm is led before its controller learns. s.
WITHOUT_LEARNING = 6.0
LIMITS = Robot.from_urdf(resolve_robot('arm7')).limits.effort


class System:
    """Processes in a DDS domain of their own, and what they say."""

    def __init__(self, environment, **controller):
        self._environment = environment
        domain = int(environment['ROS_DOMAIN_ID'])
        self._context = Context()
        with without_shared_memory():
            rclpy.init(args=[], context=self._context, domain_id=domain)
        self.node = Node('observer', context=self._context)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self.node)
        self.modes: list[str] = []
        self.errors: list[tuple[float, float]] = []
        self.estimates: list[np.ndarray] = []
        self._estimate_times: list[float] = []
        self.node.create_subscription(
            String, f'{CONTROLLER}/mode', lambda m: self.modes.append(m.data), qos.latched())
        self.node.create_subscription(
            JointState, f'{CONTROLLER}/tracking_error', self._on_error, qos.telemetry())
        self.node.create_subscription(
            Float64MultiArray, f'{CONTROLLER}/parameter_estimate',
            self._on_estimate, qos.telemetry())
        self.node.create_subscription(
            Float64MultiArray, 'effort_controller/commands', self._on_command,
            QoSProfile(depth=100))
        self.worst = 0.0
        self._children = [
            self._start('simulated_arm', hold_time=0.15, wait_for_commands=WAIT, **PLANT),
            self._start(CONTROLLER, telemetry_rate=25, state_timeout=STATE_TIMEOUT, **controller),
            self._start('reference')]

    def _start(self, name: str, **parameters) -> subprocess.Popen[str]:
        command = [sys.executable, '-m', f'robot_dynamics.nodes.{name}', '--ros-args',
                   '-p', 'robot:=arm7', '-p', 'use_sim_time:=true']
        for key, value in parameters.items():
            command += ['-p', f'{key}:={value}']
        return subprocess.Popen(command, env=self._environment, cwd=REPOSITORY, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def _on_error(self, message: JointState) -> None:
        square = float(np.mean(np.square(message.position)))
        stamp = message.header.stamp
        self.errors.append((stamp.sec + 1e-9 * stamp.nanosec, square))

    def _on_estimate(self, message: Float64MultiArray) -> None:
        self.estimates.append(np.array(message.data))
        # The error of the same cycle came before it, if the arm is led at all.
        self._estimate_times.append(self.errors[-1][0] if self.errors else -np.inf)

    def _on_command(self, message: Float64MultiArray) -> None:
        # NaN compares false with everything, so it counts as worst.
        share = np.abs(np.array(message.data)) / LIMITS
        self.worst = max(self.worst, np.inf if np.isnan(share).any() else float(share.max()))

    def spin(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0.0:
            self._executor.spin_once(timeout_sec=left)

    @property
    def motion_time(self) -> float:
        """Time since the error was first told, s; it is told while tracking."""
        return self.errors[-1][0] - self.errors[0][0] if self.errors else 0.0

    def learning_began(self) -> float:
        """Return when the estimate was first another one, by the errors heard with it. s."""
        differs = np.any(np.array(self.estimates) != self.estimates[0], axis=1)
        assert differs.any(), 'nothing is learnt'
        first = int(np.argmax(differs))
        assert first > 25, 'hardly anything was heard before'
        return self._estimate_times[first]

    def rms(self, begin: float, end: float) -> float:
        """Return the RMS error between two stamps. rad."""
        squares = [square for stamp, square in self.errors if begin <= stamp < end]
        assert len(squares) > 10
        return float(np.sqrt(np.mean(squares)))

    def stop(self) -> list[tuple[int, str]]:
        """End everything; return exit status and stderr of each process."""
        results = []
        for child in reversed(self._children):
            child.send_signal(signal.SIGINT)
            try:
                _, errors = child.communicate(timeout=10.0)
            except subprocess.TimeoutExpired:
                child.kill()
                _, errors = child.communicate()
            results.append((child.returncode, errors))
        self.node.destroy_node()
        self._context.try_shutdown()
        return results


@pytest.fixture
def make_system(monkeypatch):
    systems: list[System] = []

    def make(**controller) -> System:
        monkeypatch.delenv('ROS_DOMAIN_ID', raising=False)
        environment = child_environment()
        # This process is a participant as well.
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        systems.append(System(environment, **controller))
        return systems[-1]

    yield make
    for system in systems:
        if any(child.poll() is None for child in system._children):
            system.stop()


def run(system: System, seconds: float, patience: float = 400.0) -> None:
    """Wait until the arm has been led for so long, or is safe."""
    end = time.monotonic() + patience
    while system.motion_time < seconds and 'safe' not in system.modes:
        assert time.monotonic() < end, (system.modes, system.stop())
        system.spin(0.2)


@pytest.mark.slow
@pytest.mark.timeout(500)
@pytest.mark.parametrize('style', ['single', 'waitset'])
def test_tracking_gets_better_as_soon_as_it_learns(make_system, style):
    system = make_system(spin=style, adapt_after=WITHOUT_LEARNING)
    run(system, 16.0)
    results = system.stop()
    assert [status for status, _ in results] == [0, 0, 0], results
    assert system.modes[-1] in ('tracking', 'stopped') and 'safe' not in system.modes, results
    learns = system.learning_began()
    # Estimates are told with the error, some 25 times a second.
    assert WITHOUT_LEARNING - 0.5 < learns - system.errors[0][0] < WITHOUT_LEARNING + 0.5
    before, after = system.rms(learns - 3.5, learns), system.rms(learns + 6.0, learns + 9.5)
    assert 0.0 < system.worst <= 1.0
    assert before > 0.002  # the arm is not the model
    assert after < 0.2 * before, (before, after)
    assert not np.allclose(system.estimates[0], system.estimates[-1])


def good_start(system: System) -> str | None:
    """Return what was wrong with a start, None where nothing was."""
    if system.modes[-1:] != ['tracking'] or 'safe' in system.modes:
        return f'modes {system.modes}'
    if not system.worst <= 1.0:
        return f'effort {system.worst} of the limit'
    worst = float(np.sqrt(max(square for _, square in system.errors)))
    if not worst < 0.05:
        return f'error {worst}'
    if not np.all(np.isfinite(system.estimates[-1])):
        return 'estimates are not finite'
    return None


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_ten_cold_starts(make_system):
    bad = []
    for _ in range(5):
        pair = [make_system(spin=style) for style in ('single', 'waitset')]
        end = time.monotonic() + 120.0
        while any(system.motion_time < 2.5 and 'safe' not in system.modes for system in pair) \
                and time.monotonic() < end:
            for system in pair:
                system.spin(0.05)
        for system in pair:
            reason = good_start(system)
            results = system.stop()
            if reason or any(status for status, _ in results):
                bad.append((reason, results))
    assert bad == []
