# SPDX-License-Identifier: Apache-2.0
"""Check of a running system: its description, and all other checks in one report."""

from __future__ import annotations

import os
from collections.abc import Mapping

from robot_dynamics.bringup.descriptions import load_description, robot_line
from robot_dynamics.bringup.doctor.environment import check_environment, find_system
from robot_dynamics.bringup.doctor.findings import (
    CheckResult,
    HealthReport,
    Level,
    Section,
    error,
    from_error,
    listed,
    note,
    ok,
    warning,
)
from robot_dynamics.bringup.doctor.joint_states import check_joint_states
from robot_dynamics.bringup.doctor.machine import MachineState, MachineWatch, check_machine
from robot_dynamics.bringup.doctor.nodes import check_clock, check_commands, check_nodes
from robot_dynamics.bringup.doctor.requirements import first_controller
from robot_dynamics.bringup.doctor.robot import (
    check_coordinates,
    check_gravity,
    check_limits,
    check_masses,
    check_reading,
    check_weight,
)
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model.robot import Robot
from robot_dynamics.nodes.observing.graph_snapshot import GraphSnapshot, NodeInfo


def check_system(seconds: float, *, namespace: str | None = None, domain: int | None = None
                 ) -> HealthReport:
    """Check the running system.

    Parameters
    ----------
    seconds : float
        Time to listen, s.
    namespace : str, optional
        Namespace of the arm; any by default.
    domain : int, optional
        ROS domain; that of the environment, or else the one in use on this machine.

    See Also
    --------
    robot_dynamics.bringup.check_robot : Checks a robot description.

    Examples
    --------
    With a simulated arm that tracks in this domain:

    >>> from robot_dynamics.bringup import check_system
    >>> check_system(4.0).exit_status  # doctest: +SKIP
    0
    """
    watch = MachineWatch()
    try:
        graph, results = find_system(seconds, namespace=namespace, domain=domain)
    except RobotDynamicsError as refusal:
        results = [from_error(refusal, 'ROS 2'), *(
            result for result in check_environment(os.environ, os.path.isfile)
            if result.level is not Level.OK)]
        return HealthReport('no system can be checked', (
            Section('this shell', tuple(results)),
            Section('this machine', tuple(check_machine(watch.state())))))
    return check_snapshot(graph, watch.state(), os.environ, results)


def check_snapshot(graph: GraphSnapshot, machine: MachineState, environment: Mapping[str, str],
                   found: list[CheckResult]) -> HealthReport:
    """Check a snapshot of a system; `found` are notes on where it was found."""
    shell = Section('this shell', (
        *check_environment(environment, os.path.isfile, graph.middleware), *found))
    hardware = Section('this machine', tuple(check_machine(machine, graph.domain)))
    place = f', namespace /{graph.namespace.strip("/")}' if graph.namespace.strip('/') else ''
    count = len(graph.visible)
    subject = f'domain {graph.domain}{place}: {count} node{"" if count == 1 else "s"}, ' \
              f'observed for {graph.seconds:.1f} s'
    if graph.is_empty:
        empty = error(f'domain {graph.domain}', 'has no nodes', 'start the system, or choose '
                      'its domain: --domain, ROS_DOMAIN_ID, ROS_AUTOMATIC_DISCOVERY_RANGE')
        return HealthReport(subject, (Section('nodes', (empty,)), shell, hardware))
    description, robot = check_description(graph)
    others = [note(listed(graph.other_states), 'further joint states in this domain',
                   'check that arm with --namespace')] if graph.other_states else []
    return HealthReport(subject, (
        Section('description', tuple(description)),
        Section('joint states', (*check_joint_states(graph, robot), *others)),
        Section('commands', tuple(check_commands(graph))),
        Section('time', tuple(check_clock(graph))),
        Section('nodes', tuple(check_nodes(graph))),
        shell, hardware))


def check_description(graph: GraphSnapshot) -> tuple[list[CheckResult], Robot | None]:
    """Check the description of a running system, and return its robot, if there is one."""
    results = [_check_description_topic(graph)]
    texts = list(dict.fromkeys(graph.descriptions))
    if len(texts) > 1:
        results.append(warning(graph.description_topic, f'has {len(texts)} different '
                               'descriptions', 'leave one publisher'))
    try:
        found = _read_robot(first_controller(graph), texts[-1] if texts else '')
    except RobotDynamicsError as refusal:
        return [*results, from_error(refusal, graph.description_topic)], None
    if found is None:
        return results, None
    robot, urdf = found
    results.append(ok('robot', robot_line(robot)))
    refusals = check_coordinates(robot)
    if refusals:
        return [*results, *refusals], None
    details = [*check_reading(robot, urdf), *check_masses(robot), *check_gravity(robot),
               *check_limits(robot), *check_weight(robot)]
    return [*results, *(result for result in details if result.level >= Level.WARNING)], robot


def _check_description_topic(graph: GraphSnapshot) -> CheckResult:
    topic = graph.topic(graph.description_topic)
    names = listed(publisher.node for publisher in topic.publishers)
    start = 'start robot_state_publisher'
    if not topic.publishers:
        waiting = [node.name for node in graph.nodes if node.is_ours
                   and 'description_timeout' in (known := node.parameters or {})
                   and not (known.get('robot') or known.get('robot_description'))]
        if waiting:
            return error(topic.name, f'has no publisher, and {listed(waiting)} wait for it',
                         f'{start}, or set the parameter robot')
        if not graph.controllers:
            return warning(topic.name, 'has no publisher',
                           f'{start}: controllers and RViz read it')
        return note(topic.name, 'has no publisher; nodes have it from their parameters',
                    f'RViz needs it: {start}')
    if not any(publisher.latched for publisher in topic.publishers):
        return error(topic.name, f'is published by {names} without latching: later subscribers '
                     'get nothing', 'publish it transient local, as robot_state_publisher does')
    if len(topic.publishers) > 1:
        return warning(topic.name, f'has {len(topic.publishers)} publishers: {names}',
                       'leave one, or give each robot a namespace')
    if not graph.descriptions:
        return error(topic.name, f'has the publisher {names} and no message',
                     'read the log of this node')
    return ok(topic.name, f'latched, by {names}')


def _read_robot(controller: NodeInfo | None, published: str) -> tuple[Robot, str] | None:
    """Robot as the controller reads it, and its text."""
    known = (controller.parameters if controller is not None else None) or {}
    if known.get('robot'):
        text = load_description(known['robot']).urdf
    else:
        text = known.get('robot_description') or published
    if not text:
        return None
    # Bytes are always content: a text from a network must not name a file to be read.
    robot = Robot.from_urdf(text.encode(), joints=known.get('joints') or None,
                            base_link=known.get('base_link') or None)
    gravity = known.get('gravity')
    return (robot.with_gravity(list(gravity)) if gravity else robot), text
