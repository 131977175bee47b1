# SPDX-License-Identifier: Apache-2.0
"""Our derivatives beside Pinocchio's, call by call from Python: ``--help``.

Medians of interleaved rounds in one process and one thread, after warm-up. Beside that,
what M, C and g with their time derivatives cost in a tree of 25 revolute joints, compared
with M, C and g at two instants, as Garofalo, Ott and Albu-Schaeffer did for a humanoid.
With ``--write`` the tables go into docs/performance.md.

    python benchmark/derivatives.py
    python benchmark/derivatives.py --robots UR5 --rounds 200 --write
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pinocchio
from dynamics import Comparison, host, measure, missed, table
from dynamics_document import DOCUMENT, write
from dynamics_robots import URDFS, Subject, load

#: Processes in which the tree of 25 joints is measured.
PROCESSES = 7
#: What the paper gives: cost of all six over twice the cost of M, C and g; and of M, C and g
#: on a 2.8 GHz processor of 2009, microseconds.
PAPER_RATIO, PAPER_MICROSECONDS = 0.71, 244.0


def comparisons(subject: Subject) -> list[Comparison]:
    """All pairs of calls for one robot."""
    dynamics, model, data = subject.dynamics, subject.model, subject.data
    n, link = dynamics.n, dynamics.robot.body_names[-1]
    q, v, a = np.random.default_rng(1).uniform(-1.0, 1.0, (3, n))
    tau = dynamics.inverse_dynamics(q, v, a)
    Q, V, A, T = (x[subject.order] for x in (q, v, a, tau))
    out = tuple(np.zeros((n, n)) for _ in range(3))
    frame = model.getFrameId(link)

    def their_rate():
        pinocchio.computeJointJacobiansTimeVariation(model, data, Q, V)
        return pinocchio.getFrameJacobianTimeVariation(
            model, data, frame, pinocchio.LOCAL_WORLD_ALIGNED)

    def of_efforts():
        return pinocchio.computeRNEADerivatives(model, data, Q, V, A)

    return [
        Comparison('dtau/dq, dtau/dv and M, new arrays',
                   lambda: dynamics.inverse_dynamics_derivatives(q, v, a), of_efforts,
                   dict.fromkeys(URDFS, 1.5)),
        Comparison('dtau/dq, dtau/dv and M, into `out`',
                   lambda: dynamics.inverse_dynamics_derivatives(q, v, a, out), of_efforts, {}),
        Comparison('da/dq, da/dv and M^-1',
                   lambda: dynamics.forward_dynamics_derivatives(q, v, tau),
                   lambda: pinocchio.computeABADerivatives(model, data, Q, V, T), {}),
        Comparison('dJ/dt of the last link', lambda: dynamics.jacobian_dot(q, v, link),
                   their_rate, {}),
    ]


def worst_disagreement(subject: Subject) -> float:
    """Largest difference between both programs' derivatives at some states."""
    dynamics, order = subject.dynamics, subject.order
    rng, worst = np.random.default_rng(0), 0.0
    for q, v, a in rng.uniform(-1.0, 1.0, (5, 3, dynamics.n)):
        ours = dynamics.inverse_dynamics_derivatives(q, v, a)
        theirs = pinocchio.computeRNEADerivatives(subject.model, subject.data, q[order],
                                                  v[order], a[order])
        worst = max(worst, *(float(np.max(np.abs(x[np.ix_(order, order)] - y)))
                             for x, y in zip(ours, theirs, strict=True)))
    return worst


def in_time(rounds: int) -> list[dict[str, float]]:
    """Measure the tree of 25 joints in some processes, one after the other.

    Where arrays happen to lie in memory changes the times by a tenth, and in each process they
    lie elsewhere.
    """
    command = [sys.executable, str(Path(__file__).with_name('matrices_in_time.py')), str(rounds)]
    return [json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
            for _ in range(PROCESSES)]


def lines_in_time(runs: list[dict[str, float]]) -> tuple[list[str], float]:
    """Return the measurements in time as lines of Markdown, and the ratio of the paper."""
    times = {name: float(np.median([run[name] for run in runs])) for name in runs[0]}
    three, six = list(times)[:2]
    ratios = sorted(run[six] / (2.0 * run[three]) for run in runs)
    ratio, three = float(np.median(ratios)), times[three]
    return [
        '| tree of 25 revolute joints | us |', '|---|---:|',
        *(f'| {name} | {value:.2f} |' for name, value in times.items()), '',
        f'M, C and g with their time derivatives take {ratio:.2f} of the time of M, C and g at '
        f'two instants ({ratios[0]:.2f} to {ratios[-1]:.2f} in {len(runs)} processes; Garofalo, '
        f'Ott, Albu-Schaeffer: {PAPER_RATIO:.2f}). The paper gives '
        f'{PAPER_MICROSECONDS:.0f} us for M, C and g of its robot of 25 joints, on a processor '
        f'of 2009; here it is {three:.2f} us, {PAPER_MICROSECONDS / three:.0f} times less.',
    ], ratio


def main() -> int:
    """Measure, print, and fail when something wanted is not reached."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--robots', nargs='+', choices=URDFS, default=list(URDFS),
                        metavar='NAME', help='some of: ' + ', '.join(URDFS))
    parser.add_argument('--rounds', type=int, default=101, help='measurements of each call')
    parser.add_argument('--write', action='store_true', help=f'write into {DOCUMENT.name}')
    options = parser.parse_args()

    results, errors = [], {}
    for name in options.robots:
        subject = load(name)
        errors[name] = worst_disagreement(subject)
        results += measure(subject, options.rounds, comparisons)
    of_time, ratio = lines_in_time(in_time(options.rounds))
    text = '\n'.join([
        f'{host()}; one thread, medians of {options.rounds} interleaved rounds.', '',
        *table(results), '',
        *(f'- {robot}: both programs agree to {error:.0e}.' for robot, error in errors.items()),
        '', *of_time])
    print(text)
    if options.write:
        write('derivatives', text)
    status = missed(results)
    if ratio >= PAPER_RATIO:
        print(f'missed: {ratio:.2f} instead of less than {PAPER_RATIO}', file=sys.stderr)
        status = 1
    return status


if __name__ == '__main__':
    raise SystemExit(main())
