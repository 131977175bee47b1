# SPDX-License-Identifier: Apache-2.0
"""What the arm is to do: an exciting motion, point to point, and a circle of its hand."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from robot_dynamics.control.motion.references import (
    FourierSeries,
    Hold,
    PointToPoint,
    Reference,
    Repeat,
    Sequence,
    exciting_fourier,
)
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.model.robot import Robot

#: Pose in which the arm has room on all sides.
READY = np.array([0.0, 0.3, 0.0, -1.6, 0.0, 1.9, 0.5])

#: Poses point to point, relative to where the arm stands. rad.
REACH = (np.array([0.7, 0.35, -0.4, 0.5, 0.5, -0.5, 0.8]),
         np.array([-0.5, -0.2, 0.5, -0.4, -0.6, 0.4, -0.7]))
MOVE, DWELL = 1.5, 0.5

RADIUS, ROUND = 0.12, 4.0
#: Points of the circle at which joint positions are found, and harmonics kept of them.
POINTS, HARMONICS = 128, 16

Motion = Callable[[np.ndarray], Reference]


def fourier(robot: Robot, seed: int) -> Motion:
    """Return the exciting motion of five harmonics of 0.1 Hz."""
    return lambda pose: exciting_fourier(robot, seed, start=pose)


def point_to_point(robot: Robot, seed: int) -> Motion:
    """Return moves of 1.5 s between two poses, with a rest of half a second at each."""
    def motion(pose: np.ndarray) -> Reference:
        first, second = (np.clip(READY + way, robot.limits.lower + 0.1,
                                 robot.limits.upper - 0.1) for way in REACH)
        there = PointToPoint(first, second, duration=MOVE)
        back = PointToPoint(second, first, duration=MOVE)
        return Sequence(PointToPoint(pose, first, duration=MOVE), Hold(first, DWELL),
                        Repeat(Sequence(there, Hold(second, DWELL), back, Hold(first, DWELL))))
    return motion


def circle(robot: Robot, seed: int) -> Motion:
    """Return a level circle of the hand in four seconds, its orientation kept."""
    dynamics = Dynamics(robot)

    def motion(pose: np.ndarray) -> Reference:
        q = _circle_of_joints(dynamics, pose)
        spectrum = np.fft.rfft(q, axis=0)[1:HARMONICS + 1].T / POINTS
        w = 2.0 * np.pi / ROUND * np.arange(1, HARMONICS + 1)
        # q = sum of 2 Re (c_k exp(i k w t)), and its rate as FourierSeries has it.
        return FourierSeries(pose, -2.0 * spectrum.imag * w,
                             -2.0 * spectrum.real * w, base_frequency=1.0 / ROUND)
    return motion


def _circle_of_joints(dynamics: Dynamics, pose: np.ndarray) -> np.ndarray:
    """Return joint positions along a circle, by Newton's method from point to point.

    The third joint stays, so that seven joints go round with the hand.
    """
    start = dynamics.forward_kinematics(pose, 'flange')
    free = [k for k in range(dynamics.n) if k != 2]
    q, rows = pose.copy(), []
    for angle in np.linspace(0.0, 2.0 * np.pi, POINTS, endpoint=False):
        goal = start[:3, 3] + RADIUS * np.array([np.cos(angle) - 1.0, np.sin(angle), 0.0])
        for _ in range(8):
            now = dynamics.forward_kinematics(q, 'flange')
            turn = 0.5 * sum(np.cross(now[:3, k], start[:3, k]) for k in range(3))
            error = np.concatenate([goal - now[:3, 3], turn])
            J = dynamics.jacobian(q, 'flange')[:, free]
            q[free] += np.linalg.solve(J, error)
        rows.append(q.copy())
    return np.array(rows)


MOTIONS = {'Fourier': fourier, 'point to point': point_to_point, 'circle': circle}
