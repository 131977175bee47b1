# SPDX-License-Identifier: Apache-2.0
"""``GainPlanner``: a thread that computes gains ahead while the control loop goes on.

What takes time are kernels that let go of Python's lock: the loop waits microseconds.
"""

from __future__ import annotations

import threading

from robot_dynamics.control.lq.gain_table import GainTable, nearest_knot
from robot_dynamics.control.lq.model import FeedforwardModel
from robot_dynamics.control.lq.rules import GainRule
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model.arrays import FloatArray

Motion = tuple[FloatArray, FloatArray, FloatArray]


class GainPlanner:
    """Computes the table of the trajectory last asked for.

    Parameters
    ----------
    rule : GainRule
        How; nobody else may use it.

    Attributes
    ----------
    failure : str
        Why the last table could not be computed; empty when it could.
    """

    def __init__(self, rule: GainRule):
        self.failure = ''
        # What has to be compiled must not be while a loop runs: a compiler keeps the lock.
        nearest_knot.load()
        self._rule = rule
        self._changed = threading.Condition()
        self._wanted: tuple[FeedforwardModel, Motion, float] | None = None
        self._done: GainTable | None = None
        self._asked = 0
        self._ends = False
        self._thread = threading.Thread(target=self._run, name='gain planner', daemon=True)
        self._thread.start()

    def plan(self, model: FeedforwardModel, motion: Motion, spacing: float) -> None:
        """Ask for the gains along a motion; what was asked for before is dropped.

        Parameters
        ----------
        model : FeedforwardModel
            Of what; it must not change, see `FeedforwardModel.snapshot`.
        motion : tuple of ndarrays q, v, a, shape (k, n) each
            The desired motion.
        spacing : float
            Time from one row to the next. s.
        """
        with self._changed:
            self._wanted, self._done = (model, motion, spacing), None
            self._asked += 1
            self._changed.notify()

    def take(self) -> GainTable | None:
        """Return a table that is new since the last call."""
        # An unlocked look: true for all calls but the few after a plan.
        if self._done is None:
            return None
        with self._changed:
            table, self._done = self._done, None
            return table

    def close(self) -> None:
        """End the thread."""
        with self._changed:
            self._ends = True
            self._changed.notify()
        self._thread.join()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._ends or self._wanted is not None)
                if self._ends:
                    return
                (model, motion, spacing), self._wanted = self._wanted, None
                asked = self._asked
            try:
                table, failure = GainTable.along(self._rule, model, *motion, spacing), ''
            except RobotDynamicsError as error:
                table, failure = None, str(error)
            with self._changed:
                self.failure = failure
                # Somebody may have asked for another one in the meantime.
                if asked == self._asked:
                    self._done = table
