# SPDX-License-Identifier: Apache-2.0
"""The services ``~/stop`` and ``~/resume`` of a controller, and their parameters."""
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

HALT_PARAMETERS = (
    Parameter('stop_acceleration', (STOP_ACCELERATION,), 'What the joints brake with when the '
              'service stop is called; efforts stay within their limits all the same.',
              'rad/s^2 or m/s^2', 0.01, 1000.0, read_only=True),
    Parameter('stop_kind', StopKind.EACH_JOINT.value, 'each_joint lets every joint stop as soon '
              'as it can, together all of them when the slowest can, along a straight line.',
              choices=tuple(kind.value for kind in StopKind), read_only=True),
)


def make_halt(robot: Robot, values: Values) -> StopMotion:
    """Return how an arm is stopped, as the parameters say."""
    return StopMotion.for_robot(robot, per_joint(values, 'stop_acceleration', robot.joint_names),
                          StopKind.named(values['stop_kind']))


class StopServices:
    """Takes orders to stop and to go on.

    Parameters
    ----------
    node : Node
        The controller.
    session : callable
        Returns its session.
    changed : callable
        To be called when the mode may have changed.
    """

    def __init__(self, node: Node, session: Callable[[], ControlSession],
                 changed: Callable[[], None]):
        self._node = node
        self._session = session
        self._changed = changed

    def services(self) -> list[Any]:
        """Return the services, for the node to destroy."""
        return [self._node.create_service(Trigger, '~/stop', self._on_stop),
                self._node.create_service(Trigger, '~/resume', self._on_resume)]

    def _on_stop(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        """Stop the arm as fast as it may be, and hold it."""
        session = self._session()
        if session.mode is Mode.STOPPED:
            # Somebody else may be moving the arm: nothing here can stop it.
            response.success = False
            response.message = f'this controller does not command the arm: {session.reason}'
            return response
        response.success, response.message = True, session.halt()
        self._changed()
        return response

    def _on_resume(self, request: Trigger.Request, response: Trigger.Response
                   ) -> Trigger.Response:
        """Let the arm follow references again, from where it stands."""
        try:
            self._session().resume()
            response.success, response.message = True, self._session().reason
        except ControlError as error:
            response.success, response.message = False, str(error)
        self._changed()
        return response


PAYLOAD_PARAMETERS = (
    Parameter('payload.mass', 0.0, 'Mass of what the arm may carry; the service carry_payload '
              'says whether it does.', 'kg', 0.0, 1e3),
    Parameter('payload.com', (0.0, 0.0, 0.0), 'Its centre of mass in the frame that carries it.',
              'm', -10.0, 10.0),
    Parameter('payload.inertia', (), 'Its inertia about its centre of mass, ixx ixy ixz iyy iyz '
              'izz in the axes of that frame; empty means that of a point.', 'kg m^2', -1e3, 1e3),
    Parameter('payload.frame', '', 'Link or frame that carries it; empty means the last link.',
              read_only=True),
    Parameter('payload.carried', False, 'Whether the arm carries it from the start on.',
              read_only=True),
    Parameter('payload.blend_time', 1.0, 'Time over which efforts go over to an arm that '
              'carries something else, so that none of them jumps.', 's', 0.05, 60.0,
              read_only=True),
)

_NAMES = ('mass', 'com', 'inertia', 'frame')


def payload_of(values: Mapping[str, Any]) -> Payload:
    """Return the payload that parameters describe.

    Raises
    ------
    ParameterError
        Where no body is like that.
    """
    return Payload(**{name: values[f'payload.{name}'] for name in _NAMES})


class PayloadServices:
    """Takes orders and hands them to the law between two cycles.

    Parameters
    ----------
    robot : Robot
        The arm.
    law : Carrier
        The law.
    session : callable
        Returns the session that the law runs in.
    values : mapping
        Values of `PAYLOAD_PARAMETERS`.

    Attributes
    ----------
    is_carried : bool
        Whether the model carries the payload.
    """

    def __init__(self, robot: Robot, law: Carrier, session: Callable[[], ControlSession],
                 values: Mapping[str, Any]):
        self._robot = robot
        self._law = law
        self._session = session
        self._payload = payload_of(values)
        self._seconds = values['payload.blend_time']
        # Refused now, not when somebody asks for it.
        self._payload.load_on(robot)
        self.is_carried = False
        self._stamp: float | None = None
        if values['payload.carried']:
            self._require_mass()
            law.carry(self._payload.load_on(robot), 0.0)
            self.is_carried = True

    def carry(self, wanted: bool) -> str:
        """Take the arm to carry the payload, or nothing; return what happens.

        Raises
        ------
        RobotDynamicsError
            Where there is no payload, or the arm cannot hold it where it is. Nothing
            changes then.
        """
        if wanted == self.is_carried:
            return 'it is so already'
        if wanted:
            self._require_mass()
            self._check_strength(self._payload)
        self._begin(self._payload if wanted else Payload())
        self.is_carried = wanted
        seconds = 0.0 if self._is_idle else self._seconds
        what = f'{self._payload.mass:g} kg' if wanted else 'nothing'
        return f'the model carries {what}' + (f' in {seconds:g} s' if seconds else '')

    def check(self, values: Mapping[str, Any]) -> None:
        """Refuse parameters of a payload that is carried and cannot be, or cannot be held.

        Raises
        ------
        ParameterError
            Saying why.
        """
        payload = payload_of(values)
        if not self.is_carried or payload == self._payload:
            return
        if payload.mass == 0.0:
            raise ParameterError('is 0 for a payload that is carried', subject='payload.mass',
                                 remedy='say that nothing is carried by the service '
                                        'carry_payload')
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

    def before_cycle(self, period: float) -> None:
        """Let the time pass since the last state; never more than two periods at once. s."""
        stamp = self._session().monitor.stamp
        if self._stamp is not None:
            self._law.advance(min(stamp - self._stamp, 2.0 * period))
        self._stamp = stamp

    @property
    def _is_idle(self) -> bool:
        """Whether the law moves nothing now."""
        return not self._session().has_command

    def _begin(self, payload: Payload) -> None:
        self._law.carry(payload.load_on(self._robot), 0.0 if self._is_idle else self._seconds)

    def _require_mass(self) -> None:
        if self._payload.mass == 0.0:
            raise ParameterError('is 0', subject='payload.mass',
                                 remedy='set payload.mass and payload.com first')

    def _check_strength(self, payload: Payload) -> None:
        """Refuse what the arm cannot hold where it is."""
        session = self._session()
        if self._is_idle:
            return
        loaded = self._robot.with_parameters(self._robot.inertial_parameters
                                             + payload.load_on(self._robot))
        effort = Dynamics(loaded).gravity_torque(session.monitor.q)
        limit = session.limiter.limit
        bad = ~(np.abs(effort) <= limit)
        if np.any(bad):
            joint = int(np.argmax(bad))
            raise ParameterError(
                f'would need {effort[joint]:.3g} {effort_units(self._robot)[joint]} at '
                f'{self._robot.joint_names[joint]}, '
                f'which may give {limit[joint]:.3g}', subject='payload',
                remedy='correct payload.mass and payload.com, or move the arm to where it can '
                       'hold that')
