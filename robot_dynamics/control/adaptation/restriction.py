# SPDX-License-Identifier: Apache-2.0
r"""Learning in a subspace: the gain that leaves alone what is known.

The steepest descent in the metric of Gamma^-1 among the directions that keep
C (pi - pi_0) = 0 has the gain::

    Gamma_U = Gamma - Gamma C^T (C Gamma C^T)^-1 C Gamma

and a point is brought back to these estimates, the shortest way in that metric, by::

    pi_0 + (1 - Gamma C^T (C Gamma C^T)^-1 C) (pi - pi_0)

With N a basis of the null space of C, Gamma_U = N (N^T Gamma^-1 N)^-1 N^T: the law is that
of Slotine and Li in the coordinates a_U, with the Lyapunov function that belongs to it.
"""

from __future__ import annotations

import numpy as np

from robot_dynamics.model.arrays import FloatArray


class Restriction:
    """Gain and projection of what is learnt where some combinations are known.

    Parameters
    ----------
    gain : ndarray, shape (p, p)
        Gamma, symmetric and positive definite.
    constraints : ndarray, shape (k, p)
        C, of full row rank.

    Attributes
    ----------
    gain : ndarray, shape (p, p)
        Gamma_U.
    projection : ndarray, shape (p, p)
        1 - Gamma C^T (C Gamma C^T)^-1 C.
    """

    def __init__(self, gain: FloatArray, constraints: FloatArray):
        # In parameters scaled to gain 1: masses and inertias are of very different size.
        scale = np.sqrt(np.diag(gain))
        unit_gain = gain / np.outer(scale, scale)
        C = constraints * scale
        C = C / np.linalg.norm(C, axis=1, keepdims=True)
        back = unit_gain @ C.T @ np.linalg.inv(C @ unit_gain @ C.T)
        projection = np.eye(len(gain)) - back @ C
        restricted = projection @ unit_gain @ projection.T
        # Parameters known by themselves: exactly zero, so that rounding cannot move them.
        alone = (constraints != 0.0).sum(axis=1) == 1
        fixed = np.flatnonzero(constraints[alone].any(axis=0))
        restricted[fixed], restricted[:, fixed] = 0.0, 0.0
        projection[fixed] = 0.0
        self.gain = np.ascontiguousarray(restricted * np.outer(scale, scale))
        self.projection = np.ascontiguousarray(projection * scale[:, None] / scale)
