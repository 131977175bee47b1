# SPDX-License-Identifier: Apache-2.0
"""Check of a running system: domain, environment and description, and the whole report."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping

from robot_dynamics.bringup.descriptions import load_description, robot_line
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
from robot_dynamics.bringup.doctor.machine import (
    MachineState,
    MachineWatch,
    check_cycles,
    check_machine,
)
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
from robot_dynamics.bringup.ros_environment import (
    LAST_DOMAIN,
    OLDER_REACH,
    is_local,
    is_wide,
    listening_domains,
    local_discovery,
)
from robot_dynamics.errors import BringupError, RobotDynamicsError
from robot_dynamics.model.robot import Robot
from robot_dynamics.nodes import require_ros
from robot_dynamics.nodes.observing.graph_snapshot import GraphSnapshot, NodeInfo
from robot_dynamics.nodes.ros.transports import PROFILES, REACH

#: Last domain with ports below the ephemeral ones of Linux.
_LAST_SAFE = 101
_RANGES = ('SUBNET', 'LOCALHOST', 'OFF', 'SYSTEM_DEFAULT')


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
        ROS domain; by default that of the environment, or the one in use on this machine.

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
    """Check a snapshot of a system; `found` are notes on its domain."""
    shell = Section('this shell', (
        *check_environment(environment, os.path.isfile, graph.middleware), *found))
    missed = check_cycles(graph)
    hardware = Section('this machine', (*missed, *(
        result for result in check_machine(machine, graph.domain)
        if not (missed and result.subject == 'processor' and result.level is Level.OK))))
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
    """Robot as read by the controller, and its text."""
    known = (controller.parameters if controller is not None else None) or {}
    if known.get('robot'):
        text = load_description(known['robot']).urdf
    else:
        text = known.get('robot_description') or published
    if not text:
        return None
    # Bytes are always content, so that a text from the network cannot name a file to read.
    robot = Robot.from_urdf(text.encode(), joints=known.get('joints') or None,
                            base_link=known.get('base_link') or None)
    gravity = known.get('gravity')
    return (robot.with_gravity(list(gravity)) if gravity else robot), text


def check_environment(environment: Mapping[str, str], exists: Callable[[str], bool],
                      middleware: str = '') -> list[CheckResult]:
    """Check for variables that prevent discovery, or extend it to the network.

    `exists` returns whether a path is a file; `middleware` is the RMW implementation in use, empty
    if ROS 2 did not start.
    """
    results = [*_check_domain(environment), *_check_reach(environment),
               *_check_profiles(environment, exists)]
    if any(result.remedy for result in results):
        return results
    reach = 'this machine only' if _stays_local(environment) else 'the whole network'
    name = middleware or environment.get('RMW_IMPLEMENTATION', 'the default middleware')
    return [*results, ok('this shell', f'{name}, discovery on {reach}')]


def _check_domain(environment: Mapping[str, str]) -> Iterator[CheckResult]:
    text = environment.get('ROS_DOMAIN_ID', '')
    remedy = f'set a number from 0 to {_LAST_SAFE}'
    if text and (not text.strip().isdigit() or int(text) > LAST_DOMAIN):
        yield error('ROS_DOMAIN_ID', f'is {text!r}', remedy)
    elif text and int(text) > _LAST_SAFE:
        yield warning('ROS_DOMAIN_ID', f'is {text}: Linux gives its ports to any process', remedy)


def _check_reach(environment: Mapping[str, str]) -> list[CheckResult]:
    reach, only = environment.get(REACH), environment.get(OLDER_REACH)
    results = []
    if reach is not None and reach not in _RANGES:
        results.append(error(REACH, f'is {reach!r}', 'set it to one of ' + ', '.join(_RANGES)))
    elif reach == 'OFF' and not environment.get('ROS_STATIC_PEERS'):
        results.append(error(REACH, 'is OFF: nodes do not discover each other',
                             'set it to LOCALHOST or SUBNET'))
    elif reach is not None and environment.get('ROS_DISTRO') == 'humble':
        results.append(warning(REACH, 'has no effect in Humble',
                               f'set {OLDER_REACH} to 1 to stay on this machine'))
    if only == '1' and reach in ('SUBNET', 'SYSTEM_DEFAULT'):
        results.append(warning(OLDER_REACH, f'is 1 and overrides {REACH}={reach}', 'unset it'))
    if environment.get('ROS_DISCOVERY_SERVER'):
        results.append(note('ROS_DISCOVERY_SERVER', 'is set: only a super client sees the whole '
                            'system'))
    if not results and not _stays_local(environment):
        results.append(note(REACH, 'includes the whole network: any machine in it can command the '
                            'arm'))
    return results


def _check_profiles(environment: Mapping[str, str], exists: Callable[[str], bool]
                    ) -> Iterator[CheckResult]:
    """Check the variables that configure DDS by files."""
    for name in PROFILES:
        path = environment.get(name)
        if path and not exists(path):
            yield warning(name, f'is {path!r}, which is not a file',
                          'correct or unset it: DDS runs with its default reach')
    uri = environment.get('CYCLONEDDS_URI', '')
    if uri and not uri.lstrip().startswith('<') and not exists(uri.removeprefix('file://')):
        yield warning('CYCLONEDDS_URI', f'is {uri!r}, which is not a file', 'correct or unset it')
    if environment.get('RMW_FASTRTPS_USE_QOS_FROM_XML') == '1':
        yield note('RMW_FASTRTPS_USE_QOS_FROM_XML', 'is 1: the profile may change the quality of '
                   'service of nodes')


def _stays_local(environment: Mapping[str, str]) -> bool:
    return environment.get(REACH) in ('LOCALHOST', 'OFF') or environment.get(OLDER_REACH) == '1'


def find_system(seconds: float, *, namespace: str | None, domain: int | None
                ) -> tuple[GraphSnapshot, list[CheckResult]]:
    """Snapshot of the running system over some seconds, and notes on its domain.

    A system limited to this machine, as those of this package, binds its sockets to 127.0.0.1, so
    that discovery in the network does not find it. If the environment of the user leads to no
    system, but a participant listens on this machine, its domain is tried as well. Raises a
    `BringupError` if ROS 2 is missing or cannot be started.
    """
    require_ros()
    _try_middleware()
    from robot_dynamics.nodes.observing.graph_probe import look
    here = listening_domains()
    graph = look(seconds, namespace=namespace, domain=domain)
    others = [number for number in here if number != graph.domain]
    candidates = [] if is_local(os.environ) else \
        [number for number in here if number == graph.domain]
    if not candidates and domain is None and not os.environ.get('ROS_DOMAIN_ID'):
        candidates = others
    if graph.is_empty and not is_wide(os.environ) and len(candidates) == 1:
        with local_discovery():
            found = look(seconds, namespace=namespace, domain=candidates[0])
        if not found.is_empty:
            where = '' if found.domain == graph.domain else f', in domain {found.domain}'
            reach = '' if is_local(os.environ) else f'{REACH}=LOCALHOST and '
            return found, [note('this system', f'is limited to this machine{where}',
                                f'to reach it set {reach}ROS_DOMAIN_ID={found.domain}')]
    return graph, _other_domains(others)


def _try_middleware() -> None:
    """Raise an error if the chosen middleware is missing, which would end this process later."""
    chosen = os.environ.get('RMW_IMPLEMENTATION')
    if not chosen:
        return
    done = subprocess.run([sys.executable, '-c', 'import rclpy; rclpy.init()'], text=True,
                          capture_output=True, check=False)
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ['no reason given'])[-1]
        # Without level, time, logger and source location.
        reason = re.sub(r'^(\[[^]]*\] ?)*:? ?|, at /.*$', '', last)
        raise BringupError(f'selects {chosen!r}, which cannot be used ({reason})',
                           subject='RMW_IMPLEMENTATION',
                           remedy=f'install ros-<distro>-{chosen.replace("_", "-")}, or unset it')


def _other_domains(domains: list[int]) -> list[CheckResult]:
    """Note other domains with participants on this machine."""
    if not domains:
        return []
    plural = 's' if len(domains) > 1 else ''
    return [note('ROS_DOMAIN_ID', f'ROS nodes of this machine are in domain{plural} '
                 + ', '.join(map(str, domains)), f'robot-dynamics doctor --domain {domains[0]}')]
