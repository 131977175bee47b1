# SPDX-License-Identifier: Apache-2.0
"""Whether a log can be what its settings say: torques, of the right sign, with gravity."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.identification.dataset.dataset import Dataset
from robot_dynamics.identification.dataset.readings import reading_findings
from robot_dynamics.model.findings import Finding, Severity
from robot_dynamics.model.robot import Robot

FloatArray = NDArray[np.float64]

#: Samples that are looked at.
SAMPLES = 3000
#: A regression on the description has to explain this share to mean anything.
EXPLAINED = 0.5
#: Efforts below this part of what the description asks for, or above its inverse, have
#: another unit.
OTHER_UNIT = 0.2
#: Gravity counts as missing where less than this part of it is seen.
NO_GRAVITY = 0.15


def plausibility(dataset: Dataset, robot: Robot) -> tuple[Finding, ...]:
    """Compare a log with what the description of the robot would have done.

    Parameters
    ----------
    dataset : Dataset
        The log.
    robot : Robot
        Its description.

    Returns
    -------
    tuple of Finding
        What looks wrong, and what to set.
    """
    from robot_dynamics.identification.signal_choice import compare_velocity, excerpt
    dataset = excerpt(dataset)
    return (*_efforts(dataset, robot),
            *reading_findings(dataset, robot, *compare_velocity(dataset)))


def _efforts(dataset: Dataset, robot: Robot) -> list[Finding]:
    """Judge unit, sign and gravity of the efforts by a regression on the description."""
    q, v, a, tau = _samples(dataset)
    model = Dynamics(robot)
    gravity = model.gravity_torque(q)
    moving = model.inverse_dynamics(q, v, a) - gravity
    scales, signs, missing = [], [], []
    for j, name in enumerate(dataset.joint_names):
        speed = max(float(np.sqrt(np.mean(v[:, j] ** 2))), 1e-9)
        rest = np.stack([np.ones(len(q)), np.tanh(v[:, j] / (0.03 * speed)), v[:, j]], axis=1)
        both = gravity[:, j] + moving[:, j]
        part = _share(np.column_stack([both, rest]), tau[:, j])
        if np.std(gravity[:, j]) < 0.05 * np.max(np.std(gravity, axis=0)) or part is None:
            continue
        scale, explained = part[0][0], part[1]
        if explained < EXPLAINED:
            continue
        scales.append(abs(scale))
        signs.append((name, np.sign(scale)))
        if dataset.is_gravity_compensated:
            continue
        split = _share(np.column_stack([gravity[:, j], moving[:, j], rest]), tau[:, j])
        own = _share(np.column_stack([moving[:, j], rest]), tau[:, j])
        if split is not None and own is not None and own[1] > EXPLAINED \
                and abs(split[0][0]) < NO_GRAVITY * abs(split[0][1]):
            missing.append(name)
    findings = []
    flipped = [name for name, sign in signs if sign < 0]
    if missing and len(missing) >= 0.5 * max(len(scales), 1):
        return [Finding(Severity.WARNING, ', '.join(missing), 'effort is already '
                        'gravity-compensated: it does not change with the pose',
                        'set effort.kind: gravity_compensated')]
    if flipped:
        findings.append(Finding(Severity.WARNING, ', '.join(flipped), 'sign flipped: effort '
                                'falls where the description asks for more',
                                'set effort.sign to -1 for it'))
    if scales and not OTHER_UNIT < float(np.median(scales)) < 1.0 / OTHER_UNIT:
        size = float(np.median(scales))
        findings.append(Finding(
            Severity.WARNING, 'effort', f'these look like amperes or motor torques: {size:.3g} '
            'times what the description asks for',
            'set effort.kind with torque_constant and gear_ratio'))
    return findings


def _samples(dataset: Dataset) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return some motion, filtered, and its efforts."""
    from robot_dynamics.identification.signals import SignalSettings, cutoff_of, motions_of
    motions = motions_of(dataset, SignalSettings(cutoff_of(dataset)))
    # Filters have not settled at the ends: accelerations there are wild.
    inner = [slice(trim, motion.count - trim) for motion in motions
             for trim in (int(min(0.5 * motion.rate, 0.1 * motion.count)),)]
    columns = [np.concatenate([getattr(motion, name)[rows] for motion, rows
                               in zip(motions, inner, strict=True)])
               for name in ('q', 'v', 'a', 'effort')]
    step = max(1, len(columns[0]) // SAMPLES)
    return tuple(column[::step] for column in columns)


def _share(A: FloatArray, y: FloatArray) -> tuple[FloatArray, float] | None:
    """Return the parameters and the share of the variance that A explains."""
    total = float(np.sum((y - y.mean()) ** 2))
    lengths = np.linalg.norm(A, axis=0)
    if total <= 0.0 or lengths[0] == 0.0:
        return None
    lengths[lengths == 0.0] = 1.0
    x = np.linalg.lstsq(A / lengths, y, rcond=1e-10)[0] / lengths
    return x, 1.0 - float(np.sum((y - A @ x) ** 2)) / total
