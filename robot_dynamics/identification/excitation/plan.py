# SPDX-License-Identifier: Apache-2.0
"""``ExcitationPlan``: a designed motion as a file that can be checked and reused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from robot_dynamics.errors import ParameterError, RobotDynamicsError, TrajectoryError
from robot_dynamics.files import write_file
from robot_dynamics.identification.excitation.curves import (
    Basis,
    BSplineBasis,
    FourierBasis,
    RestToRest,
)
from robot_dynamics.identification.excitation.design import Design, DesignSettings
from robot_dynamics.identification.excitation.limits import MotionLimits
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.yaml_text import read_yaml

#: First entry of every file.
FORMAT = 'robot_dynamics excitation 1'

_LIMITS = ('lower', 'upper', 'velocity', 'acceleration', 'effort')
_REMEDY = 'write it with robot-dynamics excite'


@dataclass(frozen=True, eq=False)
class ExcitationPlan:
    """A motion of the joints of a robot and its limits.

    Parameters
    ----------
    robot_name : str
        Name of the robot.
    motion : RestToRest
        The motion, of a `BSplineBasis` or a `FourierBasis`.
    limits : MotionLimits
        Limits of the motion, with the names of the joints.
    facts : mapping
        Settings and quality of the design, for information.

    See Also
    --------
    design, ExcitationSession

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from robot_dynamics import Robot
    >>> from robot_dynamics.identification import (DesignSettings, ExcitationPlan, MotionLimits,
    ...                                            design)
    >>> robot = Robot.from_urdf('urdf/planar_2r.urdf')
    >>> limits = MotionLimits.for_robot(robot, [0.0, 0.0], speed=2.0)
    >>> settings = DesignSettings(seconds=5.0, restarts=1, iterations=5)
    >>> plan = ExcitationPlan.of(robot, design(robot, [0.0, 0.0], limits, settings), settings)
    >>> path = Path(tempfile.mkdtemp()) / 'plan.yaml'
    >>> plan.write(path)
    >>> ExcitationPlan.read(path).joint_names == robot.joint_names
    True
    """

    robot_name: str
    motion: RestToRest
    limits: MotionLimits
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Joints in the order of the motion."""
        return self.limits.joint_names

    @classmethod
    def of(cls, robot: Robot, made: Design, settings: DesignSettings) -> ExcitationPlan:
        """Plan of a design."""
        return cls(robot.name, made.motion, made.limits, {
            'objective': settings.objective, 'seed': settings.seed,
            'restarts': settings.restarts, 'iterations': settings.iterations,
            'terms': list(settings.terms), 'rank': made.rank,
            'condition': float(made.condition),
            'condition_of_random_motions': made.random_condition})

    def in_order_of(self, joint_names: tuple[str, ...]) -> ExcitationPlan:
        """Plan with joints in another order, or TrajectoryError for other joints."""
        if sorted(joint_names) != sorted(self.joint_names):
            raise TrajectoryError('is for the joints ' + ', '.join(self.joint_names),
                                  subject='excitation plan', remedy='design one for '
                                  + ', '.join(joint_names))
        order = [self.joint_names.index(name) for name in joint_names]
        motion = RestToRest(self.motion.basis, self.motion.start[order],
                            self.motion.coefficients[:, order])
        return replace(self, motion=motion, limits=MotionLimits(
            joint_names, *(getattr(self.limits, name)[order] for name in _LIMITS)))

    def to_dict(self) -> dict[str, Any]:
        """Plan in plain types."""
        basis = self.motion.basis
        content: dict[str, Any] = {
            'format': FORMAT, 'robot': self.robot_name, 'joint_names': list(self.joint_names),
            'duration': basis.duration, 'start': self.motion.start.tolist()}
        if isinstance(basis, FourierBasis):
            sine, cosine = basis.amplitudes(self.motion.coefficients)
            content.update(kind='fourier', harmonics=basis.harmonics, sine=sine.tolist(),
                           cosine=cosine.tolist())
        elif isinstance(basis, BSplineBasis):
            content.update(kind='bspline', intervals=basis.intervals,
                           control_points=self.motion.coefficients.T.tolist())
        content['limits'] = {name: getattr(self.limits, name).tolist() for name in _LIMITS}
        content['facts'] = dict(self.facts)
        return content

    def write(self, path: Path) -> None:
        """Write the plan as YAML, or raise FileError."""
        text = yaml.safe_dump(self.to_dict(), sort_keys=False, default_flow_style=None, width=99)
        write_file(path, '# A motion that excites the joints of an arm; what each entry means is '
                         f'in docs/excitation.md.\n{text}')

    @classmethod
    def read(cls, path: Path) -> ExcitationPlan:
        """Read a plan, or raise TrajectoryError; its motion is not checked against its limits."""
        content = read_yaml(path, TrajectoryError, _REMEDY)
        try:
            return cls._from(content)
        except RobotDynamicsError as error:
            raise TrajectoryError(f'is not an excitation plan: {error}', subject=f'file {path}',
                                  remedy=_REMEDY) from error
        # Missing entries, wrong types, and numbers too large for a float.
        except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise TrajectoryError(f'is not an excitation plan ({type(error).__name__}: {error})',
                                  subject=f'file {path}', remedy=_REMEDY) from error

    @classmethod
    def _from(cls, content: Any) -> ExcitationPlan:
        if not isinstance(content, dict) or content.get('format') != FORMAT:
            raise ParameterError(f'must be {FORMAT}', subject='format', remedy=_REMEDY)
        names = content['joint_names']
        if not (isinstance(names, list) and names and all(isinstance(n, str) for n in names)
                and len(set(names)) == len(names)):
            raise ParameterError('must be distinct names', subject='joint_names',
                                 remedy='name each joint once')
        limits = MotionLimits(tuple(names), *(_numbers(content['limits'][name], (len(names),))
                                              for name in _LIMITS))
        basis, coefficients = _motion(content, len(names))
        facts = content.get('facts', {})
        return cls(str(content['robot']), RestToRest(
            basis, _numbers(content['start'], (len(names),)), coefficients), limits,
            facts if isinstance(facts, dict) else {})


def _motion(content: dict[str, Any], n: int) -> tuple[Basis, FloatArray]:
    """Basis and coefficients of a file."""
    kind = content['kind']
    if kind == 'bspline':
        basis = BSplineBasis(content['duration'], content['intervals'])
        return basis, _numbers(content['control_points'], (n, basis.count)).T
    if kind == 'fourier':
        series = FourierBasis(content['duration'], content['harmonics'])
        shape = (n, series.harmonics)
        return series, series.coefficients(_numbers(content['sine'], shape),
                                           _numbers(content['cosine'], shape))
    raise ParameterError(f'must be bspline or fourier, got {kind!r}', subject='kind',
                         remedy='correct it')


def _numbers(values: Any, shape: tuple[int, ...]) -> FloatArray:
    """Numbers of a given shape."""
    array = np.asarray(values)
    if array.dtype.kind not in 'if' or array.shape != shape:
        raise ParameterError(f'must be numbers of shape {shape}, got shape {array.shape} of '
                             f'{array.dtype}',
                             subject='list', remedy='give numbers')
    return array.astype(np.float64)
