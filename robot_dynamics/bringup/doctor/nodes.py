# SPDX-License-Identifier: Apache-2.0
"""Checks of the nodes of a running system: state, mode, diagnostics, commands and their clock."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from robot_dynamics.bringup.doctor.findings import (
    CheckResult,
    Level,
    collected,
    error,
    listed,
    note,
    ok,
    warning,
)
from robot_dynamics.bringup.doctor.requirements import (
    StateRequirements,
    check_gains_for_rate,
    gains_of,
    has_feedback_gains,
)
from robot_dynamics.control.session.modes import Cause, Mode
from robot_dynamics.nodes.controllers import NODES, WATCHERS
from robot_dynamics.nodes.observing.graph_snapshot import (
    CLOCK,
    GraphSnapshot,
    NodeInfo,
    StatusSeen,
    Topic,
)
from robot_dynamics.nodes.ros.driver_controller import DriverController

_RESTART = 'deactivate and activate the node'

#: Remedies for a controller that does not track, by the reason of its mode; reasons for holding
#: are those of the start gate.
REASONS = {
    'the effort reported is not the one commanded':
        'is the effort controller of the arm active? Does effort_kind match the efforts of the '
        'driver, and hardware_gravity_compensation the arm?',
    'efforts agree but always did: waiting for the arm to stay still':
        'wait a second; if the arm keeps moving, nothing holds it',
    'no effort to compare: waiting for the arm to stay still':
        'wait a second; if the arm keeps moving, nothing holds it',
    Cause.STATES_STOPPED.value: f'see joint states above; then {_RESTART}, or set resume_after',
    Cause.STATES_SLOW.value: f'see their rate above; then {_RESTART}',
    Cause.ANSWERS_LATE.value: 'see this machine below, and whether the clocks of driver and '
                              'controller agree: states are older than the feedback tolerates; a '
                              'higher rate, softer gains or a machine without other load help',
    Cause.CLOCK_JUMPED.value: f'keep clocks steady (chrony slews, ntpdate jumps); then {_RESTART}',
    Cause.TOO_FAST.value: 'see the rate of joint states above and this machine below: feedback '
                          f'that comes too late makes the arm oscillate; then {_RESTART}',
    Cause.FAR_FROM_REFERENCE.value: 'does the arm follow its commands, and is the reference '
                                    f'within its limits? Then {_RESTART}',
    Cause.INCONSISTENT.value: 'plot position and velocity of this joint, and check its encoder; '
                              f'then {_RESTART}',
    Cause.POSITION_JUMPED.value: 'check the encoder of this joint and whether the driver lost its '
                                 f'zero position; then {_RESTART}',
    Cause.NOT_FOLLOWING.value: 'check its brake, its drive and its encoder; if friction is '
                               f'stronger than the feedback, raise the gains; then {_RESTART}',
    Cause.MOVES_AGAINST.value: 'check the wiring and the sign of the effort of this joint, and '
                               'the order of joints in the effort controller; then '
                               f'{_RESTART}',
    Cause.MORE_PUBLISHERS.value: 'stop the other publishers, see joint states above; where all of '
                                 f'them are right set state_publishers; then {_RESTART}',
    Cause.CONTROLLER_STOPS.value: 'its log has the reason: check the arm and its payload; then '
                                  f'{_RESTART}',
    Cause.CONTROLLER_FAILED.value: 'its log names the joint; correct the model or the gains',
}
#: Remedies for items of diagnostics, by name.
ITEMS = {
    'state': 'see joint states above',
    'loop': 'see this machine below: the node is delayed',
    'command': 'at a limit: slower references, a lighter payload, or the right effort limit; '
               'without subscriber: see commands above',
    'reference': 'the topic reference_status of the controller has the reason; several publishers '
                 'of references: end all but one',
    'adaptation': f'{_RESTART} once the cause is removed',
    'model': 'run robot-dynamics doctor on the description',
    'drive': 'its controller sends nothing, or nothing valid: see commands above',
    'excitation': 'it reports what it waits for or why it stopped; start it again after that',
    'recording': 'check the disk of the recording',
    'guard': 'it stops an arm with ros2_control (controller_manager_msgs must be installed) or '
             'with stop_service, see docs/hardware.md',
}
#: Prefixes of the reported figures of an item.
_REPORTED = ('turned away', 'rejected', 'refused', 'finding', 'worst', 'times')
_LEVELS = {1: Level.WARNING, 2: Level.ERROR, 3: Level.WARNING}
_MANAGER = 'controller_manager_msgs/srv/ListControllers'
#: Ratios of simulated to real time below which it counts as slow, and as paused.
_SLOW_CLOCK, _PAUSED_CLOCK = 0.8, 0.02


@collected
def check_nodes(graph: GraphSnapshot) -> Iterator[CheckResult]:
    """Check every node of this package, and for duplicate names."""
    for node in graph.nodes:
        if node.copies > 1:
            yield error(node.name, f'is the name of {node.copies} nodes',
                        'stop one of them, or give it a namespace: services reach either')
    is_needed = not any(other.lifecycle == 'active' for other in graph.controllers)
    for node in graph.nodes:
        if node.is_ours or node.is_controller:
            yield from check_node(node, tuple(
                status for status in graph.statuses
                if status.name.startswith(f'{node.base_name}: ')), is_needed=is_needed)
    silent = [node.name for node in graph.nodes
              if node.parameters is None and f'{node.name}/list_parameters' in graph.services]
    if silent:
        yield note(listed(silent), 'does not answer a request for its parameters',
                   'a busy or hanging process, or one that has just ended')
    kinds = {node.name: kind for node in graph.nodes if node.is_ours
             and (kind := (node.parameters or {}).get('effort_kind', 'none')) != 'none'}
    if len(set(kinds.values())) > 1:
        yield warning('effort_kind', 'differs: ' + ', '.join(
            f'{name} has {kind}' for name, kind in kinds.items()),
            'the driver reports one kind of effort: set the same on every node')


def check_node(node: NodeInfo, statuses: tuple[StatusSeen, ...], *, is_needed: bool = True
               ) -> list[CheckResult]:
    """Check one node of this package by its diagnostics.

    `is_needed` is false if another controller is active.
    """
    results = [*_check_state(node, statuses, is_needed)]
    results += [CheckResult(_LEVELS[status.level], status.name, status.message + _figures(status),
                            ITEMS.get(status.name.rpartition(': ')[2], 'see the log of the node'))
                for status in statuses
                # The mode may have reported the same.
                if status.level in _LEVELS
                and not any(status.message in result.message for result in results)]
    if _value(statuses, 'loop', 'garbage collector') == 'on':
        results.append(warning(node.name, 'has a running garbage collector: it delays some cycles '
                               'by tens of milliseconds', 'gc.freeze() and gc.disable() once it '
                                                          'is configured'))
    if node.is_controller and node.parameters is not None and has_feedback_gains(node):
        results += check_gains_for_rate(node.name, StateRequirements.of(node), *gains_of(node))
    if results:
        return results
    rate = _value(statuses, 'loop', 'rate [Hz]')
    worst = _value(statuses, 'loop', 'worst period [ms]')
    loop = f', {float(rate):.0f} Hz, worst period {worst} ms' if rate and worst else ''
    return [ok(node.name, f'{node.lifecycle or "runs"}{loop}')]


def _check_state(node: NodeInfo, statuses: tuple[StatusSeen, ...], is_needed: bool
                 ) -> Iterator[CheckResult]:
    """Check the lifecycle state of a node, and the mode of an active controller."""
    mode, reason = _value(statuses, 'state', 'mode'), _value(statuses, 'state', 'reason')
    because = f': {reason}' if reason else ''
    if node.lifecycle in ('unconfigured', 'inactive'):
        if is_needed:
            verb = 'configure' if node.lifecycle == 'unconfigured' else 'activate'
            yield warning(node.name, f'is {node.lifecycle}{because}', f'ros2 lifecycle set '
                          f'{node.name} {verb}, once what it waits for is available')
        else:
            yield note(node.name, f'is {node.lifecycle}: a standby controller',
                       f'robot-dynamics switch {node.base_name} activates it')
    elif node.lifecycle not in (None, 'active'):
        yield error(node.name, f'is {node.lifecycle}', 'read its log, restart it')
    elif mode in (Mode.TRACKING.value, Mode.GUIDED.value):
        rate = _value(statuses, 'loop', 'rate [Hz]')
        yield ok(node.name, mode + because + (f'; {float(rate):.0f} Hz' if rate else ''))
    elif mode:
        make = error if mode == Mode.SAFE.value else warning
        # Details may follow the reason.
        yield make(node.name, mode + because, next(
            (known for start, known in REASONS.items() if (reason or '').startswith(start)),
            _remedy_in(reason or '') or 'see the results above'))


def _remedy_in(reason: str) -> str:
    """Command that a reason ends with, empty without one."""
    return reason.rpartition('; ')[2] if '; ros2 ' in reason else ''


def _figures(status: StatusSeen) -> str:
    """Figures of a status that explain it, in parentheses."""
    figures = [f'{key} {value}' for key, value in status.values.items()
               if key.startswith(_REPORTED) and value != '0']
    return f' ({", ".join(figures)})' if figures else ''


def _value(statuses: tuple[StatusSeen, ...], item: str, key: str) -> str | None:
    return next((status.values.get(key) for status in statuses
                 if status.name.endswith(f': {item}')), None)


@collected
def check_commands(graph: GraphSnapshot) -> Iterator[CheckResult]:
    """Check that the commands of controllers reach an arm."""
    commanding = [node.name for node in graph.controllers if node.commanded_topics]
    for controller in graph.controllers:
        if commanding and controller.name not in commanding:
            yield note(controller.name, f'is on standby beside {listed(commanding)}')
            continue
        if not controller.command_topics:
            yield note(controller.name, 'has no command topic yet: it is not configured',
                       f'ros2 lifecycle set {controller.name} configure')
        for name, types in controller.command_topics.items():
            topic = graph.topic(name)
            topic = replace(topic, subscriptions=tuple(
                subscription for subscription in topic.subscriptions
                if subscription.node.rpartition('/')[2] not in WATCHERS))
            yield from _check_command_topic(controller, topic, types)
            yield from _check_driver(controller, topic, graph)
    if not graph.controllers and graph.nodes:
        yield note('commands', 'no controller of this package runs'
                   + (f' in {graph.namespace}' if graph.namespace else ''),
                   'ros2 launch robot_dynamics hardware.launch.py, or robot-dynamics up')
    if len(commanding) > 1:
        yield warning(listed(commanding), 'command at the same time', 'an arm has one controller: '
                      'stop the others, or give each arm a namespace')
    if graph.driver_controllers is not None:
        return
    # controller_manager_msgs is not installed here, or there was no answer.
    for service, kinds in graph.services.items():
        if _MANAGER in kinds:
            manager = service.rpartition('/')[0]
            yield note(manager, 'is a controller manager of ros2_control',
                       f'ros2 control list_controllers -c {manager}: joint_state_broadcaster and '
                       'the effort controller must be active; ros2 control '
                       'list_hardware_interfaces: each joint/effort must be claimed')


def _check_command_topic(controller: NodeInfo, topic: Topic, types: tuple[str, ...]
                         ) -> Iterator[CheckResult]:
    """Check one topic on which a controller publishes efforts of these types."""
    received = {subscription.type for subscription in topic.subscriptions}
    if not received:
        yield error(topic.name, f'has no subscriber for the efforts of {controller.name}',
                    'start and activate the effort controller of the arm, or set command_topic '
                    'to its topic')
        return
    if received.isdisjoint(types):
        yield error(topic.name, f'gets {listed(types)} from {controller.name}, and its '
                    f'subscriber needs {listed(sorted(received))}',
                    'set command_type and command_topic as the effort controller of the arm '
                    'needs them')
        return
    others = [publisher.node for publisher in topic.publishers
              if publisher.node != controller.name]
    if others:
        yield error(topic.name, f'also gets commands from {listed(others)}', 'stop it: '
                    f'{controller.name} does not move an arm that another node commands')
    latched = [subscription.node for subscription in topic.subscriptions
               if subscription.latched and subscription.type in types]
    if latched:
        yield error(topic.name, f'is not latched, and {listed(latched)} requires latched commands '
                    '(transient local)', 'set its durability to volatile')
    subscribers = listed(subscription.node for subscription in topic.subscriptions)
    if len(topic.subscriptions) > 1:
        yield note(topic.name, f'has {len(topic.subscriptions)} subscribers: {subscribers}')
    elif not (others or latched):
        yield ok(topic.name, f'from {controller.name} to {subscribers}')


def _check_driver(controller: NodeInfo, topic: Topic, graph: GraphSnapshot
                  ) -> Iterator[CheckResult]:
    """Check the controllers of ros2_control that take the commands of a controller."""
    values = controller.parameters or {}
    joints = values.get('command_joints') or (_value(tuple(
        status for status in graph.statuses
        if status.name.startswith(f'{controller.base_name}: ')), 'model', 'joints')
        or '').split(', ')
    is_ordered = values.get('command_type') != 'joint_trajectory'
    for name in {subscription.node: None for subscription in topic.subscriptions
                 if subscription.node.rpartition('/')[2] not in NODES}:
        found = next((each for each in graph.driver_controllers or () if each.name == name),
                     _unlisted(name, graph))
        for make, reason in (
                (error, found.why_other_joints(joints, ordered=is_ordered) if any(joints)
                 else None), (warning, found.why_inactive())):
            if reason is not None:
                message, _, remedy = reason.removeprefix(f'{name} ').partition('; ')
                yield make(name, message, remedy)


def _unlisted(name: str, graph: GraphSnapshot) -> DriverController:
    """A subscriber of commands that no controller manager has listed."""
    joints = next((node.parameters.get('joints') for node in graph.nodes
                   if node.name == name and node.parameters), None)
    is_list = isinstance(joints, list | tuple) and all(isinstance(each, str) for each in joints)
    return DriverController(name, joints=tuple(joints) if joints and is_list else ())


def check_clock(graph: GraphSnapshot) -> list[CheckResult]:
    """Compare ``/clock`` with the parameters ``use_sim_time`` of the nodes."""
    publishers = graph.topic(CLOCK).publishers
    use_sim_time = {node.name: (node.parameters or {}).get('use_sim_time')
                    for node in graph.nodes}
    simulated = [name for name, value in use_sim_time.items() if value is True]
    if not publishers:
        return [error(CLOCK, f'has no publisher, and {listed(simulated)} wait for it', 'bridge '
                      '/clock from the simulator, or set use_sim_time to false')] \
            if simulated else []
    results = []
    if len(publishers) > 1:
        results.append(error(CLOCK, f'has {len(publishers)} publishers: '
                             + listed(publisher.node for publisher in publishers),
                             'leave one: time jumps back and forth between them'))
    # The source of simulated time uses the time of the machine.
    sources = {publisher.node for publisher in publishers}
    real = [name for name, value in use_sim_time.items() if value is False and name not in sources]
    if simulated and real:
        results.append(warning(listed(real), 'does not use simulated time, others do',
                               'set use_sim_time to true on every node'))
    elif real:
        results.append(warning(CLOCK, 'is published and no node uses it',
                               'set use_sim_time to true on every node, or stop the simulator '
                               'that is left over'))
    results += _check_clock_rate(graph)
    return results or [ok(CLOCK, 'simulated time, on every node')]


def _check_clock_rate(graph: GraphSnapshot) -> Iterator[CheckResult]:
    clock = graph.clock
    if len(clock) < 2:
        yield warning(CLOCK, f'had {len(clock)} messages in {graph.seconds:.2g} s',
                      'is the simulation paused?')
        return
    elapsed = clock[-1].received - clock[0].received
    factor = (clock[-1].time - clock[0].time) / elapsed if elapsed else 1.0
    if np.any(np.diff([sample.time for sample in clock]) < 0):
        yield error(CLOCK, 'goes back', 'the simulation was reset: restart the nodes after that')
    elif factor < _PAUSED_CLOCK:
        yield warning(CLOCK, 'stands still', 'is the simulation paused?')
    elif factor < _SLOW_CLOCK:
        yield note(CLOCK, f'runs at {factor:.2f} of real time')
