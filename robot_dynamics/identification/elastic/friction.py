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
from numpy.typing import NDArray

from robot_dynamics.identification.elastic.equations import ElasticStack

FloatArray = NDArray[np.float64]

#: Terms beside f_s and f_v, by name.
TERMS = ('rise', 'drop')
#: Speeds that are tried first, as parts of the root mean square of the speed of a motor.
_SHARES = (0.02, 0.05, 0.1, 0.3)
#: Speeds are looked for between these parts of it.
_RANGE = (1e-3, 3.0)
# How many of them are followed to where they lead.
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
    found = StribeckSpeeds(_SHARES[1] * usual, _SHARES[1] * usual)
    for joint in range(n):
        place = stack.rubbing[joint]
        mine = plain.joint == place
        rows = plain.order[mine]

        def told(logs: FloatArray, joint: int = joint, mine: NDArray[np.bool_] = mine,
                 rows: NDArray[np.int64] = rows) -> float:
            share = np.clip(np.exp(logs), *_RANGE) * usual[joint]
            pair = _unit(_pair(stack, joint, *share)[rows] * scale[mine, np.newaxis])
            known = Q[mine].T @ pair
            b = pair.T @ left[mine]
            return -float(b @ np.linalg.lstsq(pair.T @ pair - known.T @ known, b, rcond=1e-12)[0])

        starts = [np.log([rise, drop]) for rise in _SHARES for drop in _SHARES]
        ends = [minimize(told, start, method='Nelder-Mead',
                         options={'xatol': 1e-3, 'fatol': 0.0, 'maxfev': 120})
                for start in sorted(starts, key=told)[:_STARTS]]
        logs = min(ends, key=lambda end: end.fun).x
        found.rise[joint], found.drop[joint] = np.clip(np.exp(logs), *_RANGE) * usual[joint]
    return found


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
