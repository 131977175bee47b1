# SPDX-License-Identifier: Apache-2.0
"""A node that is told to stop at whatever instant, once or many times, ends with status 0."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState

from benchmark.chaos_parts.leaks import marked_environment, processes_with
from robot_dynamics.nodes.ros import stopping
from robot_dynamics.nodes.ros.stopping import (
    NODES,
    STARTED_BY,
    StoppedEarlyError,
    StopRequest,
    is_node_process,
)

REPOSITORY = Path(__file__).resolve().parents[3]
NODE = 'adaptive_controller'
#: Processes of their own from the first instruction on, not forked.
COLD_STARTS = True
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
#: How long a node may take to end on a machine that does much else. s.
PATIENCE = 20.0

pytestmark = pytest.mark.skipif(sys.platform != 'linux', reason='reads /proc')


def catches_signals(pid: int) -> bool:
    """Whether a process has a handler of its own: Python itself leaves SIGTERM alone."""
    status = Path(f'/proc/{pid}/status').read_text(encoding='ascii')
    (caught,) = (line.split()[1] for line in status.splitlines() if line.startswith('SigCgt:'))
    return bool(int(caught, 16) >> (signal.SIGTERM - 1) & 1)


def wait_for_handler(process) -> None:
    """Wait until a node hears signals; before that it is Python that starts, for some ms."""
    end = time.monotonic() + PATIENCE
    while not catches_signals(process.pid):
        assert process.poll() is None and time.monotonic() < end
        time.sleep(0.001)


def wait_for_line(running, words: str) -> None:
    """Wait until a node writes a line with these words on stderr."""
    lines: list[str] = []
    while not lines or words not in lines[-1]:
        lines.append(running.process.stderr.readline())
        assert lines[-1], f'ended without it: {lines} {running.wait()}'


def arguments_of(node: str, folder: Path) -> dict[str, str]:
    return {'output': str(folder / 'recording')} if node == 'recorder' else {'robot': 'arm7'}


def storm(running, numbers=(signal.SIGINT,)) -> None:
    """Send signals every 5 ms until the node has ended; it must end well."""
    process, end, count = running.process, time.monotonic() + PATIENCE, 0
    while process.poll() is None and time.monotonic() < end:
        process.send_signal(numbers[count % len(numbers)])
        count += 1
        time.sleep(0.005)
    assert process.poll() is not None, 'does not end'
    status, _, stderr = running.wait()
    assert status == 0, stderr
    assert 'Traceback' not in stderr and 'Exception ignored' not in stderr, stderr


@pytest.mark.parametrize('node', NODES)
def test_many_signals_from_the_first_instant_on_are_one(start, node, tmp_path):
    running = start(node, **arguments_of(node, tmp_path))
    wait_for_handler(running.process)
    storm(running, SIGNALS)


def test_many_signals_while_it_is_configured_are_one(start):
    """It says that it is not active while rclpy is still between two states."""
    running = start(NODE, robot='arm7')
    wait_for_line(running, 'not activated yet')
    storm(running)


#: Interrupted in the middle of a transition, by which rclpy is between two states.
INTERRUPTED = """
import signal, sys
from robot_dynamics.nodes.adaptive_controller import AdaptiveControllerNode
from robot_dynamics.nodes.ros.runtime import run

class Node(AdaptiveControllerNode):
    def {callback}(self, state):
        signal.raise_signal(signal.SIGINT)
        answer = super().{callback}(state)
        signal.raise_signal(signal.SIGINT)
        return answer

sys.exit(run(Node))
"""


@pytest.mark.parametrize('callback', ['on_configure', 'on_shutdown'])
def test_a_signal_in_the_middle_of_a_transition(start, tmp_path, monkeypatch, callback):
    (tmp_path / 'interrupted.py').write_text(INTERRUPTED.format(callback=callback))
    monkeypatch.setenv('PYTHONPATH', str(tmp_path), prepend=os.pathsep)
    running = start(NODE, module='interrupted', robot='arm7')
    if callback == 'on_shutdown':
        wait_for_line(running, 'waiting')
        running.process.send_signal(signal.SIGTERM)
    status, _, stderr = running.wait()
    assert status == 0, stderr
    assert 'Traceback' not in stderr


@pytest.mark.parametrize('seed', range(6))
def test_a_signal_at_any_instant_of_the_start(start, seed):
    """ROBOT_DYNAMICS_STOP_SEEDS makes other instants than those of every day."""
    chance = random.Random(f'{os.environ.get("ROBOT_DYNAMICS_STOP_SEEDS", "")}{seed}')
    running = start(NODE, robot='arm7', spin=chance.choice(('single', 'waitset')))
    wait_for_handler(running.process)
    time.sleep(chance.uniform(0.0, 2.0))
    number = chance.choice(SIGNALS)
    status, output, stderr = running.stop(number)
    assert (status, output) == (0, ''), (number, stderr)
    assert 'Traceback' not in stderr


def test_a_stop_after_it_was_shut_down_by_somebody_else(start, observer):
    running = start(NODE, robot='arm7')
    request = ChangeState.Request(transition=Transition(
        id=Transition.TRANSITION_INACTIVE_SHUTDOWN))
    assert observer.call(ChangeState, f'{NODE}/change_state', request, timeout=PATIENCE,
                         again=False).success
    status, _, stderr = running.stop()
    assert status == 0, stderr
    assert 'Traceback' not in stderr


def test_a_refusal_stays_one_however_it_is_left(start):
    """It was not asked to stop when it failed."""
    running = start(NODE, robot='/no/such.urdf')
    assert 'such.urdf' in running.process.stderr.readline()
    end = time.monotonic() + PATIENCE
    while running.process.poll() is None and time.monotonic() < end:
        running.process.send_signal(signal.SIGINT)
        time.sleep(0.001)
    assert running.wait()[0] == 1


#: Python itself takes longer to start, in the processes of nodes.
SLOW_START = f"""
import sys, time
if 'robot_dynamics.nodes.{NODE}' in sys.orig_argv:
    time.sleep(1.0)
"""

#: The ways of starting a node, each by a process that then stays.
STARTERS = {
    'nobody': f"""
import subprocess, sys, time
subprocess.Popen([sys.executable, '-m', 'robot_dynamics.nodes.{NODE}', '--ros-args',
                  '-p', 'robot:=arm7', *sys.argv[1:]])
time.sleep(600.0)
""",
    'runner': f"""
import time
from robot_dynamics.bringup.processes import NodeProcess
from robot_dynamics.bringup.runner import ProcessRunner
with ProcessRunner([NodeProcess('{NODE}', parameters={{'robot': 'arm7'}})]):
    time.sleep(600.0)
""",
    'launch': f"""
from launch import LaunchDescription, LaunchService
from robot_dynamics.bringup.launching.actions import node_action
from robot_dynamics.bringup.processes import NodeProcess
service = LaunchService()
service.include_launch_description(LaunchDescription([
    node_action(NodeProcess('{NODE}', parameters={{'robot': 'arm7'}}))]))
service.run()
"""}


def command_line(pid: int) -> str:
    try:
        return Path(f'/proc/{pid}/cmdline').read_text(encoding='utf-8')
    except OSError:  # ended meanwhile
        return ''


class Orphans:
    """Starts nodes by processes that are killed right away."""

    def __init__(self) -> None:
        self.environment, self._mark = marked_environment(os.environ)

    def make(self, how: str, *arguments: str, when: Callable[[int], bool] = lambda pid: True
             ) -> None:
        """Start a node, and kill whoever has started it as soon as the node is ready for that."""
        starter = subprocess.Popen([sys.executable, '-c', STARTERS[how], *arguments],
                                   env=self.environment, cwd=REPOSITORY, start_new_session=True)
        end = time.monotonic() + PATIENCE
        while not any(when(pid) for pid in self.nodes()):
            assert starter.poll() is None and time.monotonic() < end
        starter.kill()
        starter.wait()

    def nodes(self) -> list[int]:
        """Return the ids of all that run."""
        return [pid for pid in processes_with(self._mark)
                if f'robot_dynamics.nodes.{NODE}' in command_line(pid).split('\0')]

    def end(self) -> None:
        """Kill what is left."""
        for pid in processes_with(self._mark):
            os.kill(pid, signal.SIGKILL)


@pytest.fixture
def orphans(domain):
    """Nodes whose parents die early."""
    made = Orphans()
    yield made
    made.end()


def ends_by_itself(orphans: Orphans) -> bool:
    end = time.monotonic() + PATIENCE
    while orphans.nodes() and time.monotonic() < end:
        time.sleep(0.02)
    return not orphans.nodes()


@pytest.mark.parametrize('how', ['runner', 'launch'])
def test_a_node_whose_parent_dies_before_python_is_there_ends(orphans, tmp_path, how):
    if how == 'launch':
        pytest.importorskip('launch_ros', reason='launch_ros comes with ROS 2 only')
    (tmp_path / 'sitecustomize.py').write_text(SLOW_START)
    paths = os.pathsep.join([str(tmp_path), orphans.environment['PYTHONPATH']])
    orphans.environment['PYTHONPATH'] = paths
    orphans.make(how)
    assert ends_by_itself(orphans)


def test_a_node_whose_parent_dies_while_it_imports_ends(orphans):
    """Whoever starts it: nobody tells it who that is."""
    orphans.environment.pop(STARTED_BY, None)
    orphans.make('nobody', when=catches_signals)
    assert ends_by_itself(orphans)


def test_a_node_that_shall_outlive_its_parent_does_so_from_the_start(orphans, observer):
    orphans.make('nobody', '-p', 'stop_with_parent:=false', when=catches_signals)
    assert observer.spin(PATIENCE, lambda: NODE in observer.node.get_node_names())
    observer.spin(0.5)
    (pid,) = orphans.nodes()
    os.kill(pid, signal.SIGTERM)
    assert ends_by_itself(orphans)


@pytest.mark.parametrize(('told', 'is_gone'), [
    ('', False), ('nobody', False), ('-1', False), ('0', False), (str(os.getpid()), False),
    (str(2**22 + 1), True), ('9' * 30, True)])
def test_what_a_node_is_told_of_its_starter_counts_where_that_is_gone(monkeypatch, told, is_gone):
    """Python's own command line is made to look like that of a node."""
    monkeypatch.setattr(sys, 'orig_argv', ['python', '-m', f'robot_dynamics.nodes.{NODE}'])
    monkeypatch.setattr(sys, 'argv', ['-m'])
    monkeypatch.setattr(StopRequest, 'first_parent', None)
    monkeypatch.setattr(stopping, '_handle', lambda handler: None)
    monkeypatch.setenv(STARTED_BY, told)
    stopping.attend_while_importing()
    assert StopRequest()() == is_gone


@pytest.fixture
def request_stop():
    """A stop request that listens in this process, whose handlers are put back."""
    before = {number: signal.getsignal(number) for number in SIGNALS}
    stop = StopRequest()
    stop.listen()
    yield stop
    for number, handler in before.items():
        signal.signal(number, handler)


def test_a_signal_raises_only_where_it_may(request_stop):
    signal.raise_signal(signal.SIGINT)
    assert request_stop()
    with pytest.raises(StoppedEarlyError), request_stop.interrupting():
        raise AssertionError('nothing is begun after a stop was asked for')


def test_a_signal_breaks_off_what_may_be(request_stop):
    with pytest.raises(StoppedEarlyError), request_stop.interrupting():
        signal.raise_signal(signal.SIGTERM)
        raise AssertionError('goes on')
    signal.raise_signal(signal.SIGTERM)  # nothing more
    with pytest.raises(StoppedEarlyError):
        request_stop.check()


def test_clearing_up_is_not_broken_off(request_stop):
    cleared = False
    with pytest.raises(StoppedEarlyError), request_stop.interrupting():
        try:
            signal.raise_signal(signal.SIGINT)
        finally:
            signal.raise_signal(signal.SIGINT)
            cleared = True
    assert cleared


def test_what_was_raised_and_lost_ends_the_start_all_the_same(request_stop):
    with pytest.raises(StoppedEarlyError), request_stop.interrupting():
        try:
            signal.raise_signal(signal.SIGINT)
        except StoppedEarlyError:
            pass
    assert request_stop()


def test_what_was_lost_in_a_destructor_is_no_traceback(request_stop, monkeypatch):
    told = []
    monkeypatch.setattr(sys, 'unraisablehook', told.append)

    class Interrupted:
        def __del__(self):
            signal.raise_signal(signal.SIGINT)

    class Failing:
        def __del__(self):
            raise ValueError

    with pytest.raises(StoppedEarlyError), request_stop.interrupting():
        Interrupted()
        Failing()
    # What else is lost is told as ever.
    assert [lost.exc_type for lost in told] == [ValueError]
    assert sys.unraisablehook == told.append


@pytest.mark.parametrize(('command', 'arguments', 'is_one'), [
    (['python', '-u', '-m', 'robot_dynamics.nodes.recorder', '-p', 'a:=1'], ['-m', '-p'], True),
    (['python', '-m', 'robot_dynamics.nodes.documents'], ['-m'], False),
    (['python', '-m', 'pytest', 'recorder'], ['/lib/pytest/__main__.py', 'recorder'], False),
    (['python', '-m', 'robot_dynamics.bringup.cli', 'up'], ['-m', 'up'], False),
    (['python', '/ws/install/robot_dynamics/lib/robot_dynamics/reference'],
     ['/ws/install/robot_dynamics/lib/robot_dynamics/reference'], True),
    (['python', 'recorder'], ['recorder'], False),
    (['python', '/home/me/reference.py'], ['/home/me/reference.py'], False),
    (['python', '-c', 'pass'], ['-c'], False),
    (['python'], [''], False),
    (['python'], [], False)])
def test_only_a_node_leaves_at_once(command, arguments, is_one):
    assert is_node_process(command, arguments) == is_one


def test_every_executable_that_is_a_node_is_known():
    modules = (REPOSITORY / 'robot_dynamics' / 'nodes').glob('*.py')
    runnable = [path.stem for path in modules
                if re.search(r'^main = ', path.read_text(encoding='utf-8'), re.M)]
    assert sorted(runnable) == sorted(NODES)
