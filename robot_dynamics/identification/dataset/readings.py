# SPDX-License-Identifier: Apache-2.0
"""Whether positions, velocities and efforts are plausible by themselves, without a model."""

from __future__ import annotations

import numpy as np

from robot_dynamics.errors import Finding, Severity
from robot_dynamics.identification.dataset.dataset import Dataset
from robot_dynamics.model.arrays import BoolArray, FloatArray
from robot_dynamics.model.robot import Robot, prismatic_joints

#: Velocities that come later than positions by more are told of, s.
LATE = 0.01
#: A velocity that is less than this part of the slope of the positions, or more than its
#: inverse, has another unit.
OTHER_UNIT = 0.5
#: Positions may leave the limits of the description by this part of their range; whose motion
#: is larger than the range by `DEGREES` is written in degrees.
BEYOND, DEGREES = 0.05, 8.0
#: An effort with fewer levels than this is a coarse one.
LEVELS = 64
#: An effort saturates that is at its very largest in this part of the rows at least, and in
#: so many rows.
SATURATED, SATURATED_ROWS = 0.01, 20
#: A joint that stands still in a larger part of the rows is told of; still is this part of its
#: largest speed.
STANDS, STILL = 0.3, 0.005

# Rows that are looked at.
_ROWS = 20_000


def reading_findings(dataset: Dataset, robot: Robot, lag: FloatArray, gain: FloatArray
                     ) -> tuple[Finding, ...]:
    """Judge the readings of a log.

    Parameters
    ----------
    dataset : Dataset
        The log.
    robot : Robot
        Its description, of which limits and kinds of joints count.
    lag, gain : ndarray, shape (n,)
        Of the measured velocities; see `signal_choice.compare_velocity`.

    Returns
    -------
    tuple of Finding
        What looks wrong, and what to set.
    """
    return (*_positions(dataset, robot), *_velocities(dataset, lag, gain), *_efforts(dataset),
            *_standing(dataset))


def _positions(dataset: Dataset, robot: Robot) -> list[Finding]:
    """Tell of positions outside the limits, and of degrees."""
    lower, upper = robot.limits.lower, robot.limits.upper
    low = np.min([np.min(s.position, axis=0) for s in dataset.segments], axis=0)
    high = np.max([np.max(s.position, axis=0) for s in dataset.segments], axis=0)
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
    """Tell of velocities that come late, or are of another unit or sign."""
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
        other = (np.abs(gain) < OTHER_UNIT) | (np.abs(gain) > 1.0 / OTHER_UNIT)
    if np.any(flipped):
        findings.append(Finding(Severity.WARNING, _named(dataset, flipped), 'velocity has the '
                                'other sign than the slope of the position',
                                'set velocity: position'))
    if np.any(other):
        size = float(np.median(np.abs(gain[other])))
        findings.append(Finding(Severity.WARNING, _named(dataset, other),
                                f'velocity is {size:.3g} times the slope of the position: '
                                'another unit', 'set velocity: position'))
    return findings


def _efforts(dataset: Dataset) -> list[Finding]:
    """Tell of efforts with few levels, and of those that saturate."""
    findings = []
    # Conversions between joints and motors leave no common levels.
    effort = np.concatenate([s.effort for s in dataset.segments])[:_ROWS]
    coarse = np.array([1 < len(np.unique(np.round(column, 9))) < LEVELS for column in effort.T])
    if np.any(coarse) and len(effort) > 4 * LEVELS:
        findings.append(Finding(Severity.INFO, _named(dataset, coarse),
                                f'effort has fewer than {LEVELS} levels: it tells little'))
    size = np.abs(effort)
    largest = np.max(size, axis=0)
    at_it = np.count_nonzero(size >= largest * (1.0 - 1e-12), axis=0)
    clipped = ((largest > 0.0) & (at_it >= SATURATED_ROWS) & (at_it >= SATURATED * len(effort))
               & ~coarse)
    if np.any(clipped):
        findings.append(Finding(
            Severity.WARNING, _named(dataset, clipped),
            f'effort saturates in {100 * np.max(at_it[clipped]) / len(effort):.0f} % of the rows: '
            'more was asked for than is written', 'record slower motions, or leave these times '
            'out with log.times'))
    return findings


def _standing(dataset: Dataset) -> list[Finding]:
    """Tell of joints that stand still for long, where friction may be anything."""
    # Encoders sampled faster than they count stand between two counts: look at 50 ms.
    step = max(1, round(0.05 / dataset.period))
    slow = [np.abs(s.position[step:] - s.position[:-step]) for s in dataset.segments
            if len(s.time) > step]
    if not slow:
        return []
    slow = np.concatenate(slow)
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
