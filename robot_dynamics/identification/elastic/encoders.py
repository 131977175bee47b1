# SPDX-License-Identifier: Apache-2.0
"""Measured links and motors, and the parameters that they determine.

If a joint has both encoders, its link and its motor have an equation each (Zollo et al.,
"Identification of Dynamic Parameters for Robots with Elastic Joints", eq. 35). If one encoder is
missing, the spring is taken as rigid, and both equations are combined: with y the measured
coordinates and qbar = S y,

    S^T Y(S y, S y', S y'') Pi = S^T tau

Each row of S has a single entry of 1. The base parameters follow from this regressor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robot_dynamics.dynamics.base_parameters import (
    COMBINED,
    INDEPENDENT,
    UNIDENTIFIABLE,
    BaseParameters,
    base_parameters,
)
from robot_dynamics.elastic.dynamics import ElasticDynamics
from robot_dynamics.elastic.robot import ElasticRobot, ParameterOrder
from robot_dynamics.errors import DimensionError, ParameterError
from robot_dynamics.model.arrays import FloatArray, IntArray

# Number of random regressor rows per column.
_ROWS_PER_COLUMN = 5


@dataclass(frozen=True)
class Encoders:
    """Links and motors with an encoder.

    Parameters
    ----------
    links, motors : tuple of bool, length n
        One entry per joint; each joint has at least one encoder.

    Examples
    --------
    >>> from robot_dynamics.identification import Encoders
    >>> Encoders((True, False), (True, True)).measured.tolist()
    [0, 2, 3]
    """

    links: tuple[bool, ...]
    motors: tuple[bool, ...]

    def __post_init__(self) -> None:
        if len(self.links) != len(self.motors) or not self.links:
            raise DimensionError('must have the same length, got '
                                 f'{len(self.links)} and {len(self.motors)}',
                                 subject='encoders of links and motors',
                                 remedy='give one entry for each joint')
        for joint, (link, motor) in enumerate(zip(self.links, self.motors, strict=True), 1):
            if not (link or motor):
                raise ParameterError('has no encoder', subject=f'joint {joint}',
                                     remedy='measure its link, its motor, or both')

    @classmethod
    def both(cls, n: int) -> Encoders:
        """Encoders on links and motors of n joints."""
        return cls((True,) * n, (True,) * n)

    @classmethod
    def of_links(cls, n: int) -> Encoders:
        """Encoders on links alone."""
        return cls((True,) * n, (False,) * n)

    @classmethod
    def of_motors(cls, n: int) -> Encoders:
        """Encoders on motors alone."""
        return cls((False,) * n, (True,) * n)

    @property
    def n(self) -> int:
        """Number of joints."""
        return len(self.links)

    @property
    def measured(self) -> IntArray:
        """Indices of the measured coordinates, links before motors, shape (m,)."""
        return np.flatnonzero(self.links + self.motors)

    @property
    def selection(self) -> FloatArray:
        """S in qbar = S y, shape (2 n, m)."""
        n, measured = self.n, self.measured
        S = np.zeros((2 * n, len(measured)))
        has = np.array(self.links + self.motors)
        for coordinate in range(2 * n):
            seen = coordinate if has[coordinate] else (coordinate + n) % (2 * n)
            S[coordinate, np.searchsorted(measured, seen)] = 1.0
        return S

    def names(self, robot: ElasticRobot) -> tuple[str, ...]:
        """Names of the measured coordinates."""
        return tuple(robot.coordinate_names[k] for k in self.measured)


def regressor(dynamics: ElasticDynamics, encoders: Encoders, y: FloatArray, v: FloatArray,
              a: FloatArray, order: ParameterOrder = 'paper') -> FloatArray:
    """S^T Y(S y, S y', S y''), shape (N, m, 14 n), of motions of shape (N, m)."""
    S = encoders.selection
    Y = dynamics.regressor(y @ S.T, v @ S.T, a @ S.T, order)
    if len(encoders.measured) == 2 * encoders.n:
        return Y
    return np.einsum('cm,tcp->tmp', S, Y)


def measured_base_parameters(dynamics: ElasticDynamics, encoders: Encoders | None = None,
                             order: ParameterOrder = 'paper') -> BaseParameters:
    """Base parameters of a robot with some encoders, for the best motion.

    They are computed from random motions. Among dependent columns, the first ones are kept.
    """
    n = dynamics.n
    encoders = Encoders.both(n) if encoders is None else encoders
    require_fit(encoders, dynamics.robot)
    size = len(encoders.measured)
    names = dynamics.robot.parameter_names(order)
    random = np.random.default_rng(0)
    count = _ROWS_PER_COLUMN * len(names) // size + 1
    y = random.uniform(-np.pi, np.pi, (count, size))
    v, a = random.normal(size=(2, count, size))
    W = regressor(dynamics, encoders, y, v, a, order)
    return base_parameters(W.reshape(-1, len(names)), names, method='gauss_jordan')


def require_fit(encoders: Encoders, robot: ElasticRobot) -> None:
    """Raise DimensionError for encoders of another number of joints."""
    if encoders.n != robot.n:
        raise DimensionError(f'must be of {robot.n} joints, got {encoders.n}', subject='encoders',
                             remedy='give one entry for each of: '
                                    + ', '.join(robot.links.joint_names))


@dataclass(frozen=True)
class Loss:
    """A parameter that is less well determined than with all encoders.

    ``before`` and ``after`` are its classes, and ``partners`` the parameters in its combinations
    after the loss.
    """

    name: str
    before: str
    after: str
    partners: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.after == UNIDENTIFIABLE:
            return f'{self.name}: no longer identifiable'
        now = f'only together with {", ".join(self.partners)}'
        return f'{self.name}: {now}' if self.before == INDEPENDENT else \
            f'{self.name}: in a larger combination, {now}'


def losses(whole: BaseParameters, left: BaseParameters) -> tuple[Loss, ...]:
    """Parameters that are unidentifiable, or in a larger combination, with fewer encoders."""
    if whole.names != left.names:
        raise ParameterError('belong to different robots or orders', subject='base parameters',
                             remedy='compare those of one robot in one order')
    rank = {UNIDENTIFIABLE: 0, COMBINED: 1, INDEPENDENT: 2}
    out = []
    for name, before, after in zip(whole.names, whole.classes, left.classes, strict=True):
        partners = left.partners(name) if after == COMBINED else ()
        is_larger = after == before == COMBINED and set(partners) - set(whole.partners(name))
        if rank[after] < rank[before] or is_larger:
            out.append(Loss(name, before, after, partners))
    return tuple(out)


def names_by_class(names: Sequence[str], base: BaseParameters) -> dict[str, list[str]]:
    """Names of parameters by class."""
    return {kind: [name for name, one in zip(names, base.classes, strict=True) if one == kind]
            for kind in (INDEPENDENT, COMBINED, UNIDENTIFIABLE)}
