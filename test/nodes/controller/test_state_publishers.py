# SPDX-License-Identifier: Apache-2.0
"""Whose joint states are answered, by what the middleware tells of them and without."""

from types import SimpleNamespace

import pytest

pytest.importorskip('rclpy', reason='ROS 2 (rclpy) is not installed')

from robot_dynamics.nodes.controller.commands import UNNAMED
from robot_dynamics.nodes.controller.state_publishers import COUNTING_PERIOD, StatePublishers

TOPIC, TIMEOUT = '/joint_states', 0.1


class Graph:
    """The part of a node that is asked for publishers."""

    def __init__(self, *names):
        self.names, self.counts = list(names), 0

    def count_publishers(self, topic):
        assert topic == TOPIC
        self.counts += 1
        return len(self.names)

    def get_publishers_info_by_topic(self, topic):
        return [SimpleNamespace(node_namespace='/', node_name=name) for name in self.names]


def info(identity):
    return {'publisher_gid': {'implementation_identifier': 'rmw', 'data': [identity] * 16}}


@pytest.fixture
def graph():
    return Graph('arm')


def test_only_the_publisher_heard_first_is_trusted(graph):
    publishers = StatePublishers(graph, TOPIC, 1, TIMEOUT)
    assert publishers.is_trusted(info(1), 0.0)
    graph.names.append('other')
    for k in range(100):
        assert publishers.is_trusted(info(1), 0.002 * k)
        assert not publishers.is_trusted(info(2), 0.002 * k + 0.001)
    # Also after a pause of this process, in which neither was heard.
    assert not publishers.is_trusted(info(2), 2.0)
    assert publishers.is_trusted(info(1), 2.0)


def test_of_two_that_are_there_at_first_none_is_trusted(graph):
    graph.names.append('other')
    publishers = StatePublishers(graph, TOPIC, 1, TIMEOUT)
    assert not publishers.is_trusted(info(1), 0.0) and not publishers.is_trusted(info(2), 0.0)
    graph.names.remove('other')
    assert publishers.is_trusted(info(1), 0.1)


def test_a_driver_that_was_started_anew_takes_the_place_of_one_that_has_left(graph):
    publishers = StatePublishers(graph, TOPIC, 1, TIMEOUT)
    assert publishers.is_trusted(info(1), 0.0)
    assert not publishers.is_trusted(info(2), 0.9 * TIMEOUT)
    assert publishers.is_trusted(info(2), 1.1 * TIMEOUT)
    # The first is the other one now.
    assert not publishers.is_trusted(info(1), 1.2 * TIMEOUT)


def test_as_many_as_wanted_are_trusted(graph):
    graph.names.append('other')
    publishers = StatePublishers(graph, TOPIC, 2, TIMEOUT)
    for k in range(100):
        assert publishers.is_trusted(info(1), 0.002 * k)
        assert publishers.is_trusted(info(2), 0.002 * k)
        assert not publishers.is_trusted(info(3), 0.002 * k)
    any_number = StatePublishers(graph, TOPIC, 0, TIMEOUT)
    assert all(any_number.is_trusted(info(k), 0.0) for k in range(20))
    assert any_number.why_not_ready() is None


def test_without_identities_publishers_are_counted_20_times_a_second():
    graph = Graph('arm')
    publishers = StatePublishers(graph, TOPIC, 1, TIMEOUT)
    for k in range(500):
        assert publishers.is_trusted({}, 0.002 * k)
    assert 18 <= graph.counts <= 21
    graph.names.append('other')
    trusted = [publishers.is_trusted({'publisher_gid': None}, 1.0 + 0.002 * k) for k in range(100)]
    assert trusted.index(False) * 0.002 <= COUNTING_PERIOD
    assert not any(trusted[trusted.index(False):])
    graph.names.remove('other')
    assert publishers.is_trusted({}, 2.0)


def test_a_summary_names_the_nodes(graph):
    graph.names.append('other')
    publishers = StatePublishers(graph, TOPIC, 1, TIMEOUT)
    assert publishers.summary == '/joint_states has 2 publishers, not 1: /arm, /other'
    assert publishers.why_not_ready() == publishers.summary
    graph.names[1] = UNNAMED
    assert publishers.summary == '/joint_states has 2 publishers, not 1: /arm, ' \
                                 'a node not known by name yet'
    graph.names.clear()
    assert publishers.why_not_ready() == '/joint_states has 0 publishers, not 1'
    graph.names.append('arm')
    assert publishers.why_not_ready() is None
