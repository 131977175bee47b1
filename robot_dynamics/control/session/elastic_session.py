# SPDX-License-Identifier: Apache-2.0
"""Control session of an arm with elastic joints: states of the motors, references of the links."""

from __future__ import annotations

from typing import Any

from robot_dynamics.control.laws.elastic_pd import ElasticPDController
from robot_dynamics.control.session.modes import Cause, Mode
from robot_dynamics.control.session.session import ControlSession
from robot_dynamics.model.arrays import FloatArray

#: States over which late ones are counted; share of late states at which the session goes
#: safe, and share at which it returns. The damping of the springs covers single late states.
_COUNTED, _TOO_MANY, _FEW = 50, 0.2, 0.05


class ElasticSession(ControlSession):
    """A control session with states of motors and references of links.

    Held poses and errors are those of links at rest behind the springs: the arm does not sag
    further when it is taken over, and in equilibrium the only error is that of the links. The
    deflection by the acceleration of a moving arm is neglected.

    The session goes safe where too many states are older, or farther apart, than the longest delay
    of a stable loop (`ElasticGainReport.longest_delay`): the feedback would excite the springs.
    While that lasts it stays safe, with the `patient_damping` of the controller.

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

    def __init__(self, *arguments: Any, **options: Any):
        super().__init__(*arguments, **options)
        self._late_share = 0.0

    @property
    def pose(self) -> FloatArray:
        """Equilibrium of the links at the present motor positions, shape (n,), rad or m."""
        return self.controller.links_at_rest(self.monitor.q)

    def _change_mode(self, silence: float) -> None:
        self._count_lateness()
        if not self.controller.is_patient:
            super()._change_mode(silence)
        elif self.mode is Mode.SAFE:
            self._repeats_left, self._good_states = self.settings.safe_repeats, 0
        else:
            self._go_safe(Cause.ANSWERS_LATE, f'{self._lateness():.4f} s, it is stable up to '
                                              f'{self.controller.report.longest_delay:.4f} s')

    def _lateness(self) -> float:
        """Age of the last state plus its delay beyond one period, s."""
        monitor = self.monitor
        return self._last_receive - monitor.stamp + max(0.0, monitor.dt - self.settings.period)

    def _count_lateness(self) -> None:
        """Update the share of late states and the damping of the safe command."""
        is_late = self._lateness() > self.controller.report.longest_delay
        self._late_share += (is_late - self._late_share) / _COUNTED
        was_patient = self.controller.is_patient
        self.controller.is_patient = self._late_share > (_FEW if was_patient else _TOO_MANY)
