# SPDX-License-Identifier: Apache-2.0
"""Which of the 14 n parameters of a robot with elastic joints a motion can tell apart."""

from __future__ import annotations

import numpy as np

from robot_dynamics.dynamics.base_parameters import BaseParameters, base_parameters
from robot_dynamics.elastic.dynamics import ElasticDynamics
from robot_dynamics.elastic.parameters import ParameterOrder

#: Rows of regressors looked at, for every column.
_ROWS_PER_COLUMN = 5


def elastic_base_parameters(dynamics: ElasticDynamics, order: ParameterOrder = 'paper', *,
                            seed: int = 0) -> BaseParameters:
    """Return the base parameters of a robot whose links and motors are both measured.

    As in eqs. 39 to 41 of Zollo et al., "Identification of Dynamic Parameters for Robots
    with Elastic Joints": a parameter has no effect, or is identifiable in combination with
    others, or by itself.

    Parameters
    ----------
    dynamics : ElasticDynamics
        Equations of the robot.
    order : {'paper', 'tables', 'bodies'}
        Order of the columns; of columns that depend on each other the first are kept.
    seed : int
        Seed of the motions.
    """
    size = 2 * dynamics.n
    names = dynamics.robot.parameter_names(order)
    count = _ROWS_PER_COLUMN * len(names) // size + 1
    random = np.random.default_rng(seed)
    q = random.uniform(-np.pi, np.pi, (count, size))
    v, a = random.normal(size=(2, count, size))
    return base_parameters(dynamics.regressor(q, v, a, order).reshape(-1, len(names)), names,
                           method='gauss_jordan')
