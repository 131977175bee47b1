# SPDX-License-Identifier: Apache-2.0
"""Residuals of measured motion and effort: of the momentum, and of the torque."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.control.checks import each_joint, positive
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.dynamics.kernels.loading import kernel
from robot_dynamics.errors import ParameterError
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import Robot

#: K_O: rate of the residuals. Their noise grows with it, and is averaged by the detector. 1/s.
GAIN = 100.0
#: Speed below which the Coulomb friction of the model fades out. It is low, because the residual
#: tolerates a chattering sign, but not the missing friction of a reversing joint. rad/s or m/s.
COULOMB_VELOCITY = 0.01
#: Speed above which a joint counts as moving. rad/s or m/s.
MOVING = 0.05
#: Time for which it must have moved, because the residual of a reversal decays slowly. s.
SINCE = 0.06


class MomentumObserver:
    r"""Residual of the generalised momentum p = (M(q) + I_r) v: external efforts.

    .. math::

        r = K_O \left( p(t) - \int_0^t (\tau + C^T v - g - \tau_{friction} + r) \, ds - p(0)
            \right), \qquad \dot r = K_O (\tau_{ext} - r)

    with M a + C v + g + friction = tau + tau_ext: r follows the external efforts through a
    low-pass for each joint, without accelerations. An actuator fault tau_f at joint i, tau_ext =
    -tau_f, appears in r_i only; a contact J^T F appears in all joints that carry the touched link.

    In discrete time C^T v - g - friction is the mean over both ends of an interval, and r its
    value at the end, so that the observer is stable for any gain::

        r_k = (r_{k-1} + K_O (p_k - p_{k-1} - T (tau + rest))) / (1 + K_O T)

    Parameters
    ----------
    robot : Robot
        The arm, with damping, friction and armature as described.
    dynamics : Dynamics
        Its equations.
    gain : array_like, scalar or shape (n,)
        K_O. 1/s.
    coulomb_velocity : float
        Speed below which the Coulomb friction of the model fades out. rad/s or m/s.

    Attributes
    ----------
    dynamics : Dynamics
        The equations in use.
    gain : ndarray, shape (n,)
        K_O. 1/s.
    residual : ndarray, shape (n,)
        r. N m or N.
    joint_residual : ndarray, shape (3, n)
        Residuals of an unknown viscous friction of 1 N m s/rad, of an unknown Coulomb friction of
        1 N m, and of an unknown armature of 1 kg m^2.
    matrices : tuple of ndarray
        M, C and g at the last state.

    References
    ----------
    A. De Luca and R. Mattone, "Actuator failure detection and isolation using generalized
    momenta", ICRA 2003, with the residual -r; A. De Luca, Robotics 2, July 12, 2021, Exercise 2,
    for tau_f.

    Examples
    --------
    >>> import numpy as np
    >>> from robot_dynamics import Dynamics, Robot
    >>> robot = Robot.from_urdf('planar_2r')
    >>> dynamics, q, rest = Dynamics(robot), np.array([0.3, 0.4]), np.zeros(2)
    >>> observer, gravity = MomentumObserver(robot, dynamics), dynamics.gravity_torque(q)
    >>> for _ in range(500):  # 1 N m beside gravity, and yet the arm rests
    ...     residual = observer.update(q, rest, gravity + [1.0, 0.0], 0.002)
    >>> bool(np.allclose(residual, [-1.0, 0.0]))
    True
    """

    def __init__(self, robot: Robot, dynamics: Dynamics, *, gain: ArrayLike = GAIN,
                 coulomb_velocity: float = COULOMB_VELOCITY):
        robot.require_single_coordinates('the momentum observer')
        self.dynamics = dynamics
        self.gain = each_joint('observer gain', gain, robot.n)
        if not np.all((self.gain > 0.0) & np.isfinite(self.gain)):
            raise ParameterError('must be positive', subject='observer gain',
                                 remedy='give rates in 1/s')
        epsilon = positive('coulomb_velocity', coulomb_velocity, 'rad/s')
        self._robot, self._epsilon = robot, epsilon
        self._observe = observe.load()
        self.correct_joints(np.zeros((3, robot.n)))
        self._memory = np.zeros((4, robot.n))
        self._has_begun = self._has_changed = False
        self.residual = np.zeros(robot.n)
        self.matrices = (np.zeros((robot.n, robot.n)), np.zeros((robot.n, robot.n)),
                         np.zeros(robot.n))
        self.joint_residual = np.zeros((3, robot.n))

    def correct_joints(self, more: ArrayLike) -> None:
        """Add friction and armature to the description; each sum is at least zero.

        Parameters
        ----------
        more : array_like, shape (3, n)
            Viscous friction (N m s/rad or N s/m), Coulomb friction (N m or N) and armature (kg m^2
            or kg) beyond the description.
        """
        damping, friction, armature = corrected_joints(self._robot, more)
        self._joints = np.stack([damping, friction, np.full_like(damping, self._epsilon),
                                 armature])

    def change_model(self, dynamics: Dynamics, change: FloatArray) -> None:
        """Go on with other equations, such as those with a load.

        Parameters
        ----------
        dynamics : Dynamics
            The equations from the next state on.
        change : ndarray, shape (n,)
            Effort that they explain beyond the present ones. It leaves the residual. N m or N.
        """
        self.dynamics = dynamics
        self.residual -= change
        # The stored momentum is that of the present equations.
        self._has_changed = True

    def update(self, q: FloatArray, v: FloatArray, effort: FloatArray, dt: float) -> FloatArray:
        """Residual after one more state, shape (n,), N m or N; a buffer of this object.

        Parameters
        ----------
        q, v : ndarray, shape (n,)
            Measured state.
        effort : ndarray, shape (n,)
            Effort on the joints since the last state, as commanded or as reported by the drives.
            The observer starts over if it is nan.
        dt : float
            Time since the last state. 0, for the first state or after a gap, starts over. A
            negative value, for missed states with unknown efforts, keeps the residual. s.
        """
        self.matrices = M, C, g = self.dynamics.matrices(q, v)
        is_sound = bool(np.isfinite(effort).all() and np.isfinite(g).all()
                        and np.isfinite(v).all())
        if not is_sound:
            self.reset()
            return self.residual
        if not self._has_begun:
            dt = 0.0
        elif self._has_changed:
            dt = -1.0
        self._observe(M, C, g, self._joints, self.gain, v, effort, dt, self._memory,
                      self.residual, self.joint_residual)
        self._has_begun, self._has_changed = True, False
        return self.residual

    def reset(self) -> None:
        """Start over with the next state."""
        self._has_begun = False
        self.residual[:] = 0.0
        self.joint_residual[:] = 0.0


class TorqueTerms:
    r"""Parts of the joint efforts of a motion given by positions and velocities.

    .. math::

        \tau = \underbrace{(M(q) + I_r) a}_{inertial} + \underbrace{C(q, v) v}_{coriolis}
               + g(q) + \underbrace{D v + F \tanh(v / \epsilon)}_{friction}

    The acceleration a is the difference of velocities after a first-order low-pass, which delays
    it. For the residual, the measured effort minus the other parts passes the same low-pass::

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
        Effort that the model does not explain, nan without measured effort. N m or N.

    Examples
    --------
    >>> import numpy as np
    >>> from robot_dynamics import Dynamics, Robot
    >>> robot = Robot.from_urdf('planar_2r')
    >>> dynamics, q, rest = Dynamics(robot), np.array([0.3, 0.4]), np.zeros(2)
    >>> terms = TorqueTerms(robot, dynamics)
    >>> terms.update(q, rest, dynamics.gravity_torque(q), 0.0)
    >>> bool(np.allclose(terms.residual, 0.0))
    True
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
        """Update the parts by one state.

        Parameters
        ----------
        q, v, effort : ndarray, shape (n,)
            Measured position, velocity and effort (nan where not available).
        dt : float
            Time since the last state; 0 for the first or after a gap, which resets the filter. s.
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
            # A single missing effort must not remain in the filter.
            np.copyto(self._rest, rest, where=~np.isfinite(self._rest))
        else:
            self.acceleration[:] = 0.0
            self._rest[:] = rest
        self._v_before = v.copy()
        self.inertial = mass @ self.acceleration
        self.torque = self.gravity + self.coriolis + self.inertial + self.friction
        self.residual = self._rest - self.inertial


def corrected_joints(robot: Robot, more: ArrayLike) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Viscous and Coulomb friction, and armature beyond the description, each of shape (n,).

    `more`, shape (3, n), is to be added to the description; sums are at least zero.
    """
    viscous, coulomb, armature = np.asarray(more, dtype=np.float64)
    return (np.maximum(robot.damping + viscous, 0.0), np.maximum(robot.friction + coulomb, 0.0),
            np.maximum(armature, -robot.armature))


@kernel('void(f8[:, ::1], f8[:, ::1], f8[::1], f8[:, ::1], f8[::1], f8[::1], f8[::1], f8, '
        'f8[:, ::1], f8[::1], f8[:, ::1])')
def observe(M, C, g, joints, gain, v, effort, dt, memory, r, of_joints):
    """Advance the residual r (n,) by one state; dt = 0 starts over, dt < 0 keeps it.

    `joints` has damping, Coulomb friction and its velocity, and armature beyond M; `memory`
    momentum, rest, velocity and direction of motion of the last state; `of_joints` are the
    residuals of one unit of viscous friction, Coulomb friction and armature.
    """
    n = v.size
    for i in range(n):
        direction = math.tanh(v[i] / joints[2, i])
        momentum = joints[3, i] * v[i]
        rest = -g[i] - joints[0, i] * v[i] - joints[1, i] * direction
        for j in range(n):
            momentum += M[i, j] * v[j]
            rest += C[j, i] * v[j]
        if dt > 0.0:
            share = 1.0 / (1.0 + gain[i] * dt)
            change = momentum - memory[0, i] - dt * (effort[i] + 0.5 * (rest + memory[1, i]))
            r[i] = share * (r[i] + gain[i] * change)
            half = 0.5 * gain[i] * dt
            of_joints[0, i] = share * (of_joints[0, i] - half * (v[i] + memory[2, i]))
            of_joints[1, i] = share * (of_joints[1, i] - half * (direction + memory[3, i]))
            of_joints[2, i] = share * (of_joints[2, i] - gain[i] * (v[i] - memory[2, i]))
        elif dt == 0.0:
            r[i] = of_joints[0, i] = of_joints[1, i] = of_joints[2, i] = 0.0
        memory[0, i], memory[1, i] = momentum, rest
        memory[2, i], memory[3, i] = v[i], direction
