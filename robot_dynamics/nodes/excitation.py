# SPDX-License-Identifier: Apache-2.0
"""Play an exciting motion and record it for identification.

A plan of ``robot-dynamics excite`` is first checked against the robot. The path from the present
pose to its start is checked before the first command. The plan is played as a reference for a
controller of this package, or as trajectories for an arm that is controlled by position. Every
message ends in a stop along the path, so that an arm without further messages comes to rest. The
motion is stopped immediately if states are stale, the arm is far from its reference, or the
controller stops tracking. Joint states and commands are recorded into a rosbag2 folder. The
process ends with the motion, with status 0 if all of it was played.
"""

from __future__ import annotations

import json
import math
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

from rclpy.publisher import Publisher
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectory

from robot_dynamics.control.motion.trajectory_points import sample_points
from robot_dynamics.control.session.modes import Mode
from robot_dynamics.control.states.joint_state import JointStateMonitor
from robot_dynamics.errors import ControlError, ParameterError, StateError
from robot_dynamics.identification.excitation.limits import Clearance
from robot_dynamics.identification.excitation.plan import ExcitationPlan
from robot_dynamics.identification.excitation.playback import ExcitationSession, Stage
from robot_dynamics.nodes.controller.commands import missing_subscriber
from robot_dynamics.nodes.controllers import CONTROLLER_NODES, TRACKING_NODES
from robot_dynamics.nodes.recording import TopicRecording, recording_parameters
from robot_dynamics.nodes.ros import qos
from robot_dynamics.nodes.ros.description import ROBOT_PARAMETERS, load_described
from robot_dynamics.nodes.ros.diagnostics import Diagnostics, Level, Status
from robot_dynamics.nodes.ros.messages import (
    PolledSubscription,
    StampClock,
    to_nanoseconds,
    trajectory_message,
    write_stamp,
)
from robot_dynamics.nodes.ros.node import PlainNode
from robot_dynamics.nodes.ros.parameters import Parameter
from robot_dynamics.nodes.ros.runtime import freeze_garbage, run
from robot_dynamics.nodes.ros.stopping import StopRequest

STATE_TOPIC = 'excitation/state'
#: Topics of a motion; missing ones are ignored.
RECORDED = ('joint_states', 'motor_states', 'robot_description', STATE_TOPIC,
            'effort_controller/commands',
            *(topic for node in TRACKING_NODES for topic in CONTROLLER_NODES[node].all_topics))

TABLE = (
    *ROBOT_PARAMETERS,
    Parameter('plan', '', 'File of the plan, as robot-dynamics excite writes it.', read_only=True),
    Parameter('periods', 1, 'Number of repetitions of the motion.', low=1, high=1000,
              read_only=True),
    Parameter('play_as', 'reference', 'reference is for a controller of this package, trajectory '
              'for an arm that is controlled by position.', choices=('reference', 'trajectory'),
              read_only=True),
    Parameter('controllers', TRACKING_NODES, 'reference: names of the controllers; the one that '
              'tracks gets the reference.', element=str, read_only=True, topic=True),
    Parameter('trajectory_topic', 'joint_trajectory_controller/joint_trajectory', 'trajectory: '
              'topic on which the arm receives a JointTrajectory.', read_only=True, topic=True),
    Parameter('approach', 0.25, 'Share of the speeds and accelerations of the plan that is used '
              'on the path to its start.', low=0.01, high=1.0, read_only=True),
    Parameter('max_deviation', 0.2, 'Largest distance of a joint from its reference; beyond it '
              'the arm is stopped.', 'rad or m', 0.001, 3.0, read_only=True),
    Parameter('state_timeout', 0.5, 'Time without a valid joint state after which the arm is '
              'stopped.', 's', 0.05, 10.0, read_only=True),
    Parameter('patience', 60.0, 'How long to wait for the arm and its controller.', 's', 1.0,
              3600.0, read_only=True),
    Parameter('clearance', 0.0, 'Distance that the shapes of links keep from each other, checked '
              'by MuJoCo; 0 for no check.', 'm', 0.0, 1.0, read_only=True),
    Parameter('workspace', (), 'Box in the base frame that the shapes of moving links stay in, '
              'checked with the clearance: x, y, z of one corner, then of the opposite one; empty '
              'for none.', 'm', -100.0, 100.0, read_only=True),
    Parameter('chunk_period', 0.1, 'Time between two messages.', 's', 0.02, 1.0, read_only=True),
    Parameter('horizon', 0.5, 'Time for which the arm continues to move without a new message '
              'before it comes to rest.', 's', 0.05, 10.0, read_only=True),
    Parameter('point_period', 0.04, 'Time between two points of a message.', 's', 0.001, 0.5,
              read_only=True),
    Parameter('lead', 0.1, 'Time from the measured pose to the start of the motion.', 's', 0.0,
              5.0, read_only=True),
    Parameter('output', '', 'Folder of the recording; an earlier recording of this node is '
              'replaced, anything else is an error. Empty for none.', read_only=True),
    *recording_parameters(RECORDED),
)


class ExcitationNode(PlainNode):
    """Waits for the arm, plays the plan, and ends."""

    def __init__(self, stopped: StopRequest):
        super().__init__('excitation', TABLE, stopped)
        #: `ExcitationSession`, None until the plan is read.
        self._session: Any = None
        self._recording: TopicRecording | None = None
        self._modes: dict[str, str] = {}
        self._controller = ''
        self._published = ''
        self._reason = 'no joint state received'
        self._received_at = -float('inf')
        self._commands: dict[str, Publisher] = {}

    def start(self) -> None:
        """Check the plan and subscribe."""
        values = self.parameters.values
        if not values['plan']:
            raise ParameterError('must be set', subject='parameter plan',
                                 remedy='set it to a file of robot-dynamics excite')
        plan = ExcitationPlan.read(Path(values['plan']).expanduser())
        described = load_described(self, values, self.stopped)
        robot = self._robot = described.robot
        with self.stopped.interrupting():
            self._session = ExcitationSession(
                plan, robot, periods=values['periods'], approach=values['approach'],
                max_deviation=values['max_deviation'],
                clearance=_clearance(robot, described.source, values))
        self._monitor = JointStateMonitor.for_robot(robot)
        self._stamps = StampClock(self)
        self._as_reference = values['play_as'] == 'reference'
        topics = {name: f'{name}/reference' for name in values['controllers']} \
            if self._as_reference else {'': values['trajectory_topic']}
        self._commands = {name: self.advertise(JointTrajectory, topic, qos.command())
                          for name, topic in topics.items()}
        self._state = self.create_publisher(String, STATE_TOPIC, qos.latched())
        Diagnostics(self, robot.name, {'excitation': self._status})
        freeze_garbage()
        self._states = PolledSubscription(self, JointState, 'joint_states', qos.state(),
                                           qos_overriding_options=qos.overridable())
        if self._as_reference:
            for name in values['controllers']:
                self.fast.subscribe(String, f'{name}/mode', partial(self._on_mode, name),
                                    qos.latched())
        if values['output']:
            self._recording = TopicRecording(self, values)
        self._deadline = time.monotonic() + values['patience']
        self._publish_state()
        self.fast.tick(values['chunk_period'], self._step)

    def stop(self) -> None:
        """Bring the arm to rest, and close the recording."""
        session = self._session
        if session is not None and session.has_begun \
                and session.stage(self._now()) in (Stage.APPROACHING, Stage.PLAYING):
            session.doubt(self._now(), 'the node is asked to stop')
            self._send()
        if self._recording is not None:
            self._recording.close()

    def _on_mode(self, name: str, message: String) -> None:
        """Store the mode of a controller; stop if the one that plays the plan stops tracking."""
        mode = self._modes[name] = message.data
        if name == self._controller and mode != Mode.TRACKING.value:
            self._stop_motion(f'{name} is {mode}')

    def _step(self) -> None:
        """Check the arm, and send the next part of the motion."""
        session = self._session
        fresh = self._fetch_state()
        if not session.has_begun:
            self._try_to_begin(fresh)
            return
        silence = time.monotonic() - self._received_at
        if silence > self.parameters.values['state_timeout']:
            self._stop_motion(f'joint states stopped {silence:.2f} s ago')
        elif fresh:
            session.look(self._monitor.stamp, self._monitor.q)
        stage = session.stage(self._now())
        self._publish_state()
        if stage is Stage.STOPPED:
            raise ControlError(f'stopped: {session.reason}', subject='excitation',
                               remedy='remove the cause, then start again')
        if stage is Stage.DONE:
            self.get_logger().info('the motion is complete')
            self.stopped.request()
            return
        self._send()

    def _try_to_begin(self, fresh: bool) -> None:
        """Begin when the arm and its controller are ready."""
        reason = 'no new joint state' if not fresh else self._why_not_ready()
        if reason and reason != self._reason:
            self.get_logger().info(f'waiting: {reason}')
        self._reason = reason
        if reason:
            if time.monotonic() > self._deadline:
                raise StateError(f'cannot begin: {reason}', subject='excitation',
                                 remedy='start the arm and its controller first')
            return
        self._session.prepare(self._monitor.q, self._monitor.v)
        for note in self._session.notes:
            self.get_logger().warning(note)
        # The preparation took time, so the motion begins now.
        self._fetch_state()
        self._session.begin(self._now() + self.parameters.values['lead'])
        self.get_logger().info('the motion to the start begins'
                               + (f', {self._controller} follows' if self._controller else ''))
        self._publish_state()
        # From its first point, even if that is late, because the arm must not jump.
        self._send(self._session.begins)

    def _why_not_ready(self) -> str:
        """Reason why the motion cannot begin, or ''."""
        if not self._monitor.velocity_known:
            return 'no velocity of the arm yet'
        if self._recording is not None and not self._recording.topics:
            return 'no topic to record yet'
        self._controller = ''
        if self._as_reference:
            tracking = [name for name, mode in self._modes.items()
                        if mode == Mode.TRACKING.value]
            if not tracking:
                return 'no controller tracks: ' + (', '.join(
                    f'{name} is {mode}' for name, mode in self._modes.items()) or 'none found')
            publisher = self._commands[tracking[0]]
            if publisher.get_subscription_count() == 0:
                return f'{publisher.topic_name} has no subscriber'
            controller = tracking[0]
        else:
            publisher, controller = self._commands[''], ''
            reason = missing_subscriber(self, publisher.topic_name, JointTrajectory)
            if reason:
                return reason
        if self.count_publishers(publisher.topic_name) > 1:
            return f'another node publishes on {publisher.topic_name}, too'
        self._controller = controller
        return ''

    def _stop_motion(self, reason: str) -> None:
        """Stop the motion for a reason."""
        if self._session.has_begun and not self._session.reason:
            self._session.doubt(self._now(), reason)
            self.get_logger().error(f'stopping: {self._session.reason}')
            self._send()

    def _fetch_state(self) -> bool:
        """Read the joint states that have arrived; return whether one is valid."""
        monitor, clock, fresh = self._monitor, self._stamps, False
        while (message := self._states.fetch()) is not None:
            stamp = to_nanoseconds(message.header.stamp)
            fresh |= monitor.update(clock.received(stamp), clock.seconds(stamp), message.name,
                                    message.position, message.velocity).accepted
        if fresh:
            self._received_at = time.monotonic()
        return fresh

    def _now(self) -> float:
        """Time on the clock of joint states, s: that of the last one plus the time since."""
        return self._monitor.stamp + max(0.0, time.monotonic() - self._received_at)

    def _send(self, begin: float | None = None) -> None:
        """Send the motion from now on, or from a time in s."""
        session, values = self._session, self.parameters.values
        now = self._now() if begin is None else begin
        reference, elapsed, duration = session.ahead(now, values['horizon'])
        # The last point is after the end of the stop, even if that has passed.
        step = values['point_period']
        duration = (1 + math.ceil(duration / step)) * step
        message = trajectory_message(self._robot.joint_names,
                                     sample_points(reference, elapsed, duration, step))
        write_stamp(message.header.stamp, self._stamps.nanoseconds(session.begins + elapsed))
        self._commands[self._controller].publish(message)

    def _publish_state(self) -> None:
        """Publish the state when it has changed."""
        session, now = self._session, self._now()
        begun = session.has_begun
        text = json.dumps({
            'stage': session.stage(now).value, 'period': session.period(now),
            'periods': self.parameters.values['periods'],
            'first_period': self._stamps.nanoseconds(session.first_period) if begun else 0,
            'duration': session.plan.motion.duration, 'reason': session.reason})
        if text != self._published:
            self._published = text
            self._state.publish(String(data=text))

    def _status(self) -> Status:
        session = self._session
        stage = session.stage(self._now())
        values = {'period': session.period(self._now()),
                  'periods': self.parameters.values['periods'], 'controller': self._controller}
        if stage is Stage.WAITING:
            return Status(Level.OK, f'waiting: {self._reason}', values)
        if session.reason:
            return Status(Level.ERROR, f'{stage.value}: {session.reason}', values)
        return Status(Level.OK, stage.value, values)


def _clearance(robot, source, values) -> Clearance | None:
    """Check of shapes, if the parameters select one."""
    if not values['clearance'] and not values['workspace']:
        return None
    from robot_dynamics.simulation.clearance import ShapeClearance
    if source is None:
        raise ParameterError('needs shapes, which a DH table does not have',
                             subject='parameter clearance', remedy='give a URDF')
    return ShapeClearance(robot, source, clearance=values['clearance'],
                          workspace=values['workspace'] or None)


main = partial(run, ExcitationNode, table=TABLE)

if __name__ == '__main__':
    sys.exit(main())
