# SPDX-License-Identifier: Apache-2.0
"""Output error and instrumental variables with an arm that is simulated in its control loop.

With W the regressors along the measured motion, Z those along the simulated one, and y the
efforts, all low-pass filtered alike::

    output error            y = Z x + e      (weighted least squares)
    instrumental variables  Z^T y = Z^T W x  (as least squares of W and y projected on Z)

Both begin at the parameters of the estimator ``consistent``, keep its friction terms, weights and
prior, and simulate again with the new parameters. Noise of positions is in W, where it biases
least squares, but not in Z.

References
----------
M. Gautier, A. Janot and P.-O. Vandanjon, "A new closed-loop output error method for parameter
identification of robot dynamics", IEEE Transactions on Control Systems Technology 21(2), 2013.
A. Janot, P.-O. Vandanjon and M. Gautier, "A generic instrumental variable approach for industrial
robot identification", IEEE Transactions on Control Systems Technology 22(1), 2014.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from robot_dynamics.identification.closed_loop.simulation import simulated_motions
from robot_dynamics.identification.consistent import fit_consistent
from robot_dynamics.identification.model_selection import (
    Chosen,
    ModelSelector,
    model_equations,
)
from robot_dynamics.identification.observation_matrix import Stack
from robot_dynamics.model.arrays import FloatArray, IntArray

#: Names of these estimators.
OUTPUT_ERROR, INSTRUMENTAL = 'output_error', 'instrumental'
CLOSED_LOOP = (OUTPUT_ERROR, INSTRUMENTAL)
#: Number of simulations.
PASSES = 4
#: Relative singular value below which a combination of instruments is left out.
TOLERANCE = 1e-6


def simulated_stack(stack: Stack, chosen: Chosen) -> Stack:
    """Equations of the same rows along the motion that the model has in its control loop."""
    motions = simulated_motions(stack.dataset, stack.settings, chosen.model)
    other = Stack(stack.robot, stack.dataset, stack.settings, stack.terms, like=stack,
                  motions=motions)
    other.with_loads(chosen.model.loads, chosen.model.gravity)
    return other


def refined(selector: ModelSelector, chosen: Chosen, train: IntArray, estimator: str) -> Chosen:
    """Model with the parameters that one of `CLOSED_LOOP` finds in the blocks ``train``."""
    stack = selector.stack
    selector.products(chosen)  # Sets the loads of load-dependent friction.
    measured = model_equations(stack, chosen)
    used = np.isin(selector.normal.block_of_rows()[measured.order], train)
    weights = np.sqrt(chosen.fit.weights)[measured.joint[used]]
    W, y = (measured.W[used].T * weights).T, measured.y[used] * weights
    for _ in range(PASSES):
        Z = model_equations(simulated_stack(stack, chosen), chosen).W[used]
        A, b = Z * weights[:, np.newaxis], y
        if estimator == INSTRUMENTAL:
            Q = _span(A)
            A, b = Q.T @ W, Q.T @ y
        found = fit_consistent(A.T @ A, A.T @ b, selector.prior, chosen.prior_weight,
                               chosen.model.parameters)
        chosen = replace(chosen, model=chosen.model.with_parameters(found.x))
    return chosen


def _span(columns: FloatArray) -> FloatArray:
    """Orthonormal basis of some columns."""
    lengths = np.linalg.norm(columns, axis=0)
    Q, R = np.linalg.qr(columns / np.where(lengths > 0.0, lengths, 1.0))
    U, sizes, _ = np.linalg.svd(R)
    return np.asarray(Q @ U[:, sizes > TOLERANCE * sizes[0]], dtype=np.float64)
