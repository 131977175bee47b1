# SPDX-License-Identifier: Apache-2.0
"""The ten inertial parameters of a rigid body, and how they change with the frame.

A body is described by its mass m, its first moment h = m c (c: centre of mass)
and its inertia tensor J about the origin of the frame it is expressed in::

    p = [m, mx, my, mz, Jxx, Jxy, Jxz, Jyy, Jyz, Jzz]

J_xy is the entry of the tensor, which is minus the product of inertia. All
functions are closed-form and take a single body, shape (10,), or any batch of
bodies, shape (..., 10). Units: kg, kg m, kg m^2.

References
----------
W. Khalil and E. Dombre, *Modeling, Identification and Control of Robots*,
Hermes Penton, 2002, section 9.2: the parameters and their change of frame.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.errors import DimensionError, InertiaError
from robot_dynamics.model.arrays import FloatArray, real_array

# Row and column of the tensor entry that stands at p[4:10].
_ROWS = np.array([0, 0, 0, 1, 1, 2])
_COLUMNS = np.array([0, 1, 2, 1, 2, 2])


def inertia_matrix(parameters: ArrayLike) -> FloatArray:
    """Return the inertia tensor J about the frame origin.

    Parameters
    ----------
    parameters : array_like, shape (..., 10)
        Inertial parameters.

    Returns
    -------
    ndarray, shape (..., 3, 3)
        Symmetric tensor, kg m^2.
    """
    p = _parameters(parameters)
    tensor = np.empty(p.shape[:-1] + (3, 3))
    tensor[..., _ROWS, _COLUMNS] = p[..., 4:]
    tensor[..., _COLUMNS, _ROWS] = p[..., 4:]
    return tensor


def parameters_from_moments(mass: ArrayLike, first_moment: ArrayLike,
                            inertia_origin: ArrayLike) -> FloatArray:
    """Return the parameters of mass, first moment and tensor about the frame origin.

    Parameters
    ----------
    mass : array_like, shape (...)
        Mass, kg.
    first_moment : array_like, shape (..., 3)
        Mass times centre of mass, kg m.
    inertia_origin : array_like, shape (..., 3, 3)
        Inertia tensor about the frame origin; its symmetric part counts. kg m^2.

    Returns
    -------
    ndarray, shape (..., 10)
        Inertial parameters.
    """
    m = real_array(mass, 'mass')
    h = _vector(first_moment, 'first_moment')
    tensor = _tensor(inertia_origin, 'inertia_origin')
    batch = np.broadcast_shapes(m.shape, h.shape[:-1], tensor.shape[:-2])
    p = np.empty(batch + (10,))
    p[..., 0] = m
    p[..., 1:4] = h
    symmetric = 0.5 * (tensor + np.swapaxes(tensor, -1, -2))
    p[..., 4:] = symmetric[..., _ROWS, _COLUMNS]
    return p


def parameters_from_com(mass: ArrayLike, com: ArrayLike, inertia_com: ArrayLike) -> FloatArray:
    """Return the parameters of a body given about its centre of mass.

    ``h = m c`` and, by the parallel axis theorem,
    ``J = I_com + m (|c|^2 1 - c c^T)``.

    Parameters
    ----------
    mass : array_like, shape (...)
        Mass, kg.
    com : array_like, shape (..., 3)
        Centre of mass in the frame, m.
    inertia_com : array_like, shape (..., 3, 3)
        Inertia tensor about the centre of mass, in the axes of the frame, kg m^2.

    Returns
    -------
    ndarray, shape (..., 10)
        Inertial parameters about the frame origin.
    """
    m = real_array(mass, 'mass')
    c = _vector(com, 'com')
    tensor = _tensor(inertia_com, 'inertia_com')
    return parameters_from_moments(
        m, m[..., None] * c, tensor + m[..., None, None] * _point_inertia(c))


def com_from_parameters(parameters: ArrayLike) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return mass, centre of mass and the tensor about it: the form a URDF holds.

    A body without mass has no centre of mass; the origin is returned for it.

    Parameters
    ----------
    parameters : array_like, shape (..., 10)
        Inertial parameters about the frame origin.

    Returns
    -------
    mass : ndarray, shape (...)
        Mass, kg.
    com : ndarray, shape (..., 3)
        Centre of mass ``h / m``, m.
    inertia_com : ndarray, shape (..., 3, 3)
        ``J - m (|c|^2 1 - c c^T)``, kg m^2.

    Raises
    ------
    InertiaError
        For a first moment without mass, which this form cannot express.
    """
    p = _parameters(parameters)
    mass, first_moment = p[..., 0].copy(), p[..., 1:4]
    massless = mass == 0.0
    if np.any(massless[..., None] & (first_moment != 0.0)):
        raise InertiaError('a first moment without mass has no centre of mass',
                           subject='parameters',
                           remedy='give the body a mass, or set mx, my and mz to zero')
    com = first_moment / np.where(massless, 1.0, mass)[..., None]
    inertia_com = inertia_matrix(p) - mass[..., None, None] * _point_inertia(com)
    return mass, com, inertia_com


def transform_parameters(parameters: ArrayLike, rotation: ArrayLike,
                         translation: ArrayLike) -> FloatArray:
    """Express in frame A the parameters of a body given in frame B.

    With x_A = R x_B + t for the points of the body and h' = R h::

        m_A = m
        h_A = h' + m t
        J_A = R J R^T + 2 (h'.t) 1 - h' t^T - t h'^T + m (|t|^2 1 - t t^T)

    Parameters
    ----------
    parameters : array_like, shape (..., 10)
        Inertial parameters about the origin of B, in its axes.
    rotation : array_like, shape (..., 3, 3)
        R: the axes of B in A.
    translation : array_like, shape (..., 3)
        t: the origin of B in A, m.

    Returns
    -------
    ndarray, shape (..., 10)
        Inertial parameters about the origin of A, in its axes.
    """
    p = _parameters(parameters)
    R = _tensor(rotation, 'rotation')
    t = _vector(translation, 'translation')
    mass = p[..., 0]
    turned = (R @ p[..., 1:4, None])[..., 0]
    cross = turned[..., :, None] * t[..., None, :]
    shift = (2.0 * np.sum(turned * t, axis=-1)[..., None, None] * np.eye(3)
             - cross - np.swapaxes(cross, -1, -2)
             + mass[..., None, None] * _point_inertia(t))
    tensor = R @ inertia_matrix(p) @ np.swapaxes(R, -1, -2) + shift
    return parameters_from_moments(mass, turned + mass[..., None] * t, tensor)


def _point_inertia(point: FloatArray) -> FloatArray:
    """Return |x|^2 1 - x x^T: the tensor about the origin of a unit mass at x."""
    squared = np.sum(point * point, axis=-1)[..., None, None]
    tensor: FloatArray = squared * np.eye(3) - point[..., :, None] * point[..., None, :]
    return tensor


def _parameters(value: ArrayLike) -> FloatArray:
    """Return the array of inertial parameters after a check of its shape."""
    return _shaped(value, (10,), 'parameters')


def _vector(value: ArrayLike, name: str) -> FloatArray:
    """Return an array of 3-vectors after a check of its shape."""
    return _shaped(value, (3,), name)


def _tensor(value: ArrayLike, name: str) -> FloatArray:
    """Return an array of 3x3 matrices after a check of its shape."""
    return _shaped(value, (3, 3), name)


def _shaped(value: ArrayLike, tail: tuple[int, ...], name: str) -> FloatArray:
    """Return a float array whose last axes have the given lengths."""
    array = real_array(value, name)
    if array.shape[-len(tail):] != tail:
        wanted = ', '.join(['...', *map(str, tail)])
        raise DimensionError(f'has shape {array.shape}, not ({wanted})', subject=name,
                             remedy=f'give an array of shape ({wanted})')
    return array
