# SPDX-License-Identifier: Apache-2.0
"""Deactivate the effort controller of an arm when the commands of its controller stop.

A forward_command_controller applies the last efforts forever. A controller that ends in order
deactivates it. This node does so where the controller was killed, hangs, or receives no states.
"""
from __future__ import annotations

import sys
import time
from functools import partial
from typing import Any

from robot_dynamics.errors import ParameterError
from robot_dynamics.nodes.controller.commands import COMMAND_TYPES
from robot_dynamics.nodes.ros import qos
from robot_dynamics.nodes.ros.diagnostics import Diagnostics, Level, Status
from robot_dynamics.nodes.ros.driver import CAN_SWITCH, DRIVER_STOP_PARAMETERS, LOOK_PERIOD, Driver
from robot_dynamics.nodes.ros.messages import PolledSubscription
from robot_dynamics.nodes.ros.node import PlainNode
from robot_dynamics.nodes.ros.parameters import Parameter
from robot_dynamics.nodes.ros.runtime import run
from robot_dynamics.nodes.ros.stopping import StopRequest

TABLE = (
    Parameter('command_topic', 'effort_controller/commands', 'Topic of the commands.',
              read_only=True, topic=True),
    Parameter('command_type', 'effort_array', 'Type of the commands, as for the controllers.',
              choices=tuple(COMMAND_TYPES), read_only=True),
    Parameter('silence', 0.03, 'Time without a command, after the first one, after which the '
              'effort controller is deactivated; at least three periods of the commands.', 's',
              0.005, 2.0, read_only=True),
    Parameter('handover_silence', 0.5, 'The same while another controller takes over.', 's',
              0.005, 5.0, read_only=True),
    *DRIVER_STOP_PARAMETERS,
)

#: Time between two checks, as a share of the silence, and its longest. s.
_SHARE, _LONGEST_PERIOD = 0.15, 0.02
#: Most of the silence that one check may add: when this process was delayed, commands may still
#: wait for another thread of it.
_LARGEST_STEP = 0.5
#: Time between two attempts to stop the arm, and for which they go on. s.
_ATTEMPT_PERIOD, _LONGEST_ATTEMPT = 0.1, 5.0
#: How long this node waits for the end of the commands when it has to stop. s.
_LAST_WATCH = 3.0
_PACE = 0.002


class SilenceWatch:
    """Whether commands that had begun have stopped.

    Parameters
    ----------
    silence, handover_silence : float
        Longest time between two commands, also while another controller takes over. s.

    Examples
    --------
    >>> watch = SilenceWatch(0.03, 0.5)
    >>> watch.check(0.0, received=True, publishers=1)
    >>> watch.check(0.015, received=False, publishers=1)
    >>> watch.check(0.03, received=False, publishers=1)
    >>> watch.check(0.031, received=False, publishers=1)
    'no command for 31 ms'
    """

    def __init__(self, silence: float, handover_silence: float):
        self._silence, self._handover_silence = silence, handover_silence
        #: Whether commands have begun.
        self.is_armed = False
        self._last = self._checked = self._handover_until = 0.0
        self._had_publisher = False

    def check(self, now: float, *, received: bool, publishers: int) -> str | None:
        """Reason to stop the arm, None without one; then commands have to begin anew.

        Parameters
        ----------
        now : float
            Present time. s.
        received : bool
            Whether commands have come since the last check.
        publishers : int
            Number of publishers of commands.
        """
        if received:
            if not self.is_armed:
                self._had_publisher, self._handover_until = False, now
            self.is_armed, self._last, self._checked = True, now, now
        if not self.is_armed:
            return None
        self._last += max(0.0, now - self._checked - _LARGEST_STEP * self._silence)
        self._checked = now
        if publishers > 1:
            self._handover_until = now + self._handover_silence
        has_gone = self._had_publisher and publishers == 0 and not received
        self._had_publisher |= publishers > 0
        silence = now - self._last
        if has_gone:
            reason = 'the publisher of the commands has gone'
        elif silence > self._silence and now > self._handover_until:
            reason = f'no command for {1e3 * silence:.0f} ms'
        else:
            return None
        self.is_armed = False
        return reason


class CommandGuardNode(PlainNode):
    """Watches commands, and stops the arm by its driver."""

    def __init__(self, stopped: StopRequest):
        super().__init__('command_guard', TABLE, stopped)
        #: `Driver` and `PolledSubscription`, None until the node has started.
        self._driver: Any = None
        self._commands: Any = None
        # Why the arm has to be stopped, empty once it is, and the last failure.
        self._reason = self._failure = ''
        self._stops = 0
        # Whether it was inactive already by the last look, so that there is little to report.
        self._was_stopped = False
        self._begun_at = self._attempted_at = 0.0

    def check(self, values: Any) -> None:
        """Reject a shorter time for a change of the controller."""
        if values['handover_silence'] < values['silence']:
            raise ParameterError(f'is {values["handover_silence"]:g} s, shorter than silence',
                                 subject='handover_silence', remedy='set it to 0.5 s')

    def start(self) -> None:
        """Subscribe to the commands."""
        values = self.parameters.values
        topic = self.resolve_topic_name(values['command_topic'])
        self._watch = SilenceWatch(values['silence'], values['handover_silence'])
        self._driver = Driver(self, topic, values['stop_service'])
        self._is_simulated = self.get_parameter('use_sim_time').value
        kind = COMMAND_TYPES[values['command_type']].message_type
        # Taken right before the silence is judged: a delay of this process is not one.
        self._commands = PolledSubscription(self, kind, topic, qos.command_input())
        self.fast.tick(min(_SHARE * values['silence'], _LONGEST_PERIOD), self._look_at_commands)
        self.fast.tick(LOOK_PERIOD, self._driver.look)
        Diagnostics(self, 'command_guard', {'guard': self._status})
        if not CAN_SWITCH:
            self.get_logger().warning(
                'controller_manager_msgs is not installed, so that no effort controller can be '
                'deactivated; install ros-<distro>-controller-manager-msgs')

    def stop(self) -> None:
        """Watch until the commands have ended: controllers may stop at the same time."""
        end = time.monotonic() + _LAST_WATCH
        while self._driver is not None and time.monotonic() < end \
                and (self._watch.is_armed or self._reason):
            self._look_at_commands()
            self._driver.serve()
            time.sleep(_PACE)

    def _look_at_commands(self) -> None:
        """Judge the silence, and stop the arm where it is too long."""
        received = False
        while self._commands.fetch() is not None:
            received = True
        # With simulated time nothing moves while it stands still.
        now = 1e-9 * self.get_clock().now().nanoseconds if self._is_simulated \
            else time.monotonic()
        was_armed = self._watch.is_armed
        reason = self._watch.check(
            now, received=received, publishers=self.count_publishers(self._commands.topic_name))
        if self._watch.is_armed and not was_armed and not self._stops:
            self.get_logger().info(f'commands have begun on {self._commands.topic_name}')
        if reason is not None:
            self._reason, self._failure, self._stops = reason, '', self._stops + 1
            self._begun_at, self._attempted_at = time.monotonic(), -_ATTEMPT_PERIOD
            controller = self._driver.controller
            self._was_stopped = controller is not None and bool(controller.why_inactive())
        if self._reason:
            self._stop_arm()

    def _stop_arm(self) -> None:
        """Request the stop, again and again until it has succeeded, for some time."""
        now = time.monotonic()
        if now - self._attempted_at >= _ATTEMPT_PERIOD:
            self._attempted_at = now
            self._driver.request_stop(self._on_answer)
        if now - self._begun_at > _LONGEST_ATTEMPT:
            self.get_logger().error(f'{self._reason}, and the arm could not be stopped; ' + (
                self._failure or 'no effort controller is known that can be deactivated, and no '
                                 'stop_service has answered'))
            self._reason = ''

    def _on_answer(self, reason: str | None) -> None:
        if reason is not None:
            self._failure = reason
        elif self._reason:
            controller = self._driver.controller
            text = f'{self._reason}: ' + ('the driver has stopped the arm' if controller is None
                                          else f'{controller.name} is deactivated')
            self._reason = ''
            if self._was_stopped:
                self.get_logger().info(text)
            else:
                self.get_logger().warning(text)

    def _status(self) -> Status:
        controller = self._driver.controller
        values = {'armed': self._watch.is_armed, 'stops': self._stops,
                  'controller': controller.name if controller is not None else 'unknown',
                  'state': controller.state if controller is not None else 'unknown'}
        if self._reason:
            return Status(Level.ERROR, f'{self._reason}; {self._failure or "not stopped yet"}',
                          values)
        if not self._driver.can_stop:
            return Status(Level.WARN, 'cannot stop the arm', values)
        return Status(Level.OK, 'watches commands' if self._watch.is_armed else
                      'waits for commands', values)


main = partial(run, CommandGuardNode, table=TABLE, is_real_time=True)

if __name__ == '__main__':
    sys.exit(main())
