# SPDX-License-Identifier: Apache-2.0
"""Control sessions of an arm that is guided, by hand or by poses, and follows no reference."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robot_dynamics.control.motion.trajectory_points import PointArrays, TrajectoryPoint
from robot_dynamics.control.session.modes import Command, Mode
from robot_dynamics.control.session.session import ControlSession
from robot_dynamics.errors import TrajectoryError

#: An arm that moves less than this distance (rad or m) for this time (s) is at rest.
REST_DISTANCE, REST_TIME = 0.005, 0.5


class HandGuidingSession(ControlSession):
    """A control session that goes from holding to `Mode.GUIDED` instead of tracking.

    The arm is held until it rests, so that the effort that holds it is known when guiding begins.
    A guided arm may be anywhere: the desired motion stays at the pose held before, for display,
    and the tracking error is not limited. A stop holds the arm by feedback where it comes to rest;
    `resume` returns to guiding.

    Examples
    --------
    >>> from robot_dynamics import Robot
    >>> from robot_dynamics.control import GuidingController, HandGuidingSession, SessionSettings
    >>> robot = Robot.from_urdf('arm7')
    >>> settings = SessionSettings(period=0.002)
    >>> session = HandGuidingSession(robot, GuidingController(robot), settings)
    >>> command = session.on_joint_state(1.0, 1.0, robot.joint_names, [0.1] * 7, [0.0] * 7)
    >>> session.mode.value
    'holding'
    """

    #: What guides the arm, in words.
    guide = 'hand'

    def halt(self) -> str:
        """Stop as fast as the acceleration bounds allow, then hold; return what happens."""
        if self.mode is not Mode.GUIDED:
            return super().halt()
        self.stop_motion.request()
        return f'at rest in {self._begin_halt():.3f} s'

    def resume(self) -> None:
        """Return to guiding by hand; see `ControlSession.resume`."""
        super().resume()
        if self.mode is Mode.TRACKING:
            self.controller.reset(self.monitor.q, self.monitor.v)
            self._first_step = True
            self._begin_guiding()

    def accept_trajectory(self, names: Sequence[str],
                          points: Sequence[TrajectoryPoint] | PointArrays,
                          stamp: float | None = None, *, partial: bool = False) -> float:
        """Reject a trajectory: no reference is followed."""
        self.counts['trajectories_refused'] += 1
        raise TrajectoryError(f'cannot be followed by an arm that is guided by {self.guide}',
                              subject='trajectory',
                              remedy='switch to a controller that follows references')

    def _begin_holding(self) -> None:
        super()._begin_holding()
        self._rests_at, self._rests_since = self.monitor.q.copy(), self._stamp

    def _begin_tracking(self) -> None:
        if np.abs(self.monitor.q - self._rests_at).max() > REST_DISTANCE:
            self._rests_at[:], self._rests_since = self.monitor.q, self._stamp
        if self._stamp - self._rests_since < REST_TIME:
            return
        super()._begin_tracking()
        if self.mode is Mode.TRACKING:
            self._begin_guiding()

    def _begin_guiding(self) -> None:
        self.mode, self.reason = Mode.GUIDED, f'the arm follows the {self.guide}'

    def _begin_halt(self) -> float:
        """Begin the stop at the measured pose and speed."""
        self.q_d[:], self.v_d[:] = self.monitor.q, self.monitor.v
        return super()._begin_halt()

    def _update_desired_motion(self) -> None:
        if self.mode is Mode.GUIDED:
            self.trajectory.sample_into(self._stamp, self.q_d, self.v_d, self.a_d)
        else:
            super()._update_desired_motion()

    def _track(self, dt: float) -> Command:
        if self.mode is Mode.GUIDED:
            return super()._track(dt)
        monitor = self.monitor
        self.adapted = False
        return self._command_gate.send(
            np.array(self.controller.holding_effort(monitor.q, monitor.v, self.q_d)), dt,
            self._stamp)


class ImpedanceSession(HandGuidingSession):
    """A session of an arm that is held by a spring of its end effector, and follows its poses.

    A contact may hold any joint, so that joints need not follow anything. A joint of which not a
    digit changes while others move, and on which the effort grows, has a closed brake or a frozen
    encoder: its reference moves away by the way of the others, for the supervisor.

    Examples
    --------
    >>> from robot_dynamics import Robot
    >>> from robot_dynamics.control import CartesianImpedanceController, SessionSettings
    >>> robot = Robot.from_urdf('arm7')
    >>> law = CartesianImpedanceController(robot)
    >>> ImpedanceSession(robot, law, SessionSettings(period=0.002)).guide
    'poses of its end effector'
    """

    guide = 'poses of its end effector'

    def _begin_guiding(self) -> None:
        super()._begin_guiding()
        self._seen, self._others = self.monitor.q.copy(), np.zeros(self.robot.n)

    def _update_desired_motion(self) -> None:
        super()._update_desired_motion()
        if self.mode is Mode.GUIDED:
            moved = np.abs(self.monitor.q - self._seen)
            self._others += moved.max()
            self._others[moved > 0.0] = 0.0
            self._seen[:] = self.monitor.q
            np.add(self._seen, self._others, out=self.q_d)
