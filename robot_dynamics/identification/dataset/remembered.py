# SPDX-License-Identifier: Apache-2.0
"""What is computed of a dataset once, however many ask for it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar
from weakref import WeakKeyDictionary

from robot_dynamics.identification.dataset.dataset import Dataset

Result = TypeVar('Result')


def remembered(function: Callable[[Dataset], Result]) -> Callable[[Dataset], Result]:
    """Return a function that computes its result once for each dataset.

    The result is kept as long as the dataset, must not hold it, and nobody writes into it.
    """
    made: WeakKeyDictionary[Dataset, Result] = WeakKeyDictionary()

    @wraps(function)
    def asked(dataset: Dataset) -> Result:
        if dataset not in made:
            made[dataset] = function(dataset)
        return made[dataset]
    return asked
