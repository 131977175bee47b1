# SPDX-License-Identifier: Apache-2.0
"""What people do to running nodes: parameters, trajectories, lifecycle."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from robot_dynamics.bringup.descriptions import load_description

from .faults import Drop, Fault
from .operator import trajectory
from .rig import CONTROLLER, INVERSE_DYNAMICS, REFERENCE
from .scenario_system import ScenarioSystem

#: A controller that is held up for more periods than this may find that states come slowly.
_LONGEST_STEP = 2.0
#: Node, parameter, value, and whether it has to be taken.
_REQUESTS: tuple[tuple[str, str, Any, bool], ...] = (
    (CONTROLLER, 'adapt', False, True), (CONTROLLER, 'adapt', 'yes', False),
    (CONTROLLER, 'adapt', 1, False), (CONTROLLER, 'adapt', True, True),
    (CONTROLLER, 'adapt_after', 0.5, True), (CONTROLLER, 'adapt_after', -1.0, False),
    (CONTROLLER, 'adapt_after', math.nan, False), (CONTROLLER, 'adapt_after', math.inf, False),
    (CONTROLLER, 'adapt_after', 0, True), (CONTROLLER, 'rate', 100.0, False),
    (CONTROLLER, 'effort_limit', [1e9], False), (CONTROLLER, 'effort_limit', [math.nan], False),
    (CONTROLLER, 'state_timeout', 2.0, False), (CONTROLLER, 'safe_command', 'zero', False),
    (CONTROLLER, 'feedback.bandwidth', 1000.0, False), (CONTROLLER, 'no_such_one', 1.0, False),
    (CONTROLLER, 'robot_description', '<robot/>', False), (CONTROLLER, 'spin', 'events', False),
    (INVERSE_DYNAMICS, 'regressor_rate', 100.0, True),
    (INVERSE_DYNAMICS, 'regressor_rate', 1e9, False),
    (INVERSE_DYNAMICS, 'regressor_rate', 'fast', False),
    (INVERSE_DYNAMICS, 'regressor_rate', 0.0, True),
    (REFERENCE, 'chunk_period', 100.0, False), (REFERENCE, 'controller', 'mine', False),
)


def _parameters(tested: ScenarioSystem) -> None:
    """Set what may and what may not be set, in any order, while the arm moves."""
    for node, name, value, is_good in tested.chance.sample(_REQUESTS, 6):
        taken = tested.operator.set_parameter(node, name, value)
        if taken is not is_good:
            tested.findings.append(f'{node}: {name} := {value!r} was '
                                  + {True: 'taken', False: 'refused', None: 'not answered'}[taken])
    _expect_undisturbed(tested, 'parameters were set')
    # As they were.
    tested.operator.set_parameter(CONTROLLER, 'adapt', tested.setup.controller == 'adaptive')
    tested.operator.set_parameter(CONTROLLER, 'adapt_after', 0.0)


def _broken_references(tested: ScenarioSystem) -> None:
    """Send trajectories nothing may follow, in between those of the reference node."""
    names = list(load_description(tested.setup.robot).robot.joint_names)
    n, far = len(names), [9.0] * len(names)
    broken = (
        trajectory([], []), trajectory(names, []), trajectory(['other'] * n, [(1.0, [0.0] * n)]),
        trajectory(names[:-1], [(1.0, [0.0] * (n - 1))]), trajectory(names, [(1.0, [0.0])]),
        trajectory(names, [(1.0, [math.nan] * n)]), trajectory(names, [(0.5, [math.inf] * n)]),
        trajectory(names, [(1.0, [0.0] * n)], velocities=[math.nan] * n),
        trajectory(names, [(1.0, [0.0] * n)], velocities=[0.0]),
        trajectory(names, [(1.0, far)]), trajectory(names, [(0.0, [2.0] * n)]),
        trajectory(names, [(1.0, [0.0] * n), (0.5, [0.1] * n)]),
        trajectory(names, [(0.0, [0.0] * n), (1e-6, [1.0] * n)]),
        trajectory(names, [(0.001 * k, [1e300 * (-1) ** k] * n) for k in range(50)]),
        trajectory(names, [(0.001 * k, [0.0] * n) for k in range(20_000)]),
        trajectory(names * 2, [(1.0, [0.0] * (2 * n))]),
    )
    for message in tested.chance.sample(broken, 8):
        tested.operator.send_reference(message)
        tested.wait(0.03)
    _expect_undisturbed(tested, 'broken trajectories were sent')


def _wrong_transitions(tested: ScenarioSystem) -> None:
    """Ask for transitions that an active node does not have."""
    for transition in tested.chance.sample(('activate', 'configure', 'cleanup'), 2):
        if tested.operator.change_state(transition) is not False:
            tested.findings.append(f'{transition} of an active controller was not refused')
    _expect_undisturbed(tested, 'wrong transitions were asked for')


def _deactivate(tested: ScenarioSystem) -> None:
    """Deactivate; somebody activates it again after a while."""
    tested.absent()
    if not tested.operator.change_state('deactivate'):
        tested.findings.append('could not be deactivated')
    _expect_no_commands(tested, 'deactivated')


def _deactivate_without_states(tested: ScenarioSystem) -> None:
    """Deactivate while no states come; it is not to be activated before they do."""
    tested.absent()
    tested.link.set_fault(Drop(tested.chance))
    tested.wait(0.3)
    tested.operator.change_state('deactivate')
    if tested.operator.change_state('activate'):
        tested.findings.append('activated without joint states')
    tested.link.set_fault(Fault())
    _expect_no_commands(tested, 'not activated')


def _taken_down(tested: ScenarioSystem) -> None:
    """Deactivate, clean up, and configure anew: the whole way round."""
    tested.absent()
    for transition in ('deactivate', 'cleanup', 'configure'):
        if not tested.operator.change_state(transition, timeout=20.0):
            tested.findings.append(f'{transition} failed')
    _expect_no_commands(tested, 'taken down')
    if not _activate(tested):
        tested.findings.append('could not be activated after a clean-up')


def _activate(tested: ScenarioSystem) -> bool:
    """Ask until it can: endpoints made anew have to be discovered first."""
    return any(tested.operator.change_state('activate') or tested.wait(0.2) for _ in range(25))


def _expect_no_commands(tested: ScenarioSystem, what: str) -> None:
    """Expect no command any more."""
    tested.wait(0.4)
    if tested.link.status().commanded:
        tested.findings.append(f'commands from a controller that is {what}')


def _expect_undisturbed(tested: ScenarioSystem, what: str) -> None:
    """Expect that nobody was disturbed, unless the machine has done that meanwhile."""
    status = tested.link.status()
    if max(status.held_up, status.silence) > _LONGEST_STEP / tested.setup.rate:
        return
    if status.mode != 'tracking' or not status.commanded or not status.error < 0.1:
        tested.findings.append(f'{what}, and then the controller was {status}')


#: Name, what plays it, and whether a controller set up to resume has to do so by itself.
SCENARIOS: tuple[tuple[str, Callable[[ScenarioSystem], None], bool], ...] = (
    ('parameters are set', _parameters, True),
    ('broken trajectories are sent', _broken_references, True),
    ('wrong transitions are asked for', _wrong_transitions, True),
    ('deactivated', _deactivate, False),
    ('deactivated without states', _deactivate_without_states, False),
    ('taken down and configured anew', _taken_down, False),
)
