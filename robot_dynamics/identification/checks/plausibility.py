# SPDX-License-Identifier: Apache-2.0
"""Checks of logs and results: units, signs, gravity, signals, and negative friction.

A model may predict well and still be dangerous. Efforts with a wrong sign that consist mostly of
friction are predicted well by negative friction, and with its compensation an arm accelerates by
itself. For a joint that did not move, gravity is known at its position only.
"""

from __future__ import annotations

import numpy as np

from robot_dynamics.errors import Finding, Severity
from robot_dynamics.identification.checks.alternatives import likely_mistake
from robot_dynamics.identification.checks.described_efforts import described_findings
from robot_dynamics.identification.dataset.dataset import Dataset
from robot_dynamics.identification.friction import STORING
from robot_dynamics.identification.model import Model
from robot_dynamics.identification.observation_matrix import Stack
from robot_dynamics.identification.signal_selection import LATE, compare_velocity, excerpt
from robot_dynamics.identification.signals import SignalSettings
from robot_dynamics.model.arrays import BoolArray, FloatArray
from robot_dynamics.model.robot import Robot, prismatic_joints

#: Multiple of the slope of positions below which, or above the inverse of which, velocities have
#: another unit.
OTHER_VELOCITY_UNIT = 0.5
#: Positions may exceed the limits by the first fraction of their range, and can certainly not
#: exceed them by the second. Positions between these multiples of the limits are in degrees.
BEYOND, IMPOSSIBLE, DEGREES, MOST_DEGREES = 0.05, 1.0, 3.0, 120.0
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

# Number of rows in which the levels of efforts are counted.
_ROWS = 20_000


def plausibility(dataset: Dataset, robot: Robot, lag: float = 0.0) -> tuple[Finding, ...]:
    """Implausible units, signs and readings of a log, and the setting that corrects each.

    ``lag`` is that of the efforts, s.
    """
    dataset = excerpt(dataset)
    mistake = likely_mistake(dataset, robot, lag)
    likely = () if mistake is None else (mistake.finding,)
    is_certain = mistake is not None and mistake.finding.severity is Severity.ERROR
    # The masses of the description count too: for other mistakes in the log without a certain one.
    described = described_findings(dataset, robot, lag, mistake if is_certain else None)
    efforts = (*likely, *described) if is_certain else described or likely
    return (*efforts, *reading_findings(dataset, robot, *compare_velocity(dataset)))


def reading_findings(dataset: Dataset, robot: Robot, lag: FloatArray, gain: FloatArray
                     ) -> tuple[Finding, ...]:
    """Findings on positions, velocities and efforts by themselves, without a model.

    ``lag`` and ``gain`` of the measured velocities are those of `compare_velocity`, shape (n,).
    """
    return (*_positions(dataset, robot), *_velocities(dataset, lag, gain),
            *_effort_readings(dataset), *_standing(dataset))


def driving_finding(joint: str) -> Finding:
    """Finding on a joint that its identified friction drives."""
    return Finding(Severity.ERROR, joint, 'has a friction that drives instead of braking: '
                   'efforts and positions have different signs',
                   'multiply its effort.sign by -1, or correct the scale, zero and gear ratio of '
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


def _positions(dataset: Dataset, robot: Robot) -> list[Finding]:
    """Findings on positions outside the limits, and in degrees."""
    lower, upper = robot.limits.lower, robot.limits.upper
    low, high = dataset.extremes
    turns = ~prismatic_joints(robot)
    bounded = np.isfinite(lower) & np.isfinite(upper)
    span = np.where(bounded, upper - lower, np.inf)
    size = np.maximum(np.abs(low), np.abs(high))
    limit = np.maximum(np.abs(lower), np.abs(upper))
    beyond = np.where(bounded, np.maximum(lower - low, high - upper), 0.0)
    impossible, outside = beyond > IMPOSSIBLE * span, beyond > BEYOND * span
    degrees = turns & impossible & (size > DEGREES * limit) & (size < MOST_DEGREES * limit)
    if np.any(degrees):
        return [Finding(Severity.ERROR, _named(dataset, degrees),
                        f'positions look like degrees: up to {np.max(size[degrees]):.3g}, where '
                        f'limits are {np.max(limit[degrees]):.3g}',
                        f'set position.scale: {np.pi / 180.0!r}')]
    if np.any(impossible):
        return [Finding(Severity.ERROR, _named(dataset, impossible),
                        f'positions lie beyond the limits of the description by more than their '
                        f'range: up to {np.max(size[impossible]):.3g}, where limits are '
                        f'{np.max(limit[impossible]):.3g}',
                        'check names, and position.offset, scale and side')]
    if np.any(outside):
        return [Finding(Severity.WARNING, _named(dataset, outside),
                        'positions lie outside the limits of the description',
                        'check names, and position.offset, scale and side')]
    return []


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
    effort = np.concatenate([s.effort for s in dataset.segments])[:_ROWS]
    coarse = effort_steps(dataset) > 0.0
    if np.any(coarse):
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


def effort_steps(dataset: Dataset) -> FloatArray:
    """Smallest step of efforts with fewer than `LEVELS` levels, 0 for others, shape (n,)."""
    # Conversions between joints and motors leave no common levels.
    effort = np.concatenate([s.effort for s in dataset.segments])[:_ROWS]
    steps = np.zeros(dataset.n)
    for j, column in enumerate(effort.T):
        levels = np.unique(np.round(column, 9))
        if 1 < len(levels) < LEVELS and len(effort) > 4 * LEVELS:
            steps[j] = np.min(np.diff(levels))
    return steps


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
