# SPDX-License-Identifier: Apache-2.0
"""Kernels in C made for one robot, beside the general ones and Pinocchio: ``--help``.

Medians of interleaved rounds in one process and one thread, after warm-up; the time to
derive, write and compile a robot's kernels; and what formulas take to be derived and
compiled. With ``--write`` the tables go into docs/performance.md.

    python benchmark/native.py
    python benchmark/native.py --rounds 200 --write
"""

from __future__ import annotations

import argparse
import platform
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import dynamics as general
import numpy as np
import pinocchio
from dynamics_document import DOCUMENT, write
from dynamics_robots import URDFS, Subject, load, worst_disagreement

from robot_dynamics.closed_form.quantities import derive
from robot_dynamics.closed_form.writers import document
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.dynamics.native.build import OPTIONS, compile_library, find_compiler
from robot_dynamics.dynamics.native.source import library_source
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import resolve_robot

#: How many times faster than Pinocchio's a regressor is wanted.
WANTED = {'UR5': 5.5, 'Panda': 7.0, 'Talos reduced': 7.0}
#: Samples in one array, and how many times faster than a loop two threads are wanted.
STACKED, WANTED_STACK = 100_000, 20.0


def both(name: str) -> tuple[Subject, Subject]:
    """Return a robot with its general kernels and with those in C."""
    subject = load(name)
    return subject, replace(subject, dynamics=Dynamics(subject.dynamics.robot, backend='c'))


def build_seconds(subject: Subject) -> tuple[float, float]:
    """Return the seconds that deriving and writing C takes, and compiling it."""
    start = time.perf_counter()
    source = library_source(subject.dynamics.robot, 1.0)
    written = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        compile_library(source, Path(folder, 'kernels.so'), subject=subject.name)
    return written - start, time.perf_counter() - written


def compare(subjects: tuple[Subject, Subject], rounds: int) -> tuple[list[str], list[str]]:
    """Return table lines for one robot, and what misses its goal."""
    ours, theirs = general.measure(subjects[1], rounds), general.measure(subjects[0], rounds)
    lines, missed = [], []
    for c, numba in zip(ours, theirs, strict=True):
        is_goal = c.comparison is ours[0].comparison
        wanted = WANTED[c.robot] if is_goal else None
        lines.append(f'| {c.robot} ({c.joints}) | {c.comparison.title} | {c.ours:.2f} '
                     f'| {numba.ours:.2f} | {c.theirs:.2f} | {c.ratio:.1f} '
                     f'| {"" if wanted is None else wanted} |')
        if wanted is not None and c.ratio < wanted:
            missed.append(f'{c.robot}: {c.ratio:.2f} instead of {wanted} times faster')
    return lines, missed


def stacks(rounds: int) -> tuple[list[str], list[str]]:
    """Return table lines for many regressors of a UR5 in one array, and what misses its goal."""
    subject = load('UR5')
    robot, n = subject.dynamics.robot, subject.dynamics.n
    q, v, a = np.random.default_rng(1).uniform(-2.0, 2.0, (3, STACKED, n))
    Q, V, A = (np.ascontiguousarray(x[:, subject.order]) for x in (q, v, a))
    stack = np.zeros((STACKED, n, 10 * n))

    def loop() -> None:
        for k in range(STACKED):
            stack[k] = pinocchio.computeJointTorqueRegressor(subject.model, subject.data,
                                                             Q[k], V[k], A[k])

    calls = {(backend, threads): partial(
        Dynamics(robot, threads=threads, backend=backend).regressor, q, v, a, out=stack)
        for backend in ('c', 'numba') for threads in (1, 2)} | {('loop', 1): loop}
    times: dict[tuple[str, int], list[float]] = {key: [] for key in calls}
    for _ in range(rounds):
        for key, call in calls.items():
            if key[0] != 'loop':
                call()  # A core that has been idle takes some milliseconds to get up.
            start = time.perf_counter()
            call()
            times[key].append(time.perf_counter() - start)
    medians = {key: float(np.median(values)) for key, values in times.items()}
    theirs = medians['loop', 1]
    lines = ['| UR5, 100 000 regressors | ms | times faster than a loop of Pinocchio | wanted |',
             '|---|---:|---:|---:|']
    for (backend, threads), median in medians.items():
        wanted = WANTED_STACK if (backend, threads) == ('c', 2) else ''
        if backend != 'loop':
            lines.append(f'| {backend}, threads: {threads} | {1e3 * median:.1f} '
                         f'| {theirs / median:.1f} | {wanted} |')
    ratio = theirs / medians['c', 2]
    return lines, [] if ratio >= WANTED_STACK else [
        f'stack of regressors: {ratio:.1f} instead of {WANTED_STACK} times faster']


def formulas() -> list[str]:
    """Return what deriving and compiling formulas takes."""
    puma, arm7 = (Robot.from_urdf(resolve_robot(name)) for name in ('puma560', 'arm7'))
    seconds = []
    for _ in range(5):
        start = time.perf_counter()
        derive(puma, 'slotine-li', symbolic=True)
        seconds.append(time.perf_counter() - start)
    start = time.perf_counter()
    text = document(derive(arm7, 'slotine-li', symbolic=True), 'c')
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, 'arm7.c')
        source.write_text(text)
        subprocess.run([*find_compiler(), *OPTIONS, str(source), '-o', f'{folder}/arm7.so'],
                       check=True)
    return ['| formulas | seconds | wanted below |', '|---|---:|---:|',
            f'| Slotine-Li regressor of PUMA 560, lengths as symbols | {np.median(seconds):.3f} '
            '| 1 |',
            f'| Slotine-Li regressor of a 7R arm, lengths as symbols, as C, compiled '
            f'| {time.perf_counter() - start:.2f} | 5 |']


def main() -> int:
    """Measure, print, and fail when something wanted is not reached."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--robots', nargs='+', choices=URDFS, default=list(URDFS),
                        metavar='NAME', help='some of: ' + ', '.join(URDFS))
    parser.add_argument('--rounds', type=int, default=101, help='measurements of each call')
    parser.add_argument('--write', action='store_true', help=f'write into {DOCUMENT.name}')
    options = parser.parse_args()

    compiler = subprocess.run([*find_compiler(), '--version'], capture_output=True, text=True,
                              check=True).stdout.splitlines()[0]
    table = ['| robot (joints) | call | C, us | numba, us | Pinocchio, us | C times faster than '
             'Pinocchio | wanted |', '|---|---|---:|---:|---:|---:|---:|']
    notes, missed = [], []
    for name in options.robots:
        subjects = both(name)
        lines, late = compare(subjects, options.rounds)
        table += lines
        missed += late
        derived, compiled = build_seconds(subjects[0])
        notes.append(f'- {name}: {derived:.2f} s to derive and write the C, {compiled:.1f} s to '
                     f'compile it, once; C and Pinocchio agree to '
                     f'{worst_disagreement(subjects[1]):.0e}.')
    stacked, late = stacks(min(options.rounds, 9))
    missed += late
    text = '\n'.join([
        f'{general.processor()}, Python {platform.python_version()}, {compiler}, Pinocchio '
        f'{pinocchio.__version__}; one thread, medians of {options.rounds} interleaved rounds.',
        '', *table, '', *notes, '', *stacked, '', *formulas()])
    print(text)
    if options.write:
        write('native', text)
    for line in missed:
        print(f'missed: {line}', file=sys.stderr)
    return 1 if missed else 0


if __name__ == '__main__':
    raise SystemExit(main())
