# SPDX-License-Identifier: Apache-2.0
"""The action ``~/follow_joint_trajectory`` and the topic ``~/controller_state``.

Their names and meaning are those of joint_trajectory_controller, for MoveIt and the tools that use
that. They need the package control_msgs of ros2_control; without it the node goes on without them.

A goal is followed as any trajectory of ``~/reference``. What the action adds runs beside the
control cycle, 20 times a second: feedback, the end of a goal and its result. Only the tolerances
of the path, where a goal has some, are compared with every state.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.clock import Clock, ClockType
from trajectory_msgs.msg import JointTrajectoryPoint

from robot_dynamics.control.motion.goal_tolerances import (
    ErrorBounds,
    GoalTolerances,
    bounds_of,
)
from robot_dynamics.control.session.modes import Mode
from robot_dynamics.control.session.session import ControlSession
from robot_dynamics.errors import JointNamesError, OldTrajectoryError, TrajectoryError
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.nodes.controller.references import References
from robot_dynamics.nodes.controller.trajectory_message import points_of
from robot_dynamics.nodes.ros import qos
from robot_dynamics.nodes.ros.messages import StampClock, array_of, to_nanoseconds, write_stamp
from robot_dynamics.nodes.ros.node import NodeParts
from robot_dynamics.nodes.ros.parameters import Parameter, Values, per_joint

try:
    from control_msgs.action import FollowJointTrajectory
    from control_msgs.msg import JointTrajectoryControllerState
except ImportError:  # a package of ros2_control
    FollowJointTrajectory = JointTrajectoryControllerState = None

#: Whether the action and the state can be offered.
HAS_CONTROL_MSGS = FollowJointTrajectory is not None
#: Time between two feedbacks. s.
FEEDBACK_PERIOD = 0.05

GOAL_PARAMETERS = (
    Parameter('constraints.trajectory', (0.0,), 'Path tolerance of goals that have none of their '
              'own: a goal is aborted beyond it; 0 for none.', 'rad or m', 0.0, 10.0,
              read_only=True),
    Parameter('constraints.goal', (0.05,), 'Goal tolerance of goals that have none of their own; '
              '0 for none.', 'rad or m', 0.0, 10.0, read_only=True),
    Parameter('constraints.stopped_velocity_tolerance', 0.1, 'Speed below which an arm is at rest '
              'at a goal; 0 for any.', 'rad/s or m/s', 0.0, 10.0, read_only=True),
    Parameter('constraints.goal_time', 5.0, 'Time after the end of a trajectory within which the '
              'arm has to be within the goal tolerance; 0 for any.', 's', 0.0, 3600.0,
              read_only=True),
)


def make_tolerances(names: tuple[str, ...], values: Values) -> GoalTolerances:
    """Tolerances that the parameters describe."""
    path, goal = (bounds_of(per_joint(values, f'constraints.{name}', names))
                  for name in ('trajectory', 'goal'))
    rest = np.full(len(names), values['constraints.stopped_velocity_tolerance'])
    return GoalTolerances(ErrorBounds(path, np.full(len(names), np.inf)),
                          ErrorBounds(goal, bounds_of(rest)),
                          values['constraints.goal_time'] or np.inf)


class _PointMessage:
    """A JointTrajectoryPoint with numpy views on its numbers."""

    def __init__(self, n: int, *fields: str):
        self.message = JointTrajectoryPoint(**{field: [0.0] * n for field in fields})
        self.views = [array_of(getattr(self.message, field)) for field in fields]

    def fill(self, *values: FloatArray) -> None:
        for view, value in zip(self.views, values, strict=True):
            view[:] = value


class _StateMessages:
    """Desired and measured state and their difference, as messages."""

    def __init__(self, session: ControlSession):
        self._session = session
        n = session.robot.n
        self.desired = _PointMessage(n, 'positions', 'velocities', 'accelerations')
        self.actual, self.error = (_PointMessage(n, 'positions', 'velocities') for _ in range(2))

    def fill(self) -> None:
        session = self._session
        q, v = session.pose, session.monitor.v
        self.desired.fill(session.q_d, session.v_d, session.a_d)
        self.actual.fill(q, v)
        self.error.fill(session.q_d - q, session.v_d - v)


class ControllerState:
    """Publishes ``~/controller_state``."""

    def __init__(self, node: NodeParts, session: ControlSession):
        self._session = session
        self._points = points = _StateMessages(session)
        self._output = _PointMessage(session.robot.n, 'effort')
        self._message = JointTrajectoryControllerState(
            joint_names=list(session.robot.joint_names), reference=points.desired.message,
            feedback=points.actual.message, error=points.error.message,
            output=self._output.message)
        if hasattr(self._message, 'speed_scaling_factor'):  # since Jazzy
            self._message.speed_scaling_factor = 1.0
        self._publisher = node.advertise(JointTrajectoryControllerState, '~/controller_state',
                                         qos.telemetry())

    def publish(self, stamp: int) -> None:
        """Publish at a stamp in ns."""
        self._points.fill()
        self._output.fill(self._session.limiter.effort)
        write_stamp(self._message.header.stamp, stamp)
        self._publisher.publish(self._message)


class _GoalServer(ActionServer):
    """An action server that does not execute its goals: `conclude` ends one."""

    def notify_execute(self, goal_handle: Any, execute_callback: Any) -> None:
        """Run a callback, if there is one; without one a goal is under way and has no result."""
        if execute_callback is not None:
            super().notify_execute(goal_handle, execute_callback)

    def conclude(self, goal_handle: Any, end: Callable[[], None], result: Any) -> None:
        """End a goal by ``succeed``, ``abort`` or ``canceled`` of its handle, with a result."""
        end()
        self.notify_execute(goal_handle, lambda goal_handle: result)


@dataclass
class _Goal:
    """A goal that is followed."""

    handle: Any
    #: `References.changes` while nothing else has changed its motion.
    change: int
    #: Times of its points after its start, and the start, on the clock of the stamps. s.
    times: FloatArray
    begin: float
    #: When it is at rest, on the same clock. s.
    end: float
    tolerances: GoalTolerances
    is_cancelled: bool = False
    violation: str = ''


class TrajectoryAction:
    """Serves ``~/follow_joint_trajectory``.

    Every goal is accepted, so that one that cannot be followed gets a result with the reason. The
    motion under way then goes on, or stops, by the parameter `rejected_trajectory`.

    Parameters
    ----------
    node : NodeParts
        The controller.
    session : ControlSession
        Its session.
    references : References
        What passes trajectories to the session.
    stamps : StampClock
        Clock of the stamps.

    Attributes
    ----------
    watch : callable or None
        To be called after each state while a goal has path tolerances.
    """

    def __init__(self, node: NodeParts, session: ControlSession, references: References,
                 stamps: StampClock):
        self._node, self._session, self._references = node, session, references
        self._stamps = stamps
        values = node.parameters.values
        self._names = session.robot.joint_names
        self._defaults = make_tolerances(self._names, values)
        self._max_points = values['max_trajectory_points']
        self.watch: Callable[[], None] | None = None
        self._goal: _Goal | None = None
        self._points = points = _StateMessages(session)
        self._feedback = FollowJointTrajectory.Feedback(
            joint_names=list(self._names), desired=points.desired.message,
            actual=points.actual.message, error=points.error.message)
        self._has_index = hasattr(self._feedback, 'index')  # not in Humble
        self._server = _GoalServer(
            node, FollowJointTrajectory, '~/follow_joint_trajectory', self._never,
            goal_callback=lambda goal: GoalResponse.ACCEPT, handle_accepted_callback=self._on_goal,
            cancel_callback=self._on_cancel)
        self._timer = node.create_timer(FEEDBACK_PERIOD, self.check,
                                        clock=Clock(clock_type=ClockType.STEADY_TIME))
        self._timer.cancel()

    def destroy(self) -> None:
        """Abort the goal and destroy the server."""
        self.check()
        self._node.destroy_timer(self._timer)
        self._server.destroy()

    def check(self) -> None:
        """Publish feedback, or end the goal where that has to be."""
        goal, session, codes = self._goal, self._session, FollowJointTrajectory.Result
        if goal is None:
            return
        now = session.monitor.stamp
        if session.mode is not Mode.TRACKING:
            self._abort(codes.INVALID_GOAL,
                        f'the controller is {session.mode.value}: {session.reason}')
        elif goal.violation:
            self._abort(codes.PATH_TOLERANCE_VIOLATED, goal.violation)
        elif self._references.changes != goal.change:
            self._abort(codes.INVALID_GOAL, self._references.last_change)
        elif goal.is_cancelled:
            if now >= goal.end:
                self._conclude(goal.handle.canceled, codes.SUCCESSFUL, 'cancelled, at rest')
        else:
            self._publish_feedback(goal, now)
            if now >= goal.end:
                self._check_goal(goal, now)

    def _check_goal(self, goal: _Goal, now: float) -> None:
        """End a goal after the end of its trajectory, if the arm is there or late."""
        codes, tolerances = FollowJointTrajectory.Result, goal.tolerances
        away = tolerances.goal.violation(self._names, *self._errors())
        if not away:
            self._conclude(goal.handle.succeed, codes.SUCCESSFUL, 'the goal is reached')
        elif now > goal.end + tolerances.time:
            self._abort(codes.GOAL_TOLERANCE_VIOLATED,
                        f'{away}, {now - goal.end:.3f} s after its end')

    def _watch_path(self) -> None:
        """Stop a goal that leaves its path tolerance; `check` reports it."""
        goal = self._goal
        if goal is None or goal.violation or goal.is_cancelled \
                or self._session.monitor.stamp >= goal.end:
            return
        goal.violation = goal.tolerances.path.violation(self._names, *self._errors())
        if goal.violation:
            self._references.stop(goal.violation)

    def _errors(self) -> tuple[FloatArray, FloatArray]:
        session = self._session
        return session.q_d - session.pose, session.v_d - session.monitor.v

    def _on_goal(self, handle: Any) -> None:
        """Follow a new goal instead of the one before, or abort it with the reason."""
        handle.execute()
        codes, trajectory = FollowJointTrajectory.Result, handle.request.trajectory
        stamp = to_nanoseconds(trajectory.header.stamp)
        try:
            goal = self._follow(handle, stamp)
        except TrajectoryError as error:
            code = codes.INVALID_JOINTS if isinstance(error, JointNamesError) else \
                codes.OLD_HEADER_TIMESTAMP if isinstance(error, OldTrajectoryError) else \
                codes.INVALID_GOAL
            self._references.reject(error, stamp)
            self._server.conclude(handle, handle.abort, codes(
                error_code=code, error_string=str(error)))
            return
        if self._goal is not None:
            self._abort(codes.INVALID_GOAL, 'a new goal replaced it')
        self._goal = goal
        bounds = goal.tolerances.path
        if np.isfinite((bounds.position, bounds.velocity)).any():
            self.watch = self._watch_path
        self._timer.reset()

    def _follow(self, handle: Any, stamp: int) -> _Goal:
        """Pass the trajectory of a goal on; raises a TrajectoryError."""
        request, session = handle.request, self._session
        if request.multi_dof_trajectory.points:
            raise TrajectoryError('must be empty', subject='multi_dof_trajectory',
                                  remedy='plan for joints of one degree of freedom')
        time = request.goal_time_tolerance
        tolerances = self._defaults.overridden(
            self._names, time=time.sec + 1e-9 * time.nanosec, **{
                name: [(each.name, each.position, each.velocity)
                       for each in getattr(request, f'{name}_tolerance')]
                for name in ('path', 'goal')})
        points = points_of(request.trajectory, self._max_points)
        self._references.follow(request.trajectory.joint_names, points, stamp, 'the action',
                                partial=True)
        begin = self._stamps.seconds(stamp) or session.monitor.stamp
        return _Goal(handle, self._references.changes, points.times, begin,
                     session.trajectory.end, tolerances)

    def _on_cancel(self, handle: Any) -> CancelResponse:
        """Bring the arm to rest on its path; `check` reports when it is."""
        goal = self._goal
        if goal is not None and goal.handle == handle:
            self._references.stop('the goal was cancelled')
            goal.change, goal.is_cancelled = self._references.changes, True
            goal.end = self._session.trajectory.end
        return CancelResponse.ACCEPT

    def _abort(self, code: int, text: str) -> None:
        assert self._goal is not None
        self._node.get_logger().warning(f'goal aborted: {text}')
        self._conclude(self._goal.handle.abort, code, text)

    def _conclude(self, end: Callable[[], None], code: int, text: str) -> None:
        """End the goal that is followed."""
        goal, self._goal, self.watch = self._goal, None, None
        assert goal is not None
        self._timer.cancel()
        self._server.conclude(goal.handle, end, FollowJointTrajectory.Result(
            error_code=code, error_string=text))

    def _publish_feedback(self, goal: _Goal, now: float) -> None:
        self._points.fill()
        feedback = self._feedback
        write_stamp(feedback.header.stamp, self._stamps.nanoseconds(now))
        if self._has_index:
            passed = int(np.searchsorted(goal.times, now - goal.begin, side='right'))
            feedback.index = min(passed, len(goal.times) - 1)
        goal.handle.publish_feedback(feedback)

    def _never(self, handle: Any) -> Any:
        """Execution that rclpy requires; `_GoalServer` leaves it out."""
