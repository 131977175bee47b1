# SPDX-License-Identifier: Apache-2.0
"""The services ``~/stop`` and ``~/resume`` of a controller, and their parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.node import Node
from std_srvs.srv import Trigger

from robot_dynamics.control.motion.fastest_stop import StopKind
from robot_dynamics.control.session.modes import Mode
from robot_dynamics.control.session.session import ControlSession
from robot_dynamics.control.session.stop_motion import STOP_ACCELERATION, Halt
from robot_dynamics.errors import ControlError
from robot_dynamics.model.robot import Robot
from robot_dynamics.nodes.ros.parameters import Parameter, Values, per_joint

HALT_PARAMETERS = (
    Parameter('stop_acceleration', (STOP_ACCELERATION,), 'What the joints brake with when the '
              'service stop is called; efforts stay within their limits all the same.',
              'rad/s^2 or m/s^2', 0.01, 1000.0, read_only=True),
    Parameter('stop_kind', StopKind.EACH_JOINT.value, 'each_joint lets every joint stop as soon '
              'as it can, together all of them when the slowest can, along a straight line.',
              choices=tuple(kind.value for kind in StopKind), read_only=True),
)


def make_halt(robot: Robot, values: Values) -> Halt:
    """Return how an arm is stopped, as the parameters say."""
    return Halt.for_robot(robot, per_joint(values, 'stop_acceleration', robot.joint_names),
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
