# SPDX-License-Identifier: Apache-2.0
r"""Friction of motors that falls from standstill, as part of an identification.

Eq. 43 of Zollo et al., "Identification of Dynamic Parameters for Robots with Elastic
Joints" (see `robot_dynamics.elastic.friction`) is linear in f1 to f3 and f5, and not in the
speeds f4 and 1 / f6. For any of these the rest follows by least squares, so that they are
looked for alone (G. H. Golub and V. Pereyra, "The differentiation of pseudo-inverses and
nonlinear least squares problems whose variables separate", SIAM Journal on Numerical
Analysis 10(2), 1973).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robot_dynamics.identification.elastic.equations import ElasticStack
from robot_dynamics.model.arrays import FloatArray, IntArray

#: Terms beside f_s and f_v, by name.
TERMS = ('rise', 'drop')
#: Speeds that are tried first, as parts of the root mean square of the speed of a motor.
_SHARES = np.geomspace(0.01, 1.0, 9)
#: Speeds are looked for between these parts of it.
_RANGE = (1e-3, 3.0)
# How many of those that are better than their neighbours are followed to where they lead.
_STARTS = 3


@dataclass(frozen=True, eq=False)
class StribeckSpeeds:
    """Speeds at which friction rises and drops.

    Parameters
    ----------
    rise, drop : ndarray, shape (n,)
        f4 and 1 / f6 of each motor. rad/s or m/s.
    """

    rise: FloatArray
    drop: FloatArray


def stribeck_columns(stack: ElasticStack, speeds: StribeckSpeeds) -> FloatArray:
    """Return the columns of f3 and f5 of all motors, shape (M, m, 2 n), f3 first.

    Friction is minus f3 and f5 times these: -sign(v) exp(-|v| / f4) and
    -sign(v) exp(-1 / (f6 |v|)).
    """
    n = stack.n
    out = np.zeros((*stack.y.shape, 2 * n))
    for joint in range(n):
        out[:, stack.rubbing[joint], [joint, n + joint]] = _pair(stack, joint, speeds.rise[joint],
                                                                 speeds.drop[joint])
    return out


def find_speeds(stack: ElasticStack, columns: FloatArray, weights: FloatArray) -> StribeckSpeeds:
    """Find the speeds with which the equations of each motor are met best.

    Parameters
    ----------
    stack : ElasticStack
        The equations.
    columns : ndarray of int64
        Parameters of the base, among them f_s and f_v of the motors.
    weights : ndarray, shape (m,)
        Inverse deviations of the errors of each equation.

    Returns
    -------
    StribeckSpeeds
        One motor after the other, each with the friction of the others as it is known.
    """
    from scipy.optimize import minimize
    n = stack.n
    usual = np.array([np.sqrt(np.mean(np.concatenate(
        [motion.v[:, place] for motion in stack.motions])**2)) for place in stack.rubbing])
    plain = stack.equations(columns)
    scale = weights[plain.joint]
    # What the other columns leave of everything is all that counts.
    Q, _ = np.linalg.qr(_unit(plain.W * scale[:, np.newaxis]))
    left = plain.y * scale
    left = left - Q @ (Q.T @ left)
    found = StribeckSpeeds(usual.copy(), usual.copy())
    for joint in range(n):
        mine = plain.joint == stack.rubbing[joint]
        rows, Q_mine, left_mine = plain.order[mine], Q[mine], left[mine]
        size = scale[mine, np.newaxis]

        def explained(columns: FloatArray, Q: FloatArray = Q_mine, left: FloatArray = left_mine
                      ) -> FloatArray:
            """Return by how much pairs of columns, shape (k, rows, 2), lower the squares."""
            known = np.einsum('ij,kil->kjl', Q, columns)
            G = np.einsum('kil,kim->klm', columns, columns) - np.einsum('kjl,kjm->klm', known,
                                                                       known)
            b = np.einsum('kil,i->kl', columns, left)
            return np.einsum('kl,klm,km->k', b, np.linalg.pinv(G, rcond=1e-12), b)

        def told(logs: FloatArray, joint: int = joint, rows: IntArray = rows,
                 size: FloatArray = size) -> float:
            speeds = np.clip(np.exp(logs), *_RANGE) * usual[joint]
            return -float(explained(_unit(_pair(stack, joint, *speeds)[rows] * size)[None])[0])

        each = [_unit(_pair(stack, joint, speed, speed)[rows] * size)
                for speed in _SHARES * usual[joint]]
        scores = np.array([explained(np.stack([np.stack([rise[:, 0], drop[:, 1]], axis=1)
                                               for drop in each])) for rise in each])
        ends = [minimize(told, np.log(_SHARES[list(place)]), method='Nelder-Mead',
                         options={'xatol': 1e-3, 'fatol': 0.0, 'maxfev': 100})
                for place in _peaks(scores)]
        logs = min(ends, key=lambda end: end.fun).x
        found.rise[joint], found.drop[joint] = np.clip(np.exp(logs), *_RANGE) * usual[joint]
    return found


def _peaks(scores: FloatArray) -> list[tuple[int, int]]:
    """Return the places of the highest entries that no neighbour exceeds."""
    padded = np.pad(scores, 1, constant_values=-np.inf)
    around = np.max([np.roll(padded, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1)],
                    axis=0)[1:-1, 1:-1]
    peaks = np.argwhere(scores >= around)
    order = np.argsort(-scores[tuple(peaks.T)])[:_STARTS]
    return [tuple(place) for place in peaks[order].tolist()]


def _pair(stack: ElasticStack, joint: int, rise: float, drop: float) -> FloatArray:
    """Return the columns of f3 and f5 of a motor, shape (M, 2)."""
    def effects(v: FloatArray) -> FloatArray:
        speed = np.abs(v)
        with np.errstate(divide='ignore'):
            fading = np.stack([np.exp(-speed / rise), np.exp(-drop / speed)], axis=1)
        return -np.sign(v)[:, np.newaxis] * fading
    return stack.columns_of(joint, effects)


def _unit(columns: FloatArray) -> FloatArray:
    lengths = np.linalg.norm(columns, axis=0)
    return columns / np.where(lengths > 0.0, lengths, 1.0)
