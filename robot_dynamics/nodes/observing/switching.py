# SPDX-License-Identifier: Apache-2.0
"""Lets one controller follow another on an arm, by their lifecycle and nothing else.

============  ==========================  =========================================
step          whom                        when it fails
============  ==========================  =========================================
configure     the next one, if need be    nothing has changed
``prepare``   the next one                nothing has changed
deactivate    the present one             nothing has changed
activate      the next one                the one before takes over again
============  ==========================  =========================================

A controller that is deactivated sends the safe command, waits until it has been heard, and
gives the command topic up; the next one goes on from that effort. At no time do two of them
send.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from lifecycle_msgs.msg import State, Transition
from lifecycle_msgs.srv import ChangeState, GetState
from rclpy.client import Client
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from std_srvs.srv import Trigger

from robot_dynamics.errors import BringupError
from robot_dynamics.nodes.ros.runtime import started_context

#: Longest time for finding everybody, for a transition that builds a model, and for others. s.
_DISCOVERY, _CONFIGURE, _ANSWER = 5.0, 90.0, 10.0
#: A node that has found nobody for so long has found all there are. s.
_SETTLED = 1.0
#: How long client and server are given to find each other both ways, and between two looks. s.
_ACQUAINTANCE, _PACE = 0.2, 0.05
#: What a controller is asked, and how.
_SERVICES: dict[str, type] = {
    'get_state': GetState, 'prepare': Trigger, 'change_state': ChangeState}


class Switcher:
    """A participant that asks controllers for transitions; use it as a context manager.

    Parameters
    ----------
    controllers : mapping of str to str
        Names that a user knows the controllers by, and the names of their nodes.
    namespace : str
        Namespace of the arm.
    domain : int, optional
        ROS domain; that of the environment by default.
    say : callable of str
        Gets what happens.
    """

    def __init__(self, controllers: Mapping[str, str], *, namespace: str = '',
                 domain: int | None = None, say: Callable[[str], None] = lambda text: None):
        self._controllers = dict(controllers)
        self._prefix = '/'.join(['', *filter(None, namespace.split('/'))])
        self._domain = domain
        self._say = say
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
        """Let a controller take over.

        Parameters
        ----------
        name : str
            One of the names that a user knows.

        Raises
        ------
        BringupError
            Saying why not, and who has the arm now.
        """
        states = self._look(name)
        if not states:
            raise BringupError(
                'is not running, nor is any other controller, in ROS domain '
                f'{self._context.get_domain_id()}, namespace {self._prefix or "/"}', subject=name,
                remedy='give those of the system by --domain (or ROS_DOMAIN_ID) and --namespace')
        active = [other for other, state in states.items()
                  if state == State.PRIMARY_STATE_ACTIVE]
        if active == [name]:
            self._say(f'{name} has the arm already')
            return
        if len(active) > 1:
            raise BringupError('are active', subject=' and '.join(active),
                               remedy='deactivate all of them but one: ros2 lifecycle set')
        present = active[0] if active else None
        kept = f'{present} goes on' if present else 'nobody has the arm'
        if name not in states:
            raise BringupError(
                f'is not running: {kept}', subject=name,
                remedy=f'start the system with standby {name}, or: ros2 run robot_dynamics '
                       f'{self._controllers[name]} --ros-args -p autostart:=false')
        if states[name] == State.PRIMARY_STATE_UNCONFIGURED \
                and not self._change(name, Transition.TRANSITION_CONFIGURE, _CONFIGURE):
            raise BringupError(f'cannot be configured: {kept}', subject=name,
                               remedy='see what it said')
        self._prepare(name, kept)
        # Nobody holds the arm but its last command while one follows the other.
        self._client(name, 'change_state')
        if present is not None:
            if not self._change(present, Transition.TRANSITION_DEACTIVATE):
                raise BringupError('cannot be deactivated: it goes on', subject=present,
                                   remedy='see what it said')
            self._say(f'{present} has sent the safe command and let go')
        if not self._activate(name):
            raise BringupError('could not take over: ' + self._take_back(present), subject=name,
                               remedy='see what it said')
        self._say(f'{name} has the arm')

    def _look(self, wanted: str) -> dict[str, int]:
        """Return the lifecycle states of the controllers that run, by name."""
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
            # Everybody's services are waited for at the same time.
            known = [name for name in found
                     if all([self._knows(name, service) for service in _SERVICES])]
            for name in known:
                if found[name] == State.PRIMARY_STATE_UNKNOWN:
                    found[name] = self._state(name)
            # Who has the arm may be found later than who wants it.
            has_active = State.PRIMARY_STATE_ACTIVE in found.values()
            if now - begin > _DISCOVERY or (wanted in found and has_active
                                            and now - changed > _SETTLED):
                return {name: self._known_state(name) for name in found}
            self._executor.spin_once(timeout_sec=_PACE)

    def _state(self, name: str) -> int:
        answer = self._ask(name, 'get_state', GetState.Request(), _ANSWER)
        return int(answer.current_state.id) if answer else State.PRIMARY_STATE_UNKNOWN

    def _known_state(self, name: str) -> int:
        """Return the state of a controller; one that does not tell it may have the arm."""
        for _ in range(2):
            state = self._state(name)
            if state != State.PRIMARY_STATE_UNKNOWN:
                return state
        raise BringupError('does not say whether it has the arm', subject=name,
                           remedy='end its process, or try again')

    def _prepare(self, name: str, kept: str) -> None:
        """Let a controller get ready, or say what stands against it."""
        # One that was configured just now has not heard the arm yet.
        deadline = time.monotonic() + _ANSWER
        while True:
            answer = self._ask(name, 'prepare', Trigger.Request(), _ANSWER)
            if answer is not None and answer.success:
                return
            if answer is None or time.monotonic() > deadline:
                reason = answer.message if answer else 'it does not answer'
                raise BringupError(f'cannot take over, {reason}: {kept}', subject=name,
                                   remedy='robot-dynamics doctor tells more')
            self._pause(0.2)

    def _activate(self, name: str) -> bool:
        """Activate a controller, which may have done so by itself meanwhile."""
        return self._change(name, Transition.TRANSITION_ACTIVATE) \
            or self._state(name) == State.PRIMARY_STATE_ACTIVE

    def _take_back(self, name: str | None) -> str:
        """Let the controller before have the arm again; return who has it."""
        if name is not None:
            answer = self._ask(name, 'prepare', Trigger.Request(), _ANSWER)
            if answer is not None and answer.success and self._activate(name):
                return f'{name} has the arm again'
        return 'nobody has it, and the safe command acts on it'

    def _change(self, name: str, transition: int, timeout: float = _ANSWER) -> bool:
        answer = self._ask(name, 'change_state', ChangeState.Request(
            transition=Transition(id=transition)), timeout)
        return answer is not None and bool(answer.success)

    def _ask(self, name: str, service: str, request: Any, timeout: float) -> Any:
        """Return the answer of a controller, None where it gives none."""
        client = self._client(name, service)
        if client is None:
            return None
        future = client.call_async(request)
        self._executor.spin_until_future_complete(future, timeout_sec=timeout)
        return future.result() if future.done() else None

    def _client(self, name: str, service: str) -> Client | None:
        """Return the client of a service that answers, None where none does."""
        client = self._open(name, service)
        deadline = time.monotonic() + _DISCOVERY
        while not self._knows(name, service) and time.monotonic() < deadline:
            self._executor.spin_once(timeout_sec=_PACE)
        return client if client.service_is_ready() else None

    def _open(self, name: str, service: str) -> Client:
        """Return the client of a service; kept, because to find each other takes time."""
        topic = self._topic(name, service)
        if topic not in self._clients:
            self._clients[topic] = self._node.create_client(_SERVICES[service], topic)
        return self._clients[topic]

    def _knows(self, name: str, service: str) -> bool:
        """Whether client and server have found each other, both ways."""
        topic = self._topic(name, service)
        if not self._clients[topic].service_is_ready():
            return False
        # The server may have to find the reader of the answer yet.
        found_at = self._found_at.setdefault(topic, time.monotonic())
        return time.monotonic() - found_at > _ACQUAINTANCE

    def _topic(self, name: str, service: str) -> str:
        return f'{self._prefix}/{self._controllers[name]}/{service}'

    def _pause(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0.0:
            self._executor.spin_once(timeout_sec=left)
