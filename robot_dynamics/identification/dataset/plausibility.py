# SPDX-License-Identifier: Apache-2.0
"""Whether a log can be what its settings say: torques, of the right sign, with gravity."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import Finding, Severity
from robot_dynamics.identification.dataset.dataset import Dataset
from robot_dynamics.identification.dataset.readings import reading_findings
from robot_dynamics.model.arrays import BoolArray, FloatArray
from robot_dynamics.model.robot import Robot

#: Samples that are looked at.
SAMPLES = 3000
#: A regression on the description has to explain this share to mean anything.
EXPLAINED = 0.5
#: Of joints that are asked for less than this part of the most, nothing is said.
LIGHT = 0.05
#: And bodies this share of it, beside friction.
OF_BODIES = 0.05
#: Efforts below this part of what the description asks for, or above its inverse, have
#: another unit.
OTHER_UNIT = 0.2
#: So many joints with efforts that are off the description by one factor, this much apart, and
#: beyond this one, have another unit, too: wrong masses are off by different ones.
MANY, ALIKE, COMMON_UNIT = 3, 0.1, 2.0
#: Gravity counts as missing where less than this part of it is seen, and it explains less than
#: this share of the effort.
NO_GRAVITY = 0.15

_UNITS = ('set effort.kind with torque_constant and gear_ratio; where efforts are N m, mend the '
          'masses of the description first')


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
    from robot_dynamics.identification.signal_selection import compare_velocity, excerpt
    dataset = excerpt(dataset)
    return (*_efforts(dataset, robot),
            *reading_findings(dataset, robot, *compare_velocity(dataset)))


def _efforts(dataset: Dataset, robot: Robot) -> list[Finding]:
    """Judge unit, sign and gravity of the efforts by a regression on the description."""
    q, v, a, tau, free = _samples(dataset, robot)
    model = Dynamics(robot)
    gravity = model.gravity_torque(q)
    moving = model.inverse_dynamics(q, v, a) - gravity
    scales, missing = {}, []
    # Small links are described carelessly; what an arm carries is not.
    asked, weight = np.std(gravity + moving, axis=0), np.std(gravity, axis=0)
    for j, name in enumerate(dataset.joint_names):
        falling, swinging, effort, u = (x[free[:, j], j] for x in (gravity, moving, tau, v))
        if not len(u) or asked[j] < LIGHT * np.max(asked):
            continue
        speed = max(float(np.sqrt(np.mean(u ** 2))), 1e-9)
        rest = np.stack([np.ones(len(u)), np.tanh(u / (0.03 * speed)), u], axis=1)
        part = _share(np.column_stack([falling + swinging, rest]), effort)
        friction = _share(rest, effort)
        # Where friction alone explains the effort, the bodies' part of it means nothing.
        if part is None or part[1] < EXPLAINED or friction is None \
                or part[1] - friction[1] < OF_BODIES:
            continue
        scales[name] = float(part[0][0])
        if dataset.is_gravity_compensated \
                or weight[j] < LIGHT * np.max(weight):
            continue
        split = _share(np.column_stack([falling, swinging, rest]), effort)
        own = _share(np.column_stack([swinging, rest]), effort)
        if split is not None and own is not None and own[1] > EXPLAINED \
                and split[1] - own[1] < NO_GRAVITY \
                and abs(split[0][0]) < NO_GRAVITY * abs(split[0][1]):
            missing.append(name)
    if missing and len(missing) >= 0.5 * len(scales):
        return [Finding(Severity.ERROR, ', '.join(missing), 'effort is already '
                        'gravity-compensated: it does not change with the pose',
                        'set effort.kind: gravity_compensated')]
    return _of_scales(scales)


def _of_scales(scales: Mapping[str, float]) -> list[Finding]:
    """Judge signs and units by how many times the efforts are what the description asks for."""
    findings = []
    flipped = [name for name, scale in scales.items() if scale < 0.0]
    if flipped:
        findings.append(Finding(Severity.ERROR, ', '.join(flipped), 'sign flipped: effort '
                                'falls where the description asks for more',
                                'set effort.sign to -1 for it'))
    sizes = {name: abs(scale) for name, scale in scales.items()}
    other = {name: size for name, size in sizes.items()
             if not OTHER_UNIT < size < 1.0 / OTHER_UNIT}
    common = float(np.median(list(sizes.values()))) if sizes else 1.0
    alike = len(sizes) >= MANY and max(abs(size / common - 1.0) for size in sizes.values()) < ALIKE
    if other:
        findings.append(Finding(
            Severity.ERROR, ', '.join(other), 'these look like amperes or motor torques: '
            + ', '.join(f'{size:.3g}' for size in other.values())
            + ' times what the description asks for', _UNITS))
    elif alike and not 1.0 / COMMON_UNIT < common < COMMON_UNIT:
        findings.append(Finding(
            Severity.ERROR, 'effort', f'is {common:.3g} times what the description asks for, in '
            'all joints alike: amperes or motor torques, or every mass is off', _UNITS))
    return findings


def _samples(dataset: Dataset, robot: Robot
             ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, BoolArray]:
    """Return some motion, filtered, its efforts, and where each joint lies on no stop."""
    from robot_dynamics.identification.signals import SignalSettings, cutoff_of, motions_of
    from robot_dynamics.identification.stops import on_stops
    cutoff = cutoff_of(dataset)
    motions = motions_of(dataset, SignalSettings(cutoff))
    # Filters have not settled at the ends: accelerations there are wild.
    inner = [slice(trim, motion.count - trim) for motion in motions
             for trim in (int(min(0.5 * motion.rate, 0.1 * motion.count)),)]
    columns = [np.concatenate([getattr(motion, name)[rows] for motion, rows
                               in zip(motions, inner, strict=True)])
               for name in ('q', 'v', 'a', 'effort')]
    columns.append(np.concatenate([~on_stops(robot, dataset, motion, cutoff)[rows]
                                   for motion, rows in zip(motions, inner, strict=True)]))
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
