# SPDX-License-Identifier: Apache-2.0
"""Looks at a running system."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from robot_dynamics.bringup.doctor.clocks import judge_clock
from robot_dynamics.bringup.doctor.commands import judge_commands
from robot_dynamics.bringup.doctor.description import judge_description
from robot_dynamics.bringup.doctor.environment import judge_environment
from robot_dynamics.bringup.doctor.findings import (
    Examination,
    Level,
    Remark,
    Section,
    error,
    from_error,
    listed,
    note,
)
from robot_dynamics.bringup.doctor.joint_states import judge_states
from robot_dynamics.bringup.doctor.looking import look_around
from robot_dynamics.bringup.doctor.machine import judge_machine
from robot_dynamics.bringup.doctor.machine_seen import MachineSeen, MachineWatch
from robot_dynamics.bringup.doctor.nodes import judge_nodes
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.nodes.observing.graph_snapshot import GraphSnapshot


def examine_system(seconds: float, *, namespace: str | None = None, domain: int | None = None
                   ) -> Examination:
    """Look at the running system and return what is to be said of it.

    Parameters
    ----------
    seconds : float
        How long to listen.
    namespace : str, optional
        Where to look for the arm; wherever there is one by default.
    domain : int, optional
        ROS domain; that of the environment, or else the one in use on this machine.
    """
    watch = MachineWatch()
    try:
        graph, remarks = look_around(seconds, namespace=namespace, domain=domain)
    except RobotDynamicsError as refusal:
        remarks = [from_error(refusal, 'ROS 2'), *(
            remark for remark in judge_environment(os.environ, _is_file)
            if remark.level is not Level.OK)]
        return Examination('no system can be looked at', (
            Section('this shell', tuple(remarks)), Section('this machine', tuple(judge_machine(
                watch.seen())))))
    return judge_system(graph, watch.seen(), os.environ, remarks)


def judge_system(graph: GraphSnapshot, machine: MachineSeen, environment: Mapping[str, str],
                 remarks: list[Remark]) -> Examination:
    """Return what is to be said of what was seen.

    Parameters
    ----------
    graph : GraphSnapshot
        The system.
    machine : MachineSeen
        The machine.
    environment : mapping of str to str
        Environment variables.
    remarks : list of Remark
        What is to be said of where it was found.
    """
    middleware = Section('this shell', (
        *judge_environment(environment, _is_file, graph.middleware), *remarks))
    hardware = Section('this machine', tuple(judge_machine(machine, graph.domain)))
    if graph.is_empty:
        nothing = error(f'domain {graph.domain}', 'no node runs here', 'start the system, or say '
                        'where it runs: --domain, ROS_DOMAIN_ID, ROS_AUTOMATIC_DISCOVERY_RANGE')
        return Examination(_where(graph), (Section('nodes', (nothing,)), middleware, hardware))
    description, robot = judge_description(graph)
    return Examination(_where(graph), (
        Section('description', tuple(description)),
        Section('joint states', (*judge_states(graph, robot), *_several(graph))),
        Section('commands', tuple(judge_commands(graph))),
        Section('time', tuple(judge_clock(graph))),
        Section('nodes', tuple(judge_nodes(graph))),
        middleware, hardware))


def _several(graph: GraphSnapshot) -> list[Remark]:
    """Say that there are more arms than the one looked at."""
    if not graph.other_states:
        return []
    return [note(listed(graph.other_states), 'further joint states in this domain',
                 'look at that arm with --namespace')]


def _where(graph: GraphSnapshot) -> str:
    place = f', namespace /{graph.namespace.strip("/")}' if graph.namespace.strip('/') else ''
    count = len(graph.visible)
    return f'domain {graph.domain}{place}: {count} node{"" if count == 1 else "s"}, listened to ' \
           f'for {graph.seconds:.1f} s'


def _is_file(path: str) -> bool:
    return Path(path).is_file()
