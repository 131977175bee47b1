# SPDX-License-Identifier: Apache-2.0
"""Those who talk to the nodes while they run: lifecycle, parameters, trajectories."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import rclpy
from lifecycle_msgs.msg import State, Transition
from lifecycle_msgs.srv import ChangeState, GetState
from rcl_interfaces.msg import Parameter as ParameterMessage
from rcl_interfaces.msg import ParameterType, ParameterValue
from rcl_interfaces.srv import SetParameters
from rclpy.client import Client
from rclpy.signals import SignalHandlerOptions
from trajectory_msgs.msg import JointTrajectory

from robot_dynamics.control.motion.trajectory_points import TrajectoryPoint
from robot_dynamics.nodes.ros import qos
from robot_dynamics.nodes.ros.messages import trajectory_message
from robot_dynamics.nodes.ros.transports import without_shared_memory

from .rig import CONTROLLER

#: Transitions by name, each with the state it leads to.
TRANSITIONS = {'activate': (Transition.TRANSITION_ACTIVATE, State.PRIMARY_STATE_ACTIVE),
               'deactivate': (Transition.TRANSITION_DEACTIVATE, State.PRIMARY_STATE_INACTIVE),
               'cleanup': (Transition.TRANSITION_CLEANUP, State.PRIMARY_STATE_UNCONFIGURED),
               'configure': (Transition.TRANSITION_CONFIGURE, State.PRIMARY_STATE_INACTIVE)}
#: After so long without an answer it is asked again. s.
_PATIENCE = 1.5


class Operator:
    """A node of the driver's own with clients of every service.

    A server that has found a client's requests but not yet where its answers go drops the
    answer; and one that was killed is looked for at its old place for a while. So whoever
    gets no answer asks again.

    Parameters
    ----------
    controller : str
        Name of the node of the controller.
    """

    def __init__(self, controller: str = CONTROLLER) -> None:
        with without_shared_memory():
            rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
        self._node = rclpy.create_node('chaos_people')
        self._controller = controller
        self._references = self._node.create_publisher(
            JointTrajectory, f'{controller}/reference', qos.command())
        self._clients: dict[str, Client] = {}

    def close(self) -> None:
        """Leave."""
        self._node.destroy_node()
        rclpy.try_shutdown()

    def change_state(self, transition: str, timeout: float = 5.0) -> bool | None:
        """Ask the controller for a transition; return its answer, None where it gives none.

        A transition is made once only: where its answer was lost, the state tells it.
        """
        number, goal = TRANSITIONS[transition]
        request = ChangeState.Request(transition=Transition(id=number))
        end = time.monotonic() + timeout
        before = self._state(end)
        while before is not None and time.monotonic() < end:
            answer = self._ask(ChangeState, f'{self._controller}/change_state', request, end)
            # Where it takes long, it may have been made by a request before this one.
            if answer is not None and answer.success:
                return True
            if before != goal and self._state(end) == goal:
                return True
            if answer is not None:
                return False
        return None

    def set_parameter(self, node: str, name: str, value: Any, timeout: float = 5.0
                      ) -> bool | None:
        """Set a parameter; return whether that was accepted, None without an answer."""
        message = ParameterMessage(name=name, value=_parameter_value(value))
        answer = self._call(SetParameters, f'{node}/set_parameters',
                            SetParameters.Request(parameters=[message]),
                            time.monotonic() + timeout)
        return None if answer is None else answer.results[0].successful

    def send_reference(self, message: JointTrajectory) -> None:
        """Send a trajectory to the controller."""
        self._references.publish(message)

    def _state(self, end: float) -> int | None:
        """Return the lifecycle state of the controller, None where it does not tell."""
        answer = self._call(GetState, f'{self._controller}/get_state', GetState.Request(), end)
        return None if answer is None else answer.current_state.id

    def _call(self, kind: type, name: str, request: Any, end: float) -> Any | None:
        """Ask for what may be asked more than once, until it is answered or time is over."""
        while time.monotonic() < end:
            answer = self._ask(kind, name, request, end)
            if answer is not None:
                return answer
        return None

    def _ask(self, kind: type, name: str, request: Any, end: float) -> Any | None:
        """Ask once; return the answer, None where it does not come soon."""
        client = self._clients.get(name)
        if client is None:
            client = self._clients[name] = self._node.create_client(kind, name)
        if not self._spin(client.service_is_ready, end):
            return None
        future = client.call_async(request)
        if self._spin(future.done, min(end, time.monotonic() + _PATIENCE)):
            return future.result()
        client.remove_pending_request(future)
        return None

    def _spin(self, condition: Callable[[], bool], end: float) -> bool:
        while not condition():
            if time.monotonic() > end:
                return False
            rclpy.spin_once(self._node, timeout_sec=0.02)
        return True


def trajectory(names: list[str], points: list[tuple[float, list[float]]], *,
               velocities: list[float] | None = None) -> JointTrajectory:
    """Return a trajectory through points, each at a time in s from when it is sent."""
    return trajectory_message(names, (TrajectoryPoint(seconds, positions, velocities or ())
                                      for seconds, positions in points))


def _parameter_value(value: Any) -> ParameterValue:
    """Return a parameter value of the type that Python gives it."""
    kinds = {bool: ('BOOL', 'bool_value'), int: ('INTEGER', 'integer_value'),
             float: ('DOUBLE', 'double_value'), str: ('STRING', 'string_value'),
             list: ('DOUBLE_ARRAY', 'double_array_value')}
    kind, field = kinds[type(value)]
    return ParameterValue(type=getattr(ParameterType, f'PARAMETER_{kind}'), **{field: value})
