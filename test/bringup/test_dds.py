# SPDX-License-Identifier: Apache-2.0
import os
import subprocess
import sys

import pytest

from robot_dynamics.bringup import dds
from robot_dynamics.bringup.child_process import child_environment
from robot_dynamics.bringup.domains import PRIVATE_DOMAINS
from robot_dynamics.nodes.ros import transports
from robot_dynamics.nodes.ros import transports as fast_dds


def test_systems_are_private_by_default():
    environment = child_environment({})
    assert environment['ROS_AUTOMATIC_DISCOVERY_RANGE'] == 'LOCALHOST'
    assert int(environment['ROS_DOMAIN_ID']) in PRIVATE_DOMAINS
    assert 'ROS_LOCALHOST_ONLY' not in environment


@pytest.mark.parametrize('wish', [
    {'ROS_DOMAIN_ID': '7'}, {'ROS_AUTOMATIC_DISCOVERY_RANGE': 'SUBNET'},
    {'ROS_DOMAIN_ID': '7', 'ROS_LOCALHOST_ONLY': '1'},
    {'ROS_DOMAIN_ID': '7', 'ROS_DISTRO': 'jazzy'}])
def test_what_the_user_set_stays(wish):
    environment = child_environment(wish)
    assert {name: environment.get(name) for name in wish} == wish
    assert environment.get('ROS_DOMAIN_ID') == wish.get('ROS_DOMAIN_ID')


@pytest.mark.parametrize('wish', [
    {'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST'}, {'ROS_LOCALHOST_ONLY': '1'},
    {'ROS_AUTOMATIC_DISCOVERY_RANGE': ''}])
def test_on_this_machine_alone_nothing_else_is_met(wish):
    # In the default domain there may be the driver of a real arm.
    environment = child_environment(wish)
    assert int(environment['ROS_DOMAIN_ID']) in PRIVATE_DOMAINS
    for name, value in wish.items():
        assert not value or environment[name] == value


def test_humble_knows_only_the_older_variable():
    assert child_environment({'ROS_DISTRO': 'humble'})['ROS_LOCALHOST_ONLY'] == '1'


@pytest.mark.parametrize(('base', 'reach'), [
    ({}, 'LOCALHOST'), ({'ROS_DOMAIN_ID': '7'}, 'LOCALHOST'),
    ({'ROS_AUTOMATIC_DISCOVERY_RANGE': 'SUBNET'}, None), ({'ROS_LOCALHOST_ONLY': '0'}, None),
    ({'ROS_DISTRO': 'humble'}, None)])
def test_launch_files_keep_the_domain_and_this_machine_unless_asked(base, reach):
    chosen = dds.launch_environment(base)
    assert 'ROS_DOMAIN_ID' not in chosen
    assert chosen.get('ROS_AUTOMATIC_DISCOVERY_RANGE') == reach
    assert bool(set(PROFILES) & chosen.keys()) == (reach is not None)


PROFILES = ('FASTDDS_DEFAULT_PROFILES_FILE', 'FASTRTPS_DEFAULT_PROFILES_FILE')


@pytest.mark.parametrize(('newer', 'name'), [(True, PROFILES[0]), (False, PROFILES[1])])
def test_fast_dds_is_told_where_it_looks(monkeypatch, newer, name):
    monkeypatch.setattr(fast_dds, 'has_fast_dds_3', lambda: newer)
    environment = child_environment({})
    assert {key for key in PROFILES if key in environment} == {name}
    assert environment[name].endswith('this_machine.xml')


@pytest.mark.parametrize('wish', [
    {'ROS_AUTOMATIC_DISCOVERY_RANGE': 'SUBNET'}, {'RMW_IMPLEMENTATION': 'rmw_cyclonedds_cpp'},
    {PROFILES[0]: '/mine.xml'}, {PROFILES[1]: '/mine.xml'},
    # Who names peers elsewhere wants to reach them.
    {'ROS_STATIC_PEERS': '10.0.0.2', 'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST'}])
def test_the_profile_is_not_forced_on_anybody(wish):
    environment = child_environment(wish)
    assert {key: environment.get(key) for key in PROFILES} == {
        key: wish.get(key) for key in PROFILES}


@pytest.fixture
def run_beside_node():
    """Run code beside a node, as a node of ours begins; return what was printed."""
    pytest.importorskip('rclpy', reason='ROS 2 (rclpy) is not installed')

    def run(environment, code):
        environment = {key: value for key, value in environment.items() if value is not None}
        begin = ('import os\n'
                 'from rclpy.node import Node\n'
                 'from robot_dynamics.nodes.ros.runtime import started_context\n'
                 'node = Node("listener", context=started_context(None))\n')
        return subprocess.run([sys.executable, '-c', begin + code], env=environment, text=True,
                              check=True, capture_output=True).stdout.splitlines()

    return run


@pytest.fixture
def environment():
    """What our commands give their nodes, whatever runs the tests."""
    return child_environment(
        {key: value for key, value in os.environ.items() if key not in PROFILES})


#: Fast DDS maps its shared memory, and then it has a name.
SHARED = ('import re\n'
          'print(*re.findall("/dev/shm/fast.*", open("/proc/self/maps").read()), sep="\\n")')


@pytest.mark.parametrize('wish', [
    {}, {'ROS_LOCALHOST_ONLY': '1'},
    # Any range but this machine takes the transports of Fast DDS; this one disturbs nobody.
    {'ROS_AUTOMATIC_DISCOVERY_RANGE': 'OFF', **dict.fromkeys(PROFILES)}])
def test_nobody_who_is_killed_can_block_others(run_beside_node, environment, wish):
    """Shared memory has locks, which a process that is killed keeps."""
    assert [line for line in run_beside_node({**environment, **wish}, SHARED) if line] == []


def test_peers_elsewhere_are_not_cut_off(monkeypatch):
    for name, value in {'ROS_STATIC_PEERS': '10.0.0.2', fast_dds.REACH: 'LOCALHOST'}.items():
        monkeypatch.setenv(name, value)
    for name in (*PROFILES, 'ROS_LOCALHOST_ONLY', transports.BUILTIN):
        monkeypatch.delenv(name, raising=False)
    with transports.without_shared_memory():
        assert os.environ[fast_dds.REACH] == 'LOCALHOST'
    assert not any(map(os.environ.get, PROFILES))


def test_a_process_that_began_without_the_profile_stays_on_this_machine(environment):
    """Fast DDS reads it once: a command that looks farther first has to keep the range then."""
    code = ('import os\n'
            'from robot_dynamics.nodes.ros.transports import without_shared_memory\n'
            'for reach in ("OFF", "LOCALHOST"):\n'
            '    os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = reach\n'
            '    with without_shared_memory():\n'
            '        print(os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"])')
    plain = {key: value for key, value in environment.items() if key not in PROFILES}
    said = subprocess.run([sys.executable, '-c', code], env=plain, text=True, check=True,
                          capture_output=True).stdout.split()
    assert said == ['OFF', 'LOCALHOST']


def test_who_asks_for_shared_memory_has_it(run_beside_node, environment):
    wish = {'ROS_AUTOMATIC_DISCOVERY_RANGE': 'OFF', **dict.fromkeys(PROFILES),
            'FASTDDS_BUILTIN_TRANSPORTS': 'DEFAULT'}
    assert [line for line in run_beside_node({**environment, **wish}, SHARED) if line]


def test_the_range_is_back_when_ros_is_there(run_beside_node, environment):
    code = 'print(os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"])'
    assert run_beside_node(environment, code) == ['LOCALHOST']


def test_no_socket_is_open_beyond_this_machine(run_beside_node, environment):
    listed = run_beside_node(environment, (
        'mine = {os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd")\n'
        '        if os.path.exists(f"/proc/self/fd/{fd}")}\n'
        'for kind in ("udp", "udp6", "tcp", "tcp6"):\n'
        '    for line in open(f"/proc/net/{kind}").readlines()[1:]:\n'
        '        fields = line.split()\n'
        '        if f"socket:[{fields[9]}]" in mine:\n'
        '            print(kind, *fields[1].split(":"))\n'))
    port = 7400 + 250 * int(environment['ROS_DOMAIN_ID'])
    sockets = [line.split() for line in listed]
    assert any(port <= int(number, 16) < port + 250 for _, _, number in sockets), listed
    # 127.0.0.1, as the kernel writes it.
    assert [line for line in listed if line.split()[:2] != ['udp', '0100007F']] == []
