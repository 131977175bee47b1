# SPDX-License-Identifier: Apache-2.0
"""Whether joints at their limits lie on stops: what does is in no model of the rest.

An arm may also be held near a limit by its motors, or turn there. Then the model of all other
equations predicts these, too, and they are taken back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from robot_dynamics.identification.model_selection import USUAL_STRENGTH, Chooser
from robot_dynamics.identification.normal_equations import selection
from robot_dynamics.identification.observation_matrix import Stack
from robot_dynamics.model.arrays import FloatArray

#: Errors of equations on a stop are so many times those of the others, at least.
STRANGE = 3.0
# Equations that tell how large errors usually are; blocks of time of the fit.
_FEWEST, _BLOCKS = 16, 2


def take_back(stack: Stack, always: Sequence[str], families: Mapping[str, tuple[str, ...]]
              ) -> None:
    """Use the equations of joints that obey the model where they were thought to lie on stops.

    Parameters
    ----------
    stack : Stack
        The equations, of which those of stops are not used.
    always, families
        Friction terms, as for `Chooser`; the first family is taken.
    """
    if not np.any(stack.on_stops):
        return
    name = next(iter(families))
    chosen = Chooser(stack, _BLOCKS, always, {name: families[name]}).choose(
        np.arange(_BLOCKS), (name,), (USUAL_STRENGTH,), 'known')
    for j, rows in enumerate(stack.joints):
        lying, free = stack.on_stops[:, j], stack.used[:, j]
        if not np.any(lying) or np.count_nonzero(free) < _FEWEST:
            continue
        T, where = selection(stack, rows.columns, chosen.features, chosen.model.gravity)
        errors = rows.y - rows.A @ (T @ chosen.fit.x[where])
        if _size(errors[lying]) < STRANGE * _size(errors[free]):
            stack.take_back(j)


def _size(errors: FloatArray) -> float:
    return float(np.sqrt(np.mean(errors ** 2)))
