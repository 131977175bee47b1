# SPDX-License-Identifier: Apache-2.0
"""How fast and how surely faults and contacts are found, on a simulated arm with noise.

A seven-joint arm with a gripper follows motions; joints block, actuators fail, somebody
pushes. Thresholds are learnt from four minutes of each motion. With ``--write`` the tables go
into docs/faults.md.

    python benchmark/faults.py
    python benchmark/faults.py --trials 84 --minutes 10 --write
"""

from __future__ import annotations

import argparse
import sys
import time as clock
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from sections import DOCS, write_section

sys.path.insert(0, str(Path(__file__).resolve().parent))

from faults_arm import PERIOD, QUALITY, SETTLING, TIMESTEP, StudyArm, study_motion

from robot_dynamics.control.faults.fault_detector import Event, FaultDetector
from robot_dynamics.control.faults.threshold_learner import ThresholdLearner
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.simulation.faults import Fault, FaultKind, FaultyPlant

KINDS = ('fourier', 'poses')
LEARNING, HORIZON = 240.0, 0.5
#: Largest of the noise of all states of an hour, in standard deviations.
SURE = float(np.sqrt(2.0 * np.log(3600.0 / PERIOD)))
#: States whose time is taken.
TIMED = 5000
#: Of whose times a perfect observer's, and those of each motion, are told.
GENTLE = 'incipient block (20 1/s), at any time'
#: Faults: name, kind, size, least speed of the joint when it begins.
FAULTS = (
    ('hard block, joint above 0.4 rad/s', FaultKind.BLOCK, 1e5, 0.4),
    ('incipient block (20 1/s), joint above 0.3 rad/s', FaultKind.BLOCK, 20.0, 0.3),
    ('hard block, at any time', FaultKind.BLOCK, 1e5, 0.0),
    ('incipient block (20 1/s), at any time', FaultKind.BLOCK, 20.0, 0.0),
    ('free-swinging', FaultKind.FREE_SWINGING, 0.0, 0.0),
    ('saturated', FaultKind.SATURATED, 1.0, 0.0),
    ('30 % loss of effectiveness', FaultKind.LOSS, 0.3, 0.0),
    ('bias of 2 N m', FaultKind.BIAS, 2.0, 0.0),
)


@dataclass
class Outcomes:
    """What trials of one kind have come to."""

    times: list[float] = field(default_factory=list)
    #: When one could know who knows the fault, its instant and the arm, but for the noise.
    ideal: list[float] = field(default_factory=list)
    #: Whether the joint was right, and whether it was called what it is.
    right: list[bool] = field(default_factory=list)
    judged: list[bool] = field(default_factory=list)

    def row(self, name: str, begin: int = 0, step: int = 1) -> str:
        """Return a row of the table, of every `step`-th trial."""
        # States come at whole milliseconds.
        times = np.round(1e3 * np.array(self.times)[begin::step], 3)
        found = int(np.isfinite(times).sum())
        texts = ' | '.join(_spread(times))
        within = int((times <= 20.0).sum())
        return (f'| {name} | {found}/{times.size} | {texts} | {within}/{times.size} | '
                f'{sum(self.right[begin::step])}/{found} | '
                f'{sum(self.judged[begin::step])}/{found} |')


def _spread(times) -> list[str]:
    """Return median, 90 % and the worst of times in ms."""
    spread = [np.sort(times)[min(int(share * times.size), times.size - 1)]
              for share in (0.5, 0.9, 1.0)]
    return ['-' if not np.isfinite(t) else f'{t:.0f}' for t in spread]


class Study:
    """Learns, watches, and tries faults.

    Parameters
    ----------
    known_friction : float
        Share of the friction that the models know.
    seed : int
        Of everything random.
    """

    def __init__(self, known_friction: float = 0.8, seed: int = 0):
        self.arm = StudyArm(known_friction)
        self.random = np.random.default_rng(seed)
        self.motions = {kind: study_motion(kind, self.arm.model, seed) for kind in KINDS}
        #: Alarms in the trials before anything was wrong.
        self.early = 0
        learner = ThresholdLearner(self.arm.model, self.arm.predictor)

        def learn(time, counts, v):
            learner.update(self.arm.observer, v, counts=counts)
            return False

        for motion in self.motions.values():
            learner.begin_anew()
            self.arm.run(motion, 0.0, LEARNING, self._noise(), learn)
        self.tolerances, self.friction = learner.tolerances, learner.friction
        self.arm.predictor.correct_friction(self.friction)

    def false_alarms(self, kind: str, seconds: float) -> int:
        """Return how often an alarm is raised without any fault."""
        detector, alarms, before = self._detector(), 0, -1

        def watch(time, counts, v):
            nonlocal alarms, before
            detector.update(time, counts=counts)
            alarms += detector.joint >= 0 and before < 0
            before = detector.joint
            return False

        self.arm.run(self.motions[kind], 3.0, seconds, self._noise(), watch)
        return alarms

    def time_per_state(self) -> FloatArray:
        """Return medians: observer, prediction, detector, detector with an alarm. us."""
        arm, random = self.arm, np.random.default_rng(0)
        # The second one finds friction that no effort is for, and never decides what it is.
        detectors = self._detector(), FaultDetector(arm.predictor, self.tolerances, window=1e9)
        noise = QUALITY.velocity_noise * random.standard_normal((TIMED, arm.true.n))
        arm.predictor.reset()
        times = np.zeros((TIMED, 5))
        for k in range(TIMED):
            q, v, a = self.motions['fourier'].sample(3.0 + k * PERIOD)
            effort, dt = arm.dynamics.inverse_dynamics(q, v, a), PERIOD if k else 0.0
            v = v + noise[k]
            times[k, 0] = clock.perf_counter()
            arm.observer.update(q, v, effort, dt)
            times[k, 1] = clock.perf_counter()
            counts = arm.predictor.update(arm.observer.matrices, q, v, effort, dt)
            for i, detector in enumerate(detectors):
                times[k, 2 + i] = clock.perf_counter()
                detector.update(k * PERIOD, counts=counts)
            times[k, 4] = clock.perf_counter()
        return 1e6 * np.median(np.diff(times, axis=1), axis=0)

    def fault(self, kind: FaultKind, size: float, least_speed: float, trials: int, *,
              with_ideal: bool = False) -> Outcomes:
        """Try a fault at each joint in turn, on both motions."""
        outcomes = Outcomes()
        names = self.arm.true.joint_names
        for trial in range(trials):
            motion = self.motions[KINDS[trial % 2]]
            joint = trial // 2 % len(names)
            begin = self._when(motion, joint, least_speed)
            fault = Fault(names[joint], kind, size, 2.0 * SETTLING)
            detector, found = self._try(motion, begin, lambda p, f=fault: p.add_fault(f))
            outcomes.times.append(found)
            outcomes.right.append(np.isfinite(found) and detector.joint == joint)
            outcomes.judged.append(detector.event is Event.FAULT)
            if with_ideal:
                outcomes.ideal.append(self._ideal(motion, begin, fault))
        return outcomes

    def push(self, forces) -> Outcomes:
        """Try pushes at the gripper."""
        outcomes = Outcomes()
        for trial, force in enumerate(forces):
            motion = self.motions[KINDS[trial % 2]]
            begin = self._when(motion, 0, 0.0)
            detector, found = self._try(
                motion, begin, lambda p, f=force: p.add_push('flange', f, 2.0 * SETTLING))
            outcomes.times.append(found)
            outcomes.right.append(bool(np.isfinite(found)))
            outcomes.judged.append(detector.event is Event.CONTACT)
        return outcomes

    def _ideal(self, motion, begin: float, fault: Fault) -> float:
        """Return when the noise leaves no doubt, to one who knows all but whether it is there.

        What is seen differs by the motion of the arm less that of one without the fault under
        the same efforts. Twice the logarithm of the likelihood of it is on average the sum of
        its squares over the variances of the noise: it has to be as large as the largest of
        noise.
        """
        arm, twin = self.arm, FaultyPlant(self.arm.true, timestep=TIMESTEP)
        evidence, found = 0.0, np.inf
        position_noise = QUALITY.position_resolution / np.sqrt(12.0)

        def watch(time, counts, v):
            nonlocal evidence, found
            evidence += np.sum(((arm.plant.q - twin.q) / position_noise) ** 2) \
                + np.sum(((arm.plant.v - twin.v) / QUALITY.velocity_noise) ** 2)
            if evidence >= SURE**2:
                found = time - SETTLING
            return np.isfinite(found)

        arm.run(motion, begin, SETTLING + HORIZON, 0, watch, lambda p: p.add_fault(fault), twin)
        return found

    def _try(self, motion, begin, prepare) -> tuple[FaultDetector, float]:
        """Return the detector when it has decided, and when the alarm came after the fault."""
        detector, found = self._detector(), np.inf

        def watch(time, counts, v):
            nonlocal found
            event = detector.update(time, counts=counts)
            if detector.joint >= 0 and not np.isfinite(found):
                found = time - SETTLING
            return event in (Event.FAULT, Event.CONTACT)

        self.arm.run(motion, begin, SETTLING + HORIZON, self._noise(), watch, prepare)
        if found < 0.0:
            self.early += 1
            return self._try(motion, begin, prepare)
        return detector, found

    def _when(self, motion, joint: int, least_speed: float) -> float:
        """Return where in a motion to start, so that a joint is fast when the fault begins."""
        for _ in range(10_000):
            begin = self.random.uniform(2.5, 60.0)
            if abs(motion.sample(begin + 2.0 * SETTLING)[1][joint]) >= least_speed:
                return begin
        raise SystemExit(f'joint {joint} is never as fast as {least_speed} rad/s')

    def _detector(self) -> FaultDetector:
        return FaultDetector(self.arm.predictor, self.tolerances)

    def _noise(self) -> int:
        return int(self.random.integers(2**31))


def tables(study: Study, trials: int, minutes: float) -> str:
    """Return both tables."""
    alarms = {kind: study.false_alarms(kind, 30.0 * minutes) for kind in KINDS}
    rows = ['| what | found | median ms | 90 % | worst | within 20 ms | right joint '
            '| called right |',
            '|---|---|---|---|---|---|---|---|']
    ideal = np.zeros(0)
    for name, kind, size, speed in FAULTS:
        outcomes = study.fault(kind, size, speed, trials, with_ideal=name == GENTLE)
        rows.append(outcomes.row(name))
        if name == GENTLE:
            rows += [outcomes.row(f'{name}, {kind} alone', i, len(KINDS))
                     for i, kind in enumerate(KINDS)]
        ideal = np.append(ideal, 1e3 * np.array(outcomes.ideal))
    axes = np.vstack([np.eye(3), -np.eye(3)])
    anywhere = study.random.normal(size=(trials, 3))
    anywhere /= np.linalg.norm(anywhere, axis=1, keepdims=True)
    for name, directions in (
            ('10 N push at the gripper along a base axis',
             np.vstack([axes] * max(1, round(trials / 6)))),
            ('10 N push in any direction', anywhere)):
        rows.append(study.push(10.0 * directions).row(name))
    quiet = ', '.join(f'{count} in {0.5 * minutes:g} min of {kind}' for kind, count in
                      alarms.items())
    tolerances = study.tolerances
    texts = [' '.join(f'{x:.2g}' for x in values) for values in (
        tolerances.noise[0], tolerances.noise[-1], tolerances.effort[0, -1],
        tolerances.limit[0], tolerances.limit[-1], tolerances.whole)]
    unknown = study.arm.true.friction - study.arm.model.friction
    found = ' '.join(f'{x:.2g}' for x in study.friction[1])
    median, most, worst = _spread(ideal)
    observer, prediction, judging, telling = study.time_per_state()
    return '\n'.join([
        *rows, '', f'An observer that knows the arm, its friction, the joint and the instant, and '
        f'has these sensors, needs for {GENTLE}: median {median} ms, 90 % {most} ms, worst '
        f'{worst} ms; {int((ideal <= 150.0).sum())}/{ideal.size} within 150 ms.', '',
        f'One state takes {observer + prediction + judging:.0f} us (observer with the matrices '
        f'{observer:.0f}, prediction {prediction:.0f}, judging {judging:.0f}; medians), '
        f'{telling - judging:.0f} us more while it is not decided which joint it is.', '',
        f'False alarms, other noise and other stretches of the motions: {quiet}; '
        f'in the trials before anything was wrong: {study.early}.', '',
        'Learnt, joint by joint: spread of unexplained accelerations, rad/s^2, shortest window '
        f'{texts[0]}, longest {texts[1]}; spread of unexplained efforts, longest window, N m '
        f'{texts[2]}; limits in standard deviations, shortest window {texts[3]}, longest '
        f'{texts[4]}; of all joints together, by windows {texts[5]}. '
        f'Coulomb friction learnt beyond the model, N m: {found}; in truth '
        + ' '.join(f'{x:.2g}' for x in unknown) + '.'])


def main() -> int:
    """Run the study."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--trials', type=int, default=42, help='of each kind')
    parser.add_argument('--minutes', type=float, default=10.0, help='without fault, in all')
    parser.add_argument('--known-friction', type=float, default=0.8,
                        help='share of the friction that the model knows')
    parser.add_argument('--seed', type=int, default=0)
    parser.add_argument('--write', action='store_true', help='write into docs/faults.md')
    options = parser.parse_args()
    text = tables(Study(options.known_friction, options.seed), options.trials, options.minutes)
    print(text)
    if options.write:
        write_section(DOCS / 'faults.md', 'faults', text)
    return 0


if __name__ == '__main__':
    sys.exit(main())
