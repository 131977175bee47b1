# SPDX-License-Identifier: Apache-2.0
"""Control session of an arm with elastic joints: states of the motors, references of the links."""

from __future__ import annotations

import math

from robot_dynamics.control.laws.elastic_pd import ElasticPDController
from robot_dynamics.control.session.session import ControlSession
from robot_dynamics.control.session.supervisor import Finding
from robot_dynamics.model.arrays import FloatArray


class ElasticSession(ControlSession):
    """A control session with states of motors and references of links.

    Held poses and errors are those of links at rest behind the springs: the arm does not sag
    further when it is taken over, and in equilibrium the only error is that of the links. The
    deflection by the acceleration of a moving arm is neglected.

    While too many states are older, or farther apart, than the longest delay of a stable loop
    (`ElasticGainReport.longest_delay`), feedback would excite the springs: the session stays safe,
    with the `patient_damping` of the controller.

    Parameters
    ----------
    *arguments, **options
        As for `ControlSession`; the controller is an `ElasticPDController`.

    Examples
    --------
    >>> from robot_dynamics import Robot
    >>> from robot_dynamics.control import (
    ...     ElasticPDController, ElasticSession, JointStateMonitor, SessionSettings)
    >>> from robot_dynamics.elastic.robot import ElasticRobot
    >>> links = Robot.from_urdf('planar_2r')
    >>> motors = [f'motor_{name}' for name in links.joint_names]
    >>> controller = ElasticPDController(ElasticRobot.from_yaml('planar_2r', links))
    >>> session = ElasticSession(links, controller, SessionSettings(period=0.002),
    ...                          monitor=JointStateMonitor.for_robot(links, motors))
    >>> command = session.on_joint_state(1.0, 1.0, motors, [-0.4, 0.7], [0.0, 0.0])
    >>> session.mode.value
    'holding'
    """

    controller: ElasticPDController

    @property
    def pose(self) -> FloatArray:
        """Equilibrium of the links at the present motor positions, shape (n,), rad or m."""
        return self.controller.links_at_rest(self.monitor.q)

    def _supervise(self) -> Finding | None:
        # The motors are moved by their springs, too: obedience is not judged.
        self._obeys_until = -math.inf
        finding = super()._supervise()
        self.controller.is_patient = self.lateness.is_late
        return finding
