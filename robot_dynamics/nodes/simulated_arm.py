# SPDX-License-Identifier: Apache-2.0
"""A simulated arm that looks like one behind ros2_control.

It publishes ``joint_states`` as joint_state_broadcaster does and obeys
``effort_controller/commands`` as forward_command_controller does. Where its joints are
elastic, commands are efforts of the motors, whose states it publishes, too.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

import numpy as np
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rosgraph_msgs.msg import Clock
from std_msgs.msg import Float64MultiArray, String

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import ParameterError
from robot_dynamics.model.robot import Robot
from robot_dynamics.nodes.arm.fault_injection import INJECTION_PARAMETERS, FaultInjection
from robot_dynamics.nodes.arm.plants import (
    PLANT_PARAMETERS,
    build_elastic_plant,
    build_plant,
)
from robot_dynamics.nodes.arm.states import STATE_PARAMETERS, ArmStates
from robot_dynamics.nodes.ros import description, qos
from robot_dynamics.nodes.ros.diagnostics import CycleStatistics, Diagnostics, Level, Status
from robot_dynamics.nodes.ros.elastic_parameters import (
    MOTOR_PARAMETERS,
    elastic_joints_parameter,
    load_elastic_robot,
)
from robot_dynamics.nodes.ros.messages import array_of, joint_order, write_stamp
from robot_dynamics.nodes.ros.node import PlainNode
from robot_dynamics.nodes.ros.parameters import Parameter, Values
from robot_dynamics.nodes.ros.runtime import freeze_garbage, run
from robot_dynamics.nodes.ros.stopping import StopRequest
from robot_dynamics.simulation.drive import Drive, DriveState, GravityAndDamping
from robot_dynamics.simulation.elastic_drive import MotorsGravityAndDamping
from robot_dynamics.simulation.pace import Pace

TABLE = (
    *description.ROBOT_PARAMETERS,
    elastic_joints_parameter(''),
    *MOTOR_PARAMETERS,
    Parameter('rate', 500.0, 'Rate of joint_states.', 'Hz', 1.0, 2000.0, read_only=True),
    Parameter('timestep', 0.0005, 'Step of the simulation.', 's', 1e-5, 0.01, read_only=True),
    Parameter('command_joints', (), 'Order of the joints in commands; empty means that of the '
              'robot.', element=str, read_only=True),
    Parameter('command_topic', 'effort_controller/commands', 'Where efforts are commanded.',
              read_only=True, topic=True),
    Parameter('hold_time', 0.2, 'How long the last command acts when no other comes; then the '
              'arm is caught. Longer than state_timeout of its controller: one that goes on '
              'meanwhile would learn from an arm that does not obey.', 's', 0.001, 0.9,
              read_only=True),
    Parameter('release_time', 0.5, 'How long commands must come steadily before a caught arm '
              'follows them again.', 's', 0.0, 60.0, read_only=True),
    Parameter('wait_for_commands', 0.0, 'How long the arm stands still, and its time with it, '
              'for the command that answers a state: on a busy machine it is slow then, and its '
              'controller not late. 0 for a real arm, which waits for nobody. Needs '
              'use_sim_time; less than state_timeout of its controller, which counts the time of '
              'the machine.', 's', 0.0, 2.0, read_only=True),
    *PLANT_PARAMETERS,
    *STATE_PARAMETERS,
    *INJECTION_PARAMETERS,
    Parameter('publish_description', False, 'Whether to publish robot_description, too, as '
              'robot_state_publisher does.', read_only=True),
)


class SimulatedArmNode(PlainNode):
    """MuJoCo as the hardware; an integrator of our own where joints are elastic."""

    def __init__(self, stopped: StopRequest):
        self._faults: FaultInjection | None = None
        super().__init__('simulated_arm', TABLE, stopped)

    def start(self) -> None:
        """Build the plant and go."""
        values = self.parameters.values
        described = description.load_described(self, values, self.stopped)
        model = described.robot
        if values['wait_for_commands'] and not self.get_parameter('use_sim_time').value:
            raise ParameterError('stops a clock that is not its own',
                                 subject='parameter wait_for_commands',
                                 remedy='set use_sim_time on every node, or 0.0 here')
        with self.stopped.interrupting():
            if values['elastic_joints']:
                plant = build_elastic_plant(load_elastic_robot(described, values), values)
                catching_effort = MotorsGravityAndDamping(plant)
            else:
                plant = build_plant(model, values)
                catching_effort = GravityAndDamping(Dynamics(plant.robot))
            catching_effort(plant.q, plant.v)  # compiled now, not when it is needed
        self._drive = Drive(plant, catching_effort, hold_time=values['hold_time'],
                            release_time=values['release_time'])
        # Where in a command each joint of the robot stands.
        self._command_order = np.argsort(joint_order('command_joints', values['command_joints'],
                                                     model.joint_names))
        self._states = ArmStates(self, plant, values, model.base_name)
        self._cycle = CycleStatistics()
        self._period = 1.0 / values['rate']
        self._pace = Pace(self._period, values['wait_for_commands'])
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
        # Who waits is not late.
        period = None if values['wait_for_commands'] else self._period
        Diagnostics(self, name, {'loop': lambda: self._cycle.status(period),
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
        self._drive.advance(self._pace.now(time.monotonic() - self._started))
        self._pace.answer()
        tau = array_of(message.data)
        # A command of the wrong length keeps it, for the drive to refuse.
        self._drive.command(tau[self._command_order] if len(tau) == len(self._command_order)
                            else tau)

    def _on_tick(self) -> None:
        """Publish the state as it is now, unless no time has passed, or the last one waits."""
        self._cycle.start()
        drive = self._drive
        wall = time.monotonic() - self._started
        drive.advance(self._pace.tick(wall))
        if drive.time <= self._told or self._pace.is_waiting:
            return
        self._told = drive.time
        self._pace.tell(wall)
        self._states.publish(drive.time, self._origin)
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
                  'waited for commands [s]': self._pace.waited,
                  **{f'refused: {reason}': count for reason, count in drive.refused.items()}}
        if drive.state is DriveState.CAUGHT:
            return Status(Level.ERROR, 'commands stopped: the arm is caught', values)
        if drive.refused:
            return Status(Level.WARN, 'commands were refused', values)
        return Status(Level.OK, drive.state.value, values)


def main(args: Sequence[str] | None = None) -> int:
    """Run the node."""
    return run(SimulatedArmNode, args, TABLE)


if __name__ == '__main__':
    sys.exit(main())
