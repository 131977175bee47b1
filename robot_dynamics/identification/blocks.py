# SPDX-License-Identifier: Apache-2.0
"""Selection of the best blocks of a long recording.

A robot in production rests, and repeats the same motions. A few blocks of such a recording have
nearly the same condition number as all of it. They are selected one after the other: each is the
one that adds most to log det of the information of the base parameters (D-optimality; J. Swevers,
C. Ganseman, D. B. Tukel, J. De Schutter and H. Van Brussel, "Optimal robot excitation and
identification", IEEE Transactions on Robotics and Automation 13(5), 1997).
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.identification.dataset.dataset import Dataset, Segment
from robot_dynamics.identification.model_selection import Choice
from robot_dynamics.identification.observation_matrix import row_rate
from robot_dynamics.identification.signals import SignalSettings, cutoff_of, motions_of
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import Robot

#: Length of a block, s, and shortest selection, s.
BLOCK, SHORTEST = 20.0, 180.0
#: Largest condition number of a selection, relative to that of the whole recording.
KEPT_CONDITION = 1.5
#: Width of the smooth sign of Coulomb friction, as a fraction of the RMS speed.
_WIDTH = 0.1
#: Relative information below which a direction counts as not determined.
_NEGLIGIBLE = 1e-9


def best_blocks(dataset: Dataset, robot: Robot) -> tuple[Dataset, Choice]:
    """Blocks with most information on the parameters of a robot, and their share.

    The selection is at least `SHORTEST` long, and its condition number is at most
    `KEPT_CONDITION` times that of the whole recording.
    """
    pieces = [piece for segment in dataset.segments for piece in _split(segment, dataset.period)]
    blocks = replace(dataset, segments=tuple(pieces))
    information = _information(blocks, robot)
    whole = information.sum(axis=0)
    scale = 1.0 / np.sqrt(np.maximum(np.diag(whole), 1e-300))
    sizes, axes = np.linalg.eigh(whole * scale * scale[:, np.newaxis])
    kept = sizes > _NEGLIGIBLE * sizes[-1]
    base = scale[:, np.newaxis] * axes[:, kept]
    parts = base.T @ information @ base
    lengths = np.array([len(piece.time) for piece in pieces]) * dataset.period
    chosen: list[int] = []
    total = _NEGLIGIBLE * np.diag(sizes[kept])
    most = np.sqrt(sizes[-1] / sizes[kept][0])
    while len(chosen) < len(pieces):
        left = [k for k in range(len(pieces)) if k not in chosen]
        gains = np.linalg.slogdet(total + parts[left])[1]
        chosen.append(left[int(np.argmax(gains))])
        total = total + parts[chosen[-1]]
        condition = _condition(total)
        if np.sum(lengths[chosen]) >= SHORTEST and condition <= KEPT_CONDITION * most:
            break
    text = f'{len(chosen)} of {len(pieces)}, {np.sum(lengths[chosen]):.0f} s'
    reason = (f'condition number {_condition(total):.3g}, that of the whole recording is '
              f'{most:.3g}')
    return (replace(dataset, segments=tuple(_merged([pieces[k] for k in sorted(chosen)],
                                                    dataset.period))),
            Choice('blocks', text, reason))


def _condition(information: FloatArray) -> float:
    """Condition number of equations from their products."""
    sizes = np.linalg.eigvalsh(information)
    return float(np.sqrt(sizes[-1] / max(sizes[0], 1e-300)))


def _split(segment: Segment, period: float) -> list[Segment]:
    """Blocks of a segment, of equal length."""
    count = max(1, round(len(segment.time) * period / BLOCK))
    bounds = np.linspace(0, len(segment.time), count + 1).astype(int)
    return [Segment(*(x[a:b] for x in (segment.time, segment.position, segment.velocity,
                                       segment.effort)))
            for a, b in pairwise(bounds)]


def _merged(pieces: list[Segment], period: float) -> list[Segment]:
    """Pieces with those joined that follow each other without a gap."""
    out: list[list[Segment]] = []
    for piece in pieces:
        if out and piece.time[0] - out[-1][-1].time[-1] < 1.5 * period:
            out[-1].append(piece)
        else:
            out.append([piece])
    return [Segment(*(np.concatenate([getattr(one, name) for one in run]) for name in
                      ('time', 'position', 'velocity', 'effort'))) for run in out]


def _information(blocks: Dataset, robot: Robot) -> FloatArray:
    """Products of the columns of bodies and friction of each segment, shape (k, p, p).

    Rows of a joint are weighted by the inverse variance of its efforts.
    """
    signals = SignalSettings(cutoff_of(blocks))
    motions = motions_of(blocks, signals)
    dynamics, n = Dynamics(robot), robot.n
    efforts = np.concatenate([motion.effort for motion in motions])
    weights = 1.0 / np.maximum(np.std(efforts, axis=0), 1e-9)
    widths = _WIDTH * np.sqrt(np.mean(np.concatenate([m.v for m in motions]) ** 2, axis=0))
    out = []
    for motion in motions:
        step = round(motion.rate / row_rate(motion.rate, signals.cutoff))
        rows = slice(motion.trim, motion.count - motion.trim, step)
        q, v, a = motion.q[rows], motion.v[rows], motion.a[rows]
        columns = np.zeros((len(q), n, 10 * robot.n_bodies + 3 * n))
        columns[..., :-3 * n] = dynamics.regressor(q, v, a)
        for k, one in enumerate((np.ones_like(v), v, np.tanh(v / np.maximum(widths, 1e-9)))):
            columns[:, range(n), columns.shape[2] - (3 - k) * n + np.arange(n)] = one
        columns *= weights[:, np.newaxis]
        flat = columns.reshape(-1, columns.shape[2])
        out.append(flat.T @ flat)
    return np.array(out)
