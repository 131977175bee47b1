# SPDX-License-Identifier: Apache-2.0
"""``FaultDetector``: which joint is faulty, or whether the arm is touched."""

from __future__ import annotations

from enum import Enum

import numpy as np

from robot_dynamics.control.checks import positive
from robot_dynamics.control.faults import detection_kernel
from robot_dynamics.control.faults.fault_isolator import FaultIsolator
from robot_dynamics.control.faults.motion_predictor import MotionPredictor
from robot_dynamics.control.faults.tolerances import Tolerances
from robot_dynamics.control.faults.unexplained import UnexplainedAcceleration

#: Time from an alarm to the decision between fault and contact. s.
WINDOW = 0.01
#: So much more must the second joint leave unexplained than the first for a decision, a state
#: and in variances; without it is waited for `PATIENCE` times as long.
LEAD = 3.0
PATIENCE = 3.0
#: A contact leaves more than one joint explains: more than so many variances, and more than
#: this share of what is seen, which may be an error of the model.
UNEXPLAINED = 1.33
SPREAD = 0.05


class Event(Enum):
    """What a detector has found; the name in lower case is what people are told."""

    NOTHING = 0
    #: Something is above its limit, since a moment.
    UNDECIDED = 1
    #: One joint explains it: its actuator.
    FAULT = 2
    #: None alone does: something touches the arm.
    CONTACT = 3


class FaultDetector:
    """Judge what a `control.faults.motion_predictor.MotionPredictor` does not explain.

    An effort of joint i that nobody commanded accelerates all joints, by row i of the inverse
    of M. Noise is in the velocities, each for itself. So each joint is weighed by how much
    likelier an effort of it alone makes what is seen, given both the noise and what is not
    known of the efforts (`control.faults.detection_kernel.weigh_window`): noise of one
    is none of the other. Several windows are judged, and all joints together, because a
    contact is in several.

    From the alarm on a `control.faults.fault_isolator.FaultIsolator` weighs which joint
    it is. A moment later, when one leads clearly, it is decided: an actuator fault where that
    joint explains what is seen, a contact where it does not. (A contact that one joint alone
    can feel, such as a twist of the last link about its axis, cannot be told from a fault of
    that joint.)

    Parameters
    ----------
    predictor : MotionPredictor
        What is judged.
    tolerances : Tolerances
        What a sound arm may show.
    window : float
        Time from alarm to decision (three times so long where no joint leads), and how long it
        must be quiet again for an event to be over. s.

    Attributes
    ----------
    tolerances : Tolerances
        May be exchanged.
    excess : ndarray, shape (n + 1,)
        Largest share of each joint over its limit, and of all together.
    """

    def __init__(self, predictor: MotionPredictor, tolerances: Tolerances, *,
                 window: float = WINDOW):
        n = predictor.velocity.size
        self._predictor = predictor
        self._unexplained = UnexplainedAcceleration(predictor)
        self._isolator = FaultIsolator(predictor)
        self.tolerances = tolerances
        self._window = positive('window', window, 's')
        self._judge = detection_kernel.judge.load()
        self._work = np.zeros((3, n, n))
        self._shares = np.zeros_like(tolerances.limit)
        self._whole = np.zeros_like(tolerances.whole)
        self.excess = np.zeros(n + 1)
        # When the event began; when something was last above its limit.
        self._begin = self._loud = -np.inf
        self._event, self._joint = Event.NOTHING, -1

    @property
    def event(self) -> Event:
        """What goes on."""
        return self._event

    @property
    def joint(self) -> int:
        """Where it is, -1 where nothing goes on; final with the decision."""
        return self._joint

    def update(self, now: float, *, counts: bool) -> Event:
        """Judge the last surprise of the predictor, and return what goes on.

        Parameters
        ----------
        now : float
            s.
        counts : bool
            Whether it tells anything, as the predictor has said.
        """
        unexplained, tolerances = self._unexplained, self.tolerances
        unexplained.update(counts=counts)
        if not counts:
            # What nobody can judge is not quiet.
            self._loud = now
            self._isolator.reset()
            return self._event
        self._isolator.remember()
        window = self._judge(unexplained.acceleration, self._predictor.inertia,
                             tolerances.noise, tolerances.effort, unexplained.slow,
                             tolerances.limit, tolerances.whole, self._work, self._shares,
                             self._whole, self.excess)
        if window >= 0:
            self._loud = now
        if self._event is Event.UNDECIDED:
            self._isolator.go_on(tolerances)
            self._decide(now)
        elif self._event is not Event.NOTHING:
            if now - self._loud > self._window:
                self._event, self._joint = Event.NOTHING, -1
        elif window >= 0:
            self._event, self._begin = Event.UNDECIDED, now
            self._isolator.begin(int(self._predictor.filter.lengths[window]), tolerances)
            self._joint = self._isolator.joint
        return self._event

    def reset(self) -> None:
        """Forget the past, and what goes on."""
        self._unexplained.reset()
        self._isolator.reset()
        self.excess[:] = 0.0
        self._event, self._joint = Event.NOTHING, -1

    def _decide(self, now: float) -> None:
        """Say which joint it is by now, and when it is time what goes on."""
        isolator, elapsed = self._isolator, now - self._begin
        self._joint = isolator.joint
        if elapsed >= self._window and (isolator.lead >= LEAD
                                        or elapsed >= PATIENCE * self._window):
            is_contact = isolator.left > UNEXPLAINED and isolator.share > SPREAD
            self._event = Event.CONTACT if is_contact else Event.FAULT
