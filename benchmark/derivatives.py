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
import sys
import timeit

import numpy as np
import pinocchio
from dynamics import SLICE, Comparison, host, measure, missed, table
from dynamics_document import DOCUMENT, write
from dynamics_robots import URDFS, Subject, load

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.model.robot import JointLimits, Robot

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


def humanoid() -> Robot:
    """Make a tree like that of the paper's robot: a waist, two legs and two arms of six joints."""
    rng = np.random.default_rng(0)
    parents = np.array([-1, *(6 * limb + joint if joint else 0
                              for limb in range(4) for joint in range(6))])
    n = len(parents)
    names = tuple(f'joint{i}' for i in range(n))
    placements = np.tile(np.eye(4), (n, 1, 1))
    placements[:, :3, :3] = np.linalg.qr(rng.normal(size=(n, 3, 3)))[0]
    placements[:, :3, :3] *= np.linalg.det(placements[:, :3, :3])[:, None, None]
    placements[:, :3, 3] = rng.uniform(-0.3, 0.3, (n, 3))
    no = np.full(n, np.nan)
    return Robot(
        name='humanoid', base_name='base', body_names=tuple(f'link{i}' for i in range(n)),
        body_joint_names=names, parents=parents, joint_types=np.zeros(n, int),
        placements=placements, axes=np.tile([0.0, 0.0, 1.0], (n, 1)),
        link_offsets=np.zeros((n, 3)),
        inertial_parameters=np.tile([2.0, 0.1, 0.0, 0.2, 0.1, 0.0, 0.01, 0.1, 0.0, 0.08], (n, 1)),
        gravity=(0.0, 0.0, -9.81), joint_names=names, coupling=np.eye(n),
        coupling_offset=np.zeros(n),
        limits=JointLimits(np.full(n, -np.inf), np.full(n, np.inf), no, no), damping=np.zeros(n),
        friction=np.zeros(n), armature=np.zeros(n))


def in_time(rounds: int) -> dict[str, float]:
    """Medians in microseconds for the tree of 25 joints, call by call from Python."""
    dynamics = Dynamics(humanoid())
    n = dynamics.n
    q, v, a = np.random.default_rng(1).uniform(-1.0, 1.0, (3, n))
    three = np.zeros((n, n)), np.zeros((n, n)), np.zeros(n)
    six = (*three, np.zeros((n, n)), np.zeros((n, n)), np.zeros(n))
    calls = {
        'M, C and g': lambda: dynamics.matrices(q, v, three),
        'M, C and g and their time derivatives': lambda: dynamics.matrices_in_time(q, v, a, six),
        'dM/dq, dC/dq, dC/dv and dg/dq': lambda: dynamics.state_derivatives(q, v),
        'dM/dpi, dC/dpi and dg/dpi': lambda: dynamics.parameter_derivatives(q, v),
    }
    times = {name: [] for name in calls}
    counts = {}
    for name, call in calls.items():
        call()
        counts[name] = max(3, int(SLICE / (timeit.timeit(call, number=3) / 3)))
    for _ in range(rounds):
        for name, call in calls.items():
            times[name].append(timeit.timeit(call, number=counts[name]) / counts[name] * 1e6)
    return {name: float(np.median(values)) for name, values in times.items()}


def lines_in_time(times: dict[str, float]) -> tuple[list[str], float]:
    """Return the measurement in time as lines of Markdown, and the ratio of the paper."""
    three, six = list(times.values())[:2]
    ratio = six / (2.0 * three)
    return [
        '| tree of 25 revolute joints | us |', '|---|---:|',
        *(f'| {name} | {value:.2f} |' for name, value in times.items()), '',
        f'M, C and g with their time derivatives take {ratio:.2f} of the time of M, C and g at '
        f'two instants (Garofalo, Ott, Albu-Schaeffer: {PAPER_RATIO:.2f}). The paper gives '
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
