# SPDX-License-Identifier: Apache-2.0
"""``ElasticPlant``: an arm with springs between motors and links."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.dynamics.packing import body_table
from robot_dynamics.elastic import motion
from robot_dynamics.elastic.dynamics import ElasticDynamics
from robot_dynamics.elastic.friction import StribeckFriction
from robot_dynamics.elastic.robot import ElasticRobot
from robot_dynamics.errors import DimensionError, SimulationError
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.simulation.faults import Fault
from robot_dynamics.simulation.plant import EffortDriven, no_mass, require_positive


class ElasticPlant(EffortDriven):
    """A robot with elastic joints, driven by the efforts of its motors.

    An effort acts until another one is set; it is cut at the effort limits of the robot. The
    equations of motion are integrated by the classical Runge-Kutta method with a fixed step.

    Parameters
    ----------
    robot : ElasticRobot
        The true robot.
    timestep : float
        Step of the integration. s. The springs require a short step: the error of the planar robot
        of Zollo et al. is 3e-6 rad at 1 ms and 2e-7 rad at 0.5 ms.
    friction : StribeckFriction, optional
        Friction of the motors; by default that of the robot's joints.
    smooth : float, optional
        Speed below which Coulomb friction fades out. By default the smallest one for the step, at
        which friction alone stops the motor in one step. rad/s or m/s.
    effort_gain : float or array_like, shape (n,)
        True effort per effort commanded.

    Raises
    ------
    SimulationError
        If the robot cannot be simulated.

    See Also
    --------
    robot_dynamics.simulation.Plant : with rigid joints.

    Examples
    --------
    >>> from robot_dynamics import Robot
    >>> from robot_dynamics.elastic.robot import ElasticRobot
    >>> from robot_dynamics.model.shipped import resolve_robot
    >>> from robot_dynamics.simulation import ElasticPlant
    >>> links = Robot.from_urdf(resolve_robot('planar_2r'))
    >>> plant = ElasticPlant(ElasticRobot.from_yaml('planar_2r', links))
    >>> plant.reset([0.5, 0.5])
    >>> plant.advance(0.01)
    20
    >>> bool(abs(plant.motor_q - plant.q).max() < 0.1)
    True
    """

    def __init__(self, robot: ElasticRobot, *, timestep: float = 0.0005,
                 friction: StribeckFriction | None = None, smooth: float | None = None,
                 effort_gain: ArrayLike = 1.0):
        if smooth is not None:
            require_positive('smooth', smooth)
        super().__init__(robot.links, timestep, effort_gain)
        self.elastic = robot
        joints, n = robot.joints, robot.n
        self._friction = StribeckFriction.of(joints) if friction is None else friction
        coefficients = self._friction.coefficients
        if len(coefficients) not in (1, n):
            raise DimensionError(f'must be of 1 or {n} joints, got {len(coefficients)}',
                                 subject='friction', remedy='give it for each of: '
                                 + ', '.join(self.robot.joint_names))
        self._dynamics = ElasticDynamics(robot)
        coefficients = np.broadcast_to(coefficients, (n, 6)).copy()
        self._smooth = self._followed_speed(coefficients) if smooth is None else float(smooth)
        self._constants = (
            body_table(self.robot), np.array(robot.rotor_axes if robot.is_coupled
                                       else np.empty((0, 3))),
            joints.gear_ratio * joints.rotor_inertia,
            joints.gear_ratio**2 * joints.rotor_inertia,
            np.stack([joints.stiffness, joints.spring_damping]),
            coefficients, self._smooth)
        self._q, self._v = np.zeros(2 * n), np.zeros(2 * n)
        self._tau = np.zeros(2 * n)
        self.reset(self._resting())

    @property
    def q(self) -> FloatArray:
        """Positions of the links, shape (n,), a copy. rad or m."""
        return self._q[:self.elastic.n].copy()

    @property
    def v(self) -> FloatArray:
        """Velocities of the links, shape (n,), a copy. rad/s or m/s."""
        return self._v[:self.elastic.n].copy()

    @property
    def motor_q(self) -> FloatArray:
        """Angles theta of the motors over their gear ratios, shape (n,), a copy. rad or m."""
        return self._q[self.elastic.n:].copy()

    @property
    def motor_v(self) -> FloatArray:
        """Velocities theta' of the motors, shape (n,), a copy. rad/s or m/s."""
        return self._v[self.elastic.n:].copy()

    @property
    def spring_effort(self) -> FloatArray:
        """Effort of the springs on the links, as sensors behind gears measure it, shape (n,)."""
        return -self._dynamics.spring_torque(self._q, self._v)[:self.elastic.n]

    @property
    def acceleration(self) -> FloatArray:
        """Accelerations of links and motors at this state and effort, shape (2 n,)."""
        forward = self._dynamics.forward_dynamics
        n = self.elastic.n
        # The simulated friction instead of that of the robot.
        friction = self._dynamics.friction_torque(self._v)
        friction[n:] -= self._friction.torque(self._v[n:], self._smooth)
        return forward(self._q, self._v, self._tau + friction)

    @property
    def energy(self) -> float:
        """Kinetic, gravitational and elastic energy at this state. J."""
        return float(self._dynamics.energy(self._q, self._v))

    def reset(self, q: ArrayLike, v: ArrayLike | None = None, *,
              motor_q: ArrayLike | None = None, motor_v: ArrayLike | None = None) -> None:
        """Set the state of the arm; time zero, no effort.

        Without v, links are at rest. Without positions or velocities of the motors, springs carry
        gravity, and motors move with their links.
        """
        n = self.elastic.n
        q = self._vector(q, 'q')
        v = np.zeros(n) if v is None else self._vector(v, 'v')
        if motor_q is None:
            motor_q = q + self._dynamics.links.gravity_torque(q) / self.elastic.joints.stiffness
        self._q[:n], self._q[n:] = q, self._vector(motor_q, 'motor_q')
        self._v[:n] = v
        self._v[n:] = v if motor_v is None else self._vector(motor_v, 'motor_v')
        self._steps = 0
        self.set_effort(np.zeros(n))

    def _act(self, tau: FloatArray) -> None:
        self._tau[self.elastic.n:] = tau

    def _simulate(self, count: int) -> None:
        ended = motion.advance.load()(*self._constants, self._q, self._v, self._tau,
                                      self.timestep, count)
        self._steps += count
        if ended == motion.NOT_FINITE:
            raise self._diverged()
        if ended != motion.SOLVED:
            raise no_mass(self.robot.joint_names[ended])

    def add_fault(self, fault: Fault) -> None:
        """Raise: faults are simulated for rigid joints only."""
        raise SimulationError('cannot have a fault because it is elastic', subject=fault.joint,
                              remedy='simulate faults on the arm with rigid joints')

    def add_push(self, frame: str, force: ArrayLike, begin: float = 0.0,
                 end: float = math.inf) -> None:
        """Raise: pushes are simulated for rigid joints only."""
        raise SimulationError('cannot be pushed because joints are elastic', subject=frame,
                              remedy='simulate contacts on the arm with rigid joints')

    def clear_faults(self) -> None:
        """Do nothing: this plant has no faults."""

    def _followed_speed(self, coefficients: FloatArray) -> float:
        """Width of the sign function at which no step overshoots standstill."""
        n = self.elastic.n
        B = self._dynamics.inertia_matrix(np.tile(self._resting(), 2))
        pull = np.diagonal(np.linalg.pinv(B))[n:] * np.abs(coefficients[:, 1])
        return max(1e-6, float(self.timestep * pull.max()))
