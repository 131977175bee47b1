# SPDX-License-Identifier: Apache-2.0
"""A managed (lifecycle) node that commands an arm, or starts by itself where nobody manages it."""

from __future__ import annotations

import time
import traceback
from collections.abc import Sequence

from rclpy.clock import Clock, ClockType
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn

from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.nodes.ros.node import NodeParts
from robot_dynamics.nodes.ros.parameters import Parameter
from robot_dynamics.nodes.ros.runtime import RCLError
from robot_dynamics.nodes.ros.stopping import StoppedEarlyError, StopRequest

AUTOSTART = Parameter('autostart', True, 'Configure at once and activate as soon as that is '
                      'safe, without a lifecycle manager.', read_only=True)

#: Time between two attempts to activate by itself. s.
_ATTEMPT_PERIOD = 0.02
#: Nothing may have stood against it for this long: discovery takes its time to show all who
#: publish and listen. s.
_SETTLING_TIME = 0.3
#: How often it says what it waits for: the same, and something new. s.
_REMINDER_PERIOD, _NEWS_PERIOD = 5.0, 0.5

SUCCESS, FAILURE, ERROR = (TransitionCallbackReturn.SUCCESS, TransitionCallbackReturn.FAILURE,
                           TransitionCallbackReturn.ERROR)


class ManagedNode(NodeParts, LifecycleNode):
    """The lifecycle of a node that may move an arm.

    A subclass says what to `build` and to `take_down`, which `obstacle` stands against
    activation, how to `engage`, and how to `let_go` of the arm safely.

    Parameters
    ----------
    name : str
        Its name.
    table : sequence of Parameter
        Its parameters.
    stopped : StopRequest
        Whether the process is asked to stop.
    """

    def __init__(self, name: str, table: Sequence[Parameter], stopped: StopRequest):
        super().__init__(name)
        self.equip((AUTOSTART, *table), stopped)
        self._refusal: BaseException | None = None
        self._attempts = None
        self._clear_since = time.monotonic()
        self._reminder, self._reminded_at = '', -_REMINDER_PERIOD
        self.is_active = False

    def build(self) -> None:
        """Build the model and every endpoint; raise a RobotDynamicsError where that fails."""
        raise NotImplementedError

    def take_down(self) -> None:
        """Destroy what `build` has built, as far as it got."""
        raise NotImplementedError

    def obstacle(self) -> str | None:
        """Return what stands against activation, None where nothing does."""
        raise NotImplementedError

    def rival(self) -> str | None:
        """Return who else moves the arm, None where nobody does."""
        raise NotImplementedError

    def claim(self) -> None:
        """Let everybody see that this node is about to move the arm."""
        raise NotImplementedError

    def settle(self) -> str | None:
        """Wait until everybody has seen that; return who else moves the arm."""
        raise NotImplementedError

    def release(self) -> None:
        """Take a claim back."""
        raise NotImplementedError

    def engage(self) -> None:
        """Begin to answer joint states."""
        raise NotImplementedError

    def let_go(self, reason: str) -> None:
        """Send the safe command some times and nothing after it."""
        raise NotImplementedError

    def start(self) -> None:
        """Configure, and activate when possible, unless somebody manages this node."""
        if not self.parameters.values[AUTOSTART.name]:
            return
        if self.trigger_configure() != SUCCESS:
            raise self._refusal
        self._attempts = self.create_timer(_ATTEMPT_PERIOD, self._attempt,
                                           clock=Clock(clock_type=ClockType.STEADY_TIME))

    def stop(self) -> None:
        """Leave for good, with the safe command where the arm was ours."""
        try:
            self.trigger_shutdown()
        except RCLError:
            # From where there is no such way: somebody has shut it down already.
            self._leave('shut down')
            self.take_down()

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Build; rclpy hides exceptions of these callbacks, so they are shown here."""
        try:
            self.build()
        except (RobotDynamicsError, StoppedEarlyError) as error:
            return self._refuse(error, FAILURE)
        except Exception as error:
            self.get_logger().fatal(traceback.format_exc())
            return self._refuse(error, ERROR)
        return super().on_configure(state)

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Take the arm over, unless something stands against it."""
        reason = self.obstacle()
        if reason is None:
            self.claim()
            reason = self.settle()
        if reason is not None:
            self.release()
            self.get_logger().error(f'cannot be activated: {reason}')
            return FAILURE
        self.engage()
        self.is_active = True
        return super().on_activate(state)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Let go of the arm."""
        self._leave('deactivated')
        return super().on_deactivate(state)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Destroy everything."""
        self._end_attempts()
        self.take_down()
        return super().on_cleanup(state)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Let go of the arm, for good."""
        self._leave('shut down')
        self.take_down()
        return super().on_shutdown(state)

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Let go of the arm after an error in a transition."""
        self._leave('error')
        self.take_down()
        return super().on_error(state)

    def _end_attempts(self) -> None:
        """Try to be activated no more: once stopped by somebody, it is theirs to start again."""
        if self._attempts is not None:
            self.destroy_timer(self._attempts)
            self._attempts = None

    def _leave(self, reason: str) -> None:
        self._end_attempts()
        if self.is_active:
            self.is_active = False
            self.let_go(reason)

    def _refuse(self, error: BaseException, answer: TransitionCallbackReturn
                ) -> TransitionCallbackReturn:
        self._refusal = error
        self.take_down()
        asked = isinstance(error, StoppedEarlyError)
        if not asked and not self.parameters.values[AUTOSTART.name]:
            self.get_logger().error(f'cannot be configured: {error}')
        return answer

    def _attempt(self) -> None:
        """Activate when nothing stands against it any more."""
        if self.is_active:
            return
        reason = self.obstacle() or self.rival()
        now = time.monotonic()
        if reason is None:
            self.claim()
        if reason is not None:
            self._clear_since = now
            self._remind(reason)
        elif now - self._clear_since > _SETTLING_TIME and self.trigger_activate() == SUCCESS:
            self._end_attempts()

    def _remind(self, reason: str) -> None:
        """Say what is waited for, but not all the time."""
        now = time.monotonic()
        if now - self._reminded_at >= (_REMINDER_PERIOD if reason == self._reminder
                                       else _NEWS_PERIOD):
            self._reminder, self._reminded_at = reason, now
            self.get_logger().info(f'waiting: {reason}')
