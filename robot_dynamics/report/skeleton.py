# SPDX-License-Identifier: Apache-2.0
"""The arm as points and lines over time, from our own forward kinematics."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import Robot

#: Points nearer to each other than this are one, in m.
_SAME_POINT = 1e-4

# No point of an arm that is drawn lies farther from its base, in m.
_FARTHEST = 1e3


@dataclass(frozen=True, eq=False)
class Skeleton:
    """Which points an arm is drawn with, and which lines join them.

    Point 0 is the origin of the base, point 1 + i that of link frame i, and the
    rest are the outermost frames of the links that carry no other: flanges and tools.

    Parameters
    ----------
    robot : Robot
        What is drawn.
    """

    robot: Robot

    @property
    def lines(self) -> list[tuple[int, int]]:
        """Pairs of points that a line joins, base to tip."""
        links = [(1 + int(parent), 1 + body) for body, parent in enumerate(self.robot.parents)]
        first_tip = 1 + self.robot.n_bodies
        return links + [(1 + body, first_tip + k) for k, (body, _) in enumerate(self._tips())]

    def points(self, q: ArrayLike) -> FloatArray:
        """Return where the points are.

        Parameters
        ----------
        q : array_like, shape (k, n)
            Joint positions, rad or m.

        Returns
        -------
        ndarray, shape (k, number of points, 3)
            In the base frame, m.
        """
        poses = Dynamics(self.robot).forward_kinematics(np.atleast_2d(q))
        origins = poses[..., :3, 3]
        base = np.zeros((len(origins), 1, 3))
        tips = [(poses[:, body] @ pose)[:, None, :3, 3] for body, pose in self._tips()]
        return np.concatenate([base, origins, *tips], axis=1)

    def _tips(self) -> list[tuple[int, FloatArray]]:
        """Return the body and the pose on it of the outermost frame of each last link."""
        parents = set(self.robot.parents.tolist())
        tips = []
        for body in range(self.robot.n_bodies):
            poses = [frame.pose for frame in self.robot.frames.values() if frame.body == body]
            if body in parents or not poses:
                continue
            outermost = max(poses, key=lambda pose: float(np.linalg.norm(pose[:3, 3])))
            if np.linalg.norm(outermost[:3, 3]) > _SAME_POINT:
                tips.append((body, outermost))
        return tips


def can_be_drawn(points: FloatArray) -> bool:
    """Whether every point of an arm is known and near enough to its base."""
    return bool(np.all(np.abs(points) < _FARTHEST))
