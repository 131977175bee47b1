# SPDX-License-Identifier: Apache-2.0
"""The report of a running system, its description and its environment."""

import re
from dataclasses import replace

import pytest

from robot_dynamics.bringup.doctor.findings import Level, note
from robot_dynamics.bringup.doctor.machine import MachineState
from robot_dynamics.bringup.doctor.system import (
    _other_domains,
    check_description,
    check_environment,
    check_snapshot,
    check_system,
)
from robot_dynamics.nodes.observing.graph_snapshot import Endpoint, GraphSnapshot, NodeInfo

MACHINE = MachineState(cores=2, kernels=3, compiled=3)
LOCAL = {'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST'}


def test_a_healthy_system(healthy):
    report = check_snapshot(healthy, MACHINE, LOCAL, [])
    assert [result for result in report.results if result.level >= Level.NOTE] == []
    assert report.subject == 'domain 0: 2 nodes, observed for 4.0 s'
    assert [section.title for section in report.sections] == [
        'description', 'joint states', 'commands', 'time', 'nodes', 'this shell', 'this machine']


def test_a_domain_without_nodes():
    hidden = GraphSnapshot(domain=9, nodes=(NodeInfo('/_ros2cli_daemon'),))
    report = check_snapshot(hidden, MACHINE, LOCAL, [note('ROS_DOMAIN_ID', 'elsewhere')])
    assert report.exit_status == 1
    assert report.results[0].message == 'has no nodes'
    assert report.subject == 'domain 9: 0 nodes, observed for 0.0 s'
    assert 'elsewhere' in [result.message for result in report.results]


def test_a_namespace_and_other_arms(healthy):
    graph = replace(healthy, namespace='left', other_states=('/right/joint_states',))
    report = check_snapshot(graph, MACHINE, LOCAL, [])
    assert 'namespace /left' in report.subject
    (result,) = [result for result in report.results
                 if result.subject == '/right/joint_states']
    assert result.level is Level.NOTE and '--namespace' in result.remedy


def test_other_domains_of_this_machine():
    assert _other_domains([]) == []
    (result,) = _other_domains([5, 23])
    assert 'domains 5, 23' in result.message
    assert result.remedy == 'robot-dynamics doctor --domain 5'


def test_without_ros_the_other_checks_are_reported(monkeypatch):
    monkeypatch.setattr('importlib.util.find_spec', lambda name: None)
    report = check_system(0.1)
    assert report.exit_status == 1
    assert report.results[0].subject == 'rclpy'
    assert [section.title for section in report.sections] == ['this shell', 'this machine']


TOPIC = '/robot_description'
STRING = 'std_msgs/msg/String'


def test_the_description_of_a_healthy_system(healthy, is_well):
    results, robot = check_description(healthy)
    assert is_well(results) and robot.n == 7
    assert [result.message for result in results] == [
        'latched, by /driver', 'arm7: 7 joints, 15.3 kg moving']


def test_a_controller_waits_for_a_description_without_publisher(healthy, with_topic, worst):
    graph = replace(with_topic(healthy, TOPIC, publishers=()), descriptions=())
    results, robot = check_description(graph)
    result = worst(results, Level.ERROR)
    assert '/adaptive_controller wait for it' in result.message and robot is None


@pytest.mark.parametrize('parameter', ['robot', 'robot_description'])
def test_a_controller_that_has_its_own(arm, healthy, with_topic, with_parameters, parameter,
                                       is_well):
    graph = replace(with_topic(healthy, TOPIC, publishers=()), descriptions=())
    graph = with_parameters(graph, **{
        parameter: 'arm7' if parameter == 'robot' else arm.urdf})
    results, robot = check_description(graph)
    assert is_well(results) and robot.n == 7
    assert results[0].level is Level.NOTE


def test_a_description_without_publisher_that_no_node_needs(healthy, with_topic, worst):
    graph = replace(with_topic(healthy, TOPIC, publishers=()), descriptions=(), nodes=())
    assert 'robot_state_publisher' in worst(check_description(graph)[0], Level.WARNING).remedy


def test_not_latched(healthy, with_topic, worst):
    graph = replace(with_topic(healthy, TOPIC, publishers=(Endpoint('/rsp', STRING),)),
                    descriptions=())
    results, robot = check_description(graph)
    assert 'without latching' in worst(results, Level.ERROR).message and robot is None


def test_latched_and_silent(healthy, worst):
    result = worst(check_description(replace(healthy, descriptions=()))[0], Level.ERROR)
    assert 'no message' in result.message


def test_two_publishers_and_two_descriptions(arm, healthy, with_topic):
    latched = tuple(Endpoint(name, STRING, latched=True) for name in ('/a', '/b'))
    graph = replace(with_topic(healthy, TOPIC, publishers=latched),
                    descriptions=(arm.urdf, arm.urdf.replace('arm7', 'other')))
    warnings = [result.message for result in check_description(graph)[0]
                if result.level is Level.WARNING]
    assert warnings == ['has 2 publishers: /a, /b', 'has 2 different descriptions']


def test_one_that_cannot_be_read(healthy, worst):
    results, robot = check_description(replace(healthy, descriptions=('<robot name="x"/>',)))
    assert worst(results, Level.ERROR).remedy and robot is None


def test_a_path_that_comes_over_the_network_is_not_read(healthy, worst):
    results, robot = check_description(replace(healthy, descriptions=('/etc/passwd',)))
    assert robot is None and worst(results, Level.ERROR)


def test_warnings_about_the_robot_are_reported(arm, healthy):
    light = re.sub('<mass value="(.*?)"',
                   lambda found: f'<mass value="{1e-5 * float(found[1])}"', arm.urdf)
    results, robot = check_description(replace(healthy, descriptions=(light,)))
    assert robot is not None
    assert any(result.level is Level.WARNING and 'tonnes' in result.remedy for result in results)


def test_the_controller_s_choice_of_joints_and_gravity(healthy, with_parameters):
    graph = with_parameters(healthy, joints=['joint2', 'joint1'], base_link='link0',
                            gravity=(0.0, 0.0, 9.81))
    robot = check_description(graph)[1]
    assert robot.joint_names == ('joint2', 'joint1')
    assert robot.gravity[2] == 9.81


def test_a_robot_that_no_controller_here_can_move(healthy, worst):
    floating = """<robot name="x"><link name="a"/><link name="b"/>
        <joint name="free" type="floating"><parent link="a"/><child link="b"/></joint></robot>"""
    results, robot = check_description(replace(healthy, descriptions=(floating,)))
    assert worst(results, Level.ERROR).subject == 'free' and robot is None


def judge(environment, files=()):
    return check_environment(environment, lambda path: path in files, 'rmw_fastrtps_cpp')


@pytest.mark.parametrize(('environment', 'reach'), [
    (LOCAL, 'this machine only'), ({**LOCAL, 'ROS_DOMAIN_ID': '42'}, 'this machine only'),
    ({'ROS_LOCALHOST_ONLY': '1'}, 'this machine only'), ({}, 'the whole network')])
def test_an_environment_that_works(environment, reach, is_well):
    results = judge(environment)
    assert is_well(results)
    assert results[-1].message == f'rmw_fastrtps_cpp, discovery on {reach}'
    # That everybody is heard is said, and is what ROS 2 does by itself.
    assert any('can command the arm' in result.message for result in results) \
        == (reach == 'the whole network')


@pytest.mark.parametrize(('environment', 'level', 'subject'), [
    ({**LOCAL, 'ROS_DOMAIN_ID': 'arm'}, Level.ERROR, 'ROS_DOMAIN_ID'),
    ({**LOCAL, 'ROS_DOMAIN_ID': '-1'}, Level.ERROR, 'ROS_DOMAIN_ID'),
    ({**LOCAL, 'ROS_DOMAIN_ID': '233'}, Level.ERROR, 'ROS_DOMAIN_ID'),
    ({**LOCAL, 'ROS_DOMAIN_ID': '200'}, Level.WARNING, 'ROS_DOMAIN_ID'),
    ({'ROS_AUTOMATIC_DISCOVERY_RANGE': 'localhost'}, Level.ERROR,
     'ROS_AUTOMATIC_DISCOVERY_RANGE'),
    ({'ROS_AUTOMATIC_DISCOVERY_RANGE': 'OFF'}, Level.ERROR, 'ROS_AUTOMATIC_DISCOVERY_RANGE'),
    ({**LOCAL, 'ROS_DISTRO': 'humble'}, Level.WARNING, 'ROS_AUTOMATIC_DISCOVERY_RANGE'),
    ({'ROS_AUTOMATIC_DISCOVERY_RANGE': 'SUBNET', 'ROS_LOCALHOST_ONLY': '1'}, Level.WARNING,
     'ROS_LOCALHOST_ONLY'),
    ({**LOCAL, 'FASTDDS_DEFAULT_PROFILES_FILE': '/gone.xml'}, Level.WARNING,
     'FASTDDS_DEFAULT_PROFILES_FILE'),
    ({**LOCAL, 'FASTRTPS_DEFAULT_PROFILES_FILE': '/gone.xml'}, Level.WARNING,
     'FASTRTPS_DEFAULT_PROFILES_FILE'),
    ({**LOCAL, 'CYCLONEDDS_URI': 'file:///gone.xml'}, Level.WARNING, 'CYCLONEDDS_URI'),
])
def test_what_keeps_nodes_from_each_other(environment, level, subject, worst):
    result = worst(judge(environment), level)
    assert result.subject == subject and result.remedy


@pytest.mark.parametrize('environment', [
    {**LOCAL, 'FASTDDS_DEFAULT_PROFILES_FILE': '/here.xml'},
    {**LOCAL, 'CYCLONEDDS_URI': 'file:///here.xml'},
    {**LOCAL, 'CYCLONEDDS_URI': '<CycloneDDS/>'},
    {'ROS_AUTOMATIC_DISCOVERY_RANGE': 'OFF', 'ROS_STATIC_PEERS': '10.0.0.2'},
    {**LOCAL, 'RMW_FASTRTPS_USE_QOS_FROM_XML': '1'},
    {**LOCAL, 'ROS_DISCOVERY_SERVER': '127.0.0.1:11811'}])
def test_what_is_meant_and_right(environment, is_well):
    assert is_well(judge(environment, files=('/here.xml',)))
