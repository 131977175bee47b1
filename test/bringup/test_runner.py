# SPDX-License-Identifier: Apache-2.0
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from robot_dynamics.bringup.processes import NodeProcess, child_environment
from robot_dynamics.bringup.runner import (
    Line,
    ProcessRunner,
    print_line,
    run_until_stopped,
)
from robot_dynamics.errors import BringupError

POLITE = """
import signal, sys
def stop(*_):
    print('stopping', flush=True)
    sys.exit(0)
signal.signal(signal.SIGINT, stop)
signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
print('ready', flush=True)
signal.pause()
"""
DEAF = """
import signal
signal.signal(signal.SIGINT, signal.SIG_IGN)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print('ready', flush=True)
while True:
    signal.pause()
"""
REFUSING = """
import sys
print('warming up', flush=True)
sys.exit('[ERROR] [1.5] [arm]: urdf: has no joint; give one with a joint')
"""
CHATTY = """
import sys
for i in range(20000):
    print(i)
sys.stdout.write('no newline at the end')
sys.stdout.flush()
import signal
signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
signal.pause()
"""
SLOW = """
import signal, sys, time
print('starting', flush=True)
time.sleep(0.5)
""" + POLITE


class Collector:
    """Remembers lines and can wait for one."""

    def __init__(self):
        self.lines: list[Line] = []

    def __call__(self, line):
        self.lines.append(line)

    def texts(self, node):
        return [line.text for line in self.lines if line.process.node == node]

    def wait(self, runner, node, text, seconds=10.0):
        deadline = time.monotonic() + seconds
        while text not in self.texts(node):
            assert time.monotonic() < deadline, f'{node} never said {text}'
            runner.poll(0.05)


@pytest.fixture
def fake(tmp_path):
    """Make modules that stand in for nodes, and the environment that finds them."""
    environment = child_environment()
    environment['PYTHONPATH'] += os.pathsep + str(tmp_path)

    def make(name, source, **options):
        (tmp_path / f'fake_{name}.py').write_text(source)
        return NodeProcess(name, module=f'fake_{name}', **options)

    make.environment = environment
    return make


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # A zombie has ended; only its parent has not asked yet.
    return Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[0] != 'Z'


def test_stops_in_reverse_order_and_leaves_nothing(fake):
    heard = Collector()
    with ProcessRunner([fake('first', POLITE), fake('second', POLITE)], on_line=heard,
                       environment=fake.environment) as runner:
        heard.wait(runner, 'first', 'ready')
        heard.wait(runner, 'second', 'ready')
        pids = list(runner.pids.values())
        runner.stop()
        assert runner.exit_statuses() == {'/first': 0, '/second': 0}
    stops = [line.process.node for line in heard.lines if line.text == 'stopping']
    assert stops == ['second', 'first']
    assert not any(alive(pid) for pid in pids)


def test_a_process_is_not_interrupted_before_it_can_take_it(fake):
    heard = Collector()
    with ProcessRunner([fake('slow', SLOW)], on_line=heard,
                       environment=fake.environment) as runner:
        heard.wait(runner, 'slow', 'starting')
        runner.stop()
        assert runner.exit_statuses() == {'/slow': 0}
    assert heard.texts('slow') == ['starting', 'stopping']


@pytest.mark.parametrize('delay', [0.0, 0.02, 0.05, 0.1])
def test_a_node_that_is_stopped_at_once_is_silent(delay):
    pytest.importorskip('rclpy', reason='needs ROS 2')
    heard = Collector()
    with ProcessRunner([NodeProcess('reference', parameters={'robot': 'planar_2r'})],
                       on_line=heard) as runner:
        time.sleep(delay)
        runner.stop()
        assert runner.exit_statuses() == {'/reference': 0}
    assert heard.texts('reference') == []


def test_a_process_that_ignores_signals_is_killed(fake):
    heard = Collector()
    with ProcessRunner([fake('deaf', DEAF, stop_timeout=0.2)], on_line=heard,
                       environment=fake.environment) as runner:
        heard.wait(runner, 'deaf', 'ready')
        runner.stop()
        assert runner.exit_statuses() == {'/deaf': -signal.SIGKILL}


def test_an_exception_in_the_block_ends_all(fake):
    heard = Collector()
    with pytest.raises(KeyboardInterrupt), \
            ProcessRunner([fake('polite', POLITE)], on_line=heard,
                          environment=fake.environment) as runner:
        heard.wait(runner, 'polite', 'ready')
        pids = list(runner.pids.values())
        raise KeyboardInterrupt
    assert not any(alive(pid) for pid in pids)


def test_a_refusal_is_passed_on_with_its_reason(fake):
    heard = Collector()
    with pytest.raises(BringupError) as caught, \
            ProcessRunner([fake('polite', POLITE), fake('arm', REFUSING, namespace='left')],
                          on_line=heard, environment=fake.environment) as runner:
        heard.wait(runner, 'polite', 'ready')
        while True:
            runner.poll(0.05)
    assert caught.value.subject == '/left/arm'
    assert str(caught.value) == \
        '/left/arm ended with status 1: urdf: has no joint; give one with a joint'
    assert 'warming up' in heard.texts('arm')


def test_a_process_that_is_not_essential_may_end(fake):
    heard = Collector()
    with ProcessRunner([fake('polite', POLITE), fake('arm', REFUSING, essential=False)],
                       on_line=heard, environment=fake.environment) as runner:
        heard.wait(runner, 'polite', 'ready')
        while runner.exit_statuses()['/arm'] is None:
            runner.poll(0.05)
        for _ in range(3):
            runner.poll(0.05)
        assert runner.exit_statuses()['/polite'] is None
    end = 'ended with status 1: urdf: has no joint; give one with a joint; the others go on'
    assert heard.texts('arm').count(end) == 1


def test_a_run_whose_recorder_died_is_not_a_success(fake):
    heard = Collector()
    processes = [fake('polite', POLITE), fake('arm', REFUSING, essential=False)]
    with pytest.raises(BringupError, match='/arm ended with status 1: urdf: has no joint'):
        run_until_stopped(processes, on_line=heard, environment=fake.environment, is_over=lambda:
                          any('go on' in text for text in heard.texts('arm'))
                          and 'ready' in heard.texts('polite'))
    assert heard.texts('polite') == ['ready', 'stopping']


def test_a_recorder_that_has_to_be_killed_at_the_end_is_not_a_success(fake):
    heard = Collector()
    processes = [fake('deaf', DEAF, stop_timeout=0.2, essential=False)]
    with pytest.raises(BringupError, match='/deaf was ended by SIGKILL'):
        run_until_stopped(processes, on_line=heard, environment=fake.environment,
                          is_over=lambda: 'ready' in heard.texts('deaf'))


def test_much_output_is_passed_on_in_full(fake):
    heard = Collector()
    with ProcessRunner([fake('chatty', CHATTY)], on_line=heard,
                       environment=fake.environment) as runner:
        heard.wait(runner, 'chatty', '19999')
    written = [line.text for line in heard.lines if line.stream == 'stdout']
    assert written == [*map(str, range(20000)), 'no newline at the end']


def test_children_die_with_a_killed_runner(fake, tmp_path):
    fake('orphan', POLITE)
    script = ('from robot_dynamics.bringup.processes import NodeProcess\n'
              'from robot_dynamics.bringup.runner import ProcessRunner\n'
              'with ProcessRunner([NodeProcess("orphan", module="fake_orphan")],\n'
              '                   on_line=lambda line: print(line.text, flush=True)) as runner:\n'
              '    print(runner.pids["/orphan"], flush=True)\n'
              '    while True:\n'
              '        runner.poll(0.1)\n')
    with subprocess.Popen([sys.executable, '-c', script], env=fake.environment,
                          stdout=subprocess.PIPE, text=True) as parent:
        pid = int(parent.stdout.readline())
        assert parent.stdout.readline() == 'ready\n'
        parent.kill()
    deadline = time.monotonic() + 30.0
    while alive(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not alive(pid)


def test_lines_carry_the_name_of_their_node(capsys):
    print_line(Line(NodeProcess('arm', namespace='left'), 'stdout', 'hello'))
    print_line(Line(NodeProcess('arm', output='log'), 'stdout', 'secret'))
    assert capsys.readouterr().out == '[left/arm] hello\n'
