# SPDX-License-Identifier: Apache-2.0
import inspect
from dataclasses import replace

import pytest

from robot_dynamics.bringup.doctor.findings import Level
from robot_dynamics.bringup.doctor.nodes import ITEMS, REASONS, judge_node, judge_nodes
from robot_dynamics.control.session import start_gate
from robot_dynamics.control.session.modes import Cause
from robot_dynamics.nodes.observing.graph_snapshot import NodeInfo, StatusSeen


def state(mode, reason, level=0, message='complete states'):
    return StatusSeen('adaptive_controller: state', level, message,
                      {'mode': mode, 'reason': reason})


def test_a_healthy_system(healthy):
    (remark,) = judge_nodes(healthy)
    assert (remark.level, remark.subject) == (Level.OK, '/adaptive_controller')
    assert remark.message == 'tracking: the arm follows; 500 Hz'


@pytest.mark.parametrize('cause', Cause)
def test_an_arm_that_is_safe(controller, cause, worst):
    reason = f'{cause.value}: joint5 by -0.501 rad'
    remarks = judge_node(controller, (state('safe', reason, 2, reason),))
    # The status of the state says the same once more.
    remark = worst(remarks, Level.ERROR)
    assert remark.message == f'safe: {reason}'
    assert remark.remedy == REASONS[cause.value]


@pytest.mark.parametrize('reason', sorted(set(REASONS) - {cause.value for cause in Cause}))
def test_an_arm_that_is_held(controller, reason, worst):
    assert reason in inspect.getsource(start_gate)
    remark = worst(judge_node(controller, (state('holding', reason),)), Level.WARNING)
    assert remark.message == f'holding: {reason}'
    assert remark.remedy == REASONS[reason]


@pytest.mark.parametrize(('lifecycle', 'level', 'words'), [
    ('unconfigured', Level.WARNING, 'ros2 lifecycle set /adaptive_controller configure'),
    ('inactive', Level.WARNING, 'ros2 lifecycle set /adaptive_controller activate'),
    ('finalized', Level.ERROR, 'start it anew')])
def test_a_node_that_is_not_active(controller, lifecycle, level, words, worst):
    node = replace(controller, lifecycle=lifecycle)
    remark = worst(judge_node(node, (state('stopped', 'not activated yet'),)), level)
    assert lifecycle in remark.message and words in remark.remedy


@pytest.mark.parametrize(('number', 'level'), [(1, Level.WARNING), (2, Level.ERROR),
                                               (3, Level.WARNING)])
@pytest.mark.parametrize('item', ITEMS)
def test_what_a_node_says_of_itself(controller, item, number, level, worst):
    status = StatusSeen(f'adaptive_controller: {item}', number, 'not well',
                        {'worst period [ms]': '33', 'late cycles': '9', 'refused: NaN': '0'})
    remark = worst(judge_node(controller, (status,)), level)
    assert remark.message == 'not well (worst period [ms] 33)'
    assert remark.remedy == ITEMS[item]


def test_every_item_of_our_nodes_has_a_remedy():
    pytest.importorskip('rclpy', reason='needs ROS 2')
    import re
    from pathlib import Path

    import robot_dynamics.nodes
    (folder,) = robot_dynamics.nodes.__path__
    found = set()
    for path in Path(folder).glob('*.py'):
        for call in re.findall(r'Diagnostics\(self.*?\}\)', path.read_text(), re.S):
            found.update(re.findall(r"'(\w+)': ?(?:lambda|self)", call))
    assert {'state', 'loop', 'drive'} <= found
    assert found - set(ITEMS) <= {'reference', 'inverse_dynamics'}, found


def test_a_garbage_collector_that_runs(controller, worst):
    status = StatusSeen('adaptive_controller: loop', 0, 'ok', {'garbage collector': 'on'})
    remark = worst(judge_node(controller, (status,)), Level.WARNING)
    assert 'gc.freeze()' in remark.remedy


def test_a_node_that_stands_by(controller):
    (remark,) = judge_node(replace(controller, lifecycle='inactive'), (), is_needed=False)
    assert remark.level is Level.NOTE and 'stands by' in remark.message
    assert remark.remedy.startswith('robot-dynamics switch adaptive_controller')


def test_gains_that_do_not_suit_the_rate(controller, worst):
    node = replace(controller, parameters={**controller.parameters, 'rate': 50.0})
    remark = worst(judge_node(node, ()), Level.ERROR)
    assert 'its gains need 80 Hz' in remark.message


def test_two_nodes_of_one_name(healthy, worst):
    twice = replace(healthy, nodes=(replace(healthy.nodes[0], copies=2),), statuses=())
    remark = worst(judge_nodes(twice), Level.ERROR)
    assert remark.message == '2 nodes have this name'


def test_a_node_that_does_not_answer(healthy):
    graph = replace(healthy, nodes=(*healthy.nodes, NodeInfo('/busy')),
                    services={'/busy/list_parameters': ('rcl_interfaces/srv/ListParameters',)})
    assert any(remark.level is Level.NOTE and remark.subject == '/busy'
               for remark in judge_nodes(graph))


def test_nodes_that_disagree_on_efforts(healthy, worst):
    def other(kind):
        node = NodeInfo('/inverse_dynamics', {'stop_with_parent': True, 'effort_kind': kind})
        return judge_nodes(replace(healthy, nodes=(*healthy.nodes, node)))
    assert worst(other('current'), Level.WARNING).subject == 'effort_kind'
    # Not to use them is no disagreement.
    assert all(remark.level <= Level.NOTE for remark in other('none'))


def test_other_peoples_nodes_are_left_alone(healthy):
    graph = replace(healthy, nodes=(NodeInfo('/talker', {'use_sim_time': False}),))
    assert judge_nodes(graph) == []
