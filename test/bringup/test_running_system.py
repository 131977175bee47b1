# SPDX-License-Identifier: Apache-2.0
import os

import pytest

from robot_dynamics.bringup import running_system as module
from robot_dynamics.bringup.running_system import running_system
from robot_dynamics.errors import BringupError

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


def test_what_the_user_says_counts(listening, monkeypatch):
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


def test_nobody_or_several(listening):
    listening()
    with running_system() as domain:
        assert domain is None
    listening(7, 9)
    with pytest.raises(BringupError, match='--domain 7'), running_system():
        pass


@pytest.mark.parametrize('number', [-1, 233, 300])
def test_domains_that_there_are_none_of_are_refused(number):
    with pytest.raises(BringupError, match='give one from 0 to 232'), running_system(number):
        pass
