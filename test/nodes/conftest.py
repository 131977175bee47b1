# SPDX-License-Identifier: Apache-2.0
"""Real nodes in real processes on real DDS, in a domain of each test's own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

rclpy = pytest.importorskip('rclpy', reason='ROS 2 (rclpy) is not installed')

from rclpy.context import Context  # noqa: E402
from rclpy.executors import SingleThreadedExecutor  # noqa: E402
from rclpy.node import Node  # noqa: E402

from robot_dynamics.bringup.processes import child_environment  # noqa: E402
from robot_dynamics.nodes.ros.node import NodeParts  # noqa: E402
from robot_dynamics.nodes.ros.transports import overridden, without_shared_memory  # noqa: E402

sys.path.insert(0, str(Path(__file__).parent))
import interfaces  # noqa: E402
from fork_server import ForkServer  # noqa: E402

REPOSITORY = Path(__file__).resolve().parents[2]


#: Modules that start processes without the fixture `domain`.
STARTS_PROCESSES = {'test_chaos.py', 'test_loop.py', 'test_stopping.py'}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of this folder that start nodes; the others only need rclpy."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents and (
                'domain' in item.fixturenames or item.path.name in STARTS_PROCESSES):
            item.add_marker(pytest.mark.ros)
            if here / 'wall_time' in item.path.parents:
                item.add_marker(pytest.mark.wall_time)


@pytest.fixture(scope='session')
def profile_of_this_process() -> None:
    """Let Fast DDS read our profile in this process, which it does once, at the first node.

    An observer without it announces itself for half a second, before the nodes that it waits for
    have started. Fast DDS answers each of them once, and who is not ready for that yet hears
    nothing until the next announcement, three seconds after the last.
    """
    environment = child_environment()
    context = Context()
    with overridden(environment):
        with without_shared_memory():
            rclpy.init(args=[], context=context, domain_id=int(environment['ROS_DOMAIN_ID']))
        Node('first', context=context).destroy_node()
        context.try_shutdown()


@pytest.fixture
def domain(monkeypatch: pytest.MonkeyPatch, profile_of_this_process: None) -> int:
    """A DDS domain of this test's own; the environment of everything it starts says so."""
    for name in ('ROS_DOMAIN_ID', 'ROS_AUTOMATIC_DISCOVERY_RANGE'):
        monkeypatch.delenv(name, raising=False)
    for name, value in child_environment().items():
        monkeypatch.setenv(name, value)
    return int(os.environ['ROS_DOMAIN_ID'])


class PartsNode(NodeParts, Node):
    """A node with the parts of ours and nothing else."""


@pytest.fixture
def make_node(domain: int) -> Iterator[Callable[..., Node]]:
    """Make rclpy nodes in this process from a name and ROS arguments."""
    contexts: list[tuple[Context, Node]] = []

    def make(name: str, *arguments: str) -> Node:
        context = Context()
        with without_shared_memory():
            rclpy.init(args=['--ros-args', *arguments], context=context, domain_id=domain)
        node = PartsNode(name, context=context)
        contexts.append((context, node))
        return node

    yield make
    for context, node in contexts:
        node.destroy_node()
        context.try_shutdown()


class Messages(list[Any]):
    """Messages of a topic, as they come; the last one is waited for where none is there yet.

    A node under test may have found another one and gone on before this observer has found it.

    Parameters
    ----------
    wait : callable
        Serves callbacks until something is so, for some seconds at most.
    topic : str
        Where they come from.
    """

    def __init__(self, wait: Callable[[float, Callable[[], bool]], bool], topic: str):
        super().__init__()
        self._wait, self._topic = wait, topic

    def __getitem__(self, index: Any) -> Any:
        if index == -1 and not self:
            assert self._wait(30.0, lambda: bool(self)), f'nothing comes on {self._topic}'
        return super().__getitem__(index)


class Observer:
    """A node of the test's own that watches, asks and commands.

    Parameters
    ----------
    node : Node
        Its node.
    """

    def __init__(self, node: Node):
        self.node = node
        self._executor = SingleThreadedExecutor(context=node.context)
        self._executor.add_node(node)

    def collect(self, message_type: type, topic: str, profile: Any) -> list[Any]:
        """Return a list that fills with the messages of a topic."""
        messages = Messages(self.spin, topic)
        self.node.create_subscription(message_type, topic, messages.append, profile)
        return messages

    def spin(self, seconds: float, until: Callable[[], bool] = lambda: False) -> bool:
        """Serve callbacks for some time, or until something is so; return whether it is."""
        end = time.monotonic() + seconds
        while not until():
            left = end - time.monotonic()
            if left <= 0.0:
                return False
            self._executor.spin_once(timeout_sec=min(left, 0.05))
        return True

    def call(self, service_type: type, name: str, request: Any, timeout: float = 5.0, *,
             again: bool = True) -> Any:
        """Call a service and return its answer; see `ask`."""
        client = self.node.create_client(service_type, name)
        # A node may have kernels to compile before it spins.
        assert self.spin(max(timeout, 90.0), client.service_is_ready), f'no service {name}'
        answer = self.ask(client, request, timeout, again=again)
        self.node.destroy_client(client)
        return answer

    def ask(self, client: Any, request: Any, timeout: float = 5.0, *, again: bool = True) -> Any:
        """Return the answer to a request.

        A client may have found a server that has not found the client's reader yet. The
        server then drops its answer ("failed to send response (timeout)"), whatever it is,
        and who wants it has to ask again: not for what can be done only once, where some
        time is given instead.
        """
        if not again:
            self.spin(0.3)
        for _ in range(3 if again else 1):
            future = client.call_async(request)
            if self.spin(timeout, future.done):
                return future.result()
        raise AssertionError(f'service {client.srv_name} does not answer')


@pytest.fixture
def observer(make_node: Callable[..., Node]) -> Observer:
    """A node of the test's own."""
    return Observer(make_node('observer'))


@dataclass
class Running:
    """A started node."""

    process: Any

    def stop(self, number: int = signal.SIGINT, timeout: float = 60.0) -> tuple[int, str, str]:
        """Send a signal and return status, stdout and stderr; to hang is a failure."""
        self.process.send_signal(number)
        return self.wait(timeout)

    def wait(self, timeout: float = 60.0) -> tuple[int, str, str]:
        """Wait for the end and return exit status, stdout and stderr."""
        output, errors = self.process.communicate(timeout=timeout)
        return self.process.returncode, output, errors


def _literal(value: Any) -> str:
    """Return a parameter value as YAML."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, tuple)):
        return '[' + ', '.join(_literal(item) for item in value) + ']'
    return json.dumps(str(value)) if isinstance(value, (str, Path)) else repr(value)


@pytest.fixture(scope='session')
def fork_server() -> Iterator[ForkServer]:
    """The process that nodes are forked from."""
    server = ForkServer(REPOSITORY)
    yield server
    server.close()


@pytest.fixture(scope='session')
def control_msgs() -> Iterator[None]:
    """The package control_msgs, for this process and those it starts.

    It is that of ROS 2 where it is installed. Otherwise what is used of it is built from
    test/interfaces, and kept.
    """
    if interfaces.is_installed('control_msgs'):
        yield
        return
    if reason := interfaces.why_not_built():
        pytest.skip(reason)
    prefix = interfaces.build(interfaces.SOURCES / 'control_msgs')
    interfaces.use_here(prefix)
    with overridden(interfaces.environment_with(prefix)):
        yield


@pytest.fixture
def start(domain: int, request: pytest.FixtureRequest) -> Iterator[Callable[..., Running]]:
    """Start a node of this package: ``start('recorder', output=...)``; ended after the test.

    It is forked from a process with all modules, unless the test module sets COLD_STARTS.
    """
    running: list[Running] = []
    is_cold = getattr(request.module, 'COLD_STARTS', False)

    def launch(node: str, *arguments: str, module: str | None = None,
               **parameters: Any) -> Running:
        options = ['--ros-args', *arguments]
        for name, value in parameters.items():
            options += ['-p', f'{name}:={_literal(value)}']
        if is_cold or module:
            command = [sys.executable, '-m', module or f'robot_dynamics.nodes.{node}', *options]
            process = subprocess.Popen(command, text=True, stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, env=os.environ, cwd=REPOSITORY)
        else:
            process = request.getfixturevalue('fork_server').start(
                f'robot_dynamics.nodes.{node}', options, os.environ)
        running.append(Running(process))
        return running[-1]

    yield launch
    for item in running:
        if item.process.poll() is None:
            item.process.kill()
        item.process.communicate()


@pytest.fixture
def start_in_lock_step(start: Callable[..., Running]) -> Callable[..., Running]:
    """As `start`, with simulated time that waits for the controller.

    On a busy machine the arm is slow then, and its controller not late. What is about wall time
    is in the folder wall_time.
    """
    def launch(node: str, *arguments: str, **parameters: Any) -> Running:
        waits: dict[str, Any] = {'use_sim_time': True}
        if node == 'simulated_arm':
            waits |= {'wait_for_commands': 1.5, 'hold_time': 0.5}
        elif node.endswith('_controller'):
            waits |= {'state_timeout': 2.0}
        return start(node, *arguments, **{**waits, **parameters})

    return launch


@pytest.fixture
def make_plan(tmp_path: Path) -> Callable[..., Path]:
    """Write a small excitation plan of a shipped robot: ``make_plan('rpr', start)``."""
    from robot_dynamics.identification.excitation.curves import BSplineBasis, RestToRest
    from robot_dynamics.identification.excitation.design import resting_pose
    from robot_dynamics.identification.excitation.limits import MotionLimits
    from robot_dynamics.identification.excitation.plan import ExcitationPlan
    from robot_dynamics.model.robot import Robot
    from robot_dynamics.model.shipped import resolve_robot

    def make(name: str, *, seconds: float = 3.0, size: float = 0.03, speed: float = 2.0) -> Path:
        robot = Robot.from_urdf(resolve_robot(name))
        start = resting_pose(robot)
        basis = BSplineBasis(seconds, 8)
        x = size * np.random.default_rng(0).normal(size=(basis.count, robot.n))
        path = tmp_path / f'{name}_plan.yaml'
        ExcitationPlan(name, RestToRest(basis, start, x),
                       MotionLimits.for_robot(robot, start, speed=speed)).write(path)
        return path

    return make
