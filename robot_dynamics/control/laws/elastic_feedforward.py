# SPDX-License-Identifier: Apache-2.0
"""Where motors have to be, and what they have to give, so that links move as desired."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.elastic.dynamics import ElasticDynamics
from robot_dynamics.model.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class MotorMotion:
    """Motion and effort of the motors, each of shape (..., n).

    Parameters
    ----------
    theta, theta_dot, theta_ddot : ndarray
        Positions, velocities and accelerations over gear ratios. rad or m, and so on.
    effort : ndarray
        u. N m or N.
    link_residual : ndarray
        Effort that the links would still need: what inertial coupling of rotors with links
        takes, which theta does not take into account. Zero in Spong's model. N m or N.
    """

    theta: FloatArray
    theta_dot: FloatArray
    theta_ddot: FloatArray
    effort: FloatArray
    link_residual: FloatArray


def motor_motion(dynamics: ElasticDynamics, q: ArrayLike, v: ArrayLike, a: ArrayLike,
                 jerk: ArrayLike, snap: ArrayLike) -> MotorMotion:
    """Return what motors have to do for a motion of the links.

    Parameters
    ----------
    dynamics : ElasticDynamics
        The robot.
    q, v, a, jerk, snap : array_like, shape (..., n)
        Desired positions of the links and four time derivatives of them.

    Returns
    -------
    MotorMotion
        Motion and effort of the motors.

    Notes
    -----
    Links move by springs alone, so with tau the efforts of rigid joints::

        theta = q + K^-1 tau,    theta' = v + K^-1 tau',    theta'' = a + K^-1 tau''

    and u follows from the motors' equations. De Luca, "Feedforward/feedback laws for the
    control of flexible robots", ICRA 2000; tau' and tau'' by
    `Dynamics.inverse_dynamics_rates`. Exact without inertial coupling and without damping of
    the springs; with them `MotorMotion.link_residual` says how much is missing.
    """
    tau, tau_dot, tau_ddot = dynamics.links.inverse_dynamics_rates(q, v, a, jerk, snap)
    K = dynamics.robot.joints.stiffness
    theta, theta_dot, theta_ddot = (np.asarray(x) + y / K for x, y in
                                    ((q, tau), (v, tau_dot), (a, tau_ddot)))
    qbar, vbar, abar = (np.concatenate(np.broadcast_arrays(x, y), axis=-1) for x, y in
                        ((q, theta), (v, theta_dot), (a, theta_ddot)))
    effort = dynamics.inverse_dynamics(qbar, vbar, abar)
    n = dynamics.n
    return MotorMotion(theta, theta_dot, theta_ddot, effort[..., n:], effort[..., :n])
