# SPDX-License-Identifier: Apache-2.0
"""``HandGuidingSession``: a session whose arm is led by hand and follows no reference."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robot_dynamics.control.motion.trajectory_points import TrajectoryPoint
from robot_dynamics.control.session.modes import Command, Mode
from robot_dynamics.control.session.session import ControlSession
from robot_dynamics.errors import TrajectoryError

#: An arm that moves less than this for so long is at rest: what holds it then is what it takes.
REST_DISTANCE, REST_TIME = 0.005, 0.5


class HandGuidingSession(ControlSession):
    """A control session that goes on from holding to `Mode.GUIDED`, not to tracking.

    It is held until it rests, so that what holding it takes is known when it is given away.
    An arm that is led may be anywhere. So the desired motion, which stays at the pose that
    was held before, is there to be looked at, and nobody is far from it. A halt holds the
    arm by feedback where it comes to rest; ended, the hand has it again.
    """

    def halt(self) -> str:
        """Stop as fast as the acceleration bounds allow, then hold; return what happens."""
        if self.mode is not Mode.GUIDED:
            return super().halt()
        self.stop_motion.request()
        return f'at rest in {self._begin_halt():.3f} s'

    def resume(self) -> None:
        """Let the arm be led again; see `ControlSession.resume`."""
        super().resume()
        if self.mode is Mode.TRACKING:
            self.controller.reset(self.monitor.q, self.monitor.v)
            self._first_step = True
            self._give_away()

    def accept_trajectory(self, names: Sequence[str], points: Sequence[TrajectoryPoint],
                          stamp: float | None = None) -> float:
        """Refuse a trajectory: nobody would follow it."""
        self.counts['trajectories_refused'] += 1
        raise TrajectoryError('the arm is led by hand', subject='trajectory',
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
            self._give_away()

    def _give_away(self) -> None:
        """Let the hand have the arm."""
        self.mode, self.reason = Mode.GUIDED, 'the arm follows the hand'

    def _begin_halt(self) -> float:
        """Begin where the hand has the arm, at the speed that it has."""
        self.q_d[:], self.v_d[:] = self.monitor.q, self.monitor.v
        return super()._begin_halt()

    def _desire(self) -> None:
        if self.mode is Mode.GUIDED:
            self.trajectory.sample_into(self._stamp, self.q_d, self.v_d, self.a_d)
        else:
            super()._desire()

    def _track(self, dt: float) -> Command:
        if self.mode is Mode.GUIDED:
            return super()._track(dt)
        monitor = self.monitor
        self.adapted = False
        return self._command_gate.send(
            np.array(self.controller.holding_effort(monitor.q, monitor.v, self.q_d)), dt,
            self._stamp)
