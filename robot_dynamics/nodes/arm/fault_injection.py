# SPDX-License-Identifier: Apache-2.0
"""``FaultInjection``: breaks actuators of the simulated arm, and pushes it, when asked to."""

from __future__ import annotations

import math

from rclpy.node import Node
from std_srvs.srv import Trigger

from robot_dynamics.errors import ParameterError, RobotDynamicsError
from robot_dynamics.nodes.ros.parameters import Parameter, Values
from robot_dynamics.simulation.elastic_plant import ElasticPlant
from robot_dynamics.simulation.faults import Fault, FaultKind
from robot_dynamics.simulation.faulty_plant import FaultyPlant

INJECTION_PARAMETERS = (
    Parameter('fault.kind', FaultKind.BLOCK.value, 'What goes wrong with an actuator: block (the '
              'joint slows down at rate size), free_swinging, saturated (stuck at size times '
              'its largest effort), loss (delivers size less, as a share), bias (size is added).',
              choices=tuple(kind.value for kind in FaultKind)),
    Parameter('fault.joint', '', 'Joint of the actuator; empty means none.'),
    Parameter('fault.size', 1000.0, 'How much: 1/s for a block, N m or N for a bias, else a '
              'share.', '', -1e6, 1e6),
    Parameter('fault.duration', 0.0, 'How long it lasts; 0 for good.', 's', 0.0, 1e6),
    Parameter('fault.time', 0.0, 'When it happens, counted from the first command; 0 for only '
              'when the service inject_fault is called.', 's', 0.0, 1e6, read_only=True),
    Parameter('push.force', (), 'Force on the arm in base axes, with the fault or without; empty '
              'means none.', 'N', -1e4, 1e4),
    Parameter('push.frame', '', 'Link or frame at whose origin it acts; empty means the last '
              'frame.'),
)


class FaultInjection:
    """Puts into the plant what the parameters describe, at a time or when asked.

    Parameters
    ----------
    node : Node
        The node of the simulated arm.
    plant : FaultyPlant or ElasticPlant
        The arm; one with elastic joints refuses all of it.
    values : mapping
        Values of `INJECTION_PARAMETERS`.

    Raises
    ------
    RobotDynamicsError
        Where a fault by time does not fit the arm.
    """

    def __init__(self, node: Node, plant: FaultyPlant | ElasticPlant, values: Values):
        self._node, self._plant, self._values = node, plant, values
        if values['fault.time'] > 0.0:
            self._inject(values['fault.time'])
        node.create_service(Trigger, '~/inject_fault', self._on_inject)
        node.create_service(Trigger, '~/clear_faults', self._on_clear)

    def on_parameters(self, values: Values) -> None:
        """Take over changed parameters, for the next fault."""
        self._values = values

    def _inject(self, begin: float) -> str:
        """Put a fault, a push or both into the plant; return what was done."""
        values = self._values
        joint, force = values['fault.joint'], values['push.force']
        if not joint and not force:
            raise ParameterError('name neither a joint nor a force',
                                 subject='parameters fault.joint and push.force',
                                 remedy='set one of them')
        end = begin + values['fault.duration'] if values['fault.duration'] > 0.0 else math.inf
        done = []
        if joint:
            kind = FaultKind.named(values['fault.kind'])
            self._plant.add_fault(Fault(joint, kind, values['fault.size'], begin, end))
            done.append(f'{kind.value} of {joint}')
        if force:
            frame = values['push.frame'] or list(self._plant.robot.frames)[-1]
            self._plant.add_push(frame, force, begin, end)
            done.append(f'push of {list(force)} N at {frame}')
        return ' and '.join(done) + f' at {begin:.3f} s'

    def _on_inject(self, request: Trigger.Request, response: Trigger.Response
                   ) -> Trigger.Response:
        """Let it happen now."""
        try:
            response.message = self._inject(self._plant.time)
            response.success = True
            self._node.get_logger().warning(response.message)
        except RobotDynamicsError as error:
            response.success, response.message = False, str(error)
        return response

    def _on_clear(self, request: Trigger.Request, response: Trigger.Response
                  ) -> Trigger.Response:
        """Let everything be sound again."""
        self._plant.clear_faults()
        response.success, response.message = True, 'everything is sound'
        return response
