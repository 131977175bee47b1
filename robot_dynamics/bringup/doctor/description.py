# SPDX-License-Identifier: Apache-2.0
"""The description that a running system works with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from robot_dynamics.bringup.descriptions import load_description
from robot_dynamics.bringup.doctor.findings import (
    Level,
    Remark,
    error,
    from_error,
    listed,
    note,
    ok,
    warning,
)
from robot_dynamics.bringup.doctor.masses import judge_gravity, judge_masses
from robot_dynamics.bringup.doctor.ranges import judge_ranges
from robot_dynamics.bringup.doctor.requirements import first_controller
from robot_dynamics.bringup.doctor.robot import (
    judge_coordinates,
    judge_reading,
    judge_weight,
    robot_line,
)
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model.robot import Robot
from robot_dynamics.nodes.observing.graph_snapshot import GraphSnapshot, NodeInfo


def judge_description(graph: GraphSnapshot) -> tuple[list[Remark], Robot | None]:
    """Say what is wrong with the description, and return the robot that it describes, if any."""
    remarks = _published(graph)
    controller = first_controller(graph)
    texts = list(dict.fromkeys(graph.descriptions))
    if len(texts) > 1:
        remarks.append(warning(graph.description_topic, f'{len(texts)} different descriptions '
                               'came', 'leave one publisher'))
    try:
        found = _read(controller, texts[-1] if texts else '')
    except RobotDynamicsError as refusal:
        return [*remarks, from_error(refusal, graph.description_topic)], None
    if found is None:
        return remarks, None
    robot, urdf = found
    remarks.append(ok('robot', robot_line(robot)))
    refusal = judge_coordinates(robot)
    if refusal:
        return [*remarks, *refusal], None
    doubts = [*judge_reading(robot, urdf), *judge_masses(robot), *judge_gravity(robot),
              *judge_ranges(robot), *judge_weight(robot)]
    return [*remarks, *(doubt for doubt in doubts if doubt.level >= Level.WARNING)], robot


def _published(graph: GraphSnapshot) -> list[Remark]:
    """Judge who publishes it, and how."""
    topic = graph.topic(graph.description_topic)
    publishers = topic.publishers
    if not publishers:
        needy = [node for node in graph.nodes if node.is_ours
                 and 'description_timeout' in (node.parameters or {})
                 and not _own_source(node.parameters or {})]
        if needy:
            return [error(topic.name, 'nobody publishes it, and '
                          f'{listed(node.name for node in needy)} wait for it',
                          'start robot_state_publisher, or set the parameter robot')]
        if not graph.controllers:
            return [warning(topic.name, 'nobody publishes it',
                            'start robot_state_publisher: controllers and RViz read it')]
        return [note(topic.name, 'nobody publishes it; nodes have it from their parameters',
                     'RViz needs it: start robot_state_publisher')]
    names = listed(publisher.node for publisher in publishers)
    if not any(publisher.latched for publisher in publishers):
        return [error(topic.name, f'{names} publishes it, but not latched: who comes later gets '
                      'nothing', 'publish it transient local, as robot_state_publisher does')]
    if len(publishers) > 1:
        return [warning(topic.name, f'{len(publishers)} publishers: {names}',
                        'leave one, or give each robot a namespace')]
    if not graph.descriptions:
        return [error(topic.name, f'{names} publishes it, and nothing comes',
                      'look at the log of this node')]
    return [ok(topic.name, f'latched, by {names}')]


def _own_source(parameters: Mapping[str, Any]) -> bool:
    return bool(parameters.get('robot') or parameters.get('robot_description'))


def _read(controller: NodeInfo | None, published: str) -> tuple[Robot, str] | None:
    """Return the robot as a controller reads it, and the text it is read from."""
    told = (controller.parameters if controller is not None else None) or {}
    if told.get('robot'):
        text = load_description(told['robot']).urdf
    else:
        text = told.get('robot_description') or published
    if not text:
        return None
    # As bytes it is always content: what comes over a network names no file to be read.
    robot = Robot.from_urdf(text.encode(), joints=told.get('joints') or None,
                            base_link=told.get('base_link') or None)
    gravity = told.get('gravity')
    return (robot.with_gravity(list(gravity)) if gravity else robot), text
