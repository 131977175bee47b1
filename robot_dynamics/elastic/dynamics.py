# SPDX-License-Identifier: Apache-2.0
"""``ElasticDynamics``: the equations of motion of a robot with elastic joints."""

from __future__ import annotations

from functools import partial
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.dynamics.base_parameters import BaseParameters, base_parameters
from robot_dynamics.dynamics.caller import Samples, finished, gather
from robot_dynamics.dynamics.linearisation import LinearModel
from robot_dynamics.dynamics.packing import body_table
from robot_dynamics.elastic import rotors
from robot_dynamics.elastic.robot import ElasticRobot, ParameterOrder, places
from robot_dynamics.errors import ModelTypeError, ParameterError, StateError, shown
from robot_dynamics.model.arrays import FloatArray


class ElasticMatrices(NamedTuple):
    """Inertia matrix, Christoffel matrix and gravity; see `ElasticDynamics.matrices`."""

    B: FloatArray
    C: FloatArray
    g: FloatArray


class ElasticDerivatives(NamedTuple):
    """Derivatives of efforts by qbar, its velocity and its acceleration."""

    dtau_dq: FloatArray
    dtau_dv: FloatArray
    B: FloatArray


class ElasticDynamics:
    r"""Equations of motion of a robot with springs between motors and links.

    With qbar = (q, theta), links before motors, theta being angles of motors divided by
    their gear ratios (Zollo et al., "Identification of Dynamic Parameters for Robots with
    Elastic Joints", eqs. 2 and 13; eqs. 1, 4 and 25 corrected)::

        B(q) qbar'' + C(q, qbar') qbar' + f_v theta' + f_s sign(theta') + g(q) + K_e qbar
            = tau = Y(qbar, qbar', qbar'') Pi

    Friction acts on the motors only. tau = (J^T h_e, u): external efforts on the links, and
    efforts of the motors, k_m times the torque at the motor shaft. C is the Christoffel matrix:
    dB/dt - 2 C is skew-symmetric.

    Arguments are of shape (2 n,), or batches of shape (..., 2 n) with leading axes
    that broadcast. Angles are in rad, efforts in N m, for prismatic joints
    in m and N.

    Parameters
    ----------
    robot : ElasticRobot
        The robot.
    coulomb_velocity : float, default 0
        epsilon of a smooth sign tanh(theta' / epsilon); zero for the exact sign, which is 0 at
        rest. rad/s or m/s.

    Examples
    --------
    >>> from robot_dynamics import ElasticDynamics, ElasticRobot, Robot
    >>> robot = ElasticRobot.from_yaml('planar_2r', Robot.from_urdf('planar_2r'))
    >>> dynamics = ElasticDynamics(robot)
    >>> q, v, a = np.zeros(4), np.zeros(4), np.ones(4)
    >>> Y = dynamics.regressor(q, v, a)
    >>> np.allclose(Y @ robot.parameters(), dynamics.inverse_dynamics(q, v, a))
    True
    """

    def __init__(self, robot: ElasticRobot, *, coulomb_velocity: float = 0.0):
        if not isinstance(robot, ElasticRobot):
            raise ModelTypeError('must be an ElasticRobot', subject=shown(robot),
                                 remedy='make one from a Robot and ElasticJoints')
        if not (isinstance(coulomb_velocity, Real) and 0.0 <= coulomb_velocity < np.inf):
            raise ParameterError(f'must be zero or positive, got {shown(coulomb_velocity)}',
                                 subject='coulomb_velocity',
                                 remedy='give the speed below which Coulomb friction fades out')
        self.robot: ElasticRobot = robot
        self.n: int = robot.n
        self.links: Dynamics = Dynamics(robot.links, armature=False)
        joints = robot.joints
        self._epsilon: float = float(coulomb_velocity)
        self._model: FloatArray = body_table(robot.links)
        self._axes: FloatArray = np.array(robot.rotor_axes)
        self._ratio: FloatArray = np.array(joints.gear_ratio)
        self._spin_inertia: FloatArray = joints.gear_ratio * joints.rotor_inertia
        self._motor_inertia: FloatArray = joints.gear_ratio**2 * joints.rotor_inertia

    def __repr__(self) -> str:
        return f'<ElasticDynamics of {self.robot!r}>'

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(ElasticDynamics, coulomb_velocity=self._epsilon), (self.robot,)

    @property
    def stiffness_matrix(self) -> FloatArray:
        """K_e = [[K, -K], [-K, K]] (eq. 6), shape (2 n, 2 n)."""
        return _across_springs(self.robot.joints.stiffness)

    def matrices(self, q: ArrayLike, v: ArrayLike) -> ElasticMatrices:
        """Inertia matrix, Christoffel matrix and gravity at qbar and its velocity.

        B of eq. 7 and C of eq. 4 (with its missing factor 1/2), shape (..., 2 n, 2 n); g of
        eq. 12, shape (..., 2 n), zero for motors, N m or N.
        """
        samples = self._gather(q=q, v=v)
        return ElasticMatrices(*finished(samples, self._matrices(*samples.rows)))

    def inertia_matrix(self, q: ArrayLike) -> FloatArray:
        """B of eq. 7, shape (..., 2 n, 2 n), for qbar of shape (..., 2 n)."""
        return self.matrices(q, np.zeros(2 * self.n))[0]

    def gravity_torque(self, q: ArrayLike) -> FloatArray:
        """G of eq. 12, shape (..., 2 n), for qbar of shape (..., 2 n). N m or N."""
        samples = self._gather(q=q)
        g = np.zeros_like(samples.rows[0])
        g[:, :self.n] = self.links.gravity_torque(samples.rows[0][:, :self.n])
        return g.reshape(*samples.shape, 2 * self.n)

    def spring_torque(self, q: ArrayLike, v: ArrayLike) -> FloatArray:
        """K_e qbar and the damping across the springs, shape (..., 2 n). N m or N."""
        samples = self._gather(q=q, v=v)
        return self._springs(*samples.rows).reshape(*samples.shape, 2 * self.n)

    def friction_torque(self, v: ArrayLike) -> FloatArray:
        """f_v theta' + f_s sign(theta') of motors, zero of links, shape (..., 2 n)."""
        samples = self._gather(v=v)
        return self._friction(samples.rows[0]).reshape(*samples.shape, 2 * self.n)

    def inverse_dynamics(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> FloatArray:
        """Efforts tau = (J^T h_e, u) of a motion, friction and springs included, shape (..., 2 n).

        External efforts on links, and efforts of motors, at qbar, its velocity and acceleration. N
        m or N.
        """
        samples = self._gather(q=q, v=v, a=a)
        q, v, a = samples.rows
        tau = self._springs(q, v) + self._friction(v)
        tau += self._rotor_columns(q, v, v, a) @ self.robot.joints.rotor_inertia
        n = self.n
        tau[:, :n] += self.links.inverse_dynamics(q[:, :n], v[:, :n], a[:, :n])
        return tau.reshape(*samples.shape, 2 * n)

    def forward_dynamics(self, q: ArrayLike, v: ArrayLike, tau: ArrayLike) -> FloatArray:
        """Accelerations qbar'' under efforts (J^T h_e, u), shape (..., 2 n). rad/s^2 or m/s^2."""
        samples = self._gather(q=q, v=v, tau=tau)
        q, v, tau = samples.rows
        B = self._matrices(q, v)[0]
        rest = self.inverse_dynamics(q, v, np.zeros_like(q))
        return self._solve(B, tau - rest).reshape(*samples.shape, 2 * self.n)

    def regressor(self, q: ArrayLike, v: ArrayLike, a: ArrayLike,
                  order: ParameterOrder = 'paper') -> FloatArray:
        """Y(qbar, qbar', qbar'') with tau = Y Pi, eqs. 13 to 34 (25 corrected).

        Shape (..., 2 n, 14 n), links before motors; orders of Pi are those of
        `robot_dynamics.elastic.robot`. Damping across the springs is not in Pi.
        """
        return self.slotine_li_regressor(q, v, v, a, order)

    def slotine_li_regressor(self, q: ArrayLike, v: ArrayLike, v_r: ArrayLike, a_r: ArrayLike,
                             order: ParameterOrder = 'paper') -> FloatArray:
        """Yr with B a_r + C v_r + f_v theta_r' + f_s sign(theta_r') + g + K_e qbar = Yr Pi.

        Shape (..., 2 n, 14 n), links before motors, at qbar, its velocity, and reference
        velocities and accelerations; orders of Pi as in `regressor`.
        """
        samples = self._gather(q=q, v=v, v_r=v_r, a_r=a_r)
        q, v, v_r, a_r = samples.rows
        n = self.n
        Y = np.zeros((len(q), 2 * n, 14 * n))
        Y[:, :n, :10 * n] = self.links.slotine_li_regressor(q[:, :n], v[:, :n], v_r[:, :n],
                                                            a_r[:, :n])
        Y[:, :, 10 * n:11 * n] = self._rotor_columns(q, v, v_r, a_r)
        joint = np.arange(n)
        Y[:, n + joint, 11 * n + joint] = self._sign(v_r[:, n:])
        Y[:, n + joint, 12 * n + joint] = v_r[:, n:]
        Y[:, joint, 13 * n + joint] = q[:, :n] - q[:, n:]
        Y[:, n + joint, 13 * n + joint] = q[:, n:] - q[:, :n]
        if order != 'bodies':
            Y = Y[:, :, places(n, order)]
        return Y.reshape(*samples.shape, 2 * n, 14 * n)

    def inverse_dynamics_derivatives(self, q: ArrayLike, v: ArrayLike, a: ArrayLike,
                                     ) -> ElasticDerivatives:
        """Derivatives of `inverse_dynamics` by qbar, its velocity and its acceleration (B).

        d tau_i / d q_h and so on, shape (..., 2 n, 2 n). The step of Coulomb friction at rest has
        no derivative and is left out.
        """
        samples = self._gather(q=q, v=v, a=a)
        return ElasticDerivatives(*finished(samples, self._derivatives(*samples.rows)))

    def linearise(self, q: ArrayLike, v: ArrayLike, tau: ArrayLike) -> LinearModel:
        """Linear model of small deviations x = (dqbar, dqbar') under u = dtau.

        A of shape (..., 4 n, 4 n) and B of shape (..., 4 n, 2 n), at qbar, its velocity and
        efforts.
        """
        samples = self._gather(q=q, v=v, tau=tau)
        q, v, tau = samples.rows
        a = self.forward_dynamics(q, v, tau)
        dq, dv, B = self._derivatives(q, v, a)
        size = 2 * self.n
        both = self._solve(B, np.concatenate(
            [-dq, -dv, np.broadcast_to(np.eye(size), dq.shape)], axis=2))
        both = both.reshape(*samples.shape, size, 3 * size)
        return LinearModel.of(np.zeros((*samples.shape, size, size)), both[..., :size],
                              both[..., size:2 * size], both[..., 2 * size:])

    def energy(self, q: ArrayLike, v: ArrayLike) -> FloatArray:
        """Kinetic, gravitational and elastic energy T + U_g + U_e (eq. 1), shape (...). J.

        U_e is 1/2 sum K (q - theta)^2 (the factor is missing in the paper); U_g is zero if the
        centre of mass is at the origin.
        """
        samples = self._gather(q=q, v=v)
        q, v = samples.rows
        n, links = self.n, self.robot.links
        B = self._matrices(q, v)[0]
        kinetic = 0.5 * np.einsum('si,sij,sj->s', v, B, v)
        mass = links.inertial_parameters[:, 0].sum()
        centre = self.links.com_position(q[:, :n]) if mass > 0.0 else np.zeros((len(q), 3))
        elastic = 0.5 * (q[:, :n] - q[:, n:])**2 @ self.robot.joints.stiffness
        return (kinetic - mass * centre @ links.gravity + elastic).reshape(samples.shape)

    def _gather(self, **arguments: ArrayLike) -> Samples:
        size = 2 * self.n
        counted = f'a value for each of the {self.n} links, then one for each of the motors'
        return gather({name: (value, size, counted) for name, value in arguments.items()})

    def _matrices(self, q: FloatArray, v: FloatArray
                  ) -> tuple[FloatArray, FloatArray, FloatArray]:
        n, count = self.n, len(q)
        B, C = np.zeros((count, 2 * n, 2 * n)), np.zeros((count, 2 * n, 2 * n))
        g = np.zeros((count, 2 * n))
        B[:, :n, :n], C[:, :n, :n], g[:, :n] = self.links.matrices(q[:, :n], v[:, :n])
        motor = np.arange(n, 2 * n)
        B[:, motor, motor] = self._motor_inertia
        if self.robot.is_coupled:
            rotors.add_rotor_matrices.load()(self._model, self._axes, self._spin_inertia, q, v,
                                             B, C)
        return B, C, g

    def _rotor_columns(self, q: FloatArray, v: FloatArray, v_r: FloatArray, a_r: FloatArray
                       ) -> FloatArray:
        """Columns of Upsilon, shape (N, 2 n, n)."""
        n = self.n
        Y = np.zeros((len(q), 2 * n, n))
        if self.robot.is_coupled:
            rotors.rotor_columns.load()(self._model, self._axes, self._ratio, q, v, v_r, a_r, Y)
        else:
            joint = np.arange(n)
            Y[:, n + joint, joint] = self._ratio**2 * a_r[:, n:]
        return Y

    def _derivatives(self, q: FloatArray, v: FloatArray, a: FloatArray
                     ) -> tuple[FloatArray, FloatArray, FloatArray]:
        n, joints = self.n, self.robot.joints
        dq = np.tile(self.stiffness_matrix, (len(q), 1, 1))
        dv = np.tile(_across_springs(joints.spring_damping), (len(q), 1, 1))
        by_links = self.links.inverse_dynamics_derivatives(q[:, :n], v[:, :n], a[:, :n])
        dq[:, :n, :n] += by_links[0]
        dv[:, :n, :n] += by_links[1]
        motor = np.arange(n, 2 * n)
        dv[:, motor, motor] += joints.viscous + joints.coulomb * self._slope(v[:, n:])
        if self.robot.is_coupled:
            rotors.add_rotor_derivatives.load()(self._model, self._axes, self._spin_inertia, q, v,
                                                a, dq, dv)
        return dq, dv, self._matrices(q, v)[0]

    def _springs(self, q: FloatArray, v: FloatArray) -> FloatArray:
        n, joints = self.n, self.robot.joints
        across = (joints.stiffness * (q[:, :n] - q[:, n:])
                  + joints.spring_damping * (v[:, :n] - v[:, n:]))
        return np.concatenate([across, -across], axis=1)

    def _friction(self, v: FloatArray) -> FloatArray:
        n, joints = self.n, self.robot.joints
        friction = np.zeros_like(v)
        friction[:, n:] = joints.viscous * v[:, n:] + joints.coulomb * self._sign(v[:, n:])
        return friction

    def _sign(self, v: FloatArray) -> FloatArray:
        return np.tanh(v / self._epsilon) if self._epsilon > 0.0 else np.sign(v)

    def _slope(self, v: FloatArray) -> FloatArray:
        """Derivative of `_sign`."""
        if self._epsilon == 0.0:
            return np.zeros_like(v)
        return (1.0 - np.tanh(v / self._epsilon)**2) / self._epsilon

    def _solve(self, B: FloatArray, right: FloatArray) -> FloatArray:
        """B^-1 times vectors or matrices; raises an error if B is not positive definite."""
        try:
            np.linalg.cholesky(B)
        except np.linalg.LinAlgError:
            raise StateError('has an inertia matrix that is not positive definite',
                             subject=self.robot.links.name,
                             remedy='give each body a mass and inertia that include the rotors '
                                    'it carries (robot_dynamics.elastic.with_motors), and finite '
                                    'coordinates') from None
        columns = right[..., None] if right.ndim == 2 else right
        solved: FloatArray = np.linalg.solve(B, columns).astype(np.float64)
        return solved[..., 0] if right.ndim == 2 else solved


def _across_springs(values: FloatArray) -> FloatArray:
    """[[D, -D], [-D, D]] of a diagonal D."""
    D = np.diag(values)
    return np.block([[D, -D], [-D, D]])


#: Number of regressor rows per column.
_ROWS_PER_COLUMN = 5


def elastic_base_parameters(dynamics: ElasticDynamics, order: ParameterOrder = 'paper', *,
                            seed: int = 0) -> BaseParameters:
    """Base parameters of a robot with measured links and motors.

    As in eqs. 39 to 41 of Zollo et al.: a parameter has no effect, is identifiable in combination
    with others, or is identifiable alone.

    Parameters
    ----------
    dynamics : ElasticDynamics
        Equations of the robot.
    order : {'paper', 'tables', 'bodies'}
        Order of the columns; of dependent columns the first ones are kept.
    seed : int
        Seed of the motions.

    Examples
    --------
    >>> from robot_dynamics import ElasticDynamics, ElasticRobot, Robot
    >>> from robot_dynamics.elastic import elastic_base_parameters
    >>> robot = ElasticRobot.from_yaml('planar_2r', Robot.from_urdf('planar_2r'))
    >>> len(elastic_base_parameters(ElasticDynamics(robot)).independent)
    14
    """
    size = 2 * dynamics.n
    names = dynamics.robot.parameter_names(order)
    count = _ROWS_PER_COLUMN * len(names) // size + 1
    random = np.random.default_rng(seed)
    q = random.uniform(-np.pi, np.pi, (count, size))
    v, a = random.normal(size=(2, count, size))
    return base_parameters(dynamics.regressor(q, v, a, order).reshape(-1, len(names)), names,
                           method='gauss_jordan')
