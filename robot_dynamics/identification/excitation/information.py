# SPDX-License-Identifier: Apache-2.0
r"""How much a motion tells of the base parameters, and how that changes with it.

W stacks the columns of the base parameters in the regressors of a motion. Either objective is
a smooth function of N = W^T W alone:

* ``condition``: of C, N with the columns of W scaled to unit length, whose eigenvalues l_i are
  the squares of the singular values of the scaled W,

  .. math:: \frac{1}{2 p} \Big(\log \sum_i l_i^p + \log \sum_i l_i^{-p}\Big)

  which is never below the logarithm of the condition number and comes down to it as p grows.
  The condition number itself has no derivative where singular values meet, which is just
  where its minimisation leads (M. Gautier and W. Khalil, "Exciting trajectories for the
  identification of base inertial parameters of robots", International Journal of Robotics
  Research 11(4), 1992, minimise it directly).
* ``d_optimal``: -log det N / r, the volume of the confidence ellipsoid, for which the scale of
  parameters does not matter (J. Swevers et al., "Optimal robot excitation and identification",
  IEEE Transactions on Robotics and Automation 13(5), 1997).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.dynamics.base_parameters import structural_base
from robot_dynamics.errors import ParameterError
from robot_dynamics.identification.excitation.regressor_gradient import RegressorGradient
from robot_dynamics.model.arrays import FloatArray

OBJECTIVES = ('condition', 'd_optimal')
#: p above; twice that for singular values.
POWER = 8
#: Joint terms that this can differentiate.
TERMS = ('viscous', 'coulomb', 'armature', 'offset')
# Speed at which the smooth sign of Coulomb friction turns, rad/s or m/s.
_COULOMB = 0.05
# What an eigenvalue is at least, against rounding; of matrices with a trace of their size.
_LEAST = 1e-14


class Information:
    """What motions tell of a robot.

    Parameters
    ----------
    robot : Robot
        The robot.
    objective : str
        One of `OBJECTIVES`.
    terms : sequence of str
        Joint terms to be identified with the bodies, of
        `robot_dynamics.dynamics.joint_terms`.
    """

    def __init__(self, robot, objective: str = 'condition', terms: Sequence[str] = ()):
        if objective not in OBJECTIVES:
            raise ParameterError(f'is {objective!r}', subject='objective',
                                 remedy='choose among ' + ', '.join(OBJECTIVES))
        self.objective = objective
        self.dynamics = Dynamics(robot, coulomb_velocity=_COULOMB)
        self.terms = tuple(terms)
        self.base = structural_base(self.dynamics, self.terms)
        self._gradient = RegressorGradient(robot)
        self._inertial = 10 * robot.n_bodies
        if self.base.rank == 0:
            raise ParameterError('has no parameter that a motion could tell', subject=robot.name,
                                 remedy='give the joint terms to be identified')

    def regressor(self, q: FloatArray, v: FloatArray, a: FloatArray) -> FloatArray:
        """Return W, shape (m n, r)."""
        Y = self.dynamics.regressor(q, v, a, self.terms)
        return Y.reshape(-1, Y.shape[-1])[:, self.base.independent]

    def condition(self, q: FloatArray, v: FloatArray, a: FloatArray) -> float:
        """Return the condition number of W with columns of unit length."""
        W = self.regressor(q, v, a)
        lengths = np.sqrt(np.sum(W * W, axis=0))
        if not np.all(lengths > 0.0):
            return float(np.inf)
        return float(np.linalg.cond(W / lengths))

    def value_and_gradient(self, q: FloatArray, v: FloatArray, a: FloatArray
                           ) -> tuple[float, tuple[FloatArray, FloatArray, FloatArray]]:
        """Return the objective and its derivatives by q, v and a, shape (m, n) each."""
        W = self.regressor(q, v, a)
        value, slope = self._of(W.T @ W)
        count, n = q.shape
        width = self._inertial + len(self.terms) * n
        Z = np.zeros((count, n, width))
        Z[..., self.base.independent] = 2.0 * (W @ slope).reshape(count, n, -1)
        dq, dv, da = self._gradient(q, v, a, Z[..., :self._inertial])
        joints = np.arange(n)
        for k, term in enumerate(self.terms):
            own = Z[:, joints, self._inertial + k * n + joints]
            if term == 'viscous':
                dv += own
            elif term == 'coulomb':
                dv += own * (1.0 - np.tanh(v / _COULOMB) ** 2) / _COULOMB
            elif term == 'armature':
                da += own
        return value, (dq, dv, da)

    def _of(self, N: FloatArray) -> tuple[float, FloatArray]:
        """Return the objective of N and its derivative, symmetric, shape (r, r)."""
        r = len(N)
        lengths = np.sqrt(np.maximum(np.diag(N), 1e-300))
        C = N / np.outer(lengths, lengths)
        values, vectors = np.linalg.eigh(C)
        values = np.maximum(values, _LEAST)
        if self.objective == 'd_optimal':
            value = -(np.sum(np.log(values)) + 2.0 * np.sum(np.log(lengths))) / r
            inverse = (vectors / values) @ vectors.T
            return float(value), -inverse / np.outer(lengths, lengths) / r
        large, small = (values / values[-1]) ** POWER, (values[0] / values) ** POWER
        value = 0.5 * (np.log(values[-1] / values[0])
                       + (np.log(np.sum(large)) + np.log(np.sum(small))) / POWER)
        by_value = 0.5 * (large / np.sum(large) - small / np.sum(small)) / values
        S = (vectors * by_value) @ vectors.T
        # C_ij = N_ij / sqrt(N_ii N_jj): the diagonal of N acts through the scaling, too.
        slope = S / np.outer(lengths, lengths)
        slope[np.diag_indices(r)] -= np.einsum('ij,ij->i', S, C) / lengths ** 2
        return float(value), slope
