# SPDX-License-Identifier: Apache-2.0
"""Checks of settings, shared by the guards and laws of this room."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.errors import ControlError, DimensionError, ParameterError
from robot_dynamics.model.arrays import FloatArray, real_array, store


def number(name: str, value: Any, unit: str = '') -> float:
    """Setting as a float, nan and inf included; raises ParameterError for anything else."""
    try:
        if isinstance(value, (str, bytes)) or np.ndim(value) != 0:
            raise TypeError
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise _wrong(name, 'a number', reprlib.repr(value), 'a number', unit) from None


def positive(name: str, value: float, unit: str = '') -> float:
    """Setting as a finite float above zero; raises ParameterError for anything else."""
    value = number(name, value, unit)
    # Written so that NaN fails.
    if not (value > 0.0 and math.isfinite(value)):
        raise _wrong(name, 'a positive number', f'{value:g}', 'a finite value above zero', unit)
    return value


def not_negative(name: str, value: float, unit: str = '') -> float:
    """Setting as a finite float from zero up; raises ParameterError for anything else."""
    value = number(name, value, unit)
    if not (value >= 0.0 and math.isfinite(value)):
        raise _wrong(name, 'zero or a positive number', f'{value:g}',
                     'a finite value from zero up', unit)
    return value


def count(name: str, value: int) -> int:
    """Setting as a whole number from 1 up; raises ParameterError for anything else."""
    counted = positive(name, value)
    if counted != int(counted):
        raise _wrong(name, 'a whole number', f'{counted:g}', 'a whole number from 1 up', '')
    return int(counted)


def _wrong(name: str, wanted: str, got: str, remedy: str, unit: str) -> ParameterError:
    return ParameterError(f'must be {wanted}, got {got}', subject=name,
                          remedy=f'set it to {remedy}' + (f' in {unit}' if unit else ''))


def check_fields(settings: object, check: Callable[[str, float, str], float],
                 **units: str) -> None:
    """Check fields of frozen settings, named with their units, and store them as floats."""
    for name, unit in units.items():
        store(settings, name, check(name, getattr(settings, name), unit))


def exceeds(value: float, largest: float) -> bool:
    """Whether a value is above a bound by more than rounding."""
    return value > largest * (1.0 + 1e-9)


def rounded_down(largest: float) -> float:
    """Positive bound, or 0, rounded down to three digits, for messages."""
    if not largest > 0.0:
        return 0.0
    rounded = float(f'{largest:.3g}')
    digit = 10.0 ** (math.floor(math.log10(largest)) - 2)
    return float(f'{rounded - digit:.3g}') if exceeds(rounded, largest) else rounded


def finite_array(name: str, value: ArrayLike) -> FloatArray:
    """Finite real numbers as a float64 array; raises DimensionError or ControlError otherwise."""
    array = real_array(value, name)
    if not np.all(np.isfinite(array)):
        raise ControlError('contains NaN or inf', subject=name,
                           remedy='give finite numbers in SI units')
    return array


def each_joint(name: str, value: ArrayLike, n: int) -> FloatArray:
    """One value per joint, shape (n,), from one or from n values that are not nan.

    Raises DimensionError for another number of values, ControlError for nan.
    """
    array = real_array(value, name)
    if array.shape not in ((), (n,)):
        raise DimensionError(f'must have shape ({n},), got {array.shape}', subject=name,
                             remedy='give one value, or one for each joint')
    if np.any(np.isnan(array)):
        raise ControlError('contains NaN', subject=name, remedy='give numbers in SI units')
    return np.broadcast_to(array, (n,)).copy()
