# SPDX-License-Identifier: Apache-2.0
"""Detection of actuator faults and contacts from joint states, and its topics."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rclpy.parameter import Parameter as RosParameter
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool, Float64MultiArray, String
from std_srvs.srv import SetBool

from robot_dynamics.control.faults.fault_detector import Event, FaultDetector
from robot_dynamics.control.faults.load_estimator import LoadEstimator
from robot_dynamics.control.faults.motion_predictor import (
    SHORTEST_PERIOD,
    MotionFilter,
    MotionPredictor,
)
from robot_dynamics.control.faults.residuals import GAIN, MomentumObserver
from robot_dynamics.control.faults.threshold_learner import MARGIN, ThresholdLearner
from robot_dynamics.control.faults.tolerances import (
    Tolerances,
    default_tolerances,
    given_tolerances,
)
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import FileError, ParameterError, RobotDynamicsError
from robot_dynamics.files import write_file
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import Robot
from robot_dynamics.nodes.ros import qos
from robot_dynamics.nodes.ros.diagnostics import Level, Status
from robot_dynamics.nodes.ros.messages import ArrayMessage, JointStateMessage
from robot_dynamics.nodes.ros.node import NodeParts
from robot_dynamics.nodes.ros.parameters import Parameter, Values

FAULT_PARAMETERS = (
    Parameter('faults.watch', True, 'Whether to detect actuator faults and contacts.',
              read_only=True),
    Parameter('faults.gain', GAIN, 'Rate at which the residual of the momentum follows external '
              'torques.', '1/s', 0.1, 1000.0, read_only=True),
    Parameter('faults.thresholds', (), 'Largest unexplained efforts of an arm without faults: '
              'one per joint, or the values of learn_thresholds; empty means three quarters of '
              'the effort limits.', 'N m or N', 1e-9, 1e9),
    Parameter('faults.friction', (), 'Friction in addition to the description, as of '
              'learn_thresholds: viscous of each joint, then Coulomb of each; empty for none.',
              'N m s/rad or N s/m, N m or N', -1e9, 1e9),
    Parameter('faults.armature', (), 'Armature in addition to the description, as of '
              'learn_thresholds, of each joint; empty for none.', 'kg m^2 or kg', -1e9, 1e9),
    Parameter('faults.margin', MARGIN, 'Ratio of thresholds to the largest residuals expected '
              'within an hour, from the run in which they are learnt.', '', 1.0, 10.0,
              read_only=True),
    Parameter('faults.thresholds_file', '', 'Parameter file that learnt thresholds are written '
              'to; empty for none.', read_only=True),
)

#: Number of joint states used to measure their period.
_COUNT = 50
#: Period assumed until then. s.
_TYPICAL_PERIOD = 0.002
#: Number of periods between two states above which states were lost.
_MISSED = 2.5
#: Time for which diagnostics, once a second, show events that have ended. s.
_SHOWN_FOR = 2.0
#: Least time between two warnings of one kind. s.
_WARNING_PERIOD = 1.0
#: Time within which an effort should be visible, s; and the share of the effort limit above which
#: learnt thresholds are worth a warning if it is not.
_QUICK, _SMALL = 0.02, 0.05
_BLIND = 'the smallest effort visible within 20 ms is large, N m or N:'
#: Columns of the flags.
_FAULT, _CONTACT = 0, 1


class FaultWatch:
    """Check of every joint state, with publication of residuals, faults and contacts."""

    def __init__(self, node: NodeParts, robot: Robot, dynamics: Dynamics, values: Values):
        self._node, self._robot = node, robot
        self._values = values
        self._observer = MomentumObserver(robot, dynamics, gain=values['faults.gain'])
        # Used until the period is known; thresholds are checked with it, too.
        self._filter = MotionFilter(_TYPICAL_PERIOD)
        self._tolerances_of(values)
        self._periods: list[float] = []
        self._period = np.inf
        # `MotionPredictor`, `LoadEstimator` and `FaultDetector` once the period is known,
        # `ThresholdLearner` during learning.
        self._predictor: Any = None
        self._load: Any = None
        self._detector: Any = None
        self._learner: Any = None
        self._correct_joints()
        self._event, self._joint = Event.NOTHING, -1
        # The last event with the name of its joint, and the time of its end, s.
        self._last, self._ended = (Event.NOTHING, ''), -np.inf
        self._counts = {Event.FAULT: 0, Event.CONTACT: 0}
        self._impediment = 'no effort yet'
        self._open(node, robot.joint_names)

    def check(self, values: Values) -> None:
        """Raise a ParameterError for thresholds that do not match the robot."""
        self._tolerances_of(values)
        self._joints_of(values)

    def on_parameters(self, values: Values) -> None:
        """Take over thresholds."""
        self._values = values
        if self._learner is None:
            self._correct_joints()
        if self._detector is not None:
            self._detector.tolerances = self._tolerances_of(values)

    def warm_up(self) -> None:
        """Load compiled kernels."""
        still = np.zeros(self._robot.n)
        place = np.clip(still, self._robot.limits.lower, self._robot.limits.upper)
        self._observer.update(place, still, still, 0.0)
        predictor = MotionPredictor(self._robot, self._filter)
        counts = predictor.update(self._observer.matrices, place, still, still, 0.0)
        FaultDetector(predictor, self._tolerances_of(self._values)).update(0.0, counts=counts)
        self._observer.dynamics.regressor(place, still, still)
        ThresholdLearner(self._robot, predictor).update(self._observer, still, counts=counts)
        self._observer.reset()

    def update(self, q: FloatArray, v: FloatArray, effort: FloatArray, dt: float, now: float,
               stamp: int, *, due: bool) -> None:
        """Check a joint state; with `due`, publish even without an event.

        `effort` is that since the last state, nan where unknown; `dt` is the time since then, 0 to
        start over, s; `now` (s) and `stamp` (ns) are the time of the state.
        """
        if dt > 0.0 and self._detector is None:
            self._measure_period(dt)
        self._impediment = self._impediment_of(effort)
        if self._impediment or self._detector is None or not dt > 0.0:
            # Starts over, because an arm without commands is held by its brakes against gravity.
            self._observer.reset()
            if self._detector is not None:
                self._predictor.reset()
                self._load.begin_anew()
                self._detector.reset()
            if self._learner is not None:
                self._learner.begin_anew()
        # During lost states the effort differed from the one reported now.
        known = -1.0 if dt > _MISSED * self._period else dt
        self._observer.update(q, v, effort, known)
        if self._detector is not None and not self._impediment:
            counts = self._predictor.update(self._observer.matrices, q, v, effort, known)
            self._load.update(q, v, known)
            if self._learner is not None:
                self._learner.update(self._observer, v, counts=counts)
            else:
                self._detector.update(now, counts=counts)
        self._publish(stamp, due=due)

    def status(self) -> Status:
        """Diagnostics item."""
        values = {'thresholds': 'learnt or given' if self._values['faults.thresholds']
                  else 'three quarters of the largest efforts',
                  'faults': self._counts[Event.FAULT],
                  'contacts': self._counts[Event.CONTACT],
                  'largest share of a threshold': 'none' if self._detector is None
                  else f'{self._detector.excess.max():.2f}',
                  'payload beyond the description, kg': 'none' if self._load is None
                  else f'{self._load.mass:.2f}',
                  **self._visible_efforts()}
        if self._impediment:
            return Status(Level.WARN, f'cannot be monitored: {self._impediment}', values)
        if self._learner is not None:
            return Status(Level.WARN, 'learning thresholds: no events are reported', values)
        if self._event is Event.NOTHING and time.monotonic() - self._ended >= _SHOWN_FOR:
            blind = self._blind_joints()
            return Status(Level.WARN, f'{_BLIND} {blind}', values) if blind \
                else Status(Level.OK, 'no fault, no contact', values)
        event, name = self._last
        if event is Event.FAULT:
            return Status(Level.ERROR, f'fault of {name}', values)
        if event is Event.STOP:
            return Status(Level.WARN, f'{name} is at its stop', values)
        return Status(Level.WARN, f'{event.name.lower()}, first at {name}', values)

    def _visible_efforts(self) -> dict[str, str]:
        """Smallest effort of each joint that is visible within `_QUICK`, as text by its key."""
        if self._detector is None:
            return {}
        return {f'visible effort of {name}, N m or N': f'{effort:.2g}' for name, effort in zip(
            self._robot.joint_names, self._visible(), strict=True)}

    def _visible(self) -> FloatArray:
        """Those efforts at the last pose, shape (n,)."""
        windows = max(1, int(np.sum(self._filter.lengths * self._period < 1.01 * _QUICK)))
        return self._detector.present_tolerances.visible(self._predictor.inertia, windows)

    def _blind_joints(self) -> str:
        """Joints that learnt thresholds hardly watch, with the visible effort; or empty."""
        if len(self._values['faults.thresholds']) <= self._robot.n:
            return ''
        return ', '.join(
            f'{name} {effort:.2g} of {limit:.2g}' for name, effort, limit in zip(
                self._robot.joint_names, self._visible(), self._robot.limits.effort, strict=True)
            if effort > _SMALL * limit)

    def _impediment_of(self, effort: FloatArray) -> str:
        """Reason why faults cannot be detected now, or empty."""
        if not np.isfinite(effort).all():
            return 'joint_states have no effort; see effort_kind'
        if self._period < SHORTEST_PERIOD:
            return f'joint_states are {self._period:.2g} s apart by their stamps; stamp them in s'
        return '' if np.any(effort) else 'all efforts are zero'

    def _measure_period(self, dt: float) -> None:
        """Measure the period of states, on which the windows depend."""
        self._periods.append(dt)
        if len(self._periods) == _COUNT:
            self._period = float(np.median(self._periods))
            self._periods.clear()
            if self._period < SHORTEST_PERIOD:
                return
            self._filter = MotionFilter(self._period)
            self._predictor = MotionPredictor(self._robot, self._filter)
            self._correct_joints()
            self._load = LoadEstimator(self._observer, self._predictor)
            self._detector = FaultDetector(self._predictor, self._tolerances_of(self._values),
                                           self._load)

    def _tolerances_of(self, values: Values) -> Tolerances:
        """Tolerances that the parameters describe."""
        given = values['faults.thresholds']
        if not given:
            return default_tolerances(self._robot, self._filter)
        try:
            return given_tolerances(given, self._filter, self._robot.n)
        except RobotDynamicsError as error:
            raise ParameterError(error.message, subject='parameter faults.thresholds',
                                 remedy=error.remedy) from error

    def _correct_joints(self) -> None:
        """Set friction and armature of the parameters in addition to the description."""
        more = self._joints_of(self._values)
        self._observer.correct_joints(more)
        if self._predictor is not None:
            self._predictor.correct_joints(more)

    def _joints_of(self, values: Values) -> FloatArray:
        """Friction and armature in addition to the description, shape (3, n)."""
        n, parts = self._robot.n, []
        for name, count, what in (
                ('faults.friction', 2 * n, f'viscous friction of {n} joints, then their Coulomb '
                                           'friction'),
                ('faults.armature', n, f'armature of {n} joints')):
            given = values[name]
            if len(given) not in (0, count):
                raise ParameterError(f'must have {count} values, got {len(given)}',
                                     subject=f'parameter {name}', remedy=f'give {what}; or none')
            parts.append(np.reshape(given, (-1, n)) if given else np.zeros((count // n, n)))
        return np.vstack(parts)

    def _open(self, node: NodeParts, names: Sequence[str]) -> None:
        """Create publishers and the service."""
        self._residual = JointStateMessage(names, effort=True, frame=self._robot.base_name)
        self._residual_publisher = node.advertise(JointState, '~/momentum_residual',
                                                  qos.telemetry())
        self._flags = ArrayMessage(('joint', 'fault_contact'), (len(names), 2))
        self._flag_publisher = node.advertise(Float64MultiArray, '~/flags', qos.telemetry())
        self._contact_publisher = node.advertise(Bool, '~/contact', qos.latched())
        node.advertise(String, '~/flag_joints', qos.latched()).publish(
            String(data=json.dumps(list(names))))
        self._contact_publisher.publish(Bool(data=False))
        node.create_service(SetBool, '~/learn_thresholds', self._on_learn)

    def _publish(self, stamp: int, *, due: bool) -> None:
        """Publish residual and flags when due, and immediately at an event."""
        detector = self._detector
        event = Event.NOTHING if detector is None or self._learner is not None \
            else detector.event
        changed = event is not self._event
        if not due and not changed:
            return
        if changed:
            self._change(event)
        self._residual.effort[:] = self._observer.residual
        self._residual_publisher.publish(self._residual.stamp(stamp))
        flags = self._flags.values
        flags[:] = 0.0
        if event is Event.CONTACT:
            flags[:, _CONTACT] = detector.excess[:-1] > 1.0
            flags[self._joint, _CONTACT] = 1.0
        elif event in (Event.FAULT, Event.UNDECIDED):
            flags[self._joint, _FAULT] = 1.0 if event is Event.FAULT else 0.5
        self._flag_publisher.publish(self._flags.message)

    def _change(self, event: Event) -> None:
        """Publish and log the beginning or end of an event."""
        was, self._event = self._event, event
        if Event.CONTACT in (was, event):
            self._contact_publisher.publish(Bool(data=event is Event.CONTACT))
        if event is Event.NOTHING:
            self._ended = time.monotonic()
            return
        self._joint = self._detector.joint
        name = self._robot.joint_names[self._joint]
        self._last = event, name
        if event in self._counts:
            self._counts[event] += 1
        if event is Event.FAULT:
            self._node.get_logger().error(f'fault of {name}',
                                          throttle_duration_sec=_WARNING_PERIOD)
        elif event is Event.STOP:
            self._node.get_logger().warning(f'{name} is at its stop',
                                            throttle_duration_sec=_WARNING_PERIOD)
        elif event is Event.CONTACT:
            self._node.get_logger().warning(f'contact, first at {name}',
                                            throttle_duration_sec=_WARNING_PERIOD)

    def _on_learn(self, request: SetBool.Request, response: SetBool.Response
                  ) -> SetBool.Response:
        """Begin to learn thresholds from a run without faults, or end and use them."""
        if not request.data:
            # Also if detection is impossible, because the arm is usually stopped first.
            if self._learner is None:
                response.message = 'was not learning'
            else:
                self._finish_learning(response)
        elif self._detector is None or self._impediment:
            response.message = f'cannot learn now: {self._impediment or "no joint states yet"}'
        else:
            self._detector.reset()
            self._observer.correct_joints(np.zeros((3, self._robot.n)))
            self._learner = ThresholdLearner(self._robot, self._predictor,
                                             margin=self._values['faults.margin'])
            response.success, response.message = True, 'learning; call again with false to end'
        return response

    def _finish_learning(self, response: SetBool.Response) -> None:
        """Use the learnt thresholds, or report the reason of a failure; resume detection."""
        learner, self._learner = self._learner, None
        self._detector.reset()
        try:
            learnt = {name: [float(f'{x:.4g}') for x in values.ravel()] for name, values in (
                ('faults.thresholds', learner.tolerances.flat),
                ('faults.friction', learner.joints[:2]), ('faults.armature', learner.joints[2]))}
        except ParameterError as error:
            self._correct_joints()
            response.message = str(error)
            return
        result = self._node.set_parameters_atomically(
            [RosParameter(name, RosParameter.Type.DOUBLE_ARRAY, values)
             for name, values in learnt.items()])
        if not result.successful:
            self._correct_joints()
        response.success = result.successful
        response.message = result.reason or (
            f'learnt from {learner.samples} joint states; within 20 ms visible, N m or N: '
            + ', '.join(f'{name} {effort:.2g}' for name, effort in zip(
                self._robot.joint_names, self._visible(), strict=True)))
        if result.successful and (blind := self._blind_joints()):
            response.message += f'; {_BLIND} {blind}'
        path = self._values['faults.thresholds_file']
        if result.successful and path:
            response.message += self._write(Path(path).expanduser(), learnt)

    def _write(self, path: Path, learnt: Mapping[str, Sequence[float]]) -> str:
        """Write a parameter file; return a text for the answer."""
        text = f'{self._node.get_name()}:\n  ros__parameters:\n' + ''.join(
            f'    {name}: {list(values)}\n' for name, values in learnt.items())
        try:
            write_file(path, text)
        except FileError as error:
            return f'; not written: {error}'
        return f'; written to {path}'
