# SPDX-License-Identifier: Apache-2.0
"""Controllers with a model and without adaptation: PD with gravity, and computed torque.

Their feedback is weighted by the mass matrix of the arm without payload. With the payload, a light
wrist would have several times its gain, and would oscillate before the payload is in the hand.
Without it, the feedback is a little softer once the payload is there.
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from robot_dynamics.control.checks import positive
from robot_dynamics.control.feedback.gains import LATE_MARGIN, FeedbackGains
from robot_dynamics.control.feedback.linear_feedback import JointGains, make_feedback
from robot_dynamics.control.feedback.loaded_model import LoadedModel
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.dynamics.kernels.loading import kernel
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import Robot


class LawWithPayload:
    """Base class of laws without adaptation and memory, with the payload of their model.

    Implements `robot_dynamics.control.feedback.loaded_model.Carrier`.
    """

    model: LoadedModel
    frozen = False
    frozen_reason = ''
    estimate = np.zeros(0)
    estimate_names: tuple[str, ...] = ()

    def reset(self, q: FloatArray, v: FloatArray) -> None:
        """Do nothing: the law has no memory."""

    def note_applied(self, tau: FloatArray) -> None:
        """Do nothing: the law does not need the effort after limits."""

    def forget_recent(self) -> None:
        """Do nothing: the law has no estimates."""

    def carry(self, load: FloatArray, seconds: float) -> None:
        """Begin a change of the payload; see `LoadedModel.carry`."""
        self.model.carry(load, seconds)

    def advance(self, dt: float) -> None:
        """Continue a change of the payload; see `LoadedModel.advance`."""
        self.model.advance(dt)


class ModelController(LawWithPayload):
    """Base class of laws of feedback and model: a `TrackingController` without `update`.

    Gains are checked against the sampling period and the delay, the time from the measurement of a
    state to the effort that answers it, s. Raises a ControlError if they are unstable, and an
    InertiaError where some motion of the model moves no mass. `tau_model` and `tau_feedback`,
    shape (n,), are the parts of the last effort: that of the model (with its payload, `model`),
    and the remainder; `e`, `e_dot` and `s` are the errors of the feedback.
    """

    #: Name of the law in the error for joints of several coordinates.
    _user = 'control'

    def __init__(self, robot: Robot, *, feedback: FeedbackGains | JointGains | None = None,
                 period: float = 0.002, delay: float = 0.001, dynamics: Dynamics | None = None):
        robot.require_single_coordinates(self._user)
        self.robot = robot
        self.model = LoadedModel(Dynamics(robot) if dynamics is None else dynamics)
        self.feedback = make_feedback(robot, self.model.empty, feedback, period=period,
                                      delay=delay)
        self.e, self.e_dot, self.s = self.feedback.e, self.feedback.e_dot, self.feedback.s
        self.damping_rate = self.feedback.damping_rate
        self.longest_delay = LATE_MARGIN / self.damping_rate
        self.tau_model = np.zeros(robot.n)
        self.tau_feedback = self.feedback.effort
        self._tau, self._still = np.zeros(robot.n), np.zeros(robot.n)
        # Compile before the loop starts.
        self.holding_effort(self._still, self._still, self._still)

    @abstractmethod
    def update(self, q: FloatArray, v: FloatArray, q_d: FloatArray, v_d: FloatArray,
               a_d: FloatArray, dt: float, *, adapt: bool) -> FloatArray:
        """Effort for a state and desired motion; see `TrackingController`."""

    def holding_effort(self, q: FloatArray, v: FloatArray, q_hold: FloatArray) -> FloatArray:
        """Feedback to rest at a pose plus gravity, shape (n,), N m or N."""
        self.feedback.note_errors(q, v, q_hold, self._still, self._still)
        mass, gravity = self.model.mass_and_gravity(q)
        return self.feedback.answer_errors(mass) + gravity

    def advance(self, dt: float) -> None:
        """Continue changes of the payload and of the gains."""
        super().advance(dt)
        self.feedback.advance(dt)

    def safe_effort(self, q: FloatArray, v: FloatArray) -> FloatArray:
        """Gravity plus damping -K_D v, shape (n,), N m or N."""
        return self.model.gravity_torque(q) + self.feedback.damping(q, v)


class PDGravityController(ModelController):
    """PD control with gravity: tau = omega_D M0(q) (e_dot + lambda e) + K_P e + g0(q).

    Under `JointGains`, tau = K_P e + K_D e_dot + g0(q).
    Implements `robot_dynamics.control.feedback.protocol.TrackingController`. Its feedback is
    exactly that of `robot_dynamics.control.laws.slotine_li.AdaptiveController`. Parameters are
    those of `ModelController`.

    See Also
    --------
    ComputedTorqueController, robot_dynamics.control.laws.slotine_li.AdaptiveController

    Examples
    --------
    >>> import numpy as np
    >>> from robot_dynamics import Dynamics, Robot
    >>> robot = Robot.from_urdf('planar_2r')
    >>> controller = PDGravityController(robot)
    >>> q, rest = np.array([0.3, 0.4]), np.zeros(2)
    >>> tau = controller.update(q, rest, q, rest, rest, 0.002, adapt=False)
    >>> bool(np.allclose(tau, Dynamics(robot).gravity_torque(q)))
    True
    """

    _user = 'PD control'

    def update(self, q: FloatArray, v: FloatArray, q_d: FloatArray, v_d: FloatArray,
               a_d: FloatArray, dt: float, *, adapt: bool) -> FloatArray:
        """Effort for a state and desired motion; see `TrackingController`."""
        self.feedback.note_errors(q, v, q_d, v_d, a_d)
        mass, self.tau_model = self.model.mass_and_gravity(q)
        self.feedback.answer_errors(mass)
        np.add(self.tau_model, self.tau_feedback, out=self._tau)
        return self._tau


class ComputedTorqueController(ModelController):
    r"""Computed torque: the model cancels the dynamics, and errors decay at chosen rates.

    .. math::

        \tau = M(q) u + C(q, v) v + g(q) + D v_d + F \tanh(v_d / \epsilon) + K_P e, \qquad
        u = a_d + (\omega_D + \lambda) \dot e + \omega_D \lambda e

    With the true model and without K_P, :math:`\ddot e + (\omega_D + \lambda) \dot e + \omega_D
    \lambda e = 0`: errors decay at the same rates as with the other laws and the same gains,
    :math:`u = a_r + \omega_D s`. Under `JointGains`, u = a_d, and K_D e_dot is added. Friction is
    evaluated at the desired velocity, so that it does not chatter with the sign of a measured
    speed. Implements `robot_dynamics.control.feedback.protocol.TrackingController`.

    Parameters
    ----------
    robot, feedback, period, delay, dynamics
        As for `ModelController`.
    coulomb_velocity : float
        epsilon: speed below which Coulomb friction fades out. rad/s or m/s.

    References
    ----------
    J. Y. S. Luh, M. W. Walker and R. P. C. Paul, "Resolved-acceleration control of mechanical
    manipulators", IEEE Transactions on Automatic Control 25(3), 1980.

    Examples
    --------
    >>> import numpy as np
    >>> from robot_dynamics import Robot
    >>> controller = ComputedTorqueController(Robot.from_urdf('planar_2r'))
    >>> q, rest = np.array([0.3, 0.4]), np.zeros(2)
    >>> controller.update(q, rest, q, rest, rest, 0.002, adapt=False).shape
    (2,)
    """

    _user = 'computed torque'

    def __init__(self, robot: Robot, *, feedback: FeedbackGains | JointGains | None = None,
                 period: float = 0.002, delay: float = 0.001, coulomb_velocity: float = 0.05,
                 dynamics: Dynamics | None = None):
        self._epsilon = positive('coulomb_velocity', coulomb_velocity, 'rad/s')
        self._has_joint_terms = bool(np.any([robot.damping, robot.friction]))
        self._accelerate, self._close = accelerate.load(), close.load()
        super().__init__(robot, feedback=feedback, period=period, delay=delay, dynamics=dynamics)
        self.tau_feedback, self._u = np.zeros(robot.n), np.zeros(robot.n)

    def update(self, q: FloatArray, v: FloatArray, q_d: FloatArray, v_d: FloatArray,
               a_d: FloatArray, dt: float, *, adapt: bool) -> FloatArray:
        """Effort for a state and desired motion; see `TrackingController`."""
        feedback, u = self.feedback, self._u
        feedback.note_errors(q, v, q_d, v_d, a_d)
        if feedback.is_constant:
            u[:] = a_d
        else:
            self._accelerate(feedback.a_r, feedback.s, feedback.bandwidth, u)
        if self.model.is_loaded and not feedback.is_constant:
            # The feedback is that of the arm without payload.
            self.tau_model = self.model.inverse_dynamics(q, v, a_d) \
                + self.model.empty.mass_matrix(q) @ (u - a_d)
        else:
            self.tau_model = self.model.inverse_dynamics(q, v, u)
        if self._has_joint_terms:
            self.tau_model += self.robot.damping * v_d \
                + self.robot.friction * np.tanh(v_d / self._epsilon)
        if feedback.is_constant:
            self.tau_feedback[:] = feedback.answer_errors(feedback.mass_matrix)
            return np.add(self.tau_model, self.tau_feedback, out=self._tau)
        self._close(self.tau_model, feedback.e, feedback.position_gain, self.tau_feedback,
                    self._tau)
        return self._tau


@kernel('void(f8[::1], f8[::1], f8, f8[::1])')
def accelerate(a_r, s, bandwidth, u):
    """Write u = a_r + omega_D s."""
    for i in range(u.size):
        u[i] = a_r[i] + bandwidth * s[i]


@kernel('void(f8[::1], f8[::1], f8[::1], f8[::1], f8[::1])')
def close(model, e, position_gain, feedback, tau):
    """Write K_P e, and its sum with the effort of the model."""
    for i in range(tau.size):
        feedback[i] = position_gain[i] * e[i]
        tau[i] = model[i] + feedback[i]
