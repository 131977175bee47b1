# SPDX-License-Identifier: Apache-2.0
"""Metric of the estimates: relative gains, and the common gain from the loop frequency.

The metric matrix of a body is the pseudo-inertia of its prior plus that of possible unknown mass,
spread around its frame: Q = P0 + m diag(r^2, r^2, r^2, 1). The common gain gamma of all bodies
follows from the adaptation loop. Linearised about the desired motion, s' = -omega_D s - M^-1 Y
Gamma Y^T (integral of s), so that::

    w_A^2 = lambda_max(M^-1 Y Gamma Y^T)        Gamma = gamma x (function of Q)

is the square of the highest frequency at which the estimates respond to a tracking error; gamma is
chosen so that the worst of many motions has a given w_A.
"""

from __future__ import annotations

import numpy as np

from robot_dynamics.control.adaptation.gradient import BodyMetric, TermMetric, block_diagonal
from robot_dynamics.control.feedback.gains import AdaptationGains
from robot_dynamics.control.feedback.typical_motions import (
    Motions,
    effective_inertias,
    mass_matrices,
    typical_motions,
)
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.dynamics.joint_terms import described_parameters
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.inertia import project_to_consistent, pseudo_inertia
from robot_dynamics.model.robot import Robot, arm_length

#: Possible unknown mass of every link, as a share of the mass of all links.
UNKNOWN_SHARE = 0.005


def body_metric(robot: Robot, dynamics: Dynamics, gains: AdaptationGains) -> BodyMetric:
    """Metric of a robot's bodies, its gain and the largest values of the estimates."""
    prior = pseudo_inertia(project_to_consistent(robot.inertial_parameters))
    total = float(robot.inertial_parameters[:, 0].sum())
    length = arm_length(robot)
    tips = np.setdiff1d(np.arange(robot.n_bodies), robot.parents)
    unknown = np.full(robot.n_bodies, UNKNOWN_SHARE * total)
    unknown[tips] = gains.payload * total
    radius = gains.spread * length
    shape = np.diag([radius**2, radius**2, radius**2, 1.0])
    matrices = prior + unknown[:, None, None] * shape
    most = gains.largest_payload * total
    unit = BodyMetric(matrices, 1.0, prior[:, 3, 3] + most,
                      prior[:, :3, :3].trace(axis1=1, axis2=2) + most * length**2)
    fastest = adaptive_loop_frequency(dynamics, block_diagonal(unit.gain_blocks()),
                                      typical_motions(robot))
    gain = (gains.frequency / fastest)**2 if fastest > 0.0 else 1.0
    return BodyMetric(matrices, gain, unit.largest_mass, unit.largest_spread)


def term_metric(robot: Robot, dynamics: Dynamics, gains: AdaptationGains) -> TermMetric:
    """Prior, gain and range of the joint terms that are learnt.

    The gain of a term follows from the largest frequency of the loop that it closes at its joint:
    Gamma_ii = w^2 m_i / y_i^2, with m_i the least effective inertia of the joint and y_i the
    largest entry of the column at typical motions.
    """
    motions = typical_motions(robot)
    shape = (len(gains.terms), robot.n)
    prior = described_parameters(robot, gains.terms).reshape(shape)
    columns = dynamics.regressor(motions.q, motions.v, motions.a, gains.terms)
    sizes = np.abs(columns[..., 10 * robot.n_bodies:]).max(axis=(0, 1)).reshape(shape)
    gain = gains.term_frequency**2 * effective_inertias(dynamics, motions) / sizes**2
    effort = np.where(np.isfinite(robot.limits.effort), robot.limits.effort, np.inf)
    is_signed = np.array([term == 'offset' for term in gains.terms], dtype=bool)
    # At most the value at which the term alone needs the whole effort limit of its joint.
    largest = np.maximum(effort / sizes, prior)
    return TermMetric(prior, gain, np.where(is_signed[:, None], -largest, 0.0), largest)


def adaptive_loop_frequency(dynamics: Dynamics, gain: FloatArray, motions: Motions,
                            terms: tuple[str, ...] = ()) -> float:
    """w_A at the worst of some motions: sqrt(lambda_max(M^-1 Y Gamma Y^T)), rad/s.

    Gamma is the gain of the parameters and joint terms.
    """
    Y = dynamics.regressor(motions.q, motions.v, motions.a, terms)
    stiffness = Y @ gain @ np.swapaxes(Y, -1, -2)
    mass = mass_matrices(dynamics, motions.q)
    eigenvalues = np.linalg.eigvals(np.linalg.solve(mass, stiffness)).real
    return float(np.sqrt(max(eigenvalues.max(), 0.0)))
