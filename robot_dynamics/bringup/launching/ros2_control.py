# SPDX-License-Identifier: Apache-2.0
"""An arm behind ros2_control: its controllers, and the tags its description needs in Gazebo."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from robot_dynamics.bringup.descriptions import Description
from robot_dynamics.bringup.launching.ament import find_package
from robot_dynamics.errors import BringupError

#: Names of the controllers.
BROADCASTER, EFFORT_CONTROLLER = 'joint_state_broadcaster', 'effort_controller'

_MOVING = ('revolute', 'continuous', 'prismatic')
_STATES = ('position', 'velocity', 'effort')
_MESH = re.compile(r'package://([A-Za-z0-9_.-]+)/')


@dataclass(frozen=True)
class Simulator:
    """What a generation of Gazebo calls its ros2_control plugin.

    Parameters
    ----------
    package : str
        ROS 2 package.
    hardware : str
        Plugin of ros2_control that stands for the hardware.
    library, plugin : str
        Plugin of Gazebo that runs the controller manager.
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


def controllers_yaml(joints: Sequence[str], rate: float, *, namespace: str = '',
                     use_sim_time: bool = False) -> str:
    """Return the parameter file of a controller manager and an effort controller.

    Parameters
    ----------
    joints : sequence of str
        Joints to command, in the order of the commands.
    rate : float
        Rate of the controller manager, and so of joint_states. Hz.
    namespace : str
        Namespace of the controller manager, ``''`` for the root.
    use_sim_time : bool
        Whether time comes from ``/clock``.
    """
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
    """Return a description that Gazebo can run under effort control.

    Its own ros2_control tags and plugins give way to those of Gazebo, its root is
    fixed to the world, and meshes of installed packages are named by their path.

    Parameters
    ----------
    description : Description
        The robot.
    controllers : Path
        The parameter file, see `controllers_yaml`.
    namespace : str
        Namespace of the controller manager.
    simulator : Simulator
        Which Gazebo.

    Returns
    -------
    str
        URDF.

    Raises
    ------
    BringupError
        When others cannot read it.
    """
    try:
        root = ET.fromstring(description.urdf.encode())
    except ET.ParseError as error:
        # Dynamics reads past what other programs stumble over, e.g. undeclared prefixes.
        raise BringupError(f'is not XML to Gazebo: {error}', subject=str(description.path),
                           remedy='correct it; every prefix needs its xmlns') from None
    _remove_other_hardware(root)
    _fix_to_world(root, description.robot.base_name)
    root.append(_hardware(root, description, simulator))
    root.append(_plugin(controllers, namespace, simulator))
    ET.indent(root)
    return _MESH.sub(_as_path, ET.tostring(root, encoding='unicode'))


def _remove_other_hardware(root: ET.Element) -> None:
    """Take out what would load a driver of a real arm, or a second controller manager."""
    for element in list(root):
        plugins = [plugin.get('filename', '') + plugin.get('name', '')
                   for plugin in element.iter('plugin')]
        if element.tag == 'ros2_control' or (
                element.tag == 'gazebo' and any('ros2_control' in text for text in plugins)):
            root.remove(element)


def _fix_to_world(root: ET.Element, base: str) -> None:
    """Fix the base to the world, which Gazebo lets fall otherwise."""
    children = {joint.find('child').get('link') for joint in root.findall('joint')}
    (top,) = [link.get('name') for link in root.findall('link')
              if link.get('name') not in children] or [base]
    if top == 'world':
        return
    ET.SubElement(root, 'link', name='world')
    joint = ET.SubElement(root, 'joint', name='fixed_to_world', type='fixed')
    ET.SubElement(joint, 'parent', link='world')
    ET.SubElement(joint, 'child', link=top)


def _hardware(root: ET.Element, description: Description, simulator: Simulator) -> ET.Element:
    """Return the ros2_control tag: effort in, position, velocity and effort out."""
    robot = description.robot
    system = ET.Element('ros2_control', name=robot.name, type='system')
    ET.SubElement(ET.SubElement(system, 'hardware'), 'plugin').text = simulator.hardware
    start = np.clip(0.0, robot.limits.lower, robot.limits.upper)
    for joint in root.findall('joint'):
        if joint.get('type') not in _MOVING:
            continue
        name = joint.get('name')
        element = ET.SubElement(system, 'joint', name=name)
        states = {}
        # A joint that mimics another has no motor of its own.
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
    """Return the tag that loads the controller manager into Gazebo."""
    gazebo = ET.Element('gazebo')
    plugin = ET.SubElement(gazebo, 'plugin', filename=simulator.library, name=simulator.plugin)
    ET.SubElement(plugin, 'parameters').text = str(controllers)
    # Until its controller is active, the arm stands still.
    ET.SubElement(plugin, 'hold_joints').text = 'true'
    if namespace.strip('/'):
        ros = ET.SubElement(plugin, 'ros')
        ET.SubElement(ros, 'namespace').text = f'/{namespace.strip("/")}'
    return gazebo


def _parameter(element: ET.Element, name: str, value: float) -> None:
    ET.SubElement(element, 'param', name=name).text = repr(float(value))


def _as_path(match: re.Match[str]) -> str:
    """Return where a package lies; one that is not installed stays for others to find."""
    share = find_package(match[1])
    return f'file://{share}/' if share is not None else match[0]
