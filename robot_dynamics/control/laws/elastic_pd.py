# SPDX-License-Identifier: Apache-2.0
"""Control of robots with elastic joints: PD with on-line gravity compensation, and feedforward."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.control.feedback.loaded_model import LoadedModel
from robot_dynamics.control.laws.elastic_gains import (
    ElasticGainReport,
    ElasticLoop,
    ElasticPDGains,
)
from robot_dynamics.control.laws.model_based import LawWithPayload
from robot_dynamics.elastic.dynamics import ElasticDynamics
from robot_dynamics.elastic.robot import ElasticRobot
from robot_dynamics.model.arrays import FloatArray

#: Rate of the safe damping times the longest delay of the loop.
SAFE_MARGIN = 0.3
#: Largest number of iterations for links at rest, and the change at which they end. rad or m.
_SUBSTITUTIONS, _AT_REST = 20, 1e-9


class ElasticPDController(LawWithPayload):
    """PD control of the motors with on-line gravity compensation: brings the links to a set point.

    ::

        u = K_P (theta_d - theta) + K_D (v_d - theta') + g(theta - K^-1 g(q_d))
        theta_d = q_d + K^-1 g(q_d)

    Gravity is evaluated at the motor positions, corrected by the deflection of the springs under
    gravity at the set point, so that it is exact at equilibrium. Along a motion, q_d is the
    desired position of the links.

    Implements `robot_dynamics.control.feedback.protocol.TrackingController`, where q and v are
    those of the *motors*, q_d, v_d and a_d those of the links.

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
        Stability of the gains.
    patient_damping : ndarray, shape (n,)
        Damping that does not excite the springs at any delay. N m s/rad or N s/m.
    is_patient : bool
        Whether the safe effort uses `patient_damping`, because efforts are too late; set by the
        session.
    model : LoadedModel
        Equations of the links with their payload.
    judged_load : ndarray, shape (nb, 10)
        Payload with which the gains were checked.

    Raises
    ------
    ControlError
        If the gains are outside their bounds or the sampled loop is not stable.

    References
    ----------
    A. De Luca, B. Siciliano and L. Zollo, "PD control with on-line gravity compensation for robots
    with elastic joints: Theory and experiments", Automatica 41(10), 2005.

    Examples
    --------
    >>> import numpy as np
    >>> from robot_dynamics import Robot
    >>> from robot_dynamics.elastic.robot import ElasticRobot
    >>> robot = ElasticRobot.from_yaml('planar_2r', Robot.from_urdf('planar_2r'))
    >>> controller = ElasticPDController(robot)
    >>> controller.report.radius < 1.0
    True
    >>> controller.holding_effort(np.zeros(2), np.zeros(2), np.zeros(2)).shape
    (2,)
    """

    def __init__(self, robot: ElasticRobot, *, gains: ElasticPDGains | None = None,
                 period: float = 0.002, delay: float = 0.001):
        self.robot, self.elastic = robot.links, robot
        self.dynamics = ElasticDynamics(robot)
        self._timing: dict[str, Any] = {'period': period, 'delay': delay}
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

    @property
    def longest_delay(self) -> float:
        """Dead time T/2 + delay up to which a running loop is continued, s."""
        return self.report.longest_delay + 0.5 * self._timing['period']

    @property
    def damping_rate(self) -> float:
        """Rate of the safe damping, 1/s; if states are late, `patient_damping` is used."""
        return SAFE_MARGIN / self.longest_delay

    def update(self, q: FloatArray, v: FloatArray, q_d: FloatArray, v_d: FloatArray,
               a_d: FloatArray, dt: float, *, adapt: bool) -> FloatArray:
        """Effort of the motors, shape (n,), N m or N; see `TrackingController`.

        Parameters
        ----------
        q, v : ndarray, shape (n,)
            theta and theta' of the motors.
        q_d, v_d, a_d : ndarray, shape (n,)
            Desired motion of the links.
        """
        deflection = self.model.gravity_torque(q_d) / self._stiffness
        np.subtract(q_d + deflection, q, out=self.e)
        np.subtract(v_d, v, out=self.e_dot)
        tau = self.gains.stiffness * self.e + self.gains.damping * self.e_dot
        return tau + self.model.gravity_torque(q - deflection)

    def holding_effort(self, q: FloatArray, v: FloatArray, q_hold: FloatArray) -> FloatArray:
        """Effort that holds the links at a pose, shape (n,), N m or N."""
        return self.update(q, v, q_hold, self._still, self._still, 0.0, adapt=False)

    def safe_effort(self, q: FloatArray, v: FloatArray) -> FloatArray:
        """Gravity plus damping -K_D theta', or `patient_damping` instead, shape (n,), N m or N."""
        damping = self.patient_damping if self.is_patient else self.gains.damping
        return self.model.gravity_torque(self.links_at_rest(q)) - damping * v

    def links_at_rest(self, theta: FloatArray) -> FloatArray:
        """Equilibrium of the links at motor positions, shape (n,), rad or m.

        Solves q + K^-1 g(q) = theta by fixed-point iteration: each step reduces the error by the
        ratio of the slope of gravity to the stiffness of the springs.

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

    def judge(self) -> None:
        """Check the gains with the present payload.

        Raises
        ------
        ControlError
            If they are not stable with it.
        """
        load = self.model.load
        links = self.robot.with_parameters(self.robot.inertial_parameters + load)
        loop = ElasticLoop(ElasticDynamics(replace(self.elastic, links=links)), **self._timing)
        self.report = loop.require(self.gains)
        self.patient_damping = loop.patient_damping(self.gains)
        self.judged_load = load


@dataclass(frozen=True, eq=False)
class MotorMotion:
    """Motion of the motors over gear ratios and their effort, each of shape (..., n).

    `link_residual` is the effort that theta neglects at the links: the inertial coupling of rotors
    with links; zero in Spong's model.
    """

    theta: FloatArray
    theta_dot: FloatArray
    theta_ddot: FloatArray
    effort: FloatArray
    link_residual: FloatArray


def motor_motion(dynamics: ElasticDynamics, q: ArrayLike, v: ArrayLike, a: ArrayLike,
                 jerk: ArrayLike, snap: ArrayLike) -> MotorMotion:
    """Motor motion and effort that realise a motion of the links: feedforward.

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
    Links are driven by the springs only, so with tau the efforts of rigid joints::

        theta = q + K^-1 tau,    theta' = v + K^-1 tau',    theta'' = a + K^-1 tau''

    and u follows from the equations of the motors; tau' and tau'' are those of
    `Dynamics.inverse_dynamics_rates`. Exact without inertial coupling and without damping of the
    springs; otherwise see `MotorMotion.link_residual`.

    References
    ----------
    A. De Luca, "Feedforward/feedback laws for the control of flexible robots", ICRA 2000.

    Examples
    --------
    >>> import numpy as np
    >>> from robot_dynamics import Robot
    >>> from robot_dynamics.elastic.dynamics import ElasticDynamics
    >>> from robot_dynamics.elastic.robot import ElasticRobot
    >>> robot = ElasticRobot.from_yaml('planar_2r', Robot.from_urdf('planar_2r'))
    >>> motion = motor_motion(ElasticDynamics(robot), *np.full((5, 2), 0.1))
    >>> motion.theta.shape, motion.effort.shape
    ((2,), (2,))
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
