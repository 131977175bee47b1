# SPDX-License-Identifier: Apache-2.0
"""A simulated arm that looks like one behind ros2_control.

It publishes ``joint_states`` as joint_state_broadcaster does and obeys
``effort_controller/commands`` as forward_command_controller does.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.model.modify import with_payload, with_scaled_masses
from robot_dynamics.model.robot import Robot
from robot_dynamics.nodes import description, qos
from robot_dynamics.nodes.base import PlainNode
from robot_dynamics.nodes.convert import (
    JointStateMessage,
    array_of,
    joint_order,
    write_stamp,
)
from robot_dynamics.nodes.diagnostics import CycleStatistics, Diagnostics, Level, Status
from robot_dynamics.nodes.fault_injection import INJECTION_PARAMETERS, FaultInjection
from robot_dynamics.nodes.parameters import Parameter, Values, per_joint
from robot_dynamics.nodes.runtime import freeze_garbage, run
from robot_dynamics.nodes.stopping import StopRequest
from robot_dynamics.simulation.drive import Drive, DriveState, GravityAndDamping
from robot_dynamics.simulation.faulty_plant import FaultyPlant
from robot_dynamics.simulation.sensors import JointSensors, SensorQuality

TABLE = (
    *description.ROBOT_PARAMETERS,
    Parameter('rate', 500.0, 'Rate of joint_states.', 'Hz', 1.0, 2000.0, read_only=True),
    Parameter('timestep', 0.0005, 'Step of the simulation.', 's', 1e-5, 0.01, read_only=True),
    Parameter('joint_order', (), 'Order of the joints in joint_states; empty means that of the '
              'robot.', element=str, read_only=True),
    Parameter('command_joints', (), 'Order of the joints in commands; empty means that of the '
              'robot.', element=str, read_only=True),
    Parameter('initial_position', (), 'Joint positions at the start; empty means zero, or the '
              'nearest that limits allow.', 'rad or m', -1e3, 1e3, read_only=True),
    Parameter('command_topic', 'effort_controller/commands', 'Where efforts are commanded.',
              read_only=True, topic=True),
    Parameter('hold_time', 0.2, 'How long the last command acts when no other comes; then the '
              'arm is caught. Longer than state_timeout of its controller: one that goes on '
              'meanwhile would learn from an arm that does not obey.', 's', 0.001, 0.9,
              read_only=True),
    Parameter('release_time', 0.5, 'How long commands must come steadily before a caught arm '
              'follows them again.', 's', 0.0, 60.0, read_only=True),
    Parameter('payload_mass', 0.0, 'Mass the arm carries and its description does not know of.',
              'kg', 0.0, 1e3, read_only=True),
    Parameter('payload_com', (0.0, 0.0, 0.0), 'Centre of the payload in its frame.', 'm', -10.0,
              10.0, read_only=True),
    Parameter('payload_frame', '', 'Link or frame that carries the payload; empty means the last '
              'link.', read_only=True),
    Parameter('mass_scale', 1.0, 'Masses and inertias of the arm over those of its description.',
              low=0.01, high=100.0, read_only=True),
    Parameter('viscous_friction', (), 'Viscous friction of the joints; empty means as described.',
              'N m s/rad or N s/m', 0.0, 1e5, read_only=True),
    Parameter('coulomb_friction', (), 'Coulomb friction of the joints; empty means as described.',
              'N m or N', 0.0, 1e5, read_only=True),
    Parameter('armature', (), 'Rotor inertia of the joints as they feel it; empty means as '
              'described.', 'kg m^2 or kg', 0.0, 1e4, read_only=True),
    Parameter('effort_gain', (1.0,), 'True effort per effort commanded.', low=0.01, high=100.0,
              read_only=True),
    Parameter('position_resolution', 0.0, 'Step of the encoders.', 'rad or m', 0.0, 1.0,
              read_only=True),
    Parameter('position_noise', 0.0, 'Standard deviation.', 'rad or m', 0.0, 1.0,
              read_only=True),
    Parameter('velocity_noise', 0.0, 'Standard deviation.', 'rad/s or m/s', 0.0, 10.0,
              read_only=True),
    Parameter('effort_noise', 0.0, 'Standard deviation.', 'N m or N', 0.0, 1e3, read_only=True),
    Parameter('delay', 0.0, 'Age of what joint_states say, which their stamp shows.', 's', 0.0,
              1.0, read_only=True),
    Parameter('seed', 0, 'Seed of the noise.', low=0, high=2**31 - 1, read_only=True),
    *INJECTION_PARAMETERS,
    Parameter('publish_description', False, 'Whether to publish robot_description, too, as '
              'robot_state_publisher does.', read_only=True),
)


class SimulatedArmNode(PlainNode):
    """MuJoCo as the hardware."""

    def __init__(self, stopped: StopRequest):
        self._faults: FaultInjection | None = None
        super().__init__('simulated_arm', TABLE, stopped)

    def start(self) -> None:
        """Build the plant and go."""
        values = self.parameters.values
        model = description.load_robot(self, values, self.stopped)
        with self.stopped.interrupting():
            plant = build_plant(model, values)
            catching_effort = GravityAndDamping(Dynamics(plant.robot))
            catching_effort(plant.q, plant.v)  # compiled now, not when it is needed
        self._plant = plant
        self._drive = Drive(plant, catching_effort, hold_time=values['hold_time'],
                            release_time=values['release_time'])
        self._sensors = JointSensors(SensorQuality(
            values['position_resolution'], values['position_noise'], values['velocity_noise'],
            values['effort_noise'], values['delay']), seed=values['seed'])
        names = model.joint_names
        self._state_order = joint_order('joint_order', values['joint_order'], names)
        # Where in a command each joint of the robot stands.
        self._command_order = np.argsort(joint_order('command_joints', values['command_joints'],
                                                     names))
        self._state = JointStateMessage(values['joint_order'] or names, position=True,
                                        velocity=True, effort=True, frame=model.base_name)
        self._cycle = CycleStatistics()
        self._period = 1.0 / values['rate']
        self._latch_description(model, values)
        self._faults = FaultInjection(self, plant, values)
        self._connect(values, model.name)

    def on_parameters(self, values: Values) -> None:
        """Take over what the next fault is."""
        if self._faults is not None:
            self._faults.on_parameters(values)

    def _latch_description(self, model: Robot, values: Values) -> None:
        """Publish the description for those who come later."""
        if values['publish_description']:
            publisher = self.create_publisher(String, description.TOPIC, qos.latched(),
                                              qos_overriding_options=qos.overridable())
            publisher.publish(String(data=values['robot_description'] or model.to_urdf()))

    def _connect(self, values: Values, name: str) -> None:
        """Begin to publish and to obey."""
        simulated_time = self.get_parameter('use_sim_time').value
        self._clock_publisher = self.create_publisher(
            Clock, '/clock', QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)) \
            if simulated_time else None
        self._states = self.create_publisher(JointState, 'joint_states', qos.state(),
                                             qos_overriding_options=qos.overridable())
        Diagnostics(self, name, {'loop': lambda: self._cycle.status(self._period),
                                 'drive': self._status})
        freeze_garbage()
        # Simulated time starts at zero, as Gazebo's does.
        self._origin = 0 if simulated_time else time.time_ns()
        self._started = time.monotonic()
        self._told = -1.0
        self._published = 0
        self.fast.subscribe(Float64MultiArray, values['command_topic'], self._on_command,
                            qos.command_input())
        self.fast.tick(self._period, self._on_tick)

    def _on_command(self, message: Float64MultiArray) -> None:
        """Bring the arm to now under the effort before, then set this one."""
        self._drive.advance(time.monotonic() - self._started)
        tau = array_of(message.data)
        # A command of the wrong length keeps it, for the drive to refuse.
        self._drive.command(tau[self._command_order] if len(tau) == len(self._command_order)
                            else tau)

    def _on_tick(self) -> None:
        """Publish the state as it is now, unless no time has passed since the last."""
        self._cycle.start()
        drive, plant, order = self._drive, self._plant, self._state_order
        drive.advance(time.monotonic() - self._started)
        if drive.time <= self._told:
            return
        self._told = drive.time
        reading = self._sensors.read(drive.time, plant.q, plant.v, drive.effort)
        self._state.position[:] = reading.q[order]
        self._state.velocity[:] = reading.v[order]
        self._state.effort[:] = reading.effort[order]
        self._states.publish(self._state.stamp(self._origin + round(1e9 * reading.stamp)))
        self._published += 1
        if self._clock_publisher is not None:
            clock = Clock()
            write_stamp(clock.clock, round(1e9 * drive.time))
            self._clock_publisher.publish(clock)
        self._cycle.finish()

    def _status(self) -> Status:
        drive = self._drive
        values = {'state': drive.state.value, 'states': self._published,
                  'commands': drive.accepted,
                  'times caught': drive.catches, 'skipped [s]': drive.skipped,
                  **{f'refused: {reason}': count for reason, count in drive.refused.items()}}
        if drive.state is DriveState.CAUGHT:
            return Status(Level.ERROR, 'commands stopped: the arm is caught', values)
        if drive.refused:
            return Status(Level.WARN, 'commands were refused', values)
        return Status(Level.OK, drive.state.value, values)


def build_plant(model: Robot, values: Values) -> FaultyPlant:
    """Return the arm as it really is, which its description need not know.

    Parameters
    ----------
    model : Robot
        The arm as described.
    values : mapping
        Values of `TABLE`.

    Raises
    ------
    RobotDynamicsError
        Where they do not fit the arm.
    """
    names = model.joint_names
    robot = with_scaled_masses(model, values['mass_scale'])
    if values['payload_mass'] > 0.0:
        robot = with_payload(robot, values['payload_mass'], values['payload_com'],
                             frame=values['payload_frame'] or None)
    robot = replace(
        robot, damping=per_joint(values, 'viscous_friction', names, default=robot.damping),
        friction=per_joint(values, 'coulomb_friction', names, default=robot.friction),
        armature=per_joint(values, 'armature', names, default=robot.armature))
    plant = FaultyPlant(robot, timestep=values['timestep'],
                        effort_gain=per_joint(values, 'effort_gain', names))
    if values['initial_position']:
        plant.reset(per_joint(values, 'initial_position', names))
    return plant


def main(args: Sequence[str] | None = None) -> int:
    """Run the node."""
    return run(SimulatedArmNode, args, TABLE)


if __name__ == '__main__':
    sys.exit(main())
