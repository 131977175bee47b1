# SPDX-License-Identifier: Apache-2.0
"""The equations of motion of a robot and their regressors."""

from robot_dynamics.dynamics.equations import Dynamics
from robot_dynamics.dynamics.joint_terms import JOINT_TERMS
from robot_dynamics.dynamics.linearisation import LinearModel

__all__ = ['JOINT_TERMS', 'Dynamics', 'LinearModel']
