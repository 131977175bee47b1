# SPDX-License-Identifier: Apache-2.0
"""Joint states as a controller would have taken them: what it turns away, and what is left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robot_dynamics.bringup.doctor.requirements import Wishes
from robot_dynamics.control.states.joint_state import JointStateMonitor, Note, Reason
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import Robot
from robot_dynamics.nodes.observing.graph_snapshot import ClockSample, StateSample


@dataclass(frozen=True, eq=False)
class Replay:
    """What came of a stream of joint states.

    Parameters
    ----------
    joints : tuple of str
        The joints looked for.
    counts : dict of Reason to int
        Messages by what became of them.
    notes : dict of Note to int
        How often each note was taken.
    time : ndarray, shape (k,)
        Stamps of the complete states. s.
    q, v, effort : ndarray, shape (k, n)
        The complete states, in the order of `joints`; nan for efforts not told.
    """

    joints: tuple[str, ...]
    counts: dict[Reason, int]
    notes: dict[Note, int]
    time: FloatArray
    q: FloatArray
    v: FloatArray
    effort: FloatArray

    @property
    def total(self) -> int:
        """How many messages there were."""
        return sum(self.counts.values())


def replay(samples: Sequence[StateSample], robot: Robot | None, wishes: Wishes, *,
           simulated: bool) -> Replay:
    """Show messages to the monitor that a controller has for them.

    Parameters
    ----------
    samples : sequence of StateSample
        The messages.
    robot : Robot, optional
        Whose joints are looked for; those of the messages where it is unknown.
    wishes : Wishes
        Settings of the monitor.
    simulated : bool
        Whether stamps are simulated time, which a controller takes as the time of receiving.
    """
    settings = {name: getattr(wishes, name) for name in ('state_skew', 'max_age', 'max_future',
                                                         'velocity_cutoff')}
    if robot is None:
        joints = tuple(dict.fromkeys(name for sample in samples for name in sample.names))
        monitor = JointStateMonitor(joints, np.zeros(len(joints), dtype=bool), **settings)
    else:
        joints = robot.joint_names
        monitor = JointStateMonitor.for_robot(robot, **settings)
    start = samples[0].received if samples else 0
    # A controller counts from its start: floats resolve that better than the Unix epoch.
    origin = next((sample.stamp for sample in samples if sample.stamp), 0) if simulated else start
    rows = []
    for sample in samples:
        # Zero means "no stamp" to the monitor, and is the origin here.
        stamp = (1e-9 * (sample.stamp - origin) or 1e-9) if sample.stamp else None
        received = stamp if simulated and stamp is not None else 1e-9 * (sample.received - start)
        verdict = monitor.update(received, stamp, sample.names, sample.position, sample.velocity,
                                 sample.effort)
        if verdict.accepted:
            rows.append((monitor.stamp, monitor.q.copy(), monitor.v.copy(),
                         monitor.effort.copy()))
    empty = np.empty((0, len(joints)))
    columns = [np.array(column) for column in zip(*rows, strict=True)] if rows \
        else [np.empty(0), empty, empty, empty]
    return Replay(joints, monitor.counts, monitor.notes, *columns)


def is_simulated(samples: Sequence[StateSample], clock: Sequence[ClockSample]) -> bool:
    """Whether stamps are nearer to ``/clock`` than to the clock of this machine."""
    stamped = [sample for sample in samples if sample.stamp]
    if not stamped or not clock:
        return False
    time = clock_at(clock, stamped[-1].received)
    return abs(stamped[-1].stamp - time) < abs(stamped[-1].stamp - stamped[-1].received)


def clock_at(clock: Sequence[ClockSample], received: int) -> int:
    """Return the simulated time at an instant of this machine's clock, between samples. ns."""
    origin = clock[0]
    return origin.time + round(float(np.interp(
        received - origin.received, [sample.received - origin.received for sample in clock],
        [sample.time - origin.time for sample in clock])))
