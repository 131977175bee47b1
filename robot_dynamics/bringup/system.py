# SPDX-License-Identifier: Apache-2.0
"""A system of an arm, its controllers and observers, for the runner and the launch files."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics.bringup.descriptions import Description, load_description
from robot_dynamics.bringup.plants import (
    NO_PLANT,
    find_plant,
    fit_payload,
    read_plant,
    shipped_plants,
)
from robot_dynamics.bringup.processes import NodeProcess, ParameterValue
from robot_dynamics.control.motion.references import exciting_fourier
from robot_dynamics.elastic.configuration import (
    joints_from_yaml,
    read_elastic_tags,
    resolve_elastic_joints,
    shipped_elastic_joints,
)
from robot_dynamics.errors import BringupError, RobotDynamicsError
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import Robot
from robot_dynamics.nodes.controllers import CONTROLLER_NODES, CONTROLLERS, Controller

Parameters = Mapping[str, ParameterValue]

#: Controllers that can be switched to: one name per node.
SWITCHABLE = tuple(row.name for row in CONTROLLER_NODES.values())

#: Value of ``reference`` for a system without the reference node.
NO_REFERENCE = 'none'

#: Value of ``elastic_joints`` for the tags ros2_control of the URDF, also in nodes.
DESCRIPTION = 'description'

#: Timeout for the description: an arm that starts beside its controller may have to compile its
#: equations first. s.
DESCRIPTION_TIMEOUT = 60.0

_ARM, _GUARD = 'simulated_arm', 'command_guard'

#: Time without commands after which the guard stops an arm, s, and the same in periods: the longer
#: one counts.
_SILENCE, _SILENT_PERIODS = 0.03, 3.0
#: Parameters of a controller that the guard has, too.
_OF_COMMANDS = ('command_topic', 'command_type', 'stop_service')

#: Duration of valid states after which the controller of a simulated arm continues. s.
_RESUMPTION = 0.2

#: A simulated arm publishes no states while it waits for commands. The timeout of the controller
#: is therefore increased by the first value, up to the second. s.
_TIMEOUT_MARGIN, _LONGEST_STATE_TIMEOUT = 0.5, 10.0


@dataclass(frozen=True)
class System:
    """An arm, its controllers and observers.

    Parameters
    ----------
    robot : str
        Name of a shipped robot or path of a URDF, xacro or DH file; ``''`` for the topic
        ``robot_description`` of a running arm.
    controller : str
        One of `robot_dynamics.nodes.controllers.CONTROLLERS`.
    standby : str
        Controllers that run without commanding until ``robot-dynamics switch`` selects them: names
        separated by commas, ``'all'``, or empty.
    plant : str
        One of `robot_dynamics.bringup.plants.shipped_plants`, the path of a parameter file for
        ``simulated_arm``, or ``'none'``.
    rate : float
        Joint states per second of the simulated arm, Hz.
    use_sim_time : bool
        Whether time comes from ``/clock``.
    elastic_joints : str
        File of the motors and springs of an arm with elastic joints, name of a shipped one, or
        ``'description'``. If empty, joints are elastic only if the controller needs it, see
        `elastic_joints`.
    namespace : str
        Namespace of every node and topic.
    seed : int
        Seed of the reference and of the noise.
    identified : str
        Folder written by ``robot-dynamics identify``: all nodes but the simulated arm then use
        the identified model.
    reference : str
        Motion of the reference node, a value of its parameter ``trajectory``, or ``'none'``: the
        controller then waits for trajectories of other nodes.
    inverse_dynamics : bool
        Whether the model torque and its parts are published.
    record : Path or None
        Folder of a recording.
    robot_args : str
        Values for arguments of a xacro file: ``'name:=ur ur_type:=ur5e'``.
    spin : str
        Executor of every node: ``'single'``, ``'events'`` or ``'waitset'``.
    parameters : mapping of str to mapping
        Further parameters by node name.

    See Also
    --------
    robot_dynamics.bringup.run_until_stopped : Runs the processes of a system.

    Examples
    --------
    >>> from robot_dynamics.bringup import System
    >>> system = System(robot='planar_2r', controller='pd_gravity', rate=250.0)
    >>> [process.node for process in system.processes()]
    ['simulated_arm', 'pd_gravity_controller', 'inverse_dynamics', 'reference']
    """

    robot: str = 'arm7'
    controller: str = 'adaptive'
    standby: str = ''
    plant: str = 'nominal'
    rate: float = 500.0
    use_sim_time: bool = False
    elastic_joints: str = ''
    namespace: str = ''
    seed: int = 0
    identified: str = ''
    reference: str = 'fourier'
    inverse_dynamics: bool = True
    record: Path | None = None
    robot_args: str = ''
    spin: str = 'single'
    parameters: Mapping[str, Parameters] = field(default_factory=dict)

    def __post_init__(self) -> None:
        standby_controllers(self.standby, self.controller)
        if not (math.isfinite(self.rate) and self.rate > 0.0):
            raise BringupError(f'must be a positive number, got {self.rate}', subject='rate',
                               remedy='give joint states per second, e.g. 500')
        if not self.robot and self.plant != NO_PLANT:
            raise BringupError('is empty', subject='robot',
                               remedy='name the robot to simulate')

    @cached_property
    def description(self) -> Description:
        """The robot and its URDF; raises a `ModelError` if it cannot be used."""
        return load_description(self.robot, self.robot_args)

    def processes(self) -> tuple[NodeProcess, ...]:
        """Processes of the system, in the order of starting.

        The recorder is started first and stopped last, so that it records everything.

        Raises
        ------
        RobotDynamicsError
            If the robot or the plant cannot be used.
        """
        nodes = []
        if self.record is not None:
            # A full disk ends the recorder only: the arm stays under control.
            nodes.append(self.node('recorder', {'output': str(self.record)}, stop_timeout=20.0,
                                   essential=False))
        if self.plant != NO_PLANT:
            self._plant()  # raises where the file has no section for the arm
            nodes.append(self.node(_ARM, {
                **self._robot(), 'rate': self.rate, 'seed': self.seed,
                'publish_description': True, **self._elastic(), **self._fitted_payload()},
                files=(find_plant(self.plant),)))
        if find_controller(self.controller).node:
            nodes.append(self._controller(self.controller))
        standby = self._standby()
        nodes += [self._controller(name, autostart=False) for name in standby]
        controllers = [CONTROLLERS[name].node for name in (self.controller, *standby)
                       if CONTROLLERS[name].node]
        if self.plant == NO_PLANT and controllers:
            nodes.append(self._guard(controllers[0]))
        if self.inverse_dynamics:
            nodes.append(self._model_node('inverse_dynamics', {}))
        if self.reference != NO_REFERENCE and any(
                CONTROLLERS[name].tracks for name in (self.controller, *standby)):
            nodes.append(self._model_node('reference', {'trajectory': self.reference,
                                                        'seed': self.seed}))
        return tuple(nodes)

    def plant_parameters(self) -> dict[str, Any]:
        """Parameters in which the simulated arm differs from its description."""
        return {**self._plant(), **self._fitted_payload()}

    def _plant(self) -> dict[str, Any]:
        return read_plant(find_plant(self.plant),
                          NodeProcess(_ARM, namespace=self.namespace).full_name)

    def _fitted_payload(self) -> Parameters:
        """Changes to the payload of a shipped plant for this robot; none for other plants."""
        path = find_plant(self.plant)
        if path not in shipped_plants().values():
            return {}
        robot = self.description.robot
        return fit_payload(robot, read_plant(path), self._postures(robot))

    def _postures(self, robot: Robot) -> FloatArray:
        """Postures along the motion of the reference node, shape (k, n)."""
        reference: Mapping[str, Any] = self.parameters.get('reference', {})
        motion = exciting_fourier(robot, self.seed,
                                  base_frequency=reference.get('base_frequency', 0.1))
        return motion.sample_many(np.linspace(0.0, motion.period, 200))[0]

    def _robot(self) -> Parameters:
        if not self.robot:
            return {'description_timeout': DESCRIPTION_TIMEOUT}
        self.description.robot.require_single_coordinates('control')
        return {'robot_description': self.description.urdf}

    def _controller(self, name: str, **parameters: ParameterValue) -> NodeProcess:
        row = CONTROLLERS[name]
        springs: Parameters = {}
        if row.is_elastic:
            springs = {**self._elastic(),
                       **(identified_springs(self.identified) if self.identified else {})}
        return self._model_node(row.node, {'rate': self.rate, **self._timeouts(),
                                           **row.parameters, **springs, **parameters}, row.module)

    def _model_node(self, name: str, parameters: Parameters, module: str = '') -> NodeProcess:
        """Node with the model of the arm, identified or described."""
        if self.identified:
            return self.node(name, parameters, module=module,
                              files=(identified_files(self.identified),))
        return self.node(name, {**self._robot(), **parameters}, module=module)

    def _guard(self, controller: str) -> NodeProcess:
        """Node that stops a real arm when the commands of its controllers stop."""
        own = self.parameters.get(controller, {})
        parameters: dict[str, ParameterValue] = {
            name: own[name] for name in _OF_COMMANDS if name in own}
        rate = own.get('rate', self.rate)
        if isinstance(rate, int | float) and rate > 0.0:
            parameters['silence'] = max(_SILENCE, _SILENT_PERIODS / rate)
        return self.node(_GUARD, {'spin': 'waitset', **parameters})

    def _standby(self) -> tuple[str, ...]:
        """Standby controllers; raises if one needs elastic joints and the arm has none."""
        is_elastic = bool(self.elastic_joints) or find_controller(self.controller).is_elastic
        names = standby_controllers(self.standby, self.controller, elastic=is_elastic)
        for name in names:
            if CONTROLLERS[name].is_elastic and not is_elastic and self.plant != NO_PLANT:
                raise BringupError(f'has {name}, which needs elastic joints', subject='standby',
                                   remedy='describe them by elastic_joints, or leave it out')
        return names

    def _elastic(self) -> Parameters:
        """Parameter for the elastic joints, empty for rigid joints."""
        if not self.robot:
            return {'elastic_joints': self.elastic_joints} if self.elastic_joints else {}
        # The parameters of a driver may describe them.
        if self.plant == NO_PLANT and not self.elastic_joints:
            return {}
        source = elastic_joints(self.elastic_joints, self.controller,
                                self.description)
        return {'elastic_joints': source} if source else {}

    def _timeouts(self) -> Parameters:
        """Parameters for the time after which a controller of a simulated arm continues.

        A simulated arm is harmless, but shares its machine with processes that delay its states.
        """
        if self.plant == NO_PLANT:
            return {}
        return {'resume_after': max(1, round(_RESUMPTION * self.rate)), **self.state_timeout()}

    def state_timeout(self) -> Parameters:
        """Parameter `state_timeout` for a simulated arm that waits for commands, else empty."""
        if self.plant == NO_PLANT:
            return {}
        arm = {**self._plant(), **self.parameters.get(_ARM, {})}
        wait = arm.get('wait_for_commands', 0.0)
        if not (isinstance(wait, int | float) and wait > 0.0):
            return {}
        return {'state_timeout': min(wait + _TIMEOUT_MARGIN, _LONGEST_STATE_TIMEOUT)}

    def node(self, name: str, parameters: Parameters, *, module: str = '',
             files: tuple[Path, ...] = (), stop_timeout: float = 5.0, essential: bool = True
             ) -> NodeProcess:
        """Process of a node of this system, with the parameters that all nodes share."""
        return NodeProcess(
            name, module, self.namespace, files,
            parameters={'use_sim_time': self.use_sim_time, 'spin': self.spin, **parameters,
                        **self.parameters.get(name, {})},
            essential=essential, stop_timeout=stop_timeout)


def find_controller(name: str) -> Controller:
    """Row of a controller in the registry; raises `BringupError` for an unknown name."""
    if name not in CONTROLLERS:
        raise BringupError('is not a controller', subject=name or "''",
                           remedy='choose one of: ' + ', '.join(CONTROLLERS))
    return CONTROLLERS[name]


def standby_controllers(text: str, active: str, *, elastic: bool = False) -> tuple[str, ...]:
    """Standby controllers from a text: names separated by commas, ``'all'``, or empty.

    The active one is left out. Without `elastic` joints, ``'all'`` leaves out controllers for
    elastic joints. Raises a `BringupError` for a name without a separate node.
    """
    names = tuple(name for name in SWITCHABLE if elastic or not CONTROLLERS[name].is_elastic) \
        if text.strip() == 'all' else \
        tuple(name for part in text.split(',') if (name := part.strip()))
    for name in names:
        if name not in SWITCHABLE:
            raise BringupError(f'cannot have {name}', subject='standby',
                               remedy='choose among: ' + ', '.join(SWITCHABLE) + '; or all')
    node = find_controller(active).node
    return tuple(dict.fromkeys(name for name in names if CONTROLLERS[name].node != node))


def elastic_joints(wanted: str, controller: str, description: Description) -> str:
    """Parameter ``elastic_joints`` of the nodes of a system; empty for rigid joints.

    `wanted` is the path of a file, the name of a shipped one, or ``'description'``. If it is empty
    and the controller needs elastic joints, the shipped file for the robot is used, or else the
    description. Raises a `RobotDynamicsError` if the file is missing or does not match the robot.
    """
    if not wanted and not find_controller(controller).is_elastic:
        return ''
    source = wanted or shipped_elastic_joints().get(description.path.stem, DESCRIPTION)
    try:
        content: Any = {} if source == DESCRIPTION else resolve_elastic_joints(source)
        joints_from_yaml(content, description.robot, read_elastic_tags(
            description.urdf.encode()))
    except RobotDynamicsError as error:
        if wanted:
            raise
        raise BringupError(f'has no file for {description.path.name}, and the tags ros2_control '
                           f'do not describe motors and springs ({error.subject} {error.message})',
                           subject='elastic_joints',
                           remedy='give the path of a file, see docs/elastic.md') from error
    return DESCRIPTION if source == DESCRIPTION else str(content)


def identified_files(folder: str) -> Path:
    """Parameter file in a folder written by ``robot-dynamics identify``; raises `BringupError`."""
    path = Path(folder).expanduser() / 'parameters.yaml'
    if not path.is_file():
        raise BringupError('has no parameters.yaml', subject=folder or "''",
                           remedy='give the --output of robot-dynamics identify')
    return path.resolve()


def identified_springs(folder: str) -> dict[str, str]:
    """Parameter for identified motors and springs; empty if joints were identified as rigid."""
    from robot_dynamics.identification.elastic.outputs import ELASTIC_JOINTS
    path = identified_files(folder).parent / ELASTIC_JOINTS
    return {'elastic_joints': str(path)} if path.is_file() else {}
