# SPDX-License-Identifier: Apache-2.0
"""The linear feedback that the tracking controllers share, with and without adaptation.

With e = q_d - q (the short way round for joints that turn without end),
e_dot = v_d - v and s = e_dot + lambda e::

    tau_fb = omega_D M0(q) s + K_P e

M0 is the mass matrix of the model as given: one bandwidth omega_D serves a heavy
shoulder and a light wrist alike, and K_D = omega_D M0(q) stays symmetric and positive
definite whatever is learnt. The reference motion of the adaptive law is
v_r = v_d + lambda e = v + s and a_r = a_d + lambda e_dot.
"""

from __future__ import annotations

import numpy as np

from robot_dynamics.control.feedback.gains import FeedbackGains
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.dynamics.kernels.loading import kernel
from robot_dynamics.errors import StateError
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import Robot


class WithFeedback:
    """A law around a `LinearFeedback`, whose errors are its own."""

    feedback: LinearFeedback

    @property
    def e(self) -> FloatArray:
        """Position error q_d - q of the last update, shape (n,). rad or m."""
        return self.feedback.e

    @property
    def e_dot(self) -> FloatArray:
        """Velocity error v_d - v of the last update, shape (n,). rad/s or m/s."""
        return self.feedback.e_dot

    @property
    def s(self) -> FloatArray:
        """Sliding variable e_dot + lambda e of the last update, shape (n,). rad/s or m/s."""
        return self.feedback.s


class LinearFeedback:
    """Tracking errors and the effort they ask for.

    Parameters
    ----------
    robot : Robot
        The model as given.
    dynamics : Dynamics
        Its equations.
    gains : FeedbackGains
        Bandwidth, error rate and stiffness.

    Attributes
    ----------
    e, e_dot, s, v_r, a_r : ndarray, shape (n,)
        Errors, sliding variable and reference motion of the last update.
    mass_matrix : ndarray, shape (n, n)
        M0 at the last state, rotor inertias included.
    effort : ndarray, shape (n,)
        tau_fb of the last update. N m or N.
    largest_s : float
        Largest entry of s, either sign, of the last update. rad/s or m/s.
    """

    def __init__(self, robot: Robot, dynamics: Dynamics, gains: FeedbackGains):
        self.gains = gains
        self._robot = robot
        self._dynamics = dynamics
        self._errors = tracking_errors.load()
        self._turns = np.ascontiguousarray(robot.is_continuous)
        #: lambda of each joint.
        self._rates = np.full(robot.n, gains.error_rate)
        self._apply = apply_gains.load()
        self._rotors = np.array(robot.armature)
        self.e, self.e_dot, self.s = np.zeros(robot.n), np.zeros(robot.n), np.zeros(robot.n)
        self.v_r, self.a_r = np.zeros(robot.n), np.zeros(robot.n)
        self.mass_matrix = np.zeros((robot.n, robot.n))
        self._still = np.zeros(robot.n)
        # M of the last update, and what comes with it: C at rest and g.
        self._matrices = (np.zeros((robot.n, robot.n)), np.zeros((robot.n, robot.n)),
                          np.zeros(robot.n))
        self.effort = np.zeros(robot.n)
        self.largest_s = 0.0

    def update(self, q: FloatArray, v: FloatArray, q_d: FloatArray, v_d: FloatArray,
               a_d: FloatArray) -> FloatArray:
        """Return tau_fb at a state and desired motion, a buffer of this object.

        Parameters
        ----------
        q, v, q_d, v_d, a_d : ndarray, shape (n,)
            State and desired motion, SI units.

        Raises
        ------
        StateError
            Where one of them is not finite; names the joint.
        """
        self.note_errors(q, v, q_d, v_d, a_d)
        return self.answer_errors(
            self._dynamics.matrices(q, self._still, self._matrices)[0])

    def note_errors(self, q: FloatArray, v: FloatArray, q_d: FloatArray, v_d: FloatArray,
                    a_d: FloatArray) -> None:
        """Work out errors, sliding variable and reference motion, and no effort.

        Takes and raises what `update` does.
        """
        outputs = (self._rates, self._turns, self.e, self.e_dot, self.s, self.v_r, self.a_r)
        try:
            bad = self._errors(q, v, q_d, v_d, a_d, *outputs)
        except TypeError:  # read-only, strided or of another type: slower, but right
            bad = self._errors(*(np.array(x, dtype=np.float64) for x in (q, v, q_d, v_d, a_d)),
                               *outputs)
        if bad >= 0:
            raise StateError('the state or the desired motion is not finite',
                             subject=self._robot.joint_names[bad],
                             remedy='pass only complete, finite states to a controller')

    def answer_errors(self, mass_matrix: FloatArray) -> FloatArray:
        """Return tau_fb for the errors noted last, a buffer of this object.

        Parameters
        ----------
        mass_matrix : ndarray, shape (n, n)
            M0 without rotors, which are added to it in place: it is kept.
        """
        self.mass_matrix = mass_matrix
        self.largest_s = self._apply(mass_matrix, self._rotors, self.gains.bandwidth,
                                     self.gains.stiffness, self.s, self.e, self.effort)
        return self.effort

    def damping(self, q: FloatArray, v: FloatArray) -> FloatArray:
        """Return -K_D v, the effort that brakes the arm, shape (n,)."""
        momentum = self._dynamics.mass_matrix(q) @ v + self._rotors * v
        return -self.gains.bandwidth * momentum


@kernel('i8(f8[::1], f8[::1], f8[::1], f8[::1], f8[::1], f8[::1], b1[::1], f8[::1], '
              'f8[::1], f8[::1], f8[::1], f8[::1])')
def tracking_errors(q, v, q_d, v_d, a_d, rates, turns, e, e_dot, s, v_r, a_r):
    """Write errors and reference motion; return the first joint that is not finite, or -1."""
    for i in range(q.size):
        e[i] = q_d[i] - q[i]
        if turns[i]:
            e[i] -= 2.0 * np.pi * np.round(e[i] / (2.0 * np.pi))
        e_dot[i] = v_d[i] - v[i]
        s[i] = e_dot[i] + rates[i] * e[i]
        v_r[i] = v_d[i] + rates[i] * e[i]
        a_r[i] = a_d[i] + rates[i] * e_dot[i]
        if not np.isfinite(s[i] + a_r[i]):
            return i
    return -1


@kernel('f8(f8[:, ::1], f8[::1], f8, f8, f8[::1], f8[::1], f8[::1])')
def apply_gains(mass_matrix, rotors, bandwidth, stiffness, s, e, effort):
    """Add the rotors to M, write omega_D M s + K_P e, and return the largest entry of s."""
    largest = 0.0
    for i in range(s.size):
        mass_matrix[i, i] += rotors[i]
        total = 0.0
        for j in range(s.size):
            total += mass_matrix[i, j] * s[j]
        effort[i] = bandwidth * total + stiffness * e[i]
        largest = max(largest, abs(s[i]))
    return largest
