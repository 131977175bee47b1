# SPDX-License-Identifier: Apache-2.0
"""Tracking with and without adaptation, in MuJoCo, without processes: ``--help``.

The same feedback on the same exciting motion: with the gravity of the model (PD +
gravity), with an integral on top of that (PID + gravity), and under the adaptive law. The
arm carries a payload the model knows nothing of, and its links are lighter than the model
says. Then all of it again in each of the conditions that real arms and loops add. With
``--write`` the table goes into docs/control.md.

    python benchmark/adaptive.py
    python benchmark/adaptive.py --robot arm7 --seconds 60 --write
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from closed_loop import LoopConditions, LoopRecord, run_closed_loop
from sections import DOCS, write_section

from robot_dynamics.control.feedback.gains import AdaptationGains
from robot_dynamics.control.laws.model_based import PDGravityController
from robot_dynamics.control.laws.slotine_li import AdaptiveController
from robot_dynamics.control.motion.references import exciting_fourier
from robot_dynamics.control.session.limits import EffortLimiter
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model.modify import with_payload, with_scaled_masses
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import resolve_robot
from robot_dynamics.simulation.plant import Plant
from robot_dynamics.simulation.sensors import JointSensors, SensorQuality

DOCUMENT = DOCS / 'control.md'

#: Seconds over which RMS errors are taken, and the least ratios that are wanted there.
WINDOWS = ((6.0, 10.0), (16.0, 20.0), (56.0, 60.0))
WANTED = (4.0, 30.0, 100.0)


@dataclass(frozen=True)
class Condition:
    """One row of the table: what is different from the ideal loop."""

    name: str
    loop: LoopConditions = field(default_factory=LoopConditions)
    quality: SensorQuality = field(default_factory=SensorQuality)
    friction: float = 0.0
    effort_gain: float = 1.0
    effort_limit: float = 1.0
    gain: float = 1.0


CONDITIONS = (
    Condition('ideal loop'),
    Condition('5 % of the states lost', LoopConditions(loss=0.05)),
    Condition('stalls of 50 ms', LoopConditions(stalls=((4.0, 0.05), (8.0, 0.05), (18.0, 0.05),
                                                        (58.0, 0.05)))),
    Condition('torque 2 ms late', LoopConditions(delay=0.002)),
    Condition('16 bit encoders, noise 0.005 rad/s',
              quality=SensorQuality(position_resolution=2.0 * np.pi / 2**16,
                                    velocity_noise=0.005)),
    Condition('friction', friction=1.0),
    Condition('torque constant 7 % off', effort_gain=1.07),
    Condition('starts 0.1 rad off', LoopConditions(offset=0.1)),
    Condition('efforts cut at 22.5 % of the limits', effort_limit=0.225),
    Condition('friction, noise, 2 ms, 7 %, 5 % lost',
              LoopConditions(loss=0.05, delay=0.002),
              SensorQuality(position_resolution=2.0 * np.pi / 2**16, velocity_noise=0.005),
              friction=1.0, effort_gain=1.07),
    Condition('w_A ten times too high', gain=10.0),
)


class PIDGravity(PDGravityController):
    """PD + gravity with an integral: + w_I omega_D M0(q) (integral of s)."""

    INTEGRAL_RATE = 4.0

    def __init__(self, robot: Robot):
        super().__init__(robot)
        self._integral = np.zeros(robot.n)

    def update(self, q, v, q_d, v_d, a_d, dt, *, adapt):
        """Return the effort; what is integrated rests while efforts are cut."""
        tau = super().update(q, v, q_d, v_d, a_d, dt, adapt=adapt)
        if adapt:
            self._integral += dt * self.s
        tau += (self.INTEGRAL_RATE * self.feedback.gains.bandwidth
                * self.feedback.mass_matrix @ self._integral)
        return tau


class Study:
    """One robot, its true counterpart and a motion.

    Parameters
    ----------
    robot : Robot
        The model.
    seed : int
        Seed of the motion.
    payload, frame, model_scale
        Mass carried unknown to the model (kg) 0.18 m from a frame, and masses of the
        model over the true ones.
    """

    def __init__(self, robot: Robot, *, seed: int, payload: float, frame: str | None,
                 model_scale: float):
        self.robot = robot
        self.seed = seed
        light = with_scaled_masses(robot, 1.0 / model_scale)
        self.plant = with_payload(light, payload, (0.02, 0.0, 0.18), frame=frame)
        self.start = exciting_fourier(robot, seed).start

    def motion(self, pose: np.ndarray):
        """Return the exciting motion from a pose."""
        return exciting_fourier(self.robot, self.seed, start=pose)

    def run(self, make: Callable[[Condition], object], condition: Condition,
            seconds: float) -> tuple[LoopRecord | None, object, str]:
        """Run a controller; return the record, the controller and what went wrong."""
        plant_robot = self.plant
        if condition.friction:
            size = condition.friction * typical_friction(plant_robot)
            plant_robot = replace(plant_robot, friction=size, damping=size)
        plant = Plant(plant_robot, effort_gain=condition.effort_gain)
        plant.reset(self.start)
        limits = np.where(np.isnan(self.robot.limits.effort), 1e3, self.robot.limits.effort)
        controller = make(condition)
        try:
            record = run_closed_loop(
                controller, plant, self.motion, seconds, conditions=condition.loop,
                sensors=JointSensors(condition.quality, seed=self.seed),
                limiter=EffortLimiter(self.robot.joint_names, condition.effort_limit * limits))
        except RobotDynamicsError as error:
            return None, controller, str(error)
        return record, controller, ''

    def pd(self, condition: Condition) -> PDGravityController:
        """Return PD + gravity."""
        return PDGravityController(self.robot)

    def pid(self, condition: Condition) -> PIDGravity:
        """Return PID + gravity."""
        return PIDGravity(self.robot)

    def adaptive(self, condition: Condition) -> AdaptiveController:
        """Return the adaptive law; gains beyond what is allowed pass as for a faster loop."""
        gains = AdaptationGains()
        gains = replace(gains, frequency=condition.gain * gains.frequency)
        if condition.gain == 1.0:
            return AdaptiveController(self.robot, adaptation=gains)
        return AdaptiveController(self.robot, adaptation=gains, period=1e-4, delay=0.0)


def typical_friction(robot: Robot) -> np.ndarray:
    """Return friction of a size for each joint: 0.4 % of its effort limit. N m, N m s/rad."""
    return 0.004 * np.where(np.isnan(robot.limits.effort), 50.0, robot.limits.effort)


def windows(seconds: float) -> list[tuple[float, float]]:
    """Return the windows that end within the duration."""
    return [window for window in WINDOWS if window[1] <= seconds]


def errors(record: LoopRecord | None, spans: Sequence[tuple[float, float]]) -> np.ndarray:
    """Return RMS errors of all joints in mrad, nan for a run that failed."""
    if record is None:
        return np.full(len(spans), np.nan)
    return np.array([1e3 * record.rms(*span) for span in spans])


def row(study: Study, condition: Condition, seconds: float) -> tuple[str, np.ndarray]:
    """Return a line of the table, and the ratios of PD + gravity to adaptive."""
    spans = windows(seconds)
    pd, pid = (errors(study.run(make, condition, seconds)[0], spans)
               for make in (study.pd, study.pid))
    record, controller, trouble = study.run(study.adaptive, condition, seconds)
    adaptive = errors(record, spans)
    cells = [condition.name, f'{np.nanmean(pd):.1f}', ' / '.join(f'{x:.2f}' for x in pid),
             ' / '.join(f'{x:.2f}' for x in adaptive),
             ' / '.join(f'{x:.0f}' for x in pd / adaptive),
             trouble or controller.frozen_reason
             or (f'{record.saturated} samples cut' if record.saturated else '')]
    return '| ' + ' | '.join(cells) + ' |', pd / adaptive


def report(study: Study, conditions: Sequence[Condition], seconds: float) -> tuple[str, bool]:
    """Print and return the table of one motion, and whether the ideal loop is good enough."""
    spans = ' / '.join(f'{a:.0f}-{b:.0f}' for a, b in windows(seconds))
    lines = [f'{study.robot.name}, motion {study.seed}: RMS error of all joints in mrad, at '
             f'{spans} s.', '',
             '| condition | PD + gravity | PID + gravity | adaptive | PD + gravity / adaptive | '
             'remarks |', '|---|---:|---:|---:|---:|---|']
    print(*lines, sep='\n', flush=True)
    good = True
    for condition in conditions:
        line, ratios = row(study, condition, seconds)
        print(line, flush=True)
        lines.append(line)
        if condition is CONDITIONS[0]:
            good = all(ratio >= wanted for ratio, wanted in zip(ratios, WANTED, strict=False))
    return '\n'.join(lines), good


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the study and print its tables; 1 where a wanted ratio is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--robot', default='arm7', help='URDF file or shipped robot')
    parser.add_argument('--frame', default=None, help='link or frame that carries the payload')
    parser.add_argument('--lock', action='append', default=[], metavar='JOINT',
                        help='lock a joint at zero')
    parser.add_argument('--payload', type=float, default=2.0, help='kg')
    parser.add_argument('--model-scale', type=float, default=1.3,
                        help='masses of the model over the true ones')
    parser.add_argument('--seconds', type=float, default=60.0)
    parser.add_argument('--seeds', type=int, default=1, help='number of motions')
    parser.add_argument('--only-ideal', action='store_true', help='leave the other conditions out')
    parser.add_argument('--write', action='store_true', help='write into docs/control.md')
    options = parser.parse_args(arguments)
    robot = Robot.from_urdf(resolve_robot(options.robot),
                            locked=dict.fromkeys(options.lock, 0.0))
    frame = options.frame or ('flange' if 'flange' in robot.frames else None)
    tables, all_good = [], True
    for seed in range(options.seeds):
        study = Study(robot, seed=seed, payload=options.payload, frame=frame,
                      model_scale=options.model_scale)
        table, good = report(study, CONDITIONS[:1] if options.only_ideal else CONDITIONS,
                             options.seconds)
        tables.append(table)
        all_good &= good
    if options.write:
        write_section(DOCUMENT, 'adaptive', '\n\n'.join(tables))
    return 0 if all_good else 1


if __name__ == '__main__':
    sys.exit(main())
