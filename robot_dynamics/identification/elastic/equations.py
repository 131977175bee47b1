# SPDX-License-Identifier: Apache-2.0
"""Filtered equations of links and motors: S^T Y Pi = S^T tau, row by row."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from robot_dynamics.elastic.dynamics import ElasticDynamics
from robot_dynamics.elastic.robot import ParameterOrder
from robot_dynamics.errors import RecordingError
from robot_dynamics.identification.elastic.dataset import ElasticDataset
from robot_dynamics.identification.elastic.encoders import regressor
from robot_dynamics.identification.filters import low_pass
from robot_dynamics.identification.least_squares import Equations
from robot_dynamics.identification.observation_matrix import ROWS_PER_CUTOFF, pieces_of, row_rate
from robot_dynamics.identification.signals import SignalSettings, motions_of
from robot_dynamics.model.arrays import BoolArray, FloatArray, IntArray
from robot_dynamics.model.robot import position_units

#: Motors slower than this fraction of their RMS speed stand still: the direction of their
#: friction is unknown.
STANDSTILL = 0.02
_FEWEST_ROWS = 8


class ElasticStack:
    """Equations of all measured coordinates.

    All columns and efforts are filtered by the same low-pass and kept at twice its cut-off, as
    for rigid robots (`robot_dynamics.identification.observation_matrix`).

    Parameters
    ----------
    dynamics : ElasticDynamics
        The robot.
    data : ElasticDataset
        The log.
    settings : SignalSettings
        Signal settings.
    order : {'paper', 'tables', 'bodies'}
        Order of the parameters.
    velocity_threshold : float, optional
        Equations with friction of a slower motor are not used, rad/s or m/s; `STANDSTILL` of
        its RMS speed if not given. Those of links have no friction.
    like : ElasticStack, optional
        Stack of the same log with the used rows to take over.

    Attributes
    ----------
    W : ndarray, shape (M, m, 14 n)
        Columns.
    y : ndarray, shape (M, m)
        Efforts.
    time : ndarray, shape (M,)
        s.
    used : ndarray of bool, shape (M, m)
        Equations that are used.
    rate : float
        Rows per second, Hz.
    """

    def __init__(self, dynamics: ElasticDynamics, data: ElasticDataset,
                 settings: SignalSettings, order: ParameterOrder = 'paper', *,
                 velocity_threshold: float | None = None, like: ElasticStack | None = None):
        self.data, self.settings = data, settings
        self.n, self._units = dynamics.n, position_units(dynamics.robot.links)
        encoders = data.encoders
        # Equations with friction, which depends on the speed of these coordinates.
        has_motor = np.array(encoders.motors)
        motors = np.where(has_motor, self.n, 0) + np.arange(self.n)
        self.rubbing = np.searchsorted(encoders.measured, motors)
        self.motions = motions_of(data.dataset, settings)
        self.rate = row_rate(self.motions[0].rate, settings.cutoff, ROWS_PER_CUTOFF)
        columns, efforts, times, speeds = [], [], [], []
        for motion in self.motions:
            for outer, kept in pieces_of(motion, settings.cutoff):
                Y = regressor(dynamics, encoders, motion.q[outer], motion.v[outer],
                              motion.a[outer], order)
                columns.append(self._filtered(Y, motion.rate)[kept])
                efforts.append(self._filtered(motion.effort[outer], motion.rate)[kept])
                times.append(motion.time[outer][kept])
                speeds.append(motion.v[outer][kept])
        if not times or sum(map(len, times)) < _FEWEST_ROWS:
            raise RecordingError(f'is too short: {sum(map(len, times))} equations a joint',
                                 subject=data.source, remedy='record some more seconds')
        self.W, self.y = np.concatenate(columns), np.concatenate(efforts)
        self.time = np.concatenate(times)
        self.used: BoolArray = like.used if like is not None else self._fast_enough(
            np.concatenate(speeds)[:, self.rubbing], velocity_threshold)

    def columns_of(self, joint: int, effects: Callable[[FloatArray], FloatArray]) -> FloatArray:
        """Filtered friction columns of a motor, (M, k), in the equations ``rubbing[joint]``.

        ``effects`` maps speeds, (N,), to the effort per unit of each parameter, (N, k).
        """
        place = self.rubbing[joint]
        return np.concatenate([
            low_pass(effects(motion.v[outer, place]), motion.rate, self.settings.cutoff,
                     self.settings.order)[kept]
            for motion in self.motions for outer, kept in pieces_of(motion, self.settings.cutoff)])

    def equations(self, columns: IntArray | None = None, W: FloatArray | None = None,
                  instruments: FloatArray | None = None) -> Equations:
        """Equations in use, one coordinate after the other.

        ``W`` and ``instruments``, (M, m, p), replace the columns of this stack; ``columns``
        selects parameters.
        """
        W = self.W if W is None else W
        columns = np.arange(W.shape[2]) if columns is None else columns
        order, coordinate = np.nonzero(self.used)
        # Rows sorted by coordinate, then time.
        sort = np.lexsort((order, coordinate))
        order, coordinate = order[sort], coordinate[sort]
        Z = None if instruments is None else instruments[order, coordinate][:, columns]
        return Equations(W[order, coordinate][:, columns], self.y[order, coordinate], coordinate,
                         order, Z)

    def _filtered(self, x: FloatArray, rate: float) -> FloatArray:
        flat = low_pass(x.reshape(len(x), -1), rate, self.settings.cutoff, self.settings.order)
        return flat.reshape(x.shape)

    def _fast_enough(self, speed: FloatArray, threshold: float | None) -> BoolArray:
        used = np.ones(self.y.shape, dtype=bool)
        limits = np.full(self.n, threshold) if threshold is not None else \
            STANDSTILL * np.sqrt(np.mean(speed**2, axis=0))
        used[:, self.rubbing] = np.abs(speed) >= limits
        for joint, place in enumerate(self.rubbing):
            if np.count_nonzero(used[:, place]) < _FEWEST_ROWS:
                raise RecordingError(
                    f'is faster than {limits[joint]:.3g} {self._units[joint]}/s in '
                    f'{np.count_nonzero(used[:, place])} equations only',
                    subject=self.data.dataset.joint_names[place],
                    remedy='move it faster, or lower velocity_threshold')
        return used
