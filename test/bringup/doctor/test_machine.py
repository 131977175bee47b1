# SPDX-License-Identifier: Apache-2.0
import os
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from robot_dynamics.bringup.doctor.findings import Level
from robot_dynamics.bringup.doctor.machine import (
    MachineState,
    MachineWatch,
    NodeUsage,
    check_cycles,
    check_kernels,
    check_machine,
)
from robot_dynamics.bringup.doctor.system import check_snapshot
from robot_dynamics.bringup.processes import child_environment
from robot_dynamics.nodes.observing.graph_snapshot import NodeInfo, StatusSeen

QUIET = MachineState(
    cores=4, load=0.7, busy=0.15, stolen=0.0, governor='performance', kernels=30, compiled=30,
    processes=(NodeUsage(7, 'adaptive_controller', 0.15, 3),
               NodeUsage(8, 'simulated_arm', 0.2, 3, is_real_time=True),
               NodeUsage(9, 'reference', 0.95, 4, nice=5)))


def test_a_quiet_machine():
    results = check_machine(QUIET, domain=3)
    assert [(result.level, result.message) for result in results] == [
        (Level.OK, 'load 0.7 on 4 cores, 15 % busy'),
        (Level.OK, 'adaptive_controller 15 %, simulated_arm 20 % (real time)'),
        (Level.OK, 'all 30 compiled and on disk')]


@pytest.mark.parametrize(('change', 'level', 'words'), [
    ({'busy': 0.97}, Level.WARNING, '97 % busy'),
    ({'stolen': 0.1}, Level.WARNING, '10 % of it is taken by other guests'),
    ({'governor': 'powersave'}, Level.NOTE, 'powersave'),
    ({'compiled': 12}, Level.NOTE, '18 of 30 are not compiled yet'),
    ({'keeps_kernels': False}, Level.WARNING, 'cannot be stored')])
def test_what_makes_cycles_late(change, level, words):
    found = [result for result in check_machine(replace(QUIET, **change), domain=3)
             if result.level is not Level.OK]
    assert [result.level for result in found] == [level]
    assert words in found[0].message and found[0].remedy


def test_processes_of_the_domain_looked_at():
    found = [result for result in check_machine(QUIET) if result.level is Level.WARNING]
    assert [(result.subject, result.message) for result in found] == [
        ('reference (9)', 'takes 95 % of a core'),
        ('reference (9)', 'has niceness 5: other processes run first')]
    unknown = replace(QUIET, processes=(replace(QUIET.processes[2], domain=None),))
    assert any(result.level is Level.WARNING for result in check_machine(unknown, domain=3))


def test_a_machine_with_few_figures():
    bare = MachineState(cores=1, kernels=2, compiled=2)
    assert [result.message for result in check_machine(bare)] == [
        '1 core', 'all 2 compiled and on disk']


def with_loop(graph, **figures):
    """The system with other figures of the loop of its controller."""
    values = {'rate [Hz]': '499.9', 'worst period [ms]': '2.4', 'late cycles': '1', **figures}
    return replace(graph, statuses=(StatusSeen('adaptive_controller: loop', 0, 'ok', values),))


@pytest.mark.parametrize('figures', [
    {'rate [Hz]': '480'}, {'late cycles': '11'}, {'worst period [ms]': '61'}])
def test_a_machine_that_misses_cycles_is_not_fit(healthy, figures):
    assert check_cycles(with_loop(healthy)) == []
    assert check_cycles(healthy) == []  # not told with simulated time
    graph = with_loop(healthy, **figures)
    (result,) = check_cycles(graph)
    assert result.level is Level.ERROR
    assert result.message.startswith('is not fit for adaptive_controller at 500 Hz')
    report = check_snapshot(graph, QUIET, {}, [])
    assert report.exit_status == 1
    machine = next(section for section in report.sections if section.title == 'this machine')
    assert [item.level for item in machine.results if item.subject == 'processor'] == [Level.ERROR]
    # A simulated arm takes no harm.
    simulated = replace(graph, nodes=(*graph.nodes, NodeInfo('/simulated_arm', {})))
    assert [item.level for item in check_cycles(simulated)] == [Level.WARNING]


def test_states_at_another_rate_are_not_missed_cycles(healthy, stream):
    slow = {'rate [Hz]': '250', 'late cycles': '250', 'worst period [ms]': '4.2'}
    assert check_cycles(with_loop(replace(healthy, states=stream(rate=250.0)), **slow)) == []
    assert len(check_cycles(with_loop(healthy, **slow))) == 1
    # Half of the states are lost, also by the doctor: their stamps show the rate.
    lost = stream(change=lambda k, sample: sample if k % 4 else None)
    assert len(check_cycles(with_loop(replace(healthy, states=lost), **slow))) == 1


def test_figures_of_other_programs_are_ignored(healthy):
    assert check_cycles(with_loop(healthy, **{'rate [Hz]': 'fast'})) == []


BUSY = """
import sys
while True:
    pass
"""


def test_a_node_and_its_share_are_seen():
    environment = {**child_environment(), 'ROS_DOMAIN_ID': '77'}
    with subprocess.Popen([sys.executable, '-c', BUSY, 'robot_dynamics.nodes.made_up',
                           '--ros-args'], env=environment) as process:
        try:
            time.sleep(0.1)
            watch = MachineWatch()
            time.sleep(0.4)
            seen = watch.state()
        finally:
            process.kill()
    (found,) = [item for item in seen.processes if item.pid == process.pid]
    # Niceness of the tests.
    assert (found.node, found.domain, found.nice) == ('made_up', 77, os.nice(0))
    assert 0.02 < found.cpu < 1.3
    assert not found.is_real_time
    assert seen.cores >= 1
    assert 0.0 < seen.busy <= 1.0
    assert seen.kernels >= seen.compiled >= 0 and seen.kernels > 10


@pytest.mark.slow
def test_kernels_that_cannot_be_stored(tmp_path):
    # Where neither the home nor the temporary directory can be written there is no place.
    code = ('from robot_dynamics.bringup.doctor.machine import MachineWatch\n'
            'print(MachineWatch().state().keeps_kernels)')
    kept = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True,
                          env={**child_environment(), 'NUMBA_CACHE_DIR': str(tmp_path)})
    assert kept.stdout.strip() == 'True', kept.stderr
    file = tmp_path / 'file'
    file.touch()
    environment = {**child_environment(), 'HOME': str(file), 'TMPDIR': str(tmp_path)}
    # A path that exists and is not a private folder is not used.
    (tmp_path / f'robot_dynamics-{os.getuid()}').touch()
    for name in ('NUMBA_CACHE_DIR', 'XDG_CACHE_HOME'):
        environment.pop(name, None)
    lost = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True,
                          env=environment)
    assert lost.stdout.strip() == 'False', lost.stderr
    assert check_kernels(replace(QUIET, keeps_kernels=False))[0].level is Level.WARNING
