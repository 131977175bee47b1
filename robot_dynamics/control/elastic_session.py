# SPDX-License-Identifier: Apache-2.0
"""``ElasticSession``: a session that hears of motors and leads the links behind springs."""

from __future__ import annotations

from robot_dynamics.control.elastic_pd import ElasticPDController
from robot_dynamics.control.session import ControlSession
from robot_dynamics.model.robot import FloatArray


class ElasticSession(ControlSession):
    """A control session whose states are those of motors, and whose references those of links.

    Poses that are held, and errors, are those of links at rest behind the springs: what is
    held sags no more when it is taken over, and in equilibrium there is no error but that
    of the links. While the arm moves, what springs give way to its acceleration is left out.

    Parameters
    ----------
    *arguments, **options
        As for `ControlSession`; the controller is an `ElasticPDController`.
    """

    controller: ElasticPDController

    @property
    def pose(self) -> FloatArray:
        """Where the links hang when the motors stand where they are, shape (n,)."""
        return self.controller.links_at_rest(self.monitor.q)
