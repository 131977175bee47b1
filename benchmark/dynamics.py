# SPDX-License-Identifier: Apache-2.0
"""Our equations beside Pinocchio's, call by call from Python: ``--help``.

Medians of interleaved rounds in one process and one thread, after warm-up; results are in new
arrays. With ``--write`` the tables go into docs/performance.md.

    python benchmark/dynamics.py
    python benchmark/dynamics.py --robots UR5 Panda --rounds 200 --write
"""

from __future__ import annotations

import argparse
import os
import platform
import timeit
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

for variable in ('OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS', 'MKL_NUM_THREADS'):
    os.environ.setdefault(variable, '1')

import numba  # noqa: E402
import numpy as np  # noqa: E402
import pinocchio  # noqa: E402
from dynamics_document import DOCUMENT, write  # noqa: E402
from dynamics_robots import DESCRIPTIONS, URDFS, Subject, load, worst_disagreement  # noqa: E402
from scaling_robots import SHAPES  # noqa: E402

from robot_dynamics.dynamics import Dynamics  # noqa: E402
from robot_dynamics.model.robot import Robot  # noqa: E402

#: Seconds that one measurement of one call lasts.
SLICE = 4e-4

#: How many times faster than Pinocchio a call is wanted to be: UR5, Panda, Talos reduced.
WANTED = {'Slotine-Li regressor': (5.0, 6.5, 7.0), 'M, C and g': (4.0, 4.5, 5.0),
          'inverse dynamics': (2.0,) * 3, 'dtau/dq, dtau/dv and M': (2.0,) * 3}
WITHOUT_COMPILER = dict(zip(URDFS, (2.0, 3.0, 4.0), strict=True))


@dataclass(frozen=True)
class Comparison:
    """Calls that do the same; ours as a function of the equations."""

    title: str
    ours: Callable[[Dynamics], object]
    theirs: Callable[[], object]


def comparisons(subject: Subject) -> list[Comparison]:
    """All pairs of calls for one robot."""
    model, data = subject.model, subject.data
    robot, n = subject.dynamics.robot, subject.dynamics.n
    q, v, v_r, a = np.random.default_rng(1).uniform(-1.0, 1.0, (4, n))
    Q, V, A = (x[subject.order] for x in (q, v, a))
    link = robot.body_names[-1]
    frame = model.getFrameId(link)
    axes = pinocchio.LOCAL_WORLD_ALIGNED
    return [
        Comparison('Slotine-Li regressor', lambda d: d.slotine_li_regressor(q, v, v_r, a),
                   lambda: pinocchio.computeJointTorqueRegressor(model, data, Q, V, A)),
        Comparison('M, C and g', lambda d: d.matrices(q, v),
                   lambda: (pinocchio.crba(model, data, Q),
                            pinocchio.computeCoriolisMatrix(model, data, Q, V),
                            pinocchio.computeGeneralizedGravity(model, data, Q))),
        Comparison('inverse dynamics', lambda d: d.inverse_dynamics(q, v, a),
                   lambda: pinocchio.rnea(model, data, Q, V, A)),
        Comparison('dtau/dq, dtau/dv and M', lambda d: d.inverse_dynamics_derivatives(q, v, a),
                   lambda: pinocchio.computeRNEADerivatives(model, data, Q, V, A)),
        Comparison('forward dynamics', lambda d: d.forward_dynamics(q, v, a),
                   lambda: pinocchio.aba(model, data, Q, V, A)),
        Comparison('mass matrix', lambda d: d.mass_matrix(q),
                   lambda: pinocchio.crba(model, data, Q)),
        Comparison('Jacobian', lambda d: d.jacobian(q, link),
                   lambda: pinocchio.computeFrameJacobian(model, data, Q, frame, axes)),
        Comparison('CoM Jacobian', lambda d: d.com_jacobian(q),
                   lambda: pinocchio.jacobianCenterOfMass(model, data, Q)),
        Comparison('forward kinematics', lambda d: d.forward_kinematics(q),
                   lambda: pinocchio.forwardKinematics(model, data, Q)),
        Comparison('da/dq, da/dv and M^-1', lambda d: d.forward_dynamics_derivatives(q, v, a),
                   lambda: pinocchio.computeABADerivatives(model, data, Q, V, A)),
    ]


def medians(calls: list[Callable[[], object]], rounds: int) -> np.ndarray:
    """Median microseconds of calls that are timed in turn."""
    counts = []
    for call in calls:
        call()
        call()
        counts.append(max(5, int(SLICE / (timeit.timeit(call, number=20) / 20))))
    times = [[timeit.timeit(call, number=count) / count * 1e6
              for call, count in zip(calls, counts, strict=True)] for _ in range(rounds)]
    return np.median(times, axis=0)


def table(names: list[str], rounds: int) -> list[str]:
    """Calls of all robots as lines of Markdown."""
    lines = ['| robot (joints) | call | ours, us | numba, us | Pinocchio, us | times faster '
             '| wanted | numba times faster | wanted |', '|---|---|' + '---:|' * 7]
    for name in names:
        subject = load(name)
        numba_only = Dynamics(subject.dynamics.robot, backend='numba')
        place = list(URDFS).index(name)
        for pair in comparisons(subject):
            ours, general, theirs = medians(
                [partial(pair.ours, subject.dynamics), partial(pair.ours, numba_only),
                 pair.theirs], rounds)
            wanted = WANTED.get(pair.title, (1.0,) * 3)[place]
            alone = f'{WITHOUT_COMPILER[name]:.0f}' if 'Slotine' in pair.title else ''
            lines.append(f'| {name} ({subject.dynamics.n}) | {pair.title} | {ours:.2f} '
                         f'| {general:.2f} | {theirs:.2f} | {theirs / ours:.1f} | {wanted:.1f} '
                         f'| {theirs / general:.1f} | {alone} |')
        print(f'{name}: both programs agree to {worst_disagreement(subject):.0e}')
    return lines


def called(name: str, dynamics: Dynamics, *arguments: np.ndarray) -> object:
    """Result of a method, looked up as a user does."""
    return getattr(dynamics, name)(*arguments)


def other_layouts(rounds: int) -> list[str]:
    """Mimic joints and another order of joints beside neither, as lines of Markdown."""
    text = (DESCRIPTIONS / URDFS['Panda']).read_text()
    free = load('Panda').dynamics.robot
    robots = {'Panda, fingers apart': free, 'Panda as shipped, one finger follows':
              Robot.from_urdf(text), 'Panda, joints sorted backwards':
              Robot.from_urdf(text, joints=sorted(Robot.from_urdf(text).joint_names)[::-1])}
    lines = ['| robot | regressor, us | M, C and g, us | inverse dynamics, us | '
             'forward dynamics, us |', '|---|' + '---:|' * 4]
    for name, robot in robots.items():
        dynamics = Dynamics(robot)
        q, v, v_r, a = np.random.default_rng(1).uniform(-1.0, 1.0, (4, robot.n))
        calls = (Dynamics.slotine_li_regressor, q, v, v_r, a), (Dynamics.matrices, q, v), \
            (Dynamics.inverse_dynamics, q, v, a), (Dynamics.forward_dynamics, q, v, a)
        times = medians([partial(called, method.__name__, dynamics, *arguments)
                         for method, *arguments in calls], rounds)
        lines.append(f'| {name} | ' + ' | '.join(f'{time:.2f}' for time in times) + ' |')
    return lines


def long_chains(rounds: int) -> list[str]:
    """Forward dynamics of chains, as lines of Markdown."""
    lines = ['| joints of a chain | forward dynamics, us | Pinocchio, us |', '|---:|---:|---:|']
    for size in (8, 16, 32, 64):
        robot = SHAPES['chain'](size)
        model = pinocchio.buildModelFromXML(robot.to_urdf())
        data, dynamics = model.createData(), Dynamics(robot)
        q, v, a = np.random.default_rng(1).uniform(-1.0, 1.0, (3, size))
        ours, theirs = medians([partial(called, 'forward_dynamics', dynamics, q, v, a),
                                partial(pinocchio.aba, model, data, q, v, a)], rounds)
        lines.append(f'| {size} | {ours:.2f} | {theirs:.2f} |')
    return lines


def batch(count: int = 100_000) -> list[str]:
    """Regressors of many samples of UR5, written to one array, beside a loop of Pinocchio."""
    subject = load('UR5')
    n = subject.dynamics.n
    state = np.random.default_rng(2).uniform(-1.0, 1.0, (4, count, n))
    out = np.zeros((count, n, 10 * n))
    some = 2000
    loop = min(timeit.repeat(lambda: [
        pinocchio.computeJointTorqueRegressor(subject.model, subject.data, q, v, a)
        for q, v, _, a in zip(*(x[:some] for x in state), strict=True)], number=1,
        repeat=5)) / some * count
    lines = [f'| UR5, {count} regressors | ms | times faster than a loop of Pinocchio |',
             '|---|---:|---:|']
    for backend in ('auto', 'numba'):
        for threads in (1, 2):
            dynamics = Dynamics(subject.dynamics.robot, backend=backend, threads=threads)
            seconds = float(np.median(timeit.repeat(
                lambda dynamics=dynamics: dynamics.slotine_li_regressor(*state, out=out),
                number=1, repeat=7)))
            lines.append(f'| {dynamics.backend}, threads: {threads} | {1e3 * seconds:.1f} '
                         f'| {loop / seconds:.1f} |')
    return lines


def host() -> str:
    """Machine and programs of a measurement."""
    return (f'{processor()}, Python {platform.python_version()}, numpy {np.__version__}, '
            f'numba {numba.__version__}, Pinocchio {pinocchio.__version__}')


def processor() -> str:
    """Name of this machine's processor."""
    try:
        lines = Path('/proc/cpuinfo').read_text().splitlines()
    except OSError:
        return platform.processor()
    names = [line.partition(':')[2].strip() for line in lines if line.startswith('model name')]
    return names[0] if names else platform.machine()


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--robots', nargs='+', choices=URDFS, default=list(URDFS),
                        metavar='NAME', help='some of: ' + ', '.join(URDFS))
    parser.add_argument('--rounds', type=int, default=101, help='measurements of each call')
    parser.add_argument('--write', action='store_true', help=f'write into {DOCUMENT.name}')
    options = parser.parse_args()
    text = '\n'.join([
        f'{host()}; one thread, medians of {options.rounds} interleaved rounds.', '',
        *table(options.robots, options.rounds), '', *other_layouts(options.rounds), '',
        *long_chains(options.rounds), '', *batch()])
    print(text)
    if options.write:
        write('dynamics', text)
    return 0


if __name__ == '__main__':
    raise SystemExit(main())
