# SPDX-License-Identifier: Apache-2.0
"""Checks of measured efforts against those of the description: unit, sign and gravity."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import Finding, Severity
from robot_dynamics.identification.checks.alternatives import (
    Alternative,
    compensated_finding,
    samples_of,
)
from robot_dynamics.identification.dataset.dataset import Dataset
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import Robot

#: Samples of the regression on the description.
SAMPLES = 3000
#: The regression must explain this fraction of the variance of the efforts.
EXPLAINED = 0.5
#: Joints with less than this fraction of the largest described effort are skipped.
LIGHT = 0.05
#: The bodies must explain this fraction beside friction: in joints with gravity, and in joints
#: without it, where imperfect friction columns explain accelerations too.
OF_BODIES, OF_INERTIA = 0.05, 0.3
#: Multiple of the described efforts below which, or above the inverse of which, efforts have
#: another unit.
OTHER_UNIT = 0.2
#: Efforts have another unit if at least this number of joints share a factor, equal within the
#: second number and larger than the third: factors of wrong masses differ between joints.
MANY, ALIKE, COMMON_UNIT = 3, 0.1, 2.0
#: Gravity is missing if less than this fraction of it is in the efforts, and if it explains less
#: than this fraction of them.
NO_GRAVITY = 0.15
#: Gravity is visible if its part beside other columns is this multiple of the remaining errors.
VISIBLE = 2.0
#: Gravity below this multiple of the remaining errors is not in the efforts.
HIDDEN = 0.5

_UNITS = ('set effort.kind with torque_constant and gear_ratio; if efforts are N m, correct the '
          'masses of the description first')


def described_findings(dataset: Dataset, robot: Robot, lag: float = 0.0,
                       corrected: Alternative | None = None) -> list[Finding]:
    """Findings on unit, sign and gravity of the efforts, by a regression on the description.

    ``lag`` is that of the efforts, s; ``corrected`` is the log without another mistake.
    """
    if corrected is None:
        samples = samples_of(dataset, robot, lag)
    else:
        samples, robot = corrected.samples, corrected.robot
    samples = samples.rows(np.any(samples.free, axis=1), SAMPLES)
    model = Dynamics(robot, armature=False)
    gravity = model.gravity_torque(samples.q)
    moving = model.inverse_dynamics(samples.q, samples.v, samples.a) - gravity
    weight, required = np.std(gravity, axis=0), np.std(gravity + moving, axis=0)
    scales, seen, missing = {}, 0, []
    for j, name in enumerate(dataset.joint_names):
        falling, swinging, effort, v = (x[samples.free[:, j], j] for x in (
            gravity, moving, samples.effort, samples.v))
        # Descriptions of small links are often inaccurate.
        if not len(v) or required[j] < LIGHT * np.max(required):
            continue
        speed = max(float(np.sqrt(np.mean(v ** 2))), 1e-9)
        rest = np.stack([np.ones(len(v)), np.tanh(v / (0.03 * speed)), v], axis=1)
        is_heavy = weight[j] >= max(LIGHT * np.max(weight), 1e-9)
        if is_heavy and not dataset.is_gravity_compensated:
            share = _gravity_share(falling, swinging, rest, effort)
            seen += share is not None
            if share is not None and share < NO_GRAVITY:
                missing.append(name)
                continue
        part, friction = _fit(np.column_stack([falling + swinging, rest]), effort), \
            _fit(rest, effort)
        # If friction alone explains the effort, the part of the bodies is meaningless.
        if part is not None and friction is not None and part[1] >= EXPLAINED \
                and part[1] - friction[1] >= (OF_BODIES if is_heavy else OF_INERTIA):
            scales[name] = float(part[0][0])
    if missing and len(missing) >= 0.5 * seen:
        return [compensated_finding(', '.join(missing))]
    return scale_findings(scales)


def scale_findings(scales: Mapping[str, float], *, common: bool = True) -> list[Finding]:
    """Findings on signs and units, from the ratio of measured to described effort by joint.

    With ``common``, a factor that all joints share counts as another unit.
    """
    findings = []
    flipped = [name for name, scale in scales.items() if scale < 0.0]
    if flipped:
        findings.append(Finding(Severity.ERROR, ', '.join(flipped), 'effort has its sign flipped: '
                                'it falls where the description requires more',
                                'multiply its effort.sign by -1'))
    sizes = {name: abs(scale) for name, scale in scales.items()}
    other = {name: size for name, size in sizes.items()
             if not OTHER_UNIT < size < 1.0 / OTHER_UNIT}
    middle = float(np.median(list(sizes.values()))) if sizes else 1.0
    alike = len(sizes) >= MANY and max(abs(size / middle - 1.0) for size in sizes.values()) < ALIKE
    if other:
        findings.append(Finding(
            Severity.ERROR, ', '.join(other), 'efforts look like amperes or motor torques: '
            + ', '.join(f'{size:.3g}' for size in other.values())
            + ' times the effort of the description', _UNITS))
    elif common and alike and not 1.0 / COMMON_UNIT < middle < COMMON_UNIT:
        findings.append(Finding(
            Severity.ERROR, 'effort', f'is {middle:.3g} times the effort of the description in '
            'all joints: amperes or motor torques, or every mass is wrong', _UNITS))
    return findings


def _gravity_share(falling: FloatArray, swinging: FloatArray, rest: FloatArray,
                   effort: FloatArray) -> float | None:
    """Fraction of the described gravity that is in the efforts of a joint; None if invisible.

    It is relative to the fraction of the inertial efforts, if these are visible: with another
    unit, both are small.
    """
    whole = _fit(np.column_stack([falling, swinging, rest]), effort)
    own = _fit(np.column_stack([swinging, rest]), effort)
    across = _fit(np.column_stack([swinging, rest]), falling)
    if whole is None or own is None or across is None:
        return None
    errors = np.std(effort) * np.sqrt(max(1.0 - whole[1], 0.0))
    beside = np.std(falling) * np.sqrt(max(1.0 - across[1], 0.0))
    if beside < VISIBLE * errors or own[1] < EXPLAINED:
        return None
    if whole[1] - own[1] >= NO_GRAVITY:
        return 1.0
    friction = _fit(rest, effort)
    shares = abs(whole[0][:2])
    if friction is not None and own[1] - friction[1] >= OF_BODIES:
        return float(shares[0] / min(shares[1], 1.0))
    # Without inertial efforts, a small gravity may be one in another unit.
    return float(shares[0]) if shares[0] * beside < HIDDEN * errors else 1.0


def _fit(A: FloatArray, y: FloatArray) -> tuple[FloatArray, float] | None:
    """Parameters, and the fraction of the variance that A explains."""
    total = float(np.sum((y - y.mean()) ** 2))
    lengths = np.linalg.norm(A, axis=0)
    if total <= 0.0 or lengths[0] == 0.0:
        return None
    lengths[lengths == 0.0] = 1.0
    x = np.linalg.lstsq(A / lengths, y, rcond=1e-10)[0] / lengths
    return x, 1.0 - float(np.sum((y - A @ x) ** 2)) / total
