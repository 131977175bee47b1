# SPDX-License-Identifier: Apache-2.0
"""An arm in Gazebo behind ros2_control, as actions of ROS 2's ``launch``.

The start order follows the dependencies: Gazebo and its clock, the arm, the broadcaster of joint
states, a configured but inactive effort controller, and our controller. The effort controller is
activated when our controller sends commands. Until then Gazebo holds the arm, so that it cannot
fall.
"""

from __future__ import annotations

import atexit
import re
import shutil
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from robot_dynamics.bringup.arguments import parse_bool, parse_number
from robot_dynamics.bringup.descriptions import Description
from robot_dynamics.bringup.hardware import hardware_processes
from robot_dynamics.bringup.launching.actions import (
    find_package,
    launch_value,
    node_action,
    require_packages,
)
from robot_dynamics.bringup.system import System, find_controller
from robot_dynamics.control.session.modes import Mode
from robot_dynamics.errors import BringupError
from robot_dynamics.model.robot import Robot

#: Names of the controllers.
BROADCASTER, EFFORT_CONTROLLER = 'joint_state_broadcaster', 'effort_controller'

_MOVING = ('revolute', 'continuous', 'prismatic')
_STATES = ('position', 'velocity', 'effort')
_MESH = re.compile(r'package://([A-Za-z0-9_.-]+)/')

#: Default and text of the launch arguments beside those of a system.
GAZEBO_ARGUMENTS = {
    'hardware': ('gazebo', 'Settings for the simulated hardware: the name of a file in '
                 'config/hardware, or the path of a parameter file.'),
    'world': ('empty.sdf', 'World to load.'),
    'headless': ('false', 'Whether Gazebo runs without a window.'),
    'height': ('1.0', 'Height of the root of the arm above the origin of the world, m: room '
               'for motions below its base.'),
}

_PACKAGES = ('ros_gz_sim', 'ros_gz_bridge', 'robot_state_publisher', 'controller_manager',
             'joint_state_broadcaster', 'forward_command_controller', 'ros2controlcli')

#: Log message of our controller when it begins to send commands.
_SENDS = f'{Mode.HOLDING.value}: '.encode()


@dataclass(frozen=True)
class Simulator:
    """A generation of Gazebo: ROS 2 package, and plugins of ros2_control.

    ``hardware`` is the hardware plugin; ``library`` and ``plugin`` run the controller manager.
    """

    package: str
    hardware: str
    library: str
    plugin: str


#: Garden and later.
GAZEBO = Simulator('gz_ros2_control', 'gz_ros2_control/GazeboSimSystem',
                   'gz_ros2_control-system', 'gz_ros2_control::GazeboSimROS2ControlPlugin')
#: Fortress, which comes with Humble.
FORTRESS = Simulator('ign_ros2_control', 'ign_ros2_control/IgnitionSystem',
                     'ign_ros2_control-system', 'ign_ros2_control::IgnitionROS2ControlPlugin')


def gazebo_actions(system: System, hardware: str, world: str, headless: str, height: str
                   ) -> list[Any]:
    """Actions of an arm in Gazebo for a system and the values of `GAZEBO_ARGUMENTS`.

    Raises a `RobotDynamicsError` if the robot cannot be used or Gazebo is not installed.
    """
    from launch.actions import ExecuteProcess, IncludeLaunchDescription
    from launch.launch_description_sources import PythonLaunchDescriptionSource
    simulator = GAZEBO if find_package(FORTRESS.package) is None else FORTRESS
    require_packages((*_PACKAGES, simulator.package), 'gazebo.launch.py')
    windowless = parse_bool('headless', headless)
    lifted = parse_number('height', height)
    description = system.description
    namespace = system.namespace.strip('/')
    manager = f'/{namespace}/controller_manager' if namespace else '/controller_manager'
    controllers = _write(controllers_yaml(
        description.robot.joint_names, system.rate, namespace=namespace, use_sim_time=True))
    urdf = gazebo_urdf(description, controllers, namespace=namespace, simulator=simulator)
    ours = {process.node: node_action(process)
            for process in hardware_processes(system, hardware)}
    motion = ours.pop('reference', None)

    def spawner(controller: str, *options: str) -> Any:
        return _node('controller_manager', 'spawner', namespace, arguments=[
            controller, '--controller-manager', manager, *options])

    simulation = IncludeLaunchDescription(
        PythonLaunchDescriptionSource(
            str(Path(find_package('ros_gz_sim') or '') / 'launch' / 'gz_sim.launch.py')),
        launch_arguments={'gz_args': f'-r {"-s " if windowless else ""}{world}',
                          'on_exit_shutdown': 'true'}.items())
    start = spawner(BROADCASTER)
    configure = spawner(EFFORT_CONTROLLER, '--inactive', '--param-file', str(controllers))
    activate = ExecuteProcess(
        cmd=['ros2', 'control', 'switch_controllers', '--activate', EFFORT_CONTROLLER, '--strict',
             '--controller-manager', manager], output='screen')
    create = _node('ros_gz_sim', 'create', namespace, arguments=[
        '-topic', 'robot_description', '-name', description.robot.name, '-z', str(lifted)])
    return [
        simulation,
        _node('ros_gz_bridge', 'parameter_bridge', '', arguments=[
            '/clock@rosgraph_msgs/msg/Clock[gz.msgs.Clock']),
        _node('robot_state_publisher', 'robot_state_publisher', namespace,
              parameters=[{'robot_description': launch_value(urdf), 'use_sim_time': True}]),
        _after(create, [start], 'the arm', 'could not be created'),
        # The plugin of the arm runs the controller manager, so that this shows whether the arm is
        # there: Humble's create ends with 0 without it.
        _after(start, [configure], BROADCASTER, 'could not be started, or the arm is not in the '
                                                'world'),
        _after(configure, list(ours.values()), EFFORT_CONTROLLER, 'could not be configured'),
        *_when_it_sends(ours.get(find_controller(system.controller).node), [activate]),
        _after(activate, [motion] if motion is not None else [],
               EFFORT_CONTROLLER, 'could not be activated'),
        create,
    ]


def _write(controllers: str) -> Path:
    """Write a parameter file that is removed at the end of this process."""
    folder = Path(tempfile.mkdtemp(prefix='robot_dynamics-'))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = folder / 'controllers.yaml'
    path.write_text(controllers, encoding='utf-8')
    return path


def _node(package: str, executable: str, namespace: str, **options: Any) -> Any:
    from launch_ros.actions import Node
    return Node(package=package, executable=executable, namespace=namespace, output='screen',
                **options)


def _after(process: Any, actions: Sequence[Any], subject: str, failure: str) -> Any:
    """Handler that runs actions after a process succeeds; a failure fails the launch."""
    from launch.actions import RegisterEventHandler
    from launch.event_handlers import OnProcessExit

    def on_exit(event: Any, context: Any) -> list[Any]:
        if context.is_shutdown:
            return []
        if event.returncode != 0:
            raise BringupError(f'{failure} (status {event.returncode})', subject=subject,
                               remedy='read the lines of create and spawner above')
        return list(actions)

    return RegisterEventHandler(OnProcessExit(target_action=process, on_exit=on_exit))


def _when_it_sends(controller: Any, actions: Sequence[Any]) -> list[Any]:
    """Handler that runs actions once when our controller logs that it holds the arm."""
    from launch.actions import RegisterEventHandler
    from launch.event_handlers import OnProcessIO
    if controller is None:
        return []
    received = b''
    remaining = list(actions)

    def on_output(event: Any) -> list[Any]:
        nonlocal received, remaining
        received = received[-len(_SENDS):] + event.text
        if _SENDS not in received:
            return []
        due, remaining = remaining, []
        return due

    return [RegisterEventHandler(OnProcessIO(target_action=controller, on_stdout=on_output,
                                             on_stderr=on_output))]


def controllers_yaml(joints: Sequence[str], rate: float, *, namespace: str = '',
                     use_sim_time: bool = False) -> str:
    """Parameter file of a controller manager with an effort controller; the rate is in Hz."""
    prefix = f'/{namespace.strip("/")}/' if namespace.strip('/') else ''
    time: dict[str, Any] = {'use_sim_time': True} if use_sim_time else {}
    return yaml.safe_dump({
        f'{prefix}controller_manager': {'ros__parameters': {
            **time, 'update_rate': round(rate),
            BROADCASTER: {'type': 'joint_state_broadcaster/JointStateBroadcaster'},
            EFFORT_CONTROLLER: {'type': 'forward_command_controller/ForwardCommandController'},
        }},
        f'{prefix}{EFFORT_CONTROLLER}': {'ros__parameters': {
            **time, 'joints': list(joints), 'interface_name': 'effort'}},
    }, sort_keys=False, allow_unicode=True)


def gazebo_urdf(description: Description, controllers: Path, *, namespace: str = '',
                simulator: Simulator = GAZEBO) -> str:
    """URDF for effort control in Gazebo.

    Its ros2_control tags and plugins are replaced by those of Gazebo, with the parameter file
    `controllers`; its root is fixed to the world, and meshes of installed packages are given by
    their path. Raises a `BringupError` if it is not valid XML for other programs.
    """
    try:
        root = ET.fromstring(description.urdf.encode())
    except ET.ParseError as error:
        # Our reader accepts more, e.g. undeclared prefixes.
        raise BringupError(f'is not valid XML for Gazebo: {error}', subject=str(description.path),
                           remedy='correct it; every prefix needs its xmlns') from None
    for element in list(root):
        plugins = [plugin.get('filename', '') + plugin.get('name', '')
                   for plugin in element.iter('plugin')]
        # These would load a driver of a real arm, or a second controller manager.
        if element.tag == 'ros2_control' or (
                element.tag == 'gazebo' and any('ros2_control' in text for text in plugins)):
            root.remove(element)
    _fix_to_world(root, description.robot.base_name)
    root.append(_hardware(root, description.robot, simulator))
    root.append(_plugin(controllers, namespace.strip('/'), simulator))
    ET.indent(root)
    return _MESH.sub(_as_path, ET.tostring(root, encoding='unicode'))


def _fix_to_world(root: ET.Element, base: str) -> None:
    """Fix the base to the world, because it would otherwise fall in Gazebo."""
    children = {child.get('link') for child in root.findall('joint/child')}
    (top,) = [name for link in root.findall('link')
              if (name := link.get('name', '')) not in children] or [base]
    if top == 'world':
        return
    ET.SubElement(root, 'link', name='world')
    joint = ET.SubElement(root, 'joint', name='fixed_to_world', type='fixed')
    ET.SubElement(joint, 'parent', link='world')
    ET.SubElement(joint, 'child', link=top)


def _hardware(root: ET.Element, robot: Robot, simulator: Simulator) -> ET.Element:
    """Tag ros2_control: effort commands; position, velocity and effort states."""
    system = ET.Element('ros2_control', name=robot.name, type='system')
    ET.SubElement(ET.SubElement(system, 'hardware'), 'plugin').text = simulator.hardware
    start = np.clip(0.0, robot.limits.lower, robot.limits.upper)
    for joint in root.findall('joint'):
        if joint.get('type') not in _MOVING:
            continue
        name = joint.get('name', '')
        element = ET.SubElement(system, 'joint', name=name)
        states = {}
        # A mimic joint has no motor of its own.
        if name in robot.joint_names and joint.find('mimic') is None:
            index = robot.joint_names.index(name)
            command = ET.SubElement(element, 'command_interface', name='effort')
            limit = robot.limits.effort[index]
            if np.isfinite(limit):
                _parameter(command, 'min', -limit)
                _parameter(command, 'max', limit)
            states['position'] = start[index]
        for interface in _STATES:
            state = ET.SubElement(element, 'state_interface', name=interface)
            if interface in states:
                _parameter(state, 'initial_value', states[interface])
    return system


def _plugin(controllers: Path, namespace: str, simulator: Simulator) -> ET.Element:
    """Tag that loads the controller manager into Gazebo."""
    gazebo = ET.Element('gazebo')
    plugin = ET.SubElement(gazebo, 'plugin', filename=simulator.library, name=simulator.plugin)
    ET.SubElement(plugin, 'parameters').text = str(controllers)
    # The arm is at rest until its controller is active.
    ET.SubElement(plugin, 'hold_joints').text = 'true'
    if namespace:
        ET.SubElement(ET.SubElement(plugin, 'ros'), 'namespace').text = f'/{namespace}'
    return gazebo


def _parameter(element: ET.Element, name: str, value: float) -> None:
    ET.SubElement(element, 'param', name=name).text = repr(float(value))


def _as_path(match: re.Match[str]) -> str:
    """Path of a package; names of packages that are not installed stay."""
    share = find_package(match[1])
    return f'file://{share}/' if share is not None else match[0]
