# SPDX-License-Identifier: Apache-2.0
"""Poses, Jacobians and centre of mass, with their derivatives, for `Dynamics`."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.dynamics.coupling import product
from robot_dynamics.errors import ModelError, ParameterError
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot_data import Frame

if TYPE_CHECKING:
    from robot_dynamics.dynamics.equations import Dynamics


#: Axes that Jacobians can be given in.
AXES = ('base', 'link')


class LinkKinematics:
    """Poses and Jacobians of links, and their derivatives.

    In 'base' axes, rows 0-2 of a Jacobian are the velocity of the frame's origin and rows
    3-5 the angular velocity. In 'link' axes both are turned into the axes of the frame,
    which makes the body twist: J_k of Garofalo, Ott, Albu-Schaeffer, "On the closed form
    computation of the dynamic matrices and their differentiations". There Jacobians go from
    link to link (eqs. 27-32); here each column is evaluated where it is wanted.

    Along a joint of several coordinates, d/dq_h is the derivative along the motion that
    unit velocity v_h makes.
    """

    @cached_property
    def _of_links(self: Dynamics) -> Any:
        # Imported at the first use, so that no control loop compiles them.
        from robot_dynamics.dynamics.kernels import link_jacobians
        return link_jacobians

    @cached_property
    def _packed_frames(self: Dynamics) -> dict[tuple[str, str], FloatArray]:
        return {}

    def forward_kinematics(self: Dynamics, q: ArrayLike, link: str | None = None) -> FloatArray:
        """Poses in the base frame.

        Parameters
        ----------
        q : array_like, shape (..., n)
            Positions.
        link : str, optional
            A link or frame of the robot; all moving bodies when not given.

        Returns
        -------
        ndarray, shape (..., nb, 4, 4), or (..., 4, 4) for one link
            Homogeneous transformations from the link frame to the base frame, metres.
        """
        frame = None if link is None else self._frame(link)
        samples = self._gather(q=q)
        poses = np.empty((len(samples.rows[0]), self._bodies, 4, 4))
        self._kernels.poses_of_bodies.load()(
            self._model, self._coupling.positions(samples.rows[0]), poses)
        poses = poses.reshape(*samples.shape, self._bodies, 4, 4)
        if frame is None:
            return poses
        if frame.body < 0:
            return np.broadcast_to(frame.pose, (*samples.shape, 4, 4)).copy()
        return product(poses[..., frame.body, :, :], frame.pose)

    def jacobian(self: Dynamics, q: ArrayLike, link: str, axes: str = 'base') -> FloatArray:
        """Geometric Jacobian of a link or frame.

        Parameters
        ----------
        q : array_like, shape (..., n)
            Positions.
        link : str
            A link or frame of the robot.
        axes : {'base', 'link'}
            Axes of the Jacobian.

        Returns
        -------
        ndarray, shape (..., 6, n)
            Linear velocity of the frame's origin (rows 0-2) and angular velocity (rows
            3-5) per unit joint speed. In link axes, J_k of eq. 27 of the source above.
        """
        still = np.zeros(self.n)
        results = self._jacobian_in_time(q, still, still, self._packed_frame(link, axes))
        if results is not None:
            return results[0]
        own, frame = _is_own(axes), self._frame(link)
        samples = self._gather(q=q)
        J = np.empty((len(samples.rows[0]), 6, self._rows))
        point = np.array(frame.pose[:3, 3])
        self._kernels.jacobians.load()(
            self._model, self._coupling.positions(samples.rows[0]), frame.body, point, J)
        J = self._coupling.columns(J).reshape(*samples.shape, 6, self.n)
        if not own:
            return J
        to_link = np.swapaxes(self.forward_kinematics(q, link)[..., :3, :3], -1, -2)
        halves = product(to_link[..., np.newaxis, :, :], J.reshape(*samples.shape, 2, 3, self.n))
        return halves.reshape(J.shape)

    def jacobian_dot(self: Dynamics, q: ArrayLike, v: ArrayLike, link: str, axes: str = 'base',
                     ) -> FloatArray:
        """Time derivative of the Jacobian of a link or frame.

        Parameters
        ----------
        q, v : array_like, shape (..., n)
            Positions and velocities.
        link : str
            A link or frame of the robot.
        axes : {'base', 'link'}
            Axes of the Jacobian.

        Returns
        -------
        ndarray, shape (..., 6, n)
            dJ/dt, so that the acceleration of the frame's origin and the angular
            acceleration are J a + dJ/dt v (in base axes). Eq. 28 of the source above.
        """
        return self._jacobians_in_time(q, v, np.zeros(self.n), link, axes)[1]

    def jacobian_ddot(self: Dynamics, q: ArrayLike, v: ArrayLike, a: ArrayLike, link: str,
                      axes: str = 'base') -> FloatArray:
        """Second time derivative of the Jacobian of a link or frame.

        Parameters
        ----------
        q, v, a : array_like, shape (..., n)
            Positions, velocities, accelerations.
        link : str
            A link or frame of the robot.
        axes : {'base', 'link'}
            Axes of the Jacobian.

        Returns
        -------
        ndarray, shape (..., 6, n)
            d2J/dt2. Eq. 29 of the source above.
        """
        return self._jacobians_in_time(q, v, a, link, axes)[2]

    def jacobian_derivatives(self: Dynamics, q: ArrayLike, v: ArrayLike, link: str,
                             axes: str = 'base') -> tuple[FloatArray, FloatArray]:
        """Differentiate the Jacobian of a link or frame, and its rate, along q.

        Parameters
        ----------
        q, v : array_like, shape (..., n)
            Positions and velocities.
        link : str
            A link or frame of the robot.
        axes : {'base', 'link'}
            Axes of the Jacobian.

        Returns
        -------
        dJ_dq : ndarray, shape (..., n, 6, n)
            dJ_dq[h] = dJ/dq_h, which is d(dJ/dt)/dv_h too where each joint has one
            coordinate. Eqs. 30 and 31 of the source above.
        dJdot_dq : ndarray, shape (..., n, 6, n)
            dJdot_dq[h] = d(dJ/dt)/dq_h. Eq. 32.
        """
        own = _is_own(axes)
        frame = self._frame(link)
        samples = self._gather(q=q, v=v)
        count, b = len(samples.rows[0]), len(self._model) - 1
        of_J, of_dJ = np.zeros((count, b, 6, b)), np.zeros((count, b, 6, b))
        if frame.body >= 0:
            self._of_links.jacobian_derivatives.load()(
                self._model, *self._coupling.of_bodies(samples.rows), self._column(frame),
                np.array(frame.pose), own, of_J, of_dJ)
        shape = (*samples.shape, self.n, 6, self.n)
        to = self._coupling
        return (to.along(to.columns(of_J)).reshape(shape),
                to.along(to.columns(of_dJ)).reshape(shape))

    def com_position(self: Dynamics, q: ArrayLike) -> FloatArray:
        """Centre of mass of all moving links in the base frame.

        Parameters
        ----------
        q : array_like, shape (..., n)
            Positions.

        Returns
        -------
        ndarray, shape (..., 3)
            Metres.

        Raises
        ------
        ModelError
            When the links have no mass.
        """
        return self._centre_of_mass(q)[0]

    def com_jacobian(self: Dynamics, q: ArrayLike) -> FloatArray:
        """Jacobian of the centre of mass of all moving links.

        Parameters
        ----------
        q : array_like, shape (..., n)
            Positions.

        Returns
        -------
        ndarray, shape (..., 3, n)
            Velocity of the centre of mass per unit joint speed, base axes:
            J_com = P^T I J / m, Garofalo, Ott, Albu-Schaeffer, "On the closed form
            computation of the dynamic matrices and their differentiations", eq. 7. Gravity
            is g(q) = -m J_com^T g_0.

        Raises
        ------
        ModelError
            When the links have no mass.
        """
        return self._centre_of_mass(q)[1]

    def _centre_of_mass(self: Dynamics, q: ArrayLike) -> tuple[FloatArray, FloatArray]:
        if not self.robot.inertial_parameters[:, 0].sum() > 0.0:
            raise ModelError('has no mass that moves, so no centre of mass',
                             subject=self.robot.name, remedy='give the links their masses')
        samples = self._gather(q=q)
        positions = self._coupling.positions(samples.rows[0])
        centre = np.empty((len(positions), 3))
        J = np.empty((len(positions), 3, len(self._model) - 1))
        self._of_links.centres_of_mass.load()(self._model, positions, centre, J)
        return (centre.reshape(*samples.shape, 3),
                self._coupling.columns(J).reshape(*samples.shape, 3, self.n))

    def _jacobians_in_time(self: Dynamics, q: ArrayLike, v: ArrayLike, a: ArrayLike, link: str,
                           axes: str) -> tuple[FloatArray, ...]:
        """Jacobian of a frame and its first and second time derivative."""
        frame = self._packed_frame(link, axes)
        results = self._jacobian_in_time(q, v, a, frame)
        if results is not None:
            return results
        samples = self._gather(q=q, v=v, a=a)
        shape = len(samples.rows[0]), 6, len(self._model) - 1
        results = tuple(np.zeros(shape) for _ in range(3))
        if frame[4, 0] >= 0.0:
            self._of_links.jacobians_in_time.load()(
                self._model, *self._coupling.of_bodies(samples.rows), int(frame[4, 0]),
                frame[:4], frame[4, 1] != 0.0, *results)
        return tuple(self._coupling.columns(J).reshape(*samples.shape, 6, self.n)
                     for J in results)

    def _jacobian_in_time(self: Dynamics, q: ArrayLike, v: ArrayLike, a: ArrayLike,
                          frame: FloatArray) -> tuple[FloatArray, ...] | None:
        """Do the same quickly for one sample in plain arrays; None where it is not that."""
        if not self._is_direct or frame[4, 0] < 0.0:
            return None
        kernel = self._of_links.jacobian_in_time
        results = tuple(np.empty((6, self.n)) for _ in range(3))
        try:
            refused = kernel.call(self._model, q, v, a, frame, *results)
        except TypeError:
            kernel.load()
            return None
        return None if refused else results

    def _packed_frame(self: Dynamics, link: str, axes: str) -> FloatArray:
        """Return a frame as kernels read it, shape (5, 4), worked out once.

        Its pose on its body, then the column of that body, -1 for the base, and whether its
        own axes are wanted.
        """
        try:
            return self._packed_frames[link, axes]
        except (KeyError, TypeError):
            own, frame = _is_own(axes), self._frame(link)
        packed = np.zeros((5, 4))
        packed[:4] = frame.pose
        packed[4, :2] = self._column(frame) if frame.body >= 0 else -1, own
        self._packed_frames[link, axes] = packed
        return packed

    def _frame(self: Dynamics, name: str) -> Frame:
        """Body and pose of a named link or frame."""
        robot = self.robot
        if isinstance(name, str):
            if name in robot.frames:
                return robot.frames[name]
            if name in robot.body_names:
                return Frame(robot.body_names.index(name), np.eye(4))
            if name == robot.base_name:
                return Frame(-1, np.eye(4))
        known = dict.fromkeys((robot.base_name, *robot.body_names, *robot.frames))
        raise ModelError('is no link of this robot', subject=str(name),
                         remedy='name one of: ' + ', '.join(known))

    def _column(self: Dynamics, frame: Frame) -> int:
        """Column of the joint table that stands for the body of a frame."""
        return self.robot.body_coordinates.velocities(frame.body).stop - 1


def _is_own(axes: str) -> bool:
    """Whether Jacobians are wanted in the axes of the link; refuse what is no choice."""
    if not isinstance(axes, str) or axes not in AXES:
        raise ParameterError(f'is {axes!r}, which is no choice of axes', subject='axes',
                             remedy='choose among ' + ', '.join(AXES))
    return axes == 'link'
