# SPDX-License-Identifier: Apache-2.0
"""What a recording does not tell of the bodies, and which motion would.

The regressors of the recording span some rows, those of the best of all motions more. A base
parameter of the latter that is not in the span of the former is not told. Simple motions are
then tried on paper, the simplest first: poses at rest, one joint swinging, two at the same
time, all of them. The first whose regressors complete the parameter would tell it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.dynamics.base_parameters import BaseParameters
from robot_dynamics.identification.model import Model
from robot_dynamics.model.arrays import FloatArray

#: A parameter is told where what the rows of a motion leave of it is below this part of it.
TOLD = 1e-3
# States that stand for a motion.
_STATES = 40


@dataclass(frozen=True)
class Missing:
    """Base parameters that a recording does not tell.

    Parameters
    ----------
    parameters : tuple of str
        In words, as `BaseParameters.base_names`.
    motion : str
        What would tell them.
    """

    parameters: tuple[str, ...]
    motion: str


def missing_motion(model: Model, base: BaseParameters, structural: BaseParameters,
                   terms: Sequence[str] = ()) -> tuple[Missing, ...]:
    """Say what a recording does not tell.

    Parameters
    ----------
    model : Model
        The arm; `base` has its names.
    base : BaseParameters
        What the recording tells.
    structural : BaseParameters
        What the best motion could, of bodies and joint terms.
    terms : sequence of str
        Those joint terms.

    Returns
    -------
    tuple of Missing
        By motion, the simplest first; empty where everything is told.
    """
    dynamics = Dynamics(model.robot.with_gravity(model.gravity))
    names = model.names
    place = {name: k for k, name in enumerate(names)}
    # A term that was left out of the model is not asked for either.
    common = [k for k, name in enumerate(structural.names) if name in place]
    columns = [place[structural.names[k]] for k in common]
    rigid = 10 * model.robot.n_bodies
    everything = _regressor(dynamics, terms, range(model.robot.n))[:, common]
    scale = np.ones(len(names))
    scale[columns] = np.maximum(np.linalg.norm(everything, axis=0), 1e-12)
    wanted = np.zeros((structural.rank, len(names)))
    wanted[:, columns] = structural.matrix[:, common]
    wanted = _unit(wanted / scale)
    told = _span(base.matrix / scale)
    left = [k for k in range(structural.rank) if structural.independent[k] < rigid
            and _left(wanted[k], told) > TOLD]
    out = []
    for words, moving in _motions(model.robot.joint_names):
        if not left:
            break
        W = np.zeros((_STATES * model.robot.n, len(names)))
        W[:, columns] = _regressor(dynamics, terms, moving)[:, common]
        both = _span(np.concatenate([told, _unit(W / scale)]))
        found = [k for k in left if _left(wanted[k], both) <= TOLD]
        if found:
            out.append(Missing(tuple(structural.base_names[k] for k in found), words))
            left = [k for k in left if k not in found]
    return tuple(out)


def _motions(joints: Sequence[str]) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield simple motions in words, and which joints move in them."""
    yield 'hold the arm still in many different poses', ()
    for j, name in enumerate(joints):
        yield f'swing {name} to and fro with changing speed, the others in several poses', (j,)
    for i, j in combinations(range(len(joints)), 2):
        yield f'swing {joints[i]} and {joints[j]} at the same time', (i, j)
    yield 'swing all joints at the same time, fast', tuple(range(len(joints)))


def _regressor(dynamics: Dynamics, terms: Sequence[str], moving: Sequence[int]) -> FloatArray:
    """Return stacked regressors of random states in which some joints move."""
    random, n = np.random.default_rng(0), dynamics.robot.n
    q = random.uniform(-np.pi, np.pi, (_STATES, n))
    v, a = np.zeros((_STATES, n)), np.zeros((_STATES, n))
    moving = list(moving)
    v[:, moving] = random.uniform(-2.0, 2.0, (_STATES, len(moving)))
    a[:, moving] = random.uniform(-4.0, 4.0, (_STATES, len(moving)))
    W = dynamics.regressor(q, v, a, terms)
    return W.reshape(-1, W.shape[-1])


def _unit(rows: FloatArray) -> FloatArray:
    """Return rows of unit length; those of none stay."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths > 0.0, lengths, 1.0)


def _span(rows: FloatArray) -> FloatArray:
    """Return orthonormal rows that span the same."""
    if not len(rows):
        return rows
    _, sizes, basis = np.linalg.svd(_unit(rows), full_matrices=False)
    return basis[sizes > 1e-8 * max(float(sizes[0]), 1e-300)]


def _left(row: FloatArray, basis: FloatArray) -> float:
    """Return the length of what a span leaves of a row."""
    return float(np.linalg.norm(row - (row @ basis.T) @ basis))
