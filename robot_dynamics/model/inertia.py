# SPDX-License-Identifier: Apache-2.0
"""The ten inertial parameters of a rigid body: frames, consistency, pseudo-inertia.

A body is described by its mass m, its first moment h = m c (c: centre of mass)
and its inertia tensor J about the origin of the frame it is expressed in::

    p = [m, mx, my, mz, Jxx, Jxy, Jxz, Jyy, Jyz, Jzz]

J_xy is the entry of the tensor, which is minus the product of inertia. Functions take
one body, shape (10,), or a batch, shape (..., 10). Units: kg, kg m, kg m^2.

Ten numbers are the parameters of some distribution of positive mass exactly when their
pseudo-inertia matrix is positive semi-definite::

    P = [[Sigma, h], [h^T, m]],   Sigma = 1/2 tr(J) 1 - J

Positive definiteness of the tensor alone is weaker: it misses the triangle inequality of
the principal moments.

References
----------
W. Khalil and E. Dombre, *Modeling, Identification and Control of Robots*, Hermes Penton,
2002, section 9.2: the parameters and their change of frame.

P. M. Wensing, S. Kim and J.-J. E. Slotine, "Linear matrix inequalities for physically
consistent inertial parameter identification: a statistical perspective on the mass
distribution", IEEE Robotics and Automation Letters 3(1), 2018, eqs. (7)-(10).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.errors import DimensionError, InertiaError, ParameterError
from robot_dynamics.model.arrays import FloatArray, real_array, shaped_array

#: The ten inertial parameters of a body, in the order used everywhere in this package:
#: mass, first moment (m c), and the inertia tensor about the origin of the link frame, as
#: entries of the tensor (J_xy is minus the product of inertia), in axes of the link frame.
PARAMETER_SUFFIXES = ('m', 'mx', 'my', 'mz', 'Jxx', 'Jxy', 'Jxz', 'Jyy', 'Jyz', 'Jzz')

#: Relative violation below which a body counts as possible: a thin plate lies exactly on the
#: boundary, and rounding must not exclude it.
RELATIVE_TOLERANCE = 1e-9

# Row and column of the tensor entry at p[4:10].
_ROWS = np.array([0, 0, 0, 1, 1, 2])
_COLUMNS = np.array([0, 1, 2, 1, 2, 2])
_EPSILON = np.finfo(np.float64).eps


def inertia_matrix(parameters: ArrayLike) -> FloatArray:
    """Inertia tensor J about the frame origin, shape (..., 3, 3), kg m^2, of (..., 10)."""
    p = shaped_array(parameters, (10,), 'parameters')
    tensor = np.empty(p.shape[:-1] + (3, 3))
    tensor[..., _ROWS, _COLUMNS] = p[..., 4:]
    tensor[..., _COLUMNS, _ROWS] = p[..., 4:]
    return tensor


def parameters_from_moments(mass: ArrayLike, first_moment: ArrayLike,
                            inertia_origin: ArrayLike) -> FloatArray:
    """Parameters, shape (..., 10), of mass, first moment and tensor about the frame origin.

    Mass (...), kg; mass times centre of mass (..., 3), kg m; tensor (..., 3, 3), of which the
    symmetric part counts, kg m^2.
    """
    m = real_array(mass, 'mass')
    h = shaped_array(first_moment, (3,), 'first_moment')
    tensor = shaped_array(inertia_origin, (3, 3), 'inertia_origin')
    batch = np.broadcast_shapes(m.shape, h.shape[:-1], tensor.shape[:-2])
    p = np.empty(batch + (10,))
    p[..., 0] = m
    p[..., 1:4] = h
    symmetric = 0.5 * (tensor + np.swapaxes(tensor, -1, -2))
    p[..., 4:] = symmetric[..., _ROWS, _COLUMNS]
    return p


def parameters_from_com(mass: ArrayLike, com: ArrayLike, inertia_com: ArrayLike) -> FloatArray:
    """Parameters of a body given about its centre of mass.

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

    Examples
    --------
    >>> from robot_dynamics.model import parameters_from_com
    >>> p = parameters_from_com(2.0, [0, 0, 0.5], [[0.1, 0, 0], [0, 0.1, 0], [0, 0, 0.02]])
    >>> p.tolist()
    [2.0, 0.0, 0.0, 1.0, 0.6, 0.0, 0.0, 0.6, 0.0, 0.02]
    """
    m = real_array(mass, 'mass')
    c = shaped_array(com, (3,), 'com')
    tensor = shaped_array(inertia_com, (3, 3), 'inertia_com')
    return parameters_from_moments(
        m, m[..., None] * c, tensor + m[..., None, None] * _point_inertia(c))


def com_from_parameters(parameters: ArrayLike) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Mass, centre of mass and the tensor about it: the form that a URDF holds.

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

    Examples
    --------
    >>> from robot_dynamics.model import com_from_parameters
    >>> mass, com, tensor = com_from_parameters([2, 0, 0, 1, 0.6, 0, 0, 0.6, 0, 0.02])
    >>> com.tolist()
    [0.0, 0.0, 0.5]
    """
    p = shaped_array(parameters, (10,), 'parameters')
    mass, first_moment = p[..., 0].copy(), p[..., 1:4]
    massless = mass == 0.0
    if np.any(massless[..., None] & (first_moment != 0.0)):
        raise InertiaError('must include a mass for the first moment', subject='parameters',
                           remedy='give the body a mass, or set mx, my and mz to zero')
    com = first_moment / np.where(massless, 1.0, mass)[..., None]
    inertia_com = inertia_matrix(p) - mass[..., None, None] * _point_inertia(com)
    return mass, com, inertia_com


def transform_parameters(parameters: ArrayLike, rotation: ArrayLike,
                         translation: ArrayLike) -> FloatArray:
    """Parameters, shape (..., 10), about and in the axes of A, of a body given in frame B.

    With x_A = R x_B + t for the points of the body, R (..., 3, 3) being the axes of B in A and
    t (..., 3) its origin, m, and with h' = R h::

        m_A = m
        h_A = h' + m t
        J_A = R J R^T + 2 (h'.t) 1 - h' t^T - t h'^T + m (|t|^2 1 - t t^T)
    """
    p = shaped_array(parameters, (10,), 'parameters')
    R = shaped_array(rotation, (3, 3), 'rotation')
    t = shaped_array(translation, (3,), 'translation')
    mass = p[..., 0]
    turned = (R @ p[..., 1:4, None])[..., 0]
    cross = turned[..., :, None] * t[..., None, :]
    shift = (2.0 * np.sum(turned * t, axis=-1)[..., None, None] * np.eye(3)
             - cross - np.swapaxes(cross, -1, -2)
             + mass[..., None, None] * _point_inertia(t))
    tensor = R @ inertia_matrix(p) @ np.swapaxes(R, -1, -2) + shift
    return parameters_from_moments(mass, turned + mass[..., None] * t, tensor)


def _point_inertia(point: FloatArray) -> FloatArray:
    """|x|^2 1 - x x^T: the tensor about the origin of a unit mass at x."""
    squared = np.sum(point * point, axis=-1)[..., None, None]
    tensor: FloatArray = squared * np.eye(3) - point[..., :, None] * point[..., None, :]
    return tensor


def pseudo_inertia(parameters: ArrayLike) -> FloatArray:
    """Pseudo-inertia P = integral of [x; 1] [x; 1]^T dm, shape (..., 4, 4), of (..., 10).

    ``[[1/2 tr(J) 1 - J, h], [h^T, m]]``; kg m^2, kg m, kg.
    """
    p = real_array(parameters, 'parameters')
    tensor = inertia_matrix(p)
    half_trace = 0.5 * np.trace(tensor, axis1=-2, axis2=-1)[..., None, None]
    matrix = np.empty(p.shape[:-1] + (4, 4))
    matrix[..., :3, :3] = half_trace * np.eye(3) - tensor
    matrix[..., :3, 3] = matrix[..., 3, :3] = p[..., 1:4]
    matrix[..., 3, 3] = p[..., 0]
    return matrix


def parameters_from_pseudo_inertia(matrix: ArrayLike) -> FloatArray:
    """Inertial parameters, shape (..., 10), of a pseudo-inertia (..., 4, 4).

    J = tr(Sigma) 1 - Sigma; the symmetric part counts.
    """
    P = shaped_array(matrix, (4, 4), 'pseudo-inertia')
    sigma = P[..., :3, :3]
    trace = np.trace(sigma, axis1=-2, axis2=-1)[..., None, None]
    first_moment = 0.5 * (P[..., :3, 3] + P[..., 3, :3])
    return parameters_from_moments(P[..., 3, 3], first_moment, trace * np.eye(3) - sigma)


@dataclass(frozen=True, eq=False)
class Consistency:
    """Physical consistency of the inertial parameters of one body.

    Parameters
    ----------
    is_consistent : bool
        Whether some body of non-negative mass has these parameters (P >= 0);
        point masses, rods and plates are included.
    is_definite : bool
        Whether P > 0, the interior of the cone, where log det P exists.
    min_eigenvalue : float
        Smallest eigenvalue of P about the frame origin; negative outside the cone.
        nan where a parameter is not finite.
    principal_moments : ndarray, shape (3,)
        Principal moments about the centre of mass in ascending order, kg m^2
        (about the frame origin without mass). nan where a parameter
        is not finite.
    violation : str
        The violated condition, in words; empty if all hold.
    """

    is_consistent: bool
    is_definite: bool
    min_eigenvalue: float
    principal_moments: FloatArray
    violation: str = ''


def check_body(parameters: ArrayLike, *, tolerance: float = RELATIVE_TOLERANCE) -> Consistency:
    """Check whether a rigid body can have these parameters; nothing is raised.

    Parameters
    ----------
    parameters : array_like, shape (10,)
        Inertial parameters of one body.
    tolerance : float
        Allowed violation, relative to the largest principal moment.

    Returns
    -------
    Consistency
        The result, with the violated condition in words.

    Examples
    --------
    >>> from robot_dynamics.model import check_body
    >>> check_body([1, 0, 0, 0, 0.1, 0, 0, 0.1, 0, 0.5]).violation
    'the principal moments break the triangle inequality I1 + I2 >= I3'
    """
    p = real_array(parameters, 'parameters')
    if p.shape != (10,):
        raise DimensionError(f'must have shape (10,), got {p.shape}', subject='parameters',
                             remedy='give the ten parameters of one body')
    if not np.all(np.isfinite(p)):
        return Consistency(False, False, float('nan'), np.full(3, np.nan),
                           'a parameter is not finite')
    eigenvalues = np.linalg.eigvalsh(pseudo_inertia(p))
    smallest = float(eigenvalues[0])
    tensor = inertia_matrix(p) if p[0] == 0.0 else com_from_parameters(p)[2]
    moments: FloatArray = np.linalg.eigvalsh(tensor).astype(np.float64)
    violation = _violation(p, moments, tolerance)
    # Rounding gives a zero eigenvalue either sign.
    definite = not violation and bool(smallest > 16.0 * _EPSILON * eigenvalues[-1])
    return Consistency(not violation, definite, smallest, moments, violation)


def project_to_consistent(parameters: ArrayLike, margin: float = 0.0) -> FloatArray:
    """Nearest parameters with all eigenvalues of the pseudo-inertia above a margin.

    The nearest point in the Frobenius norm of P: eigenvalues below the margin are
    raised to it. Parameters that satisfy the margin are returned unchanged.

    Parameters
    ----------
    parameters : array_like, shape (..., 10)
        Finite inertial parameters.
    margin : float
        Smallest eigenvalue allowed, >= 0.

    Returns
    -------
    ndarray, shape (..., 10)
        A copy, projected where needed.

    References
    ----------
    N. J. Higham, "Computing a nearest symmetric positive semidefinite matrix",
    Linear Algebra and its Applications 103, 1988, theorem 2.1.

    Examples
    --------
    >>> from robot_dynamics.model import check_body, project_to_consistent
    >>> nearest = project_to_consistent([1, 0, 0, 0, 0.1, 0, 0, 0.1, 0, 0.5])
    >>> check_body(nearest).is_consistent
    True
    """
    if not 0.0 <= margin < np.inf:
        raise ParameterError(f'must be zero or positive, got {margin}', subject='margin',
                             remedy='give the smallest eigenvalue allowed')
    p = np.array(finite_parameters(parameters))
    values, vectors = np.linalg.eigh(pseudo_inertia(p))
    outside = values[..., 0] < margin
    if np.any(outside):
        raised = np.maximum(values, margin)
        nearest = (vectors * raised[..., None, :]) @ np.swapaxes(vectors, -1, -2)
        p = np.where(outside[..., None], parameters_from_pseudo_inertia(nearest), p)
    return p


def finite_parameters(parameters: ArrayLike) -> FloatArray:
    """Parameters, shape (..., 10), after a check that all of them are finite."""
    p = real_array(parameters, 'parameters')
    if not np.all(np.isfinite(p)):
        raise InertiaError('contain NaN or inf', subject='parameters',
                           remedy='give the parameters of a body')
    return p


def _violation(p: FloatArray, moments: FloatArray, tolerance: float) -> str:
    """First condition that the parameters break, in words; empty if all hold."""
    mass = p[0]
    if mass < 0.0:
        return 'the mass is negative'
    if mass == 0.0:
        return 'there is inertia or first moment without mass' if np.any(p[1:]) else ''
    # The tensor about the centre of mass is a difference of tensors about the origin: the
    # tolerance includes the rounding of that difference.
    rounding = 16.0 * _EPSILON * np.max(np.abs(p[[4, 7, 9]]))
    slack = tolerance * np.max(np.abs(moments)) + rounding
    if moments[0] < -slack:
        return 'the inertia tensor about the centre of mass is not positive semi-definite'
    if moments[0] + moments[1] < moments[2] - slack:
        return 'the principal moments break the triangle inequality I1 + I2 >= I3'
    return ''
