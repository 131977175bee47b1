# SPDX-License-Identifier: Apache-2.0
"""Plays a plan that excites the arm, and records what comes of it.

A plan of ``robot-dynamics excite`` is checked against the robot first, and the way to its
start from where the arm is before the first command. It is played as a reference for a
controller of this package, or as trajectories for an arm that is controlled by position.
Every message ends in a stop along the path, so that an arm that hears no more comes to rest;
and whatever is in doubt, stale states, an arm far from its reference, a controller that
stops tracking, stops it at once. Joint states and commands go into a rosbag2 recording.
The process ends with the motion: with status 0 when all of it was played.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Sequence
from pathlib import Path

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
from robot_dynamics.nodes.controller.commands import listener_obstacle
from robot_dynamics.nodes.controllers import CONTROLLER_NODES, TRACKING_NODES
from robot_dynamics.nodes.recording import (
    DISCOVERY_PERIOD,
    FETCH_PERIOD,
    TopicRecording,
)
from robot_dynamics.nodes.ros import qos
from robot_dynamics.nodes.ros.description import ROBOT_PARAMETERS, load_described
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
from robot_dynamics.nodes.ros.subscriptions import PolledSubscription

STATE_TOPIC = 'excitation/state'
#: What tells of a motion, as far as it is there.
RECORDED = ('joint_states', 'motor_states', 'robot_description', STATE_TOPIC,
            'effort_controller/commands',
            *(topic for node in TRACKING_NODES for topic in CONTROLLER_NODES[node].all_topics))

TABLE = (
    *ROBOT_PARAMETERS,
    Parameter('plan', '', 'File of the plan, as robot-dynamics excite writes it.',
              read_only=True),
    Parameter('periods', 1, 'How often the motion is played.', low=1, high=1000,
              read_only=True),
    Parameter('play_as', 'reference', 'How: reference leads a controller of this package, '
              'trajectory is for an arm that is controlled by position.',
              choices=('reference', 'trajectory'), read_only=True),
    Parameter('controllers', TRACKING_NODES, 'reference: names of the controllers to '
              'lead: whichever of them tracks.', element=str, read_only=True, topic=True),
    Parameter('trajectory_topic', 'joint_trajectory_controller/joint_trajectory',
              'trajectory: where the arm takes a JointTrajectory.', read_only=True, topic=True),
    Parameter('approach', 0.25, 'Share of the speeds and accelerations of the plan that is used '
              'on the way to its start.', low=0.01, high=1.0, read_only=True),
    Parameter('max_deviation', 0.2, 'An arm farther than this from its reference is stopped.',
              'rad or m', 0.001, 3.0, read_only=True),
    Parameter('state_timeout', 0.5, 'Without a good joint state for this long the arm is '
              'stopped.', 's', 0.05, 10.0, read_only=True),
    Parameter('patience', 60.0, 'How long to wait for the arm, and for who moves it, before '
              'giving up.', 's', 1.0, 3600.0, read_only=True),
    Parameter('clearance', 0.0, 'Distance that the shapes of links keep from each other, checked '
              'through MuJoCo; 0 checks nothing.', 'm', 0.0, 1.0, read_only=True),
    Parameter('workspace', (), 'Box in the base frame that the shapes of moving links stay in, '
              'checked with the clearance: x, y, z of one corner, then of the opposite one; '
              'empty for none.', 'm', -100.0, 100.0, read_only=True),
    Parameter('chunk_period', 0.1, 'Time between two messages.', 's', 0.02, 1.0,
              read_only=True),
    Parameter('horizon', 0.5, 'How long the arm goes on without a message before it comes to '
              'rest.', 's', 0.05, 10.0, read_only=True),
    Parameter('point_period', 0.04, 'Time between two points of a message.', 's', 0.001, 0.5,
              read_only=True),
    Parameter('lead', 0.1, 'Time from the measured pose to the start of the motion.', 's', 0.0,
              5.0, read_only=True),
    Parameter('output', '', 'Folder of the recording; one that is there is replaced. Empty '
              'records nothing.', read_only=True),
    Parameter('topics', RECORDED, 'Topics to record, as soon as somebody publishes them.',
              element=str, read_only=True, topic=True),
    Parameter('buffer_size', 64, 'What may wait to be written; beyond that messages are dropped '
              'and counted.', 'MiB', 1, 4096, read_only=True),
)


class ExcitationNode(PlainNode):
    """Waits for the arm, plays the plan, and ends."""

    def __init__(self, stopped: StopRequest):
        super().__init__('excitation', TABLE, stopped)
        self._session: ExcitationSession | None = None
        self._recording: TopicRecording | None = None
        self._modes: dict[str, str] = {}
        self._leads = ''
        self._told = ''
        self._obstacle = 'nothing heard of the arm'
        self._heard = -float('inf')
        self._outlets: dict[str, object] = {}

    def start(self) -> None:
        """Check the plan and subscribe."""
        values = self.parameters.values
        if not values['plan']:
            raise ParameterError('is not set', subject='parameter plan',
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
        self._outlets = {name: self.create_publisher(
            JointTrajectory, topic, qos.command(), qos_overriding_options=qos.overridable())
            for name, topic in topics.items()}
        self._state = self.create_publisher(String, STATE_TOPIC, qos.latched())
        Diagnostics(self, robot.name, {'excitation': self._status})
        freeze_garbage()
        self._states = PolledSubscription(self, JointState, 'joint_states', qos.state(),
                                           qos_overriding_options=qos.overridable())
        if self._as_reference:
            for name in values['controllers']:
                self.fast.subscribe(String, f'{name}/mode',
                                    lambda message, name=name: self._on_mode(name, message.data),
                                    qos.latched())
        if values['output']:
            recording = self._recording = TopicRecording(
                self, Path(values['output']).expanduser(), values['topics'],
                values['buffer_size'] * 1024 * 1024)
            self.fast.tick(FETCH_PERIOD, recording.fetch)
            self.fast.tick(DISCOVERY_PERIOD, recording.discover)
        self._deadline = time.monotonic() + values['patience']
        self._tell()
        self.fast.tick(values['chunk_period'], self._step)

    def stop(self) -> None:
        """Let the arm come to rest, and close the recording."""
        session = self._session
        if session is not None and session.has_begun \
                and session.stage(self._now()) in (Stage.APPROACHING, Stage.PLAYING):
            session.doubt(self._now(), 'the node is asked to stop')
            self._send()
        if self._recording is not None:
            recording, self._recording = self._recording, None
            recording.close()

    def _on_mode(self, name: str, mode: str) -> None:
        """Remember what a controller does; stop when the one led stops tracking."""
        self._modes[name] = mode
        if name == self._leads and mode != Mode.TRACKING.value:
            self._doubt(f'{name} is {mode}')

    def _step(self) -> None:
        """Look at the arm, and send what it is to do next."""
        session = self._session
        fresh = self._fetch_state()
        if not session.has_begun:
            self._try_to_begin(fresh)
            return
        silence = time.monotonic() - self._heard
        if silence > self.parameters.values['state_timeout']:
            self._doubt(f'joint states stopped {silence:.2f} s ago')
        elif fresh:
            session.look(self._monitor.stamp, self._monitor.q)
        stage = session.stage(self._now())
        self._tell()
        if stage is Stage.STOPPED:
            raise ControlError(f'stopped: {session.reason}', subject='excitation',
                               remedy='see to it, then start anew')
        if stage is Stage.DONE:
            self.get_logger().info('the motion is over')
            self.stopped.request()
            return
        self._send()

    def _try_to_begin(self, fresh: bool) -> None:
        """Begin when the arm and who moves it are there."""
        obstacle = 'no fresh joint state' if not fresh else self._listener()
        if obstacle and obstacle != self._obstacle:
            self.get_logger().info(f'waits: {obstacle}')
        self._obstacle = obstacle
        if obstacle:
            if time.monotonic() > self._deadline:
                raise StateError(f'cannot begin: {obstacle}', subject='excitation',
                                 remedy='start the arm and its controller first')
            return
        self._session.prepare(self._monitor.q, self._monitor.v)
        for note in self._session.notes:
            self.get_logger().warning(note)
        # That took a while; the motion begins now.
        self._fetch_state()
        self._session.begin(self._now() + self.parameters.values['lead'])
        self.get_logger().info('the way to the start begins'
                               + (f', {self._leads} follows' if self._leads else ''))
        self._tell()
        # From the very beginning, however late it is by now: an arm does not jump.
        self._send(self._session.begins)

    def _listener(self) -> str:
        """Return what stands against beginning, '' where nothing does."""
        if not self._monitor.velocity_known:
            return 'no speed of the arm known yet'
        if self._recording is not None and not self._recording.topics:
            return 'nothing to record yet'
        self._leads = ''
        if self._as_reference:
            tracking = [name for name, mode in self._modes.items()
                        if mode == Mode.TRACKING.value]
            if not tracking:
                return 'no controller tracks: ' + (', '.join(
                    f'{name} {mode}' for name, mode in self._modes.items()) or 'none heard of')
            publisher = self._outlets[tracking[0]]
            if publisher.get_subscription_count() == 0:
                return f'nobody listens on {publisher.topic_name}'
            leads = tracking[0]
        else:
            publisher, leads = self._outlets[''], ''
            obstacle = listener_obstacle(self, publisher.topic_name, JointTrajectory)
            if obstacle:
                return obstacle
        if self.count_publishers(publisher.topic_name) > 1:
            return f'somebody else publishes on {publisher.topic_name}, too'
        self._leads = leads
        return ''

    def _doubt(self, reason: str) -> None:
        """Stop for a reason."""
        if self._session.has_begun and not self._session.reason:
            self._session.doubt(self._now(), reason)
            self.get_logger().error(f'stops: {self._session.reason}')
            self._send()

    def _fetch_state(self) -> bool:
        """Take joint states that have come; return whether there is a good one."""
        monitor, clock, fresh = self._monitor, self._stamps, False
        while (message := self._states.fetch()) is not None:
            stamp = to_nanoseconds(message.header.stamp)
            fresh |= monitor.update(clock.received(stamp), clock.seconds(stamp), message.name,
                                    message.position, message.velocity).accepted
        if fresh:
            self._heard = time.monotonic()
        return fresh

    def _now(self) -> float:
        """Return the time as joint states have it: that of the last one, and since. s."""
        return self._monitor.stamp + max(0.0, time.monotonic() - self._heard)

    def _send(self, begin: float | None = None) -> None:
        """Send what the arm is to do from now on, or from a time."""
        session, values = self._session, self.parameters.values
        now = self._now() if begin is None else begin
        reference, elapsed, duration = session.ahead(now, values['horizon'])
        # The last point lies behind the end of the stop, also when it is over already.
        step = values['point_period']
        duration = (1 + math.ceil(duration / step)) * step
        message = trajectory_message(self._robot.joint_names,
                                     sample_points(reference, elapsed, duration, step))
        write_stamp(message.header.stamp, self._stamps.nanoseconds(session.begins + elapsed))
        self._outlets[self._leads].publish(message)

    def _tell(self) -> None:
        """Say what is going on, when that has changed."""
        session, now = self._session, self._now()
        begun = session.has_begun
        text = json.dumps({
            'stage': session.stage(now).value, 'period': session.period(now),
            'periods': self.parameters.values['periods'],
            'first_period': self._stamps.nanoseconds(session.first_period) if begun else 0,
            'duration': session.plan.motion.duration, 'reason': session.reason})
        if text != self._told:
            self._told = text
            self._state.publish(String(data=text))

    def _status(self) -> Status:
        session = self._session
        stage = session.stage(self._now())
        values = {'period': session.period(self._now()),
                  'periods': self.parameters.values['periods'], 'controller': self._leads}
        if stage is Stage.WAITING:
            return Status(Level.OK, f'waits: {self._obstacle}', values)
        if session.reason:
            return Status(Level.ERROR, f'{stage.value}: {session.reason}', values)
        return Status(Level.OK, stage.value, values)


def _clearance(robot, source, values) -> Clearance | None:
    """Return what checks shapes, where that is asked for."""
    if not values['clearance'] and not values['workspace']:
        return None
    from robot_dynamics.simulation.clearance import ShapeClearance
    if source is None:
        raise ParameterError('needs shapes, and a DH table has none',
                             subject='parameter clearance', remedy='give a URDF')
    return ShapeClearance(robot, source, clearance=values['clearance'],
                          workspace=values['workspace'] or None)


def main(args: Sequence[str] | None = None) -> int:
    """Run the node."""
    return run(ExcitationNode, args, TABLE)


if __name__ == '__main__':
    sys.exit(main())
