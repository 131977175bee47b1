# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace

import pytest

from robot_dynamics.nodes.observing.graph_snapshot import (
    JOINT_STATE_TYPE,
    GraphSnapshot,
    NodeInfo,
    Topic,
    choose_states_topic,
    is_inside,
)

STATES = (JOINT_STATE_TYPE,)


def controller(name, topic):
    return NodeInfo(name, publishes={f'{name}/mode': (), f'{name}/tracking_error': ()},
                    subscribes={topic: STATES, '/other': ('std_msgs/msg/String',)})


@pytest.mark.parametrize(('topics', 'controllers', 'namespace', 'chosen'), [
    ((), (), None, '/joint_states'),
    (('/joint_states', '/left/joint_states'), (), None, '/joint_states'),
    (('/left/joint_states',), (), None, '/left/joint_states'),
    (('/joint_states', '/left/joint_states'), (), 'left', '/left/joint_states'),
    (('/joint_states', '/left/joint_states'), (), '', '/joint_states'),
    ((), (), '/left/', '/left/joint_states'),
    # A controller knows where its arm is heard.
    (('/joint_states', '/franka/joint_states'), ('/c /franka/joint_states',), None,
     '/franka/joint_states'),
    (('/joint_states',), ('/left/c /left/joint_states', '/right/c /right/joint_states'), 'right',
     '/right/joint_states'),
    (('/joint_states',), ('/left/c /left/joint_states',), 'right', '/right/joint_states')])
def test_which_joint_states(topics, controllers, namespace, chosen):
    nodes = tuple(controller(*text.split()) for text in controllers)
    assert choose_states_topic({name: STATES for name in topics}, nodes, namespace) == chosen


def test_who_commands_says_where_the_arm_is_heard():
    waiting, active = controller('/a', '/joint_states'), controller('/b', '/motor_states')
    active = replace(active, publishes={**active.publishes,
                                        '/commands': ('std_msgs/msg/Float64MultiArray',)})
    assert active.commanded_topics and not waiting.commanded_topics
    topics = {name: STATES for name in ('/joint_states', '/motor_states')}
    assert choose_states_topic(topics, (waiting, active), None) == '/motor_states'


def test_names_in_namespaces():
    assert is_inside('/left/arm', 'left') and is_inside('/left/arm', '/left/')
    assert is_inside('/arm', '') and not is_inside('/leftish/arm', 'left')


def test_what_a_node_is():
    node = NodeInfo('/left/adaptive_controller', {'stop_with_parent': True})
    assert node.is_ours and node.base_name == 'adaptive_controller' and not node.is_controller
    assert not NodeInfo('/x').is_ours
    assert controller('/c', '/joint_states').states_topics == ('/joint_states',)


def test_a_graph():
    hidden = NodeInfo('/_ros2cli_daemon_0')
    graph = GraphSnapshot(namespace='left', nodes=(hidden, controller('/left/c', '/j'),
                                               controller('/right/c', '/j')))
    assert [node.name for node in graph.controllers] == ['/left/c']
    assert not graph.is_empty and GraphSnapshot(nodes=(hidden,)).is_empty
    assert graph.topic('/nobody') == Topic('/nobody')
