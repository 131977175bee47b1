# SPDX-License-Identifier: Apache-2.0
"""How nodes start, refuse to, and end; with the leanest of them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

NODE = 'inverse_dynamics'
#: Processes of their own from the first instruction on, not forked.
COLD_STARTS = True


def alive(pid: int) -> bool:
    """Whether a process runs: not ended and not waiting to be buried."""
    try:
        with open(f'/proc/{pid}/stat', encoding='ascii') as file:  # noqa: PTH123
            return file.read().rsplit(')', 1)[1].split()[0] != 'Z'
    except FileNotFoundError:
        return False


def wait_until(condition, seconds: float) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return condition()


def is_up(observer, node: str = NODE, seconds: float = 60.0) -> bool:
    return observer.spin(seconds, lambda: node in observer.node.get_node_names()
                         and observer.node.count_subscribers('/joint_states'))


@pytest.mark.parametrize(('parameters', 'arguments', 'wanted'), [
    ({'robot': '/no/such.urdf'}, (), ['/no/such.urdf', 'arm7']),
    ({'robot': 'arm8'}, (), ['arm8', 'did you mean arm7?']),
    ({'description_timeout': 0.3}, (), ['topic /robot_description', 'robot']),
    ({'robot_description': '<robot name="r"/>'}, (), ['link']),
    ({'robot_description': 'nonsense'}, (), ['robot']),
    ({'robot': 'arm7', 'joints': ['elbow']}, (), ['elbow']),
    ({'robot': 'arm7', 'gravity': [0.0, 9.81]}, (), ['parameter gravity', 'got 2']),
    ({'robot': 'arm7', 'publish_rate': 'fast'}, (), ['parameter publish_rate', "'fast'"]),
    ({'robot': 'arm7', 'publish_rate': 1e9}, (), ['parameter publish_rate', '2000']),
    ({'robot': 'arm7', 'spin': 'multi'}, (), ['parameter spin', 'single, events, waitset']),
    ({}, ('--no-such-flag',), ['--no-such-flag']),
    ({}, ('-p', 'gravity:=[0, 0.5]'), ['gravity']),
    ({}, ('--params-file', '/no/such.yaml'), ['/no/such.yaml']),
])
def test_refuses_in_one_line(start, parameters, arguments, wanted):
    status, output, stderr = start(NODE, *arguments, **parameters).wait()
    lines = stderr.strip().splitlines()
    assert status == 1
    assert len(lines) == 1, stderr
    for text in wanted:
        assert text in lines[0]
    assert output == ''


@pytest.mark.parametrize('folder', ['enclaves', 'enclaves/arm'])
def test_without_its_keys_it_refuses_in_one_line(start, monkeypatch, tmp_path, folder):
    """Without the folder rcl refuses, without what has to be in it DDS."""
    (tmp_path / folder).mkdir(parents=True)
    monkeypatch.setenv('ROS_SECURITY_ENABLE', 'true')
    monkeypatch.setenv('ROS_SECURITY_STRATEGY', 'Enforce')
    monkeypatch.setenv('ROS_SECURITY_KEYSTORE', str(tmp_path))
    status, output, stderr = start(NODE, '--enclave', '/arm', robot='arm7').wait()
    assert (status, output) == (1, '')
    (line,) = stderr.strip().splitlines()
    assert 'cannot be' in line and 'security' in line.lower()


@pytest.mark.parametrize(('number', 'style'), [
    (signal.SIGINT, 'single'), (signal.SIGTERM, 'single'), (signal.SIGHUP, 'single'),
    (signal.SIGINT, 'events'), (signal.SIGTERM, 'waitset')])
def test_ends_on_a_signal(start, observer, number, style):
    if style == 'events':
        pytest.importorskip('rclpy.experimental', reason='this rclpy has no EventsExecutor')
    node = start(NODE, robot='arm7', spin=style)
    assert is_up(observer)
    status, output, stderr = node.stop(number)
    assert (status, output, stderr) == (0, '', '')


def test_a_stop_during_the_start_is_no_failure(start, observer):
    # It would wait for ten times as long as it is given to end.
    node = start(NODE, description_timeout=600.0)
    assert observer.spin(60.0, lambda: observer.node.count_subscribers('/robot_description'))
    status, _, stderr = node.stop(timeout=60.0)
    assert (status, stderr) == (0, '')


def test_a_stop_while_kernels_are_compiled_is_no_failure(start, monkeypatch, tmp_path):
    monkeypatch.setenv('NUMBA_CACHE_DIR', str(tmp_path))
    node = start(NODE, robot='arm7')
    assert 'compiling' in node.process.stderr.readline()

    def compiled() -> set[str]:
        return {path.name for path in tmp_path.rglob('*.compiled')}

    before = compiled()
    status, output, stderr = node.stop(signal.SIGTERM)
    assert (status, output) == (0, '')
    assert 'Traceback' not in stderr
    # Of eight. The first two belong to what is made among things of ROS, where nothing may be
    # broken off.
    assert len(compiled() - before) <= 2


@pytest.mark.skipif(sys.platform != 'linux', reason='reads /proc')
@pytest.mark.parametrize('with_parent', [True, False])
def test_ends_with_its_parent_unless_told_not_to(domain, observer, with_parent):
    command = (f'"{sys.executable}" -m robot_dynamics.nodes.{NODE} --ros-args -p robot:=arm7 '
               f'-p stop_with_parent:={str(with_parent).lower()} & echo $!; sleep 60')
    parent = subprocess.Popen(['sh', '-c', command], stdout=subprocess.PIPE, text=True,
                              start_new_session=True, env=os.environ)
    pid = int(parent.stdout.readline())
    try:
        assert is_up(observer)
        parent.kill()
        parent.wait()
        # It looks at its parent twenty times a second.
        assert wait_until(lambda: not alive(pid), 30.0 if with_parent else 1.0) == with_parent
    finally:
        if alive(pid):
            os.kill(pid, signal.SIGTERM)
        assert wait_until(lambda: not alive(pid), 30.0)
        parent.stdout.close()


def test_misspelt_parameters_are_told(start, observer):
    node = start(NODE, robot='arm7', publish_rat=3.0)
    assert is_up(observer)
    status, _, stderr = node.stop()
    assert status == 0
    assert 'did you mean publish_rate?' in stderr
