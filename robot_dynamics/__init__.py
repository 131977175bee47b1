# SPDX-License-Identifier: Apache-2.0
"""Robot dynamics in regressor form, for torque control and identification with ROS 2.

The two names most programs need are loaded on first use, so that a node which
only wants the joint-state helpers does not pay for numba::

    from robot_dynamics import Dynamics, Robot
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__version__ = '0.1.0'

__all__ = ['Dynamics', 'Robot', '__version__']

if TYPE_CHECKING:
    from robot_dynamics.dynamics import Dynamics
    from robot_dynamics.model import Robot


def __getattr__(name: str):
    if name == 'Robot':
        from robot_dynamics.model import Robot
        return Robot
    if name == 'Dynamics':
        from robot_dynamics.dynamics import Dynamics
        return Dynamics
    raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
