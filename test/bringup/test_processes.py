# SPDX-License-Identifier: Apache-2.0
"""Processes as data, parameter files, command lines, and the environment of child processes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from robot_dynamics.bringup import ros_environment as dds
from robot_dynamics.bringup.hardware import load_hardware, shipped_hardware
from robot_dynamics.bringup.launching import actions as launching
from robot_dynamics.bringup.plants import read_plant, shipped_plants
from robot_dynamics.bringup.processes import (
    NodeProcess,
    child_environment,
    command_line,
    enclave_arguments,
    parameter_yaml,
    read_parameter_file,
)
from robot_dynamics.bringup.ros_environment import PRIVATE_DOMAINS
from robot_dynamics.bringup.runner import ProcessRunner
from robot_dynamics.bringup.system import System
from robot_dynamics.errors import BringupError
from robot_dynamics.nodes.ros import transports


def test_parameters_survive_the_file():
    urdf = '<?xml version="1.0"?>\n<robot name="a: b">\n\t<!-- # no: comment -->\n</robot>\n'
    values = {'robot_description': urdf, 'rate': 500.0, 'small': 1e-7, 'seed': 3, 'adapt': True,
              'gains': (1.0, 2.0), 'joints': ('a', 'b'), 'looks_like_a_number': '1.0',
              'looks_like_a_bool': 'yes', 'umlaut': 'Gelenk für Öl'}
    text = parameter_yaml(NodeProcess('arm', namespace='left', parameters=values))
    read = yaml.safe_load(text)['/left/arm']['ros__parameters']
    assert read == {**values, 'gains': [1.0, 2.0], 'joints': ['a', 'b']}
    assert {name: type(value) for name, value in read.items() if not isinstance(value, list)} \
        == {name: type(value) for name, value in values.items() if not isinstance(value, tuple)}


def test_command_line_names_node_namespace_and_files():
    process = NodeProcess('arm', namespace='/left/', remappings=(('joint_states', 'js'),),
                          parameter_files=(Path('plant.yaml'),))
    assert command_line(process, Path('own.yaml')) == [
        sys.executable, '-m', 'robot_dynamics.nodes.arm', '--ros-args',
        '-r', '__node:=arm', '-r', '__ns:=/left', '-r', 'joint_states:=js',
        '--params-file', 'plant.yaml', '--params-file', 'own.yaml']


def test_the_root_namespace_is_not_spelled_out():
    assert not any('__ns' in word for word in command_line(NodeProcess('arm'), Path('p.yaml')))


def test_the_checkout_is_found_first_and_once():
    root = str(Path(__file__).resolve().parents[2])
    first = child_environment({'PYTHONPATH': os.pathsep.join(['/other', root])})
    assert first['PYTHONPATH'].split(os.pathsep) == [root, '/other']
    assert child_environment({})['PYTHONPATH'] == root


@pytest.mark.parametrize('wrong', [{'node': 'a-b'}, {'node': ''}, {'node': '1a'},
                                   {'node': 'a', 'namespace': 'left arm'}])
def test_wrong_names_are_refused(wrong):
    with pytest.raises(BringupError, match='use'):
        NodeProcess(**wrong)


@pytest.fixture
def write(tmp_path):
    def write(text):
        path = tmp_path / 'file.yaml'
        path.write_text(text, encoding='utf-8')
        return path
    return write


def test_reads_nodes_and_groups(write):
    path = write('a:\n  ros__parameters:\n    x: 1\n    g: {y: [1.0], h: {z: t}}\n'
                 '/**/b: {ros__parameters: {}}\n')
    assert read_parameter_file(path) == {'a': {'x': 1, 'g.y': [1.0], 'g.h.z': 't'}, '/**/b': {}}


@pytest.mark.parametrize(('text', 'reason'), [
    ('', 'has no nodes'), ('{}', 'has no nodes'), ('text', 'has no nodes'),
    ('[1]', 'has no nodes'), ('a: 1', 'has no ros__parameters below a'),
    ('a: {b: 1}', 'has no ros__parameters below a'),
    ('a: {ros__parameters: [1, 2, 3]}', 'below a;'),
    ('1: {ros__parameters: {x: 1}}', 'below 1;'), ('a: [1', 'cannot be read'),
    ('a: 2001-99-99', 'cannot be read: month'), ('&a {b: *a}', 'cannot be read: .* recursive'),
    ('"\\e[31m": 1', r'below \\x1b\[31m;')])
@pytest.mark.parametrize('read', [read_parameter_file, read_plant, lambda path: load_hardware(
    str(path))], ids=('file', 'plant', 'hardware'))
def test_errors_of_a_file(write, read, text, reason):
    with pytest.raises(BringupError, match=reason) as caught:
        read(write(text))
    assert caught.value.subject
    assert caught.value.remedy


def test_a_plant_is_what_all_its_nodes_say(write):
    path = write('/**: {ros__parameters: {payload_mass: 1.0, seed: 1}}\n'
                 'simulated_arm: {ros__parameters: {seed: 2}}\n')
    assert read_plant(path) == {'payload_mass': 1.0, 'seed': 2}


def test_every_file_of_this_package_is_read():
    for path in (*shipped_hardware().values(), *shipped_plants().values()):
        assert read_parameter_file(path)


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
    assert chosen['OPENBLAS_NUM_THREADS'] == chosen['OMP_NUM_THREADS'] == '1'
    assert dds.launch_environment({**base, 'OMP_NUM_THREADS': '3'})['OMP_NUM_THREADS'] == '3'
    assert bool(set(PROFILES) & chosen.keys()) == (reach is not None)


PROFILES = ('FASTDDS_DEFAULT_PROFILES_FILE', 'FASTRTPS_DEFAULT_PROFILES_FILE')


@pytest.mark.parametrize(('newer', 'name'), [(True, PROFILES[0]), (False, PROFILES[1])])
def test_fast_dds_gets_a_profile_that_it_reads(monkeypatch, newer, name):
    monkeypatch.setattr(transports, 'has_fast_dds_3', lambda: newer)
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
    # Any range but this machine takes the transports of Fast DDS; this one is private.
    {'ROS_AUTOMATIC_DISCOVERY_RANGE': 'OFF', **dict.fromkeys(PROFILES)}])
def test_a_killed_process_cannot_block_others(run_beside_node, environment, wish):
    """Shared memory has locks, which a process that is killed keeps."""
    assert [line for line in run_beside_node({**environment, **wish}, SHARED) if line] == []


def test_peers_elsewhere_are_not_cut_off(monkeypatch):
    for name, value in {'ROS_STATIC_PEERS': '10.0.0.2', transports.REACH: 'LOCALHOST'}.items():
        monkeypatch.setenv(name, value)
    for name in (*PROFILES, 'ROS_LOCALHOST_ONLY', transports.BUILTIN):
        monkeypatch.delenv(name, raising=False)
    with transports.without_shared_memory():
        assert os.environ[transports.REACH] == 'LOCALHOST'
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
    with pytest.raises(BringupError, match='ROS_DOMAIN_ID is not set') as caught:
        child_environment({'ROS_SECURITY_ENABLE': 'true'})
    assert 'the permissions of the keystore' in caught.value.remedy


def test_nodes_without_keys_are_not_started(monkeypatch):
    monkeypatch.setattr(launching, 'find_package', lambda name: Path('/opt/ros'))
    monkeypatch.setenv('ROS_SECURITY_ENABLE', 'true')
    assert launching.state_publisher(System()) == []
    monkeypatch.delenv('ROS_SECURITY_ENABLE')
    monkeypatch.setitem(sys.modules, 'launch_ros', None)
    with pytest.raises(ImportError):  # it would be started, where launch_ros is
        launching.state_publisher(System())


@pytest.mark.slow
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
