# SPDX-License-Identifier: Apache-2.0
"""``ElasticEstimateSettings``: how to estimate a robot with elastic joints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from robot_dynamics.elastic.robot import ParameterOrder
from robot_dynamics.errors import ParameterError
from robot_dynamics.identification.estimate_section import read_estimate
from robot_dynamics.identification.estimators.linear import ESTIMATORS

#: Kinds of friction: f_s and f_v, or those of eq. 43, or what predicts better.
FRICTION = ('coulomb', 'stribeck', 'auto')


@dataclass(frozen=True)
class ElasticEstimateSettings:
    """How to estimate; what is not given is chosen.

    Parameters
    ----------
    estimator : str
        One of `robot_dynamics.identification.estimators.linear.ESTIMATORS`.
    friction : {'coulomb', 'stribeck', 'auto'}
        f_s and f_v alone, friction that falls from standstill (eq. 43), or the latter where
        each half of the recording is predicted much better from the other (`GAIN`).
    cutoff : float, optional
        Of the equations, Hz; if not given, the one with which the base parameters are known
        best: whose confidence ellipsoid has the smallest volume.
    order : int
        Of the filters.
    derivative : str
        How to differentiate.
    velocity_threshold : float, optional
        Equations of motors that are slower are left out, rad/s or m/s; those of motors that
        stand still if not given.
    lag : float
        By how much efforts come later than the positions they belong to, s. Commands that
        are held until the next one come half a period before what acts on average.
    springs : {'auto', 'all'}
        Whether springs that give way less than encoders can tell are taken to be rigid.
    parameters : {'paper', 'tables', 'bodies'}
        Order of the parameters; of those that can only be told together the first stand for all.
    """

    estimator: str = 'wls'
    friction: str = 'coulomb'
    cutoff: float | None = None
    order: int = 4
    derivative: str = 'central'
    velocity_threshold: float | None = None
    lag: float = 0.0
    springs: str = 'auto'
    parameters: ParameterOrder = 'paper'

    def __post_init__(self) -> None:
        for name, known in (('estimator', tuple(ESTIMATORS)), ('friction', FRICTION),
                            ('springs', ('auto', 'all'))):
            if getattr(self, name) not in known:
                raise ParameterError(f'is {getattr(self, name)!r}', subject=name,
                                     remedy='choose among ' + ', '.join(known))
        for name, least in (('cutoff', np.nextafter(0.0, 1.0)), ('velocity_threshold', 0.0)):
            value = getattr(self, name)
            if value is not None and not (isinstance(value, Real) and least <= value < np.inf):
                raise ParameterError(f'is {value!r}', subject=name,
                                     remedy='give a positive number')
        if not (isinstance(self.lag, Real) and np.isfinite(self.lag)):
            raise ParameterError(f'is {self.lag!r}', subject='lag', remedy='give seconds')


def elastic_estimate_settings(content: Mapping[str, Any]) -> ElasticEstimateSettings:
    """Return settings out of the ``estimate`` section of a YAML."""
    return read_estimate(ElasticEstimateSettings, content, 'is no setting for elastic joints')
