# SPDX-License-Identifier: Apache-2.0
"""Files of an identification: URDF, parameter file, covariance and result."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import yaml

from robot_dynamics.errors import (
    Finding,
    InertiaError,
    RecordingError,
    RobotDynamicsError,
    Severity,
)
from robot_dynamics.identification.dataset.dataset import Dataset
from robot_dynamics.identification.friction import PlainFriction
from robot_dynamics.identification.identified_urdf import identified_urdf
from robot_dynamics.identification.payload import Payload
from robot_dynamics.identification.result import Identification
from robot_dynamics.identification.signals import motions_of
from robot_dynamics.model.robot import Robot

#: Names of the files.
URDF, PARAMETERS, COVARIANCE, RESULT = ('identified.urdf', 'parameters.yaml', 'covariance.npz',
                                        'result.json')
_HEAD = """\
# An identified arm, for every node that has a model of it:
#   --ros-args --params-file parameters.yaml, or identified:=FOLDER of a launch file.
# Give no other parameter of the robot beside it.
"""
#: Name of the file.
PAYLOAD = 'payload.yaml'

_PAYLOAD_HEAD = """\
# An identified payload, for every controller: --ros-args --params-file payload.yaml. It is
# carried after a call of the service ~/carry_payload, or from the start with payload.carried.
"""


@dataclass(frozen=True, eq=False)
class Outputs:
    """Files, not yet written."""

    #: Contents by name.
    files: Mapping[str, bytes]
    #: Robot of the URDF and the parameter file, with joint terms and gravity.
    robot: Robot
    #: Joint terms of the URDF.
    friction: PlainFriction
    findings: tuple[Finding, ...] = ()
    #: Reason why there is neither a URDF nor a parameter file.
    refused: RobotDynamicsError | None = None


def make_outputs(found: Identification, dataset: Dataset, urdf: str, *,
                 allow_inconsistent: bool = False) -> Outputs:
    """Make ``identified.urdf``, ``parameters.yaml``, ``covariance.npz`` and ``result.json``.

    Parameters
    ----------
    found : Identification
        The result.
    dataset : Dataset
        The log of the identification.
    urdf : str
        Text of the identified description.
    allow_inconsistent : bool
        Whether a URDF is written although a finding is an error, such as efforts without gravity,
        or one of its bodies is inconsistent. Otherwise neither it nor a parameter file is made.

    See Also
    --------
    identify

    Examples
    --------
    >>> import numpy as np
    >>> from robot_dynamics import Dynamics, Robot
    >>> from robot_dynamics.identification import (EstimateSettings, dataset_from_arrays, identify,
    ...                                            make_outputs)
    >>> robot = Robot.from_urdf('urdf/planar_2r.urdf')
    >>> t, w = np.arange(0.0, 20.0, 0.01)[:, None], np.array([1.0, 1.7])
    >>> q, v, a = np.sin(w * t), w * np.cos(w * t), -w**2 * np.sin(w * t)
    >>> tau = Dynamics(robot).inverse_dynamics(q, v, a) + 0.3 * v
    >>> dataset = dataset_from_arrays(robot, t[:, 0], q, tau)
    >>> found = identify(dataset, robot, EstimateSettings(
    ...     friction='coulomb', armature=False, cutoff=5.0, lag=0.0))
    >>> with open('urdf/planar_2r.urdf') as file:
    ...     made = make_outputs(found, dataset, file.read())
    >>> sorted(made.files)
    ['covariance.npz', 'identified.urdf', 'parameters.yaml', 'result.json']
    """
    friction = found.model.plain_friction(motions_of(dataset, found.signals))
    robot = replace(found.identified_robot(), damping=friction.damping,
                    friction=friction.friction, armature=friction.armature)
    files: dict[str, bytes] = {}
    refused: RobotDynamicsError | None = None
    findings: tuple[Finding, ...] = ()
    try:
        if not allow_inconsistent:
            require_no_errors(found.findings)
        text, findings = identified_urdf(urdf, robot, friction,
                                         allow_inconsistent=allow_inconsistent)
        files[URDF] = text.encode()
        files[PARAMETERS] = parameter_file(text, robot).encode()
        if np.any(found.tilt):
            findings += (Finding(
                Severity.INFO, URDF, 'does not contain that gravity is '
                f'{np.degrees(np.linalg.norm(found.tilt)):.2f} degrees off its description',
                f'start nodes with {PARAMETERS}, which does'),)
    except (InertiaError, RecordingError) as error:
        refused = error
    files[COVARIANCE] = covariance_file(found)
    files[RESULT] = result_file(result_content(found, dataset, friction, refused))
    return Outputs(files, robot, friction, findings, refused)


def require_no_errors(findings: Iterable[Finding]) -> None:
    """Raise RecordingError for the first finding that is an error: the model must not be used."""
    for one in findings:
        if one.severity is Severity.ERROR:
            raise RecordingError(one.message, subject=one.subject, remedy=one.remedy)


def result_content(found: Identification, dataset: Dataset, friction: PlainFriction,
                   refused: RobotDynamicsError | None = None) -> dict[str, Any]:
    """Content of ``result.json``."""
    names = dataset.joint_names
    return {
        **found.to_dict(),
        'source': dataset.source, 'rows': dataset.count, 'duration': dataset.duration,
        'left_out': dict(dataset.counts),
        'joint_terms': {name: {'damping': float(friction.damping[k]),
                               'friction': float(friction.friction[k]),
                               'armature': float(friction.armature[k]),
                               'not_in_the_urdf': float(friction.lost[k])}
                        for k, name in enumerate(names)},
        'refused': None if refused is None else str(refused),
        'seconds': {stage: round(value, 3) for stage, value in found.seconds.items()},
    }


def result_file(content: Mapping[str, Any]) -> bytes:
    """JSON of ``result.json``."""
    return (json.dumps(finite(content), indent=1, allow_nan=False) + '\n').encode()


def finite(value: Any) -> Any:
    """Copy with null for values that JSON does not have: infinite ones and nan."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: finite(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(one) for one in value]
    return value


def covariance_file(found: Identification) -> bytes:
    """NPZ archive of parameters and covariances, without pickled objects.

    Names, values and covariance of all parameters, given the prior of the description; the
    same of the base parameters, without a prior; and B in base = B parameters.
    """
    content = io.BytesIO()
    np.savez_compressed(
        content, names=np.array(found.names), values=found.model.parameters,
        covariance=found.covariance, base_names=np.array(found.base.base_names),
        base_values=found.base_values, base_covariance=found.base_covariance,
        base_matrix=found.base.matrix)
    return content.getvalue()


def parameter_file(urdf: str, robot: Robot,
                   special: Mapping[str, Mapping[str, str]] | None = None) -> str:
    """ROS 2 parameter file for all nodes, as YAML: the URDF, and joints, base and gravity.

    ``special`` has further parameters of single nodes, by name. For gravity-compensated efforts,
    gravity was not identified and is left out: nodes then assume a level base.
    """
    values: dict[str, Any] = {'robot_description': urdf, 'joints': list(robot.joint_names),
              'base_link': robot.base_name}
    if np.any(robot.gravity):
        values['gravity'] = [float(x) for x in robot.gravity]
    sections = {'/**': values}
    sections.update({f'/**/{node}': dict(own) for node, own in (special or {}).items()})
    return _HEAD + yaml.safe_dump(
        {name: {'ros__parameters': one} for name, one in sections.items()}, allow_unicode=True,
        width=float('inf'), sort_keys=False)


def payload_file(payload: Payload) -> str:
    """ROS 2 parameter file with a payload, as YAML."""
    J = payload.inertia
    values = {'payload.mass': float(payload.mass),
              'payload.com': [float(x) for x in payload.com], 'payload.frame': payload.body,
              'payload.inertia': [float(J[i, j]) for i in range(3) for j in range(i, 3)]}
    return _PAYLOAD_HEAD + yaml.safe_dump({'/**': {'ros__parameters': values}}, allow_unicode=True,
                                  width=float('inf'), sort_keys=False)


def with_deviation(value: float, deviation: float) -> str:
    """Value and standard deviation as text, with two digits of the deviation: 2.8051 +- 0.0042."""
    if not math.isfinite(deviation):
        return f'{value:.3g} (not determined)'
    places = max(0, 1 - math.floor(math.log10(deviation))) if deviation > 0.0 else 3
    return f'{value:.{places}f} +- {deviation:.{places}f}'


def payload_facts(payload: Payload, joints: Sequence[str]) -> list[tuple[str, str]]:
    """What is known of a payload, as names and texts."""
    facts = [('mass', f'{payload.mass:.4g} kg, known' if payload.gains is not None else
              with_deviation(payload.mass, payload.deviations[0]) + ' kg')]
    facts += [(f'centre {axis}', with_deviation(float(value), float(spread) / payload.mass) + ' m')
              for axis, value, spread in zip('xyz', payload.com, payload.deviations[1:4],
                                             strict=True)]
    facts += [(f'inertia about the centre, {"xyz"[i]}{"xyz"[j]}', with_deviation(
        float(payload.inertia[i, j]), float(payload.inertia_deviations[i, j])) + ' kg m^2')
        for i in range(3) for j in range(i, 3)]
    if payload.gains is None or payload.gain_deviations is None:
        return [*facts, ('drive gains', 'cannot be separated from the mass: a gain that is 1 % '
                         'too large makes it 1 % too large. Weigh the payload, and give '
                         'payload.known_mass')]
    return [*facts, *((f'reported over true effort, {name}',
                       with_deviation(float(gain), float(spread)))
                      for name, gain, spread in zip(joints, payload.gains,
                                                    payload.gain_deviations, strict=True))]


def payload_text(payload: Payload, joints: Sequence[str]) -> str:
    """Lines on a payload, for a terminal."""
    return '\n'.join([f'payload on {payload.body}:', *(
        f'  {name}: {text}' for name, text in payload_facts(payload, joints))])
