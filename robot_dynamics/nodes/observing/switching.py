# SPDX-License-Identifier: Apache-2.0
"""Change of the controller of an arm, by lifecycle transitions.

============  ==========================  =========================================
step          controller                  after a failure
============  ==========================  =========================================
configure     the next one, if necessary  nothing has changed
``prepare``   the next one                nothing has changed
deactivate    the present one             nothing has changed
activate      the next one                the previous one takes over again
============  ==========================  =========================================

A controller that is deactivated sends the safe command, waits until subscribers have received it,
and releases the command topic; the next one continues from that effort. At no time do two of them
send.

On one machine an arm is switched by one process at a time; others wait for it. Switches from two
machines may refuse each other the arm: then the previous controller takes over again, as soon as
the claims of the others have ended.
"""

from __future__ import annotations

import errno
import hashlib
import random
import signal
import socket
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Any

from lifecycle_msgs.msg import State, Transition
from lifecycle_msgs.srv import ChangeState, GetState
from rclpy.client import Client
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from std_srvs.srv import Trigger

from robot_dynamics.errors import BringupError
from robot_dynamics.nodes.ros.runtime import started_context

#: Timeouts of discovery, of a transition that builds a model, and of other transitions. s.
_DISCOVERY, _CONFIGURE, _ANSWER = 5.0, 90.0, 10.0
#: Time without new entities after which discovery is complete. s.
_SETTLED = 1.0
#: Timeout for client and server to discover each other, and time between two checks. s.
_ACQUAINTANCE, _PACE = 0.2, 0.05
#: Longest wait for another switch of the same arm, and longest time in which the previous
#: controller is tried again: claims of controllers that were prepared elsewhere end in 10 s. s.
_LONGEST_SWITCH, _TAKE_BACK = 180.0, 20.0
#: Services of a controller, and their types.
_SERVICES: dict[str, type] = {
    'get_state': GetState, 'prepare': Trigger, 'change_state': ChangeState}


@contextmanager
def one_at_a_time(arm: str, report: Callable[[str], None],
                  longest: float = _LONGEST_SWITCH) -> Iterator[None]:
    """Exclude the block for the same arm in all processes of this machine, of any user.

    It is entered as soon as no other one runs; `report` gets a line where that takes time. Raises
    a BringupError after `longest`, s.
    """
    # An abstract socket of Linux: the kernel frees its name when its process ends.
    address = b'\0robot_dynamics/switch/' + hashlib.sha256(arm.encode()).hexdigest().encode()
    begin, waits = time.monotonic(), False
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as mark:
        while not _bound(mark, address):
            if not waits:
                report('waiting for another switch of this arm')
            waits = True
            if time.monotonic() - begin > longest:
                raise BringupError('has not ended', subject='another switch of this arm',
                                   remedy='end its process, and try again')
            time.sleep(_PACE)
        yield


def _bound(mark: socket.socket, address: bytes) -> bool:
    """Bind a socket, False where the address is taken; without such addresses True."""
    try:
        mark.bind(address)
    except OSError as error:
        return error.errno != errno.EADDRINUSE
    return True


@contextmanager
def signals_later() -> Iterator[None]:
    """Handle requests to end this process after the block, in which an arm changes hands."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        came.append(number)

    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, note) for number in numbers
              if signal.getsignal(number) is not signal.SIG_IGN}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for later in came:
            signal.raise_signal(later)


class Switcher:
    """Context manager that requests transitions of controllers and reports each step.

    `controllers` has the names of their nodes by the names that users give; `namespace` is that of
    the arm; `domain` that of the environment by default.
    """

    def __init__(self, controllers: Mapping[str, str], *, namespace: str = '',
                 domain: int | None = None, report: Callable[[str], None] = lambda text: None):
        self._controllers = dict(controllers)
        self._prefix = '/'.join(['', *filter(None, namespace.split('/'))])
        self._domain = domain
        self._report = report
        self._clients: dict[str, Client] = {}
        self._found_at: dict[str, float] = {}

    def __enter__(self) -> Switcher:
        self._context = started_context(self._domain)
        self._node = Node('switch', context=self._context, enable_rosout=False,
                          start_parameter_services=False)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)
        return self

    def __exit__(self, *_: object) -> None:
        self._executor.shutdown()
        self._node.destroy_node()
        self._context.try_shutdown()

    def switch(self, name: str) -> None:
        """Let a controller take over, after any other switch of the arm on this machine.

        Raises a BringupError with the reason and the controller that is active after the failure.
        """
        with one_at_a_time(f'{self._context.get_domain_id()} {self._prefix}', self._report):
            self._switch(name)

    def _switch(self, name: str) -> None:
        states = self._look(name)
        if not states:
            raise BringupError(
                'is not running, nor is any other controller, in ROS domain '
                f'{self._context.get_domain_id()}, namespace {self._prefix or "/"}', subject=name,
                remedy='set those of the system by --domain (or ROS_DOMAIN_ID) and --namespace')
        active = [other for other, state in states.items()
                  if state == State.PRIMARY_STATE_ACTIVE]
        if active == [name]:
            self._report(f'{name} controls the arm already')
            return
        if len(active) > 1:
            raise BringupError('are active at the same time', subject=' and '.join(active),
                               remedy='deactivate all of them but one: ros2 lifecycle set')
        present = active[0] if active else None
        kept = f'{present} continues' if present else 'no controller is active'
        if name not in states:
            raise BringupError(
                f'is not running: {kept}', subject=name,
                remedy=f'start the system with standby {name}, or: ros2 run robot_dynamics '
                       f'{self._controllers[name]} --ros-args -p autostart:=false')
        if states[name] == State.PRIMARY_STATE_UNCONFIGURED \
                and not self._change(name, Transition.TRANSITION_CONFIGURE, _CONFIGURE):
            raise BringupError(f'cannot be configured: {kept}', subject=name,
                               remedy='read its log')
        self._prepare(name, kept)
        # Between the two controllers the last command acts on the arm.
        self._client(name, 'change_state')
        with signals_later():
            self._hand_over(present, name, states)

    def _hand_over(self, present: str | None, name: str, known: Collection[str]) -> None:
        """Deactivate the present controller and activate the next one, or the present again."""
        if present is not None:
            if self._change(present, Transition.TRANSITION_DEACTIVATE):
                self._report(f'{present} has sent the safe command and released the arm')
            # Another switch may have deactivated it, or its process has ended.
            elif self._state(present) == State.PRIMARY_STATE_ACTIVE:
                raise BringupError('cannot be deactivated and continues', subject=present,
                                   remedy='read its log')
        holder = name if self._activate(name) else self._take_back(present, known)
        if holder != name:
            result = f'{holder} controls the arm' + ' again' * (holder == present) if holder \
                else 'no controller is active, and the safe command acts on the arm'
            raise BringupError(f'could not take over: {result}', subject=name,
                               remedy='read its log')
        self._report(f'{name} controls the arm')

    def _look(self, wanted: str) -> dict[str, int]:
        """Lifecycle states of the controllers that run, by name."""
        begin = changed = time.monotonic()
        found: dict[str, int] = {}
        while True:
            now = time.monotonic()
            services = {name for name, _ in self._node.get_service_names_and_types()}
            for name in self._controllers:
                if name not in found and self._topic(name, 'get_state') in services:
                    found[name], changed = State.PRIMARY_STATE_UNKNOWN, now
                    for service in _SERVICES:
                        self._open(name, service)
            # Waits for the services of all controllers at the same time.
            known = [name for name in found
                     if all([self._knows(name, service) for service in _SERVICES])]
            for name in known:
                if found[name] == State.PRIMARY_STATE_UNKNOWN:
                    found[name] = self._state(name)
            # The active controller may be discovered after the wanted one.
            has_active = State.PRIMARY_STATE_ACTIVE in found.values()
            if now - begin > _DISCOVERY or (wanted in found and has_active
                                            and now - changed > _SETTLED):
                return {name: self._known_state(name) for name in found}
            self._executor.spin_once(timeout_sec=_PACE)

    def _state(self, name: str) -> int:
        answer = self._ask(name, 'get_state', GetState.Request(), _ANSWER)
        return int(answer.current_state.id) if answer else State.PRIMARY_STATE_UNKNOWN

    def _known_state(self, name: str) -> int:
        """State of a controller; without a response it may control the arm."""
        for _ in range(2):
            state = self._state(name)
            if state != State.PRIMARY_STATE_UNKNOWN:
                return state
        raise BringupError('does not respond, and may control the arm', subject=name,
                           remedy='end its process, or try again')

    def _prepare(self, name: str, kept: str) -> None:
        """Prepare a controller, or raise a BringupError with the reason."""
        # A controller that has just been configured may not have received a joint state yet.
        deadline = time.monotonic() + _ANSWER
        while True:
            answer = self._ask(name, 'prepare', Trigger.Request(), _ANSWER)
            if answer is not None and answer.success:
                return
            if answer is None or time.monotonic() > deadline:
                reason = answer.message if answer else 'it does not answer'
                raise BringupError(f'cannot take over, {reason}: {kept}', subject=name,
                                   remedy='see robot-dynamics doctor')
            self._pause(0.2)

    def _activate(self, name: str) -> bool:
        """Activate a controller, which may have activated itself in the meantime."""
        return self._change(name, Transition.TRANSITION_ACTIVATE) \
            or self._state(name) == State.PRIMARY_STATE_ACTIVE

    def _take_back(self, previous: str | None, known: Collection[str]) -> str | None:
        """Activate the previous controller again, unless another one of those known is active.

        Returns the controller that controls the arm, None without one.
        """
        deadline = time.monotonic() + _TAKE_BACK
        while True:
            for name in known:
                if self._state(name) == State.PRIMARY_STATE_ACTIVE:
                    return name
            if previous is None or time.monotonic() > deadline:
                return None
            answer = self._ask(previous, 'prepare', Trigger.Request(), _ANSWER)
            if answer is not None and answer.success and self._activate(previous):
                return previous
            # Two switches with the same rhythm could refuse each other the arm every time.
            self._pause(random.uniform(0.5, 1.5))

    def _change(self, name: str, transition: int, timeout: float = _ANSWER) -> bool:
        answer = self._ask(name, 'change_state', ChangeState.Request(
            transition=Transition(id=transition)), timeout)
        return answer is not None and bool(answer.success)

    def _ask(self, name: str, service: str, request: Any, timeout: float) -> Any:
        """Response of a controller, or None."""
        client = self._client(name, service)
        if client is None:
            return None
        future = client.call_async(request)
        self._executor.spin_until_future_complete(future, timeout_sec=timeout)
        return future.result() if future.done() else None

    def _client(self, name: str, service: str) -> Client | None:
        """Client of a service that is ready, or None."""
        client = self._open(name, service)
        deadline = time.monotonic() + _DISCOVERY
        while not self._knows(name, service) and time.monotonic() < deadline:
            self._executor.spin_once(timeout_sec=_PACE)
        return client if client.service_is_ready() else None

    def _open(self, name: str, service: str) -> Client:
        """Client of a service, cached because discovery takes time."""
        topic = self._topic(name, service)
        if topic not in self._clients:
            self._clients[topic] = self._node.create_client(_SERVICES[service], topic)
        return self._clients[topic]

    def _knows(self, name: str, service: str) -> bool:
        """Whether client and server have discovered each other."""
        topic = self._topic(name, service)
        if not self._clients[topic].service_is_ready():
            return False
        # The server may not have discovered our response reader yet.
        found_at = self._found_at.setdefault(topic, time.monotonic())
        return time.monotonic() - found_at > _ACQUAINTANCE

    def _topic(self, name: str, service: str) -> str:
        return f'{self._prefix}/{self._controllers[name]}/{service}'

    def _pause(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0.0:
            self._executor.spin_once(timeout_sec=left)
