# SPDX-License-Identifier: Apache-2.0
"""Files of an identification of elastic joints, with physically consistent bodies.

Among all parameters Pi with the identified base parameters, b = B Pi, those nearest to the
description are written if every body is consistent. Otherwise, with the covariance C::

    minimise  1/2 (B Pi - b)^T C^-1 (B Pi - b)  +  prior towards the description

over consistent bodies, as `robot_dynamics.identification.consistent` does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from robot_dynamics.dynamics.base_parameters import UNIDENTIFIABLE
from robot_dynamics.elastic.robot import (
    JOINT_PARAMETERS,
    ElasticRobot,
    elastic_joints_yaml,
    places,
)
from robot_dynamics.errors import (
    Finding,
    InertiaError,
    ParameterError,
    RecordingError,
    RobotDynamicsError,
    Severity,
)
from robot_dynamics.identification.consistent import (
    fit_consistent,
    impossible_bodies,
    prior_of,
)
from robot_dynamics.identification.elastic.dataset import ElasticDataset
from robot_dynamics.identification.elastic.result import ElasticIdentification
from robot_dynamics.identification.friction import PlainFriction
from robot_dynamics.identification.identified_urdf import identified_urdf
from robot_dynamics.identification.outputs import (
    PARAMETERS,
    RESULT,
    URDF,
    parameter_file,
    require_no_errors,
    result_file,
)
from robot_dynamics.model.arrays import FloatArray

#: The file of motors and springs.
ELASTIC_JOINTS = 'elastic_joints.yaml'
#: The only node with this parameter.
CONTROLLER = 'elastic_pd_controller'
#: Changes of base parameters above this number of standard deviations are reported.
MOVED = 3.0
#: Prior weight: one observation with an error as large as the parameters.
PRIOR_WEIGHT = 1.0
#: Smallest relative deviation of a base parameter, so that the iteration converges.
BEST_KNOWN = 1e-4
# Regularisation of correlations, some of which are nearly one.
_ALMOST = 1e-6


@dataclass(frozen=True, eq=False)
class ElasticOutputs:
    """Contents of the files by name, not yet written, and findings for the user.

    If ``refused`` gives a reason, there is only the file of the result, and the robot is None.
    """

    files: Mapping[str, bytes]
    robot: ElasticRobot | None
    findings: tuple[Finding, ...] = ()
    refused: RobotDynamicsError | None = None


def make_elastic_outputs(found: ElasticIdentification, data: ElasticDataset, urdf: str,
                         folder: Path, *, allow_inconsistent: bool = False) -> ElasticOutputs:
    """``identified.urdf``, ``elastic_joints.yaml``, ``parameters.yaml`` and ``result.json``.

    ``urdf`` is the text of the identified description, and ``folder`` that of the files, which
    the parameter file contains.
    """
    files: dict[str, bytes] = {}
    robot: ElasticRobot | None = None
    refused: RobotDynamicsError | None = None
    findings: tuple[Finding, ...] = ()
    try:
        robot, findings = _described(found, *parameters_with_bodies(
            found, only_nearest=allow_inconsistent))
        # After what no option allows.
        if not allow_inconsistent:
            require_no_errors(found.findings)
        links = robot.links
        # Friction of links stays as described, because that of motors is identified.
        text, more = identified_urdf(urdf, links, PlainFriction(
            links.damping, links.friction, links.armature, np.zeros(links.n)),
            allow_inconsistent=allow_inconsistent)
        findings += more
        files[URDF] = text.encode()
        files[ELASTIC_JOINTS] = elastic_joints_yaml(robot).encode()
        files[PARAMETERS] = parameter_file(text, links, {CONTROLLER: {
            'elastic_joints': str(folder.resolve() / ELASTIC_JOINTS)}}).encode()
    except (InertiaError, ParameterError, RecordingError) as error:
        robot, refused = None, error
    files[RESULT] = result_file(_content(found, data, robot, refused))
    return ElasticOutputs(files, robot, findings, refused)


def _described(found: ElasticIdentification, parameters: FloatArray, moved: float
               ) -> tuple[ElasticRobot, tuple[Finding, ...]]:
    """Robot with valid parameters, and findings on those that had to change."""
    findings = []
    if moved > MOVED:
        findings.append(Finding(
            Severity.WARNING, 'consistent bodies', 'have base parameters up to '
            f'{moved:.0f} standard deviations from the identified ones',
            'record a richer motion; result.json contains those found'))
    parameters = parameters.copy()
    names = found.robot.parameter_names('bodies')
    for k in range(10 * found.robot.n, len(names)):
        if parameters[k] > 0.0:
            continue
        if names[k].endswith(('/stiffness', '/rotor_inertia')):
            raise ParameterError(
                f'has the impossible estimate {parameters[k]:.3g}', subject=names[k],
                remedy='record more motion under load, or with finer encoders; check sign and '
                       'unit of the efforts, and that joints and motors belong together')
        if parameters[k] < 0.0:
            findings.append(Finding(Severity.INFO, names[k], f'came out as {parameters[k]:.3g}, '
                                    'and is written as 0'))
            parameters[k] = 0.0
    kept = [name for name, kind in found.classes.items() if kind == UNIDENTIFIABLE
            and name.endswith(JOINT_PARAMETERS)]
    if kept:
        findings.append(Finding(Severity.WARNING, ', '.join(kept), 'not determined by the '
                                f'recording; {ELASTIC_JOINTS} has the values of the description'))
    return found.robot.with_parameters(parameters, 'bodies'), tuple(findings)


def _content(found: ElasticIdentification, data: ElasticDataset, robot: ElasticRobot | None,
             refused: RobotDynamicsError | None) -> dict[str, object]:
    dataset, base = data.dataset, found.base
    return {
        **found.to_dict(),
        'partners': {name: list(base.partners(name)) for name, kind in found.classes.items()
                     if kind == 'combined'},
        'covariance': found.covariance.tolist(),
        'source': dataset.source, 'rows': dataset.count, 'duration': dataset.duration,
        'left_out': dict(dataset.counts),
        'written': None if robot is None else dict(zip(
            robot.parameter_names('bodies'), robot.parameters('bodies').tolist(), strict=True)),
        'refused': None if refused is None else str(refused),
    }


def parameters_with_bodies(found: ElasticIdentification, *, only_nearest: bool
                           ) -> tuple[FloatArray, float]:
    """Parameters, (14 n,) in the order ``'bodies'``, that a description can have.

    They have the identified base parameters, or are close to them: the second result is the
    largest change of a base parameter in standard deviations. With ``only_nearest``, the base
    parameters are kept even if bodies are inconsistent.
    """
    links, where = found.robot.links, places(found.robot.n, found.order)
    nearest = np.empty(len(where))
    nearest[where] = found.nearest_parameters()
    if only_nearest or not impossible_bodies(links.body_names, nearest[:10 * links.n]):
        return nearest, 0.0
    B = np.empty((found.base.rank, len(where)))
    B[:, where] = found.base.matrix
    Pi = _fitted(found, B)
    moved = np.abs(B @ Pi - found.values) / np.maximum(found.deviations, 1e-300)
    return Pi, float(np.max(moved, initial=0.0))


def _fitted(found: ElasticIdentification, B: FloatArray) -> FloatArray:
    rigid = 10 * found.robot.n
    described = found.robot.parameters('bodies')
    sd = np.maximum(found.deviations, 1e-300)
    correlation = found.covariance / np.outer(sd, sd) + _ALMOST * np.eye(len(sd))
    size = np.maximum(sd, BEST_KNOWN * np.abs(found.values))
    information = np.linalg.inv(correlation) / np.outer(size, size)
    H, h = B.T @ information @ B, B.T @ information @ found.values
    # Rotors and springs have the description as prior, too.
    others = described[rigid:]
    pull = np.zeros_like(others)
    pull[others > 0.0] = PRIOR_WEIGHT / others[others > 0.0] ** 2
    H[np.arange(rigid, len(H)), np.arange(rigid, len(H))] += pull
    h[rigid:] += pull * others
    Pi = fit_consistent(H, h, prior_of(described[:rigid].reshape(-1, 10)), PRIOR_WEIGHT).x
    # Parameters without any effect stay exactly as described.
    without = rigid + np.flatnonzero(~np.any(B[:, rigid:], axis=0))
    Pi[without] = described[without]
    return Pi
