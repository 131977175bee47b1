# SPDX-License-Identifier: Apache-2.0
"""Simulate an arm with the topics of an arm behind ros2_control.

It publishes ``joint_states`` like joint_state_broadcaster and subscribes to
``effort_controller/commands`` like forward_command_controller. With elastic joints, commands are
efforts of the motors, and states of the motors are also published.
"""
from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from rclpy.publisher import Publisher
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import Trigger

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.elastic.friction import StribeckFriction
from robot_dynamics.elastic.robot import ElasticRobot
from robot_dynamics.errors import ParameterError, RobotDynamicsError
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.modify import with_payload, with_scaled_masses
from robot_dynamics.model.robot import Robot
from robot_dynamics.nodes.ros import description, qos
from robot_dynamics.nodes.ros.description import (
    ELASTIC_JOINTS,
    MOTOR_PARAMETERS,
    load_elastic_robot,
    motor_names,
)
from robot_dynamics.nodes.ros.diagnostics import Diagnostics, Level, Status, cycle_status
from robot_dynamics.nodes.ros.messages import JointStateMessage, array_of, joint_order, write_stamp
from robot_dynamics.nodes.ros.node import NodeParts, PlainNode
from robot_dynamics.nodes.ros.parameters import Parameter, Values, per_joint
from robot_dynamics.nodes.ros.runtime import freeze_garbage, run
from robot_dynamics.nodes.ros.stopping import StopRequest
from robot_dynamics.simulation.drive import (
    Drive,
    DriveState,
    GravityAndDamping,
    MotorsGravityAndDamping,
    Pace,
)
from robot_dynamics.simulation.elastic_plant import ElasticPlant
from robot_dynamics.simulation.faults import Fault, FaultKind, FaultyPlant
from robot_dynamics.simulation.plant import Plant
from robot_dynamics.simulation.sensors import JointSensors, SensorQuality

STATES = 'joint_states'

STATE_PARAMETERS = (
    Parameter('joint_order', (), 'Order of the joints in joint_states; empty means that of the '
              'robot.', element=str, read_only=True),
    Parameter('position_resolution', 0.0, 'Step of the encoders.', 'rad or m', 0.0, 1.0,
              read_only=True),
    Parameter('motor_resolution', 0.0, 'Step of the encoders of the motors of elastic joints, '
              'seen from the joints.', 'rad or m', 0.0, 1.0, read_only=True),
    Parameter('position_noise', 0.0, 'Standard deviation of the noise.', 'rad or m', 0.0, 1.0,
              read_only=True),
    Parameter('velocity_noise', 0.0, 'Standard deviation of the noise.', 'rad/s or m/s', 0.0, 10.0,
              read_only=True),
    Parameter('effort_noise', 0.0, 'Standard deviation of the noise.', 'N m or N', 0.0, 1e3,
              read_only=True),
    Parameter('signal_to_noise', 0.0, 'Ratio of the standard deviation of each position and '
              'velocity since the start to that of additional noise; 0 for no such noise.', '',
              0.0, 1e9, read_only=True),
    Parameter('delay', 0.0, 'Age of joint_states, which their stamp shows.', 's', 0.0, 1.0,
              read_only=True),
    Parameter('seed', 0, 'Seed of the noise.', low=0, high=2**31 - 1, read_only=True),
    Parameter('link_effort', 'none', 'Efforts in joint_states where joints are elastic: none, or '
              'spring, as torque sensors behind the gears measure.', choices=('none', 'spring'),
              read_only=True),
)

#: Function that returns true positions, velocities and efforts, each of shape (n,).
Truth = Callable[[], tuple[FloatArray, FloatArray, FloatArray]]


class ArmStates:
    """Measurement and publication of the states of an arm."""

    def __init__(self, node: NodeParts, plant: Plant | ElasticPlant, values: Values, frame: str):
        self._node, self._frame = node, frame
        self._messages: list[tuple[JointStateMessage, Publisher]] = []
        #: Sensors of links or motors, their true values, and the place of their readings in
        #: messages.
        self._sensors: list[tuple[JointSensors, Truth, list[FloatArray]]] = []
        names = plant.robot.joint_names
        self._order = joint_order('joint_order', values['joint_order'], names)
        ordered = tuple(values['joint_order'] or names)
        links = JointSensors(_quality(values, 'position_resolution'), seed=values['seed'])
        if not isinstance(plant, ElasticPlant):
            message = self._message(STATES, ordered, effort=True)
            self._sense(links, lambda: (plant.q, plant.v, plant.effort), message)
            return
        has_springs = values['link_effort'] == 'spring'
        motors = JointSensors(_quality(values, 'motor_resolution'), seed=values['seed'] + 1)
        of_motors = motor_names(values, ordered)
        if node.resolve_topic_name(values['motor_states']) == node.resolve_topic_name(STATES):
            if not values['motor_prefix']:
                raise ParameterError('must not be empty where links and motors share a topic',
                                     subject='parameter motor_prefix', remedy='set it to motor_, '
                                     'for example, or choose another topic motor_states')
            message = of_links = self._message(STATES, ordered + of_motors, effort=True)
        else:
            of_links = self._message(STATES, ordered, effort=has_springs)
            message = self._message(values['motor_states'], of_motors, effort=True)
        unknown = np.full(len(names), np.nan)
        self._sense(links, lambda: (
            plant.q, plant.v, plant.spring_effort if has_springs else unknown), of_links)
        # In a shared message, motors follow the links.
        self._sense(motors, lambda: (plant.motor_q, plant.motor_v, plant.effort), message,
                    first=len(names) if message is of_links else 0)

    def publish(self, time: float, origin: int) -> None:
        """Measure at a time in s since an origin in ns, and publish."""
        for sensors, truth, fields in self._sensors:
            reading = sensors.read(time, *truth())
            for field, values in zip(fields, (reading.q, reading.v, reading.effort), strict=True):
                if len(field):  # efforts may be missing
                    field[:] = values[self._order]
            stamp = reading.stamp
        for message, publisher in self._messages:
            publisher.publish(message.stamp(origin + round(1e9 * stamp)))

    def _message(self, topic: str, names: Sequence[str], *, effort: bool) -> JointStateMessage:
        message = JointStateMessage(names, position=True, velocity=True, effort=effort,
                                    frame=self._frame)
        self._messages.append((message, self._node.advertise(JointState, topic, qos.state())))
        return message

    def _sense(self, sensors: JointSensors, truth: Truth, message: JointStateMessage, *,
               first: int = 0) -> None:
        """Write readings into a message from an index on."""
        places = slice(first, first + len(self._order))
        self._sensors.append((sensors, truth, [field[places] for field in (
            message.position, message.velocity, message.effort)]))


def _quality(values: Values, resolution: str) -> SensorQuality:
    return SensorQuality(values[resolution], values['position_noise'], values['velocity_noise'],
                         values['effort_noise'], values['delay'], values['signal_to_noise'])


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
    Parameter('armature', (), 'True rotor inertia of rigid joints, seen from the joints; empty '
              'means that of rotors.', 'kg m^2 or kg', 0.0, 1e4, read_only=True),
    Parameter('effort_gain', (1.0,), 'True effort per commanded effort.', low=0.01, high=100.0,
              read_only=True),
    Parameter('stribeck.rise', (), 'Friction of the motors of elastic joints that is missing at '
              'standstill, f3 of docs/elastic.md; empty means none.', 'N m or N', 0.0, 1e5,
              read_only=True),
    Parameter('stribeck.rise_speed', (0.1,), 'Speed at which stribeck.rise is reached, f4.',
              'rad/s or m/s', 1e-6, 1e3, read_only=True),
    Parameter('stribeck.drop', (), 'Friction of the motors that is lost at speed, f5; empty means '
              'none.', 'N m or N', 0.0, 1e5, read_only=True),
    Parameter('stribeck.drop_rate', (1.0,), 'Inverse of the speed of stribeck.drop, f6.',
              's/rad or s/m', 1e-6, 1e6, read_only=True),
)


def build_plant(model: Robot, values: Values) -> FaultyPlant:
    """Make an arm with rigid joints from its description and the parameters."""
    for name in ('stribeck.rise', 'stribeck.drop'):
        if values[name]:
            raise ParameterError('is for motors of elastic joints only',
                                 subject=f'parameter {name}',
                                 remedy='set elastic_joints, too, or leave it out')
    names = model.joint_names
    robot = description.geared(_laden(model, values), values)
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
        *(per_joint(values, f'stribeck.{name}', names, default=0.0)
          for name in ('rise', 'rise_speed', 'drop', 'drop_rate')))
    plant = ElasticPlant(replace(model, links=_laden(model.links, values)),
                         timestep=values['timestep'], friction=friction,
                         effort_gain=per_joint(values, 'effort_gain', names))
    # A step at rest has no effect, except that a singular mass matrix is rejected now.
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
    Parameter('fault.size', 1000.0, 'Size of the fault: 1/s for a block, N m or N for a bias, '
              'else a share.', '', -1e6, 1e6),
    Parameter('fault.duration', 0.0, 'Duration of the fault; 0 for no end.', 's', 0.0, 1e6),
    Parameter('fault.time', 0.0, 'Time of the fault after the first command; 0 for a fault only '
              'by the service inject_fault.', 's', 0.0, 1e6, read_only=True),
    Parameter('push.force', (), 'Force on the arm in base axes, with or without a fault; empty '
              'means none.', 'N', -1e4, 1e4),
    Parameter('push.frame', '', 'Link or frame at the origin of which the push acts; empty means '
              'the last one of the description that moves.'),
)


TABLE = (
    *description.ROBOT_PARAMETERS,
    Parameter('elastic_joints', '', ELASTIC_JOINTS + '; empty means rigid joints.',
              read_only=True),
    *MOTOR_PARAMETERS,
    Parameter('rate', 500.0, 'Rate of joint_states.', 'Hz', 1.0, 2000.0, read_only=True),
    Parameter('timestep', 0.0005, 'Step of the simulation.', 's', 1e-5, 0.01, read_only=True),
    Parameter('command_joints', (), 'Order of the joints in commands; empty means that of the '
              'robot.', element=str, read_only=True),
    Parameter('command_topic', 'effort_controller/commands', 'Topic of the commands.',
              read_only=True, topic=True),
    Parameter('hold_time', 0.2, 'Time for which the last command acts without a new one; after '
              'it the arm is held and damped. It must exceed state_timeout of the controller, '
              'which would otherwise estimate from an arm that does not follow.', 's', 0.001, 0.9,
              read_only=True),
    Parameter('release_time', 0.5, 'Time for which commands must arrive without a gap before an '
              'arm that is held follows them again.', 's', 0.0, 60.0, read_only=True),
    Parameter('wait_for_commands', 0.0, 'Longest time for which simulated time stops until a '
              'state is answered by a command: on a busy machine the simulation becomes slow and '
              'the commands are not late. 0 for a real arm, which does not wait. Needs '
              'use_sim_time; less than state_timeout of the controller, which counts the time of '
              'the machine.', 's', 0.0, 10.0, read_only=True),
    *PLANT_PARAMETERS,
    *STATE_PARAMETERS,
    *INJECTION_PARAMETERS,
    Parameter('publish_description', False, 'Whether to publish robot_description, too, as '
              'robot_state_publisher does.', read_only=True),
)


class SimulatedArmNode(PlainNode):
    """Node with MuJoCo as the hardware, or an integrator of this package for elastic joints."""

    def __init__(self, stopped: StopRequest):
        super().__init__('simulated_arm', TABLE, stopped)

    def start(self) -> None:
        """Build and start the plant."""
        values = self.parameters.values
        described = description.load_described(self, values, self.stopped)
        model = described.robot
        if values['wait_for_commands'] and not self.get_parameter('use_sim_time').value:
            raise ParameterError('needs use_sim_time', subject='parameter wait_for_commands',
                                 remedy='set use_sim_time on every node, or 0.0 here')
        with self.stopped.interrupting():
            plant: FaultyPlant | ElasticPlant
            catching_effort: GravityAndDamping | MotorsGravityAndDamping
            if values['elastic_joints']:
                plant = build_elastic_plant(load_elastic_robot(described, values), values)
                catching_effort = MotorsGravityAndDamping(plant)
            else:
                plant = build_plant(model, values)
                catching_effort = GravityAndDamping(Dynamics(plant.robot))
            catching_effort(plant.q, plant.v)  # compiled now, not when it is needed
        self._drive = Drive(plant, catching_effort, hold_time=values['hold_time'],
                            release_time=values['release_time'])
        # Position of each joint of the robot in a command.
        self._command_order = np.argsort(joint_order('command_joints', values['command_joints'],
                                                     model.joint_names))
        self._states = ArmStates(self, plant, values, model.base_name)
        self._period = 1.0 / values['rate']
        self._pace = Pace(self._period, values['wait_for_commands'])
        if values['publish_description']:
            self.advertise(String, description.TOPIC, qos.latched()).publish(
                String(data=values['robot_description'] or model.to_urdf()))
        self._plant = plant
        if values['fault.time'] > 0.0:
            self._inject(values['fault.time'])
        self.create_service(Trigger, '~/inject_fault', self._on_inject)
        self.create_service(Trigger, '~/clear_faults', self._on_clear)
        self._connect(values, model.name)

    def _connect(self, values: Values, name: str) -> None:
        """Begin to publish states and to process commands."""
        simulated_time = self.get_parameter('use_sim_time').value
        self._clock_publisher = self.create_publisher(
            Clock, '/clock', QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)) \
            if simulated_time else None
        # With wait_for_commands, cycles are never late.
        period = None if values['wait_for_commands'] else self._period
        Diagnostics(self, name, {'loop': lambda: cycle_status(self.fast.cycle, period),
                                 'drive': self._status})
        freeze_garbage()
        # Simulated time starts at zero, as Gazebo's does.
        self._origin = 0 if simulated_time else time.time_ns()
        self._started = time.monotonic()
        self._published_time = -1.0
        self._published = 0
        self.fast.subscribe(Float64MultiArray, values['command_topic'], self._on_command,
                            qos.command_input())
        self.fast.tick(self._period, self._on_tick)

    def _on_command(self, message: Float64MultiArray) -> None:
        """Advance the arm to the present with the previous effort, then set the new one."""
        self._drive.advance(self._pace.now(time.monotonic() - self._started))
        self._pace.answer()
        tau = array_of(message.data)
        # A command of the wrong length is passed on; the drive rejects it.
        self._drive.command(tau[self._command_order] if len(tau) == len(self._command_order)
                            else tau)

    def _on_tick(self) -> None:
        """Publish the state, unless no time has passed or the last one waits for its command."""
        self.fast.cycle.start()
        drive = self._drive
        wall = time.monotonic() - self._started
        drive.advance(self._pace.tick(wall))
        if drive.time <= self._published_time or self._pace.is_waiting:
            return
        self._published_time = drive.time
        self._pace.tell(wall)
        self._states.publish(drive.time, self._origin)
        self._published += 1
        if self._clock_publisher is not None:
            clock = Clock()
            write_stamp(clock.clock, round(1e9 * drive.time))
            self._clock_publisher.publish(clock)
        self.fast.cycle.finish()

    def _inject(self, begin: float) -> str:
        """Add the fault of the parameters, a push or both to the plant; return a text."""
        values = self.parameters.values
        joint, force = values['fault.joint'], values['push.force']
        if not joint and not force:
            raise ParameterError('must name a joint or a force',
                                 subject='parameters fault.joint and push.force',
                                 remedy='set one of them')
        end = begin + values['fault.duration'] if values['fault.duration'] > 0.0 else math.inf
        done = []
        if joint:
            kind = FaultKind(values['fault.kind'])
            self._plant.add_fault(Fault(joint, kind, values['fault.size'], begin, end))
            done.append(f'{kind.value} of {joint}')
        if force:
            frame = values['push.frame'] or self._plant.robot.last_frame
            self._plant.add_push(frame, force, begin, end)
            done.append(f'push of {list(force)} N at {frame}')
        return ' and '.join(done) + f' at {begin:.3f} s'

    def _on_inject(self, request: Trigger.Request, response: Trigger.Response
                   ) -> Trigger.Response:
        """Inject the fault now."""
        try:
            response.message = self._inject(self._plant.time)
            response.success = True
            self.get_logger().warning(response.message)
        except RobotDynamicsError as error:
            response.success, response.message = False, str(error)
        return response

    def _on_clear(self, request: Trigger.Request, response: Trigger.Response
                  ) -> Trigger.Response:
        """Remove all faults."""
        self._plant.clear_faults()
        response.success, response.message = True, 'no faults'
        return response

    def _status(self) -> Status:
        drive = self._drive
        values = {'state': drive.state.value, 'states': self._published,
                  'commands': drive.accepted,
                  'times caught': drive.catches, 'skipped [s]': drive.skipped,
                  'waited for commands [s]': self._pace.waited,
                  **{f'refused: {reason}': count for reason, count in drive.refused.items()}}
        if drive.state is DriveState.CAUGHT:
            return Status(Level.ERROR, 'commands stopped: the arm is caught', values)
        if drive.refused:
            return Status(Level.WARN, 'commands were rejected', values)
        return Status(Level.OK, drive.state.value, values)


main = partial(run, SimulatedArmNode, table=TABLE, is_real_time=True)

if __name__ == '__main__':
    sys.exit(main())
