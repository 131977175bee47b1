# SPDX-License-Identifier: Apache-2.0
"""``make_outputs``: everything an identification leaves behind but the report."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from robot_dynamics.errors import Finding, InertiaError, Severity
from robot_dynamics.identification.dataset import Dataset
from robot_dynamics.identification.outputs.covariance import covariance_file
from robot_dynamics.identification.outputs.parameter_file import parameter_file
from robot_dynamics.identification.outputs.plain_friction import PlainFriction, plain_friction
from robot_dynamics.identification.outputs.urdf import identified_urdf
from robot_dynamics.identification.result import Identification
from robot_dynamics.model.robot import Robot

#: Names of the files.
URDF, PARAMETERS, COVARIANCE, RESULT = ('identified.urdf', 'parameters.yaml', 'covariance.npz',
                                        'result.json')


@dataclass(frozen=True, eq=False)
class Outputs:
    """Files, not yet written.

    Parameters
    ----------
    files : mapping of str to bytes
        Contents by name.
    robot : Robot
        What the URDF and the parameter file describe, joint terms and gravity included.
    friction : PlainFriction
        Joint terms of a description.
    findings : tuple of Finding
        What a user should know about the files.
    refused : InertiaError, optional
        Why there is neither a URDF nor a parameter file.
    """

    files: Mapping[str, bytes]
    robot: Robot
    friction: PlainFriction
    findings: tuple[Finding, ...] = ()
    refused: InertiaError | None = None


def make_outputs(found: Identification, dataset: Dataset, urdf: str, *,
                 allow_inconsistent: bool = False) -> Outputs:
    """Make ``identified.urdf``, ``parameters.yaml``, ``covariance.npz`` and ``result.json``.

    Parameters
    ----------
    found : Identification
        The result.
    dataset : Dataset
        What it was made of.
    urdf : str
        Text of the description that was identified.
    allow_inconsistent : bool
        Whether there is a URDF though a body of it cannot exist. Without, there is none, and
        no parameter file.

    Returns
    -------
    Outputs
        The files.
    """
    friction = plain_friction(found.model, dataset, found.signals)
    robot = replace(found.identified_robot(), damping=friction.damping,
                    friction=friction.friction, armature=friction.armature)
    files: dict[str, bytes] = {}
    refused, findings = None, ()
    try:
        text, findings = identified_urdf(urdf, robot, friction,
                                         allow_inconsistent=allow_inconsistent)
        files[URDF] = text.encode()
        files[PARAMETERS] = parameter_file(text, robot).encode()
        if np.any(found.tilt):
            findings += (Finding(
                Severity.INFO, URDF, 'does not say that gravity is '
                f'{np.degrees(np.linalg.norm(found.tilt)):.2f} degrees off its description',
                f'give nodes {PARAMETERS}, which does'),)
    except InertiaError as error:
        refused = error
    files[COVARIANCE] = covariance_file(found)
    files[RESULT] = (json.dumps(finite(result_content(found, dataset, friction, refused)),
                                indent=1, allow_nan=False) + '\n').encode()
    return Outputs(files, robot, friction, findings, refused)


def result_content(found: Identification, dataset: Dataset, friction: PlainFriction,
                   refused: InertiaError | None = None) -> dict[str, Any]:
    """Return all that ``result.json`` says."""
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


def finite(value: Any) -> Any:
    """Return the same with null for what JSON cannot say: infinite, and no number."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: finite(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(one) for one in value]
    return value
