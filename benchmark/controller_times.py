# SPDX-License-Identifier: Apache-2.0
"""How long one step of each controller takes, beside one call of Pinocchio: ``--help``.

Medians of interleaved rounds in one process and one thread, after warm-up, along an
exciting motion of a 7R arm with small errors; Pinocchio's inverse dynamics, called from
Python too, is the unit that goes with the machine. With ``--write`` the table goes into
docs/control_study.md.

    python benchmark/controller_times.py
    python benchmark/controller_times.py --rounds 100 --write
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

for variable in ('OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS', 'MKL_NUM_THREADS'):
    os.environ.setdefault(variable, '1')

import numpy as np  # noqa: E402
import pinocchio  # noqa: E402
from sections import DOCS, write_section  # noqa: E402

from robot_dynamics.control.feedback.gains import AdaptationGains  # noqa: E402
from robot_dynamics.control.feedback.protocol import TrackingController  # noqa: E402
from robot_dynamics.control.laws.feedforward_lq import FeedforwardLQController  # noqa: E402
from robot_dynamics.control.laws.model_based import (  # noqa: E402
    ComputedTorqueController,
    PDGravityController,
)
from robot_dynamics.control.laws.slotine_li import AdaptiveController  # noqa: E402
from robot_dynamics.control.lq.design import FeedbackDesign, Schedule  # noqa: E402
from robot_dynamics.control.lq.rules import rule_of_design  # noqa: E402
from robot_dynamics.control.motion.references import exciting_fourier  # noqa: E402
from robot_dynamics.model.arrays import FloatArray  # noqa: E402
from robot_dynamics.model.robot import Robot  # noqa: E402
from robot_dynamics.model.shipped import resolve_robot  # noqa: E402

PERIOD = 0.002
#: Calls of one subject in a round.
CALLS = 100
#: Errors of a good loop. rad, rad/s.
ERROR, RATE_ERROR = 1e-3, 1e-2
UNIT = "Pinocchio's inverse dynamics"

Call = Callable[[int], object]


@dataclass(frozen=True)
class Subject:
    """Something to time.

    Parameters
    ----------
    name : str
        What it is.
    call : callable
        Takes the number of the sample.
    wanted : float
        Largest median. us.
    learner : AdaptiveController, optional
        What learns at each call: frozen, it would be timed for doing nothing.
    """

    name: str
    call: Call
    wanted: float = np.inf
    learner: AdaptiveController | None = None


class Motion:
    """States with small errors along an exciting motion, one a sampling period.

    Parameters
    ----------
    robot : Robot
        The arm.
    samples : int
        How many.
    """

    def __init__(self, robot: Robot, samples: int):
        reference, random = exciting_fourier(robot, 0), np.random.default_rng(0)
        desired = [reference.sample(PERIOD * k) for k in range(samples)]
        self.q_d, self.v_d, self.a_d = (np.array(column) for column in zip(*desired, strict=True))
        self.q = self.q_d + ERROR * random.standard_normal(self.q_d.shape)
        self.v = self.v_d + RATE_ERROR * random.standard_normal(self.v_d.shape)

    def state(self, k: int) -> tuple[FloatArray, ...]:
        """Return q, v, q_d, v_d, a_d of a sample; it starts over at the end."""
        k %= len(self.q)
        return self.q[k], self.v[k], self.q_d[k], self.v_d[k], self.a_d[k]


def subjects(robot: Robot, motion: Motion) -> list[Subject]:
    """Return everything that is timed."""
    def step(law: TrackingController, *, adapt: bool = False) -> Call:
        law.reset(motion.q[0], motion.v[0])
        return lambda k: law.update(*motion.state(k), PERIOD, adapt=adapt)

    def adaptive(name: str, law: str, wanted: float = np.inf) -> Subject:
        learner = AdaptiveController(robot, adaptation=AdaptationGains(law=law))
        return Subject(name, step(learner, adapt=True), wanted, learner)

    found = [Subject(UNIT, _pinocchio(motion)),
             Subject('PD + gravity', step(PDGravityController(robot)), 8.0),
             Subject('computed torque', step(ComputedTorqueController(robot)), 8.0),
             Subject('Slotine-Li, learns nothing', step(AdaptiveController(
                 robot, adaptation=AdaptationGains(law='gradient'))), 8.0),
             adaptive('gradient', 'gradient', 10.0),
             adaptive('gradient, kept at bodies (`projection`)', 'projection'),
             adaptive('`composite`', 'composite'),
             adaptive('`memory`', 'memory'),
             adaptive('natural + composite (`natural`)', 'natural', 20.0),
             adaptive('`natural_memory`', 'natural_memory')]
    for gain in ('one_step', 'riccati'):
        law = FeedforwardLQController(robot, gain=gain,
                                      schedule=Schedule(eps1=50.0, eps2=100.0))
        rule = rule_of_design(gain, robot.n, FeedbackDesign(), PERIOD)
        found += [Subject(f'feedforward + LQ, {gain}: answer', step(law), 10.0),
                  Subject(f'feedforward + LQ, {gain}: new gain', _new_gain(law, rule, motion),
                          50.0)]
    return found


def _new_gain(law: FeedforwardLQController, rule, motion: Motion) -> Call:
    """Return a call that linearises and works out a gain."""
    K = np.empty((motion.q.shape[1], 2 * motion.q.shape[1]))
    return lambda k: rule.gain(law.model.linearise(*motion.state(k)[2:]), K)


def _pinocchio(motion: Motion) -> Call:
    """Return a call of the recursive Newton-Euler algorithm of the same arm."""
    model = pinocchio.buildModelFromUrdf(str(resolve_robot('arm7')))
    data = model.createData()

    def call(k: int) -> object:
        q, v, _, _, a_d = motion.state(k)
        return pinocchio.rnea(model, data, q, v, a_d)
    return call


def measure(found: Sequence[Subject], rounds: int) -> list[float]:
    """Return the median of each subject, in microseconds."""
    times = np.empty((len(found), rounds, CALLS))
    for turn in range(-1, rounds):  # the first one warms up
        for i, subject in enumerate(found):
            for call in range(CALLS):
                start = time.perf_counter()
                subject.call(turn * CALLS + call)
                times[i, turn, call] = time.perf_counter() - start
            if subject.learner is not None and subject.learner.frozen:
                raise SystemExit(f'{subject.name} learns nothing any more: '
                                 f'{subject.learner.frozen_reason}')
    return (1e6 * np.median(times, axis=(1, 2))).tolist()


def table(found: Sequence[Subject], medians: Sequence[float]) -> str:
    """Return the table."""
    lines = ['| one step, seven joints | median, us | times the unit | wanted, us |',
             '|---|---:|---:|---:|']
    for subject, median in zip(found, medians, strict=True):
        wanted = '' if not np.isfinite(subject.wanted) else f'{subject.wanted:g}' + (
            '' if median <= subject.wanted else ' **missed**')
        lines.append(f'| {subject.name} | {median:.1f} | {median / medians[0]:.1f} | {wanted} |')
    return '\n'.join([*lines, '', f'{platform.machine()}, Python {platform.python_version()}, '
                                  f'Pinocchio {pinocchio.__version__}.'])


def main(arguments: Sequence[str] | None = None) -> int:
    """Time everything; 1 where something takes longer than wanted."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--rounds', type=int, default=100)
    parser.add_argument('--write', action='store_true', help='write into docs/control_study.md')
    options = parser.parse_args(arguments)
    robot = Robot.from_urdf(resolve_robot('arm7'))
    found = subjects(robot, Motion(robot, 5000))
    medians = measure(found, options.rounds)
    text = table(found, medians)
    print(text)
    if options.write:
        write_section(DOCS / 'control_study.md', 'times', text)
    return 0 if all(median <= subject.wanted
                    for subject, median in zip(found, medians, strict=True)) else 1


if __name__ == '__main__':
    sys.exit(main())
