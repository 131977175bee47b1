# SPDX-License-Identifier: Apache-2.0
import sys
from pathlib import Path

import pytest

from robot_dynamics.bringup.child_process import child_environment, command_line
from robot_dynamics.bringup.launching import actions as launching
from robot_dynamics.bringup.processes import NodeProcess
from robot_dynamics.bringup.runner import ProcessRunner
from robot_dynamics.bringup.security import enclave_arguments
from robot_dynamics.bringup.system import System
from robot_dynamics.errors import BringupError

SECURE = {'ROS_SECURITY_ENABLE': 'true', 'ROS_DOMAIN_ID': '7'}
ARM = NodeProcess('simulated_arm', namespace='left')


def test_nodes_get_their_enclaves_where_dds_is_to_be_secure():
    assert enclave_arguments(ARM, SECURE) == ['--enclave', '/robot_dynamics/simulated_arm']
    words = command_line(ARM, Path('own.yaml'), SECURE)
    assert words.index('--ros-args') < words.index('--enclave')
    assert words[words.index('--enclave') + 1] == '/robot_dynamics/simulated_arm'


@pytest.mark.parametrize('environment', [
    {}, {'ROS_SECURITY_ENABLE': 'false'}, {'ROS_SECURITY_ENABLE': 'True'},
    {'ROS_SECURITY_KEYSTORE': '/keys'}])
def test_and_none_elsewhere(environment):
    assert enclave_arguments(ARM, environment) == []
    assert '--enclave' not in command_line(ARM, Path('own.yaml'), environment)


def test_the_environment_of_this_process_is_the_default(monkeypatch):
    monkeypatch.delenv('ROS_SECURITY_ENABLE', raising=False)
    assert enclave_arguments(ARM) == []
    monkeypatch.setenv('ROS_SECURITY_ENABLE', 'true')
    assert enclave_arguments(ARM) == ['--enclave', '/robot_dynamics/simulated_arm']


def test_a_secure_system_is_not_put_into_a_domain_it_has_no_permissions_for():
    assert child_environment(SECURE)['ROS_DOMAIN_ID'] == '7'
    with pytest.raises(BringupError, match='ROS_DOMAIN_ID: is not set') as caught:
        child_environment({'ROS_SECURITY_ENABLE': 'true'})
    assert 'the permissions of the keystore' in caught.value.remedy


def test_nobody_is_started_who_has_no_keys(monkeypatch):
    monkeypatch.setattr(launching, 'find_package', lambda name: Path('/opt/ros'))
    monkeypatch.setenv('ROS_SECURITY_ENABLE', 'true')
    assert launching.state_publisher(System()) == []
    monkeypatch.delenv('ROS_SECURITY_ENABLE')
    monkeypatch.setitem(sys.modules, 'launch_ros', None)
    with pytest.raises(ImportError):  # it would be started, where launch_ros is
        launching.state_publisher(System())


def test_nodes_of_the_runner_look_for_their_keys(tmp_path):
    pytest.importorskip('rclpy', reason='ROS 2 (rclpy) is not installed')
    keys = {'ROS_SECURITY_KEYSTORE': str(tmp_path), 'ROS_SECURITY_STRATEGY': 'Enforce'}
    environment = child_environment({**child_environment(), **SECURE, **keys})
    process = NodeProcess('recorder', parameters={'output': str(tmp_path / 'recording')})
    with pytest.raises(BringupError) as caught, \
            ProcessRunner([process], environment=environment) as runner:
        for _ in range(300):
            runner.poll(0.1)
    reason = str(caught.value)
    assert 'ended with status 1: ROS 2 cannot be started: ' in reason
    assert f'{tmp_path}/enclaves/robot_dynamics/recorder' in reason
