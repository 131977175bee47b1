# SPDX-License-Identifier: Apache-2.0
"""Where the doctor looks when it is not told; without any DDS."""

import os

import pytest

from robot_dynamics.bringup.doctor import system as looking
from robot_dynamics.nodes.observing import graph_probe
from robot_dynamics.nodes.observing.graph_snapshot import GraphSnapshot, NodeInfo

REACH = 'ROS_AUTOMATIC_DISCOVERY_RANGE'


@pytest.fixture
def find_system(monkeypatch):
    """Look for systems that keep to this machine, in given domains, among listening ones."""
    looks = []

    def run(systems, listening, domain=None, **environment):
        for name in ('ROS_DOMAIN_ID', REACH, 'ROS_LOCALHOST_ONLY', 'ROS_DISTRO'):
            monkeypatch.delenv(name, raising=False)
        for name, value in environment.items():
            monkeypatch.setenv(name, value)

        def look(seconds, namespace=None, domain=None):
            number = int(os.environ.get('ROS_DOMAIN_ID', 0)) if domain is None else domain
            looks.append((number, os.environ.get(REACH), os.environ.get('ROS_LOCALHOST_ONLY')))
            heard = number in systems and os.environ.get(REACH) == 'LOCALHOST'
            return GraphSnapshot(domain=number, nodes=(NodeInfo('/arm'),) if heard else ())

        monkeypatch.setattr(graph_probe, 'look', look)
        monkeypatch.setattr(looking, 'listening_domains', lambda: tuple(listening))
        before = dict(os.environ)
        graph, remarks = looking.find_system(1.0, namespace=None, domain=domain)
        assert dict(os.environ) == before
        return graph, remarks, looks
    return run


def test_the_only_system_of_this_machine_is_found(find_system):
    graph, (remark,), looks = find_system([57], [57])
    assert graph.domain == 57 and not graph.is_empty
    assert looks == [(0, None, None), (57, 'LOCALHOST', None)]
    assert 'is limited to this machine, in domain 57' in remark.message
    assert 'ROS_DOMAIN_ID=57' in remark.remedy


def test_one_in_the_domain_that_was_named(find_system):
    graph, (remark,), _ = find_system([57, 60], [57, 60], domain=57)
    assert graph.domain == 57 and not graph.is_empty
    assert (remark.subject, remark.message) == ('this system', 'is limited to this machine')


@pytest.mark.parametrize('environment', [{REACH: 'LOCALHOST'}, {'ROS_LOCALHOST_ONLY': '1'}])
def test_who_keeps_to_this_machine_has_named_no_domain(find_system, environment):
    graph, (remark,), looks = find_system([57], [57], **environment)
    assert graph.domain == 57 and not graph.is_empty
    assert [number for number, _, _ in looks] == [0, 57]
    assert remark.remedy == 'to reach it set ROS_DOMAIN_ID=57'
    graph, (remark,), looks = find_system([57], [57], ROS_DOMAIN_ID='3', **environment)
    assert graph.is_empty and '--domain 57' in remark.remedy


def test_humble_knows_the_older_variable(find_system):
    looks = find_system([57], [57], ROS_DISTRO='humble')[2]
    assert looks[1] == (57, 'LOCALHOST', '1')


@pytest.mark.parametrize('environment', [{'ROS_DOMAIN_ID': '3'}, {REACH: 'SUBNET'}])
def test_a_user_who_has_said_where_is_told_of_others(find_system, environment):
    graph, (remark,), looks = find_system([57], [57], **environment)
    assert graph.is_empty and len(looks) == 1
    assert remark.remedy == 'robot-dynamics doctor --domain 57'


def test_of_several_none_is_guessed(find_system):
    graph, (remark,), looks = find_system([5, 57], [5, 57])
    assert graph.is_empty and len(looks) == 1
    assert 'domains 5, 57' in remark.message


def test_what_is_found_at_once_is_taken(find_system):
    graph, remarks, looks = find_system([3], [3, 57], ROS_DOMAIN_ID='3',
                                        **{REACH: 'LOCALHOST'})
    assert not graph.is_empty and len(looks) == 1
    assert 'domain 57' in remarks[0].message
