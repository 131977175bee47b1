# SPDX-License-Identifier: Apache-2.0
"""One run of the study: a controller, a condition, a motion; and what is measured of it."""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable

import numpy as np
from closed_loop import LoopRecord, run_closed_loop

from controllers_parts.conditions import Condition
from controllers_parts.contenders import CONTENDERS
from controllers_parts.motions import MOTIONS, READY
from robot_dynamics.control.adaptation.gradient import Estimates
from robot_dynamics.control.feedback.protocol import TrackingController
from robot_dynamics.control.feedback.typical_motions import typical_motions
from robot_dynamics.control.motion.references import exciting_fourier
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model.inertia import check_body
from robot_dynamics.model.robot import Robot
from robot_dynamics.simulation.plant import Plant
from robot_dynamics.simulation.sensors import JointSensors

#: Seconds over which errors are taken: the ends of the first 10, 20 and 60.
WINDOWS = {'10': (6.0, 10.0), '20': (16.0, 20.0), '60': (56.0, 60.0)}

#: Violation, relative to the largest principal moment, that counts as rounding.
TOLERANCE = 1e-6


class Watched:
    """A controller that is timed, and whose estimates are looked at."""

    def __init__(self, controller: TrackingController):
        self._controller = controller
        self.times = array('d')
        self.inconsistent = 0
        self.mass_share = 0.0
        self._steps = 0

    def __getattr__(self, name: str):
        return getattr(self._controller, name)

    def update(self, *arguments, **keywords):
        """Return what the controller does, with the time it takes."""
        start = time.perf_counter()
        tau = self._controller.update(*arguments, **keywords)
        self.times.append(time.perf_counter() - start)
        self._steps += 1
        if self._steps % 50 == 0 and hasattr(self._controller, 'adaptation'):
            self._look_at(self._controller.adaptation)
        return tau

    def _look_at(self, adaptation: Estimates) -> None:
        bodies = adaptation.bodies.reshape(-1, 10)
        self.inconsistent += any(not check_body(b, tolerance=TOLERANCE).is_consistent
                                 for b in bodies)
        share = float(np.max(bodies[:, 0] / adaptation.metric.largest_mass))
        self.mass_share = max(self.mass_share, share)


def run(robot: Robot, condition: Condition, motion: str, contender: str, seconds: float, *,
        seed: int = 0, position: int = 0, every: int = 1,
        make: Callable[[Robot], TrackingController] | None = None) -> dict[str, object]:
    """Return what is measured of one run.

    Parameters
    ----------
    robot : Robot
        The model.
    condition : Condition
        In what the arm differs from it.
    motion, contender : str
        Names in `MOTIONS` and `CONTENDERS`.
    seconds : float
        How long.
    seed, position : int
        Seed of motion and noise, and which payload position.
    every : int
        Of so many samples one is recorded.
    make : callable, optional
        Makes the controller in the place of the contender.

    Returns
    -------
    dict
        ``rms`` (mrad, by window), ``max`` (mrad, last window), ``effort`` and ``step``
        (N m: RMS, and RMS change from sample to sample, last window), ``worst_step`` (that
        of the worst joint), ``estimate`` (RMS error of the efforts the estimate predicts, per
        cent), ``mass`` (kg, estimated less modelled, last link), ``mass_share`` (largest mass
        of a link over its cap), ``micros`` (median duration), ``inconsistent``, ``frozen``
        and ``trouble``.
    """
    true = condition.true_robot(robot, position)
    plant = Plant(true, effort_gain=condition.effort_gain)
    plant.reset(exciting_fourier(robot, seed).start if motion == 'Fourier' else READY)
    controller = Watched((make or CONTENDERS[contender])(robot))
    try:
        record = run_closed_loop(controller, plant, MOTIONS[motion](robot, seed), seconds,
                                 conditions=condition.loop,
                                 sensors=JointSensors(condition.quality, seed=seed),
                                 every=every)
    except RobotDynamicsError as error:
        return {'trouble': str(error), 'rms': {}}
    return {**_errors(record, seconds), **_estimate(controller, robot, true),
            'micros': 1e6 * float(np.median(controller.times)),
            'inconsistent': controller.inconsistent, 'mass_share': controller.mass_share,
            'trouble': '',
            'frozen': controller.frozen_reason}


def _errors(record: LoopRecord, seconds: float) -> dict[str, object]:
    """Return what the record says of errors and efforts."""
    windows = {name: span for name, span in WINDOWS.items() if span[1] <= seconds}
    begin, end = list(windows.values())[-1] if windows else (0.0, seconds)
    last = (record.time >= begin) & (record.time < end)
    changes = np.diff(record.effort[last], axis=0)**2
    return {'rms': {name: 1e3 * record.rms(*span) for name, span in windows.items()},
            'max': 1e3 * record.peak(begin, end),
            'effort': float(np.sqrt(np.mean(record.effort[last]**2))),
            'step': float(np.sqrt(np.mean(changes))),
            'worst_step': float(np.sqrt(np.max(np.mean(changes, axis=0)))),
            'saturated': int(record.saturated)}


def _estimate(controller: Watched, robot: Robot, true: Robot) -> dict[str, object]:
    """Return how far the bodies' estimate is from the truth, in efforts and in mass."""
    if not hasattr(controller, 'adaptation'):
        bodies = robot.inertial_parameters
    else:
        bodies = controller.adaptation.bodies.reshape(-1, 10)
    motions = typical_motions(robot)
    predicted, real = (Dynamics(robot.with_parameters(parameters)).inverse_dynamics(
        motions.q, motions.v, motions.a) for parameters in (bodies, true.inertial_parameters))
    error = np.sqrt(np.mean((predicted - real)**2) / np.mean(real**2))
    return {'estimate': 100.0 * float(error),
            'mass': float(bodies[-1, 0] - robot.inertial_parameters[-1, 0])}
