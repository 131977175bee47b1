# SPDX-License-Identifier: Apache-2.0
"""Domains in use on this machine, private ones, and where a running system is."""

import os
import socket
import subprocess
import sys

import pytest

from robot_dynamics.bringup import ros_environment as domains
from robot_dynamics.bringup import ros_environment as module
from robot_dynamics.bringup.ros_environment import PRIVATE_DOMAINS, private_domain, running_system
from robot_dynamics.errors import BringupError

# Tests that run beside it take domains, too.
pytestmark = pytest.mark.ros


def test_ports_of_the_highest_domain_are_not_ephemeral():
    assert 7400 + 250 * max(PRIVATE_DOMAINS) + 249 < 32768
    assert 0 not in PRIVATE_DOMAINS


def test_a_domain_is_not_reserved_twice(monkeypatch):
    domains._marks.clear()  # of tests that are over
    # Domains that no other process on this machine reserves.
    monkeypatch.setattr(domains, 'PRIVATE_DOMAINS', range(101, 105))
    taken = {private_domain() for _ in range(3)}
    assert len(taken) == 3
    # Nor is another process.
    code = ('from robot_dynamics.bringup import ros_environment as domains\n'
            'domains.PRIVATE_DOMAINS = range(101, 105)\n'
            'print(domains.private_domain())')
    other = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True,
                           check=True)
    assert int(other.stdout) not in taken
    # That process has ended, so its domain is free again; then all are in use.
    assert private_domain() == int(other.stdout)
    with pytest.raises(BringupError, match='ROS_DOMAIN_ID has no free value: every DDS domain'):
        private_domain()


@pytest.mark.parametrize('participant', [0, 3])
def test_a_domain_with_a_participant_is_in_use(monkeypatch, participant):
    monkeypatch.setattr(domains, 'PRIVATE_DOMAINS', range(105, 106))
    monkeypatch.setattr(domains, '_marks', domains.deque(maxlen=1))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listener:
        listener.bind(('127.0.0.1', 7400 + 250 * 105 + 10 + 2 * participant))
        with pytest.raises(BringupError):
            private_domain()
    assert private_domain() == 105


def test_a_real_node_is_seen(monkeypatch):
    rclpy = pytest.importorskip('rclpy', reason='ROS 2 (rclpy) is not installed')
    context = rclpy.Context()
    monkeypatch.setenv('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    number = private_domain()
    monkeypatch.setattr(domains, '_marks', domains.deque(maxlen=1))
    rclpy.init(args=[], context=context, domain_id=number)
    try:
        node = rclpy.create_node('listener', context=context)
        monkeypatch.setattr(domains, 'PRIVATE_DOMAINS', range(number, number + 1))
        with pytest.raises(BringupError):
            private_domain()
        node.destroy_node()
    finally:
        rclpy.shutdown(context=context)


def test_ports_tell_domains():
    participant, multicast, mark, user = 7400 + 250 * 42 + 12, 7400 + 250 * 43, 7649, 7411
    # Discovery of a participant; the port they all share, a mark and a user's port say nothing.
    assert domains.domains_of_ports([participant, multicast, mark, user, 53, 68, 40000]) == (42,)
    assert domains.domains_of_ports([7410, 7412]) == (0,)


def test_a_participant_that_listens_on_this_machine():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listener:
        for number in reversed(PRIVATE_DOMAINS):
            try:
                listener.bind(('127.0.0.1', 7400 + 250 * number + 10))
                break
            except OSError:
                continue
        assert number in domains.listening_domains()


REACH = 'ROS_AUTOMATIC_DISCOVERY_RANGE'

pytest.importorskip('rclpy', reason='ROS 2 (rclpy) is not installed')


@pytest.fixture
def listening(monkeypatch):
    """Say in which domains something listens, and nothing of the environment."""
    for name in ('ROS_DOMAIN_ID', REACH, 'ROS_LOCALHOST_ONLY', 'ROS_DISTRO'):
        monkeypatch.delenv(name, raising=False)

    def say(*domains):
        monkeypatch.setattr(module, 'listening_domains', lambda: domains)
    return say


def test_the_domain_in_use_is_looked_at_on_this_machine(listening):
    listening(7)
    with running_system() as domain:
        assert (domain, os.environ[REACH]) == (7, 'LOCALHOST')
    assert REACH not in os.environ
    with running_system(3) as domain:
        assert (domain, os.environ[REACH]) == (3, 'LOCALHOST')


def test_variables_of_the_user_are_kept(listening, monkeypatch):
    listening(7)
    monkeypatch.setenv('ROS_DOMAIN_ID', '5')
    with running_system() as domain:
        assert domain is None
        assert REACH not in os.environ
    monkeypatch.setenv(REACH, 'SUBNET')
    with running_system(3) as domain:
        assert (domain, os.environ[REACH]) == (3, 'SUBNET')


@pytest.mark.parametrize('name', [REACH, 'ROS_LOCALHOST_ONLY'])
def test_who_keeps_to_this_machine_means_the_system_here(listening, monkeypatch, name):
    listening(7)
    value = 'LOCALHOST' if name == REACH else '1'
    monkeypatch.setenv(name, value)
    with running_system() as domain:
        assert (domain, os.environ[REACH]) == (7, 'LOCALHOST')
    assert os.environ[name] == value and (name == REACH or REACH not in os.environ)


def test_no_system_or_several(listening):
    listening()
    with running_system() as domain:
        assert domain is None
    listening(7, 9)
    with pytest.raises(BringupError, match='--domain 7'), running_system():
        pass
