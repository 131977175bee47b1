# SPDX-License-Identifier: Apache-2.0
"""Streams a reference motion to a controller, from where the arm is.

The motion goes out in overlapping chunks, so that a lost one costs nothing. It
starts when a controller says that it tracks, with a move from the measured pose;
when that stops tracking, the stream ends, and starts over when it or another one
tracks again.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectory

from robot_dynamics.control.motion.references import Reference
from robot_dynamics.control.motion.trajectory_points import sample_points
from robot_dynamics.control.session.modes import Mode
from robot_dynamics.control.states.joint_state import JointStateMonitor
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.nodes.controllers import TRACKING_NODES
from robot_dynamics.nodes.motions.reference_motions import (
    MOTION_PARAMETERS,
    check_motion,
    make_motion,
)
from robot_dynamics.nodes.ros import qos
from robot_dynamics.nodes.ros.description import ROBOT_PARAMETERS, load_robot
from robot_dynamics.nodes.ros.diagnostics import Diagnostics, Level, Status
from robot_dynamics.nodes.ros.messages import (
    StampClock,
    to_nanoseconds,
    trajectory_message,
    write_stamp,
)
from robot_dynamics.nodes.ros.node import PlainNode
from robot_dynamics.nodes.ros.parameters import Parameter
from robot_dynamics.nodes.ros.runtime import freeze_garbage, run
from robot_dynamics.nodes.ros.stopping import StopRequest
from robot_dynamics.nodes.ros.subscriptions import FetchedSubscription

TABLE = (
    *ROBOT_PARAMETERS,
    *MOTION_PARAMETERS,
    Parameter('controllers', TRACKING_NODES, 'Names of the controllers to lead: whichever '
              'of them tracks.', element=str, read_only=True, topic=True),
    Parameter('chunk_period', 0.25, 'Time between two chunks.', 's', 0.02, 10.0, read_only=True),
    Parameter('horizon', 1.0, 'Length of a chunk, several of its periods.', 's', 0.05, 30.0,
              read_only=True),
    Parameter('point_period', 0.04, 'Time between two points of a chunk.', 's', 0.001, 1.0,
              read_only=True),
    Parameter('lead', 0.1, 'Time from the measured pose to the start of the motion.', 's', 0.0,
              5.0, read_only=True),
)


class ReferenceNode(PlainNode):
    """Waits for a controller to track, then leads it."""

    def __init__(self, stopped: StopRequest):
        super().__init__('reference', TABLE, stopped)
        self._modes: dict[str, str] = {}
        self._leads = ''
        self._refused = ''
        self._motion: Reference | None = None
        self._start = 0.0
        self._chunks = 0

    def start(self) -> None:
        """Read the motion's description and subscribe."""
        values = self.parameters.values
        self._robot = load_robot(self, values, self.stopped)
        self._monitor = JointStateMonitor.for_robot(self._robot)
        # Refuses bad parameters now, not when the arm waits.
        with self.stopped.interrupting():
            check_motion(self._robot, values)
        self._stamps = StampClock(self)
        self._chunk_publishers = {name: self.create_publisher(
            JointTrajectory, f'{name}/reference', qos.command(),
            qos_overriding_options=qos.overridable()) for name in values['controllers']}
        Diagnostics(self, self._robot.name, {'reference': self._status})
        freeze_garbage()
        self._states = FetchedSubscription(self, JointState, 'joint_states', qos.state(),
                                           qos_overriding_options=qos.overridable())
        for name in values['controllers']:
            self.fast.subscribe(String, f'{name}/mode',
                                lambda message, name=name: self._on_mode(name, message.data),
                                qos.latched())
        self.fast.tick(values['chunk_period'], self._stream)

    def _on_mode(self, name: str, mode: str) -> None:
        """Remember what a controller does; start over when the one led stopped tracking."""
        self._modes[name] = mode
        if mode == Mode.TRACKING.value:
            if name != self._leads:
                self._motion, self._leads, self._refused = None, name, ''
            self._stream()
        elif name == self._leads:
            if self._motion is not None:
                self.get_logger().info(f'{name} is {mode}: the motion ends')
            self._motion, self._leads, self._refused = None, '', ''

    def _stream(self) -> None:
        """Send the next chunk, or begin."""
        now = self._fetch_state()
        if not self._leads or now is None:
            return
        if self._motion is None:
            if self._chunk_publishers[self._leads].get_subscription_count() == 0:
                return
            limits = self._robot.limits
            # A sagging arm may hang a little outside.
            pose = np.clip(self._monitor.q, limits.lower, limits.upper)
            self._motion = self._make_motion(pose)
            if self._motion is None:
                return
            # A path of the end effector may take a second to plan.
            later = self._fetch_state()
            now = now if later is None else later
            self._start = now + self.parameters.values['lead']
            self.get_logger().info(f'the motion starts, {self._leads} follows')
        elapsed = max(0.0, now - self._start)
        values = self.parameters.values
        if elapsed > self._motion.duration + values['horizon']:
            return
        self._send(elapsed, values['horizon'], values['point_period'])

    def _make_motion(self, pose: FloatArray) -> Reference | None:
        """Return the motion from where the arm is, or say why there is none.

        A path of the end effector may be out of reach from there; the arm stays then, until a
        controller tracks anew.
        """
        if self._refused:
            return None
        try:
            return make_motion(self._robot, self.parameters.values, pose)
        except RobotDynamicsError as error:
            self._refused = str(error)
            self.get_logger().error(f'no motion from here: {error}')
            return None

    def _fetch_state(self) -> float | None:
        """Return the time as joint states have it, None without a fresh one."""
        monitor, clock, fresh = self._monitor, self._stamps, False
        # Seen now and then only, an arm may be anywhere: no sample follows from the last.
        monitor.forget()
        while (message := self._states.fetch()) is not None:
            stamp = to_nanoseconds(message.header.stamp)
            fresh |= monitor.update(clock.received(stamp), clock.seconds(stamp), message.name,
                                    message.position).accepted
        return monitor.stamp if fresh else None

    def _send(self, elapsed: float, horizon: float, step: float) -> None:
        """Send the stretch of the motion that begins now."""
        message = trajectory_message(self._robot.joint_names,
                                     sample_points(self._motion, elapsed, horizon, step))
        write_stamp(message.header.stamp, self._stamps.nanoseconds(self._start + elapsed))
        self._chunk_publishers[self._leads].publish(message)
        self._chunks += 1

    def _status(self) -> Status:
        modes = ', '.join(f'{name} {mode}' for name, mode in self._modes.items())
        values = {'controllers': modes or 'not heard of', 'chunks': self._chunks}
        if self._refused:
            return Status(Level.ERROR, f'no motion from here: {self._refused}', values)
        if self._motion is None:
            return Status(Level.OK, 'waits for a controller to track', values)
        return Status(Level.OK, f'leads {self._leads}', values)


def main(args: Sequence[str] | None = None) -> int:
    """Run the node."""
    return run(ReferenceNode, args, TABLE)


if __name__ == '__main__':
    sys.exit(main())
