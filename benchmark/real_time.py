# SPDX-License-Identifier: Apache-2.0
"""Times of a control session in Python, and of the controller in C that is generated from it.

A simulated arm of seven joints tracks a trajectory under the session in Python. Its states are
recorded, and then played to the controller in C: once without pauses, which is the time of the
computation alone, and then at the same rate, sleeping between two updates as a controller_manager
does. A state of the recording takes the median of its plays, and the slowest of them is what the
computation itself takes at most. The machine interrupts updates, and just as much a loop of 10 us
that computes nothing after each of them: the last column has the worst time of that loop.

    python benchmark/real_time.py --minutes 10 --write
"""

from __future__ import annotations

import argparse
import math
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmark.fault_parts.lies import Fault, Reading
from benchmark.fault_parts.runs import Bench, reference_points
from benchmark.sections import DOCS, write_section
from robot_dynamics.control import ControlSession
from robot_dynamics.control.feedback.gains import AdaptationGains
from robot_dynamics.control.motion.trajectory import TrajectoryBuffer
from robot_dynamics.control.session.modes import Mode
from robot_dynamics.dynamics.native.build import find_compiler
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.real_time.generate import core_files

#: Time of the recorded motion, s, and largest number of points of its trajectory.
SECONDS, POINTS = 18.0, 1000
#: Largest p50 and worst time of an update with the adaptive law. us.
WANTED, WANTED_WORST = 10.0, 50.0
#: As CMake compiles a release, in the language of the package.
OPTIONS = ('-std=c99', '-O3', '-DNDEBUG')
#: Largest difference of the last effort of both, N m.
EQUAL = 1e-6
LAWS = {
    # The terms are those of the node.
    'adaptive': {'adaptation': AdaptationGains(terms=('viscous', 'coulomb', 'armature'))},
    'computed_torque': {}, 'feedforward_lq': {}, 'pd_gravity': {},
}


class TimedBench(Bench):
    """A session in this process; records its states and the times of its answers."""

    def __init__(self, law: str, rate: float):
        super().__init__('arm7', law, rate, **LAWS[law])
        self.session = ControlSession(
            self.model, self.law, self.session.settings,
            trajectory=TrajectoryBuffer.for_robot(self.model, max_points=POINTS))
        self.texts = core_files(self.session)
        self.states: list[FloatArray] = []
        self.times: list[float] = []

    def answers(self, states: list[Reading]) -> Iterator[tuple[float, FloatArray | None]]:
        """Effort of the session, for the whole period."""
        now, state = self.time + 1.0, states[-1]
        self.states.append(np.array([now, *state.q, *state.v, *state.effort]))
        start = time.perf_counter()
        command = self.session.on_joint_state(now, now, self.model.joint_names, state.q, state.v,
                                              state.effort)
        self.times.append(1e6 * (time.perf_counter() - start))
        yield self.period, self.effort if command is None else command.effort.copy()

    def record(self) -> FloatArray:
        """Track a trajectory; the recording for ``timing.c``."""
        nothing = Fault(self.joint, math.inf)
        while not self.mode.follows:
            self.cycle(nothing)
        begin, points = len(self.states), reference_points(self.model, self.q, SECONDS)
        self.follow(points)
        for _ in range(round(SECONDS / self.period)):
            self.cycle(nothing)
        if self.mode is not Mode.TRACKING:
            raise SystemExit(f'the session in Python does not track: {self.reason}')
        motion = [[point.time_from_start for point in points],
                  *([getattr(point, name) for point in points]
                    for name in ('positions', 'velocities', 'accelerations'))]
        return np.concatenate([[len(self.states), begin, len(points)],
                               *(np.ravel(part) for part in motion), *self.states])


def build(bench: TimedBench, recording: FloatArray, folder: Path) -> Path:
    """The program that plays the recording to the controller in C."""
    for file, text in bench.texts.items():
        (folder / file).write_text(text, encoding='utf-8')
    recording.tofile(folder / 'recording')
    source = Path(__file__).with_name('real_time_parts') / 'timing.c'
    subprocess.run([*find_compiler(), *OPTIONS, f'-I{folder}', source,
                    *sorted(folder.glob('*.c')), '-o', folder / 'timing', '-lm'], check=True)
    return folder / 'timing'


def play(bench: TimedBench, program: Path, rate: float, times: int) -> list[float]:
    """p50, p99.9, slowest state, worst, and worst of a loop of 10 us that computes nothing, us."""
    done = subprocess.run([program, program.with_name('recording'), str(rate), str(times)],
                          check=True, capture_output=True, text=True)
    mode, _, heap, is_real_time, *found = done.stdout.split()[:9]
    effort = np.array(done.stdout.split()[9:], float)
    if bench.effort is None or np.abs(effort - bench.effort).max() > EQUAL \
            or tuple(Mode)[int(mode)] is not Mode.TRACKING:
        raise SystemExit('the controller in C ends with another effort than the session')
    if heap != '0':
        raise SystemExit(f'the controller in C has used the heap {heap} times')
    if is_real_time == '0':
        print('without real-time priority, which is not permitted here', file=sys.stderr)
    return [1e-3 * float(x) for x in found]


def main(arguments: Sequence[str] | None = None) -> int:
    """Time every law; 1 where the adaptive one takes longer than wanted."""
    parser = argparse.ArgumentParser(description=(__doc__ or '').splitlines()[0])
    parser.add_argument('--law', choices=tuple(LAWS), nargs='*', default=tuple(LAWS))
    parser.add_argument('--rate', type=float, default=1000.0, help='states per second')
    parser.add_argument('--minutes', type=float, default=1.0, help='of each law in C')
    parser.add_argument('--write', action='store_true', help='write into docs/real_time.md')
    options = parser.parse_args(arguments)
    lines = ['| law | Python: p50, us | C without pauses | C: p50 | p99.9 | slowest state '
             '| worst | worst of nothing |',
             '|---|---:|---:|---:|---:|---:|---:|---:|']
    missed = False
    for law in options.law:
        bench = TimedBench(law, options.rate)
        recording = bench.record()
        times = math.ceil(60.0 * options.minutes * options.rate / len(bench.states))
        with tempfile.TemporaryDirectory() as folder:
            program = build(bench, recording, Path(folder))
            alone = play(bench, program, 0.0, 3)[0]
            p50, p999, slowest, worst, nothing = play(bench, program, options.rate, times)
        missed |= law == 'adaptive' and not (p50 < WANTED and worst < WANTED_WORST)
        lines.append(f'| `{law}` | {np.median(bench.times):.0f} | {alone:.1f} | {p50:.1f} | '
                     f'{p999:.1f} | {slowest:.1f} | {worst:.1f} | {nothing:.1f} |')
    text = '\n'.join([*lines, '', f'One update of the session, seven joints, {options.rate:g} Hz, '
                      f'{options.minutes:g} min of each law in C; {platform.machine()}, '
                      f'Python {platform.python_version()}.'])
    print(text)
    if options.write:
        write_section(DOCS / 'real_time.md', 'times', text)
    return int(missed)


if __name__ == '__main__':
    sys.exit(main())
