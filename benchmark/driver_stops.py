# SPDX-License-Identifier: Apache-2.0
"""Motion of an arm behind an effort controller when its controller ends: ``--help``.

A stand-in for ros2_control forwards the last command at 250 Hz forever, as
forward_command_controller does, while it is active. The simulated arm carries 2 kg that the model
does not have, and brakes some time after commands have ended. Needs controller_manager_msgs.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np
import rclpy
from controller_manager_msgs.msg import ControllerState
from controller_manager_msgs.srv import ListControllers, SwitchController
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String

from robot_dynamics.bringup.processes import child_environment
from robot_dynamics.nodes.ros import qos

RATE, WATCHED = 250.0, 1.0
NAMES = [f'joint{k}' for k in range(1, 8)]
CONTROLLER = 'pd_gravity_controller'
#: Title, signal to the controller or None for its deactivation, guard, and whether the controller
#: deactivates the effort controller.
CASES = (
    ('Ctrl-C', signal.SIGINT, True, True),
    ('`ros2 lifecycle set deactivate`', None, True, True),
    ('kill -9', signal.SIGKILL, True, True),
    ('hangs (SIGSTOP)', signal.SIGSTOP, True, True),
    ('Ctrl-C, without guard', signal.SIGINT, False, True),
    ('kill -9, without guard', signal.SIGKILL, False, True),
    ('Ctrl-C, without guard, `deactivate_effort_controller: false`', signal.SIGINT, False, False),
)


def forward() -> None:
    """Run the stand-in for ros2_control."""
    rclpy.init()
    manager, controller = Node('controller_manager'), Node('effort_controller')
    controller.declare_parameter('joints', NAMES)
    state, last = 'active', None
    output = controller.create_publisher(Float64MultiArray, '/drive/commands', qos.command())

    def on_command(message: Float64MultiArray) -> None:
        nonlocal last
        last = message

    def on_list(request: ListControllers.Request, response: ListControllers.Response
                ) -> ListControllers.Response:
        response.controller = [ControllerState(
            name='effort_controller', state=state,
            type='forward_command_controller/ForwardCommandController',
            claimed_interfaces=[f'{name}/effort' for name in NAMES])]
        return response

    def on_switch(request: SwitchController.Request, response: SwitchController.Response
                  ) -> SwitchController.Response:
        nonlocal state, last
        if 'effort_controller' in request.deactivate_controllers:
            state, last = 'inactive', None
        response.ok = True
        return response

    def on_tick() -> None:
        if state == 'active' and last is not None:
            output.publish(last)

    controller.create_subscription(Float64MultiArray, '~/commands', on_command, qos.command())
    manager.create_service(ListControllers, '~/list_controllers', on_list)
    manager.create_service(SwitchController, '~/switch_controller', on_switch)
    manager.create_timer(1.0 / RATE, on_tick)
    executor = SingleThreadedExecutor()
    executor.add_node(manager)
    executor.add_node(controller)
    executor.spin()


class Bench:
    """The processes of one case, and what joint states show."""

    def __init__(self, guard: bool, deactivates: bool, silence: float,
                 brakes: float):
        self.environment = child_environment()
        os.environ.update(self.environment)
        rclpy.init()
        self.node = Node('observer')
        self.executor = SingleThreadedExecutor()
        self.executor.add_node(self.node)
        self.states: list[tuple[float, np.ndarray, np.ndarray]] = []
        self.mode = ''
        self.node.create_subscription(
            JointState, 'joint_states', self._on_state,
            QoSProfile(depth=1000, reliability=ReliabilityPolicy.BEST_EFFORT))
        self.node.create_subscription(String, f'{CONTROLLER}/mode', self._on_mode, qos.latched())
        common = ['robot:=arm7', 'spin:=waitset']
        self.running = [self._start([__file__, '--forward'])]
        self._node('simulated_arm', *common, f'rate:={RATE}', 'command_topic:=drive/commands',
                   f'hold_time:={brakes}', 'release_time:=0.1', 'payload_mass:=2.0')
        self.controller = self._node(
            CONTROLLER, *common, f'rate:={RATE}', 'effort_kind:=none', 'resume_after:=100',
            f'deactivate_effort_controller:={str(deactivates).lower()}')
        if guard:
            self._node('command_guard', 'spin:=waitset', f'silence:={silence}')
        self._node('reference', 'robot:=arm7')

    def _start(self, arguments: list[str]) -> subprocess.Popen[bytes]:
        return subprocess.Popen([sys.executable, *arguments], env=self.environment,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def _node(self, name: str, *parameters: str) -> subprocess.Popen[bytes]:
        options = [word for value in parameters for word in ('-p', value)]
        self.running.append(self._start(['-m', f'robot_dynamics.nodes.{name}', '--ros-args',
                                         *options]))
        return self.running[-1]

    def _on_state(self, message: JointState) -> None:
        self.states.append((time.monotonic(), np.array(message.position),
                            np.array(message.velocity)))

    def _on_mode(self, message: String) -> None:
        self.mode = message.data

    def wait(self, seconds: float, until: Callable[[], bool] = lambda: False) -> bool:
        """Receive for some seconds, or until something is so."""
        end = time.monotonic() + seconds
        while not until():
            if time.monotonic() > end:
                return False
            self.executor.spin_once(timeout_sec=0.02)
        return True

    def motion(self, number: signal.Signals | None) -> tuple[float, float, float]:
        """Speed at the end of the controller, largest distance from there, and peak speed."""
        if not self.wait(120.0, lambda: self.mode == 'tracking'):
            raise SystemExit(f'{CONTROLLER} does not track: {self.mode}')
        # The reference begins, and moves.
        self.wait(6.0)
        if not self.wait(60.0, lambda: self.mode == 'tracking' and bool(
                np.abs(self.states[-1][2]).max() > 0.5)):
            raise SystemExit(f'{CONTROLLER} does not move: {self.mode}')
        begin = time.monotonic()
        if number is None:
            self._start(['-c', DEACTIVATE])
            self.wait(10.0, lambda: self.mode == 'stopped')
            # The controller publishes this mode last.
            begin = time.monotonic() - 0.05
        else:
            self.controller.send_signal(number)
        self.wait(WATCHED)
        first = next(k for k, (at, _, _) in enumerate(self.states) if at >= begin)
        _, position, velocity = self.states[first]
        after = self.states[first:]
        return (float(np.abs(velocity).max()),
                max(float(np.abs(each[1] - position).max()) for each in after),
                max(float(np.abs(each[2]).max()) for each in after))

    def close(self) -> None:
        """End every process."""
        for process in reversed(self.running):
            process.kill()
            process.wait()
        self.executor.shutdown()
        self.node.destroy_node()
        rclpy.try_shutdown()


DEACTIVATE = f"""
import rclpy
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
rclpy.init()
node = rclpy.create_node('operator')
client = node.create_client(ChangeState, '{CONTROLLER}/change_state')
client.wait_for_service(10.0)
rclpy.spin_once(node, timeout_sec=0.3)
future = client.call_async(ChangeState.Request(
    transition=Transition(id=Transition.TRANSITION_DEACTIVATE)))
rclpy.spin_until_future_complete(node, future, timeout_sec=10.0)
"""


def main() -> None:
    """Measure and print the table."""
    if sys.argv[1:] == ['--forward']:
        forward()
        return
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n', maxsplit=1)[0])
    parser.add_argument('--only', type=int, nargs='+', help='numbers of the cases, from 0')
    parser.add_argument('--silence', type=float, default=0.03, help='of the guard, s: longer on a '
                        'machine with other load (default 0.03)')
    parser.add_argument('--brakes', type=float, default=0.02, help='time from the last command to '
                        'the brakes, s: longer on a machine with other load (default 0.02)')
    options = parser.parse_args()
    lines = ['| end of the controller | fastest joint then, rad/s | motion within 1 s, rad | peak '
             'speed, rad/s |', '|---|---:|---:|---:|']
    for number, (title, sent, guard, deactivates) in enumerate(CASES):
        if options.only and number not in options.only:
            continue
        bench = Bench(guard, deactivates, options.silence, options.brakes)
        try:
            speed, distance, peak = bench.motion(sent)
        finally:
            bench.close()
        lines.append(f'| {title} | {speed:.2f} | {distance:.3f} | {peak:.2f} |')
        print(lines[-1], flush=True)
    print('\n'.join(lines))


if __name__ == '__main__':
    main()
