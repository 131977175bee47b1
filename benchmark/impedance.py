#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Cartesian impedance on arms in MuJoCo: stiffness at rest, contact with a table, and pushes.

    python benchmark/impedance.py [--arm panda ur5 gen3] [--write]

States come at 500 Hz, and the efforts that answer them act 2 ms later. `--write` puts the table
into docs/impedance.md. The Gen3 needs `../shared`.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from benchmark.impedance_parts.bench import GEN3, RATE, Bench
from benchmark.sections import DOCS, write_section
from robot_dynamics.model.rotation import quaternion_of_rotation

ARMS = ('panda', 'ur5', 'gen3', 'arm7')
STIFFNESSES = (300.0, 1000.0, 2000.0)
#: Displacement that a force is to cause, m, and the largest force for it, N; moment, N m.
DISPLACEMENT, LARGEST, MOMENT = 0.01, 15.0, 0.5
#: Room below the ball, and how far the goal is in the table, m; speed of the approach, m/s.
BELOW, DEPTH, SPEED = 0.05, 0.03, 0.1
#: Push in each direction, N, its duration, and how long the arm is watched after it, s.
PUSH, PUSHED, WATCHED = 20.0, 0.1, 1.5


@dataclass(frozen=True)
class Contact:
    """A contact with a table.

    `force` is that at rest over the expected one, `bounce` the height of the highest bounce, m,
    and `settled` the time from the first contact to the end of the last bounce, s.
    """

    force: float
    bounce: float
    settled: float


def stiffness_errors(arm: str, stiffness: float) -> tuple[float, float, float]:
    """Largest deviations along and about the axes, as shares, and smallest share of a mode."""
    errors, softened = np.zeros(6), 1.0
    for axis in range(6):
        bench = Bench(arm, stiffness)
        wrench = np.zeros(6)
        wrench[axis] = min(DISPLACEMENT * stiffness, LARGEST) if axis < 3 else MOMENT
        bench.run(2.5, wrench)
        moved = bench.pose[:3, 3] - bench.begin[:3, 3]
        turn = quaternion_of_rotation(bench.pose[:3, :3] @ bench.begin[:3, :3].T)[:3]
        way = np.concatenate([moved, 2.0 * np.arcsin(turn)])[axis]
        expected = stiffness if axis < 3 else bench.law.settings.impedance.values[axis]
        errors[axis] = abs(wrench[axis] / way / expected - 1.0)
        softened = min(softened, bench.law.softened)
    return float(errors[:3].max()), float(errors[3:].max()), softened


def contact(arm: str, stiffness: float) -> Contact:
    """Lower the end effector into a table, and press."""
    bench = Bench(arm, stiffness, below=BELOW, speed=SPEED)
    table = bench.begin[2, 3] - BELOW
    bench.law.setpoint.follow_pose(bench.begin[:3, 3] - [0.0, 0.0, BELOW + DEPTH],
                                   quaternion_of_rotation(bench.begin[:3, :3]))
    heights, forces = [], []
    for _ in range(round(3.0 * RATE)):
        bench.cycle()
        heights.append(bench.pose[2, 3] - table)
        forces.append(bench.plant.force)
    first = int(np.argmax(np.array(forces) > 0.0))
    free = np.array(heights[first:])
    off = np.flatnonzero(np.array(forces[first:]) == 0.0)
    return Contact(forces[-1] / (stiffness * DEPTH), float(max(free.max(), 0.0)),
                   float(off.max(initial=-1) + 1) / RATE)


def push(arm: str, stiffness: float) -> tuple[float, float]:
    """Fastest joint after a push, and that some time later, rad/s."""
    bench = Bench(arm, stiffness)
    bench.run(0.1)
    for _ in range(round(PUSHED * RATE)):
        bench.cycle(np.array([PUSH, PUSH, PUSH, 0.0, 0.0, 0.0]))
    speeds = []
    for _ in range(round(WATCHED * RATE)):
        bench.cycle()
        speeds.append(np.abs(bench.plant.v).max())
    return float(speeds[0]), float(speeds[-1])


def main() -> int:
    """Run what was asked for and print a line for each arm and stiffness."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument('--arm', nargs='+', choices=ARMS, default=list(ARMS[:3]))
    parser.add_argument('--write', action='store_true')
    arguments = parser.parse_args()
    lines = ['| arm | K, N/m | K at rest, off by | K of rotations, off by | share of the lightest '
             'mode | force on the table, of the expected | highest bounce, mm | until contact '
             'lasts, ms | joint speed after a push, rad/s | 1.5 s later |',
             '|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|']
    for arm in arguments.arm:
        if arm == 'gen3' and not GEN3.exists():
            print(f'{GEN3} is missing')
            continue
        for stiffness in STIFFNESSES:
            along, about, softened = stiffness_errors(arm, stiffness)
            touched = contact(arm, stiffness)
            fast, slow = push(arm, stiffness)
            lines.append(f'| {arm} | {stiffness:g} | {100.0 * along:.2f} % | {100.0 * about:.1f} '
                         f'% | {softened:.2f} | {touched.force:.3f} | {1e3 * touched.bounce:.3f} '
                         f'| {1e3 * touched.settled:.0f} | {fast:.2f} | {slow:.1g} |')
            print(lines[-1], flush=True)
    text = '\n'.join(lines)
    if arguments.write:
        write_section(DOCS / 'impedance.md', 'impedance', text
                      + '\n\nMade by `python benchmark/impedance.py --write`.')
    return 0


if __name__ == '__main__':
    sys.exit(main())
