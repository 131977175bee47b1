# SPDX-License-Identifier: Apache-2.0
"""Checks of settings that the guards of this room share."""

from __future__ import annotations

import math
import reprlib
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.errors import ControlError, DimensionError, ParameterError
from robot_dynamics.model.arrays import FloatArray, real_array


def number(name: str, value: Any, unit: str = '') -> float:
    """Return a setting as a float, which may be nan or infinite, or refuse what is no number.

    Raises
    ------
    ParameterError
        Where it is a text, a list, nothing or too large for a float.
    """
    try:
        if isinstance(value, (str, bytes)) or np.ndim(value) != 0:
            raise TypeError
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise ParameterError(f'is {reprlib.repr(value)}, which is no number', subject=name,
                             remedy='set it to a number' + (f' in {unit}' if unit else '')
                             ) from None


def positive(name: str, value: float, unit: str = '') -> float:
    """Return a setting as a float, or refuse one that is not finite and positive.

    Raises
    ------
    ParameterError
        Where it is no number, zero, negative or not finite.
    """
    value = number(name, value, unit)
    # Written so that NaN fails.
    if not (value > 0.0 and math.isfinite(value)):
        raise ParameterError(f'is {value:g}, which is not a positive number', subject=name,
                             remedy='set it to a finite value above zero'
                                    + (f' in {unit}' if unit else ''))
    return value


def not_negative(name: str, value: float, unit: str = '') -> float:
    """Return a setting as a float, or refuse one that is not finite or below zero."""
    value = number(name, value, unit)
    if not (value >= 0.0 and math.isfinite(value)):
        raise ParameterError(f'is {value:g}, which is not zero or a positive number',
                             subject=name, remedy='set it to a finite value from zero up'
                                                  + (f' in {unit}' if unit else ''))
    return value


def count(name: str, value: int) -> int:
    """Return a setting that counts something, or refuse one that is no whole number from 1 up."""
    counted = positive(name, value)
    if counted != int(counted):
        raise ParameterError(f'is {counted:g}, which is no whole number', subject=name,
                             remedy='set it to a whole number from 1 up')
    return int(counted)


def exceeds(value: float, largest: float) -> bool:
    """Whether a value is beyond a bound by more than rounding."""
    return value > largest * (1.0 + 1e-9)


def rounded_down(largest: float) -> float:
    """Return a positive bound, or 0, with three digits: to tell somebody who may use it."""
    if not largest > 0.0:
        return 0.0
    rounded = float(f'{largest:.3g}')
    digit = 10.0 ** (math.floor(math.log10(largest)) - 2)
    return float(f'{rounded - digit:.3g}') if exceeds(rounded, largest) else rounded


def finite_array(name: str, value: ArrayLike) -> FloatArray:
    """Return finite real numbers as a float64 array, or refuse them.

    Raises
    ------
    DimensionError, ControlError
        Where there are none, or one is not a finite number.
    """
    array = real_array(value, name)
    if not np.all(np.isfinite(array)):
        raise ControlError('holds a value that is not finite', subject=name,
                           remedy='give finite numbers in SI units')
    return array


def each_joint(name: str, value: ArrayLike, n: int) -> FloatArray:
    """Return one value a joint, shape (n,), of one or of n values that are not nan.

    Raises
    ------
    DimensionError, ControlError
        Where the number of values is wrong, or one is nan.
    """
    array = real_array(value, name)
    if array.shape not in ((), (n,)):
        raise DimensionError(f'has shape {array.shape}, not ({n},)', subject=name,
                             remedy='give one value, or one for each joint')
    if np.any(np.isnan(array)):
        raise ControlError('holds nan', subject=name, remedy='give numbers in SI units')
    return np.broadcast_to(array, (n,)).copy()
