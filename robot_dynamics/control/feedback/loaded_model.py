# SPDX-License-Identifier: Apache-2.0
r"""The model of an arm with a payload that changes during control.

All efforts of a model are linear in its inertial parameters. Between the parameters before and
after a change,

.. math::

    \pi = (1 - w) \pi_0 + w \pi_1, \qquad
    \tau(\pi) = (1 - w) \tau(\pi_0) + w \tau(\pi_1),

with w going from 0 to 1 as :math:`3 x^2 - 2 x^3`, x the elapsed share of the duration. No effort
jumps, and its rate is at most 1.5 times its whole change over the duration. Physically consistent
parameters form a convex set, so that all intermediate ones are consistent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.control.checks import not_negative, positive
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.dynamics.linearisation import LinearModel
from robot_dynamics.errors import DimensionError, InertiaError, ParameterError, RobotDynamicsError
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.inertia import check_body
from robot_dynamics.model.modify import payload_parameters, with_payload
from robot_dynamics.model.robot import Robot


class LoadedModel:
    """Equations of motion of an arm with its payload.

    Parameters
    ----------
    dynamics : Dynamics
        Equations of the arm without payload.

    Attributes
    ----------
    empty : Dynamics
        The same.
    load : ndarray, shape (nb, 10)
        Inertial parameters of the payload, at the end of a change.
    share : float
        w, 1 while the payload does not change.
    changes : bool
        Whether a change of the payload is in progress.

    Examples
    --------
    >>> from robot_dynamics import Dynamics, Robot
    >>> robot = Robot.from_urdf('planar_2r')
    >>> model = LoadedModel(Dynamics(robot))
    >>> model.carry(Payload(1.0).load_on(robot), seconds=2.0)
    >>> model.advance(1.0), model.share
    (True, 0.5)
    """

    def __init__(self, dynamics: Dynamics):
        self.empty = dynamics
        self.load = np.zeros((dynamics.robot.n_bodies, 10))
        self.share, self.changes = 1.0, False
        self._after, self._still = dynamics, np.zeros(dynamics.n)
        self._before: Dynamics | None = None
        self._progress, self._rate = 1.0, 0.0

    @property
    def is_loaded(self) -> bool:
        """Whether the model differs from that of the arm without payload."""
        return self._before is not None or self._after is not self.empty

    @property
    def parameters(self) -> FloatArray:
        """Present inertial parameters, shape (nb, 10)."""
        after = self._after.robot.inertial_parameters
        if self._before is None:
            return after
        return (1.0 - self.share) * self._before.robot.inertial_parameters + self.share * after

    def carry(self, load: FloatArray, seconds: float) -> None:
        """Begin a change of the payload.

        Parameters
        ----------
        load : ndarray, shape (nb, 10)
            Inertial parameters to add to those of the arm without payload, zeros for none; see
            `Payload.load_on`.
        seconds : float
            Duration of the change; 0 for at once. s.

        Raises
        ------
        InertiaError
            If a link with its load would not be physically consistent. Nothing changes.
        """
        not_negative('seconds', seconds, 's')
        robot = self.empty.robot
        load = checked_load(robot, load)
        before = Dynamics(robot.with_parameters(self.parameters)) if self.changes else self._after
        self._after = Dynamics(robot.with_parameters(robot.inertial_parameters + load)) \
            if np.any(load) else self.empty
        self.load = load
        self._before, self.changes = before, True
        self.share = self._progress = 0.0
        self._rate = 1.0 / seconds if seconds > 0.0 else np.inf
        if seconds == 0.0:
            self.advance(1.0)

    def advance(self, dt: float) -> bool:
        """Continue a change for a time, s; return whether the parameters changed."""
        if self._before is None:
            return False
        # Written so that NaN and negative time change nothing.
        self._progress = min(self._progress + (self._rate * dt if dt > 0.0 else 0.0), 1.0)
        x = self._progress
        self.share = x * x * (3.0 - 2.0 * x)
        if x == 1.0:
            self._before, self.changes = None, False
        return True

    def gravity_torque(self, q: FloatArray) -> FloatArray:
        """Gravity efforts of the arm and its payload, shape (n,). N m or N."""
        return self._between(lambda dynamics: dynamics.gravity_torque(q))

    def inverse_dynamics(self, q: FloatArray, v: FloatArray, a: FloatArray) -> FloatArray:
        """Efforts of a motion, shape (n,). N m or N."""
        return self._between(lambda dynamics: dynamics.inverse_dynamics(q, v, a))

    def mass_matrix(self, q: FloatArray) -> FloatArray:
        """Mass matrix, shape (n, n), a new array."""
        return self._between(lambda dynamics: dynamics.mass_matrix(q))

    def mass_and_gravity(self, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mass matrix without payload, and gravity with it, new arrays.

        For feedback: see `robot_dynamics.control.laws.model_based`.
        """
        mass, _, gravity = self.matrices(q, self._still)
        return mass, gravity

    def matrices(self, q: FloatArray, v: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Mass and Christoffel matrix without payload, and gravity with it, new arrays."""
        mass, coriolis, gravity = self.empty.matrices(q, v)
        return mass, coriolis, self.gravity_torque(q) if self.is_loaded else gravity

    def _between(self, equation: Callable[[Dynamics], FloatArray]) -> FloatArray:
        """Value of an equation, interpolated during a change of the payload."""
        after = equation(self._after)
        if self._before is None:
            return after
        before = equation(self._before)
        return before + self.share * (after - before)


@dataclass(frozen=True, eq=False)
class LinearPoint:
    """Linear model at a point, or many: dtau = M da + dtau_dq dq + dtau_dv dv.

    Shape (n, n) or (k, n, n); at fixed accelerations, viscous friction and rotors included.
    """

    dtau_dq: FloatArray
    dtau_dv: FloatArray
    M: FloatArray

    def __getitem__(self, k: int) -> LinearPoint:
        return LinearPoint(self.dtau_dq[k], self.dtau_dv[k], self.M[k])

    def __iter__(self) -> Iterator[LinearPoint]:
        return (self[k] for k in range(len(self.M)))

    def linear_model(self) -> LinearModel:
        """A and B of dx/dt = A x + B u."""
        inverse = np.asarray(np.linalg.inv(self.M), dtype=np.float64)
        return LinearModel.of(np.zeros_like(self.M), -inverse @ self.dtau_dq,
                              -inverse @ self.dtau_dv, inverse)


class FeedforwardModel(LoadedModel):
    """Equations of an arm with its payload, including the friction and rotors of the description.

    Coulomb friction fades out below `coulomb_velocity`, rad/s or m/s.
    """

    def __init__(self, robot: Robot, dynamics: Dynamics | None = None, *,
                 coulomb_velocity: float = 0.05):
        super().__init__(Dynamics(robot) if dynamics is None else dynamics)
        self._coulomb_velocity = positive('coulomb_velocity', coulomb_velocity, 'rad/s')
        self._damping = np.array(robot.damping)
        self._friction = np.array(robot.friction)
        self._has_friction = bool(np.any(robot.damping) or np.any(robot.friction))
        self._diagonal = np.arange(robot.n)

    @property
    def robot(self) -> Robot:
        """The arm with its payload, at the end of a change."""
        return self._after.robot

    def snapshot(self) -> FeedforwardModel:
        """The model at the end of a change of the payload; it does not change."""
        return FeedforwardModel(self.robot, self._after, coulomb_velocity=self._coulomb_velocity)

    def feedforward(self, q: FloatArray, v: FloatArray, a: FloatArray) -> FloatArray:
        """Efforts of a motion with friction and rotors, shape (n,), N m or N."""
        tau = self.inverse_dynamics(q, v, a)
        if self._has_friction:
            tau += self._damping * v + self._friction * np.tanh(v / self._coulomb_velocity)
        return tau

    def linearise(self, q: FloatArray, v: FloatArray, a: FloatArray) -> LinearPoint:
        """Derivatives at a point, or at many with arguments of shape (k, n)."""
        # Stacked into contiguous arrays, as the kernels of the gains require.
        dtau_dq, dtau_dv, M = self._between(
            lambda dynamics: np.stack(dynamics.inverse_dynamics_derivatives(q, v, a)))
        dtau_dv[..., self._diagonal, self._diagonal] += self._damping
        return LinearPoint(dtau_dq, dtau_dv, M)


def checked_load(robot: Robot, load: ArrayLike) -> FloatArray:
    """Payload as an array, shape (nb, 10); see `LoadedModel.carry`.

    Raises an InertiaError if a link with its load would not be physically consistent.
    """
    load = np.array(load, dtype=np.float64)
    if load.shape != (robot.n_bodies, 10):
        raise DimensionError(f'must have shape ({robot.n_bodies}, 10), got {load.shape}',
                             subject='load', remedy='give ten inertial parameters for each '
                             'of: ' + ', '.join(robot.body_names))
    for name, added, parameters in zip(robot.body_names, load,
                                       robot.inertial_parameters + load, strict=True):
        verdict = check_body(parameters)
        # A link without load is as described, physically consistent or not.
        if np.any(added) and not verdict.is_consistent:
            raise InertiaError(f'cannot carry this load: {verdict.violation}', subject=name,
                               remedy='correct mass, centre and inertia of the load')
    return load


class Carrier(Protocol):
    """A law with a payload that can be changed at run time."""

    def carry(self, load: FloatArray, seconds: float) -> None:
        """Begin a change of the payload, shape (nb, 10), over a time; zeros for none."""

    def advance(self, dt: float) -> None:
        """Continue the change for a time; called before a state is answered."""


@dataclass(frozen=True)
class Payload:
    """A rigid body carried by the arm.

    Parameters
    ----------
    mass : float
        Its mass; 0 for none. kg.
    com : sequence of float, length 3
        Its centre of mass in the frame that carries it. m.
    inertia : sequence of float, length 6 or 0
        ``ixx ixy ixz iyy iyz izz`` about its centre of mass, in the axes of that frame; a point
        mass by default. kg m^2.
    frame : str
        Link or frame that carries it; by default the last link, which must be unique.

    Raises
    ------
    ParameterError
        If a number is missing, or the body is not physically consistent.

    Examples
    --------
    >>> from robot_dynamics import Robot
    >>> load = Payload(1.5, com=(0.0, 0.0, 0.1)).load_on(Robot.from_urdf('arm7'))
    >>> load.shape, float(load[-1, 0])
    ((7, 10), 1.5)
    """

    mass: float = 0.0
    com: Sequence[float] = (0.0, 0.0, 0.0)
    inertia: Sequence[float] = ()
    frame: str = ''

    def __post_init__(self) -> None:
        not_negative('payload.mass', self.mass, 'kg')
        if np.shape(self.com) != (3,):
            raise ParameterError(f'must have 3 values, got {np.size(self.com)}',
                                 subject='payload.com', remedy='give x, y and z in m')
        if np.shape(self.inertia) not in ((0,), (6,)):
            raise ParameterError(f'must have 6 values or none, got {np.size(self.inertia)}',
                                 subject='payload.inertia',
                                 remedy='give ixx ixy ixz iyy iyz izz in kg m^2, or nothing for '
                                        'a point mass')
        if self.mass > 0.0:
            try:
                payload_parameters(self.mass, self.com, self.tensor)
            except RobotDynamicsError as error:
                raise ParameterError(error.message, subject=error.subject,
                                     remedy=error.remedy) from error
        elif np.any(self.inertia):
            raise ParameterError('needs a mass', subject='payload.inertia',
                                 remedy='set payload.mass, too')

    @property
    def tensor(self) -> FloatArray:
        """Inertia about the centre of mass, shape (3, 3). kg m^2."""
        xx, xy, xz, yy, yz, zz = self.inertia if len(self.inertia) else (0.0,) * 6
        return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])

    def load_on(self, robot: Robot) -> FloatArray:
        """Inertial parameters that it adds to a robot, shape (nb, 10).

        Raises
        ------
        ModelError
            If the frame does not exist or does not move.
        """
        if self.mass == 0.0:
            return np.zeros((robot.n_bodies, 10))
        loaded = with_payload(robot, self.mass, self.com, self.tensor, frame=self.frame or None)
        return loaded.inertial_parameters - robot.inertial_parameters
