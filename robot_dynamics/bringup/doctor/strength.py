# SPDX-License-Identifier: Apache-2.0
"""Check whether the effort limits of an arm suffice for its own weight."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robot_dynamics.bringup.doctor.findings import CheckResult, error, merged, note, ok, warning
from robot_dynamics.control.feedback.gains import FeedbackGains
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.model.arrays import BoolArray, FloatArray
from robot_dynamics.model.robot import Robot, effort_units, position_units, prismatic_joints

#: Number of random postures.
POSTURES = 2000
#: Share of an effort limit for holding still above which little is left for motion.
TIRING = 0.8
#: Smallest acceleration of a useful joint. rad/s^2 or m/s^2.
SLUGGISH = 1.0
#: Acceleration of a fast motion. rad/s^2 or m/s^2.
_BRISK = 10.0
#: Largest number of entries of all mass matrices together.
_MOST_NUMBERS = 25_000_000
#: Effort limits larger than a fast motion needs by this factor protect nothing.
_PROTECTS_NOTHING = 20.0


@dataclass(frozen=True, eq=False)
class EffortNeeds:
    """Efforts that an arm needs.

    Parameters
    ----------
    gravity : ndarray, shape (k, n)
        Efforts that hold it still in each posture. N m or N.
    inertia : ndarray, shape (n,)
        Largest inertia about each joint in any posture, rotors included. kg m^2 or kg.
    """

    gravity: FloatArray
    inertia: FloatArray

    @property
    def holding(self) -> FloatArray:
        """Largest effort of each joint that holds the arm still, shape (n,). N m or N."""
        return np.abs(self.gravity).max(axis=0)


def effort_needs(robot: Robot, postures: int = POSTURES, seed: int = 1) -> EffortNeeds:
    """Efforts that an arm needs in postures drawn uniformly within its limits.

    There are fewer postures where so many mass matrices would fill the memory.
    """
    postures = max(1, min(postures, _MOST_NUMBERS // robot.n**2))
    lower, upper = np.array(robot.limits.lower), np.array(robot.limits.upper)
    free = np.where(prismatic_joints(robot), 0.5, np.pi)
    lower = np.where(np.isfinite(lower), lower, np.where(np.isfinite(upper), upper, 0.0) - free)
    upper = np.where(np.isfinite(upper), upper, lower + 2.0 * free)
    q = np.random.default_rng(seed).uniform(lower, upper, (postures, robot.n))
    dynamics = Dynamics(robot)
    inertia = np.diagonal(dynamics.mass_matrix(q), axis1=1, axis2=2).max(axis=0)
    return EffortNeeds(dynamics.gravity_torque(q), inertia)


def check_strength(robot: Robot, needs: EffortNeeds) -> list[CheckResult]:
    """Compare the needs of an arm with its effort limits; joints without one are left out."""
    known = np.isfinite(robot.limits.effort)
    if not known.any():
        return []  # a finding of the reader
    return merged([*_check_holding(robot, needs, known), *_check_friction(robot),
                   *_check_acceleration(robot, needs, known),
                   *_check_excess(robot, needs, known)])


def _check_holding(robot: Robot, needs: EffortNeeds, known: BoolArray) -> list[CheckResult]:
    limit, holding = np.where(known, robot.limits.effort, np.inf), needs.holding
    units = effort_units(robot)
    beyond = np.abs(needs.gravity) > limit
    results = [
        (error if beyond.any(axis=1).mean() > 0.5 else warning)(
            robot.joint_names[k],
            f'needs {holding[k]:.3g} {units[k]} to hold the arm still and has {limit[k]:.3g}: '
            f'in {_percent(beyond[:, k].mean())} of postures it falls',
            'check the effort limit and the masses beyond this joint; or keep the arm out of '
            'these postures')
        for k in np.flatnonzero(beyond.any(axis=0))]
    if results:
        return results
    if not np.any(holding > 1e-9 * np.abs(needs.inertia)):
        return [ok('holds itself', 'gravity moves no joint')]
    worst = int(np.argmax(holding / limit))
    if holding[worst] > TIRING * limit[worst]:
        return [warning(robot.joint_names[worst], f'needs {holding[worst]:.3g} {units[worst]} of '
                        f'{limit[worst]:.3g} to hold the arm still',
                        'little is left for motion: keep payloads small')]
    return [ok('holds itself', f'{robot.joint_names[worst]} needs most, '
               f'{_percent(holding[worst] / limit[worst])} of its effort limit, in '
               f'{len(needs.gravity)} postures')]


def _check_acceleration(robot: Robot, needs: EffortNeeds, known: BoolArray) -> list[CheckResult]:
    """Warn of joints that have little effort left for motion and feedback."""
    gains = FeedbackGains()
    spare = robot.limits.effort - needs.holding
    results = []
    for k in np.flatnonzero(known & (spare > 0.0) & (needs.inertia > 0.0)):
        acceleration = spare[k] / needs.inertia[k]
        if acceleration < SLUGGISH:
            unit = position_units(robot)[k]
            saturates = acceleration / (gains.bandwidth * gains.error_rate)
            results.append(warning(
                robot.joint_names[k], f'accelerates at {acceleration:.2g} {unit}/s^2 at most, and '
                f'its feedback saturates from an error of {saturates:.1g} {unit} on',
                'check its effort limit; choose slow references'))
    return results


def _check_friction(robot: Robot) -> list[CheckResult]:
    limits = robot.limits
    speed = np.where(np.isfinite(limits.velocity), limits.velocity, 0.0)
    lost = robot.friction + robot.damping * speed
    return [warning(robot.joint_names[k], 'has friction at full speed above its effort limit',
                    'check damping and friction in its <dynamics>, and its velocity limit')
            for k in np.flatnonzero(lost > limits.effort)]


def _check_excess(robot: Robot, needs: EffortNeeds, known: BoolArray) -> list[CheckResult]:
    """Note effort limits that protect nothing, because no joint comes near its own."""
    need = needs.holding + _BRISK * needs.inertia
    least = float(np.min(robot.limits.effort[known & (need > 0.0)]
                         / need[known & (need > 0.0)], initial=np.inf))
    if not _PROTECTS_NOTHING < least < np.inf:
        return []
    return [note(robot.name, f'has effort limits of {least:.0f} times or more of what the arm '
                 'needs for a fast motion', 'set the parameter effort_limit lower: these protect '
                                            'nothing')]


def _percent(share: float) -> str:
    return f'{100.0 * share:.0f} %' if share >= 0.01 else 'under 1 %'
