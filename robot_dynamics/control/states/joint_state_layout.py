# SPDX-License-Identifier: Apache-2.0
"""Where the joints of a robot stand among the names of a joint state message."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robot_dynamics.model.arrays import FloatArray, IntArray
from robot_dynamics.model.robot import Robot

#: A joint that is told to be faster than this moves; slower ones may be an offset of a sensor.
#: rad/s or m/s.
MOVING = 0.02


@dataclass(frozen=True, eq=False)
class DependentJoint:
    """A joint that follows others: q = row @ q_independent + offset.

    Parameters
    ----------
    name : str
        Name of the joint.
    row : ndarray, shape (n,)
        Its row of the robot's coupling.
    offset : float
        Its offset. rad or m.
    """

    name: str
    row: FloatArray
    offset: float


def dependent_joints(robot: Robot) -> tuple[DependentJoint, ...]:
    """Return the joints of a robot that mimic others."""
    return tuple(DependentJoint(name, robot.coupling[body], float(robot.coupling_offset[body]))
                 for body, name in enumerate(robot.body_joint_names)
                 if name not in robot.joint_names)


class Layout:
    """One set of names, and room for the values of a message that bears it.

    Copying into arrays of its own makes every message look the same to compiled
    code, whatever sequence its values came in.
    """

    def __init__(self, names: list[str], source: IntArray,
                 dependent: Sequence[tuple[int, DependentJoint]], defect: str | None, joint: int):
        #: As a list, which is what messages carry: equal lists compare fastest.
        self.names = names
        #: Index in the message of each of our joints, -1 where it has none, shape (n,).
        self.source = source
        #: Mimic joints in the message, with their index.
        self.dependent = tuple(dependent)
        #: Name of the reason such messages are turned away with, and the joint meant.
        self.defect, self.joint = defect, joint
        count = len(names)
        self.position, self.velocity = np.empty(count), np.empty(count)
        self.effort = np.empty(count)
        self._position, self._velocity, self._effort = map(
            memoryview, (self.position, self.velocity, self.effort))
        #: Stamp of the first message that said what the last one says. s.
        self.told_since = -np.inf
        self._told, self._repeats = b'', 0

    @classmethod
    def build(cls, names: tuple[str, ...], joint_names: tuple[str, ...],
              dependent: Sequence[DependentJoint]) -> Layout:
        """Work out the layout of a set of names."""
        index = {name: i for i, name in enumerate(names)}
        source = np.array([index.get(name, -1) for name in joint_names], dtype=np.int64)
        defect, joint = None, -1
        if np.all(source < 0):
            defect = 'FOREIGN'
        counts = Counter(names) if len(index) < len(names) else {}
        repeated = [i for i, name in enumerate(joint_names) if counts.get(name, 0) > 1]
        if repeated:
            defect, joint = 'REPEATED_NAME', repeated[0]
        return cls(list(names), source, [(index[d.name], d) for d in dependent if d.name in index],
                   defect, joint)

    def fill(self, position: Sequence[float], velocity: Sequence[float],
             effort: Sequence[float]) -> None:
        """Copy the values of a message; what it does not tell becomes nan."""
        try:
            # What messages carry, arrays of doubles, is copied ten times faster like this.
            self._position[:] = position
            self._velocity[:] = velocity
            self._effort[:] = effort
        except (TypeError, ValueError):
            self.position[:] = position
            self.velocity[:] = velocity if len(velocity) else np.nan
            self.effort[:] = effort if len(effort) else np.nan

    def repeats(self, stamp: float) -> int:
        """Return how many messages before this one said the same of positions and velocities."""
        told = self.position.tobytes() + self.velocity.tobytes()
        if told == self._told:
            self._repeats += 1
        else:
            self._told, self._repeats, self.told_since = told, 0, stamp
        return self._repeats

    def tells_of_motion(self) -> bool:
        """Whether the message says that one of our joints moves."""
        return bool(np.any(np.abs(self.velocity[self.source[self.source >= 0]]) > MOVING))

    def farthest_dependent(self, q: FloatArray) -> float:
        """Return how far the worst mimic joint is from where q puts it. rad or m."""
        worst = 0.0
        for index, joint in self.dependent:
            away = abs(self.position[index] - (joint.row @ q + joint.offset))
            # A mimic joint that reports nothing says nothing.
            if away > worst:
                worst = away
        return worst
