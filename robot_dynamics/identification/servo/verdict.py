# SPDX-License-Identifier: Apache-2.0
"""The verdict on drives, and where they would have gone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robot_dynamics.identification.quality import OVERFIT, grade
from robot_dynamics.identification.result import FAIR, POOR
from robot_dynamics.identification.servo.log import ServoLog
from robot_dynamics.identification.servo.output_error import OutputError, simulate_servos
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import Robot


@dataclass(frozen=True, eq=False)
class DriveVerdict:
    """Whether to use drives.

    Parameters
    ----------
    verdict : {'good', 'fair', 'poor'}
        Whether to.
    reasons : tuple of str
        Why.
    motion : ndarray, shape (n,)
        Mean absolute deviation of the measured positions from their mean, rad or m: what a
        servo that stands still would be off by.
    in_sample, validation : float
        Mean errors of simulated positions by that, of all joints: of the logs as they are, and
        of halves simulated with what the other halves tell.
    worst : (str, float)
        The joint that is furthest off where nothing was seen, and its error by its motion.
    """

    verdict: str
    reasons: tuple[str, ...]
    motion: FloatArray
    in_sample: float
    validation: float
    worst: tuple[str, float]


@dataclass(frozen=True, eq=False)
class Simulated:
    """One log, and where its servos would have gone.

    Parameters
    ----------
    log : ServoLog
        The log.
    fitted : ndarray, shape (N, n)
        Positions with the drives identified; nan where a joint ran away.
    held : ndarray, shape (N, n)
        The same with the drives that the other halves of all logs tell, begun anew in the
        middle.
    """

    log: ServoLog
    fitted: FloatArray
    held: FloatArray


def judge_drives(found: OutputError, logs: Sequence[ServoLog]) -> DriveVerdict:
    """Judge drives by how far simulated positions are off, in parts of the motion.

    Parameters
    ----------
    found : OutputError
        The drives.
    logs : sequence of ServoLog
        What they were identified from.
    """
    position = np.concatenate([log.position for log in logs])
    motion = np.mean(np.abs(position - np.mean(position, axis=0)), axis=0)
    inside, outside = (float(np.mean(error / motion))
                       for error in (found.mean_error, found.validation))
    reasons = [f'simulated from commands alone, positions are {100 * outside:.3g} % of the motion '
               f'off in halves that were not seen, and {100 * inside:.3g} % in what was fitted']
    joints = found.validation / motion
    # The first joint that ran away, if one did.
    worst = int(np.argmax(np.nan_to_num(joints, nan=np.inf)))
    name, share = found.layout.joints[worst], float(joints[worst])
    verdict = grade(outside, joints) if np.isfinite(outside) else POOR
    if verdict != grade(outside, joints[:0]):
        reasons.append(f'{name} by itself is {100 * share:.0f} % of its motion off: do not rely '
                       'on its drive')
    if not np.isfinite(outside) or outside > OVERFIT * inside + 0.01:
        verdict = POOR if verdict == POOR else FAIR
        reasons.append('simulates much worse what it has not seen: the halves of the logs say '
                       'different things')
    return DriveVerdict(verdict, tuple(reasons), motion, inside, outside, (name, share))


def simulated(robot: Robot, found: OutputError, logs: Sequence[ServoLog], step: float
              ) -> tuple[Simulated, ...]:
    """Return where servos would have gone.

    Parameters
    ----------
    robot : Robot
        The arm.
    found : OutputError
        Its drives.
    logs : sequence of ServoLog
        What they were identified from.
    step : float
        Longest step of the simulation, s.
    """
    out = []
    for log in logs:
        middle = log.count // 2
        held = [simulate_servos(robot, half, found.layout, x, step) for half, x in zip(
            (log.cut(0, middle), log.cut(middle, log.count)), found.halves[::-1], strict=True)]
        out.append(Simulated(log, simulate_servos(robot, log, found.layout, found.x, step),
                             np.concatenate(held)))
    return tuple(out)
