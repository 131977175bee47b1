# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace

from robot_dynamics.bringup.doctor.commands import judge_commands
from robot_dynamics.bringup.doctor.findings import Level
from robot_dynamics.nodes.observing.graph_snapshot import Endpoint, GraphSnapshot, NodeInfo

TOPIC = '/effort_controller/commands'
ARRAY, TRAJECTORY = 'std_msgs/msg/Float64MultiArray', 'trajectory_msgs/msg/JointTrajectory'


def test_a_healthy_system(healthy):
    (remark,) = judge_commands(healthy)
    assert remark.level is Level.OK
    assert remark.message == '/driver listens to /adaptive_controller'


def test_nobody_listens(healthy, with_topic, worst):
    remark = worst(judge_commands(with_topic(healthy, TOPIC, subscriptions=())), Level.ERROR)
    assert 'nobody listens to the efforts of /adaptive_controller' in remark.message


def test_another_type(healthy, with_topic, worst):
    graph = with_topic(healthy, TOPIC, subscriptions=(Endpoint('/driver', TRAJECTORY),))
    remark = worst(judge_commands(graph), Level.ERROR)
    assert f'sends {ARRAY}, and it takes {TRAJECTORY}' in remark.message
    assert 'command_type' in remark.remedy


def test_somebody_else_sends(healthy, with_topic, worst):
    graph = with_topic(healthy, TOPIC, publishers=(
        Endpoint('/adaptive_controller', ARRAY), Endpoint('/rqt', ARRAY)))
    assert '/rqt sends commands, too' in worst(judge_commands(graph), Level.ERROR).message


def test_a_listener_that_wants_what_nobody_sends(healthy, with_topic, worst):
    graph = with_topic(healthy, TOPIC, subscriptions=(Endpoint('/driver', ARRAY, latched=True),))
    assert 'durability' in worst(judge_commands(graph), Level.ERROR).remedy


def test_several_listeners(healthy, with_topic, is_well):
    graph = with_topic(healthy, TOPIC, subscriptions=(
        Endpoint('/driver', ARRAY), Endpoint('/plot', ARRAY)))
    (remark,) = judge_commands(graph)
    assert remark.level is Level.NOTE and '2 listeners: /driver, /plot' in remark.message


def test_a_controller_that_is_not_configured(healthy, controller):
    bare = replace(controller, publishes={
        name: types for name, types in controller.publishes.items() if name != TOPIC})
    (remark,) = judge_commands(replace(healthy, nodes=(bare,)))
    assert remark.remedy == 'ros2 lifecycle set /adaptive_controller configure'


def test_a_controller_that_waits_says_where_it_will_send(healthy, controller, with_topic):
    waiting = replace(controller, lifecycle='inactive', publishes={
        name: types for name, types in controller.publishes.items() if name != TOPIC},
        parameters={'command_topic': TOPIC.lstrip('/'), 'command_type': 'effort_array'})
    graph = with_topic(replace(healthy, nodes=(waiting,)), TOPIC, subscriptions=())
    (remark,) = judge_commands(graph)
    assert 'nobody listens to the efforts of /adaptive_controller' in remark.message


def test_a_controller_that_stands_by(healthy, controller):
    other = replace(controller, name='/pd_gravity_controller', lifecycle='inactive', publishes={
        f'/pd_gravity_controller/{name.rpartition("/")[2]}': types
        for name, types in controller.publishes.items() if name != TOPIC})
    remarks = judge_commands(replace(healthy, nodes=(controller, other)))
    assert [(remark.level, remark.subject) for remark in remarks] == [
        (Level.OK, TOPIC), (Level.NOTE, '/pd_gravity_controller')]
    assert 'stands by beside /adaptive_controller' in remarks[1].message


def test_no_controller(healthy):
    (remark,) = judge_commands(replace(healthy, nodes=(NodeInfo('/driver'),)))
    assert remark.level is Level.NOTE and 'no controller of this package' in remark.message


def test_two_controllers(healthy, controller):
    other = replace(controller, name='/other', publishes={
        f'/other/{name.rpartition("/")[2]}' if name != TOPIC else name: types
        for name, types in controller.publishes.items()})
    remarks = judge_commands(replace(healthy, nodes=(controller, other)))
    assert any(remark.level is Level.WARNING and 'several controllers' in remark.message
               for remark in remarks)


def test_a_controller_manager():
    graph = GraphSnapshot(services={'/left/controller_manager/list_controllers': (
        'controller_manager_msgs/srv/ListControllers',)})
    (remark,) = judge_commands(graph)
    assert (remark.level, remark.subject) == (Level.NOTE, '/left/controller_manager')
    assert 'ros2 control list_controllers -c /left/controller_manager' in remark.remedy
