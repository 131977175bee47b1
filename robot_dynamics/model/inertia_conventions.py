# SPDX-License-Identifier: Apache-2.0
"""Conversion of the inertial parameters of a body to and from other programs and papers.

This package has one form (`PARAMETER_SUFFIXES`)::

    [m, mx, my, mz, Jxx, Jxy, Jxz, Jyy, Jyz, Jzz]

with the tensor about the origin of the link frame. Other forms differ in three ways, which the
numbers do not show: order, reference point and axes of the tensor.

============  =============================================================  ======  =========
form          values                                                         about   axes
============  =============================================================  ======  =========
Pinocchio     m mx my mz Jxx Jxy Jyy Jxz Jyz Jzz                             origin  link
Khalil        Jxx Jxy Jxz Jyy Jyz Jzz mx my mz m (SymPyBotics, FIGAROH)      origin  link
Garofalo      m mx my mz Jxx Jyy Jzz Jxy Jxz Jyz                             origin  link
RTB           m, r, [Ixx Iyy Izz Ixy Iyz Ixz]                                com     link
MuJoCo        mass, ipos, iquat (w x y z), diaginertia                       com     principal
MuJoCo full   mass, ipos, fullinertia [Ixx Iyy Izz Ixy Ixz Iyz]              com     link
URDF          mass, xyz, rpy, [ixx ixy ixz iyy iyz izz]                      com     inertial
============  =============================================================  ======  =========

Everywhere Jxy is the entry of the tensor, minus the product of inertia. Forms about the origin are
permutations, so that a conversion and its inverse are exact; forms about the centre of mass are
converted to rounding precision. Functions take one body or a batch, shape (..., 10).

References
----------
Pinocchio: J. Carpentier et al., "The Pinocchio C++ library", SII 2019;
``Inertia::toDynamicParameters``. W. Khalil and E. Dombre, *Modeling,
Identification and Control of Robots*, 2002, section 9.2. G. Garofalo, C. Ott and
A. Albu-Schaeffer, "On the closed form computation of the dynamic matrices and
their differentiations", IROS 2013, eq. (9). P. Corke, *Robotics, Vision and
Control*, 2011, chapter 9. MuJoCo XML reference, ``body/inertial``. URDF
specification, ``link/inertial``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from robot_dynamics.errors import InertiaError
from robot_dynamics.model.arrays import FloatArray, shaped_array
from robot_dynamics.model.inertia import (
    com_from_parameters,
    finite_parameters,
    parameters_from_com,
)
from robot_dynamics.model.rotation import rotation_from_rpy, rotation_of_quaternion

# Indices into this package's order, for each place of another order.
_PINOCCHIO = np.array([0, 1, 2, 3, 4, 5, 7, 6, 8, 9])
_KHALIL = np.array([4, 5, 6, 7, 8, 9, 1, 2, 3, 0])
_GAROFALO = np.array([0, 1, 2, 3, 4, 7, 9, 5, 6, 8])

# (row, column) of each value of a six-vector.
_DIAGONAL_XY_YZ_XZ = ((0, 1, 2, 0, 1, 0), (0, 1, 2, 1, 2, 2))
_DIAGONAL_XY_XZ_YZ = ((0, 1, 2, 0, 0, 1), (0, 1, 2, 1, 2, 2))
_ROW_WISE = ((0, 0, 0, 1, 1, 2), (0, 1, 2, 1, 2, 2))


class ToolboxInertia(NamedTuple):
    """Robotics Toolbox, ``Link(m=, r=, I=)``: mass (...), kg, centre of mass (..., 3), m.

    ``I`` is [Ixx Iyy Izz Ixy Iyz Ixz] about the centre of mass, link axes, (..., 6), kg m^2.
    """

    m: FloatArray
    r: FloatArray
    I: FloatArray  # noqa: E741 (the Toolbox's own name)


class MujocoInertia(NamedTuple):
    """MuJoCo, compiled: ``body_mass, body_ipos, body_iquat, body_inertia``.

    Mass (...), kg; centre of mass (..., 3), m; principal axes as a unit quaternion
    (w, x, y, z), w >= 0, (..., 4); principal moments, descending, (..., 3), kg m^2.
    """

    mass: FloatArray
    ipos: FloatArray
    iquat: FloatArray
    diaginertia: FloatArray


class MujocoFullInertia(NamedTuple):
    """MuJoCo as written in MJCF, ``<inertial pos mass fullinertia>``.

    Mass (...), kg; centre of mass (..., 3), m; [Ixx Iyy Izz Ixy Ixz Iyz] about the centre
    of mass, body axes, (..., 6), kg m^2.
    """

    mass: FloatArray
    ipos: FloatArray
    fullinertia: FloatArray


class UrdfInertia(NamedTuple):
    """URDF: ``<inertial>`` with ``<origin xyz rpy>``, ``<mass>`` and ``<inertia>``.

    Mass (...), kg; centre of mass (..., 3), m; roll, pitch and yaw of the axes of the
    tensor in the link frame (..., 3), rad; [ixx ixy ixz iyy iyz izz] about the centre of
    mass in those axes, (..., 6), kg m^2.
    """

    mass: FloatArray
    xyz: FloatArray
    rpy: FloatArray
    inertia: FloatArray


def to_pinocchio(parameters: ArrayLike) -> FloatArray:
    """Parameters in the order of ``pinocchio.Inertia.toDynamicParameters``."""
    return shaped_array(parameters, (10,), 'parameters')[..., _PINOCCHIO]


def from_pinocchio(parameters: ArrayLike) -> FloatArray:
    """Parameters of this package from those in Pinocchio's order."""
    return shaped_array(parameters, (10,), 'parameters')[..., np.argsort(_PINOCCHIO)]


def to_khalil(parameters: ArrayLike) -> FloatArray:
    """Parameters in Khalil's order, also that of SymPyBotics and FIGAROH."""
    return shaped_array(parameters, (10,), 'parameters')[..., _KHALIL]


def from_khalil(parameters: ArrayLike) -> FloatArray:
    """Parameters of this package from those in Khalil's order."""
    return shaped_array(parameters, (10,), 'parameters')[..., np.argsort(_KHALIL)]


def to_garofalo(parameters: ArrayLike) -> FloatArray:
    """Parameters in the order of Garofalo, Ott and Albu-Schaeffer."""
    return shaped_array(parameters, (10,), 'parameters')[..., _GAROFALO]


def from_garofalo(parameters: ArrayLike) -> FloatArray:
    """Parameters of this package from those in Garofalo's order."""
    return shaped_array(parameters, (10,), 'parameters')[..., np.argsort(_GAROFALO)]


def to_toolbox(parameters: ArrayLike) -> ToolboxInertia:
    """Form of the Robotics Toolbox; see `ToolboxInertia`."""
    mass, com, tensor = com_from_parameters(parameters)
    return ToolboxInertia(mass, com, _six(tensor, _DIAGONAL_XY_YZ_XZ))


def from_toolbox(m: ArrayLike, r: ArrayLike, I: ArrayLike) -> FloatArray:  # noqa: E741
    """Parameters of ``Link(m=, r=, I=)``; see `ToolboxInertia`."""
    return parameters_from_com(m, r, _tensor(I, _DIAGONAL_XY_YZ_XZ, 'I'))


def to_mujoco(parameters: ArrayLike) -> MujocoInertia:
    """Principal form of MuJoCo's compiler; see `MujocoInertia`."""
    mass, com, tensor = com_from_parameters(finite_parameters(parameters))
    ascending, vectors = np.linalg.eigh(tensor)
    axes = vectors[..., ::-1]
    # Eigenvectors may come out left-handed; a rotation is needed.
    axes[..., :, 2] *= np.sign(np.linalg.det(axes))[..., None]
    x, y, z, w = Rotation.from_matrix(axes.reshape(-1, 3, 3)).as_quat().T
    quaternion = np.where(w < 0.0, -1.0, 1.0)[:, None] * np.stack([w, x, y, z], axis=-1)
    return MujocoInertia(mass, com, quaternion.reshape(*com.shape[:-1], 4), ascending[..., ::-1])


def from_mujoco(mass: ArrayLike, ipos: ArrayLike, iquat: ArrayLike,
                diaginertia: ArrayLike) -> FloatArray:
    """Parameters of a compiled MuJoCo body; see `MujocoInertia`."""
    quaternion = shaped_array(iquat, (4,), 'iquat')
    moments = shaped_array(diaginertia, (3,), 'diaginertia')
    if not np.all(np.linalg.norm(quaternion, axis=-1) > 0.0):
        raise InertiaError('must be finite and not zero', subject='iquat',
                           remedy='give a quaternion (w, x, y, z); (1, 0, 0, 0) does not turn')
    axes = rotation_of_quaternion(quaternion[..., [1, 2, 3, 0]])
    return parameters_from_com(mass, ipos, (axes * moments[..., None, :])
                               @ np.swapaxes(axes, -1, -2))


def to_mujoco_full(parameters: ArrayLike) -> MujocoFullInertia:
    """Form of MJCF's ``fullinertia``; see `MujocoFullInertia`."""
    mass, com, tensor = com_from_parameters(parameters)
    return MujocoFullInertia(mass, com, _six(tensor, _DIAGONAL_XY_XZ_YZ))


def from_mujoco_full(mass: ArrayLike, ipos: ArrayLike, fullinertia: ArrayLike) -> FloatArray:
    """Parameters of an MJCF ``<inertial>``; see `MujocoFullInertia`."""
    return parameters_from_com(mass, ipos,
                               _tensor(fullinertia, _DIAGONAL_XY_XZ_YZ, 'fullinertia'))


def to_urdf(parameters: ArrayLike) -> UrdfInertia:
    """Form of a URDF's ``<inertial>``, rpy zero; see `UrdfInertia`."""
    mass, com, tensor = com_from_parameters(parameters)
    return UrdfInertia(mass, com, np.zeros_like(com), _six(tensor, _ROW_WISE))


def from_urdf(mass: ArrayLike, xyz: ArrayLike, rpy: ArrayLike,
              inertia: ArrayLike) -> FloatArray:
    """Parameters of a URDF's ``<inertial>``; see `UrdfInertia`."""
    axes = rotation_from_rpy(rpy)
    tensor = _tensor(inertia, _ROW_WISE, 'inertia')
    return parameters_from_com(mass, xyz, axes @ tensor @ np.swapaxes(axes, -1, -2))


def _six(tensor: FloatArray, places: tuple[tuple[int, ...], tuple[int, ...]]) -> FloatArray:
    """Six entries of a symmetric tensor, shape (..., 6)."""
    rows, columns = places
    return tensor[..., rows, columns]


def _tensor(values: ArrayLike, places: tuple[tuple[int, ...], tuple[int, ...]],
            name: str) -> FloatArray:
    """Symmetric tensor with six given entries, shape (..., 3, 3)."""
    six = shaped_array(values, (6,), name)
    rows, columns = places
    tensor = np.empty(six.shape[:-1] + (3, 3))
    tensor[..., rows, columns] = six
    tensor[..., columns, rows] = six
    return tensor
