# SPDX-License-Identifier: Apache-2.0
"""Checks of settings that the guards of this room share."""

from __future__ import annotations

import math

from robot_dynamics.errors import ParameterError


def positive(name: str, value: float, unit: str = '') -> float:
    """Return a setting as a float, or refuse one that is not finite and positive.

    Raises
    ------
    ParameterError
        Where it is zero, negative or not finite.
    """
    value = float(value)
    # Written so that NaN fails.
    if not (value > 0.0 and math.isfinite(value)):
        raise ParameterError(f'is {value:g}, which is not a positive number', subject=name,
                             remedy='set it to a finite value above zero'
                                    + (f' in {unit}' if unit else ''))
    return value


def not_negative(name: str, value: float, unit: str = '') -> float:
    """Return a setting as a float, or refuse one that is not finite or below zero."""
    value = float(value)
    if not (value >= 0.0 and math.isfinite(value)):
        raise ParameterError(f'is {value:g}, which is not zero or a positive number',
                             subject=name, remedy='set it to a finite value from zero up'
                                                  + (f' in {unit}' if unit else ''))
    return value
