# SPDX-License-Identifier: Apache-2.0
"""An arm in Gazebo as actions of ROS 2's ``launch``.

Who needs whom is an order of starting: Gazebo and its clock, the arm, what broadcasts
its joint states, an effort controller that is configured but not active, and our
controller. Only when that sends is the effort controller activated: until then Gazebo
holds the arm, and there is no moment in which it could fall.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from robot_dynamics.bringup.arguments import parse_bool, parse_number
from robot_dynamics.bringup.controllers import find_controller
from robot_dynamics.bringup.descriptions import load_description
from robot_dynamics.bringup.hardware import hardware_processes
from robot_dynamics.bringup.launching.actions import launch_value, node_action
from robot_dynamics.bringup.launching.ament import find_package, require_packages
from robot_dynamics.bringup.launching.ros2_control import (
    BROADCASTER,
    EFFORT_CONTROLLER,
    FORTRESS,
    GAZEBO,
    controllers_yaml,
    gazebo_urdf,
)
from robot_dynamics.bringup.system import System
from robot_dynamics.control.session.modes import Mode

#: Arguments beside those of a system: default and text.
GAZEBO_ARGUMENTS = {
    'hardware': ('gazebo', 'What the simulated hardware is like: the name of a file in '
                 'config/hardware, or the path of a parameter file.'),
    'reference': ('true', 'Whether the arm is led through an exciting motion; otherwise it is '
                  'held until a trajectory arrives on the reference topic of its controller.'),
    'world': ('empty.sdf', 'World to load.'),
    'headless': ('false', 'Whether Gazebo runs without a window.'),
    'height': ('1.0', 'Height of the root of the arm above the origin of the world, m: room '
               'for motions below its base.'),
}

_PACKAGES = ('ros_gz_sim', 'ros_gz_bridge', 'robot_state_publisher', 'controller_manager',
             'joint_state_broadcaster', 'forward_command_controller', 'ros2controlcli')

#: What our controller logs once it sends.
_SENDS = f'{Mode.HOLDING.value}: '.encode()


def gazebo_actions(system: System, hardware: str, reference: str, world: str, headless: str,
                   height: str) -> list[Any]:
    """Return the actions of an arm in Gazebo.

    Parameters
    ----------
    system : System
        The arm and its controller, as the launch arguments ask for.
    hardware, reference, world, headless, height : str
        Values of `GAZEBO_ARGUMENTS`.

    Raises
    ------
    RobotDynamicsError
        When the robot cannot be used or Gazebo is not installed.
    """
    from launch.actions import ExecuteProcess
    simulator = GAZEBO if find_package(FORTRESS.package) is None else FORTRESS
    require_packages((*_PACKAGES, simulator.package), 'gazebo.launch.py')
    led = parse_bool('reference', reference)
    lifted = parse_number('height', height)
    description = load_description(system.robot)
    namespace = system.namespace.strip('/')
    controllers = _write(controllers_yaml(
        description.robot.joint_names, system.rate, namespace=namespace, use_sim_time=True))
    urdf = gazebo_urdf(description, controllers, namespace=namespace, simulator=simulator)
    ours = {process.node: node_action(process)
            for process in hardware_processes(system, hardware)}
    motion = ours.pop('reference', None)

    start = _spawner(namespace, BROADCASTER)
    configure = _spawner(namespace, EFFORT_CONTROLLER, '--inactive', '--param-file',
                         str(controllers))
    activate = ExecuteProcess(
        cmd=['ros2', 'control', 'switch_controllers', '--activate', EFFORT_CONTROLLER, '--strict',
             '--controller-manager', _manager(namespace)], output='screen')
    create = _node('ros_gz_sim', 'create', namespace, arguments=[
        '-topic', 'robot_description', '-name', description.robot.name, '-z', str(lifted)])
    return [
        _gazebo(world, parse_bool('headless', headless)),
        _node('ros_gz_bridge', 'parameter_bridge', '', arguments=[
            '/clock@rosgraph_msgs/msg/Clock[gz.msgs.Clock']),
        _node('robot_state_publisher', 'robot_state_publisher', namespace,
              parameters=[{'robot_description': launch_value(urdf), 'use_sim_time': True}]),
        _after(create, [start], 'the arm could not be created'),
        _after(start, [configure], f'{BROADCASTER} could not be started'),
        _after(configure, list(ours.values()), f'{EFFORT_CONTROLLER} could not be configured'),
        *_when_it_sends(ours.get(find_controller(system.controller).node), [activate]),
        _after(activate, [motion] if led and motion is not None else [],
               f'{EFFORT_CONTROLLER} could not be activated'),
        create,
    ]


def _write(controllers: str) -> Path:
    """Write a parameter file that lives as long as this launch."""
    folder = Path(tempfile.mkdtemp(prefix='robot_dynamics-'))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = folder / 'controllers.yaml'
    path.write_text(controllers, encoding='utf-8')
    return path


def _gazebo(world: str, headless: bool) -> Any:
    """Return what starts Gazebo, running, and ends all with it."""
    from launch.actions import IncludeLaunchDescription
    from launch.launch_description_sources import PythonLaunchDescriptionSource
    path = find_package('ros_gz_sim') / 'launch' / 'gz_sim.launch.py'
    return IncludeLaunchDescription(
        PythonLaunchDescriptionSource(str(path)), launch_arguments={
            'gz_args': f'-r {"-s " if headless else ""}{world}',
            'on_exit_shutdown': 'true'}.items())


def _node(package: str, executable: str, namespace: str, **options: Any) -> Any:
    from launch_ros.actions import Node
    return Node(package=package, executable=executable, namespace=namespace, output='screen',
                **options)


def _spawner(namespace: str, controller: str, *options: str) -> Any:
    return _node('controller_manager', 'spawner', namespace, arguments=[
        controller, '--controller-manager', _manager(namespace), *options])


def _manager(namespace: str) -> str:
    return f'/{namespace}/controller_manager' if namespace else '/controller_manager'


def _after(process: Any, actions: Sequence[Any], trouble: str) -> Any:
    """Return the handler that goes on when a process has done its work, or ends all."""
    from launch.actions import LogInfo, RegisterEventHandler, Shutdown
    from launch.event_handlers import OnProcessExit

    def on_exit(event: Any, context: Any) -> list[Any]:
        if event.returncode == 0:
            return list(actions)
        # Of a shutdown after the end of a process, launch does not tell the reason itself.
        reason = f'{trouble}: status {event.returncode}'
        return [LogInfo(msg=reason), Shutdown(reason=reason)]

    return RegisterEventHandler(OnProcessExit(target_action=process, on_exit=on_exit))


def _when_it_sends(controller: Any, actions: Sequence[Any]) -> list[Any]:
    """Return the handler that acts once, when our controller says that it holds the arm."""
    from launch.actions import RegisterEventHandler
    from launch.event_handlers import OnProcessIO
    if controller is None:
        return []
    heard = b''
    left = list(actions)

    def on_output(event: Any) -> list[Any]:
        nonlocal heard, left
        heard = heard[-len(_SENDS):] + event.text
        if _SENDS not in heard:
            return []
        due, left = left, []
        return due

    return [RegisterEventHandler(OnProcessIO(target_action=controller, on_stdout=on_output,
                                             on_stderr=on_output))]
