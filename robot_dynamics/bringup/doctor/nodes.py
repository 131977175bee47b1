# SPDX-License-Identifier: Apache-2.0
"""How our nodes are: state, mode and its reason, what they say of themselves."""

from __future__ import annotations

from robot_dynamics.bringup.doctor.findings import (
    Level,
    Remark,
    error,
    listed,
    note,
    ok,
    warning,
)
from robot_dynamics.bringup.doctor.rates import judge_gains
from robot_dynamics.bringup.doctor.requirements import JUDGE_THEIR_GAINS, Wishes, gains_of
from robot_dynamics.control.session.modes import Cause, Mode
from robot_dynamics.nodes.observing.graph_snapshot import GraphSnapshot, NodeInfo, StatusSeen

#: What to do in each mode, by its reason; the reasons of holding are those of the start gate.
REASONS = {
    'the effort reported is not the one commanded':
        'is the effort controller of the arm active? Does effort_kind say what the driver '
        'reports, and hardware_gravity_compensation whether the arm carries itself?',
    'efforts agree but always did: waiting for the arm to stay still':
        'wait a second; an arm that keeps moving is held by nobody',
    'no effort to compare: waiting for the arm to stay still':
        'wait a second; an arm that keeps moving is held by nobody',
    Cause.STATES_STOPPED.value: 'see joint states above; then deactivate and activate the node, '
                                'or set resume_after',
    Cause.STATES_SLOW.value: 'see their rate above; then deactivate and activate the node',
    Cause.ANSWERS_LATE.value: 'see this machine below, and whether the clocks of driver and '
                              'controller agree: states are older than the springs allow; a '
                              'higher rate, softer gains or a machine with nothing else to do '
                              'help',
    Cause.CLOCK_JUMPED.value: 'keep clocks steady (chrony slews, ntpdate jumps); then '
                              'deactivate and activate the node',
    Cause.TOO_FAST.value: 'see the rate of joint states above and this machine below: a feedback '
                          'that comes too late drives the arm to and fro; then deactivate and '
                          'activate the node',
    Cause.FAR_FROM_REFERENCE.value: 'does the arm follow its commands, and is the reference '
                                    'within its limits? Then deactivate and activate the node',
    Cause.CONTROLLER_STOPS.value: 'its log says why: look at the arm and at what it carries; then '
                                  'deactivate and activate the node',
    Cause.CONTROLLER_FAILED.value: 'its log names the joint; correct the model or the gains',
}
#: What to do about an item of diagnostics that is not well, by its name.
ITEMS = {
    'state': 'see joint states above',
    'loop': 'see this machine below: something keeps the node from its turn',
    'command': 'at a limit: slower references, a lighter payload, or the right effort limit; '
               'nobody listens: see commands above',
    'adaptation': 'deactivate and activate the node once the cause is gone',
    'model': 'robot-dynamics doctor on the description tells more',
    'drive': 'its controller sends nothing, or nothing that can be obeyed: see commands above',
    'excitation': 'it says what it waits for or what made it stop; once that is gone, start it '
                  'again',
    'recording': 'see the disk that is recorded to',
}
#: Figures of an item worth telling begin with one of these.
_TELLING = ('turned away', 'refused', 'finding', 'worst', 'times')
_LEVELS = {1: Level.WARNING, 2: Level.ERROR, 3: Level.WARNING}


def judge_nodes(graph: GraphSnapshot) -> list[Remark]:
    """Say how every node of this package is, and which names are taken twice."""
    remarks = [error(node.name, f'{node.copies} nodes have this name',
                     'stop one of them, or give it a namespace: services reach either')
               for node in graph.nodes if node.copies > 1]
    for node in graph.nodes:
        if node.is_ours or node.is_controller:
            is_needed = not any(other.lifecycle == 'active' for other in graph.controllers)
            remarks += judge_node(node, statuses_of(graph, node), is_needed=is_needed)
    silent = [node.name for node in graph.nodes
              if node.parameters is None and f'{node.name}/list_parameters' in graph.services]
    if silent:
        remarks.append(note(listed(silent), 'does not answer when asked for its parameters',
                            'a busy or a hanging process, or one that has just ended'))
    return [*remarks, *_disagreements(graph)]


def judge_node(node: NodeInfo, statuses: tuple[StatusSeen, ...], *, is_needed: bool = True
               ) -> list[Remark]:
    """Judge one node of this package.

    Parameters
    ----------
    node : NodeInfo
        The node.
    statuses : tuple of StatusSeen
        Its diagnostics.
    is_needed : bool
        Whether nobody else controls the arm.
    """
    remarks = []
    if node.lifecycle in ('unconfigured', 'inactive') and not is_needed:
        remarks.append(note(node.name, f'is {node.lifecycle}: it stands by',
                            f'robot-dynamics switch {node.base_name} to let it control the arm'))
    elif node.lifecycle in ('unconfigured', 'inactive'):
        verb = 'configure' if node.lifecycle == 'unconfigured' else 'activate'
        reason = _value(statuses, 'state', 'reason')
        remarks.append(warning(node.name, f'is {node.lifecycle}' + (f': {reason}' if reason
                                                                    else ''),
                               f'ros2 lifecycle set {node.name} {verb}, once what it waits for '
                               'is there'))
    elif node.lifecycle not in (None, 'active'):
        remarks.append(error(node.name, f'is {node.lifecycle}', 'look at its log, start it anew'))
    else:
        remarks += _mode(node, statuses)
    remarks += [Remark(_LEVELS[status.level], status.name, status.message + _figures(status),
                       ITEMS.get(status.name.rpartition(': ')[2], 'see the log of the node'))
                for status in statuses
                if status.level in _LEVELS and not _is_told(status, remarks)]
    if _value(statuses, 'loop', 'garbage collector') == 'on':
        remarks.append(warning(node.name, 'its garbage collector runs: now and then a cycle stops '
                               'for tens of milliseconds', 'gc.freeze() and gc.disable() once it '
                                                           'is configured'))
    if node.is_controller and node.parameters is not None \
            and node.base_name not in JUDGE_THEIR_GAINS:
        remarks += judge_gains(node.name, Wishes.of(node), *gains_of(node))
    if not any(remark.level >= Level.WARNING for remark in remarks):
        rate = _value(statuses, 'loop', 'rate [Hz]')
        worst = _value(statuses, 'loop', 'worst period [ms]')
        loop = f', {float(rate):.0f} Hz, worst period {worst} ms' if rate and worst else ''
        state = node.lifecycle or 'runs'
        if not remarks:
            remarks.append(ok(node.name, f'{state}{loop}'))
    return remarks


def statuses_of(graph: GraphSnapshot, node: NodeInfo) -> tuple[StatusSeen, ...]:
    """Return the diagnostics of a node."""
    return tuple(status for status in graph.statuses
                 if status.name.startswith(f'{node.base_name}: '))


def _mode(node: NodeInfo, statuses: tuple[StatusSeen, ...]) -> list[Remark]:
    """Say what a controller does, and what to do where it does not track."""
    mode, reason = _value(statuses, 'state', 'mode'), _value(statuses, 'state', 'reason')
    if not mode:
        return []
    text = f'{mode}: {reason}' if reason else mode
    if mode in (Mode.TRACKING.value, Mode.GUIDED.value):
        loop = _value(statuses, 'loop', 'rate [Hz]')
        return [ok(node.name, text + (f'; {float(loop):.0f} Hz' if loop else ''))]
    # A reason may go on with details.
    remedy = next((known for start, known in REASONS.items() if (reason or '').startswith(start)),
                  'see the remarks above')
    make = error if mode == Mode.SAFE.value else warning
    return [make(node.name, text, remedy)]


def _is_told(status: StatusSeen, remarks: list[Remark]) -> bool:
    """Whether the mode has told of it already."""
    return any(status.message in remark.message for remark in remarks)


def _figures(status: StatusSeen) -> str:
    """Return the figures of a status that say what is wrong with it, in parentheses."""
    telling = [f'{key} {value}' for key, value in status.values.items()
               if key.startswith(_TELLING) and value != '0']
    return f' ({", ".join(telling)})' if telling else ''


def _value(statuses: tuple[StatusSeen, ...], item: str, key: str) -> str | None:
    return next((status.values.get(key) for status in statuses
                 if status.name.endswith(f': {item}')), None)


def _disagreements(graph: GraphSnapshot) -> list[Remark]:
    """Say where nodes take the same efforts for different things."""
    kinds = {node.name: node.parameters['effort_kind'] for node in graph.nodes
             if node.is_ours and 'effort_kind' in (node.parameters or {})}
    told = {name: kind for name, kind in kinds.items() if kind != 'none'}
    if len(set(told.values())) < 2:
        return []
    return [warning('effort_kind', ', '.join(f'{name} has {kind}' for name, kind in told.items()),
                    'the driver reports one thing: set it alike')]
