# SPDX-License-Identifier: Apache-2.0
"""Whether inertial parameters can belong to a rigid body: the 4x4 pseudo-inertia.

A set of ten parameters belongs to some distribution of positive mass exactly
when its pseudo-inertia matrix::

    P = [[Sigma, h], [h^T, m]],   Sigma = 1/2 tr(J) 1 - J

is positive semi-definite. Positive definiteness of the tensor alone is weaker:
it misses the triangle inequality of the principal moments.

References
----------
P. M. Wensing, S. Kim and J.-J. E. Slotine, "Linear matrix inequalities for
physically consistent inertial parameter identification: a statistical
perspective on the mass distribution", IEEE Robotics and Automation Letters
3(1), 2018, eqs. (7)-(10).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.errors import DimensionError, InertiaError, ParameterError
from robot_dynamics.model.arrays import FloatArray, real_array
from robot_dynamics.model.inertia import (
    com_from_parameters,
    inertia_matrix,
    parameters_from_moments,
)

#: Relative violation below which a body still counts as possible: a thin plate
#: lies exactly on the boundary, and rounding must not push it out.
RELATIVE_TOLERANCE = 1e-9

_EPSILON = np.finfo(np.float64).eps


@dataclass(frozen=True, eq=False)
class Consistency:
    """The verdict on one body.

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
        (about the frame origin where there is no mass). nan where a parameter
        is not finite.
    violation : str
        The condition that is broken, in words; empty where none is.
    """

    is_consistent: bool
    is_definite: bool
    min_eigenvalue: float
    principal_moments: FloatArray
    violation: str = ''


def pseudo_inertia(parameters: ArrayLike) -> FloatArray:
    """Return the pseudo-inertia matrix P = integral of [x; 1] [x; 1]^T dm.

    Parameters
    ----------
    parameters : array_like, shape (..., 10)
        Inertial parameters.

    Returns
    -------
    ndarray, shape (..., 4, 4)
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
    """Return the inertial parameters of a pseudo-inertia matrix: J = tr(Sigma) 1 - Sigma.

    Parameters
    ----------
    matrix : array_like, shape (..., 4, 4)
        Pseudo-inertia; its symmetric part counts.

    Returns
    -------
    ndarray, shape (..., 10)
        Inertial parameters.
    """
    P = real_array(matrix, 'pseudo-inertia')
    if P.shape[-2:] != (4, 4):
        raise DimensionError(f'has shape {P.shape}, not (..., 4, 4)', subject='pseudo-inertia',
                             remedy='give matrices of four rows and columns')
    sigma = P[..., :3, :3]
    trace = np.trace(sigma, axis1=-2, axis2=-1)[..., None, None]
    first_moment = 0.5 * (P[..., :3, 3] + P[..., 3, :3])
    return parameters_from_moments(P[..., 3, 3], first_moment, trace * np.eye(3) - sigma)


def check_body(parameters: ArrayLike, *, tolerance: float = RELATIVE_TOLERANCE) -> Consistency:
    """Say whether a rigid body can have these parameters, and if not, what is broken.

    Parameters
    ----------
    parameters : array_like, shape (10,)
        Inertial parameters of one body.
    tolerance : float
        Violation, relative to the largest principal moment, that is forgiven.

    Returns
    -------
    Consistency
        The verdict.
    """
    p = real_array(parameters, 'parameters')
    if p.shape != (10,):
        raise DimensionError(f'has shape {p.shape}, not (10,)', subject='parameters',
                             remedy='give the ten parameters of one body')
    if not np.all(np.isfinite(p)):
        return Consistency(False, False, float('nan'), np.full(3, np.nan),
                           'a parameter is not finite')
    eigenvalues = np.linalg.eigvalsh(pseudo_inertia(p))
    smallest = float(eigenvalues[0])
    moments = _principal_moments(p)
    violation = _violation(p, moments, tolerance)
    # A zero eigenvalue comes out of rounding with either sign.
    definite = not violation and bool(smallest > 16.0 * _EPSILON * eigenvalues[-1])
    return Consistency(not violation, definite, smallest, moments, violation)


def project_to_consistent(parameters: ArrayLike, margin: float = 0.0) -> FloatArray:
    """Return the nearest parameters whose pseudo-inertia has no eigenvalue below a margin.

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
    """
    if not 0.0 <= margin < np.inf:
        raise ParameterError(f'is {margin}', subject='margin', remedy='give zero or more')
    p = np.array(finite_parameters(parameters))
    values, vectors = np.linalg.eigh(pseudo_inertia(p))
    outside = values[..., 0] < margin
    if np.any(outside):
        raised = np.maximum(values, margin)
        nearest = (vectors * raised[..., None, :]) @ np.swapaxes(vectors, -1, -2)
        p = np.where(outside[..., None], parameters_from_pseudo_inertia(nearest), p)
    return p


def finite_parameters(parameters: ArrayLike) -> FloatArray:
    """Return parameters, shape (..., 10), after a check that all of them are finite."""
    p = real_array(parameters, 'parameters')
    if not np.all(np.isfinite(p)):
        raise InertiaError('a parameter is not finite', subject='parameters',
                           remedy='give the parameters of a body')
    return p


def _principal_moments(p: FloatArray) -> FloatArray:
    """Return the ascending principal moments about the centre of mass, or the origin without."""
    tensor = inertia_matrix(p) if p[0] == 0.0 else com_from_parameters(p)[2]
    moments: FloatArray = np.linalg.eigvalsh(tensor).astype(np.float64)
    return moments


def _violation(p: FloatArray, moments: FloatArray, tolerance: float) -> str:
    """Name the first condition that the parameters break; empty if they break none."""
    mass = p[0]
    if mass < 0.0:
        return 'the mass is negative'
    if mass == 0.0:
        return 'there is inertia or first moment without mass' if np.any(p[1:]) else ''
    # The tensor about the centre of mass is a difference of tensors about the
    # origin: what that difference rounds away is forgiven too.
    rounding = 16.0 * _EPSILON * np.max(np.abs(p[[4, 7, 9]]))
    slack = tolerance * np.max(np.abs(moments)) + rounding
    if moments[0] < -slack:
        return 'the inertia tensor about the centre of mass is not positive semi-definite'
    if moments[0] + moments[1] < moments[2] - slack:
        return 'the principal moments break the triangle inequality I1 + I2 >= I3'
    return ''
