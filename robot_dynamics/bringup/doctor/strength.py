# SPDX-License-Identifier: Apache-2.0
"""Whether an arm is strong enough for its own weight, and its limits mean anything."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robot_dynamics.bringup.doctor.findings import Remark, error, gathered, note, ok, warning
from robot_dynamics.control.feedback.gains import FeedbackGains
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import Robot, effort_units, position_units, prismatic_joints

#: Postures tried.
POSTURES = 2000
#: Share of an effort limit beyond which holding still leaves little to move with.
TIRING = 0.8
#: Acceleration below which an arm hardly moves. rad/s^2 or m/s^2.
SLUGGISH = 1.0
#: How an arm is moved in earnest, to see what it needs. rad/s^2 or m/s^2.
_BRISK = 10.0
#: Numbers in all mass matrices together.
_MOST_NUMBERS = 25_000_000
#: Limits this many times beyond what is needed protect nothing.
_PROTECTS_NOTHING = 20.0


@dataclass(frozen=True, eq=False)
class Strength:
    """What an arm needs.

    Parameters
    ----------
    gravity : ndarray, shape (k, n)
        Efforts that hold it still in each posture tried. N m or N.
    inertia : ndarray, shape (n,)
        Largest inertia about each joint in any of them, rotors included. kg m^2 or kg.
    """

    gravity: FloatArray
    inertia: FloatArray

    @property
    def need(self) -> FloatArray:
        """Largest effort of each joint that holds the arm still, shape (n,). N m or N."""
        return np.abs(self.gravity).max(axis=0)


def measure_strength(robot: Robot, postures: int = POSTURES, seed: int = 1) -> Strength:
    """Return what an arm needs in postures drawn evenly from within its limits.

    Parameters
    ----------
    robot : Robot
        The arm.
    postures : int
        How many; fewer where the mass matrices of so many would fill the memory.
    seed : int
        Of the draw.
    """
    postures = max(1, min(postures, _MOST_NUMBERS // robot.n**2))
    lower, upper = np.array(robot.limits.lower), np.array(robot.limits.upper)
    free = np.where(prismatic_joints(robot), 0.5, np.pi)
    lower = np.where(np.isfinite(lower), lower, np.where(np.isfinite(upper), upper, 0.0) - free)
    upper = np.where(np.isfinite(upper), upper, lower + 2.0 * free)
    q = np.random.default_rng(seed).uniform(lower, upper, (postures, robot.n))
    dynamics = Dynamics(robot)
    inertia = np.diagonal(dynamics.mass_matrix(q), axis1=1, axis2=2).max(axis=0) + robot.armature
    return Strength(dynamics.gravity_torque(q), inertia)


def judge_strength(robot: Robot, strength: Strength) -> list[Remark]:
    """Compare what an arm needs with its effort limits; joints without one are left out."""
    limit = robot.limits.effort
    known = np.isfinite(limit)
    if not known.any():
        return []  # The reader has said so.
    remarks = [*_holding(robot, strength, known), *_losses(robot),
               *_moving(robot, strength, known), *_meaningless(robot, strength, known)]
    return gathered(remarks)


def _holding(robot: Robot, strength: Strength, known: np.ndarray) -> list[Remark]:
    """Say whether it can hold itself still."""
    limit, need = np.where(known, robot.limits.effort, np.inf), strength.need
    beyond = np.abs(strength.gravity) > limit
    share = float(beyond.any(axis=1).mean())
    remedy = 'check the effort limit and the masses beyond this joint; or keep the arm out of ' \
             'these postures'
    remarks = [
        (error if share > 0.5 else warning)(
            robot.joint_names[k],
            f'needs {need[k]:.3g} {effort_units(robot)[k]} to hold the arm still and has '
            f'{limit[k]:.3g}: in {_percent(beyond[:, k].mean())} of postures it falls', remedy)
        for k in np.flatnonzero(beyond.any(axis=0))]
    if remarks:
        return remarks
    if not np.any(need > 1e-9 * np.abs(strength.inertia)):
        return [ok('holds itself', 'gravity moves no joint')]
    worst = int(np.argmax(need / limit))
    text = f'{robot.joint_names[worst]} needs most, {_percent(need[worst] / limit[worst])} of ' \
           f'its effort limit, in {len(strength.gravity)} postures'
    if need[worst] > TIRING * limit[worst]:
        return [warning(robot.joint_names[worst], f'needs {need[worst]:.3g} '
                        f'{effort_units(robot)[worst]} of {limit[worst]:.3g} to hold the arm '
                        'still', 'little is left to move with: keep payloads small')]
    return [ok('holds itself', text)]


def _moving(robot: Robot, strength: Strength, known: np.ndarray) -> list[Remark]:
    """Say which joints have hardly anything left to accelerate with, or to correct errors."""
    gains = FeedbackGains()
    spare = robot.limits.effort - strength.need
    remarks = []
    for k in np.flatnonzero(known & (spare > 0.0) & (strength.inertia > 0.0)):
        acceleration = spare[k] / strength.inertia[k]
        if acceleration < SLUGGISH:
            unit = position_units(robot)[k]
            saturates = acceleration / (gains.bandwidth * gains.error_rate)
            remarks.append(warning(
                robot.joint_names[k], f'accelerates at {acceleration:.2g} {unit}/s^2 at most, and '
                f'its feedback saturates from an error of {saturates:.1g} {unit} on',
                'check its effort limit; choose slow references'))
    return remarks


def _losses(robot: Robot) -> list[Remark]:
    """Say where friction alone eats the effort."""
    limits = robot.limits
    speed = np.where(np.isfinite(limits.velocity), limits.velocity, 0.0)
    lost = robot.friction + robot.damping * speed
    return [warning(robot.joint_names[k], 'friction at full speed is beyond its effort limit',
                    'check damping and friction in its <dynamics>, and its velocity limit')
            for k in np.flatnonzero(lost > limits.effort)]


def _meaningless(robot: Robot, strength: Strength, known: np.ndarray) -> list[Remark]:
    """Note effort limits that protect nothing: not even the weakest joint ever meets its own."""
    need = strength.need + _BRISK * strength.inertia
    least = float(np.min(robot.limits.effort[known & (need > 0.0)]
                         / need[known & (need > 0.0)], initial=np.inf))
    if not _PROTECTS_NOTHING < least < np.inf:
        return []
    return [note(robot.name, f'every effort limit is {least:.0f} times or more of what the arm '
                 'takes to move briskly', 'set the parameter effort_limit lower: these protect '
                                          'nothing')]


def _percent(share: float) -> str:
    return f'{100.0 * share:.0f} %' if share >= 0.01 else 'under 1 %'
