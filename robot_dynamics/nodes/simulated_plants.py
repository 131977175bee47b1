# SPDX-License-Identifier: Apache-2.0
"""Plants of the simulated arm, rigid or with elastic joints, and faults of their actuators."""
from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from rclpy.node import Node
from std_srvs.srv import Trigger

from robot_dynamics.elastic.friction import StribeckFriction
from robot_dynamics.elastic.robot import ElasticRobot
from robot_dynamics.errors import ParameterError, RobotDynamicsError
from robot_dynamics.model.modify import with_payload, with_scaled_masses
from robot_dynamics.model.robot import Robot
from robot_dynamics.nodes.ros.parameters import Parameter, Values, per_joint
from robot_dynamics.simulation.elastic_plant import ElasticPlant
from robot_dynamics.simulation.faults import Fault, FaultKind, FaultyPlant

#: Differences of a plant from its description.
PLANT_PARAMETERS = (
    Parameter('initial_position', (), 'Joint positions at the start; empty means zero, or the '
              'nearest position within limits.', 'rad or m', -1e3, 1e3, read_only=True),
    Parameter('payload_mass', 0.0, 'Mass of a payload that is not in the description.', 'kg', 0.0,
              1e3, read_only=True),
    Parameter('payload_com', (0.0, 0.0, 0.0), 'Centre of the payload in its frame.', 'm', -10.0,
              10.0, read_only=True),
    Parameter('payload_frame', '', 'Link or frame that carries the payload; empty means the last '
              'link.', read_only=True),
    Parameter('mass_scale', 1.0, 'Ratio of masses and inertias of the arm to those of its '
              'description.', low=0.01, high=100.0, read_only=True),
    Parameter('viscous_friction', (), 'Viscous friction of the joints, or of the motors of '
              'elastic joints; empty means as described.', 'N m s/rad or N s/m', 0.0, 1e5,
              read_only=True),
    Parameter('coulomb_friction', (), 'Coulomb friction of the joints, or of the motors of '
              'elastic joints; empty means as described.', 'N m or N', 0.0, 1e5, read_only=True),
    Parameter('armature', (), 'Rotor inertia of rigid joints, seen from the joints; empty means '
              'as described.', 'kg m^2 or kg', 0.0, 1e4, read_only=True),
    Parameter('effort_gain', (1.0,), 'True effort per commanded effort.', low=0.01, high=100.0,
              read_only=True),
    Parameter('stribeck.rise', (), 'Friction of the motors of elastic joints that is missing at '
              'standstill, f3 of docs/elastic.md; empty means none.', 'N m or N', 0.0, 1e5,
              read_only=True),
    Parameter('stribeck.rise_speed', (0.1,), 'Speed at which that friction is reached, f4.',
              'rad/s or m/s', 1e-6, 1e3, read_only=True),
    Parameter('stribeck.drop', (), 'Friction of the motors that is lost at speed, f5; empty means '
              'none.', 'N m or N', 0.0, 1e5, read_only=True),
    Parameter('stribeck.drop_rate', (1.0,), 'Inverse of the speed at which it vanishes, f6.',
              's/rad or s/m', 1e-6, 1e6, read_only=True),
)

_STRIBECK = ('rise', 'rise_speed', 'drop', 'drop_rate')


def build_plant(model: Robot, values: Values) -> FaultyPlant:
    """Make an arm with rigid joints from its description and the parameters."""
    for name in ('stribeck.rise', 'stribeck.drop'):
        if values[name]:
            raise ParameterError('is for motors of elastic joints only',
                                 subject=f'parameter {name}',
                                 remedy='set elastic_joints, too, or leave it out')
    names = model.joint_names
    robot = _laden(model, values)
    robot = replace(
        robot, damping=per_joint(values, 'viscous_friction', names, default=robot.damping),
        friction=per_joint(values, 'coulomb_friction', names, default=robot.friction),
        armature=per_joint(values, 'armature', names, default=robot.armature))
    plant = FaultyPlant(robot, timestep=values['timestep'],
                        effort_gain=per_joint(values, 'effort_gain', names))
    if values['initial_position']:
        plant.reset(per_joint(values, 'initial_position', names))
    return plant


def build_elastic_plant(model: ElasticRobot, values: Values) -> ElasticPlant:
    """Make an arm with elastic joints; as `build_plant`."""
    if values['armature']:
        raise ParameterError('is for rigid joints only', subject='parameter armature',
                             remedy='give rotor_inertia in the file of the elastic joints')
    names, joints = model.links.joint_names, model.joints
    friction = StribeckFriction(
        per_joint(values, 'viscous_friction', names, default=joints.viscous),
        per_joint(values, 'coulomb_friction', names, default=joints.coulomb),
        *(per_joint(values, f'stribeck.{name}', names, default=0.0) for name in _STRIBECK))
    plant = ElasticPlant(replace(model, links=_laden(model.links, values)),
                         timestep=values['timestep'], friction=friction,
                         effort_gain=per_joint(values, 'effort_gain', names))
    # A singular mass matrix is rejected now; at rest a step has no other effect.
    plant.advance(steps=1)
    limits = model.links.limits
    start = np.clip(0.0, limits.lower, limits.upper)
    plant.reset(per_joint(values, 'initial_position', names, default=start))
    return plant


def _laden(model: Robot, values: Values) -> Robot:
    """Links with scaled masses and payload."""
    robot = with_scaled_masses(model, values['mass_scale'])
    if values['payload_mass'] > 0.0:
        robot = with_payload(robot, values['payload_mass'], values['payload_com'],
                             frame=values['payload_frame'] or None)
    return robot


INJECTION_PARAMETERS = (
    Parameter('fault.kind', FaultKind.BLOCK.value, 'Fault of an actuator: block (the joint slows '
              'down at rate size), free_swinging, saturated (stuck at size times its largest '
              'effort), loss (delivers size less, as a share), bias (size is added).',
              choices=tuple(kind.value for kind in FaultKind)),
    Parameter('fault.joint', '', 'Joint of the actuator; empty means none.'),
    Parameter('fault.size', 1000.0, 'Size: 1/s for a block, N m or N for a bias, else a share.',
              '', -1e6, 1e6),
    Parameter('fault.duration', 0.0, 'Its duration; 0 for ever.', 's', 0.0, 1e6),
    Parameter('fault.time', 0.0, 'Its time, counted from the first command; 0 for only when the '
              'service inject_fault is called.', 's', 0.0, 1e6, read_only=True),
    Parameter('push.force', (), 'Force on the arm in base axes, with the fault or without; empty '
              'means none.', 'N', -1e4, 1e4),
    Parameter('push.frame', '', 'Link or frame at whose origin it acts; empty means the last '
              'frame.'),
)


class FaultInjection:
    """Faults and pushes that the parameters describe, at a time or by a service.

    Raises a RobotDynamicsError where a fault by time does not fit the arm.
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
        """Add a fault, a push or both to the plant; return a text."""
        values = self._values
        joint, force = values['fault.joint'], values['push.force']
        if not joint and not force:
            raise ParameterError('must name a joint or a force',
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
        """Inject the fault now."""
        try:
            response.message = self._inject(self._plant.time)
            response.success = True
            self._node.get_logger().warning(response.message)
        except RobotDynamicsError as error:
            response.success, response.message = False, str(error)
        return response

    def _on_clear(self, request: Trigger.Request, response: Trigger.Response
                  ) -> Trigger.Response:
        """Remove all faults."""
        self._plant.clear_faults()
        response.success, response.message = True, 'no faults'
        return response
