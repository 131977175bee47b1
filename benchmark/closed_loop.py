# SPDX-License-Identifier: Apache-2.0
"""A controller and a simulated arm in one plain loop: no processes, no messages, no clock.

For studies and tests of control laws. Time is the plant's; what a network and an
operating system do to a loop (samples lost, stalls, late torques) is put in by number.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from robot_dynamics.control.feedback.protocol import TrackingController
from robot_dynamics.control.motion.references import Reference
from robot_dynamics.control.session.limits import EffortLimiter
from robot_dynamics.errors import SimulationError
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.simulation.plant import Plant
from robot_dynamics.simulation.sensors import JointSensors

#: Longest time step that a controller gets, in sampling periods.
LONGEST_STEP = 10.0


@dataclass(frozen=True)
class LoopConditions:
    """What the loop around a controller is like; the default is an ideal one.

    Parameters
    ----------
    period : float
        Sampling period, a whole number of plant steps. s.
    delay : float
        Time from a measurement to the torque that answers it, below the period. s.
    hold : float
        Time for which the controller holds the arm before the reference starts from the
        pose it then has. s.
    loss : float
        Probability that a state is lost on the way: the plant holds its last torque.
    stalls : tuple of (float, float)
        Time after the start of the reference at which the controller stands still, and
        for how long. s.
    offset : float
        Distance of the reference from the pose at its start, for every joint. rad or m.
    seed : int
        Seed of the losses.
    """

    period: float = 0.002
    delay: float = 0.0
    hold: float = 0.5
    loss: float = 0.0
    stalls: tuple[tuple[float, float], ...] = ()
    offset: float = 0.0
    seed: int = 0


@dataclass(frozen=True, eq=False)
class LoopRecord:
    """What happened, sample by sample, lost ones left out.

    Parameters
    ----------
    time : ndarray, shape (k,)
        Since the start of the reference. s.
    q, v, q_d, effort : ndarray, shape (k, n)
        True state, desired position and effort sent.
    adapted : ndarray of bool, shape (k,)
        Whether the controller was allowed to adapt.
    saturated : int
        Number of samples with an effort cut at a limit.
    """

    time: FloatArray
    q: FloatArray
    v: FloatArray
    q_d: FloatArray
    effort: FloatArray
    adapted: np.ndarray
    saturated: int

    @property
    def error(self) -> FloatArray:
        """True tracking error q_d - q, shape (k, n). rad or m."""
        return self.q_d - self.q

    def rms(self, start: float, end: float) -> float:
        """Return the RMS tracking error of all joints between two times. rad or m."""
        return float(np.sqrt(np.mean(self.error[self._between(start, end)]**2)))

    def rms_by_joint(self, start: float, end: float) -> FloatArray:
        """Return the RMS tracking error of each joint between two times, shape (n,)."""
        return np.sqrt(np.mean(self.error[self._between(start, end)]**2, axis=0))

    def peak(self, start: float, end: float) -> float:
        """Return the largest tracking error of any joint between two times. rad or m."""
        return float(np.max(np.abs(self.error[self._between(start, end)])))

    def _between(self, start: float, end: float) -> np.ndarray:
        """Return which samples lie between two times."""
        return (self.time >= start) & (self.time < end)


def run_closed_loop(controller: TrackingController, plant: Plant,
                    reference: Callable[[FloatArray], Reference], seconds: float, *,
                    conditions: LoopConditions | None = None,
                    sensors: JointSensors | None = None,
                    limiter: EffortLimiter | None = None, every: int = 1) -> LoopRecord:
    """Hold the arm, then let it track a reference that starts where it stands.

    Parameters
    ----------
    controller : TrackingController
        The law.
    plant : Plant
        The arm, in the pose to start from.
    reference : callable
        Makes the desired motion that starts at a measured pose, shape (n,).
    seconds : float
        Duration of the tracking. s.
    conditions : LoopConditions, optional
        What the loop is like.
    sensors : JointSensors, optional
        How the arm measures itself; perfectly where not given.
    limiter : EffortLimiter, optional
        What efforts are let through; where not given, those the plant can apply.
    every : int
        Of so many samples one is recorded: an hour has two million.

    Returns
    -------
    LoopRecord
        What happened after the hold.
    """
    if every < 1:
        raise SimulationError(f'must be at least 1, got {every}', subject='every',
                              remedy='record each sample (1), or one of several')
    loop = _Loop(controller, plant, conditions or LoopConditions(),
                 sensors or JointSensors(), limiter, every)
    return loop.track(reference, seconds)


class _Loop:
    """One run of `run_closed_loop`."""

    def __init__(self, controller: TrackingController, plant: Plant, conditions: LoopConditions,
                 sensors: JointSensors, limiter: EffortLimiter | None, every: int):
        self.controller, self.plant = controller, plant
        self._every, self._answered = every, 0
        self.conditions, self.sensors = conditions, sensors
        self._steps = round(conditions.period / plant.timestep)
        self._late = round(conditions.delay / plant.timestep)
        if self._steps < 1 or not 0 <= self._late <= self._steps:
            raise SimulationError('must be at least one plant step and the delay, got '
                                  f'{conditions.period:g} s', subject='period',
                                  remedy='give a longer period, or a shorter delay')
        n = plant.robot.n
        limits = np.where(np.isnan(plant.robot.limits.effort), 1e9, plant.robot.limits.effort)
        self.limiter = limiter or EffortLimiter(plant.robot.joint_names, limits)
        self._random = np.random.default_rng(conditions.seed)
        self._desired = np.zeros((3, n))
        self._rows: list[tuple[float, FloatArray, FloatArray, FloatArray, FloatArray, bool]] = []
        self._saturated = 0

    def track(self, reference: Callable[[FloatArray], Reference], seconds: float) -> LoopRecord:
        """Hold, then track."""
        q = self._hold()
        motion = reference(q + self.conditions.offset)
        start = self.plant.time
        before = None
        for _ in range(round(seconds / self.conditions.period)):
            time = self.plant.time - start
            if self._arrives(time):
                before = self._answer(motion, start, before)
            else:
                self.plant.advance(steps=self._steps)
        time, q, v, q_d, effort, adapted = (np.array(column)
                                            for column in zip(*self._rows, strict=True))
        return LoopRecord(time, q, v, q_d, effort, adapted, self._saturated)

    def _hold(self) -> FloatArray:
        """Hold the pose for a while; return the measured pose at the end."""
        plant, controller = self.plant, self.controller
        pose = self._read().q
        controller.reset(pose, np.zeros(plant.robot.n))
        for _ in range(round(self.conditions.hold / self.conditions.period)):
            reading = self._read()
            tau = controller.holding_effort(reading.q, reading.v, pose)
            self._send(self.limiter.apply(tau, self.conditions.period))
        return self._read().q

    def _answer(self, motion: Reference, start: float, before: float | None) -> float:
        """Answer one state; return its stamp."""
        reading = self._read()
        time = max(reading.stamp - start, 0.0)
        q_d, v_d, a_d = self._desired
        motion.sample_into(time, q_d, v_d, a_d)
        dt = 0.0 if before is None else min(reading.stamp - before,
                                            LONGEST_STEP * self.conditions.period)
        adapt = not self.limiter.any_saturated
        tau = self.controller.update(reading.q, reading.v, q_d, v_d, a_d, dt, adapt=adapt)
        effort = self.limiter.apply(tau, self.conditions.period).copy()
        if self._answered % self._every == 0:
            # The error is that of the true state, however old the one the controller saw.
            now = self.plant.time - start
            true_q_d = q_d.copy() if now == time else motion.sample(now)[0]
            self._rows.append((now, self.plant.q, self.plant.v, true_q_d, effort, adapt))
        self._answered += 1
        self._send(effort)
        return reading.stamp

    def _read(self):
        """Measure."""
        plant = self.plant
        return self.sensors.read(plant.time, plant.q, plant.v, plant.effort)

    def _send(self, effort: FloatArray) -> None:
        """Send an effort to controller and plant, and simulate a period."""
        self._saturated += self.limiter.any_saturated
        self.controller.note_applied(effort)
        self.plant.advance(steps=self._late)
        self.plant.set_effort(effort)
        self.plant.advance(steps=self._steps - self._late)

    def _arrives(self, time: float) -> bool:
        """Whether the state at a time reaches the controller."""
        stalled = any(begin <= time < begin + length
                      for begin, length in self.conditions.stalls)
        return not stalled and self._random.random() >= self.conditions.loss
