# SPDX-License-Identifier: Apache-2.0
"""Which joints move which bodies: where a regressor is not zero, and what stands there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robot_dynamics.model.arrays import FloatArray, IntArray
from robot_dynamics.model.robot import Robot


@dataclass(frozen=True)
class Carrying:
    """Pairs of a body and an independent joint that moves it, body after body.

    An independent joint r moves body i by its share S[j, r] in each joint j of a body
    that carries body i, S being the coupling of the robot.

    Attributes
    ----------
    first : ndarray of int64, shape (nb + 1,)
        The pairs of body i are first[i] to first[i + 1] - 1.
    pairs : ndarray of int64, shape (P, 3)
        Independent joint r, ascending for each body, and where its list of joints begins
        and ends in ``joints``.
    joints : ndarray of int64, shape (T,)
        Joints j of bodies.
    shares : ndarray, shape (T,)
        S[j, r].
    """

    first: IntArray
    pairs: IntArray
    joints: IntArray
    shares: FloatArray

    @classmethod
    def of(cls, robot: Robot) -> Carrying:
        """List the pairs of a robot."""
        first: list[int] = [0]
        pairs: list[tuple[int, int, int]] = []
        joints: list[int] = []
        shares: list[float] = []
        for i in range(robot.n_bodies):
            above = _ancestors(robot.parents, i)
            for r in range(robot.n):
                moving = [j for j in above if robot.coupling[j, r] != 0.0]
                if moving:
                    pairs.append((r, len(joints), len(joints) + len(moving)))
                    joints += moving
                    shares += [float(robot.coupling[j, r]) for j in moving]
            first.append(len(pairs))
        return cls(np.array(first, np.int64), np.array(pairs, np.int64).reshape(-1, 3),
                   np.array(joints, np.int64), np.array(shares))

    @property
    def arrays(self) -> tuple[IntArray, IntArray, IntArray, FloatArray]:
        """As the kernels take them."""
        return self.first, self.pairs, self.joints, self.shares


def _ancestors(parents: IntArray, i: int) -> list[int]:
    """Return body i and the bodies that carry it, base first."""
    chain = []
    while i >= 0:
        chain.append(i)
        i = int(parents[i])
    return chain[::-1]
