# SPDX-License-Identifier: Apache-2.0
"""Tracking with and without adaptation, in MuJoCo, without processes: ``--help``.

The same feedback on the same exciting motion, once with the gravity of the model (PD +
gravity) and once under the adaptive law. The arm carries a payload the model knows
nothing of, and its links are lighter than the model says. Then the adaptive law once
more in each of the conditions that real arms and loops add.

    python benchmark/adaptive.py --robot arm7 --seconds 60
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from robot_dynamics.control.fourier import exciting_fourier
from robot_dynamics.control.gains import AdaptationGains
from robot_dynamics.control.limits import EffortLimiter
from robot_dynamics.control.pd_gravity import PDGravityController
from robot_dynamics.control.slotine_li import AdaptiveController
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model.modify import with_payload, with_scaled_masses
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import resolve_robot
from robot_dynamics.simulation.closed_loop import LoopConditions, LoopRecord, run_closed_loop
from robot_dynamics.simulation.plant import Plant
from robot_dynamics.simulation.sensors import JointSensors, SensorQuality

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
    Condition('efforts limited to a third', effort_limit=1.0 / 3.0),
    Condition('friction, noise, 2 ms, 7 %, 5 % lost',
              LoopConditions(loss=0.05, delay=0.002),
              SensorQuality(position_resolution=2.0 * np.pi / 2**16, velocity_noise=0.005),
              friction=1.0, effort_gain=1.07),
    Condition('w_A ten times too high', gain=10.0),
)


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

    def baseline(self, condition: Condition) -> PDGravityController:
        """Return PD + gravity."""
        return PDGravityController(self.robot)

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


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the study and print its table; 1 where a wanted ratio is missed."""
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
    options = parser.parse_args(arguments)
    robot = Robot.from_urdf(resolve_robot(options.robot),
                            locked=dict.fromkeys(options.lock, 0.0))
    frame = options.frame or ('flange' if 'flange' in robot.frames else None)
    good = True
    for seed in range(options.seeds):
        study = Study(robot, seed=seed, payload=options.payload, frame=frame,
                      model_scale=options.model_scale)
        good &= report(study, CONDITIONS[:1] if options.only_ideal else CONDITIONS,
                       options.seconds)
    return 0 if good else 1


def report(study: Study, conditions: Sequence[Condition], seconds: float) -> bool:
    """Print the table of one motion; return whether the ideal loop does what is wanted."""
    spans = windows(seconds)
    print(f'{study.robot.name}, motion {study.seed}: RMS error of all joints in mrad; ratio of '
          'PD + gravity to adaptive', flush=True)
    header = ''.join(f'{f"{a:.0f}-{b:.0f} s":>26}' for a, b in spans)
    print(f'{"condition":38}{header}   saturated  frozen')
    good = True
    for condition in conditions:
        start = time.perf_counter()
        base, _, base_trouble = study.run(study.baseline, condition, seconds)
        record, controller, trouble = study.run(study.adaptive, condition, seconds)
        if record is None:
            print(f'{condition.name:38}adaptive: {trouble}')
            good = False
            continue
        cells, ratios = '', []
        for a, b in spans:
            before = np.nan if base is None else 1e3 * base.rms(a, b)
            after = 1e3 * record.rms(a, b)
            ratios.append(before / after)
            cells += f'{f"{before:8.2f} / {after:6.3f} = {before / after:5.1f}":>26}'
        print(f'{condition.name:38}{cells}{record.saturated:12d}  '
              f'{controller.frozen_reason or base_trouble or "-"}'
              f'   ({time.perf_counter() - start:.0f} s)', flush=True)
        if condition is CONDITIONS[0]:
            good = all(ratio >= wanted for ratio, wanted in zip(ratios, WANTED, strict=False))
    return good


if __name__ == '__main__':
    sys.exit(main())
