# SPDX-License-Identifier: Apache-2.0
"""``TorqueTerms``: what makes up the torque of a measured motion, and what is left over."""

from __future__ import annotations

import math

import numpy as np

from robot_dynamics.control.checks import positive
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import Robot


class TorqueTerms:
    r"""The parts of the joint efforts of a motion given by positions and velocities.

    .. math::

        \tau = \underbrace{(M(q) + I_r) a}_{inertial} + \underbrace{C(q, v) v}_{coriolis}
               + g(q) + \underbrace{D v + F \tanh(v / \epsilon)}_{friction}

    Nobody measures a. It is the difference of velocities through a first-order
    low-pass, so it is late; the residual compares what belongs together by sending
    the measured effort less the other parts through the same low-pass::

        residual = filter(effort - gravity - coriolis - friction) - inertial

    Parameters
    ----------
    robot : Robot
        The arm, with damping, friction and armature as described.
    dynamics : Dynamics
        Its equations.
    cutoff : float
        Corner frequency of the low-pass. Hz.
    coulomb_velocity : float
        epsilon. rad/s or m/s.

    Attributes
    ----------
    acceleration : ndarray, shape (n,)
        Filtered acceleration. rad/s^2 or m/s^2.
    gravity, coriolis, inertial, friction, torque : ndarray, shape (n,)
        The parts and their sum. N m or N.
    residual : ndarray, shape (n,)
        What the model does not explain, nan where no effort is measured. N m or N.
    """

    def __init__(self, robot: Robot, dynamics: Dynamics, *, cutoff: float = 20.0,
                 coulomb_velocity: float = 0.05):
        self._dynamics = dynamics
        self._robot = robot
        self._rate = 2.0 * math.pi * positive('cutoff', cutoff, 'Hz')
        self._epsilon = positive('coulomb_velocity', coulomb_velocity, 'rad/s')
        (self.acceleration, self.gravity, self.coriolis, self.inertial, self.friction,
         self.torque, self._rest) = (np.zeros(robot.n) for _ in range(7))
        self.residual = np.full(robot.n, np.nan)
        self._v_before: FloatArray | None = None

    def update(self, q: FloatArray, v: FloatArray, effort: FloatArray, dt: float) -> None:
        """Take one state.

        Parameters
        ----------
        q, v, effort : ndarray, shape (n,)
            Measured position, velocity and effort (nan where not available).
        dt : float
            Time since the last one; 0 for the first, or after a gap, where the filter
            starts over. s.
        """
        mass, coriolis, self.gravity = self._dynamics.matrices(q, v)
        np.dot(coriolis, v, out=self.coriolis)
        robot = self._robot
        self.friction = robot.damping * v + robot.friction * np.tanh(v / self._epsilon)
        rest = effort - self.gravity - self.coriolis - self.friction
        if dt > 0.0 and self._v_before is not None:
            share = 1.0 - math.exp(-self._rate * dt)
            self.acceleration += share * ((v - self._v_before) / dt - self.acceleration)
            self._rest += share * (rest - self._rest)
            # An effort missed once must not stay in the filter.
            np.copyto(self._rest, rest, where=~np.isfinite(self._rest))
        else:
            self.acceleration[:] = 0.0
            self._rest[:] = rest
        self._v_before = v.copy()
        self.inertial = mass @ self.acceleration + robot.armature * self.acceleration
        self.torque = self.gravity + self.coriolis + self.inertial + self.friction
        self.residual = self._rest - self.inertial
