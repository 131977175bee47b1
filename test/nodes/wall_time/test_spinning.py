# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import sys
import threading
import time

import pytest
from rcl_interfaces.srv import GetParameters
from std_msgs.msg import Float64

from robot_dynamics.errors import ParameterError
from robot_dynamics.nodes.ros import qos
from robot_dynamics.nodes.ros.spinning import Alarm, FastEntities, make_spinner


class Spun:
    """A node with a fast subscription and a fast timer, spun in a thread of its own."""

    def __init__(self, node, style):
        self.node = node
        self.fast = FastEntities(node)
        self.received: list[float] = []
        self.ticks: list[float] = []
        self.failure: BaseException | None = None
        node.declare_parameter('answer', 42)
        self.fast.subscribe(Float64, 'input', lambda m: self.received.append(m.data), qos.state())
        self.fast.tick(0.01, lambda: self.ticks.append(time.monotonic()))
        self._spinner = make_spinner(style, node, self.fast)
        self._stop = False
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self):
        try:
            while not self._stop:
                self._spinner.spin_once(0.05)
        except BaseException as error:
            self.failure = error

    def stop(self):
        self._stop = True
        self._thread.join()
        self._spinner.close()


@pytest.fixture(params=['single', 'waitset', 'events'])
def style(request):
    if request.param == 'events':
        pytest.importorskip('rclpy.experimental', reason='this rclpy has no EventsExecutor')
    return request.param


@pytest.fixture
def spun(make_node, style):
    spun = Spun(make_node('spun'), style)
    yield spun
    spun.stop()


def test_every_style_serves_messages_timers_and_services(spun, observer):
    publisher = observer.node.create_publisher(Float64, 'input', qos.state())

    def heard() -> bool:
        # The publisher may know of the subscription before that knows of the publisher.
        publisher.publish(Float64(data=-1.0))
        return bool(spun.received)

    assert observer.spin(10.0, heard)
    observer.spin(0.2)
    spun.received.clear()
    for k in range(100):
        publisher.publish(Float64(data=float(k)))
        # Only the last is kept, so the next waits for it; now and then one is lost.
        observer.spin(2.0, lambda k=k: spun.received[-1:] == [k])
        if k == 50:
            answer = observer.call(GetParameters, 'spun/get_parameters',
                                   GetParameters.Request(names=['answer']))
            assert answer.values[0].integer_value == 42
    assert observer.spin(30.0, lambda: len(spun.ticks) > 100)
    assert spun.failure is None
    assert spun.received == sorted(set(spun.received))  # nothing twice
    assert len(spun.received) >= 95
    # Where the machine is busy ticks are late or fall out; there are never too many.
    assert spun.ticks[100] - spun.ticks[0] > 0.98


def test_an_exception_in_a_callback_comes_out(make_node, observer, style):
    def fail():
        raise ZeroDivisionError

    node = make_node('failing')
    fast = FastEntities(node)
    fast.tick(0.01, fail)
    spinner = make_spinner(style, node, fast)
    with pytest.raises(ZeroDivisionError):
        for _ in range(100):
            spinner.spin_once(0.05)
    spinner.close()


def test_fast_entities_may_come_and_go(make_node, style):
    node = make_node('changing')
    fast = FastEntities(node)
    spinner = make_spinner(style, node, fast)
    counts = [0, 0]

    def count(index):
        counts[index] += 1

    fast.tick(0.01, lambda: count(0))
    for _ in range(10):
        spinner.spin_once(0.05)
    assert counts[0] > 0
    fast.destroy()
    before = counts[0]
    fast.tick(0.01, lambda: count(1))
    for _ in range(10):
        spinner.spin_once(0.05)
    assert counts[0] == before and counts[1] > 0
    spinner.close()


class Moving:
    """A moment that moves on as long as it is moved, and an alarm for it."""

    def __init__(self):
        self.due, self.asked, self.late = time.monotonic() + 0.1, 0, []

    def move(self):
        self.due = time.monotonic() + 0.1

    def ring(self) -> float:
        self.asked += 1
        now = time.monotonic()
        if now < self.due:
            return self.due - now
        self.late.append(now - self.due)
        self.due = float('inf')
        return 10.0


def test_an_alarm_rings_at_its_moment_and_asks_seldom_when_that_is(make_node, style):
    node = make_node('patient')
    late = []
    for _ in range(5):
        fast, moving = FastEntities(node), Moving()
        spinner = make_spinner(style, node, fast)
        ticks = fast.tick(0.002, moving.move)
        fast.alarm(0.1, moving.ring)
        end = time.monotonic() + 0.3
        while time.monotonic() < end:
            spinner.spin_once(0.05)
        assert moving.late == []
        # Not once for each of the hundreds of times it has moved on.
        assert moving.asked <= 5
        ticks.cancel()
        moving.move()
        while not moving.late and time.monotonic() < end + 30.0:
            spinner.spin_once(0.05)
        late += moving.late
        fast.destroy()
        spinner.close()
    # The machine may be late, time and again, but not each time; it is never early.
    assert len(late) == 5 and 0.0 <= min(late) < 0.005


def test_nothing_slow_is_begun_when_an_alarm_is_about_to_ring(make_node):
    seconds = iter((0.2, 0.004))
    alarm = Alarm(lambda: next(seconds))
    timer = make_node('patient').create_timer(0.1, alarm.serve)
    # Before it there is time for the rest, however short it is.
    for act, free, rings in ((lambda: alarm.start(timer), 0.079, 0.1), (alarm.serve, 0.179, 0.2),
                             (alarm.serve, 0.0029, 0.004)):
        begin = time.monotonic()
        act()
        end = time.monotonic()
        assert not alarm.is_near(begin + free)
        assert alarm.is_near(end + rings - 0.0005)


def test_without_an_events_executor_it_says_so(make_node, monkeypatch):
    monkeypatch.setitem(sys.modules, 'rclpy.experimental', None)
    node = make_node('old')
    with pytest.raises(ParameterError, match='waitset'):
        make_spinner('events', node, FastEntities(node))


def test_a_node_without_fast_entities_is_served(make_node, style, observer):
    """One that waits to be configured, or that was cleaned up."""
    node = make_node('spun')
    node.declare_parameter('answer', 42)
    spinner = make_spinner(style, node, FastEntities(node))
    stopped = threading.Event()

    def spin():
        while not stopped.is_set():
            spinner.spin_once(0.02)

    thread = threading.Thread(target=spin)
    thread.start()
    try:
        answer = observer.call(GetParameters, 'spun/get_parameters',
                               GetParameters.Request(names=['answer']))
        assert answer.values[0].integer_value == 42
    finally:
        stopped.set()
        thread.join()
        spinner.close()


def test_what_was_destroyed_is_not_served_any_more(make_node, style, observer):
    """Messages and timers that an executor has taken already, time and again."""
    node = make_node('spun')
    fast = FastEntities(node)
    spinner = make_spinner(style, node, fast)
    publisher = observer.node.create_publisher(Float64, 'input', qos.state())
    lives: list[int] = []
    for life in range(20):
        def serve(message=None, life=life):
            lives.append(life)

        fast.subscribe(Float64, 'input', serve, qos.state())
        fast.tick(0.001, serve)
        end = time.monotonic() + 0.05
        while time.monotonic() < end:
            publisher.publish(Float64())
            spinner.spin_once(0.001)
        publisher.publish(Float64())
        time.sleep(0.01)
        fast.destroy()
        count = len(lives)
        for _ in range(10):
            spinner.spin_once(0.001)
        assert lives[-1] == life and len(lives) == count
    spinner.close()
