# SPDX-License-Identifier: Apache-2.0
r"""Cartesian impedance: the end effector acts as a mass held at a desired pose by a spring.

.. math::

    \tau = g(q) + C(q, v) v_r + J^T (F_K + F_D + \Lambda (\ddot x_d - \dot J v_r))
           + N^T M u_0 + M u_l, \qquad v_r = \bar J \dot x_d

All vectors of six are in the axes of the base, at the origin of the link: force and moment,
velocity and angular velocity. :math:`\Lambda = (J M^{-1} J^T)^{-1}` is the inertia of the end
effector, which stays as it is; :math:`\bar J = M^{-1} J^T \Lambda`. The terms are:

==================  ============================================================================
:math:`F_K`         spring K, about the desired pose
:math:`F_D`         damper D, for the velocity relative to the desired one
:math:`\ddot x_d`   acceleration of the desired motion: no force without an error
:math:`u_0`         return to a posture in the null space, N = 1 - J-bar J, and its damping
:math:`u_l`         brake above the speed limits of the joints, and repulsion from their limits
==================  ============================================================================

*Orientation.* The error is the vector part epsilon of the quaternion (eta, epsilon) of the
rotation from the link to the desired pose. The spring is the gradient of 2 epsilon^T K epsilon
(Caccavale et al., section III): its moment is 2 (eta K epsilon - epsilon x K epsilon), for small
angles K times the rotation vector. It is largest at 90 degrees, the largest angle permitted.

*Damping.* K and Lambda are diagonalised together, K = Q diag(w_i^2) Q^T, Lambda = Q Q^T, and D = Q
diag(2 zeta w_i) Q^T (Albu-Schaeffer et al., eq. 30): every mode has the damping ratio zeta.

*Passivity.* At a resting desired pose, M dv/dt + (C + J^T D J) v + dU/dq = tau_ext, with U the
energy of the spring: the power of what pushes the arm is stored or dissipated. C v is therefore
not compensated, only C v_r.

*Sampling.* A loop with dead time keeps a mode only up to some rate R. The damping of a mode is cut
at R, and the stiffness of one that is too light at 0.6 R^2 times its inertia. `softened` is the
smallest remaining share: K is exact while it is 1.

*Singularities.* No inverse of J is used. In a direction in which the arm appears much heavier than
it is, Lambda fades to zero. The lost direction becomes a part of the null space, and is damped.

*Limits.* Force and moment of the spring are cut, and the desired pose follows an arm that is held
back or pushed away: no larger force is stored. Above the speed limit the end effector is braked at
the rate R. What is faster than 1.5 times the limit counts as that: a wrong speed causes no large
force.

References
----------
A. Albu-Schaeffer, C. Ott, U. Frese and G. Hirzinger, "Cartesian impedance control of redundant
robots: recent results with the DLR-light-weight-arms", IEEE ICRA, 2003.

F. Caccavale, C. Natale, B. Siciliano and L. Villani, "Six-DOF impedance control based on
angle/axis representations", IEEE Transactions on Robotics and Automation 15(2), 1999.

O. Khatib, "A unified approach for motion and force control of robot manipulators: the operational
space formulation", IEEE Journal on Robotics and Automation 3(1), 1987: Lambda, and J-bar.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from robot_dynamics.control.checks import check_fields, not_negative, positive
from robot_dynamics.control.feedback.gains import (
    FEEDBACK_MARGIN,
    LATE_MARGIN,
    FeedbackGains,
    dead_time,
)
from robot_dynamics.control.feedback.linear_feedback import JointGains
from robot_dynamics.control.feedback.typical_motions import typical_motions
from robot_dynamics.control.laws.guiding import guide
from robot_dynamics.control.laws.impedance import (
    Impedance,
    SpringDamper,
    find_inertia,
    find_wrench,
)
from robot_dynamics.control.laws.model_based import ModelController
from robot_dynamics.control.motion.pose_setpoint import PoseSetpoint, SetpointLimits
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.dynamics.kernels.solve import SOLVED
from robot_dynamics.errors import ControlError, InertiaError, ParameterError, StateError
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import Robot

#: Largest R, also where the dead time permits more: the loop bears some delay beyond it. 1/s.
LARGEST_RATE = 100.0
#: Share of the reach at which the true mass has the true inertia of rotations.
GYRATION_SHARE = 0.25
#: Distance from a limit at which repulsion begins, rad or m, and as a share of the range.
LIMIT_MARGIN, MARGIN_SHARE = 0.1, 0.05
#: Rate at which a joint may approach a limit. 1/s.
LIMIT_RATE = 20.0
#: Largest speed of the end effector that counts, over its limit.
COUNTED_SPEED = 1.5
#: Largest speed at which the posture is restored, rad/s or m/s, and half the least rate at which
#: motion of the null space is damped, 1/s.
POSTURE_SPEED, POSTURE_DAMPING = 0.5, 2.0


@dataclass(frozen=True)
class ImpedanceSettings:
    """Settings of Cartesian impedance control.

    Parameters
    ----------
    impedance : Impedance
        Spring and damper; they can be changed later.
    posture : sequence of float, length n or 0
        Posture of the null space; none for that in which control begins. rad or m.
    posture_rate : float
        Frequency at which the null space returns to it, its stiffness over its inertia; 0 for
        damping alone. rad/s.
    largest_force, largest_moment : float
        Largest force and moment of the spring. N, N m.
    limits : SetpointLimits
        Limits of the desired motion. Above its speeds the end effector is braked.
    blend_time : float
        Time in which a change of spring and damper is complete. s.

    Examples
    --------
    >>> ImpedanceSettings(largest_force=40.0).impedance.damping_ratio
    1.0
    """

    impedance: Impedance = field(default_factory=Impedance)
    posture: Sequence[float] = ()
    posture_rate: float = 4.0
    largest_force: float = 80.0
    largest_moment: float = 15.0
    limits: SetpointLimits = field(default_factory=SetpointLimits)
    blend_time: float = 0.5

    def __post_init__(self) -> None:
        check_fields(self, positive, largest_force='N', largest_moment='N m', blend_time='s')
        check_fields(self, not_negative, posture_rate='rad/s')


class CartesianImpedanceController(ModelController):
    """Cartesian impedance of a link or frame; desired joint motions are ignored.

    Implements `robot_dynamics.control.feedback.protocol.TrackingController`. Goals are given to
    `setpoint`; a pose is held until the first.

    Parameters
    ----------
    robot, feedback, period, delay, dynamics
        As for `ModelController`. The feedback holds the arm before control begins, and in a stop.
    settings : ImpedanceSettings, optional
        Impedance, posture and limits.
    link : str
        Link or frame that is controlled; by default `Robot.last_frame`.

    Attributes
    ----------
    setpoint : PoseSetpoint
        The desired pose.
    pose : ndarray, shape (4, 4)
        Pose of the link at the last update.
    wrench : ndarray, shape (6,)
        Force and moment of spring and damper on the link then, base axes. N, N m.
    softened : float
        Smallest share of its stiffness that a mode has, see this module.

    Examples
    --------
    >>> import numpy as np
    >>> from robot_dynamics import Dynamics, Robot
    >>> robot = Robot.from_urdf('arm7')
    >>> controller, still = CartesianImpedanceController(robot), np.zeros(7)
    >>> q = np.array([0.0, 0.4, 0.0, -1.5, 0.0, 1.6, 0.0])
    >>> controller.reset(q, still)
    >>> tau = controller.update(q, still, q, still, still, 0.002, adapt=False)
    >>> bool(np.allclose(tau, Dynamics(robot).gravity_torque(q)))
    True
    """

    _user = 'Cartesian impedance'

    def __init__(self, robot: Robot, *, settings: ImpedanceSettings | None = None,
                 link: str = '', feedback: FeedbackGains | JointGains | None = None,
                 period: float = 0.002, delay: float = 0.001, dynamics: Dynamics | None = None):
        super().__init__(robot, feedback=feedback, period=period, delay=delay, dynamics=dynamics)
        n = robot.n
        self.settings = ImpedanceSettings() if settings is None else settings
        self.link = link or robot.last_frame
        #: R.
        self.rate = min(FEEDBACK_MARGIN / dead_time(period, delay), LARGEST_RATE)
        self.longest_delay = LATE_MARGIN / max(self.rate, self.damping_rate)
        posture = np.array(self.settings.posture, dtype=np.float64)
        if posture.size not in (0, n):
            raise ParameterError(f'must have {n} values or none, got {posture.size}',
                                 subject='posture', remedy='give one for each of: '
                                 + ', '.join(robot.joint_names))
        self._given_posture = posture if posture.size else None
        self.posture = np.zeros(n)
        self._scale = _scale_of(self.model.empty, self.link)
        self.setpoint = PoseSetpoint(self.settings.limits)
        self._impedance = SpringDamper(self.settings.impedance)
        limits = robot.limits
        with np.errstate(invalid='ignore'):
            margin = np.fmin(LIMIT_MARGIN, MARGIN_SHARE * (limits.upper - limits.lower))
        #: Lowest and highest positions with and without margin, and speeds.
        self._inner = np.stack([limits.lower + margin, limits.upper - margin])
        self._range = np.stack([*self._inner, np.nan_to_num(limits.velocity, nan=np.inf)])
        self._turns = np.array(robot.is_continuous)
        self._guide, self._find_inertia = guide.load(), find_inertia.load()
        self._find_wrench = find_wrench.load()
        self._unused, self._u = np.zeros(n), np.zeros(n)
        self._response, self._mobility = np.zeros((n, 6)), np.zeros((6, 6))
        self._inertia, self._shares = np.zeros((6, 6)), np.ones(2)
        self._largest = np.array([self.settings.largest_force, self.settings.largest_moment])
        self.pose, self.wrench, self.softened = np.eye(4), np.zeros(6), 1.0
        self._held: FloatArray | None = None
        self.reset(self._still, self._still)

    def adjust(self, impedance: Impedance) -> None:
        """Change spring and damper from now on, within the time `blend_time`."""
        self.settings = replace(self.settings, impedance=impedance)
        self._impedance.change_to(impedance, self.settings.blend_time)

    def holding_effort(self, q: FloatArray, v: FloatArray, q_hold: FloatArray) -> FloatArray:
        """Feedback to rest at a pose plus gravity, shape (n,), N m or N."""
        self._held = np.array(q_hold)
        return super().holding_effort(q, v, q_hold)

    def reset(self, q: FloatArray, v: FloatArray) -> None:
        """Begin at the last held pose, without a goal."""
        held, self._held = self._held, None
        begin = q if held is None else held
        self.setpoint.begin(self.model.empty.forward_kinematics(begin, self.link))
        self.posture[:] = begin if self._given_posture is None else self._given_posture
        # An arm that begins near a limit is not pushed.
        np.fmin(self._inner[0], q, out=self._range[0])
        np.fmax(self._inner[1], q, out=self._range[1])

    def update(self, q: FloatArray, v: FloatArray, q_d: FloatArray, v_d: FloatArray,
               a_d: FloatArray, dt: float, *, adapt: bool) -> FloatArray:
        """Effort for this state, shape (n,), N m or N; the desired joint motion is ignored.

        Raises
        ------
        ControlError
            If a joint moves at more than twice its speed limit; names it.
        StateError
            If the state is not finite.
        """
        setpoint, dynamics = self.setpoint, self.model.empty
        # For kernels, which take no read-only, strided or other arrays.
        q, v = np.array(q, dtype=np.float64), np.array(v, dtype=np.float64)
        self._keep_limits(q, v)
        setpoint.advance(dt)
        self._impedance.advance(dt)
        M, C, gravity = self.model.matrices(q, v)
        J = dynamics.jacobian(q, self.link)
        response, inertia = self._response, self._inertia
        bad = self._find_inertia(M, J, self._scale, response, self._mobility, inertia)
        if bad != SOLVED:
            raise InertiaError('moves no mass in the model', subject=self.robot.joint_names[bad],
                               remedy='add <inertial> to the links it moves')
        self.pose = dynamics.forward_kinematics(q, self.link)
        velocity = self._cut(J @ v, COUNTED_SPEED)
        # What the desired motion takes without an error.
        v_r = response @ (inertia @ setpoint.twist)
        bias = dynamics.jacobian_dot(q, v, self.link) @ v_r
        self.tau_model = gravity + C @ v_r + J.T @ (inertia @ (setpoint.acceleration - bias))
        self.softened = self._find_wrench(
            self._mobility, self._impedance.values, self.rate, self._largest, self.pose,
            setpoint.position, setpoint.quaternion, setpoint.twist - velocity, self.wrench,
            self._shares)
        if self._shares.min() < 1.0:
            setpoint.yield_to(self.pose, self._shares[0], self._shares[1])
        brake = self.rate * (velocity - self._cut(velocity, 1.0))
        u_0 = self._posture_acceleration(q, v)
        # J M^-1 (M u_0) = J u_0, so that N^T M u_0 needs no inverse.
        self.tau_feedback = M @ (u_0 + self._u) \
            + J.T @ (self.wrench - inertia @ (brake + J @ u_0))
        return np.add(self.tau_model, self.tau_feedback, out=self._tau)

    def _cut(self, velocity: FloatArray, times: float) -> FloatArray:
        """Velocity cut to some times the speed limits, shape (6,)."""
        cut = velocity.copy()
        for part, most in ((slice(0, 3), self.settings.limits.speed),
                           (slice(3, 6), self.settings.limits.turn_rate)):
            x, y, z = velocity[part].tolist()
            cut[part] *= min(1.0, times * most / max(math.sqrt(x * x + y * y + z * z), 1e-12))
        return cut

    def _posture_acceleration(self, q: FloatArray, v: FloatArray) -> FloatArray:
        """Acceleration of the critically damped return to the posture, shape (n,)."""
        rate = self.settings.posture_rate
        error = self.posture - q
        error -= np.where(self._turns, 2.0 * np.pi * np.round(error / (2.0 * np.pi)), 0.0)
        speed = np.clip(0.5 * rate * error, -POSTURE_SPEED, POSTURE_SPEED)
        return 2.0 * max(rate, POSTURE_DAMPING) * (speed - v)

    def _keep_limits(self, q: FloatArray, v: FloatArray) -> None:
        """Write u_l; raise an error for a joint that is far too fast or has no finite state."""
        bad = self._guide(q, v, 0.0, self._turns, self._range, self.rate, LIMIT_RATE, 0.0, 0.0,
                          self._unused, self._u)
        if bad < 0:
            return
        name = self.robot.joint_names[bad]
        if not np.isfinite(q[bad] + v[bad]):
            raise StateError('has a state that is not finite', subject=name,
                             remedy='pass only complete, finite states to a controller')
        raise ControlError(f'moves at {v[bad]:.3g}, more than twice its speed limit', subject=name,
                           remedy='soften the impedance, or lower its speed limits')


def _scale_of(dynamics: Dynamics, link: str) -> FloatArray:
    """Root of the true mass, and of its inertia at a quarter of the reach, shape (6,)."""
    robot = dynamics.robot
    origins = dynamics.forward_kinematics(typical_motions(robot).q, link)[:, :3, 3]
    reach = np.linalg.norm(origins - origins.mean(axis=0), axis=1).max()
    if robot.frames[link].body < 0:
        raise ParameterError('is fixed to the base', subject=link,
                             remedy='name a link or frame that moves')
    root = np.sqrt(robot.inertial_parameters[:, 0].sum())
    return np.repeat([root, 0.25 * reach * root], 3)
