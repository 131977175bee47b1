# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import time

import pytest
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.executors import SingleThreadedExecutor

from robot_dynamics.nodes.ros.diagnostics import Diagnostics, Level, Status, cycle_status
from robot_dynamics.nodes.ros.spinning import CycleStatistics


def test_levels_are_those_of_the_message():
    for level in Level:
        assert getattr(DiagnosticStatus, level.name) == bytes([level])


def test_items_are_published_once_a_second_by_name(make_node, observer):
    arrays = observer.collect(DiagnosticArray, '/diagnostics', 10)
    node = make_node('watched')
    Diagnostics(node, 'arm', {
        'state': lambda: Status(Level.WARN, 'joint2 is missing', {'age [s]': 0.12345678,
                                                                  'count': 3}),
        'loop': Status})
    executor = SingleThreadedExecutor(context=node.context)
    executor.add_node(node)
    end = time.monotonic() + 30.0
    while len(arrays) < 2 and time.monotonic() < end:
        executor.spin_once(timeout_sec=0.05)
        observer.spin(0.05)
    state, loop = arrays[-1].status
    assert (state.name, state.hardware_id) == ('watched: state', 'arm')
    assert (state.level, state.message) == (DiagnosticStatus.WARN, 'joint2 is missing')
    assert {v.key: v.value for v in state.values} == {'age [s]': '0.1235', 'count': '3'}
    assert (loop.level, loop.message) == (DiagnosticStatus.OK, 'ok')
    first, second = (a.header.stamp.sec + 1e-9 * a.header.stamp.nanosec for a in arrays[-2:])
    assert 0.5 < second - first < 5.0


@pytest.fixture
def ticking(monkeypatch):
    """A clock that is set by hand."""
    now = [100.0]
    monkeypatch.setattr('robot_dynamics.nodes.ros.spinning.time.perf_counter', lambda: now[0])
    return now


def cycles(statistics, now, periods, duration):
    for period in periods:
        statistics.start()
        now[0] += duration
        assert statistics.finish() == pytest.approx(duration)
        now[0] += period - duration


def test_cycles_are_measured(ticking):
    statistics = CycleStatistics()
    cycles(statistics, ticking, [0.002] * 99 + [0.010, 0.002], 0.0005)
    status = cycle_status(statistics, 0.002)
    assert status.level is Level.OK
    assert status.values['rate [Hz]'] == pytest.approx(100.0 / (99 * 0.002 + 0.010))
    assert status.values['worst period [ms]'] == pytest.approx(10.0)
    assert status.values['duration p50 [ms]'] == pytest.approx(0.5)
    assert status.values['late cycles'] == 1


def test_many_late_cycles_are_a_warning(ticking):
    statistics = CycleStatistics()
    cycles(statistics, ticking, [0.002, 0.004] * 50, 0.0005)
    status = cycle_status(statistics, 0.002)
    assert status.level is Level.WARN and 'late' in status.message


def test_each_answer_begins_anew_and_silence_is_stale(ticking):
    statistics = CycleStatistics()
    cycles(statistics, ticking, [0.002] * 10, 0.0005)
    assert cycle_status(statistics).level is Level.OK
    assert cycle_status(statistics).level is Level.STALE
    ticking[0] += 60.0
    # The pause between is not a period.
    cycles(statistics, ticking, [0.002] * 3, 0.0005)
    assert cycle_status(statistics).values['worst period [ms]'] == pytest.approx(2.0)


def test_more_cycles_than_places_are_no_trouble(ticking):
    statistics = CycleStatistics(capacity=8)
    cycles(statistics, ticking, [0.002] * 100, 0.0005)
    assert cycle_status(statistics).values['rate [Hz]'] == pytest.approx(500.0)


@pytest.mark.parametrize('simulated', [False, True])
def test_a_cycle_is_late_only_where_time_goes_by_as_fast_as_that_of_the_machine(
        start, observer, simulated):
    pytest.importorskip('mujoco', reason='the simulated arm needs MuJoCo')
    waits, hears = ({'wait_for_commands': 1.5}, {'state_timeout': 2.0}) if simulated else ({}, {})
    told = observer.collect(DiagnosticArray, '/diagnostics', 50)
    common = {'robot': 'planar_2r', 'use_sim_time': simulated}
    start('simulated_arm', **common, **waits)
    start('pd_gravity_controller', **common, **hears)

    def loops() -> dict[str, set[str]]:
        return {status.name: {value.key for value in status.values}
                for array in told for status in array.status
                if status.name.endswith(': loop') and status.values}

    assert observer.spin(60.0, lambda: len(loops()) == 2)
    for name in ('simulated_arm: loop', 'pd_gravity_controller: loop'):
        assert ('late cycles' in loops()[name]) is not simulated
        assert 'worst period [ms]' in loops()[name]
