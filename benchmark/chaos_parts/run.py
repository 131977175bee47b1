# SPDX-License-Identifier: Apache-2.0
"""Plays scenarios to one system for a while and judges each."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field

import numpy as np

from robot_dynamics.bringup.descriptions import load_description
from robot_dynamics.bringup.processes import child_environment
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import Robot

from .assessment import assess, lost_commands
from .leaks import marked_environment, processes_with
from .link import Link
from .operator import Operator
from .requirements import Requirements, Verdict
from .rig import Nodes, Setup
from .scenario_system import NOT_AT_ALL, START_TIMEOUT, TOO_BUSY, ScenarioSystem
from .scenarios import scenario_at

#: The systems of a run, one after the other: every way of waiting, both kinds of time, a
#: controller that resumes by itself and one that does not, one that learns and one that
#: does not.
SETUPS = (
    Setup(250.0, 'waitset', 'adaptive', use_sim_time=False, resume_after=50),
    Setup(250.0, 'single', 'adaptive', use_sim_time=True, resume_after=50),
    Setup(250.0, 'events', 'fixed', use_sim_time=False, resume_after=0),
)

_OF_DDS = ('ROS_DOMAIN_ID', 'ROS_AUTOMATIC_DISCOVERY_RANGE', 'ROS_LOCALHOST_ONLY')


@dataclass
class Outcome:
    """What came of one scenario.

    Parameters
    ----------
    system, index : int
        Number of the system, and of the scenario in it.
    name : str
        Its name.
    seconds : float
        How long it took with the recovery.
    recovery : float
        How long the recovery took. s.
    how : str
        What brought the system back.
    verdict : Verdict
        What the judge says, and what was seen while it was played.
    """

    system: int
    index: int
    name: str
    seconds: float
    recovery: float
    how: str
    verdict: Verdict


@dataclass
class Run:
    """What came of one system.

    Parameters
    ----------
    seed, system : int
        Seed of the run and number of the system in it.
    outcomes : list of Outcome
        One a scenario.
    lost_commands : int
        Commands published that the observer has not heard.
    processes : int
        Processes started.
    stalls : int
        As of a `Verdict`, outside of scenarios.
    leaked : list of int
        Ids of those that were left at the end.
    findings : list of str
        What was wrong at start and end.
    """

    seed: int
    system: int
    outcomes: list[Outcome] = field(default_factory=list)
    lost_commands: int = 0
    processes: int = 0
    stalls: int = 0
    leaked: list[int] = field(default_factory=list)
    findings: list[str] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        """Time for which scenarios were played. s."""
        return sum(outcome.seconds for outcome in self.outcomes)

    def as_dict(self) -> dict[str, object]:
        """Return it as plain data."""
        return asdict(self)


def play(seed: int, system: int, seconds: float, only: Sequence[int] = (), *,
         print_outcome: Callable[[Outcome], None] = lambda outcome: None) -> Run:
    """Play scenarios to a system.

    Parameters
    ----------
    seed, system : int
        What to play, and to which system.
    seconds : float
        For how long.
    only : sequence of int
        Numbers of the scenarios to play instead of all that time allows.
    tell : callable
        Gets each outcome as soon as it is known.
    """
    setup = SETUPS[system % len(SETUPS)]
    run = Run(seed, system)
    # A domain of its own for each system, whatever the user has chosen for other things.
    environment, mark = marked_environment(child_environment(
        {name: value for name, value in os.environ.items() if name not in _OF_DDS}))
    os.environ.update(environment)
    robot = load_description(setup.robot).robot
    nodes = Nodes(setup, seed, environment)
    link = Link(dict(zip(robot.joint_names, robot.limits.velocity.tolist(), strict=True)))
    operator = Operator()
    tested, requirements = ScenarioSystem(setup, nodes, link, operator), _duties(setup, robot)
    numbers: dict[bytes, int] = {}
    try:
        _play(tested, run, requirements, numbers, seconds, only, print_outcome)
    finally:
        tested.absent()
        for name, status in nodes.close().items():
            if status != 0:
                run.findings.append(f'{name} ended with status {status} at the end: '
                                    + ' | '.join(nodes.lines[name]))
        tested.present()
        _assess_aside(tested, run, requirements, numbers)
        link.close()
        operator.close()
        run.processes = nodes.started
        run.leaked = processes_with(mark)
    return run


def _play(tested: ScenarioSystem, run: Run, requirements: Requirements, numbers: dict[bytes, int],
          seconds: float, only: Sequence[int],
          print_outcome: Callable[[Outcome], None]) -> None:
    """Bring the system up and play."""
    for name in tested.nodes.names:
        tested.start(name)
    tested.absent()
    _, how = tested.recover(by_itself=True, timeout=START_TIMEOUT)
    run.findings += tested.findings
    if how in (NOT_AT_ALL, TOO_BUSY):
        return
    _assess_aside(tested, run, requirements, numbers)
    indices: Iterable[int] = only or iter(range(10**9))
    for index in indices:
        if not only and run.seconds >= seconds:
            return
        outcome = _play_one(tested, run, index, requirements, numbers)
        run.outcomes.append(outcome)
        print_outcome(outcome)
        if outcome.how in (NOT_AT_ALL, TOO_BUSY):
            return


def _assess_aside(tested: ScenarioSystem, run: Run, requirements: Requirements,
                  numbers: dict[bytes, int]) -> None:
    """Assess what was received outside of scenarios."""
    records = tested.link.take()
    verdict = assess(records, requirements, tested.absences)
    run.findings += verdict.findings
    run.stalls += verdict.stalls
    run.lost_commands += lost_commands(records.commands, numbers)


def _play_one(tested: ScenarioSystem, run: Run, index: int, requirements: Requirements,
              numbers: dict[bytes, int]) -> Outcome:
    """Play one scenario, wait until the system has recovered, and judge."""
    scenario, chance = scenario_at(tested.setup, run.seed, run.system, index)
    tested.begin(chance)
    began = time.monotonic()
    tested.wait(chance.uniform(0.3, 0.6))
    scenario.play(tested)
    recovery, how = tested.recover(scenario.passes)
    records = tested.link.take()
    verdict = assess(records, requirements, tested.absences)
    verdict.findings += tested.findings
    run.lost_commands += lost_commands(records.commands, numbers)
    return Outcome(run.system, index, scenario.name, time.monotonic() - began, recovery, how,
                   verdict)


def _duties(setup: Setup, robot: Robot) -> Requirements:
    """Return what the controller of a setup owes."""
    dynamics, still = Dynamics(robot), np.zeros(robot.n)
    inertial = 10 * robot.n_bodies

    def gravity(pose: FloatArray, estimate: Sequence[float] | None) -> list[FloatArray]:
        """Return what carries the arm by the model, and by what was learnt."""
        efforts = [dynamics.gravity_torque(pose)]
        if estimate is not None:
            efforts.append(dynamics.regressor(pose, still, still)
                           @ np.array(estimate[:inertial]))
        return efforts

    return Requirements(robot.limits.effort, setup.state_timeout, 1.0 / setup.rate,
                  setup.safe_command_count, gravity)
