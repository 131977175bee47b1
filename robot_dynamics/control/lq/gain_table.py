# SPDX-License-Identifier: Apache-2.0
"""Gains along a known trajectory, computed by a thread beside the control loop.

The compiled kernels release the GIL, so that the loop waits only microseconds.
"""

from __future__ import annotations

import threading

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.control.checks import positive
from robot_dynamics.control.feedback.loaded_model import FeedforwardModel
from robot_dynamics.control.lq.rules import GainRule
from robot_dynamics.dynamics.kernels.loading import kernel
from robot_dynamics.errors import DimensionError, RobotDynamicsError, TrajectoryError
from robot_dynamics.model.arrays import FloatArray, real_array

#: Number of knots after the last one among which the next is searched.
REACH = 64
#: Largest distance of a motion from the knots of its trajectory, in addition to the distance
#: between knots: gains hardly change over it. rad.
CLOSE = 1e-4
Motion = tuple[FloatArray, FloatArray, FloatArray]


class GainTable:
    """Gains (k, n, 2 n) or (k, n, 3 n) at the knots of a trajectory, found by the desired motion.

    It has no clock. The desired motion determines the position on the trajectory, so that lost
    samples and a late start have no effect. The table has no gain for a motion off the trajectory.
    """

    def __init__(self, q: ArrayLike, v: ArrayLike, gains: ArrayLike, spacing: float):
        self.q, self.v = _contiguous(q, 'q'), _contiguous(v, 'v')
        self.gains = _contiguous(gains, 'gains')
        self.spacing = positive('spacing', spacing, 's')
        knots, n = self.q.shape if self.q.ndim == 2 else (0, 0)
        if knots == 0 or self.v.shape != (knots, n) \
                or self.gains.shape not in ((knots, n, 2 * n), (knots, n, 3 * n)):
            raise DimensionError('must have shapes (k, n), (k, n) and (k, n, 2 n), got '
                                 f'{self.q.shape}, {self.v.shape} and {self.gains.shape}',
                                 subject='q, v and gains',
                                 remedy='give (k, n, 3 n) with gains of the integral')
        if not all(np.all(np.isfinite(x)) for x in (self.q, self.v, self.gains)):
            raise TrajectoryError('contains NaN or inf', subject='trajectory of a gain table',
                                  remedy='give finite motions')
        steps = np.abs(np.diff(self.q, axis=0)).sum(axis=1) \
            + self.spacing * np.abs(np.diff(self.v, axis=0)).sum(axis=1)
        self._close = CLOSE + float(steps.max(initial=0.0))
        self._knot = 0
        self._find = nearest_knot.load()

    @classmethod
    def along(cls, rule: GainRule, model: FeedforwardModel, q: ArrayLike, v: ArrayLike,
              a: ArrayLike, spacing: float) -> GainTable:
        """Compute the gains along a motion, shape (k, n) each, with rows `spacing` apart, s."""
        q, v, a = (_contiguous(x, name) for x, name in ((q, 'q'), (v, 'v'), (a, 'a')))
        if not q.size:
            raise TrajectoryError('has no points', subject='trajectory of a gain table',
                                  remedy='give one row of q, v and a at least')
        return cls(q, v, rule.gains_along(model.linearise(q, v, a), spacing), spacing)

    def find(self, q_d: FloatArray, v_d: FloatArray) -> FloatArray | None:
        """Gain at the desired motion, None off the trajectory.

        The search goes forward from the last knot, then over the whole table.
        """
        q_d, v_d = _contiguous(q_d, 'q_d'), _contiguous(v_d, 'v_d')
        if q_d.shape != self.q.shape[1:] or v_d.shape != self.q.shape[1:]:
            raise DimensionError(f'must have shape {self.q.shape[1:]}, got {q_d.shape} and '
                                 f'{v_d.shape}', subject='q_d and v_d',
                                 remedy='give the desired motion of this robot')
        knot = self._look(q_d, v_d, self._knot, REACH)
        if knot < 0:
            knot = self._look(q_d, v_d, 0, len(self.q))
            if knot < 0:
                return None
        self._knot = knot
        return self.gains[knot]

    def _look(self, q_d: FloatArray, v_d: FloatArray, start: int, reach: int) -> int:
        """Index of the nearest knot within reach, or -1."""
        knot, distance = self._find(self.q, self.v, q_d, v_d, self.spacing, start, reach)
        # Written so that NaN is too far.
        return knot if distance <= self._close else -1


@kernel('Tuple((i8, f8))(f8[:, ::1], f8[:, ::1], f8[::1], f8[::1], f8, i8, i8)',
        on_demand=True, nogil=True)
def nearest_knot(q, v, q_d, v_d, spacing, start, reach):
    """The last of the nearest knots within reach, and its distance."""
    best, least = start, np.inf
    for k in range(start, min(start + reach, q.shape[0])):
        distance = 0.0
        for i in range(q_d.size):
            distance += abs(q[k, i] - q_d[i]) + spacing * abs(v[k, i] - v_d[i])
        if distance <= least:
            best, least = k, distance
    return best, least


def _contiguous(value: ArrayLike, name: str) -> FloatArray:
    return np.ascontiguousarray(real_array(value, name))


class GainPlanner:
    """Thread that computes the gain table of the trajectory last requested.

    The rule must not be used elsewhere. `failure` is the reason why the last table could not be
    computed.
    """

    def __init__(self, rule: GainRule):
        self.failure = ''
        # Compiled before the loop runs, because the compiler holds the GIL.
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
        """Request the gains along a motion with rows `spacing` apart, s; drops earlier requests.

        The model must not change, see `FeedforwardModel.snapshot`.
        """
        with self._changed:
            self._wanted, self._done = (model, motion, spacing), None
            self._asked += 1
            self._changed.notify()

    def take(self) -> GainTable | None:
        """The table computed since the last call, or None."""
        # Checked without the lock first: most calls end here.
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
                if self._ends or self._wanted is None:
                    return
                (model, (q, v, a), spacing), self._wanted = self._wanted, None
                asked = self._asked
            try:
                table: GainTable | None = GainTable.along(self._rule, model, q, v, a, spacing)
                failure = ''
            except RobotDynamicsError as error:
                table, failure = None, str(error)
            with self._changed:
                self.failure = failure
                # Another table may have been requested in the meantime.
                if asked == self._asked:
                    self._done = table
