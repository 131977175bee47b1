# SPDX-License-Identifier: Apache-2.0
"""``ExcitationSession``: what plays a plan on an arm, and when it stops; without any clock."""

from __future__ import annotations

from enum import Enum

import numpy as np

from robot_dynamics.control.checks import positive
from robot_dynamics.control.references import Reference
from robot_dynamics.errors import StateError
from robot_dynamics.identification.excitation.limits import Clearance
from robot_dynamics.identification.excitation.plan import ExcitationPlan
from robot_dynamics.identification.excitation.playback import (
    Stopping,
    check_approach,
    check_plan,
    playback,
    stop_duration,
    within_range,
)
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import Robot, position_units

#: How long an arm may take to come to rest after its reference did. s.
SETTLING = 0.3
#: An arm slower than this stands still. rad/s or m/s.
STANDING = 0.1


class Stage(Enum):
    """What is going on; the value is its name on topics."""

    WAITING = 'waiting'
    APPROACHING = 'approaching'
    PLAYING = 'playing'
    STOPPING = 'stopping'
    STOPPED = 'stopped'
    DONE = 'done'


class ExcitationSession:
    """Plays a plan, as long as nothing is in doubt.

    Times are those of joint states, in seconds on one clock.

    Parameters
    ----------
    plan : ExcitationPlan
        What to play.
    robot : Robot
        The arm as it is described; the plan is checked against it here.
    periods : int
        How often.
    approach : float
        Share of the limits on the way to the start.
    max_deviation : float
        How far the arm may be from its reference. rad or m.
    clearance : Clearance, optional
        What may not be touched.

    Raises
    ------
    TrajectoryError
        When the plan is not for this arm, or beyond its limits.
    """

    def __init__(self, plan: ExcitationPlan, robot: Robot, *, periods: int = 1,
                 approach: float = 0.25, max_deviation: float = 0.2,
                 clearance: Clearance | None = None):
        self.plan = plan.in_order_of(robot.joint_names)
        check_plan(self.plan, robot, clearance)
        self._robot, self._clearance = robot, clearance
        self._periods, self._approach = periods, positive('approach', approach)
        self._max_deviation = positive('max_deviation', max_deviation, 'rad')
        self._stop_duration = stop_duration(self.plan)
        self._prepared: tuple[Reference, float] | None = None
        self._reference: Reference | None = None
        self._begin = self._first = 0.0
        self._stop: float | None = None
        #: What is to be said of the pose it begins from.
        self.notes: tuple[str, ...] = ()
        #: Why it stops.
        self.reason = ''

    @property
    def has_begun(self) -> bool:
        """Whether there is a motion."""
        return self._reference is not None

    @property
    def begins(self) -> float:
        """When the way to the start begins. s."""
        return self._begin

    @property
    def first_period(self) -> float:
        """When the first period begins. s."""
        return self._begin + self._first

    @property
    def stop_duration(self) -> float:
        """How long a stop takes. s."""
        return self._stop_duration

    def prepare(self, q: FloatArray, v: FloatArray) -> None:
        """Find and check the way from where the arm is; that may take a while.

        Raises
        ------
        RobotDynamicsError
            When it moves, or there is no way from there.
        """
        if not np.all(np.abs(v) <= STANDING):
            joint = int(np.argmax(np.abs(v)))
            raise StateError(f'moves at {v[joint]:.3g}', subject=self._robot.joint_names[joint],
                             remedy='let the arm come to rest first')
        pose, self.notes = within_range(self._robot, q)
        reference, first = playback(self.plan, pose, periods=self._periods,
                                    approach=self._approach)
        check_approach(self.plan, self._robot, reference, first, self._clearance)
        self._prepared = reference, first

    def begin(self, now: float) -> None:
        """Begin what is prepared, at a time.

        Raises
        ------
        StateError
            When nothing is.
        """
        if self._prepared is None:
            raise StateError('is not prepared', subject='excitation',
                             remedy='call prepare first')
        self._reference, self._first = self._prepared
        self._begin = now

    def stage(self, now: float) -> Stage:
        """Return what is going on at a time."""
        if self._reference is None:
            return Stage.STOPPED if self.reason else Stage.WAITING
        if self._stop is not None:
            ended = now >= self._stop + self._stop_duration + SETTLING
            return Stage.STOPPED if ended else Stage.STOPPING
        elapsed = now - self._begin
        if elapsed >= self._reference.duration + SETTLING:
            return Stage.DONE
        return Stage.APPROACHING if elapsed < self._first else Stage.PLAYING

    def period(self, now: float) -> int:
        """Return which period is played, from 1; 0 before."""
        since = now - self.first_period
        if self._reference is None or since < 0.0:
            return 0
        return min(self._periods, 1 + int(since / self.plan.motion.duration))

    def look(self, now: float, q: FloatArray) -> None:
        """Compare the arm with its reference, and stop where it is too far from it."""
        if self._reference is None or self._stop is not None:
            return
        away = np.abs(q - self._reference.sample(max(0.0, now - self._begin))[0])
        # Written so that NaN is too far.
        if not np.all(away <= self._max_deviation):
            joint = int(np.argmax(np.where(np.isnan(away), np.inf, away)))
            self.doubt(now, f'{self._robot.joint_names[joint]} is {away[joint]:.3f} '
                            f'{position_units(self._robot)[joint]} away from its reference')

    def doubt(self, now: float, reason: str) -> None:
        """Stop along the path, for this reason; the first one counts."""
        if not self.reason:
            self.reason = reason
            self._stop = max(now, self._begin)

    def ahead(self, now: float, horizon: float) -> tuple[Reference, float, float]:
        """Return what an arm is to do from now on, even if it never hears more.

        Parameters
        ----------
        now : float
            When. s.
        horizon : float
            How long it goes on until it stops by itself. s.

        Returns
        -------
        reference : Reference
            The motion and a stop along its path.
        elapsed, duration : float
            Where it stands now, and how long it takes from there. s.
        """
        if self._reference is None:
            raise StateError('has not begun', subject='excitation', remedy='call begin first')
        elapsed = max(0.0, now - self._begin)
        stop = elapsed + horizon if self._stop is None else self._stop - self._begin
        reference = Stopping(self._reference, stop, self._stop_duration)
        return reference, elapsed, max(0.0, reference.duration - elapsed)
