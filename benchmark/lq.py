# SPDX-License-Identifier: Apache-2.0
"""Feedforward + LQ in MuJoCo beside PD + gravity, its times and its operations: ``--help``.

One motion of a 7R arm at 500 Hz, each law in each condition in a loop without processes;
the spectral radius that each is certified with; the time of an answer and of a new gain;
the operations of the recursive Lagrangian form. With ``--write`` all of it goes into
docs/control.md.

    python benchmark/lq.py
    python benchmark/lq.py --seconds 10 --write
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from closed_loop import LoopConditions, LoopRecord, run_closed_loop
from hollerbach import recursion_3x3, recursion_4x4
from sections import DOCS, write_section

from robot_dynamics.control.feedback.protocol import TrackingController
from robot_dynamics.control.feedback.typical_motions import typical_motions
from robot_dynamics.control.laws.feedforward_lq import CERTIFIED_POINTS, FeedforwardLQController
from robot_dynamics.control.laws.model_based import PDGravityController
from robot_dynamics.control.lq.certificate import certify
from robot_dynamics.control.lq.design import FeedbackDesign, Schedule, weight_of_time_constant
from robot_dynamics.control.lq.rules import OneStepRule, rule_of_design
from robot_dynamics.control.motion.references import exciting_fourier
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model.modify import with_payload, with_scaled_masses
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import resolve_robot
from robot_dynamics.simulation.plant import Plant
from robot_dynamics.simulation.sensors import JointSensors, SensorQuality

DOCUMENT = DOCS / 'control.md'
PERIOD, DELAY = 0.002, 0.002
#: Errors of a start are not those of a law. s.
SETTLED = 2.0
#: The error of a soft feedback with a payload is no reason to stop a study.
PATIENT = Schedule(eps2=100.0)


class Unjudged(FeedforwardLQController):
    """Takes gains that no arm is to get."""

    def certify(self) -> None:
        """Judge nothing."""


@dataclass(frozen=True)
class Condition:
    """A column of the table: what is different from the ideal loop and the true model."""

    name: str
    plant: Callable[[Robot], Robot] = lambda robot: robot
    loop: LoopConditions = field(default_factory=LoopConditions)
    quality: SensorQuality = field(default_factory=SensorQuality)
    effort_gain: float = 1.0


def loaded(robot: Robot) -> Robot:
    """Return the arm with 2 kg at 0.18 m from its flange."""
    return with_payload(robot, 2.0, (0.02, 0.0, 0.18),
                        frame='flange' if 'flange' in robot.frames else None)


NOISE = SensorQuality(position_resolution=2.0 * np.pi / 2**16, velocity_noise=0.005)
LATE = LoopConditions(delay=DELAY)
CONDITIONS = (
    Condition('nominal'),
    Condition('2 kg unknown', loaded),
    Condition('masses 30 % too high', lambda robot: with_scaled_masses(robot, 1.0 / 1.3)),
    Condition('torque 7 % off', effort_gain=1.07),
    Condition('noise, 2 ms late', loop=LATE, quality=NOISE),
)


def laws(robot: Robot) -> Iterator[tuple[str, TrackingController]]:
    """Yield the rows of the table."""
    times = {'period': PERIOD, 'delay': DELAY}
    yield 'PD + gravity, omega_D 60, lambda 12', PDGravityController(robot, **times)
    for bandwidth, constant in ((60.0, 1.0 / 12.0), (40.0, 0.026), (60.0, 1.0 / 60.0)):
        for gain in ('one_step', 'riccati'):
            yield (f'{gain}, {bandwidth:g} 1/s, {1e3 * constant:.3g} ms',
                   FeedforwardLQController(robot, gain=gain, schedule=PATIENT,
                                           design=FeedbackDesign(bandwidth, constant), **times))
    for name, weight in (('Q = 1', 1.0),
                         ('Q of 100 ms', weight_of_time_constant(PERIOD, 0.1))):
        yield f'one_step over the period, {name}', Unjudged(
            robot, rule=OneStepRule(robot.n, PERIOD, weight), schedule=PATIENT, **times)


def run(robot: Robot, law: TrackingController, condition: Condition, seconds: float
        ) -> LoopRecord | None:
    """Track the exciting motion; None where that failed."""
    plant = Plant(condition.plant(robot), effort_gain=condition.effort_gain)
    plant.reset(exciting_fourier(robot, 0).start)
    law.reset(plant.q, plant.v)
    try:
        return run_closed_loop(
            law, plant, lambda pose: exciting_fourier(robot, 0, start=pose), seconds,
            conditions=condition.loop, sensors=JointSensors(condition.quality, seed=1))
    except RobotDynamicsError:
        return None


def chatter(record: LoopRecord) -> float:
    """Return the RMS change of the effort from sample to sample, of the worst joint. N m."""
    changes = np.diff(record.effort[record.time > SETTLED], axis=0)
    return float(np.sqrt(np.mean(changes**2, axis=0)).max())


def radius(robot: Robot, law: TrackingController) -> str:
    """Return the spectral radii of a law, as modelled and of the worst arm allowed for."""
    if not isinstance(law, FeedforwardLQController):
        return ''
    motions = typical_motions(robot)
    found = certify(law.rule, robot, *(x[:CERTIFIED_POINTS] for x in (
        motions.q, motions.v, motions.a)), period=PERIOD, delay=DELAY)
    return f'{found.verdicts[0].radius:.3f} / {found.worst.radius:.3f}'


def study(robot: Robot, seconds: float) -> str:
    """Return the table of all laws in all conditions."""
    head = ['law', *(condition.name for condition in CONDITIONS), 'chatter, N m',
            'spectral radius']
    lines = ['| ' + ' | '.join(head) + ' |', '|---|' + '---:|' * (len(head) - 1)]
    for name, law in laws(robot):
        cells = [name]
        for condition in CONDITIONS:
            record = run(robot, law, condition, seconds)
            error = np.nan if record is None else 1e3 * record.rms(SETTLED, seconds)
            cells.append(f'{error:.3g}' if np.isfinite(error) else 'stopped')
        cells.append('' if record is None else f'{chatter(record):.2f}')
        cells.append(radius(robot, law))
        lines.append('| ' + ' | '.join(cells) + ' |')
        print(lines[-1], flush=True)
    return '\n'.join(lines)


def median(call: Callable[[], object], repeats: int = 5000) -> float:
    """Return the median time of a call. us."""
    call()
    times = np.empty(repeats)
    for k in range(repeats):
        start = time.perf_counter()
        call()
        times[k] = time.perf_counter() - start
    return 1e6 * float(np.median(times))


def timing(robot: Robot) -> str:
    """Return the table of times."""
    n, random = robot.n, np.random.default_rng(0)
    q, v, q_d, v_d, a_d = random.normal(scale=0.3, size=(5, n))
    rows = []
    for gain in ('one_step', 'riccati'):
        law = FeedforwardLQController(robot, gain=gain,
                                      schedule=Schedule(eps1=50.0, eps2=100.0))
        answer = median(lambda law=law: law.update(q, v, q_d, v_d, a_d, PERIOD, adapt=False))
        rule, K = rule_of_design(gain, n, FeedbackDesign(), PERIOD), np.empty((n, 2 * n))
        update = median(
            lambda rule=rule, K=K, law=law: rule.gain(law.model.linearise(q_d, v_d, a_d), K))
        rows.append(f'| {gain} | {answer:.1f} | {update:.1f} |')
    return '\n'.join(['| gain | answer, us | new gain, us |', '|---|---:|---:|', *rows])


def operations() -> str:
    """Return the table of operations of the recursive Lagrangian form, for six joints."""
    robot = Robot.from_urdf(resolve_robot('puma560'))
    motion = np.ones((3, robot.n))
    rows = ['| matrices | report, as printed | by its formulas | counted here |',
            '|---|---:|---:|---:|']
    for name, form, printed, formulas in (
            ('4x4', recursion_4x4, (40594, 37926), (1062 * 36 - 1021 * 6 - 128,
                                                    1037 * 36 - 621 * 6 - 96)),
            ('3x3', recursion_3x3, (26922, 20805), (739 * 36 + 62 * 6 - 54,
                                                    (1161 * 36 - 19 * 6) // 2 - 36))):
        done = form(robot, *motion).arithmetic
        pairs = (printed, formulas, (done.multiplications, done.additions))
        rows.append(f'| {name} | ' + ' | '.join(f'{a:,} + {b:,}' for a, b in pairs) + ' |')
    return '\n'.join(rows)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is asked for and print its tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--robot', default='arm7', help='URDF file or shipped robot')
    parser.add_argument('--seconds', type=float, default=10.0)
    parser.add_argument('--only', choices=('study', 'timing', 'operations'))
    parser.add_argument('--write', action='store_true', help='write into docs/control.md')
    options = parser.parse_args(arguments)
    robot = Robot.from_urdf(resolve_robot(options.robot))
    tables = {'study': lambda: study(robot, options.seconds), 'timing': lambda: timing(robot),
              'operations': operations}
    for name, make in tables.items():
        if options.only in (None, name):
            table = make()
            if name != 'study':
                print(table, flush=True)
            if options.write:
                write_section(DOCUMENT, f'lq {name}', table)
    return 0


if __name__ == '__main__':
    sys.exit(main())
