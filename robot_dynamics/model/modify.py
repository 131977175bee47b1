# SPDX-License-Identifier: Apache-2.0
"""Copies of a robot with a payload or with scaled masses.

Used for plants that differ from the model of their controller, and for models of an arm with a
known load.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.errors import InertiaError, ModelError, UnknownNameError, one_of, shown
from robot_dynamics.model.arrays import MAX_MAGNITUDE, FloatArray, frozen_array, is_positive
from robot_dynamics.model.inertia import check_body, parameters_from_com, transform_parameters
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.robot_data import Frame


def with_payload(robot: Robot, mass: float, com: ArrayLike, inertia: ArrayLike | None = None,
                 frame: str | None = None) -> Robot:
    """The robot with a body rigidly added to one of its bodies.

    Parameters
    ----------
    robot : Robot
        The robot without payload; it is not changed.
    mass : float
        Mass of the payload, kg.
    com : array_like, shape (3,)
        Its centre of mass in the frame, m.
    inertia : array_like, shape (3, 3), optional
        Inertia tensor about its centre of mass, in the axes of the frame, kg m^2.
        By default that of a point mass, zero.
    frame : str, optional
        Name of the link or frame that carries it; by default the last link, which must be unique.

    Returns
    -------
    Robot
        The same robot with other inertial parameters of that body.

    Raises
    ------
    ModelError
        If the frame does not exist or does not move.
    InertiaError
        If no rigid body can have this mass and inertia.

    See Also
    --------
    with_scaled_masses : The robot with bodies of another density.

    Examples
    --------
    >>> from robot_dynamics import Robot, with_payload
    >>> loaded = with_payload(Robot.from_urdf('arm7'), 1.5, [0, 0, 0.05], frame='flange')
    >>> loaded
    <Robot arm7: 7 joints, 7 moving bodies, 16.8 kg>
    """
    carrier = _carrier(robot, frame)
    payload = payload_parameters(mass, com, np.zeros((3, 3)) if inertia is None else inertia)
    parameters = np.array(robot.inertial_parameters)
    parameters[carrier.body] += transform_parameters(payload, carrier.pose[:3, :3],
                                                     carrier.pose[:3, 3])
    return robot.with_parameters(parameters)


def with_scaled_masses(robot: Robot, factor: float | Mapping[str, float]) -> Robot:
    """The robot with mass and inertia of its bodies multiplied by a factor.

    Parameters
    ----------
    robot : Robot
        The robot; it is not changed.
    factor : float or mapping of str to float
        Factor for all bodies, or for the named ones. Centres of mass are kept.

    Raises
    ------
    ModelError
        For an unknown body, or a factor that is not a positive number.

    See Also
    --------
    with_payload : The robot with a body added to one of its bodies.

    Examples
    --------
    >>> from robot_dynamics import Robot, with_scaled_masses
    >>> robot = Robot.from_urdf('planar_2r')
    >>> heavier = with_scaled_masses(robot, {robot.body_names[0]: 1.5})
    >>> (heavier.inertial_parameters[:, 0] / robot.inertial_parameters[:, 0]).tolist()
    [1.5, 1.0]
    """
    factors = factor if isinstance(factor, Mapping) else dict.fromkeys(robot.body_names, factor)
    scale = np.ones(robot.n_bodies)
    for name, value in factors.items():
        if name not in robot.body_names:
            raise UnknownNameError('is not a moving link of the robot', subject=str(name),
                                   remedy=one_of(robot.body_names, name))
        scale[robot.body_names.index(name)] = _positive(value, f'mass factor of {name}')
    return robot.with_parameters(scale[:, None] * robot.inertial_parameters)


def payload_parameters(mass: float, com: ArrayLike, inertia: ArrayLike) -> FloatArray:
    """The ten parameters of a payload, after a check of physical consistency.

    Arguments as for `with_payload`. Raises a `ModelError` for a number that is not finite or
    implausibly large, and an `InertiaError` for impossible mass and inertia.
    """
    kilograms = _positive(mass, 'payload mass')
    centre = frozen_array(com, (3,), 'payload com')
    tensor = frozen_array(inertia, (3, 3), 'payload inertia')
    if max(kilograms, np.max(np.abs(centre)), np.max(np.abs(tensor))) > MAX_MAGNITUDE:
        raise ModelError(f'must have numbers within {MAX_MAGNITUDE:g}', subject='payload',
                         remedy='give its mass, centre and inertia in kg, m and kg m^2')
    if np.max(np.abs(tensor - tensor.T)) > 1e-9 * np.max(np.abs(tensor)):
        raise InertiaError('must be symmetric', subject='payload inertia',
                           remedy='give the same number at xy and yx, xz and zx, yz and zy')
    parameters = parameters_from_com(kilograms, centre, tensor)
    result = check_body(parameters)
    if not result.is_consistent:
        raise InertiaError(f'has an inertia that no rigid body can have: {result.violation}',
                           subject='payload',
                           remedy='give the inertia of a rigid body about its centre of mass')
    return parameters


def _carrier(robot: Robot, frame: str | None) -> Frame:
    """The frame in which a payload is given."""
    if frame is None:
        tips = sorted(set(range(robot.n_bodies)) - set(robot.parents.tolist()))
        if len(tips) > 1:
            raise ModelError('has several last links', subject=robot.name,
                             remedy='name the frame that carries the payload, for example one '
                                    'of: ' + ', '.join(robot.body_names[k] for k in tips))
        return Frame(tips[0], np.eye(4))
    if isinstance(frame, str) and frame in robot.body_names:
        return Frame(robot.body_names.index(frame), np.eye(4))
    if not isinstance(frame, str) or frame not in robot.frames:
        raise UnknownNameError('is not a frame of the robot', subject=str(frame),
                               remedy=one_of(robot.frames, frame))
    carrier = robot.frames[frame]
    if carrier.body < 0:
        raise ModelError('is fixed to the base, so that a payload there has no effect',
                         subject=frame, remedy='name a frame that moves')
    return carrier


def _positive(value: float, subject: str) -> float:
    if not is_positive(value):
        raise ModelError(f'must be a positive number, got {shown(value)}', subject=subject,
                         remedy='correct it')
    return float(value)
