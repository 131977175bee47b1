# SPDX-License-Identifier: Apache-2.0
"""Parts of a `Robot`: its frames and the limits of its joints."""

from __future__ import annotations

from dataclasses import dataclass

from robot_dynamics.model.arrays import FloatArray, Rebuilt, frozen_array, real_array, store


@dataclass(frozen=True, eq=False)
class Frame(Rebuilt):
    """A named frame fixed to a body.

    Parameters
    ----------
    body : int
        Index of the body that carries the frame; -1 is the base.
    pose : ndarray, shape (4, 4)
        Pose of the frame in the link frame of that body.
    """

    body: int
    pose: FloatArray

    def __post_init__(self) -> None:
        store(self, 'pose', frozen_array(self.pose, (4, 4), 'pose of a frame'))


@dataclass(frozen=True, eq=False)
class JointLimits(Rebuilt):
    """Limits of the n independent coordinates, in rad or m, rad/s or m/s, N m or N.

    Parameters
    ----------
    lower, upper : ndarray, shape (n,)
        Position range; -inf and inf where a joint has none.
    velocity, effort : ndarray, shape (n,)
        Largest speed and effort; nan where the description gives none (or zero,
        which no moving joint can mean).
    """

    lower: FloatArray
    upper: FloatArray
    velocity: FloatArray
    effort: FloatArray

    def __post_init__(self) -> None:
        shape = real_array(self.lower, 'lower limits').shape[:1]
        for name in ('lower', 'upper', 'velocity', 'effort'):
            store(self, name, frozen_array(getattr(self, name), shape, f'{name} limits',
                                           finite=False))
