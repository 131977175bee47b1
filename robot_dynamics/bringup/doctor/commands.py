# SPDX-License-Identifier: Apache-2.0
"""Whether commands get anywhere: who listens, of what type, and who else sends."""

from __future__ import annotations

from robot_dynamics.bringup.doctor.findings import Remark, error, listed, note, ok, warning
from robot_dynamics.nodes.observing.graph_snapshot import GraphSnapshot, NodeInfo, Topic

_MANAGER = 'controller_manager_msgs/srv/ListControllers'


def judge_commands(graph: GraphSnapshot) -> list[Remark]:
    """Say whether what our controllers send is heard by one that takes it."""
    remarks = []
    commanding = [node.name for node in graph.controllers if node.commanded_topics]
    for controller in graph.controllers:
        if commanding and controller.name not in commanding:
            remarks.append(note(controller.name, f'stands by beside {listed(commanding)}'))
            continue
        if not controller.command_topics:
            remarks.append(note(controller.name, 'has no command topic yet: it is not configured',
                                f'ros2 lifecycle set {controller.name} configure'))
        for name, types in controller.command_topics.items():
            remarks += judge_command_topic(controller, graph.topic(name), types)
    if not graph.controllers and graph.nodes:
        remarks.append(note('commands', 'no controller of this package runs'
                            + (f' in {graph.namespace}' if graph.namespace else ''),
                            'ros2 launch robot_dynamics hardware.launch.py, or robot-dynamics up'))
    if len(commanding) > 1:
        remarks.append(warning(listed(commanding), 'several controllers want the arm',
                               'one arm has one: stop the others, or give each arm a namespace'))
    return [*remarks, *judge_manager(graph)]


def judge_command_topic(controller: NodeInfo, topic: Topic, types: tuple[str, ...]
                        ) -> list[Remark]:
    """Judge one topic that a controller sends efforts on.

    Parameters
    ----------
    controller : NodeInfo
        The controller.
    topic : Topic
        The topic.
    types : tuple of str
        What the controller publishes on it.
    """
    heard = {listener.type for listener in topic.subscriptions}
    if not heard:
        return [error(topic.name, f'nobody listens to the efforts of {controller.name}',
                      'start and activate the effort controller of the arm, or set command_topic '
                      'to where it listens')]
    if heard.isdisjoint(types):
        return [error(topic.name, f'{controller.name} sends {listed(types)}, and it takes '
                      f'{listed(sorted(heard))}', 'set command_type and command_topic to what '
                      'the effort controller of the arm takes')]
    remarks = []
    others = [publisher.node for publisher in topic.publishers
              if publisher.node != controller.name]
    if others:
        remarks.append(error(topic.name, f'{listed(others)} sends commands, too',
                             f'stop it: {controller.name} does not move an arm that somebody '
                             'else moves'))
    latched = [listener.node for listener in topic.subscriptions
               if listener.latched and listener.type in types]
    if latched:
        remarks.append(error(topic.name, f'{listed(latched)} wants latched (transient local) '
                             'commands, which nobody sends', 'set its durability to volatile'))
    listeners = listed(listener.node for listener in topic.subscriptions)
    if len(topic.subscriptions) > 1:
        remarks.append(note(topic.name, f'{len(topic.subscriptions)} listeners: {listeners}'))
    return remarks or [ok(topic.name, f'{listeners} listens to {controller.name}')]


def judge_manager(graph: GraphSnapshot) -> list[Remark]:
    """Say what to look at where there is a controller manager, which only ROS 2 itself can ask."""
    managers = [name.rpartition('/')[0] for name, types in graph.services.items()
                if _MANAGER in types]
    return [note(name, 'is a controller manager of ros2_control',
                 f'ros2 control list_controllers -c {name}: joint_state_broadcaster and the '
                 'effort controller have to be active; ros2 control list_hardware_interfaces: '
                 'each joint/effort has to be claimed') for name in managers]
