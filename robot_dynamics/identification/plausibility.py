# SPDX-License-Identifier: Apache-2.0
"""Checks of logs and results: units, signs, gravity, signals, and negative friction.

A model may predict well and still be dangerous. Efforts with a wrong sign that consist mostly of
friction are predicted well by negative friction, and with its compensation an arm accelerates by
itself. For a joint that did not move, gravity is known at its position only.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import Finding, Severity
from robot_dynamics.identification.dataset.dataset import Dataset
from robot_dynamics.identification.friction import STORING
from robot_dynamics.identification.model import Model
from robot_dynamics.identification.observation_matrix import Stack
from robot_dynamics.identification.signal_selection import LATE, compare_velocity, excerpt
from robot_dynamics.identification.signals import SignalSettings, cutoff_of, motions_of
from robot_dynamics.identification.stops import on_stops
from robot_dynamics.model.arrays import BoolArray, FloatArray
from robot_dynamics.model.robot import Robot, prismatic_joints

#: Samples of the regression on the description.
SAMPLES = 3000
#: The regression must explain this fraction of the variance of the efforts.
EXPLAINED = 0.5
#: Joints with less than this fraction of the largest described effort are skipped.
LIGHT = 0.05
#: The bodies must explain this fraction beside friction.
OF_BODIES = 0.05
#: Multiple of the described efforts below which, or above the inverse of which, efforts have
#: another unit.
OTHER_UNIT = 0.2
#: Efforts have another unit if at least this number of joints share a factor, equal within the
#: second number and larger than the third: factors of wrong masses differ between joints.
MANY, ALIKE, COMMON_UNIT = 3, 0.1, 2.0
#: Gravity is missing if less than this fraction of it is in the efforts, and if it explains less
#: than this fraction of them.
NO_GRAVITY = 0.15
#: Multiple of the slope of positions below which, or above the inverse of which, velocities have
#: another unit.
OTHER_VELOCITY_UNIT = 0.5
#: Positions may exceed the limits by this fraction of their range. Positions that exceed the
#: limits by the factor `DEGREES` are in degrees.
BEYOND, DEGREES = 0.05, 8.0
#: Efforts with fewer levels are coarse.
LEVELS = 64
#: Efforts saturate if this fraction of the rows, and this number of rows, are at the maximum.
SATURATED, SATURATED_ROWS = 0.01, 20
#: Largest fraction of rows at standstill, below this fraction of the largest speed.
STANDS, STILL = 0.3, 0.005
#: Power of driving (negative) friction, as a fraction of the effort times the speed.
DRIVES = 0.05
#: Motion below which a joint counts as at rest, rad or m.
STOOD = 0.02
#: Largest lag between efforts and positions of one clock, s.
APART = 0.02

_UNITS = ('set effort.kind with torque_constant and gear_ratio; if efforts are N m, correct the '
          'masses of the description first')
# Number of rows in which the levels of efforts are counted.
_ROWS = 20_000


def plausibility(dataset: Dataset, robot: Robot) -> tuple[Finding, ...]:
    """Implausible units, signs and readings of a log, and the setting that corrects each."""
    dataset = excerpt(dataset)
    return (*_efforts(dataset, robot),
            *reading_findings(dataset, robot, *compare_velocity(dataset)))


def reading_findings(dataset: Dataset, robot: Robot, lag: FloatArray, gain: FloatArray
                     ) -> tuple[Finding, ...]:
    """Findings on positions, velocities and efforts by themselves, without a model.

    ``lag`` and ``gain`` of the measured velocities are those of `compare_velocity`, shape (n,).
    """
    return (*_positions(dataset, robot), *_velocities(dataset, lag, gain),
            *_effort_readings(dataset), *_standing(dataset))


def scale_findings(scales: Mapping[str, float], *, common: bool = True) -> list[Finding]:
    """Findings on signs and units, from the ratio of measured to described effort by joint.

    With ``common``, a factor that all joints share counts as another unit.
    """
    findings = []
    flipped = [name for name, scale in scales.items() if scale < 0.0]
    if flipped:
        findings.append(Finding(Severity.ERROR, ', '.join(flipped), 'effort has its sign flipped: '
                                'it falls where the description requires more',
                                'set effort.sign to -1 for it'))
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


def driving_finding(joint: str) -> Finding:
    """Finding on a joint that its identified friction drives."""
    return Finding(Severity.ERROR, joint, 'has a friction that drives instead of braking: '
                   'efforts and positions have different signs',
                   'set effort.sign to -1 for it, or correct the scale, zero and gear ratio of '
                   'its encoder')


def driving_friction(stack: Stack, model: Model) -> tuple[Finding, ...]:
    """Errors for joints that their identified friction drives instead of braking.

    Friction of any form dissipates power: an error for each joint with mean(f v) < -`DRIVES`
    rms(effort) rms(v).
    """
    speed = stack.speeds_of_rows()
    numbers = {feature: stack.first_feature + k for k, feature in enumerate(stack.features)}
    values = {numbers[feature]: value for feature, value in zip(
        model.features, model.friction, strict=True) if feature.term not in STORING}
    found = []
    for j, rows in enumerate(stack.joints):
        used = stack.used[:, j]
        if not np.any(used):
            continue
        x = np.array([values.get(int(k), 0.0) for k in rows.columns])
        v, y = speed[used, j], rows.y[used]
        power = float(np.mean((rows.A[used] @ x) * v))
        if power < -DRIVES * float(np.sqrt(np.mean(y ** 2) * np.mean(v ** 2))):
            found.append(driving_finding(model.robot.joint_names[j]))
    return tuple(found)


def still_joints(dataset: Dataset) -> tuple[str, ...]:
    """Names of the joints that stood still throughout the log."""
    low, high = dataset.extremes
    return tuple(name for name, moved in zip(dataset.joint_names, high - low, strict=True)
                 if moved < STOOD)


def late_efforts(signals: SignalSettings) -> tuple[Finding, ...]:
    """Warning if the lag between efforts and positions indicates different clocks."""
    if abs(signals.lag) <= APART:
        return ()
    side = 'after' if signals.lag > 0.0 else 'before'
    return (Finding(Severity.WARNING, 'effort',
                    f'comes {1e3 * abs(signals.lag):.0f} ms {side} the positions; the lag was '
                    'removed', 'stamp both by one clock: a controller would see a delay'),)


def _efforts(dataset: Dataset, robot: Robot) -> list[Finding]:
    """Findings on unit, sign and gravity of the efforts, by a regression on the description."""
    q, v, a, tau, free = _samples(dataset, robot)
    model = Dynamics(robot, armature=False)
    gravity = model.gravity_torque(q)
    moving = model.inverse_dynamics(q, v, a) - gravity
    scales, missing = {}, []
    required, weight = np.std(gravity + moving, axis=0), np.std(gravity, axis=0)
    for j, name in enumerate(dataset.joint_names):
        falling, swinging, effort, u = (x[free[:, j], j] for x in (gravity, moving, tau, v))
        # Descriptions of small links are often inaccurate.
        if not len(u) or required[j] < LIGHT * np.max(required):
            continue
        speed = max(float(np.sqrt(np.mean(u ** 2))), 1e-9)
        rest = np.stack([np.ones(len(u)), np.tanh(u / (0.03 * speed)), u], axis=1)
        part = _share(np.column_stack([falling + swinging, rest]), effort)
        friction = _share(rest, effort)
        # If friction alone explains the effort, the part of the bodies is meaningless.
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
    return scale_findings(scales)


def _samples(dataset: Dataset, robot: Robot
             ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, BoolArray]:
    """Filtered samples of the motion, its efforts, and a mask of joints off their stops."""
    cutoff = cutoff_of(dataset)
    motions = motions_of(dataset, SignalSettings(cutoff))
    # Filters have not settled at the ends.
    inner = [slice(motion.trim, motion.count - motion.trim) for motion in motions]
    columns = [np.concatenate([getattr(motion, name)[rows] for motion, rows
                               in zip(motions, inner, strict=True)])
               for name in ('q', 'v', 'a', 'effort')]
    columns.append(np.concatenate([~on_stops(robot, dataset, motion, cutoff)[rows]
                                   for motion, rows in zip(motions, inner, strict=True)]))
    step = max(1, len(columns[0]) // SAMPLES)
    q, v, a, effort, free = (column[::step] for column in columns)
    return q, v, a, effort, free


def _share(A: FloatArray, y: FloatArray) -> tuple[FloatArray, float] | None:
    """Parameters, and the fraction of the variance that A explains."""
    total = float(np.sum((y - y.mean()) ** 2))
    lengths = np.linalg.norm(A, axis=0)
    if total <= 0.0 or lengths[0] == 0.0:
        return None
    lengths[lengths == 0.0] = 1.0
    x = np.linalg.lstsq(A / lengths, y, rcond=1e-10)[0] / lengths
    return x, 1.0 - float(np.sum((y - A @ x) ** 2)) / total


def _positions(dataset: Dataset, robot: Robot) -> list[Finding]:
    """Findings on positions outside the limits, and in degrees."""
    lower, upper = robot.limits.lower, robot.limits.upper
    low, high = dataset.extremes
    turns = ~prismatic_joints(robot)
    bounded = np.isfinite(lower) & np.isfinite(upper)
    span = np.where(bounded, upper - lower, np.inf)
    size = np.maximum(np.abs(low), np.abs(high))
    limit = np.maximum(np.abs(lower), np.abs(upper))
    degrees = turns & bounded & (size > DEGREES * limit)
    if np.any(degrees) and not np.any(turns & bounded & (size > 120.0 * limit)):
        return [Finding(Severity.WARNING, _named(dataset, degrees),
                        f'positions look like degrees: up to {np.max(size[degrees]):.3g}, where '
                        f'limits are {np.max(limit[degrees]):.3g}',
                        'set position.scale: 0.017453292519943295')]
    outside = bounded & ((low < lower - BEYOND * span) | (high > upper + BEYOND * span))
    if not np.any(outside):
        return []
    return [Finding(Severity.WARNING, _named(dataset, outside),
                    'positions lie outside the limits of the description',
                    'check names, and position.offset, scale and side')]


def _velocities(dataset: Dataset, lag: FloatArray, gain: FloatArray) -> list[Finding]:
    """Findings on velocities that come late, or have another unit or sign."""
    findings = []
    late = np.abs(np.nan_to_num(lag)) > max(LATE, dataset.period)
    if np.any(late):
        worst = int(np.argmax(np.where(late, np.abs(lag), 0.0)))
        findings.append(Finding(
            Severity.WARNING, _named(dataset, late),
            f'velocity {"lags" if lag[worst] > 0 else "leads"} position by up to '
            f'{abs(lag[worst]):.2g} s', 'set velocity: position'))
    with np.errstate(invalid='ignore'):
        flipped = gain < 0.0
        other = (np.abs(gain) < OTHER_VELOCITY_UNIT) | (np.abs(gain) > 1.0 / OTHER_VELOCITY_UNIT)
    if np.any(flipped):
        findings.append(Finding(Severity.WARNING, _named(dataset, flipped), 'velocity has the '
                                'opposite sign of the slope of the position',
                                'set velocity: position'))
    if np.any(other):
        size = float(np.median(np.abs(gain[other])))
        findings.append(Finding(Severity.WARNING, _named(dataset, other),
                                f'velocity is {size:.3g} times the slope of the position: '
                                'another unit', 'set velocity: position'))
    return findings


def _effort_readings(dataset: Dataset) -> list[Finding]:
    """Findings on coarsely quantised efforts, and on efforts that saturate."""
    findings = []
    # Conversions between joints and motors leave no common levels.
    effort = np.concatenate([s.effort for s in dataset.segments])[:_ROWS]
    coarse = np.array([1 < len(np.unique(np.round(column, 9))) < LEVELS for column in effort.T])
    if np.any(coarse) and len(effort) > 4 * LEVELS:
        findings.append(Finding(Severity.INFO, _named(dataset, coarse),
                                f'effort has fewer than {LEVELS} levels: it carries little '
                                'information'))
    size = np.abs(effort)
    largest = np.max(size, axis=0)
    at_it = np.count_nonzero(size >= largest * (1.0 - 1e-12), axis=0)
    clipped = ((largest > 0.0) & (at_it >= SATURATED_ROWS) & (at_it >= SATURATED * len(effort))
               & ~coarse)
    if np.any(clipped):
        findings.append(Finding(
            Severity.WARNING, _named(dataset, clipped),
            f'effort saturates in {100 * np.max(at_it[clipped]) / len(effort):.0f} % of the rows: '
            'the motion required more', 'record slower motions, or leave these times '
            'out with log.times'))
    return findings


def _standing(dataset: Dataset) -> list[Finding]:
    """Findings on joints that stand still for long, where friction is undetermined."""
    # Encoders that are sampled faster than they update seem to be at rest, so compare over 50 ms.
    step = max(1, round(0.05 / dataset.period))
    moved = [np.abs(s.position[step:] - s.position[:-step]) for s in dataset.segments
             if len(s.time) > step]
    if not moved:
        return []
    slow = np.concatenate(moved)
    fast = np.percentile(slow, 99, axis=0)
    share = np.mean(slow <= STILL * fast, axis=0)
    still = (share > STANDS) & (fast > 0.0)
    if not np.any(still):
        return []
    return [Finding(Severity.INFO, _named(dataset, still),
                    f'stands still {100 * np.max(share[still]):.0f} % of the time, when friction '
                    'may be anything up to its limit', 'set estimate.velocity_threshold to leave '
                    'these rows out')]


def _named(dataset: Dataset, mask: BoolArray) -> str:
    return ', '.join(name for name, there in zip(dataset.joint_names, mask, strict=True) if there)
