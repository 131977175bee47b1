# SPDX-License-Identifier: Apache-2.0
"""Which kernels compute the equations of a robot.

Those for joints of one coordinate know that a row, a body and a joint are the same. Those
for any joints, ``kernels/general_...``, are imported, and so warmed up, only once there is
a robot that needs them.
"""

from __future__ import annotations

from typing import NamedTuple

from robot_dynamics.dynamics.kernels import kinematics, matrices, newton_euler, slotine_li
from robot_dynamics.dynamics.kernels.direct import DirectKernel
from robot_dynamics.dynamics.kernels.loading import Kernel
from robot_dynamics.model.robot import Robot


class KernelSet(NamedTuple):
    """Kernels by what they compute, for one sample or for the rows of ``many``."""

    inverse_dynamics: DirectKernel
    many_inverse_dynamics: Kernel
    matrices: DirectKernel
    many_matrices: Kernel
    slotine_li_regressor: DirectKernel
    slotine_li_regressors: Kernel
    adaptive_terms: DirectKernel
    many_adaptive_terms: Kernel
    poses_of_bodies: Kernel
    jacobians: Kernel


_SINGLE = KernelSet(
    newton_euler.inverse_dynamics, newton_euler.many_inverse_dynamics,
    matrices.matrices, matrices.many_matrices,
    slotine_li.slotine_li_regressor, slotine_li.slotine_li_regressors,
    slotine_li.adaptive_terms, slotine_li.many_adaptive_terms,
    kinematics.poses_of_bodies, kinematics.jacobians)


def kernels_for(robot: Robot) -> KernelSet:
    """Return the fastest kernels that can compute a robot."""
    return _SINGLE if robot.all_joints_1dof else _general()


def _general() -> KernelSet:
    from robot_dynamics.dynamics.kernels import (
        general_kinematics,
        general_matrices,
        general_newton_euler,
        general_slotine_li,
    )
    return KernelSet(
        general_newton_euler.inverse_dynamics, general_newton_euler.many_inverse_dynamics,
        general_matrices.matrices, general_matrices.many_matrices,
        general_slotine_li.slotine_li_regressor, general_slotine_li.slotine_li_regressors,
        general_slotine_li.adaptive_terms, general_slotine_li.many_adaptive_terms,
        general_kinematics.poses_of_bodies, general_kinematics.jacobians)
