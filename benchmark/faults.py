# SPDX-License-Identifier: Apache-2.0
"""How fast and how surely faults and contacts are found, on simulated arms with noise.

Three seven-joint arms follow motions; joints block, actuators fail, a force pushes. Each arm is
tried without rotors and with rotors that its model does not describe. Thresholds are learnt from
some minutes of each motion. With ``--write`` the tables go into docs/faults.md.

    python benchmark/faults.py
    python benchmark/faults.py --arms gen3 --trials 28 --write
"""

from __future__ import annotations

import argparse
import sys
import time as clock
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from sections import DOCS, write_section

sys.path.insert(0, str(Path(__file__).resolve().parent))

from faults_arm import (
    FLANGES,
    MASSES,
    PAYLOADS,
    PERIOD,
    QUALITY,
    SETTLING,
    TIMESTEP,
    StudyArm,
    study_motion,
)

from robot_dynamics.control.faults.fault_detector import Event, FaultDetector
from robot_dynamics.control.faults.threshold_learner import ThresholdLearner
from robot_dynamics.control.faults.tolerances import default_tolerances
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.simulation.faults import Fault, FaultKind, FaultyPlant

KINDS = ('fourier', 'poses')
HORIZON = 0.5
#: Time of one motion in which alarms without a fault are counted. s.
QUIET = 8.0
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

    def cells(self) -> str:
        """Return found within 20 ms, median, 90 %, right joint and called right, as cells."""
        # States come at whole milliseconds.
        times = np.round(1e3 * np.array(self.times), 3)
        found, (median, most, _) = int(np.isfinite(times).sum()), _spread(times)
        return (f'{int((times <= 20.0).sum())}/{times.size} | {found}/{times.size} | {median} | '
                f'{most} | {sum(self.right)}/{found} | {sum(self.judged)}/{found}')


def _spread(times) -> list[str]:
    """Return median, 90 % and the worst of times in ms."""
    spread = [np.sort(times)[min(int(share * times.size), times.size - 1)]
              for share in (0.5, 0.9, 1.0)]
    return ['-' if not np.isfinite(t) else f'{t:.0f}' for t in spread]


class Study:
    """Learns, watches, and tries faults.

    Parameters
    ----------
    name : str
        The arm.
    minutes : float
        Of each motion, for learning.
    known_friction : float
        Share of the friction that the models know.
    rotors : bool
        Whether the arm has rotors that no model describes.
    seed : int
        Of everything random.
    """

    def __init__(self, name: str, minutes: float = 4.0, known_friction: float = 0.8,
                 seed: int = 0, *, rotors: bool = False):
        self._options = {'name': name, 'known_friction': known_friction, 'rotors': rotors}
        self.arm = StudyArm(**self._options)
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
            self.arm.run(motion, 0.0, 60.0 * minutes, self._noise(), learn)
        self.tolerances, self.joints = learner.tolerances, learner.joints
        self._correct(self.arm)

    def _correct(self, arm: StudyArm) -> None:
        """Give an arm the learnt friction and armature."""
        arm.predictor.correct_joints(self.joints)
        arm.observer.correct_joints(self.joints)

    def false_alarms(self, payload: str, *, learnt: bool) -> str:
        """Return the events without any fault, of both motions under adaptive control."""
        counts = dict.fromkeys(Event, 0)
        for motion in self.motions.values():
            arm = StudyArm(**self._options, payload=payload)
            tolerances = default_tolerances(arm.model, arm.predictor.filter)
            if learnt:
                self._correct(arm)
                tolerances = self.tolerances
            detector, before = FaultDetector(arm.predictor, tolerances, arm.load), Event.NOTHING

            def watch(time, counts_now, v, detector=detector):
                nonlocal before
                event = detector.update(time, counts=counts_now)
                counts[event] += event is not before
                before = event
                return False

            arm.run(motion, 3.0, QUIET, self._noise(), watch, adapt=True)
        alarms = counts[Event.UNDECIDED]
        return f'{alarms} ({counts[Event.FAULT]}, {counts[Event.CONTACT]})'

    def time_per_state(self) -> FloatArray:
        """Return medians: observer, prediction, detector, detector with an alarm. us."""
        arm, random = self.arm, np.random.default_rng(0)
        # The second one finds friction that no effort is for, and never decides what it is.
        detectors = self._detector(), FaultDetector(arm.predictor, self.tolerances, arm.load,
                                                    window=1e9)
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
                motion, begin, lambda p, f=force: p.add_push(self.arm.flange, f, 2.0 * SETTLING))
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
        return FaultDetector(self.arm.predictor, self.tolerances, self.arm.load)

    def _noise(self) -> int:
        return int(self.random.integers(2**31))


def trials_of(study: Study, trials: int) -> Iterator[tuple[str, Outcomes]]:
    """Yield the name and outcomes of each kind of fault and push."""
    for name, kind, size, speed in FAULTS:
        yield name, study.fault(kind, size, speed, trials)
    axes = np.vstack([np.eye(3), -np.eye(3)])
    anywhere = study.random.normal(size=(trials, 3))
    anywhere /= np.linalg.norm(anywhere, axis=1, keepdims=True)
    yield '10 N push at the flange along a base axis', study.push(
        10.0 * np.vstack([axes] * max(1, round(trials / 6))))
    yield '10 N push in any direction', study.push(10.0 * anywhere)


#: Arms without and with rotors that no model describes.
TITLES = {False: 'as described', True: 'undescribed rotors'}


def fault_table(name: str, studies: dict[bool, Study], trials: int) -> str:
    """Return the table of faults of one arm, and what was learnt."""
    rows = ['| arm | what | within 20 ms | found | median ms | 90 % | right joint | called right '
            '|',
            '|---|---|---|---|---|---|---|---|']
    for rotors, study in studies.items():
        for what, outcomes in trials_of(study, trials):
            rows.append(f'| {TITLES[rotors]} | {what} | {outcomes.cells()} |')
            print(rows[-1], flush=True)
    early = sum(study.early for study in studies.values())
    seen = '; '.join(f'{TITLES[rotors]} {_listed(visible(study))}'
                     for rotors, study in studies.items())
    armature = [_listed(values) for values in (studies[True].joints[2],
                                               studies[True].arm.true.armature)]
    rows += ['', f'Alarms in the trials before the fault: {early}. Smallest effort visible within '
             f'20 ms, N m: {seen}. Armature learnt of the rotors, kg m^2: {armature[0]}; in truth '
             f'{armature[1]}.']
    if name == 'arm7':
        rows += details(studies[False], trials)
    return '\n'.join(rows)


def payload_table(name: str, studies: dict[bool, Study], trials: int) -> str:
    """Return the alarms without any fault, without and with an unknown payload."""
    rows = [f'| payload, unknown | thresholds | {TITLES[False]} | {TITLES[True]} |',
            '|---|---|---|---|']
    for payload in PAYLOADS:
        title = f'{MASSES[name]:g} kg, {payload}' if PAYLOADS[payload] else payload
        for learnt in (False, True):
            counts = [study.false_alarms(payload, learnt=learnt) for study in studies.values()]
            rows.append(f'| {title} | {"learnt" if learnt else "default"} | '
                        + ' | '.join(counts) + ' |')
            print(rows[-1], flush=True)
    return '\n'.join([*rows, '', f'Alarms without any fault in {2.0 * QUIET:g} s; in parentheses '
                      'those called a fault, and those called a contact.'])


#: Sections of docs/faults.md of each arm.
PARTS = {'faults': fault_table, 'payloads': payload_table}


def _listed(values) -> str:
    return ' '.join(f'{x:.2g}' for x in values)


def visible(study: Study) -> FloatArray:
    """Return the smallest effort visible within 20 ms in the pose at the end of learning."""
    windows = int(np.sum(study.arm.predictor.filter.lengths * PERIOD <= 0.02))
    return study.tolerances.visible(study.arm.predictor.inertia, windows)


def details(study: Study, trials: int) -> list[str]:
    """Return what a perfect observer needs, and computation times."""
    name, kind, size, speed = next(fault for fault in FAULTS if fault[0] == GENTLE)
    ideal = 1e3 * np.array(study.fault(kind, size, speed, trials, with_ideal=True).ideal)
    median, most, worst = _spread(ideal)
    observer, prediction, judging, telling = study.time_per_state()
    return ['', f'An observer that knows the arm, its friction, the joint and the instant, and '
            f'has these sensors, needs for {name}: median {median} ms, 90 % {most} ms, worst '
            f'{worst} ms; {int((ideal <= 150.0).sum())}/{ideal.size} within 150 ms.', '',
            f'One state takes {observer + prediction + judging:.0f} us (observer with the '
            f'matrices {observer:.0f}, prediction {prediction:.0f}, judging {judging:.0f}; '
            f'medians), {telling - judging:.0f} us more while the joint is not decided.']


def main() -> int:
    """Run the study."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--arms', nargs='+', choices=FLANGES, default=list(FLANGES))
    parser.add_argument('--parts', nargs='+', choices=PARTS, default=list(PARTS))
    parser.add_argument('--trials', type=int, default=42, help='of each kind')
    parser.add_argument('--minutes', type=float, default=4.0, help='of each motion, for learning')
    parser.add_argument('--known-friction', type=float, default=0.8,
                        help='share of the friction that the model knows')
    parser.add_argument('--seed', type=int, default=0)
    parser.add_argument('--write', action='store_true', help='write into docs/faults.md')
    options = parser.parse_args()
    for name in options.arms:
        studies = {rotors: Study(name, options.minutes, options.known_friction, options.seed,
                                 rotors=rotors) for rotors in TITLES}
        for part in options.parts:
            text = PARTS[part](name, studies, options.trials)
            if options.write:
                write_section(DOCS / 'faults.md', f'{part} {name}', text)
    return 0


if __name__ == '__main__':
    sys.exit(main())
