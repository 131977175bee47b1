# SPDX-License-Identifier: Apache-2.0
"""The system under test: real nodes in processes of their own, each of which may be ended."""

from __future__ import annotations

import os
import signal
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from robot_dynamics.bringup.processes import NodeProcess
from robot_dynamics.bringup.runner import Line, ProcessRunner
from robot_dynamics.bringup.system import System

from .link import ARM_CLOCK, ARM_STATES

ARM, CONTROLLER = 'simulated_arm', 'adaptive_controller'
REFERENCE, INVERSE_DYNAMICS = 'reference', 'inverse_dynamics'
#: How long a node may take until it has taken signals over. s.
HANDLERS_TIMEOUT = 20.0


@dataclass(frozen=True)
class Setup:
    """What differs between systems.

    Parameters
    ----------
    rate : float
        Joint states a second. Hz.
    spin : str
        How nodes wait.
    controller : str
        The law.
    use_sim_time : bool
        Whether time comes from ``/clock``.
    resume_after : int
        Good states after which the controller resumes by itself; 0: never.
    """

    rate: float
    spin: str
    controller: str
    use_sim_time: bool
    resume_after: int

    #: As the controller has it by default. s.
    state_timeout = 0.1
    safe_command_count = 5
    robot = 'arm7'

    def processes(self, seed: int) -> dict[str, NodeProcess]:
        """Return the nodes by name; the arm's states go to the link and nowhere else."""
        system = System(robot=self.robot, controller=self.controller, rate=self.rate,
                        use_sim_time=self.use_sim_time, spin=self.spin, seed=seed,
                        parameters={CONTROLLER: {
                            'resume_after': self.resume_after,
                            'state_timeout': self.state_timeout,
                            'safe_command_count': self.safe_command_count}})
        nodes = {node.node: replace(node, essential=False) for node in system.processes()}
        nodes[ARM] = replace(nodes[ARM], remappings=(('joint_states', ARM_STATES),
                                                     ('/clock', f'/{ARM_CLOCK}')))
        return nodes


class Nodes:
    """Starts, ends, stops and continues the nodes of a system.

    Parameters
    ----------
    setup : Setup
        The system.
    seed : int
        Seed of its motion and noise.
    environment : mapping of str to str
        Environment of its processes.
    """

    def __init__(self, setup: Setup, seed: int, environment: Mapping[str, str]):
        self._processes = setup.processes(seed)
        self._environment = dict(environment)
        self._runners: dict[str, ProcessRunner] = {}
        #: The last lines each has written.
        self.lines = {name: deque[str](maxlen=30) for name in self._processes}
        #: How many processes were started.
        self.started = 0

    @property
    def names(self) -> tuple[str, ...]:
        """All of them, in the order of starting."""
        return tuple(self._processes)

    @property
    def missing(self) -> tuple[str, ...]:
        """Those that do not run, in the order of starting."""
        return tuple(name for name in self._processes if name not in self._runners)

    def start(self, name: str) -> int:
        """Start a node and return its process id."""
        runner = ProcessRunner([self._processes[name]], on_line=self._note,
                               environment=self._environment)
        runner.__enter__()
        self._runners[name] = runner
        self.started += 1
        return self.pid(name)

    def pid(self, name: str) -> int:
        """Return the process id of a node."""
        (pid,) = self._runners[name].pids.values()
        return pid

    def signal(self, name: str, number: signal.Signals) -> None:
        """Send a signal to a node."""
        os.kill(self.pid(name), number)

    def wait_for_handlers(self, name: str, timeout: float) -> None:
        """Wait until a node has taken signals over, which a Python that imports has not yet."""
        status, end = Path(f'/proc/{self.pid(name)}/status'), time.monotonic() + timeout
        while time.monotonic() < end and self._status(name) is None:
            caught = int(status.read_text().partition('SigCgt:')[2].split()[0], 16)
            if caught & 1 << signal.SIGTERM - 1:
                return
            self._runners[name].poll(0.01)

    def wait_for_end(self, name: str, timeout: float) -> int | None:
        """Return the exit status of a node that was asked to end, None where it goes on."""
        end = time.monotonic() + timeout
        while (status := self._status(name)) is None and time.monotonic() < end:
            self._runners[name].poll(0.01)
        if status is not None:
            self._runners.pop(name).__exit__(None, None, None)
        return status

    def poll(self) -> list[str]:
        """Take what nodes have written; return those that have ended by themselves."""
        for runner in self._runners.values():
            runner.poll(0.0)
        told = []
        for name in [name for name in self._runners if self._status(name) is not None]:
            told.append(f'{name} ended by itself with status {self._status(name)}: '
                        + ' | '.join(self.lines[name]))
            self._runners.pop(name).__exit__(None, None, None)
        return told

    def close(self) -> dict[str, int | None]:
        """End all in reverse order; return their exit statuses."""
        statuses = {}
        for name in self._runners:
            self.wait_for_handlers(name, HANDLERS_TIMEOUT)
        for name in reversed(list(self._runners)):
            runner = self._runners.pop(name)
            runner.__exit__(None, None, None)
            (statuses[name],) = runner.exit_statuses().values()
        return statuses

    def _status(self, name: str) -> int | None:
        (status,) = self._runners[name].exit_statuses().values()
        return status

    def _note(self, line: Line) -> None:
        self.lines[line.process.node].append(line.text)
