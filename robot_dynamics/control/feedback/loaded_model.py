# SPDX-License-Identifier: Apache-2.0
r"""``LoadedModel``: equations of an arm whose load changes while it is under control.

Everything that a model says of efforts is linear in its inertial parameters. So between
the parameters of before and of after,

.. math::

    \pi = (1 - w) \pi_0 + w \pi_1, \qquad
    \tau(\pi) = (1 - w) \tau(\pi_0) + w \tau(\pi_1),

with w going from 0 to 1 as :math:`3 x^2 - 2 x^3`, x the share of the time that is over: no
effort jumps, and none changes faster than 1.5 times its whole change over the time. Sets of
parameters that bodies can have are convex, so that bodies can have all those in between.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.control.checks import not_negative
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import DimensionError, InertiaError, ParameterError, RobotDynamicsError
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.inertia import check_body
from robot_dynamics.model.modify import payload_parameters, with_payload
from robot_dynamics.model.robot import Robot


class LoadedModel:
    """Equations of motion of an arm with what it carries.

    Parameters
    ----------
    dynamics : Dynamics
        Equations of the arm that carries nothing.

    Attributes
    ----------
    empty : Dynamics
        The same.
    load : ndarray, shape (nb, 10)
        Inertial parameters carried on top, or on the way to be.
    share : float
        w, 1 when nothing changes.
    """

    def __init__(self, dynamics: Dynamics):
        self.empty = dynamics
        self.load = np.zeros((dynamics.robot.n_bodies, 10))
        self.share = 1.0
        self._after, self._still = dynamics, np.zeros(dynamics.n)
        self._before: Dynamics | None = None
        self._progress, self._rate = 1.0, 0.0

    @property
    def changes(self) -> bool:
        """Whether a change of the load is under way."""
        return self._before is not None

    @property
    def is_loaded(self) -> bool:
        """Whether it differs from the empty arm."""
        return self._before is not None or self._after is not self.empty

    @property
    def parameters(self) -> FloatArray:
        """Inertial parameters as they are now, shape (nb, 10)."""
        after = self._after.robot.inertial_parameters
        if self._before is None:
            return after
        return (1.0 - self.share) * self._before.robot.inertial_parameters + self.share * after

    def carry(self, load: FloatArray, seconds: float) -> None:
        """Begin to take the arm to carry something.

        Parameters
        ----------
        load : ndarray, shape (nb, 10)
            Inertial parameters on top of those of the arm that carries nothing, zeros for
            no load; see `robot_dynamics.control.feedback.loaded_model.Payload.load_on`.
        seconds : float
            Time over which the efforts go over; 0 for at once. s.

        Raises
        ------
        InertiaError
            Where no body can have the parameters of a link with its load. Nothing changes.
        """
        not_negative('seconds', seconds, 's')
        robot = self.empty.robot
        load = checked_load(robot, load)
        before = Dynamics(robot.with_parameters(self.parameters)) if self.changes else self._after
        self._after = Dynamics(robot.with_parameters(robot.inertial_parameters + load)) \
            if np.any(load) else self.empty
        self.load = load
        self._before, self.share, self._progress = before, 0.0, 0.0
        self._rate = 1.0 / seconds if seconds > 0.0 else np.inf
        if seconds == 0.0:
            self.advance(1.0)

    def advance(self, dt: float) -> bool:
        """Go on with a change for a time in s; return whether the parameters changed."""
        if self._before is None:
            return False
        # Written so that NaN and time that goes back change nothing.
        self._progress = min(self._progress + (self._rate * dt if dt > 0.0 else 0.0), 1.0)
        x = self._progress
        self.share = x * x * (3.0 - 2.0 * x)
        if x == 1.0:
            self._before = None
        return True

    def gravity_torque(self, q: FloatArray) -> FloatArray:
        """Efforts that hold the arm and its load, shape (n,). N m or N."""
        if self._before is None:
            return self._after.gravity_torque(q)
        return self._between(self._before.gravity_torque(q), self._after.gravity_torque(q))

    def inverse_dynamics(self, q: FloatArray, v: FloatArray, a: FloatArray) -> FloatArray:
        """Efforts that a motion asks for, shape (n,). N m or N."""
        if self._before is None:
            return self._after.inverse_dynamics(q, v, a)
        return self._between(self._before.inverse_dynamics(q, v, a),
                             self._after.inverse_dynamics(q, v, a))

    def mass_matrix(self, q: FloatArray) -> FloatArray:
        """Mass matrix, shape (n, n), an array of the caller's own."""
        if self._before is None:
            return self._after.mass_matrix(q)
        return self._between(self._before.mass_matrix(q), self._after.mass_matrix(q))

    def mass_and_gravity(self, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mass matrix of the empty arm, and gravity with the load; the caller's own.

        For feedback: see `robot_dynamics.control.laws.model_based`.
        """
        mass, _, gravity = self.empty.matrices(q, self._still)
        return mass, self.gravity_torque(q) if self.is_loaded else gravity

    def _between(self, before: FloatArray, after: FloatArray) -> FloatArray:
        return before + self.share * (after - before)


def checked_load(robot: Robot, load: ArrayLike) -> FloatArray:
    """Return a load that a robot is to carry as an array, shape (nb, 10); see `LoadedModel.carry`.

    Raises
    ------
    InertiaError
        Where no body can have the parameters of a link with its load.
    """
    load = np.array(load, dtype=np.float64)
    if load.shape != (robot.n_bodies, 10):
        raise DimensionError(f'has shape {load.shape}, not ({robot.n_bodies}, 10)',
                             subject='load', remedy='give ten inertial parameters for each '
                             'of: ' + ', '.join(robot.body_names))
    for name, added, parameters in zip(robot.body_names, load,
                                       robot.inertial_parameters + load, strict=True):
        verdict = check_body(parameters)
        # A link that carries nothing is what the description says, sound or not.
        if np.any(added) and not verdict.is_consistent:
            raise InertiaError(f'with its load cannot be: {verdict.violation}', subject=name,
                               remedy='give the mass, centre and inertia of a real body')
    return load


class Carrier(Protocol):
    """A law that can be told at run time what the arm carries."""

    def carry(self, load: FloatArray, seconds: float) -> None:
        """Take the arm to carry a load, shape (nb, 10), over a time; zeros for nothing."""

    def advance(self, dt: float) -> None:
        """Go on with such a change for a time; called before a state is answered."""


@dataclass(frozen=True)
class Payload:
    """A rigid body in the hand.

    Parameters
    ----------
    mass : float
        Its mass; 0 for nothing. kg.
    com : sequence of float, length 3
        Its centre of mass in the frame that carries it. m.
    inertia : sequence of float, length 6 or 0
        ``ixx ixy ixz iyy iyz izz`` about its centre of mass, in the axes of that frame;
        that of a point by default. kg m^2.
    frame : str
        Link or frame that carries it; by default the only link that carries no other.

    Raises
    ------
    ParameterError
        Where a number is missing or no body is like that.
    """

    mass: float = 0.0
    com: Sequence[float] = (0.0, 0.0, 0.0)
    inertia: Sequence[float] = ()
    frame: str = ''

    def __post_init__(self) -> None:
        not_negative('payload.mass', self.mass, 'kg')
        if np.shape(self.com) != (3,):
            raise ParameterError(f'has {np.size(self.com)} values', subject='payload.com',
                                 remedy='give x, y and z in m')
        if np.shape(self.inertia) not in ((0,), (6,)):
            raise ParameterError(f'has {np.size(self.inertia)} values', subject='payload.inertia',
                                 remedy='give ixx ixy ixz iyy iyz izz in kg m^2, or nothing for '
                                        'a point')
        if self.mass > 0.0:
            try:
                payload_parameters(self.mass, self.com, self.tensor)
            except RobotDynamicsError as error:
                raise ParameterError(error.message, subject=error.subject,
                                     remedy=error.remedy) from error
        elif np.any(self.inertia):
            raise ParameterError('is given without a mass', subject='payload.inertia',
                                 remedy='set payload.mass, too')

    @property
    def tensor(self) -> FloatArray:
        """Inertia about the centre of mass, shape (3, 3). kg m^2."""
        xx, xy, xz, yy, yz, zz = self.inertia if len(self.inertia) else (0.0,) * 6
        return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])

    def load_on(self, robot: Robot) -> FloatArray:
        """Return what it adds to the inertial parameters of a robot, shape (nb, 10).

        Raises
        ------
        ModelError
            Where there is no such frame, or it does not move.
        """
        if self.mass == 0.0:
            return np.zeros((robot.n_bodies, 10))
        loaded = with_payload(robot, self.mass, self.com, self.tensor, frame=self.frame or None)
        return loaded.inertial_parameters - robot.inertial_parameters
