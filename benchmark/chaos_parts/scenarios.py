# SPDX-License-Identifier: Apache-2.0
"""What is done to a system: the catalogue, and the order a seed plays it in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from random import Random

from . import faults, scenarios_of_operators, scenarios_of_processes
from .faults import Fault
from .rig import Setup
from .scenario_system import ScenarioSystem
from .states import CORRUPTIONS, Belief

#: A controller that was held up for longer may not have heard of a second publisher yet. s.
_HELD_UP = 0.1


@dataclass(frozen=True)
class Scenario:
    """One thing that may happen.

    Parameters
    ----------
    name : str
        Its name.
    play : callable
        Does it on a stage.
    passes : bool
        Whether a controller that is set up to resume has to do so by itself.
    suits : callable
        Whether it can be played with a setup.
    """

    name: str
    play: Callable[[ScenarioSystem], None]
    passes: bool = True
    suits: Callable[[Setup], bool] = lambda setup: True


def _always(setup: Setup) -> bool:
    return True


def _fault(name: str, make: Callable[[Random], Fault], least: float, most: float, *,
           passes: bool = True, suits: Callable[[Setup], bool] = _always) -> Scenario:
    """Return a scenario that lets a fault act for a time between least and most, in s."""
    def play(tested: ScenarioSystem) -> None:
        tested.fault(make(tested.chance), tested.chance.uniform(least, most))
    return Scenario(name, play, passes, suits)


def _message_scenarios() -> Iterator[Scenario]:
    """Yield what happens to joint states."""
    yield _fault('states are lost', faults.Drop, 0.15, 1.5)
    yield _fault('states are lost for a moment', faults.Drop, 0.01, 0.09)
    yield _fault('some states are lost',
                 lambda chance: faults.Drop(chance, chance.uniform(0.1, 0.9)), 0.5, 2.0)
    yield _fault('states come late', lambda chance: _late(chance, chance.uniform(0.005, 0.3)),
                 0.3, 1.0, passes=False)
    yield _fault('states come out of order',
                 lambda chance: faults.Late(chance, 0.0, chance.uniform(0.01, 0.06)), 0.5, 1.5,
                 passes=False)
    yield _fault('states come several times',
                 lambda chance: faults.Duplicate(chance, chance.randint(1, 5)), 0.5, 1.5)
    yield _fault('stamps stand still', lambda chance: faults.FrozenStamp(), 0.15, 1.0)
    yield _fault('values stand still', lambda chance: faults.FrozenValues(), 0.05, 0.6,
                 passes=False)
    yield _fault('a joint jumps for good', lambda chance: faults.Moved(
        chance, chance.choice((-1.0, 1.0)) * chance.uniform(0.8, 2.5)), 0.2, 1.5, passes=False)
    for kind in ('zero', 'frozen', 'near', 'same'):
        yield Scenario(f'second publisher: {kind}', partial(_second_publisher, kind), passes=False)
    for kind, (_, belief) in CORRUPTIONS.items():
        yield _fault(f'spoilt: {kind}', lambda chance, kind=kind: faults.Corrupt(
            chance, kind, chance.choice((1.0, 1.0, chance.uniform(0.1, 0.9)))), 0.15, 1.0,
            passes=belief is not Belief.OPEN)


def _second_publisher(kind: str, tested: ScenarioSystem) -> None:
    """Let a second publisher act for a time; the controller must not follow its reference then."""
    tested.link.set_fault(faults.SecondPublisher(kind))
    tested.wait(tested.chance.uniform(0.5, 1.5))
    status = tested.link.status()
    if status.mode == 'tracking' and status.held_up < _HELD_UP:
        tested.findings.append(f'{status.mode} with a second publisher of joint states')
    tested.link.set_fault(Fault())


def _late(chance: Random, seconds: float) -> Fault:
    return faults.Late(chance, seconds, seconds)


def _clock_scenarios() -> Iterator[Scenario]:
    """Yield what happens to clocks: simulated ones jump, real ones are set wrong."""
    def simulated(setup: Setup) -> bool:
        return setup.use_sim_time

    def real(setup: Setup) -> bool:
        return not setup.use_sim_time

    def jump(sign: float) -> Callable[[Random], Fault]:
        return lambda chance: faults.Offset(sign * 10.0 ** chance.uniform(-1.0, 3.0),
                                            Belief.OPEN, clock=True)

    yield _fault('the clock jumps forwards and back', jump(1.0), 0.3, 1.0, suits=simulated)
    yield _fault('the clock jumps backwards and on', jump(-1.0), 0.3, 1.0, suits=simulated)
    yield _fault('stamps jump, the clock does not', lambda chance: faults.Offset(
        chance.choice((-1.0, 1.0)) * chance.uniform(0.2, 20.0), Belief.OPEN), 0.3, 1.0,
        suits=simulated)
    yield _fault('stamps of the future', lambda chance: faults.Offset(
        chance.uniform(0.1, 100.0), Belief.BAD), 0.15, 1.0, suits=real)
    yield _fault('stamps of the past', lambda chance: faults.Offset(
        -chance.uniform(0.3, 100.0), Belief.BAD), 0.15, 1.0, suits=real)
    yield _fault('stamps a little off', lambda chance: faults.Offset(
        chance.uniform(-0.03, 0.03), Belief.OPEN), 0.3, 1.0, passes=False, suits=real)


def catalogue(setup: Setup) -> list[Scenario]:
    """Return all that can happen to a system, in a fixed order."""
    others = [Scenario(name, play, passes) for name, play, passes in
              (*scenarios_of_processes.SCENARIOS, *scenarios_of_operators.SCENARIOS)]
    return [scenario for scenario in (*_message_scenarios(), *_clock_scenarios(), *others)
            if scenario.suits(setup)]


def scenario_at(setup: Setup, seed: int, system: int, index: int) -> tuple[Scenario, Random]:
    """Return the scenario with a number, and its own chance.

    All are played once before any is played again.

    Parameters
    ----------
    setup : Setup
        The system.
    seed, system, index : int
        Seed of the run, number of the system in it, number of the scenario from zero.
    """
    scenarios = catalogue(setup)
    round_number, place = divmod(index, len(scenarios))
    Random(f'{seed}/{system}/round {round_number}').shuffle(scenarios)
    return scenarios[place], Random(f'{seed}/{system}/{index}')
