# SPDX-License-Identifier: Apache-2.0
r"""Computed torque: the model undoes what it knows of the arm, and errors decay as chosen.

.. math::

    \tau = M(q) u + C(q, v) v + g(q) + D v_d + F \tanh(v_d / \epsilon) + K_P e, \qquad
    u = a_d + (\omega_D + \lambda) \dot e + \omega_D \lambda e

With the true model and without K_P, :math:`\ddot e + (\omega_D + \lambda) \dot e + \omega_D
\lambda e = 0`: two rates, those of PD + gravity and of the law of Slotine and Li with the
same gains, :math:`u = a_r + \omega_D s`. Friction is that of the motion wanted, which does
not chatter with the sign of a measured speed.

References
----------
J. Y. S. Luh, M. W. Walker and R. P. C. Paul, "Resolved-acceleration control of mechanical
manipulators", IEEE Transactions on Automatic Control 25(3), 1980.
"""

from __future__ import annotations

import numpy as np

from robot_dynamics.control.checks import positive
from robot_dynamics.control.feedback.gains import FeedbackGains
from robot_dynamics.control.laws.model_controller import ModelController
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.dynamics.kernels.loading import kernel
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import Robot


class ComputedTorqueController(ModelController):
    """The law above; `robot_dynamics.control.feedback.protocol.TrackingController`.

    Parameters
    ----------
    robot, feedback, period, delay, dynamics
        As for `ModelController`.
    coulomb_velocity : float
        epsilon: speed below which Coulomb friction fades out. rad/s or m/s.
    """

    _user = 'computed torque'

    def __init__(self, robot: Robot, *, feedback: FeedbackGains | None = None,
                 period: float = 0.002, delay: float = 0.001, coulomb_velocity: float = 0.05,
                 dynamics: Dynamics | None = None):
        self._epsilon = positive('coulomb_velocity', coulomb_velocity, 'rad/s')
        self._rotors = np.array(robot.armature)
        self._has_joint_terms = bool(np.any([robot.armature, robot.damping, robot.friction]))
        self._accelerate, self._close = accelerate.load(), close.load()
        super().__init__(robot, feedback=feedback, period=period, delay=delay, dynamics=dynamics)
        self.tau_feedback, self._u = np.zeros(robot.n), np.zeros(robot.n)

    def update(self, q: FloatArray, v: FloatArray, q_d: FloatArray, v_d: FloatArray,
               a_d: FloatArray, dt: float, *, adapt: bool) -> FloatArray:
        """Return the effort for this state and desired motion; see `TrackingController`."""
        feedback, gains = self.feedback, self.feedback.gains
        feedback.note_errors(q, v, q_d, v_d, a_d)
        u = self._u
        self._accelerate(feedback.a_r, feedback.s, gains.bandwidth, u)
        if self.model.is_loaded:
            # The feedback is that of the empty arm, see `control.model_controller`.
            self.tau_model = self.model.inverse_dynamics(q, v, a_d) \
                + self.model.empty.mass_matrix(q) @ (u - a_d)
        else:
            self.tau_model = self.model.inverse_dynamics(q, v, u)
        if self._has_joint_terms:
            self.tau_model += self._rotors * u + self.robot.damping * v_d \
                + self.robot.friction * np.tanh(v_d / self._epsilon)
        self._close(self.tau_model, feedback.e, gains.stiffness, self.tau_feedback, self._tau)
        return self._tau


@kernel('void(f8[::1], f8[::1], f8, f8[::1])')
def accelerate(a_r, s, bandwidth, u):
    """Write u = a_r + omega_D s."""
    for i in range(u.size):
        u[i] = a_r[i] + bandwidth * s[i]


@kernel('void(f8[::1], f8[::1], f8, f8[::1], f8[::1])')
def close(model, e, stiffness, feedback, tau):
    """Write K_P e, and that on top of what the model asks for."""
    for i in range(tau.size):
        feedback[i] = stiffness * e[i]
        tau[i] = model[i] + feedback[i]
