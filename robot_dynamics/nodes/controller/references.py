# SPDX-License-Identifier: Apache-2.0
"""Trajectories on their way to the session: the topic ``~/reference``, and what became of them."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Sequence

from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectory

from robot_dynamics.control.motion.trajectory_points import PointArrays
from robot_dynamics.control.session.modes import Mode
from robot_dynamics.control.session.session import ControlSession
from robot_dynamics.errors import TrajectoryError
from robot_dynamics.nodes.controller.state_publishers import publisher_names
from robot_dynamics.nodes.controller.trajectory_message import read_trajectory
from robot_dynamics.nodes.ros import qos
from robot_dynamics.nodes.ros.diagnostics import Level, Status
from robot_dynamics.nodes.ros.messages import StampClock
from robot_dynamics.nodes.ros.node import NodeParts
from robot_dynamics.nodes.ros.parameters import Parameter

FINISH, STOP = 'finish', 'stop'

REFERENCE_PARAMETERS = (
    Parameter('rejected_trajectory', FINISH, 'What a rejected trajectory does to the motion that '
              'it should have replaced: finish goes on with it to its end, stop brings the arm to '
              'rest on its path.', choices=(FINISH, STOP)),
)

#: Rejections are not reported so long after the last trajectory that was followed, once the
#: controller does not follow: a stream goes on until its sender sees that. s.
_ON_ITS_WAY = 0.5
#: Warnings of one kind are this far apart. s.
_WARNING_PERIOD = 2.0


class References:
    """Passes trajectories to a session and reports which of them are followed.

    Parameters
    ----------
    node : Node
        The controller.
    session : ControlSession
        Its session.
    stamps : StampClock
        Clock of the stamps.
    accepted : callable
        Called with the length of each trajectory that is followed, s.
    """

    def __init__(self, node: NodeParts, session: ControlSession, stamps: StampClock,
                 accepted: Callable[[float], None]):
        self._node, self._session, self._stamps = node, session, stamps
        self._accepted = accepted
        #: Number of changes of the motion, and what the last one was.
        self.changes, self.last_change = 0, 'no trajectory was received'
        self._rejection = self._several = ''
        self._changed_at = -math.inf
        self._max_points = node.parameters.values['max_trajectory_points']
        self._topic = ''
        self._results = node.advertise(String, '~/reference_status', qos.latched())

    def subscribe(self) -> None:
        """Subscribe to ``~/reference``."""
        self._topic = self._node.fast.subscribe(
            JointTrajectory, '~/reference', self._on_message, qos.command(), raw=True).topic_name

    def follow(self, names: Sequence[str], points: PointArrays, stamp: int, source: str, *,
               partial: bool = False) -> None:
        """Follow a trajectory, without points stop; raises a TrajectoryError, see `reject`.

        Arguments as for `TrajectoryBuffer.accept`, with a stamp in ns.
        """
        if not len(points):
            self.stop(f'an empty trajectory on {source} ended the motion', stamp)
            return
        self._session.accept_trajectory(names, points, self._stamps.seconds(stamp),
                                        partial=partial)
        self._accepted(float(points.times[-1]))
        self._change(f'a trajectory on {source} of {len(points)} points is followed', stamp)

    def stop(self, reason: str, stamp: int = 0) -> None:
        """Bring the arm to rest on its path."""
        self._session.cancel_trajectory()
        self._change(reason, stamp)

    def reject(self, error: TrajectoryError, stamp: int = 0) -> None:
        """Report a trajectory that is not followed, and do to the motion what is set for that."""
        text = str(error)
        if self._session.mode is Mode.TRACKING:
            if self._node.parameters.values['rejected_trajectory'] == STOP:
                self._session.cancel_trajectory()
                self.changes += 1
                self.last_change = f'a rejected trajectory stopped the motion: {text}'
                text += '; the arm comes to rest on its path'
            else:
                text += '; the motion before is finished'
        self._publish(stamp, accepted=False, text=text)
        if not self._session.mode.follows and time.monotonic() - self._changed_at < _ON_ITS_WAY:
            return
        self._rejection = text
        self._node.get_logger().warning(f'trajectory rejected: {text}',
                                        throttle_duration_sec=_WARNING_PERIOD)

    def status(self) -> Status:
        """Item of the diagnostics: a rejected trajectory, and publishers that interfere."""
        values = {'last change': self.last_change}
        several = ', '.join(publisher_names(self._node, self._topic)) \
            if self._node.count_publishers(self._topic) > 1 else ''
        if several and several != self._several:
            self._node.get_logger().warning(f'{self._topic} has several publishers: {several}; '
                                            'each trajectory replaces the one before')
        self._several = several
        if several:
            return Status(Level.WARN, f'several publishers: {several}', values)
        if self._rejection:
            return Status(Level.WARN, f'trajectory rejected: {self._rejection}', values)
        return Status(Level.OK, self.last_change, values)

    def _on_message(self, data: bytes) -> None:
        """Follow a trajectory, or report why it is rejected."""
        try:
            message = read_trajectory(data, max_points=self._max_points)
        except TrajectoryError as error:
            self._session.counts['trajectories_refused'] += 1
            self.reject(error)
            return
        try:
            self.follow(message.names, message.points, message.stamp, self._topic)
        except TrajectoryError as error:
            self.reject(error, message.stamp)

    def _change(self, text: str, stamp: int) -> None:
        self.changes += 1
        self._changed_at = time.monotonic()
        self.last_change, self._rejection = text, ''
        self._publish(stamp, accepted=True, text=text)

    def _publish(self, stamp: int, *, accepted: bool, text: str) -> None:
        self._results.publish(String(data=json.dumps(
            {'accepted': accepted, 'stamp': stamp, 'text': text})))
