# SPDX-License-Identifier: Apache-2.0
import pytest

from robot_dynamics.bringup.doctor.environment import check_environment
from robot_dynamics.bringup.doctor.findings import Level

LOCAL = {'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST'}


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
