# SPDX-License-Identifier: Apache-2.0
"""PD control with on-line gravity compensation for robots with elastic joints."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.control.feedback.loaded_model import LoadedModel
from robot_dynamics.control.laws.elastic_gains import (
    ElasticGainReport,
    ElasticLoop,
    ElasticPDGains,
)
from robot_dynamics.elastic.dynamics import ElasticDynamics
from robot_dynamics.elastic.robot import ElasticRobot
from robot_dynamics.model.arrays import FloatArray

#: Most substitutions for links at rest, and the change below which they are. rad or m.
_SUBSTITUTIONS, _AT_REST = 20, 1e-9


class ElasticPDController:
    """Bring the links to a set point by what the motors' encoders say.

    De Luca, Siciliano, Zollo, "PD control with on-line gravity compensation for robots with
    elastic joints: Theory and experiments", Automatica 41(10), 2005::

        u = K_P (theta_d - theta) + K_D (v_d - theta') + g(theta - K^-1 g(q_d))
        theta_d = q_d + K^-1 g(q_d)

    Gravity is that of the links as the motors show them, corrected by what springs give
    way under gravity at the set point, so that in equilibrium it is exact. Along a motion
    q_d is the desired one of the links, and `feedforward` adds the efforts it asks for.

    Implements `robot_dynamics.control.feedback.protocol.TrackingController`, where q and v are the
    *motors'*, q_d, v_d and a_d the links'.

    Parameters
    ----------
    robot : ElasticRobot
        The robot.
    gains : ElasticPDGains, optional
        Its gains; by default those of `ElasticLoop.design`.
    period, delay : float
        Sampling period, and time from a measurement to the effort that answers it. s.

    Attributes
    ----------
    gains : ElasticPDGains
        Gains in use.
    report : ElasticGainReport
        What is known of them.
    patient_damping : ndarray, shape (n,)
        Damping that does not drive springs however late it comes. N m s/rad or N s/m.
    is_patient : bool
        Whether answers come so late that the safe effort has to have that one. Yours to set.
    model : LoadedModel
        Equations of the links with what they carry.
    judged_load : ndarray, shape (nb, 10)
        What they carried when the gains were judged.

    Raises
    ------
    ControlError
        Where the gains are outside their bounds or the sampled loop is not stable.
    """

    frozen = False
    frozen_reason = ''

    def __init__(self, robot: ElasticRobot, *, gains: ElasticPDGains | None = None,
                 period: float = 0.002, delay: float = 0.001):
        self.robot, self.elastic = robot.links, robot
        self.dynamics = ElasticDynamics(robot)
        self._timing = {'period': period, 'delay': delay}
        loop = ElasticLoop(self.dynamics, **self._timing)
        self.gains = loop.design() if gains is None else gains
        self.report: ElasticGainReport = loop.require(self.gains)
        self.patient_damping = loop.patient_damping(self.gains)
        self.is_patient = False
        self.model = LoadedModel(self.dynamics.links)
        self.judged_load = self.model.load
        self._stiffness = robot.joints.stiffness
        self._still = np.zeros(robot.n)
        self.e, self.e_dot = np.zeros(robot.n), np.zeros(robot.n)
        self.estimate = np.zeros(0)
        self.estimate_names: tuple[str, ...] = ()

    def reset(self, q: FloatArray, v: FloatArray) -> None:
        """Do nothing: there is no memory."""

    def note_applied(self, tau: FloatArray) -> None:
        """Do nothing: there is no memory."""

    def update(self, q: FloatArray, v: FloatArray, q_d: FloatArray, v_d: FloatArray,
               a_d: FloatArray, dt: float, *, adapt: bool) -> FloatArray:
        """Return the effort of the motors; see `TrackingController`.

        Parameters
        ----------
        q, v : ndarray, shape (n,)
            theta and theta' of the motors.
        q_d, v_d, a_d : ndarray, shape (n,)
            Desired motion of the links.
        """
        given_way = self.model.gravity_torque(q_d) / self._stiffness
        np.subtract(q_d + given_way, q, out=self.e)
        np.subtract(v_d, v, out=self.e_dot)
        tau = self.gains.stiffness * self.e + self.gains.damping * self.e_dot
        return tau + self.model.gravity_torque(q - given_way)

    def holding_effort(self, q: FloatArray, v: FloatArray, q_hold: FloatArray) -> FloatArray:
        """Return the effort that keeps the links where they are asked to be, shape (n,)."""
        return self.update(q, v, q_hold, self._still, self._still, 0.0, adapt=False)

    def safe_effort(self, q: FloatArray, v: FloatArray) -> FloatArray:
        """Return gravity plus damping -K_D theta', or `patient_damping` instead, shape (n,)."""
        damping = self.patient_damping if self.is_patient else self.gains.damping
        return self.model.gravity_torque(self.links_at_rest(q)) - damping * v

    def links_at_rest(self, theta: FloatArray) -> FloatArray:
        """Return where the links hang when the motors stand somewhere, shape (n,).

        q + K^-1 g(q) = theta, by substitution: each one brings it nearer by the ratio of
        the slope of gravity and the stiffness of springs.

        Parameters
        ----------
        theta : ndarray, shape (n,)
            Positions of the motors over gear ratios. rad or m.
        """
        q = theta
        for _ in range(_SUBSTITUTIONS):
            before, q = q, theta - self.model.gravity_torque(q) / self._stiffness
            if np.abs(q - before).max() < _AT_REST:
                break
        return q

    def carry(self, load: FloatArray, seconds: float) -> None:
        """Take the arm to carry something; see `LoadedModel.carry`. Gains stay."""
        self.model.carry(load, seconds)

    def advance(self, dt: float) -> None:
        """Go on with a change of what is carried; see `LoadedModel.advance`."""
        self.model.advance(dt)

    def judge(self) -> None:
        """Judge the gains with what is carried.

        Raises
        ------
        ControlError
            Where they do not hold with it.
        """
        load = self.model.load
        links = self.robot.with_parameters(self.robot.inertial_parameters + load)
        loop = ElasticLoop(ElasticDynamics(replace(self.elastic, links=links)), **self._timing)
        self.report = loop.require(self.gains)
        self.patient_damping = loop.patient_damping(self.gains)
        self.judged_load = load


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
