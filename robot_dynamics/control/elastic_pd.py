# SPDX-License-Identifier: Apache-2.0
"""PD control with on-line gravity compensation for robots with elastic joints."""

from __future__ import annotations

import numpy as np

from robot_dynamics.control.elastic_gains import ElasticGainReport, ElasticLoop, ElasticPDGains
from robot_dynamics.elastic.dynamics import ElasticDynamics
from robot_dynamics.elastic.robot import ElasticRobot
from robot_dynamics.model.robot import FloatArray


class ElasticPDController:
    """Bring the links to a set point by what the motors' encoders say.

    De Luca, Siciliano, Zollo, "PD control with on-line gravity compensation for robots with
    elastic joints: Theory and experiments", Automatica 41(10), 2005::

        u = K_P (theta_d - theta) + K_D (v_d - theta') + g(theta - K^-1 g(q_d))
        theta_d = q_d + K^-1 g(q_d)

    Gravity is that of the links as the motors show them, corrected by what springs give
    way under gravity at the set point, so that in equilibrium it is exact. Along a motion
    q_d is the desired one of the links, and `feedforward` adds the efforts it asks for.

    Implements `robot_dynamics.control.protocol.TrackingController`, where q and v are the
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

    Raises
    ------
    ControlError
        Where the gains are outside their bounds or the sampled loop is not stable.
    """

    frozen = False
    frozen_reason = ''

    def __init__(self, robot: ElasticRobot, *, gains: ElasticPDGains | None = None,
                 period: float = 0.002, delay: float = 0.001):
        self.robot = robot.links
        self.dynamics = ElasticDynamics(robot)
        loop = ElasticLoop(self.dynamics, period=period, delay=delay)
        self.gains = loop.design() if gains is None else gains
        self.report: ElasticGainReport = loop.require(self.gains)
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
        links = self.dynamics.links
        given_way = links.gravity_torque(q_d) / self._stiffness
        np.subtract(q_d + given_way, q, out=self.e)
        np.subtract(v_d, v, out=self.e_dot)
        tau = self.gains.stiffness * self.e + self.gains.damping * self.e_dot
        return tau + links.gravity_torque(q - given_way)

    def holding_effort(self, q: FloatArray, v: FloatArray, q_hold: FloatArray) -> FloatArray:
        """Return the effort that keeps the motors where they are asked to be, shape (n,)."""
        return self.update(q, v, q_hold, self._still, self._still, 0.0, adapt=False)

    def safe_effort(self, q: FloatArray, v: FloatArray) -> FloatArray:
        """Return gravity plus damping -K_D theta', shape (n,)."""
        return self.dynamics.links.gravity_torque(q) - self.gains.damping * v
