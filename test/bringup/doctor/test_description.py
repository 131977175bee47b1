# SPDX-License-Identifier: Apache-2.0
import re
from dataclasses import replace

import pytest

from robot_dynamics.bringup.doctor.description import judge_description
from robot_dynamics.bringup.doctor.findings import Level
from robot_dynamics.nodes.observing.graph_snapshot import Endpoint

TOPIC = '/robot_description'
STRING = 'std_msgs/msg/String'


def test_a_healthy_system(healthy, is_well):
    remarks, robot = judge_description(healthy)
    assert is_well(remarks) and robot.n == 7
    assert [remark.message for remark in remarks] == [
        'latched, by /driver', 'arm7: 7 joints, 15.3 kg moving']


def test_nobody_publishes_it_and_a_controller_waits(healthy, with_topic, worst):
    graph = replace(with_topic(healthy, TOPIC, publishers=()), descriptions=())
    remarks, robot = judge_description(graph)
    remark = worst(remarks, Level.ERROR)
    assert '/adaptive_controller wait for it' in remark.message and robot is None


@pytest.mark.parametrize('parameter', ['robot', 'robot_description'])
def test_a_controller_that_has_its_own(arm, healthy, with_topic, with_parameters, parameter,
                                       is_well):
    graph = replace(with_topic(healthy, TOPIC, publishers=()), descriptions=())
    graph = with_parameters(graph, **{
        parameter: 'arm7' if parameter == 'robot' else arm.urdf})
    remarks, robot = judge_description(graph)
    assert is_well(remarks) and robot.n == 7
    assert remarks[0].level is Level.NOTE


def test_nobody_publishes_it_and_nobody_waits(healthy, with_topic, worst):
    graph = replace(with_topic(healthy, TOPIC, publishers=()), descriptions=(), nodes=())
    assert 'robot_state_publisher' in worst(judge_description(graph)[0], Level.WARNING).remedy


def test_not_latched(healthy, with_topic, worst):
    graph = replace(with_topic(healthy, TOPIC, publishers=(Endpoint('/rsp', STRING),)),
                    descriptions=())
    remarks, robot = judge_description(graph)
    assert 'not latched' in worst(remarks, Level.ERROR).message and robot is None


def test_latched_and_silent(healthy, worst):
    remark = worst(judge_description(replace(healthy, descriptions=()))[0], Level.ERROR)
    assert 'nothing comes' in remark.message


def test_two_publishers_and_two_descriptions(arm, healthy, with_topic):
    latched = tuple(Endpoint(name, STRING, latched=True) for name in ('/a', '/b'))
    graph = replace(with_topic(healthy, TOPIC, publishers=latched),
                    descriptions=(arm.urdf, arm.urdf.replace('arm7', 'other')))
    warnings = [remark.message for remark in judge_description(graph)[0]
                if remark.level is Level.WARNING]
    assert warnings == ['2 publishers: /a, /b', '2 different descriptions came']


def test_one_that_cannot_be_read(healthy, worst):
    remarks, robot = judge_description(replace(healthy, descriptions=('<robot name="x"/>',)))
    assert worst(remarks, Level.ERROR).remedy and robot is None


def test_a_path_that_comes_over_the_network_is_not_read(healthy, worst):
    remarks, robot = judge_description(replace(healthy, descriptions=('/etc/passwd',)))
    assert robot is None and worst(remarks, Level.ERROR)


def test_doubts_about_the_robot_are_told(arm, healthy):
    light = re.sub('<mass value="(.*?)"',
                   lambda found: f'<mass value="{1e-5 * float(found[1])}"', arm.urdf)
    remarks, robot = judge_description(replace(healthy, descriptions=(light,)))
    assert robot is not None
    assert any(remark.level is Level.WARNING and 'tonnes' in remark.remedy for remark in remarks)


def test_the_controller_s_choice_of_joints_and_gravity(healthy, with_parameters):
    graph = with_parameters(healthy, joints=['joint2', 'joint1'], base_link='link0',
                            gravity=(0.0, 0.0, 9.81))
    robot = judge_description(graph)[1]
    assert robot.joint_names == ('joint2', 'joint1')
    assert robot.gravity[2] == 9.81


def test_a_robot_that_no_controller_here_can_move(healthy, worst):
    floating = """<robot name="x"><link name="a"/><link name="b"/>
        <joint name="free" type="floating"><parent link="a"/><child link="b"/></joint></robot>"""
    remarks, robot = judge_description(replace(healthy, descriptions=(floating,)))
    assert worst(remarks, Level.ERROR).subject == 'free' and robot is None
