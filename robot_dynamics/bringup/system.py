# SPDX-License-Identifier: Apache-2.0
"""What runs together: the one description that launch files and the runner read."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics.bringup.commands.identify import identified_files
from robot_dynamics.bringup.controllers import (
    CONTROLLERS,
    find_controller,
    standby_controllers,
)
from robot_dynamics.bringup.descriptions import load_description
from robot_dynamics.bringup.elastic import elastic_joints, identified_springs
from robot_dynamics.bringup.parameter_files import read_parameter_file
from robot_dynamics.bringup.payload import fit_payload
from robot_dynamics.bringup.processes import NodeProcess, ParameterValue
from robot_dynamics.control.motion.references import exciting_fourier
from robot_dynamics.errors import BringupError
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import candidate_folders

Parameters = Mapping[str, ParameterValue]

#: No simulated arm: a driver or a simulator runs already.
NO_PLANT = 'none'

#: An arm that starts beside its controller may have to compile its equations first, s.
DESCRIPTION_TIMEOUT = 60.0

_PLANT_PREFIX, _ARM = 'plant_', 'simulated_arm'

#: How long good states must come before a simulated arm is held, and moved, again. s.
_RESUMPTION = 0.2

#: An arm that waits for commands is heard of for so much longer than it waits, and for no longer
#: than a controller takes. s.
_HEARD_AFTER, _LONGEST_STATE_TIMEOUT = 0.5, 2.0


@dataclass(frozen=True)
class System:
    """An arm, its controller and what watches them.

    Parameters
    ----------
    robot : str
        Name of a shipped robot or path of a URDF, xacro or DH file; ``''`` takes the
        topic ``robot_description`` of an arm that runs already.
    controller : str
        One of `robot_dynamics.bringup.controllers.CONTROLLERS`.
    standby : str
        Controllers that run beside it and command nothing until somebody switches to them:
        names with commas in between, ``'all'``, or nothing.
    plant : str
        One of `shipped_plants`, the path of a parameter file for ``simulated_arm``,
        or ``'none'``.
    rate : float
        Joint states a second of the simulated arm, Hz.
    use_sim_time : bool
        Whether time comes from ``/clock``.
    elastic_joints : str
        File of the motors and springs of an arm with elastic joints, name of one of this
        package, or ``'description'``; with nothing joints are elastic where the controller
        asks for it, see `robot_dynamics.bringup.elastic`.
    namespace : str
        Namespace of every node and topic.
    seed : int
        Seed of the reference and of the noise.
    identified : str
        Folder that ``robot-dynamics identify`` has written: all nodes but the simulated arm
        then have the identified model of it.
    reference : bool
        Whether the reference node runs; without it the controller waits for somebody
        else's trajectory.
    inverse_dynamics : bool
        Whether the model torque and its parts are published.
    record : Path or None
        Folder of a recording.
    spin : str
        How every node waits: ``'single'``, ``'events'`` or ``'waitset'``.
    parameters : mapping of str to mapping
        Further parameters by node name.
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
    reference: bool = True
    inverse_dynamics: bool = True
    record: Path | None = None
    spin: str = 'single'
    parameters: Mapping[str, Parameters] = field(default_factory=dict)

    def __post_init__(self) -> None:
        standby_controllers(self.standby, self.controller)
        if not (math.isfinite(self.rate) and self.rate > 0.0):
            raise BringupError(f'is {self.rate}', subject='rate',
                               remedy='give joint states a second, e.g. 500')
        if not self.robot and self.plant != NO_PLANT:
            raise BringupError('is empty', subject='robot',
                               remedy='name the robot that is to be simulated')

    def processes(self) -> tuple[NodeProcess, ...]:
        """Return what runs, in the order of starting.

        The recorder comes first and so is stopped last: it hears everything.

        Raises
        ------
        RobotDynamicsError
            When the robot or the plant cannot be used.
        """
        nodes = []
        if self.record is not None:
            nodes.append(self._node('recorder', {'output': str(self.record)}, stop_timeout=20.0))
        if self.plant != NO_PLANT:
            nodes.append(self._node(_ARM, {
                **self._robot(), 'rate': self.rate, 'seed': self.seed,
                'publish_description': True, **self._elastic(), **self._fitted_payload()},
                files=(self._plant_file(),)))
        active = find_controller(self.controller)
        if active.node:
            nodes.append(self._controller(self.controller))
        waiting = self._waiting()
        nodes += [self._controller(name, autostart=False) for name in waiting]
        if self.inverse_dynamics:
            nodes.append(self._node('inverse_dynamics', self._model(),
                                    files=self._model_files()))
        if self.reference and any(CONTROLLERS[name].tracks
                                  for name in (self.controller, *waiting)):
            nodes.append(self._node('reference', {**self._model(), 'seed': self.seed},
                                    files=self._model_files()))
        return tuple(nodes)

    def plant_parameters(self) -> dict[str, Any]:
        """Return in what the simulated arm differs from its description."""
        return {**self._plant(), **self._fitted_payload()}

    def _plant_file(self) -> Path:
        """Return the parameter file of the simulated arm, which has to tell of it."""
        self._plant()
        return find_plant(self.plant)

    def _plant(self) -> dict[str, Any]:
        return read_plant(find_plant(self.plant),
                          NodeProcess(_ARM, namespace=self.namespace).full_name)

    def _fitted_payload(self) -> Parameters:
        """Return what of a shipped plant's payload does not suit this robot; a user's own does."""
        path = find_plant(self.plant)
        if path not in shipped_plants().values():
            return {}
        robot = load_description(self.robot).robot
        return fit_payload(robot, read_plant(path), self._postures(robot))

    def _postures(self, robot: Robot) -> FloatArray:
        """Return postures all over the motion of the reference node, shape (k, n)."""
        reference = {'base_frequency': 0.1, **self.parameters.get('reference', {})}
        motion = exciting_fourier(robot, self.seed, base_frequency=reference['base_frequency'])
        return motion.sample_many(np.linspace(0.0, motion.period, 200))[0]

    def _robot(self) -> Parameters:
        if not self.robot:
            return {'description_timeout': DESCRIPTION_TIMEOUT}
        description = load_description(self.robot)
        description.robot.require_single_coordinates('control')
        return {'robot_description': description.urdf}

    def _model(self) -> Parameters:
        """Return what a node that has a model of the arm is told of it."""
        return {} if self.identified else self._robot()

    def _model_files(self) -> tuple[Path, ...]:
        """Return the parameter file of the identified model, where there is one."""
        return (identified_files(self.identified),) if self.identified else ()

    def _controller(self, name: str, **parameters: ParameterValue) -> NodeProcess:
        controller = CONTROLLERS[name]
        return self._node(controller.node, {**self._model(), 'rate': self.rate,
                                            **self._patience(), **controller.parameters,
                                            **(self._springs() if controller.is_elastic else {}),
                                            **parameters},
                          files=self._model_files())

    def _waiting(self) -> tuple[str, ...]:
        """Return the controllers that stand by.

        Raises
        ------
        BringupError
            Where one of them needs elastic joints, and there are none.
        """
        is_elastic = bool(self.elastic_joints) or find_controller(self.controller).is_elastic
        waiting = standby_controllers(self.standby, self.controller, elastic=is_elastic)
        for name in waiting:
            if CONTROLLERS[name].is_elastic and not is_elastic and self.plant != NO_PLANT:
                raise BringupError(f'{name} is for arms with elastic joints', subject='standby',
                                   remedy='say which by elastic_joints, or leave it out')
        return waiting

    def _elastic(self) -> Parameters:
        """Return what tells of elastic joints, nothing where joints are rigid."""
        if not self.robot:
            return {'elastic_joints': self.elastic_joints} if self.elastic_joints else {}
        # A driver's own parameters may tell of them.
        if self.plant == NO_PLANT and not self.elastic_joints:
            return {}
        told = elastic_joints(self.elastic_joints, self.controller, load_description(self.robot))
        return {'elastic_joints': told} if told else {}

    def _springs(self) -> Parameters:
        """Return what a controller is told of elastic joints: as identified, if they were."""
        return {**self._elastic(),
                **(identified_springs(self.identified) if self.identified else {})}

    def _patience(self) -> Parameters:
        """Return how a controller goes on after states had stopped.

        A simulated arm hurts nobody, and shares its machine with whatever makes states late.
        One that waits for commands tells nothing meanwhile.
        """
        if self.plant == NO_PLANT:
            return {}
        patience: dict[str, ParameterValue] = {
            'resume_after': max(1, round(_RESUMPTION * self.rate))}
        wait = self._plant().get('wait_for_commands', 0.0)
        if isinstance(wait, int | float) and wait > 0.0:
            patience['state_timeout'] = min(wait + _HEARD_AFTER, _LONGEST_STATE_TIMEOUT)
        return patience

    def _node(self, name: str, parameters: Parameters, *, files: tuple[Path, ...] = (),
              stop_timeout: float = 5.0) -> NodeProcess:
        return NodeProcess(
            name, namespace=self.namespace, parameter_files=files,
            parameters={'use_sim_time': self.use_sim_time, 'spin': self.spin, **parameters,
                        **self.parameters.get(name, {})},
            stop_timeout=stop_timeout)


def shipped_plants() -> dict[str, Path]:
    """Return the parameter files ``config/plant_<name>.yaml`` by name, in alphabetical order."""
    for folder in candidate_folders('config'):
        files = sorted(folder.glob(f'{_PLANT_PREFIX}*.yaml'))
        if files:
            return {path.stem.removeprefix(_PLANT_PREFIX): path for path in files}
    raise BringupError('the parameter files of this package are not installed', subject='config',
                       remedy='install the package again')


def read_plant(path: Path, node: str = f'/{_ARM}') -> dict[str, Any]:
    """Return the parameters of a plant as its file has them.

    Parameters
    ----------
    path : Path
        The file.
    node : str
        Full name of the simulated arm, by which ROS 2 chooses among the sections of a file.

    Raises
    ------
    BringupError
        When it is no ROS 2 parameter file, or tells nothing of that node.
    """
    sections = read_parameter_file(path)
    told = [values for name, values in sections.items() if _is_of(name, node)]
    if not told:
        raise BringupError(f'holds {", ".join(sections)}, nothing of {node}', subject=str(path),
                           remedy=f'write: {node}: {{ros__parameters: {{<name>: <value>}}}}')
    return {name: value for values in told for name, value in values.items()}


def _is_of(section: str, node: str) -> bool:
    """Whether a section of a parameter file is of a node: * is one name, ** any number."""
    wild = {'*': '/[^/]+', '**': '(/[^/]+)*'}
    return re.fullmatch(''.join(wild.get(name, '/' + re.escape(name))
                                for name in section.strip('/').split('/')), node) is not None


def find_plant(name_or_path: str) -> Path:
    """Return the parameter file that a user means by ``--plant``."""
    path = Path(name_or_path).expanduser()
    if path.is_file():
        return path.resolve()
    plants = shipped_plants()
    if name_or_path in plants:
        return plants[name_or_path]
    raise BringupError('is neither a file nor a plant of this package',
                       subject=name_or_path or "''",
                       remedy='give the path of a parameter file for simulated_arm or one of: '
                              + ', '.join([*plants, NO_PLANT]))
