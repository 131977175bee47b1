# SPDX-License-Identifier: Apache-2.0
"""A managed (lifecycle) node that commands an arm; it can also configure and activate itself."""

from __future__ import annotations

import time
import traceback
from abc import abstractmethod
from collections.abc import Sequence

from rclpy.clock import Clock, ClockType
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn

from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.nodes.ros.node import NodeParts
from robot_dynamics.nodes.ros.parameters import Parameter
from robot_dynamics.nodes.ros.runtime import RCLError
from robot_dynamics.nodes.ros.stopping import StoppedEarlyError, StopRequest

AUTOSTART = Parameter('autostart', True, 'Configure at once and activate as soon as that is safe, '
                      'without a lifecycle manager.', read_only=True)

#: Time between two attempts to activate without a manager. s.
_ATTEMPT_PERIOD = 0.02
#: The arm must have been ready for this long: discovery needs time to find all publishers and
#: subscriptions. s.
_SETTLING_TIME = 0.3
#: Time between two log lines about the same reason to wait, and about a new one. s.
_REMINDER_PERIOD, _NEWS_PERIOD = 5.0, 0.5

SUCCESS, FAILURE, ERROR = (TransitionCallbackReturn.SUCCESS, TransitionCallbackReturn.FAILURE,
                           TransitionCallbackReturn.ERROR)


class ManagedNode(NodeParts, LifecycleNode):
    """The lifecycle of a node that may move an arm."""

    def __init__(self, name: str, table: Sequence[Parameter], stopped: StopRequest):
        super().__init__(name)
        self.equip((AUTOSTART, *table), stopped)
        self._failure: BaseException | None = None
        self._attempts = None
        self._ready_since = time.monotonic()
        self._reminder, self._reminded_at = '', -_REMINDER_PERIOD
        self.is_active = False

    @abstractmethod
    def build(self) -> None:
        """Build the model and every endpoint; raise a RobotDynamicsError where that fails."""

    @abstractmethod
    def take_down(self) -> None:
        """Destroy what `build` has built, as far as it got."""

    @abstractmethod
    def why_not_ready(self) -> str | None:
        """Reason that forbids activation, None without one."""

    @abstractmethod
    def other_publisher(self) -> str | None:
        """Reason that another node commands the arm, None where none does."""

    @abstractmethod
    def claim(self) -> None:
        """Announce that this node is about to command the arm."""

    @abstractmethod
    def wait_for_discovery(self) -> str | None:
        """Wait until all nodes see the claim; return `other_publisher`."""

    @abstractmethod
    def release(self) -> None:
        """Withdraw the claim."""

    @abstractmethod
    def engage(self) -> None:
        """Begin to answer joint states."""

    @abstractmethod
    def release_arm(self, reason: str) -> None:
        """End with a safe command, then stop publishing."""

    def start(self) -> None:
        """Configure, and activate when possible, unless a manager does so."""
        if not self.parameters.values[AUTOSTART.name]:
            return
        if self.trigger_configure() != SUCCESS:
            assert self._failure is not None
            raise self._failure
        self._attempts = self.create_timer(_ATTEMPT_PERIOD, self._attempt,
                                           clock=Clock(clock_type=ClockType.STEADY_TIME))

    def stop(self) -> None:
        """Shut down, with the safe command where this node commanded the arm."""
        try:
            self.trigger_shutdown()
        except RCLError:
            # The node has been shut down by a manager, which excludes this transition.
            self._leave('shut down')
            self.take_down()

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Build; rclpy hides exceptions of these callbacks, so they are logged here."""
        try:
            self.build()
        except StoppedEarlyError as error:
            return self._fail(error, FAILURE)
        except RobotDynamicsError as error:
            return self._fail(self.parameters.full_names(error), FAILURE)
        except Exception as error:
            self.get_logger().fatal(traceback.format_exc())
            return self._fail(error, ERROR)
        return super().on_configure(state)

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Take over the arm, unless that is not safe."""
        reason = self.why_not_ready()
        if reason is None:
            self.claim()
            reason = self.wait_for_discovery()
        if reason is not None:
            self.release()
            self.get_logger().error(f'cannot be activated: {reason}')
            return FAILURE
        self.engage()
        self.is_active = True
        return super().on_activate(state)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Release the arm."""
        self._leave('deactivated')
        return super().on_deactivate(state)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Destroy everything."""
        self._end_attempts()
        self.take_down()
        return super().on_cleanup(state)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Release the arm for good."""
        self._leave('shut down')
        self.take_down()
        return super().on_shutdown(state)

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Release the arm after an error in a transition."""
        self._leave('error')
        self.take_down()
        return super().on_error(state)

    def _end_attempts(self) -> None:
        """End the attempts to activate: a node stopped from outside is restarted from outside."""
        if self._attempts is not None:
            self.destroy_timer(self._attempts)
            self._attempts = None

    def _leave(self, reason: str) -> None:
        self._end_attempts()
        if self.is_active:
            self.is_active = False
            self.release_arm(reason)

    def _fail(self, error: BaseException, answer: TransitionCallbackReturn
              ) -> TransitionCallbackReturn:
        self._failure = error
        self.take_down()
        is_stop = isinstance(error, StoppedEarlyError)
        if not is_stop and not self.parameters.values[AUTOSTART.name]:
            self.get_logger().error(f'cannot be configured: {error}')
        return answer

    def _attempt(self) -> None:
        """Activate once the arm has been ready for long enough."""
        if self.is_active:
            return
        reason = self.why_not_ready() or self.other_publisher()
        now = time.monotonic()
        if reason is not None:
            self._ready_since = now
            self._remind(reason)
            return
        self.claim()
        if now - self._ready_since > _SETTLING_TIME and self.trigger_activate() == SUCCESS:
            self._end_attempts()

    def _remind(self, reason: str) -> None:
        """Log why the node waits, but not at every attempt."""
        now = time.monotonic()
        if now - self._reminded_at >= (_REMINDER_PERIOD if reason == self._reminder
                                       else _NEWS_PERIOD):
            self._reminder, self._reminded_at = reason, now
            self.get_logger().info(f'waiting: {reason}')
