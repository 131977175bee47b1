# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace

from robot_dynamics.bringup.doctor.findings import Level, note
from robot_dynamics.bringup.doctor.looking import _elsewhere
from robot_dynamics.bringup.doctor.machine_seen import MachineSeen
from robot_dynamics.bringup.doctor.system import examine_system, judge_system
from robot_dynamics.nodes.observing.graph_snapshot import GraphSnapshot, NodeInfo

MACHINE = MachineSeen(cores=2, kernels=3, compiled=3)
LOCAL = {'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST'}


def test_a_healthy_system(healthy):
    examination = judge_system(healthy, MACHINE, LOCAL, [])
    assert [remark for remark in examination.remarks if remark.level >= Level.NOTE] == []
    assert examination.subject == 'domain 0: 2 nodes, listened to for 4.0 s'
    assert [section.title for section in examination.sections] == [
        'description', 'joint states', 'commands', 'time', 'nodes', 'this shell', 'this machine']


def test_nobody_is_there():
    hidden = GraphSnapshot(domain=9, nodes=(NodeInfo('/_ros2cli_daemon'),))
    examination = judge_system(hidden, MACHINE, LOCAL, [note('ROS_DOMAIN_ID', 'elsewhere')])
    assert examination.exit_status == 1
    assert examination.remarks[0].message == 'no node runs here'
    assert examination.subject == 'domain 9: 0 nodes, listened to for 0.0 s'
    assert 'elsewhere' in [remark.message for remark in examination.remarks]


def test_a_namespace_and_other_arms(healthy):
    graph = replace(healthy, namespace='left', other_states=('/right/joint_states',))
    examination = judge_system(graph, MACHINE, LOCAL, [])
    assert 'namespace /left' in examination.subject
    (remark,) = [remark for remark in examination.remarks
                 if remark.subject == '/right/joint_states']
    assert remark.level is Level.NOTE and '--namespace' in remark.remedy


def test_other_domains_of_this_machine():
    assert _elsewhere([]) == []
    (remark,) = _elsewhere([5, 23])
    assert 'domains 5, 23' in remark.message
    assert remark.remedy == 'robot-dynamics doctor --domain 5'


def test_without_ros_the_rest_is_said(monkeypatch):
    monkeypatch.setattr('importlib.util.find_spec', lambda name: None)
    examination = examine_system(0.1)
    assert examination.exit_status == 1
    assert examination.remarks[0].subject == 'rclpy'
    assert [section.title for section in examination.sections] == ['this shell', 'this machine']
