# SPDX-License-Identifier: Apache-2.0
"""``FaultDetector``: which joint is faulty, or whether the arm is touched."""

from __future__ import annotations

from enum import Enum

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.control import detection_kernel
from robot_dynamics.control.checks import positive
from robot_dynamics.control.motion_predictor import MotionPredictor
from robot_dynamics.control.tolerances import Tolerances
from robot_dynamics.control.unexplained import UnexplainedAcceleration

FloatArray = NDArray[np.float64]

#: Time from an alarm to the decision between fault and contact. s.
WINDOW = 0.01


class Event(Enum):
    """What a detector has found; the name in lower case is what people are told."""

    NOTHING = detection_kernel.NOTHING
    #: Something is above its limit, since a moment.
    UNDECIDED = detection_kernel.UNDECIDED
    #: One joint explains it: its actuator.
    FAULT = detection_kernel.FAULT
    #: None alone does: something touches the arm.
    CONTACT = detection_kernel.CONTACT


class FaultDetector:
    """Judge what a `robot_dynamics.control.motion_predictor.MotionPredictor` does not explain.

    An effort of joint i that nobody commanded accelerates all joints, by row i of the inverse
    of M. Noise is in the velocities, each for itself. So each joint is weighed by how much
    likelier an effort of it alone makes what is seen, given both the noise and what is not
    known of the efforts (`robot_dynamics.control.detection_kernel.weigh_window`): joints
    whose axes are near each other's are told apart, and noise of one is none of the other.
    Several windows are judged, and all joints together, because a contact is in several.

    A moment after an alarm, when the likeliest joint leads clearly, it is decided: an actuator
    fault where its effort explains what is seen, a contact where it does not. (A contact that
    one joint alone can feel, such as a twist of the last link about its axis, cannot be told
    from a fault of that joint.)

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
        self.tolerances = tolerances
        self._window = positive('window', window, 's')
        self._judge = detection_kernel.judge.load()
        self._work = np.zeros((5, n, n))
        self._shares = np.zeros_like(tolerances.limit)
        self._whole = np.zeros_like(tolerances.whole)
        self.excess = np.zeros(n + 1)
        self._since, self._leads = np.full(2, -np.inf), np.zeros(2)
        self._event = np.array([-1, detection_kernel.NOTHING], dtype=np.int64)

    @property
    def event(self) -> Event:
        """What goes on."""
        return Event(int(self._event[1]))

    @property
    def joint(self) -> int:
        """Where it is, -1 where nothing goes on; final with the decision."""
        return int(self._event[0])

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
            self._since[1] = now
            return self.event
        self._judge(unexplained.acceleration, self._predictor.inertia, tolerances.noise,
                    tolerances.effort, unexplained.slow, tolerances.limit, tolerances.whole,
                    self._predictor.coulomb, now, self._window, self._work, self._shares,
                    self._whole, self.excess, self._since, self._leads, self._event)
        return self.event

    def reset(self) -> None:
        """Forget the past, and what goes on."""
        self._unexplained.reset()
        self.excess[:] = 0.0
        self._event[:] = -1, detection_kernel.NOTHING
