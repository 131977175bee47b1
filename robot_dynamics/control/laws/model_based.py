# SPDX-License-Identifier: Apache-2.0
"""What the controllers share that know a model and learn nothing.

Their feedback is weighted by the mass matrix of the arm that carries nothing, whatever it
is told to carry. With that of a payload a light wrist would have several times its gain as
long as the payload is not in the hand yet, or was never there, and ring; without, the
feedback is a little softer when it is.
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from robot_dynamics.control.checks import positive
from robot_dynamics.control.feedback.gains import FeedbackGains, check_gains
from robot_dynamics.control.feedback.linear_feedback import (
    LinearFeedback,
    WithFeedback,
    check_position_gain,
)
from robot_dynamics.control.feedback.loaded_model import LoadedModel
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.dynamics.kernels.loading import kernel
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import Robot


class ModelController(WithFeedback):
    """A law out of feedback and the equations of a model; a subclass says which.

    A subclass implements `robot_dynamics.control.feedback.protocol.TrackingController` once it has
    an `update`.

    Parameters
    ----------
    robot : Robot
        The model.
    feedback : FeedbackGains, optional
        Gains of the feedback.
    period, delay : float
        Sampling period, and time from the measurement of a state to the torque that
        answers it; the gains are checked against them. s.
    dynamics : Dynamics, optional
        Equations of the robot, where they exist already.

    Attributes
    ----------
    model : LoadedModel
        Equations of the arm with what it carries.
    tau_model, tau_feedback : ndarray, shape (n,)
        Parts of the last effort: what the model asks for, and the rest.
    estimate, estimate_names
        Empty: nothing is learnt.

    Raises
    ------
    ControlError
        Where the gains are unstable at this period and delay.
    InertiaError
        Where some motion of the model moves no mass: no feedback would hold it.
    """

    frozen = False
    frozen_reason = ''
    #: What a robot with joints of several coordinates is refused for.
    _user = 'control'

    def __init__(self, robot: Robot, *, feedback: FeedbackGains | None = None,
                 period: float = 0.002, delay: float = 0.001, dynamics: Dynamics | None = None):
        robot.require_single_coordinates(self._user)
        feedback = FeedbackGains() if feedback is None else feedback
        check_gains(feedback, None, period=period, delay=delay)
        self.robot = robot
        self.model = LoadedModel(Dynamics(robot) if dynamics is None else dynamics)
        check_position_gain(self.model.empty, feedback, period=period, delay=delay)
        self.feedback = LinearFeedback(robot, self.model.empty, feedback)
        self.estimate = np.zeros(0)
        self.estimate_names: tuple[str, ...] = ()
        self.tau_model = np.zeros(robot.n)
        self.tau_feedback = self.feedback.effort
        self._tau, self._still = np.zeros(robot.n), np.zeros(robot.n)
        # What has to be compiled must not wait for the loop.
        self.holding_effort(self._still, self._still, self._still)

    def reset(self, q: FloatArray, v: FloatArray) -> None:
        """Do nothing: there is no memory."""

    def note_applied(self, tau: FloatArray) -> None:
        """Do nothing: there is no memory."""

    @abstractmethod
    def update(self, q: FloatArray, v: FloatArray, q_d: FloatArray, v_d: FloatArray,
               a_d: FloatArray, dt: float, *, adapt: bool) -> FloatArray:
        """Return the effort for this state and desired motion; see `TrackingController`."""

    def holding_effort(self, q: FloatArray, v: FloatArray, q_hold: FloatArray) -> FloatArray:
        """Return the feedback to rest at a pose plus gravity, shape (n,)."""
        self.feedback.note_errors(q, v, q_hold, self._still, self._still)
        mass, gravity = self.model.mass_and_gravity(q)
        return self.feedback.answer_errors(mass) + gravity

    def safe_effort(self, q: FloatArray, v: FloatArray) -> FloatArray:
        """Return gravity plus damping -K_D v, shape (n,)."""
        return self.model.gravity_torque(q) + self.feedback.damping(q, v)

    def carry(self, load: FloatArray, seconds: float) -> None:
        """Take the arm to carry something; see `LoadedModel.carry`."""
        self.model.carry(load, seconds)

    def advance(self, dt: float) -> None:
        """Go on with a change of what is carried; see `LoadedModel.advance`."""
        self.model.advance(dt)


class PDGravityController(ModelController):
    """tau = omega_D M0(q) (e_dot + lambda e) + K_P e + g0(q).

    Implements `robot_dynamics.control.feedback.protocol.TrackingController`. Its feedback is that
    of `robot_dynamics.control.laws.slotine_li.AdaptiveController`, to the last digit, so that
    the two differ by what is fed forward and learnt alone. Parameters are those of
    `ModelController`.
    """

    _user = 'PD control'

    def update(self, q: FloatArray, v: FloatArray, q_d: FloatArray, v_d: FloatArray,
               a_d: FloatArray, dt: float, *, adapt: bool) -> FloatArray:
        """Return the effort for this state and desired motion; see `TrackingController`."""
        self.feedback.note_errors(q, v, q_d, v_d, a_d)
        mass, self.tau_model = self.model.mass_and_gravity(q)
        self.feedback.answer_errors(mass)
        np.add(self.tau_model, self.tau_feedback, out=self._tau)
        return self._tau


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
        self._close(self.tau_model, feedback.e, gains.position_gain, self.tau_feedback, self._tau)
        return self._tau


@kernel('void(f8[::1], f8[::1], f8, f8[::1])')
def accelerate(a_r, s, bandwidth, u):
    """Write u = a_r + omega_D s."""
    for i in range(u.size):
        u[i] = a_r[i] + bandwidth * s[i]


@kernel('void(f8[::1], f8[::1], f8, f8[::1], f8[::1])')
def close(model, e, position_gain, feedback, tau):
    """Write K_P e, and that on top of what the model asks for."""
    for i in range(tau.size):
        feedback[i] = position_gain * e[i]
        tau[i] = model[i] + feedback[i]
