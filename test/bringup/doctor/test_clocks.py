# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace

import pytest

from robot_dynamics.bringup.doctor.clocks import judge_clock
from robot_dynamics.bringup.doctor.findings import Level
from robot_dynamics.nodes.observing.graph_snapshot import (
    ClockSample,
    Endpoint,
    GraphSnapshot,
    NodeInfo,
    Topic,
)

NOW, STEP = 1_790_000_000_000_000_000, 10_000_000


def system(*nodes, publishers=('/gazebo',), factor=1.0, count=100):
    clock = tuple(ClockSample(NOW + k * STEP, round(k * STEP * factor)) for k in range(count))
    topic = Topic('/clock', tuple(Endpoint(name, 'rosgraph_msgs/msg/Clock')
                                  for name in publishers))
    return GraphSnapshot(nodes=tuple(NodeInfo(name, {'use_sim_time': simulated})
                                 for name, simulated in nodes),
                     topics={'/clock': topic}, clock=clock if publishers else (), seconds=1.0)


def test_wall_time_everywhere(healthy):
    assert judge_clock(healthy) == []


def test_simulated_time_everywhere():
    (remark,) = judge_clock(system(('/a', True), ('/b', True), ('/gazebo', False)))
    assert remark.level is Level.OK


@pytest.mark.parametrize(('graph', 'level', 'subject', 'words'), [
    (system(('/a', True), ('/b', False), publishers=()), Level.ERROR, '/clock',
     'nobody publishes it, and /a wait for it'),
    (system(('/a', True), ('/b', False)), Level.WARNING, '/b', 'does not use simulated time'),
    (system(('/a', False)), Level.WARNING, '/clock', 'no node uses it'),
    (system(('/a', True), publishers=('/x', '/y')), Level.ERROR, '/clock', '2 publishers: /x, /y'),
    (system(('/a', True), count=1), Level.WARNING, '/clock', '1 messages came'),
    (system(('/a', True), factor=0.0), Level.WARNING, '/clock', 'stands still'),
    (system(('/a', True), factor=0.5), Level.NOTE, '/clock', 'at 0.50 of real time'),
    (system(('/a', True), factor=-1.0), Level.ERROR, '/clock', 'goes back')])
def test_what_is_wrong_with_time(graph, level, subject, words):
    (remark,) = judge_clock(graph)
    assert (remark.level, remark.subject) == (level, subject)
    assert words in remark.message


def test_a_node_that_does_not_answer_is_not_judged(healthy):
    graph = replace(system(('/a', True)), nodes=(NodeInfo('/silent'),
                                                 NodeInfo('/a', {'use_sim_time': True})))
    assert [remark.level for remark in judge_clock(graph)] == [Level.OK]
