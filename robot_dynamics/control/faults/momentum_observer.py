# SPDX-License-Identifier: Apache-2.0
"""``MomentumObserver``: efforts on the joints that nobody commanded, without accelerations."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.control.checks import each_joint, positive
from robot_dynamics.control.faults import momentum_kernel
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import ParameterError
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import Robot

#: K_O: residuals follow with this rate. Noise grows with it, and what judges the residual
#: averages it away again. 1/s.
GAIN = 100.0
#: Speed below which the Coulomb friction of the model fades out. Low: a residual bears a sign
#: that chatters, but not a friction that is missing where a joint turns round. rad/s or m/s.
COULOMB_VELOCITY = 0.01


class MomentumObserver:
    r"""The residual of the generalised momentum p = (M(q) + I_r) v.

    .. math::

        r = K_O \left( p(t) - \int_0^t (\tau + C^T v - g - \tau_{friction} + r) \, ds - p(0)
            \right), \qquad \dot r = K_O (\tau_{ext} - r)

    with M a + C v + g + friction = tau + tau_ext: r follows, through a low-pass a joint, the
    efforts that come from elsewhere. An actuator fault tau_f at joint i, tau_ext = -tau_f,
    shows in r_i alone; a contact J^T F in all joints that carry the link touched.

    In discrete time C^T v - g - friction is the mean of both ends of an interval, and r that
    of its end, so that no gain makes it unstable::

        r_k = (r_{k-1} + K_O (p_k - p_{k-1} - T (tau + rest))) / (1 + K_O T)

    A. De Luca, R. Mattone, "Actuator failure detection and isolation using generalized
    momenta", ICRA 2003, whose residual is -r; A. De Luca, Robotics 2, July 12, 2021,
    Exercise 2, for tau_f.

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
    residual : ndarray, shape (n,)
        r. N m or N.
    friction_residual : ndarray, shape (2, n)
        What r would be if there were nothing but a viscous friction of 1 N m s/rad, and a
        Coulomb friction of 1 N m, that the model does not know.
    matrices : tuple of ndarray
        M, C and g at the last state.
    """

    def __init__(self, robot: Robot, dynamics: Dynamics, *, gain: ArrayLike = GAIN,
                 coulomb_velocity: float = COULOMB_VELOCITY):
        robot.require_single_coordinates('the momentum observer')
        self._dynamics = dynamics
        self._gain = each_joint('observer gain', gain, robot.n)
        if not np.all((self._gain > 0.0) & np.isfinite(self._gain)):
            raise ParameterError('holds a value that is not a positive number',
                                 subject='observer gain', remedy='give rates in 1/s')
        epsilon = positive('coulomb_velocity', coulomb_velocity, 'rad/s')
        self._joints = np.stack([robot.damping, robot.friction, np.full(robot.n, epsilon),
                                 robot.armature])
        self._observe = momentum_kernel.observe.load()
        self._described = np.stack([robot.damping, robot.friction])
        self._memory = np.zeros((4, robot.n))
        self._has_begun = False
        self.residual = np.zeros(robot.n)
        self.matrices = (np.zeros((robot.n, robot.n)), np.zeros((robot.n, robot.n)),
                         np.zeros(robot.n))
        self.friction_residual = np.zeros((2, robot.n))

    def correct_friction(self, more: ArrayLike) -> None:
        """Take friction for larger than described; never for less than none.

        Parameters
        ----------
        more : array_like, shape (2, n)
            Viscous (N m s/rad or N s/m) and Coulomb friction (N m or N) beyond the
            description.
        """
        self._joints[:2] = np.maximum(self._described + more, 0.0)

    def update(self, q: FloatArray, v: FloatArray, effort: FloatArray, dt: float) -> FloatArray:
        """Take one state, and return the residual, a buffer, valid until the next call.

        Parameters
        ----------
        q, v : ndarray, shape (n,)
            Measured state.
        effort : ndarray, shape (n,)
            Effort that has acted on the joints since the last state, as commanded or as the
            drives report it. Without one (nan) it starts over.
        dt : float
            Time since the last state; 0 for the first, or after a gap: it starts over. Below 0
            where states were missed and nobody knows what has acted since: the residual stays
            as it is then. s.
        """
        self.matrices = M, C, g = self._dynamics.matrices(q, v)
        is_sound = bool(np.isfinite(effort).all() and np.isfinite(g).all()
                        and np.isfinite(v).all())
        if not is_sound:
            self.reset()
            return self.residual
        self._observe(M, C, g, self._joints, self._gain, v, effort,
                      dt if self._has_begun else 0.0, self._memory, self.residual,
                      self.friction_residual)
        self._has_begun = True
        return self.residual

    def reset(self) -> None:
        """Start over with the next state."""
        self._has_begun = False
        self.residual[:] = 0.0
        self.friction_residual[:] = 0.0
