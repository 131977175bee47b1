# SPDX-License-Identifier: Apache-2.0
"""Joint states as a controller accepts them, compared with the model of the robot."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from robot_dynamics.bringup.doctor.findings import (
    CheckResult,
    collected,
    error,
    merged,
    note,
    ok,
    warning,
)
from robot_dynamics.bringup.doctor.requirements import StateRequirements
from robot_dynamics.control.states.joint_state import JointStateMonitor, Note, Reason
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import Robot, prismatic_joints
from robot_dynamics.nodes.observing.graph_snapshot import ClockSample, StateSample

#: Tolerance of position limits. rad or m.
_OUTSIDE = 0.02
#: Smallest motion, and smallest number of states, for a comparison of velocities. rad or m.
_MOVED, _ENOUGH = 0.02, 20
#: Relative difference of velocity and rate of change of position that is reported.
_MISMATCH = 0.3
#: Share of the variation that a proportion must explain.
_EXPLAINED = 0.8
_DEGREES = 180.0 / math.pi

#: Smallest gravity efforts that can be compared, as a share of the limits.
_FAINT = 0.01
#: Efforts below this share of gravity count as zero.
_NOTHING = 0.05
#: Largest share of efforts that a multiple of gravity may leave unexplained.
_UNEXPLAINED = 0.4
#: Multiples of gravity that count as torques, because models are inexact and payloads add to
#: gravity.
_TORQUE = (0.5, 2.0)


@dataclass(frozen=True, eq=False)
class Replay:
    """Joint states accepted by the monitor of a controller, with its joints and counts.

    ``time``, (k,), in s, and ``q``, ``v`` and ``effort``, (k, n), are those of the accepted
    states; unknown efforts are NaN.
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
        """Number of messages."""
        return sum(self.counts.values())


def replay(samples: Sequence[StateSample], robot: Robot | None, requirements: StateRequirements, *,
           simulated: bool) -> Replay:
    """Pass messages through the monitor of a controller.

    Without a robot, the joints of the messages are used. With `simulated` stamps, a controller
    uses them as the time of reception.
    """
    settings = {name: getattr(requirements, name)
                for name in ('state_skew', 'max_age', 'max_future', 'velocity_cutoff')}
    if robot is None:
        joints = tuple(dict.fromkeys(name for sample in samples for name in sample.names))
        monitor = JointStateMonitor(joints, np.zeros(len(joints), dtype=bool), **settings)
    else:
        joints = robot.joint_names
        monitor = JointStateMonitor.for_robot(robot, **settings)
    start = samples[0].received if samples else 0
    # Times are relative to an origin, because floats resolve them better than Unix times.
    origin = next((sample.stamp for sample in samples if sample.stamp), 0) if simulated else start
    rows = []
    for sample in samples:
        # For the monitor a stamp of zero means "no stamp", so the origin is 1 ns.
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


def uses_simulated_time(samples: Sequence[StateSample], clock: Sequence[ClockSample]) -> bool:
    """Whether stamps are nearer to ``/clock`` than to the clock of this machine."""
    stamped = [sample for sample in samples if sample.stamp]
    if not stamped or not clock:
        return False
    time = clock_at(clock, stamped[-1].received)
    return abs(stamped[-1].stamp - time) < abs(stamped[-1].stamp - stamped[-1].received)


def clock_at(clock: Sequence[ClockSample], received: int) -> int:
    """Simulated time at an instant of this machine's clock, interpolated. ns."""
    origin = clock[0]
    return origin.time + round(float(np.interp(
        received - origin.received, [sample.received - origin.received for sample in clock],
        [sample.time - origin.time for sample in clock])))


def check_motion(robot: Robot, replayed: Replay, samples: Sequence[StateSample]
                 ) -> list[CheckResult]:
    """Check positions against limits, and velocities against positions."""
    return merged([*_check_positions(robot, samples), *_check_velocities(robot, replayed)])


def _check_positions(robot: Robot, samples: Sequence[StateSample]) -> Iterator[CheckResult]:
    """Check the raw messages, because the monitor rejects degrees as jumps."""
    for joint, is_prismatic, low, high in zip(robot.joint_names, prismatic_joints(robot),
                                              robot.limits.lower, robot.limits.upper,
                                              strict=True):
        values = [sample.position[sample.names.index(joint)] for sample in samples
                  if joint in sample.names and len(sample.position) == len(sample.names)]
        outside = [value for value in values if math.isfinite(value)
                   and max(low - value, value - high) > _OUTSIDE]
        if not outside:
            continue
        farthest = max(outside, key=lambda value: max(low - value, value - high))
        unit, scale, other = ('m', 1e3, 'millimetres') if is_prismatic else \
            ('rad', _DEGREES, 'degrees')
        guess = f': in {other}?' if abs(farthest) > 10.0 and \
            low - _OUTSIDE <= farthest / scale <= high + _OUTSIDE else ''
        yield warning(
            joint, f'is at {farthest:.4g} {unit}, outside its limits {low:.4g} to {high:.4g}'
            f'{guess}', 'check unit and zero of the driver, or the limits of the description')


def _check_velocities(robot: Robot, replayed: Replay) -> Iterator[CheckResult]:
    """Compare velocities with the rate of change of positions."""
    q, v = replayed.q, replayed.v
    if len(q) < _ENOUGH:
        return
    rates = np.diff(q, axis=0) / np.diff(replayed.time)[:, None]
    means = 0.5 * (v[1:] + v[:-1])
    for k in np.flatnonzero(np.ptp(q, axis=0) >= _MOVED):
        joint, rate, mean = robot.joint_names[k], rates[:, k], means[:, k]
        if not np.any(mean):
            yield warning(joint, 'moves, and its velocity is always zero', 'let the driver fill '
                          'velocities, or leave them empty: then they are estimated')
            continue
        ratio = float(rate @ mean / (mean @ mean))
        left = rate - ratio * mean
        explained = 1.0 - float(left @ left / (rate @ rate))
        if explained > _EXPLAINED and abs(ratio - 1.0) > _MISMATCH:
            yield warning(joint, f'has a velocity of {1.0 / ratio:.3g} times the rate of change '
                          f'of its position{_unit_guess(1.0 / ratio)}',
                          'check unit and sign of the velocities of the driver')


def _unit_guess(factor: float) -> str:
    for value, text in ((_DEGREES, 'degrees per second'), (1e3, 'millimetres per second'),
                        (-1.0, 'the other sign')):
        if abs(factor / value - 1.0) < 0.1:
            return f': {text}?'
    return ''


class EffortPattern(Enum):
    """Comparison of reported efforts with the gravity of the model."""

    UNKNOWN = 'unknown'
    ZERO = 'zero'
    TORQUE = 'joint torques'
    SCALED = 'joint torques in another scale'
    REVERSED = 'joint torques of the other sign'
    OTHER = 'neither joint torques nor zero'


_REMEDIES = {
    EffortPattern.ZERO: 'set effort_kind to none where the driver measures no effort, to '
                        'gravity_compensated where it reports efforts without gravity',
    EffortPattern.TORQUE: 'effort_kind torque is right',
    EffortPattern.SCALED: 'currents? set effort_kind and effort_scale; or check the masses of '
                          'the description',
    EffortPattern.REVERSED: 'set effort_scale to -1, or check gravity and the joint axes',
}


def effort_pattern(robot: Robot, replayed: Replay) -> tuple[EffortPattern, float]:
    """Pattern of reported efforts, and the multiple of gravity that fits them best."""
    known = ~np.isnan(replayed.effort).any(axis=1)
    if not known.any():
        return EffortPattern.UNKNOWN, np.nan
    effort = replayed.effort[known]
    gravity = Dynamics(robot).gravity_torque(replayed.q[known])
    size = float(np.linalg.norm(gravity))
    scale = np.where(np.isfinite(robot.limits.effort), robot.limits.effort, 0.0)
    if size <= max(_FAINT * float(np.linalg.norm(scale)) * np.sqrt(len(effort)), 1e-6):
        return EffortPattern.UNKNOWN, np.nan
    if np.linalg.norm(effort) < _NOTHING * size:
        return EffortPattern.ZERO, 0.0
    multiple = float(np.sum(effort * gravity) / size**2)
    left = float(np.linalg.norm(effort - multiple * gravity) / np.linalg.norm(effort))
    if left > _UNEXPLAINED:
        return EffortPattern.OTHER, multiple
    if multiple < 0.0:
        return EffortPattern.REVERSED, multiple
    return (EffortPattern.TORQUE if _TORQUE[0] <= multiple <= _TORQUE[1]
            else EffortPattern.SCALED), multiple


@collected
def check_efforts(topic: str, robot: Robot, replayed: Replay,
                  requirements: StateRequirements | None) -> Iterator[CheckResult]:
    """Compare efforts with the ``effort_kind`` of the controller, if there is one."""
    pattern, multiple = effort_pattern(robot, replayed)
    if pattern is EffortPattern.UNKNOWN:
        return
    looks, remedy = f'efforts look like {pattern.value}', _REMEDIES.get(pattern, '')
    if pattern in (EffortPattern.TORQUE, EffortPattern.SCALED, EffortPattern.REVERSED):
        looks += f' ({multiple:.3g} times gravity)'
    kind = requirements.effort_kind if requirements is not None else ''
    if requirements is None:
        yield note(topic, looks, remedy)
    elif pattern is EffortPattern.TORQUE and kind == 'torque':
        yield ok(topic, f'efforts are joint torques: {multiple:.2f} times the gravity of the '
                        'model')
    elif pattern is EffortPattern.TORQUE and kind == 'gravity_compensated':
        yield warning(topic, 'efforts look like joint torques with gravity, and the controller '
                      'expects them without', 'set effort_kind to torque')
    elif pattern is EffortPattern.TORQUE and kind == 'none':
        yield note(topic, 'efforts look like joint torques, and the controller does not use them',
                   'with effort_kind torque it could detect that the arm obeys')
    elif pattern is EffortPattern.ZERO and kind == 'torque' \
            and not requirements.hardware_gravity_compensation:
        yield error(topic, 'efforts are zero and the controller expects torques: it cannot '
                    'detect that the arm obeys', remedy)
    elif pattern in (EffortPattern.SCALED, EffortPattern.REVERSED) and kind == 'torque':
        yield warning(topic, f'{looks}, and the controller expects torques', remedy)
