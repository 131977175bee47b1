# SPDX-License-Identifier: Apache-2.0
"""Services of a controller to stop and resume a motion and to change the payload."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from rclpy.node import Node
from std_srvs.srv import Trigger

from robot_dynamics.control.feedback.loaded_model import Carrier, Payload, checked_load
from robot_dynamics.control.session.modes import Mode
from robot_dynamics.control.session.session import ControlSession
from robot_dynamics.control.session.stop_motion import STOP_ACCELERATION, StopKind, StopMotion
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import ControlError, ParameterError, RobotDynamicsError
from robot_dynamics.model.robot import Robot, effort_units
from robot_dynamics.nodes.ros.parameters import Parameter, Values, per_joint

STOP_PARAMETERS = (
    Parameter('stop_acceleration', (STOP_ACCELERATION,), 'Deceleration of the joints when the '
              'service stop is called; efforts stay within their limits.', 'rad/s^2 or m/s^2',
              0.01, 1000.0, read_only=True),
    Parameter('stop_kind', StopKind.EACH_JOINT.value, 'each_joint stops every joint as soon as it '
              'can; together stops all of them with the slowest, along a straight line.',
              choices=tuple(kind.value for kind in StopKind), read_only=True),
)


def make_stop_motion(robot: Robot, values: Values) -> StopMotion:
    """Motion to rest that the parameters describe."""
    return StopMotion.for_robot(robot, per_joint(values, 'stop_acceleration', robot.joint_names),
                                StopKind(values['stop_kind']))


class StopServices:
    """Services ``~/stop`` and ``~/resume``; `changed` is called when the mode may have changed."""

    def __init__(self, node: Node, session: ControlSession, changed: Callable[[], None]):
        self._node = node
        self._session = session
        self._changed = changed

    def services(self) -> list[Any]:
        """Create the services, for the node to destroy."""
        return [self._node.create_service(Trigger, '~/stop', self._on_stop),
                self._node.create_service(Trigger, '~/resume', self._on_resume)]

    def _on_stop(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        """Stop the arm as fast as the acceleration bounds allow, and hold it."""
        session = self._session
        if session.mode is Mode.STOPPED:
            # Another node may be moving the arm, which cannot be stopped here.
            response.success = False
            response.message = f'this controller does not command the arm: {session.reason}'
            return response
        response.success, response.message = True, session.halt()
        self._changed()
        return response

    def _on_resume(self, request: Trigger.Request, response: Trigger.Response
                   ) -> Trigger.Response:
        """Follow references again, from the present pose."""
        try:
            self._session.resume()
            response.success, response.message = True, self._session.reason
        except ControlError as error:
            response.success, response.message = False, str(error)
        self._changed()
        return response


PAYLOAD_PARAMETERS = (
    Parameter('payload.mass', 0.0, 'Mass of the payload; the service carry_payload switches '
              'whether the model has it.', 'kg', 0.0, 1e3),
    Parameter('payload.com', (0.0, 0.0, 0.0), 'Centre of mass of the payload in its frame.',
              'm', -10.0, 10.0),
    Parameter('payload.inertia', (), 'Inertia of the payload about its centre, ixx ixy ixz iyy '
              'iyz izz in the axes of its frame; empty means a point mass.', 'kg m^2', -1e3,
              1e3),
    Parameter('payload.frame', '', 'Link or frame that carries the payload; empty means the '
              'last link.', read_only=True),
    Parameter('payload.carried', False, 'Whether the arm carries the payload from the start.',
              read_only=True),
    Parameter('payload.blend_time', 1.0, 'Time over which efforts change to those of another '
              'payload, without a jump.', 's', 0.05, 60.0, read_only=True),
)

_NAMES = ('mass', 'com', 'inertia', 'frame')


def payload_of(values: Mapping[str, Any]) -> Payload:
    """Payload that parameters describe; raises a ParameterError where it is not physical."""
    return Payload(**{name: values[f'payload.{name}'] for name in _NAMES})


class PayloadServices:
    """Changes the payload of a law between two cycles; `is_carried`: whether the model has it."""

    def __init__(self, robot: Robot, law: Carrier, session: ControlSession,
                 values: Mapping[str, Any]):
        self._robot = robot
        self._law = law
        self._session = session
        self._payload = payload_of(values)
        self._seconds = values['payload.blend_time']
        # Rejected now, not when the service is called.
        self._payload.load_on(robot)
        self.is_carried = False
        if values['payload.carried']:
            self._require_mass()
            law.carry(self._payload.load_on(robot), 0.0)
            self.is_carried = True

    def carry(self, wanted: bool) -> str:
        """Add the payload to the model, or remove it; return a text for the caller.

        Raises a RobotDynamicsError, and changes nothing, where no payload is set or the arm cannot
        hold it in its present pose.
        """
        if wanted == self.is_carried:
            return 'the payload is carried already' if wanted else 'no payload is carried'
        if wanted:
            self._require_mass()
            self._check_strength(self._payload)
        self._begin(self._payload if wanted else Payload())
        self.is_carried = wanted
        seconds = 0.0 if self._is_idle else self._seconds
        what = f'{self._payload.mass:g} kg' if wanted else 'nothing'
        return f'the model carries {what}' + (f' in {seconds:g} s' if seconds else '')

    def check(self, values: Mapping[str, Any]) -> None:
        """Reject a change of a carried payload to one that is not physical or too heavy."""
        payload = payload_of(values)
        if not self.is_carried or payload == self._payload:
            return
        if payload.mass == 0.0:
            raise ParameterError('must be positive while the payload is carried, got 0',
                                 subject='payload.mass',
                                 remedy='remove the payload by the service carry_payload')
        try:
            checked_load(self._robot, payload.load_on(self._robot))
            self._check_strength(payload)
        except RobotDynamicsError as error:
            raise ParameterError(error.message, subject=error.subject,
                                 remedy=error.remedy) from error

    def on_parameters(self, values: Mapping[str, Any]) -> None:
        """Take over parameters that were checked."""
        payload = payload_of(values)
        if payload == self._payload:
            return
        self._payload = payload
        if self.is_carried:
            self._begin(payload)

    @property
    def _is_idle(self) -> bool:
        """Whether the law does not command the arm."""
        return not self._session.has_command

    def _begin(self, payload: Payload) -> None:
        self._law.carry(payload.load_on(self._robot), 0.0 if self._is_idle else self._seconds)

    def _require_mass(self) -> None:
        if self._payload.mass == 0.0:
            raise ParameterError('must be positive, got 0', subject='payload.mass',
                                 remedy='set payload.mass and payload.com first')

    def _check_strength(self, payload: Payload) -> None:
        """Reject a payload that the arm cannot hold in its present pose."""
        if self._is_idle:
            return
        session = self._session
        loaded = self._robot.with_parameters(self._robot.inertial_parameters
                                             + payload.load_on(self._robot))
        effort = Dynamics(loaded).gravity_torque(session.monitor.q)
        limit = session.limiter.limit
        bad = ~(np.abs(effort) <= limit)
        if np.any(bad):
            joint = int(np.argmax(bad))
            unit = effort_units(self._robot)[joint]
            raise ParameterError(
                f'needs {effort[joint]:.3g} {unit} at {self._robot.joint_names[joint]}, more than '
                f'the limit of {limit[joint]:.3g} {unit}', subject='payload',
                remedy='correct payload.mass and payload.com, or move the arm to a pose where it '
                       'can hold that')
