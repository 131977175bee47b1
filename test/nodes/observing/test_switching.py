# SPDX-License-Identifier: Apache-2.0
"""One controller follows another on a simulated arm, all of them real processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import nullcontext

import numpy as np
import pytest
from lifecycle_msgs.msg import State, Transition
from lifecycle_msgs.srv import ChangeState, GetState
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import Trigger

from robot_dynamics.bringup.system import SWITCHABLE
from robot_dynamics.errors import BringupError
from robot_dynamics.nodes.controllers import CONTROLLERS
from robot_dynamics.nodes.observing import switching
from robot_dynamics.nodes.observing.switching import Switcher, one_at_a_time, signals_later
from robot_dynamics.nodes.ros import qos

pytest.importorskip('mujoco', reason='the simulated arm needs MuJoCo')

DEEP = QoSProfile(depth=5000, reliability=ReliabilityPolicy.RELIABLE)
NODES = {name: CONTROLLERS[name].node for name in SWITCHABLE}
PERIOD, SLOWLY = 0.005, 50.0


class Bench:
    """An arm, what its controllers say, and somebody who switches between them."""

    def __init__(self, start, observer):
        self.start, self.observer = start, observer
        self.efforts: list[tuple[float, np.ndarray]] = []
        observer.node.create_subscription(
            Float64MultiArray, 'effort_controller/commands',
            lambda message: self.efforts.append((time.monotonic(), np.array(message.data))), DEEP)
        self.modes = {name: observer.collect(String, f'{node}/mode', qos.latched())
                      for name, node in NODES.items()}
        self.said = {name: observer.collect(JointState, f'{node}/command', DEEP)
                     for name, node in NODES.items()}
        # It stands still while one controller follows another, and on a busy machine.
        start('simulated_arm', robot='arm7', rate=1.0 / PERIOD, hold_time=0.5, release_time=0.1,
              use_sim_time=True, wait_for_commands=1.5,
              initial_position=[0.3, 0.5, -0.4, -1.2, 0.3, 1.2, 0.2])

    def run(self, name: str, **parameters):
        self.start(NODES[name], **{
            'robot': 'arm7', 'rate': 1.0 / PERIOD, 'telemetry_rate': 1.0 / PERIOD,
            'use_sim_time': True, 'state_timeout': 2.0, 'resume_after': 20,
            **parameters})
        # A busy machine takes longer to start a process than whoever switches waits for it.
        asked = self.observer.node.create_client(GetState, f'{NODES[name]}/get_state')
        assert self.observer.spin(60.0, asked.service_is_ready)
        self.observer.node.destroy_client(asked)

    def wait(self, name: str, mode: str, seconds: float = 60.0) -> None:
        assert self.observer.spin(seconds, lambda: self.mode(name) == mode), self.modes

    def mode(self, name: str) -> str:
        return self.modes[name][-1].data if self.modes[name] else ''

    def switch(self, name: str) -> list[str]:
        """Switch, and return what is said; raise what is raised."""
        said, failed = self.switch_at_once(name)[name]
        if failed is not None:
            raise failed
        return said

    def switch_at_once(self, *names: str) -> dict[str, tuple[list[str], BringupError | None]]:
        """Switch to several controllers at the same time; return what is said and raised."""
        results: dict[str, tuple[list[str], BringupError | None]] = {}

        def work(name: str) -> None:
            said: list[str] = []
            try:
                with Switcher(NODES, report=said.append) as switcher:
                    switcher.switch(name)
                results[name] = said, None
            except BringupError as error:
                results[name] = said, error

        threads = [threading.Thread(target=work, args=(name,)) for name in names]
        for thread in threads:
            thread.start()
        assert self.observer.spin(150.0, lambda: not any(map(threading.Thread.is_alive, threads)))
        return results


@pytest.fixture
def bench(start, observer):
    return Bench(start, observer)


def stamps(messages) -> np.ndarray:
    return np.array([m.header.stamp.sec + 1e-9 * m.header.stamp.nanosec for m in messages])


def test_one_follows_the_other_without_a_jump(bench):
    # The first believes in 1 kg at the elbow: its safe command is 2 N m off what holds the arm.
    gentle = {'feedback.bandwidth': 20.0, 'feedback.error_rate': 4.0,
              'effort_rate_limit': [SLOWLY]}
    bench.run('pd_gravity', **{'payload.carried': True, 'payload.mass': 1.0,
                               'payload.frame': 'link4'}, **gentle)
    bench.wait('pd_gravity', 'tracking')
    bench.run('computed_torque', autostart=False, **gentle)
    before = len(bench.efforts)
    assert bench.switch('computed_torque') == [
        'pd_gravity has sent the safe command and released the arm',
        'computed_torque controls the arm']
    bench.wait('computed_torque', 'tracking')
    assert bench.mode('pd_gravity') == 'stopped'
    # Never both: what the one says that it sent ends before that of the other begins.
    last, first = stamps(bench.said['pd_gravity'])[-1], stamps(bench.said['computed_torque'])[0]
    assert last <= first < last + 1.0
    # The command topic has one publisher again.
    assert bench.observer.spin(
        5.0, lambda: bench.observer.node.count_publishers('effort_controller/commands') == 1)
    heard = np.array([moment for moment, _ in bench.efforts[before:]])
    efforts = np.array([effort for _, effort in bench.efforts[before:]])
    assert np.abs(efforts - efforts[0]).max() > 1.5
    steps = np.abs(np.diff(efforts, axis=0)).max(axis=1)
    # States may be lost on the way; then the effort may change for as much longer.
    allowed = SLOWLY * np.maximum(3 * PERIOD, np.diff(heard) + PERIOD)
    assert np.all(steps <= allowed), (steps - allowed).max()
    # And back again: the first has kept its model, and waits in the state inactive.
    assert bench.switch('pd_gravity')[-1] == 'pd_gravity controls the arm'
    bench.wait('pd_gravity', 'tracking')
    assert bench.switch('pd_gravity') == ['pd_gravity controls the arm already']


def test_led_by_hand_and_back(bench):
    bench.run('computed_torque')
    bench.run('gravity', autostart=False)
    bench.wait('computed_torque', 'tracking')
    bench.switch('gravity')
    bench.wait('gravity', 'guided')
    bench.switch('computed_torque')
    bench.wait('computed_torque', 'tracking')
    assert bench.mode('gravity') == 'stopped'


def test_where_no_controller_is_nobody_is_said_to_go_on(bench):
    where = f'in ROS domain {os.environ["ROS_DOMAIN_ID"]}, namespace /'
    with pytest.raises(BringupError, match='nor is any other controller, ' + where):
        bench.switch('adaptive')


def test_who_cannot_take_over_changes_nothing(bench):
    bench.run('pd_gravity')
    bench.wait('pd_gravity', 'tracking')
    with pytest.raises(BringupError, match=r'is not running: pd_gravity continues.*autostart'):
        bench.switch('adaptive')
    # Gains that no loop at this rate has.
    bench.run('computed_torque', **{'autostart': False, 'feedback.bandwidth': 900.0})
    with pytest.raises(BringupError, match=r'computed_torque cannot be configured: pd_gravity'):
        bench.switch('computed_torque')
    # One that wants two publishers of joint states.
    bench.run('gravity', autostart=False, state_publishers=2)
    with pytest.raises(BringupError, match=r'has 1 publishers, not 2: /simulated_arm: '
                                           r'pd_gravity continues'):
        bench.switch('gravity')
    bench.wait('pd_gravity', 'tracking')
    count = len(bench.efforts)
    assert bench.observer.spin(30.0, lambda: len(bench.efforts) > count + 20)
    # A machine that stands still may have made it safe; it was not stopped for anybody.
    modes = [mode.data for mode in bench.modes['pd_gravity']]
    assert 'stopped' not in modes[modes.index('tracking'):]


class Reluctant:
    """A controller that is ready to take over until it is to do so."""

    def __init__(self, node, name):
        self.asked: list[int] = []
        node.create_service(GetState, f'{name}/get_state', self.tell)
        node.create_service(ChangeState, f'{name}/change_state', self.change)
        node.create_service(Trigger, f'{name}/prepare', self.prepare)

    def tell(self, request, response):
        response.current_state.id = State.PRIMARY_STATE_INACTIVE
        return response

    def change(self, request, response):
        self.asked.append(request.transition.id)
        response.success = False
        return response

    def prepare(self, request, response):
        response.success = True
        return response


def test_who_fails_to_take_over_gives_the_arm_back(bench):
    bench.run('pd_gravity')
    bench.wait('pd_gravity', 'tracking')
    reluctant = Reluctant(bench.observer.node, NODES['adaptive'])
    with pytest.raises(BringupError,
                       match='could not take over: pd_gravity controls the arm again'):
        bench.switch('adaptive')
    assert reluctant.asked == [Transition.TRANSITION_ACTIVATE]
    bench.wait('pd_gravity', 'tracking')
    # Somebody else commands meanwhile: then nobody does, and the last word is the safe one.
    other = bench.observer.node.create_publisher(Float64MultiArray, 'effort_controller/commands',
                                                 qos.command())
    with pytest.raises(BringupError,
                       match='no controller is active, and the safe command acts on the arm'):
        bench.switch('adaptive')
    assert bench.mode('pd_gravity') == 'stopped'
    assert other.topic_name == '/effort_controller/commands'


def test_two_switches_at_once_leave_the_arm_to_one_controller(bench, monkeypatch):
    bench.run('pd_gravity')
    for name in ('computed_torque', 'gravity'):
        bench.run(name, autostart=False)
    bench.wait('pd_gravity', 'tracking')
    results = bench.switch_at_once('computed_torque', 'gravity')
    # The second one waits, and switches from the first.
    assert {name: failed for name, (_, failed) in results.items()} == {
        'computed_torque': None, 'gravity': None}
    first, last = sorted(results, key=lambda name: results[name][0][0].startswith('waiting'))
    assert results[last][0] == ['waiting for another switch of this arm',
                                f'{first} has sent the safe command and released the arm',
                                f'{last} controls the arm']
    bench.wait(last, 'guided' if last == 'gravity' else 'tracking')
    assert bench.mode(first) == bench.mode('pd_gravity') == 'stopped'
    # Switches of two machines do not wait for each other.
    monkeypatch.setattr(switching, 'one_at_a_time', lambda *_: nullcontext())
    results = bench.switch_at_once('pd_gravity', first)
    working = ('holding', 'tracking', 'guided')
    assert bench.observer.spin(60.0, lambda: sum(bench.mode(name) in working for name in (
        'pd_gravity', 'computed_torque', 'gravity')) == 1), (bench.modes, results)
    assert bench.observer.node.count_publishers('effort_controller/commands') == 1


class Scripted(Switcher):
    """Switches controllers that are a table instead of nodes."""

    def __init__(self, *, refusals, becomes_active=None):
        super().__init__(NODES)
        self.states = {'pd_gravity': State.PRIMARY_STATE_ACTIVE,
                       'adaptive': State.PRIMARY_STATE_INACTIVE,
                       'gravity': State.PRIMARY_STATE_INACTIVE}
        self.refusals, self.becomes_active = refusals, becomes_active
        self._prefix = ''

    def _look(self, wanted):
        return dict(self.states)

    def _state(self, name):
        return self.states[name]

    def _client(self, name, service):
        return None

    def _ask(self, name, service, request, timeout):
        return Trigger.Response(success=True)

    def _pause(self, seconds):
        assert 0.0 < seconds < 2.0

    def _change(self, name, transition, timeout=0.0):
        if transition == Transition.TRANSITION_DEACTIVATE:
            self.states[name] = State.PRIMARY_STATE_INACTIVE
            if self.becomes_active:
                self.states[self.becomes_active] = State.PRIMARY_STATE_ACTIVE
            return True
        self.refusals -= 1
        if self.refusals >= 0:
            return False
        self.states[name] = State.PRIMARY_STATE_ACTIVE
        return True


def test_the_previous_controller_is_tried_until_others_give_up_the_arm():
    switcher = Scripted(refusals=5)
    with pytest.raises(BringupError, match='not take over: pd_gravity controls the arm again;'):
        switcher._switch('adaptive')
    assert switcher.states['pd_gravity'] == State.PRIMARY_STATE_ACTIVE


def test_one_that_another_switch_has_activated_keeps_the_arm():
    switcher = Scripted(refusals=5, becomes_active='gravity')
    with pytest.raises(BringupError, match='could not take over: gravity controls the arm;'):
        switcher._switch('adaptive')
    assert switcher.states['pd_gravity'] == State.PRIMARY_STATE_INACTIVE


def test_one_that_was_deactivated_by_another_switch_does_not_end_this_one():
    switcher = Scripted(refusals=0)
    change, asked = switcher._change, []

    def late(name, transition, timeout=0.0):
        asked.append((name, transition))
        return change(name, transition) and transition != Transition.TRANSITION_DEACTIVATE

    switcher._change = late
    switcher._switch('adaptive')
    assert asked == [('pd_gravity', Transition.TRANSITION_DEACTIVATE),
                     ('adaptive', Transition.TRANSITION_ACTIVATE)]


def test_an_arm_is_switched_by_one_at_a_time():
    events: list[str] = []
    entered, leave = threading.Event(), threading.Event()

    def first():
        with one_at_a_time('7 /left', events.append):
            entered.set()
            leave.wait(10.0)
            events.append('first')

    thread = threading.Thread(target=first)
    thread.start()
    assert entered.wait(10.0)
    with one_at_a_time('7 /right', events.append), one_at_a_time('8 /left', events.append):
        assert events == []
    with pytest.raises(BringupError, match='another switch of this arm has not ended'), \
            one_at_a_time('7 /left', events.append, longest=0.1):
        pass
    threading.Timer(0.2, leave.set).start()
    with one_at_a_time('7 /left', events.append):
        events.append('second')
    thread.join()
    assert events == ['waiting for another switch of this arm'] * 2 + ['first', 'second']


def test_a_switch_that_is_killed_does_not_hold_up_others():
    holder = subprocess.Popen(
        [sys.executable, '-c', 'import time\n'
         'from robot_dynamics.nodes.observing.switching import one_at_a_time\n'
         'with one_at_a_time("9 /", print):\n'
         '    print("in", flush=True)\n'
         '    time.sleep(60)'], stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout.readline() == 'in\n'
        with pytest.raises(BringupError), one_at_a_time('9 /', print, longest=0.1):
            pass
    finally:
        holder.kill()
        holder.communicate()
    with one_at_a_time('9 /', pytest.fail):
        pass


def test_ctrl_c_waits_until_the_arm_has_changed_hands():
    done = False
    # Ignored where the tests run in the background.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with pytest.raises(KeyboardInterrupt), signals_later():
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.05)
        done = True
    assert done
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
