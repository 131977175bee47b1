# SPDX-License-Identifier: Apache-2.0
"""Validation of models, identified or described, on recordings to which they were not fitted.

Every model predicts the same efforts, low-pass filtered alike, so that errors can be compared.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from robot_dynamics.control.feedback.drives import with_rotors
from robot_dynamics.errors import Finding, ParameterError, RecordingError, Severity
from robot_dynamics.identification.checks.alternatives import LAG_STEP, common_lag
from robot_dynamics.identification.checks.plausibility import late_efforts, plausibility
from robot_dynamics.identification.dataset.dataset import Dataset
from robot_dynamics.identification.friction import COULOMB_VELOCITY
from robot_dynamics.identification.model import Model
from robot_dynamics.identification.observation_matrix import Feature
from robot_dynamics.identification.outputs import PARAMETERS, RESULT
from robot_dynamics.identification.quality import (
    errors_in_use,
    grade,
    reading_noise,
    reference_efforts,
)
from robot_dynamics.identification.result import POOR, Residuals
from robot_dynamics.identification.rigid import require_motion
from robot_dynamics.identification.signal_selection import excerpt
from robot_dynamics.identification.signals import (
    Motion,
    SignalSettings,
    cutoff_of,
    low_pass,
    motions_of,
)
from robot_dynamics.identification.stops import on_stops
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import Robot, prismatic_joints
from robot_dynamics.model.yaml_text import read_yaml


@dataclass(frozen=True, eq=False)
class Candidate:
    """A model to validate, and the signal settings of its identification, if it was identified."""

    name: str
    model: Model
    signals: SignalSettings | None = None
    #: What a reader of its errors must know.
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, eq=False)
class Predicted:
    """One segment of a recording without its ends, with filtered efforts of shape (N, n).

    These are the measured efforts, and the ``efforts`` predicted by each model.
    """

    motion: Motion
    measured: FloatArray
    efforts: tuple[FloatArray, ...]


@dataclass(frozen=True, eq=False)
class Validation:
    """Result of `validate`: errors and verdict of each model on the same recording."""

    candidates: tuple[Candidate, ...]
    residuals: tuple[Residuals, ...]
    verdicts: tuple[str, ...]
    signals: SignalSettings
    parts: tuple[Predicted, ...]
    findings: tuple[Finding, ...]


def described_model(robot: Robot) -> Model:
    """Model of a description, with the damping, friction and armature of its joints."""
    terms = (('viscous', 0.0, robot.damping), ('coulomb', COULOMB_VELOCITY, robot.friction),
             ('armature', 0.0, robot.armature))
    features = [(Feature(axis, term, option), float(values[axis]))
                for term, option, values in terms for axis in np.flatnonzero(values).tolist()]
    return Model(robot, np.eye(robot.n), robot.joint_names,
                 tuple(feature for feature, _ in features), robot.gravity, robot.parameters,
                 np.array([value for _, value in features]), robot.parameters)


def described_candidate(name: str, robot: Robot, *, has_rotors: bool = True) -> Candidate:
    """Description as the nodes use it, with assumed rotors of joints that describe none.

    Without ``has_rotors``, efforts are those of torque sensors behind the gears.

    Examples
    --------
    >>> from robot_dynamics import Robot
    >>> from robot_dynamics.identification.validation import described_candidate
    >>> one = described_candidate('planar_2r', Robot.from_urdf('urdf/planar_2r.urdf'))
    >>> one.findings[0].message
    'has assumed rotors as in the nodes: joint1 0.3 kg m^2, joint2 0.15 kg m^2'
    """
    whole = with_rotors(robot) if has_rotors else robot
    assumed = [f'{joint} {inertia:.2g} {"kg" if slides else "kg m^2"}'
               for joint, inertia, given, slides in zip(
                   robot.joint_names, whole.armature, robot.armature, prismatic_joints(robot),
                   strict=True) if inertia != given]
    findings = (Finding(Severity.INFO, name, 'has assumed rotors as in the nodes: '
                        + ', '.join(assumed), 'describe them by armature; with torque sensors '
                        'behind the gears set estimate.armature: false'),) if assumed else ()
    return Candidate(name, described_model(whole), findings=findings)


def read_identified(folder: Path) -> Candidate:
    """Model in a folder of ``robot-dynamics identify``.

    Friction terms are those of the identification. Models of elastic joints and of servo drives
    have the joint terms of their URDF.
    """
    if not (folder / PARAMETERS).is_file():
        raise ParameterError(f'has no {PARAMETERS}', subject=str(folder),
                             remedy='give the --output of robot-dynamics identify; with '
                                    '--allow-inconsistent it writes impossible bodies too')
    values = read_yaml(folder / PARAMETERS, ParameterError, 'identify again'
                       )['/**']['ros__parameters']
    robot = Robot.from_urdf(values['robot_description'].encode(), joints=values['joints'],
                            base_link=values['base_link'])
    content = json.loads((folder / RESULT).read_text())
    if 'friction_axes' not in content:
        gravity = values.get('gravity', robot.gravity)
        return Candidate(str(folder), described_model(robot.with_gravity(gravity)))
    axes, options = content['friction_axes'], content['friction_options']
    names = tuple(axes)
    features = []
    for name, option in options.items():
        axis, _, term = name.rpartition('/')
        features.append(Feature(names.index(axis), term, option))
    parameters = content['parameters']
    inertial = np.array([parameters[name] for name in robot.parameter_names])
    model = Model(robot, np.array([axes[name] for name in names]), names, tuple(features),
                  np.array(content['gravity']), inertial,
                  np.array([parameters[name] for name in options]), np.array(content['loads']))
    return Candidate(str(folder), model, SignalSettings(**content['signals']))


def predicted(motion: Motion, efforts: Sequence[FloatArray], signals: SignalSettings
              ) -> Predicted:
    """Measured and predicted efforts, filtered as equations are, without the ends of a motion."""
    kept = slice(motion.trim, motion.count - motion.trim)
    measured, *others = (low_pass(one, motion.rate, signals.cutoff, signals.order)[kept]
                         for one in (motion.effort, *efforts))
    inner = Motion(motion.time[kept], motion.q[kept], motion.v[kept], motion.a[kept],
                   motion.effort[kept], motion.rate)
    return Predicted(inner, measured, tuple(others))


def validate(dataset: Dataset, candidates: Sequence[Candidate]) -> Validation:
    """Errors of models on a recording.

    Parameters
    ----------
    dataset : Dataset
        Motion and efforts of the joints of all models.
    candidates : sequence of Candidate
        The models. The filters are those of the first identified one; without one, the cut-off
        is that of the motion. A lag of the efforts is found and removed.

    Returns
    -------
    Validation
        Errors of each model, with samples at mechanical stops left out.

    See Also
    --------
    read_identified, described_model

    Examples
    --------
    >>> import numpy as np
    >>> from robot_dynamics import Dynamics, Robot
    >>> from robot_dynamics.identification import dataset_from_arrays
    >>> from robot_dynamics.identification.validation import Candidate, described_model, validate
    >>> robot = Robot.from_urdf('urdf/planar_2r.urdf')
    >>> t, w = np.arange(0.0, 20.0, 0.01)[:, None], np.array([1.0, 1.7])
    >>> q, v, a = np.sin(w * t), w * np.cos(w * t), -w**2 * np.sin(w * t)
    >>> dataset = dataset_from_arrays(robot, t[:, 0], q, Dynamics(robot).inverse_dynamics(q, v, a))
    >>> found = validate(dataset, [Candidate('planar_2r', described_model(robot))])
    >>> found.verdicts, found.residuals[0].total < 0.01
    (('good',), True)
    """
    for one in candidates:
        if one.model.robot.joint_names != dataset.joint_names:
            raise ParameterError('must have the joints of the recording, '
                                 + ', '.join(dataset.joint_names) + ', got '
                                 + ', '.join(one.model.robot.joint_names), subject=one.name,
                                 remedy='validate models of one arm at a time')
    require_motion(dataset)
    signals = next((one.signals for one in candidates if one.signals is not None),
                   SignalSettings(cutoff_of(dataset)))
    if not dataset.has_velocity:
        signals = replace(signals, velocity='position')
    if dataset.is_gravity_compensated:
        candidates = [replace(one, model=replace(one.model, gravity=np.zeros(3)))
                      for one in candidates]
    robot = candidates[0].model.robot
    lag = common_lag(excerpt(dataset), robot)
    if lag and abs(lag - signals.lag) > LAG_STEP:
        signals = replace(signals, lag=lag)
    motions = motions_of(dataset, signals)
    parts = tuple(predicted(motion, [one.model.efforts(motion) for one in candidates], signals)
                  for motion in motions)
    used = ~np.concatenate([
        on_stops(robot, dataset, motion, signals.cutoff)[motion.trim:motion.count - motion.trim]
        for motion in motions])
    measured = np.concatenate([part.measured for part in parts])
    if not np.any(used):
        raise RecordingError('has no samples away from mechanical stops', subject=dataset.source,
                             remedy='record a motion within the limits of the joints')
    residuals = []
    for k in range(len(candidates)):
        errors = measured - np.concatenate([part.efforts[k] for part in parts])
        residuals.append(Residuals.of(np.sum(errors ** 2, axis=0, where=used),
                                      np.sum(measured ** 2, axis=0, where=used),
                                      np.sum(used, axis=0)))
    reference, noise = reference_efforts(robot, dataset), reading_noise(dataset, signals)
    findings = (*dataset.findings, *(finding for one in candidates for finding in one.findings),
                *plausibility(dataset, robot, signals.lag), *late_efforts(signals))
    # A recording in another unit validates nothing.
    is_wrong = any(one.severity is Severity.ERROR for one in findings)
    verdicts = tuple(POOR if is_wrong else grade(
        one.total, errors_in_use(one, reference, noise)) for one in residuals)
    return Validation(tuple(candidates), tuple(residuals), verdicts, signals, parts, findings)
