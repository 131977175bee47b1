# SPDX-License-Identifier: Apache-2.0
"""State and diagnostics of nodes, their commands, and simulated time."""

import inspect
from dataclasses import replace

import pytest

from robot_dynamics.bringup.doctor.findings import Level
from robot_dynamics.bringup.doctor.nodes import (
    ITEMS,
    REASONS,
    check_clock,
    check_commands,
    check_node,
    check_nodes,
)
from robot_dynamics.control.session import start_gate
from robot_dynamics.control.session.modes import Cause
from robot_dynamics.nodes.observing.graph_snapshot import (
    ClockSample,
    Endpoint,
    GraphSnapshot,
    NodeInfo,
    StatusSeen,
    Topic,
)
from robot_dynamics.nodes.ros.driver_controller import DriverController


def state(mode, reason, level=0, message='complete states'):
    return StatusSeen('adaptive_controller: state', level, message,
                      {'mode': mode, 'reason': reason})


def test_a_healthy_system(healthy):
    (result,) = check_nodes(healthy)
    assert (result.level, result.subject) == (Level.OK, '/adaptive_controller')
    assert result.message == 'tracking: the arm follows; 500 Hz'


@pytest.mark.parametrize('cause', Cause)
def test_an_arm_that_is_safe(controller, cause, worst):
    reason = f'{cause.value}: joint5 by -0.501 rad'
    results = check_node(controller, (state('safe', reason, 2, reason),))
    # The status of the state says the same once more.
    result = worst(results, Level.ERROR)
    assert result.message == f'safe: {reason}'
    assert result.remedy == REASONS[cause.value]


@pytest.mark.parametrize('reason', sorted(set(REASONS) - {cause.value for cause in Cause}))
def test_an_arm_that_is_held(controller, reason, worst):
    assert reason in inspect.getsource(start_gate)
    result = worst(check_node(controller, (state('holding', reason),)), Level.WARNING)
    assert result.message == f'holding: {reason}'
    assert result.remedy == REASONS[reason]


def test_an_arm_that_is_not_taken_over(controller, worst):
    reason = 'joint2 is at 90 rad, outside its limits -2.1 to 2.1; move it inside'
    result = worst(check_node(controller, (state('waiting', reason, 1, reason),)), Level.WARNING)
    assert result.message == f'waiting: {reason}'


@pytest.mark.parametrize(('lifecycle', 'level', 'words'), [
    ('unconfigured', Level.WARNING, 'ros2 lifecycle set /adaptive_controller configure'),
    ('inactive', Level.WARNING, 'ros2 lifecycle set /adaptive_controller activate'),
    ('finalized', Level.ERROR, 'restart it')])
def test_a_node_that_is_not_active(controller, lifecycle, level, words, worst):
    node = replace(controller, lifecycle=lifecycle)
    result = worst(check_node(node, (state('stopped', 'not activated yet'),)), level)
    assert lifecycle in result.message and words in result.remedy


@pytest.mark.parametrize(('number', 'level'), [(1, Level.WARNING), (2, Level.ERROR),
                                               (3, Level.WARNING)])
@pytest.mark.parametrize('item', ITEMS)
def test_diagnostics_of_a_node(controller, item, number, level, worst):
    status = StatusSeen(f'adaptive_controller: {item}', number, 'not well',
                        {'worst period [ms]': '33', 'late cycles': '9', 'refused: NaN': '0'})
    result = worst(check_node(controller, (status,)), level)
    assert result.message == 'not well (worst period [ms] 33)'
    assert result.remedy == ITEMS[item]


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
    result = worst(check_node(controller, (status,)), Level.WARNING)
    assert 'gc.freeze()' in result.remedy


def test_a_node_that_stands_by(controller):
    (result,) = check_node(replace(controller, lifecycle='inactive'), (), is_needed=False)
    assert result.level is Level.NOTE and 'a standby controller' in result.message
    assert result.remedy.startswith('robot-dynamics switch adaptive_controller')


def test_gains_that_do_not_suit_the_rate(controller, worst):
    node = replace(controller, parameters={**controller.parameters, 'rate': 50.0})
    result = worst(check_node(node, ()), Level.ERROR)
    assert 'has gains that need 80 Hz' in result.message


def test_two_nodes_of_one_name(healthy, worst):
    twice = replace(healthy, nodes=(replace(healthy.nodes[0], copies=2),), statuses=())
    result = worst(check_nodes(twice), Level.ERROR)
    assert result.message == 'is the name of 2 nodes'


def test_a_node_that_does_not_answer(healthy):
    graph = replace(healthy, nodes=(*healthy.nodes, NodeInfo('/busy')),
                    services={'/busy/list_parameters': ('rcl_interfaces/srv/ListParameters',)})
    assert any(result.level is Level.NOTE and result.subject == '/busy'
               for result in check_nodes(graph))


def test_nodes_that_disagree_on_efforts(healthy, worst):
    def other(kind):
        node = NodeInfo('/inverse_dynamics', {'stop_with_parent': True, 'effort_kind': kind})
        return check_nodes(replace(healthy, nodes=(*healthy.nodes, node)))
    assert worst(other('current'), Level.WARNING).subject == 'effort_kind'
    # none does not count as a difference.
    assert all(result.level <= Level.NOTE for result in other('none'))


def test_other_peoples_nodes_are_left_alone(healthy):
    graph = replace(healthy, nodes=(NodeInfo('/talker', {'use_sim_time': False}),))
    assert check_nodes(graph) == []


TOPIC = '/effort_controller/commands'
ARRAY, TRAJECTORY = 'std_msgs/msg/Float64MultiArray', 'trajectory_msgs/msg/JointTrajectory'


def test_commands_of_a_healthy_system(healthy):
    (result,) = check_commands(healthy)
    assert result.level is Level.OK
    assert result.message == 'from /adaptive_controller to /driver'


def test_no_subscriber(healthy, with_topic, worst):
    result = worst(check_commands(with_topic(healthy, TOPIC, subscriptions=())), Level.ERROR)
    assert 'has no subscriber for the efforts of /adaptive_controller' in result.message


def test_another_type(healthy, with_topic, worst):
    graph = with_topic(healthy, TOPIC, subscriptions=(Endpoint('/driver', TRAJECTORY),))
    result = worst(check_commands(graph), Level.ERROR)
    assert f'gets {ARRAY} from /adaptive_controller, and its subscriber needs ' \
        f'{TRAJECTORY}' in result.message
    assert 'command_type' in result.remedy


def test_another_publisher(healthy, with_topic, worst):
    graph = with_topic(healthy, TOPIC, publishers=(
        Endpoint('/adaptive_controller', ARRAY), Endpoint('/rqt', ARRAY)))
    assert 'also gets commands from /rqt' in worst(check_commands(graph), Level.ERROR).message


def test_a_subscriber_that_requires_latched_commands(healthy, with_topic, worst):
    graph = with_topic(healthy, TOPIC, subscriptions=(Endpoint('/driver', ARRAY, latched=True),))
    assert 'durability' in worst(check_commands(graph), Level.ERROR).remedy


def test_several_listeners(healthy, with_topic, is_well):
    graph = with_topic(healthy, TOPIC, subscriptions=(
        Endpoint('/driver', ARRAY), Endpoint('/plot', ARRAY)))
    (result,) = check_commands(graph)
    assert result.level is Level.NOTE and 'has 2 subscribers: /driver, /plot' in result.message


def test_a_controller_that_is_not_configured(healthy, controller):
    bare = replace(controller, publishes={
        name: types for name, types in controller.publishes.items() if name != TOPIC})
    (result,) = check_commands(replace(healthy, nodes=(bare,)))
    assert result.remedy == 'ros2 lifecycle set /adaptive_controller configure'


def test_the_command_topic_of_a_waiting_controller(healthy, controller, with_topic):
    waiting = replace(controller, lifecycle='inactive', publishes={
        name: types for name, types in controller.publishes.items() if name != TOPIC},
        parameters={'command_topic': TOPIC.lstrip('/'), 'command_type': 'effort_array'})
    graph = with_topic(replace(healthy, nodes=(waiting,)), TOPIC, subscriptions=())
    (result,) = check_commands(graph)
    assert 'has no subscriber for the efforts of /adaptive_controller' in result.message


def test_a_controller_that_stands_by(healthy, controller):
    other = replace(controller, name='/pd_gravity_controller', lifecycle='inactive', publishes={
        f'/pd_gravity_controller/{name.rpartition("/")[2]}': types
        for name, types in controller.publishes.items() if name != TOPIC})
    results = check_commands(replace(healthy, nodes=(controller, other)))
    assert [(result.level, result.subject) for result in results] == [
        (Level.OK, TOPIC), (Level.NOTE, '/pd_gravity_controller')]
    assert 'is on standby beside /adaptive_controller' in results[1].message


def test_no_controller(healthy):
    (result,) = check_commands(replace(healthy, nodes=(NodeInfo('/driver'),)))
    assert result.level is Level.NOTE and 'no controller of this package' in result.message


def test_two_controllers(healthy, controller):
    other = replace(controller, name='/other', publishes={
        f'/other/{name.rpartition("/")[2]}' if name != TOPIC else name: types
        for name, types in controller.publishes.items()})
    results = check_commands(replace(healthy, nodes=(controller, other)))
    assert any(result.level is Level.WARNING and 'command at the same time' in result.message
               for result in results)


def test_a_controller_manager():
    graph = GraphSnapshot(services={'/left/controller_manager/list_controllers': (
        'controller_manager_msgs/srv/ListControllers',)})
    (result,) = check_commands(graph)
    assert (result.level, result.subject) == (Level.NOTE, '/left/controller_manager')
    assert 'ros2 control list_controllers -c /left/controller_manager' in result.remedy


NOW, STEP = 1_790_000_000_000_000_000, 10_000_000


def system(*nodes, publishers=('/gazebo',), factor=1.0, count=100):
    clock = tuple(ClockSample(NOW + k * STEP, round(k * STEP * factor)) for k in range(count))
    topic = Topic('/clock', tuple(Endpoint(name, 'rosgraph_msgs/msg/Clock')
                                  for name in publishers))
    return GraphSnapshot(nodes=tuple(NodeInfo(name, {'use_sim_time': simulated})
                                 for name, simulated in nodes),
                     topics={'/clock': topic}, clock=clock if publishers else (), seconds=1.0)


def test_wall_time_everywhere(healthy):
    assert check_clock(healthy) == []


def test_simulated_time_everywhere():
    (result,) = check_clock(system(('/a', True), ('/b', True), ('/gazebo', False)))
    assert result.level is Level.OK


@pytest.mark.parametrize(('graph', 'level', 'subject', 'words'), [
    (system(('/a', True), ('/b', False), publishers=()), Level.ERROR, '/clock',
     'has no publisher, and /a wait for it'),
    (system(('/a', True), ('/b', False)), Level.WARNING, '/b', 'does not use simulated time'),
    (system(('/a', False)), Level.WARNING, '/clock', 'no node uses it'),
    (system(('/a', True), publishers=('/x', '/y')), Level.ERROR, '/clock',
     'has 2 publishers: /x, /y'),
    (system(('/a', True), count=1), Level.WARNING, '/clock', 'had 1 messages'),
    (system(('/a', True), factor=0.0), Level.WARNING, '/clock', 'stands still'),
    (system(('/a', True), factor=0.5), Level.NOTE, '/clock', 'at 0.50 of real time'),
    (system(('/a', True), factor=-1.0), Level.ERROR, '/clock', 'goes back')])
def test_what_is_wrong_with_time(graph, level, subject, words):
    (result,) = check_clock(graph)
    assert (result.level, result.subject) == (level, subject)
    assert words in result.message


def test_a_node_that_does_not_answer_is_not_judged(healthy):
    graph = replace(system(('/a', True)), nodes=(NodeInfo('/silent'),
                                                 NodeInfo('/a', {'use_sim_time': True})))
    assert [result.level for result in check_clock(graph)] == [Level.OK]


DRIVER = DriverController('/driver', '/controller_manager', 'active', ('joint1', 'joint2'),
                          ('joint1/effort', 'joint2/effort'))


def with_driver(healthy, driver, **parameters):
    """The healthy system with a controller of ros2_control that takes the commands."""
    ours, *others = healthy.nodes
    ours = replace(ours, parameters={**ours.parameters, **parameters})
    status = StatusSeen('adaptive_controller: model', 0, 'ok', {'joints': 'joint1, joint2'})
    return replace(healthy, nodes=(ours, *others), driver_controllers=(driver,),
                   statuses=(*healthy.statuses, status))


def test_a_driver_with_the_same_joints(healthy):
    (result,) = check_commands(with_driver(healthy, DRIVER))
    assert result.level is Level.OK


def test_a_driver_with_another_order(healthy, worst):
    other = replace(DRIVER, joints=('joint2', 'joint1'))
    result = worst(check_commands(with_driver(healthy, other)), Level.ERROR)
    assert result.subject == '/driver' and 'command_joints' in result.remedy
    assert 'joint2, joint1' in result.message and 'joint1, joint2' in result.message
    (fine,) = check_commands(with_driver(healthy, other, command_joints=['joint2', 'joint1']))
    assert fine.level is Level.OK


def test_a_driver_with_other_joints(healthy, worst):
    other = replace(DRIVER, joints=('joint1', 'joint2', 'joint3'))
    assert 'joint3' in worst(check_commands(with_driver(healthy, other)), Level.ERROR).message


def test_the_order_counts_where_nothing_lists_controllers(healthy, worst):
    graph = with_driver(healthy, DRIVER)
    nodes = tuple(replace(node, parameters={'joints': ['joint2', 'joint1']})
                  if node.name == '/driver' else node for node in graph.nodes)
    graph = replace(graph, nodes=nodes, driver_controllers=None)
    assert 'in the order' in worst(check_commands(graph), Level.ERROR).message


def test_a_driver_that_is_inactive(healthy, worst):
    result = worst(check_commands(with_driver(healthy, replace(DRIVER, state='inactive'))),
                   Level.WARNING)
    assert result.message == 'is inactive and applies no efforts'
    assert result.remedy == 'ros2 control switch_controllers --activate driver'


def test_the_gate_that_waits_for_the_driver(controller, worst):
    reason = '/driver is inactive and applies no efforts; ros2 control switch_controllers ' \
        '--activate driver'
    status = StatusSeen('adaptive_controller: state', 1, reason,
                        {'mode': 'holding', 'reason': reason})
    result = worst(check_node(controller, (status,)), Level.WARNING)
    assert result.remedy == 'ros2 control switch_controllers --activate driver'


def test_the_guard_is_not_an_arm(healthy, with_topic, worst):
    graph = with_topic(healthy, TOPIC, subscriptions=(Endpoint('/command_guard', ARRAY),))
    assert 'has no subscriber' in worst(check_commands(graph), Level.ERROR).message
