# SPDX-License-Identifier: Apache-2.0
"""Serialized joint states of some topics, as they come, to a `Log` of one of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.errors import RecordingError
from robot_dynamics.identification.dataset.joint_state_bytes import Rows, read_joint_states
from robot_dynamics.identification.dataset.log import Log, in_order
from robot_dynamics.model.arrays import IntArray

#: What is counted where messages cannot be read, or do not name all joints.
DAMAGED, INCOMPLETE = 'damaged messages', 'messages without all joints'


@dataclass(eq=False)
class _Topic:
    """Rows of one topic so far."""

    pieces: list[tuple[NDArray[np.generic], ...]] = field(default_factory=list)
    rows: int = 0
    whole: int = 0
    damaged: int = 0
    without: int = 0


class JointStateCollector:
    """Takes messages, thousands at a time, and makes a log of what they say of some joints.

    Parameters
    ----------
    joints : sequence of str
        The joints wanted, in this order.
    rename : mapping of str to str
        What the robot calls a joint of the messages.
    """

    def __init__(self, joints: Sequence[str], rename: Mapping[str, str]):
        self._joints, self._rename = tuple(joints), rename
        self._topics: dict[str, _Topic] = {}
        self._names: set[str] = set()

    @property
    def count(self) -> int:
        """Rows so far, of all topics."""
        return sum(topic.rows for topic in self._topics.values())

    def take(self, name: str, messages: Sequence[bytes]) -> None:
        """Add messages of a topic."""
        topic = self._topics.setdefault(name, _Topic())
        groups, damaged = read_joint_states(messages)
        topic.damaged += damaged
        kept: list[tuple[IntArray, Rows, tuple[int, ...]]] = []
        for indices, rows in groups:
            self._names.update(rows.names)
            places = in_order([self._rename.get(one, one) for one in rows.names], self._joints)
            if places is None:
                topic.without += len(indices)
            else:
                kept.append((indices, rows, places))
                # Errors and commands of controllers are joint states, too, but not whole ones.
                told = np.isfinite(rows.position[:, places]) & np.isfinite(rows.effort[:, places])
                topic.whole += int(np.count_nonzero(told.all(axis=1)))
        if not kept:
            return
        order = np.argsort(np.concatenate([indices for indices, _, _ in kept]), kind='stable')
        columns = [np.concatenate([rows.stamps for _, rows, _ in kept])[order]]
        for quantity in ('position', 'velocity', 'effort'):
            columns.append(np.concatenate([getattr(rows, quantity)[:, places]
                                           for _, rows, places in kept])[order])
        topic.pieces.append(tuple(columns))
        topic.rows += len(order)

    def log(self, source: str, dropped: Mapping[str, int] | None = None) -> Log:
        """Return the log of the topic that tells most: positions and efforts, if there are.

        Parameters
        ----------
        source : str
            Where the messages come from.
        dropped : mapping of str to int, optional
            What was lost before it came here, by reason.

        Raises
        ------
        RecordingError
            When no message names all joints.
        """
        best = max(self._topics, key=lambda name: (self._topics[name].whole,
                                                   self._topics[name].rows), default=None)
        if best is None or self._topics[best].rows == 0:
            if {self._rename.get(name, name) for name in self._names} >= set(self._joints):
                raise RecordingError(
                    'names ' + ', '.join(self._joints) + ' in no message together, or one twice',
                    subject=source, remedy='record one publisher that knows all of them, or list '
                    'under joints those of one message')
            raise RecordingError(
                'has no message with all of ' + ', '.join(self._joints), subject=source,
                remedy='give names, a map from the names of the log to those of the robot, or '
                       'joints; the log has: '
                       + (', '.join(sorted(self._names)) or 'no joint states'))
        chosen = self._topics[best]
        columns = [np.concatenate(column) for column in zip(*chosen.pieces, strict=True)]
        chosen.pieces = [tuple(columns)]
        return Log(self._joints, *columns, dropped={
            **(dropped or {}), DAMAGED: chosen.damaged, INCOMPLETE: chosen.without},
            source=f'{source}:{best}')
