# SPDX-License-Identifier: Apache-2.0
"""Distance of estimates from other parameters: their share in the Lyapunov function."""

import numpy as np

from robot_dynamics.control.adaptation.natural_adaptation import NaturalAdaptation
from robot_dynamics.model.inertia import pseudo_inertia


def distance(adaptation, bodies, terms):
    """Half the squared distance in the metric of Gamma^-1, or the divergence over gamma, J."""
    total = 0.5 * np.sum((terms - adaptation.terms)**2 / adaptation.term_metric.gain)
    true, estimates = pseudo_inertia(bodies), pseudo_inertia(adaptation.bodies.reshape(-1, 10))
    gain = adaptation.metric.gain
    if isinstance(adaptation, NaturalAdaptation):
        ratio = np.linalg.solve(estimates, true)
        traces = np.trace(ratio, axis1=1, axis2=2)
        return total + np.sum(traces - np.linalg.slogdet(ratio)[1] - 4.0) / gain
    inverse = np.linalg.inv(np.linalg.cholesky(adaptation.metric.matrices))
    coordinates = inverse @ (true - estimates) @ np.swapaxes(inverse, -1, -2)
    return total + 0.5 * np.sum(coordinates**2) / gain
