# SPDX-License-Identifier: Apache-2.0
"""``ThresholdLearner``: how large the residuals of a sound arm are, and its friction.

The largest part of what a residual shows without fault is friction that the description
does not have. It goes with velocity and direction, as the model's own, so that a run
without faults tells it by least squares; what is left of the residual then is noise, and
thresholds can be as low as that.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.control.checks import positive
from robot_dynamics.control.momentum_observer import MomentumObserver
from robot_dynamics.control.residual_scales import ResidualScales, ScaleSettings
from robot_dynamics.errors import ParameterError
from robot_dynamics.model.robot import Robot

FloatArray = NDArray[np.float64]

#: Threshold over the largest mean seen. Means of noise have long tails: in some minutes one
#: sees a tenth more than in the minutes before.
MARGIN = 1.35
#: Least threshold of a joint that moves, as a share of that at rest. Where friction dwarfs noise,
#: as in a wrist, one that turns round a moment before it is expected shows a little of it.
FLOOR = 0.05
#: Time for which a joint has to move until its friction is known. s.
FRICTION_TIME = 3.0
#: Time between two estimates of the friction, in residuals.
INTERVAL = 50
#: Pull of the friction towards the description, as a share of what speaks against it: a joint
#: that always moves at one speed does not tell one kind of friction from the other.
PULL = 1e-3


class ThresholdLearner:
    """Learn thresholds and friction from a run without faults.

    Parameters
    ----------
    robot : Robot
        The arm, with the friction that its description has.
    period : float
        Time between residuals. s.
    settings : ScaleSettings, optional
        What is judged of residuals.
    margin : float
        Threshold over the largest mean seen.

    Attributes
    ----------
    samples : int
        How many residuals have been seen.
    """

    def __init__(self, robot: Robot, period: float, settings: ScaleSettings | None = None, *,
                 margin: float = MARGIN):
        self._margin = positive('margin', margin)
        if self._margin < 1.0:
            raise ParameterError(f'is {margin:g}', subject='margin',
                                 remedy='give at least 1: less than what a sound arm shows '
                                        'raises false alarms')
        n = robot.n
        self._period = period
        self._least = -np.stack([robot.damping, robot.friction])
        self._as_described, self._corrected = (_Track(n, period, settings) for _ in range(2))
        # Of each joint: sums of what friction would show times itself, and times the residual.
        self._squares, self._products = np.zeros((n, 2, 2)), np.zeros((n, 2))
        self._moved = np.zeros(n)
        self._friction = np.zeros((2, n))
        self.samples = 0

    def update(self, observer: MomentumObserver, v: FloatArray) -> None:
        """Take the residual of an observer that has the friction of the description.

        Parameters
        ----------
        observer : MomentumObserver
            After its update.
        v : ndarray, shape (n,)
            Measured velocity. rad/s or m/s.
        """
        residual, basis = observer.residual, observer.friction_residual
        self._as_described.update(residual, observer.inertia, v)
        # With friction D v + F sign(v) beyond the model r = D b_v + F b_F.
        self._corrected.update(residual - np.sum(self._friction * basis, axis=0),
                               observer.inertia, v)
        self._as_described.note(True)
        self._corrected.note(self._is_known)
        self._fit(residual, basis, self._as_described.scales.moving)
        self.samples += 1

    def begin_anew(self) -> None:
        """Take note of a gap: what comes next has nothing to do with what was."""
        self._as_described.scales.reset()
        self._corrected.scales.reset()

    @property
    def friction(self) -> FloatArray:
        """Viscous and Coulomb friction beyond the description, shape (2, n).

        Zero where a joint has hardly moved. N m s/rad or N s/m, and N m or N.
        """
        return np.where(self._is_known, self._friction, 0.0)

    @property
    def thresholds(self) -> FloatArray:
        """Thresholds with that friction, shape (2, 2, w, n): in N m or N, and per inertia.

        Where a joint was never slow, or never moved, those of the other kind count for both.

        Raises
        ------
        ParameterError
            Where nothing was learnt, or a joint has shown no residual at all.
        """
        largest = np.where(self._is_known, self._corrected.largest, self._as_described.largest)
        largest = np.where(largest > 0.0, largest, largest[:, ::-1])
        if not np.all(largest > 0.0):
            raise ParameterError('showed no residual of every joint', subject='the run to learn '
                                 'from', remedy='let the arm move all its joints, without '
                                                'faults, for a minute or more')
        largest[:, 1] = np.maximum(largest[:, 1], FLOOR * largest[:, 0])
        return self._margin * largest

    @property
    def _is_known(self) -> FloatArray:
        """Of which joints friction is known."""
        return self._moved >= FRICTION_TIME

    def _fit(self, residual: FloatArray, basis: FloatArray, moving: FloatArray) -> None:
        """Estimate friction by least squares, from joints that move."""
        shown = (basis * moving).T
        self._squares += shown[:, :, None] * shown[:, None, :]
        self._products += shown * residual[:, None]
        self._moved += self._period * moving
        if self.samples % INTERVAL == 0:
            pulled = self._squares * (1.0 + PULL * np.eye(2)) + 1e-12 * np.eye(2)
            solved = np.linalg.solve(pulled, self._products[:, :, None])[:, :, 0].T
            self._friction = np.maximum(solved, self._least)


class _Track:
    """Scales of a residual, and the largest seen of them, absolute and per inertia."""

    def __init__(self, n: int, period: float, settings: ScaleSettings | None):
        self.scales = ResidualScales(n, period, settings)
        self.largest = np.zeros((2, 2, *self.scales.means.shape))

    def update(self, residual: FloatArray, inertia: FloatArray, v: FloatArray) -> None:
        """Take a residual."""
        self.scales.update(np.ascontiguousarray(residual), inertia, v)

    def note(self, counts: FloatArray | bool) -> None:
        """Take the means of joints that count."""
        scales = self.scales
        for kind in (0, 1):
            of_kind = scales.means * ((scales.moving == kind) & counts)
            np.fmax(self.largest[0, kind], of_kind, out=self.largest[0, kind])
            with np.errstate(divide='ignore', invalid='ignore'):
                per_inertia = np.where(scales.inertia > 0.0, of_kind / scales.inertia, 0.0)
            np.fmax(self.largest[1, kind], per_inertia, out=self.largest[1, kind])
