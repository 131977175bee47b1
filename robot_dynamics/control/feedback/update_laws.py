# SPDX-License-Identifier: Apache-2.0
"""The update laws by name, and what each is made of.

============  ============================================================================
name          what it does with Yr^T s
============  ============================================================================
gradient      Gamma Yr^T s, as Slotine and Li wrote it; within a ball about the prior
projection    the same, kept at bodies, with leakage back to the prior
dead_zone     the same, kept at bodies, deaf to small s
composite     kept at bodies, and the prediction error added
memory        composite, and the memory of past motion
natural       on pseudo-inertias, in the metric of the estimate, prediction error added
natural_memory  natural, and the memory of past motion
============  ============================================================================

References
----------
J.-J. E. Slotine and W. Li, "On the adaptive control of robot manipulators", International
Journal of Robotics Research 6(3), 1987. "Composite adaptive control of robot manipulators",
Automatica 25(4), 1989.

P. A. Ioannou and P. V. Kokotovic, "Instability analysis and improvement of robustness of
adaptive control", Automatica 20(5), 1984: leakage and dead zone.
"""

from __future__ import annotations

from dataclasses import dataclass

from robot_dynamics.errors import ParameterError


@dataclass(frozen=True)
class UpdateLaw:
    """What an update law is made of.

    Parameters
    ----------
    keeps_bodies : bool
        Whether every body's estimate stays one that a body can have.
    leaks : bool
        Whether the estimates return to the prior.
    has_dead_zone : bool
        Whether a small s teaches nothing.
    is_composite : bool
        Whether the prediction error is learnt from.
    remembers : bool
        Whether past motion is.
    is_natural : bool
        Whether the metric is that of the estimate.
    """

    keeps_bodies: bool = True
    leaks: bool = False
    has_dead_zone: bool = False
    is_composite: bool = False
    remembers: bool = False
    is_natural: bool = False


UPDATE_LAWS = {
    'gradient': UpdateLaw(keeps_bodies=False),
    'projection': UpdateLaw(leaks=True),
    'dead_zone': UpdateLaw(has_dead_zone=True),
    'composite': UpdateLaw(is_composite=True),
    'memory': UpdateLaw(is_composite=True, remembers=True),
    'natural': UpdateLaw(is_composite=True, is_natural=True),
    'natural_memory': UpdateLaw(is_composite=True, is_natural=True, remembers=True),
}


def update_law(name: str) -> UpdateLaw:
    """Return the law of a name.

    Raises
    ------
    ParameterError
        Where there is none.
    """
    if not isinstance(name, str) or name not in UPDATE_LAWS:
        raise ParameterError(f'is {name!r}, which is no update law', subject='law',
                             remedy='choose among ' + ', '.join(UPDATE_LAWS))
    return UPDATE_LAWS[name]
