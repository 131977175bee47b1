# SPDX-License-Identifier: Apache-2.0
"""Array types, conversion of arguments to float64 arrays, and read-only arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics.errors import DimensionError, ModelError

#: The array types of the whole package.
FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

#: Upper limit of plausible lengths, masses and inertias, in SI units.
MAX_MAGNITUDE = 1e12

# NumPy kinds of real numbers: bool, integer, float.
_REAL = 'biuf'
_LARGEST = float(np.finfo(np.float64).max)


def real_array(value: ArrayLike, subject: str, remedy: str = 'give real numbers') -> FloatArray:
    """Float64 array of real numbers of any shape; the argument itself if it is one already.

    Complex numbers, dates, text such as ``'1'``, None, masked values and rows of different
    lengths, most of which NumPy would convert, raise a `DimensionError` with subject and remedy.
    """
    if type(value) is np.ndarray and value.dtype == np.float64:
        return np.asarray(value, dtype=np.float64)
    try:
        array = np.asarray(value) if not isinstance(value, np.ndarray) else value
        if np.ma.is_masked(array):
            raise TypeError('masked')
        if array.dtype.kind == 'O':
            array = np.array([_real(item) for item in array.ravel()],
                             dtype=np.float64).reshape(array.shape)
        if array.dtype.kind not in _REAL:
            raise TypeError(array.dtype)
        return np.asarray(array, dtype=np.float64)
    # Ragged lists are a ValueError or, in old numpy, objects that are lists.
    except (TypeError, ValueError, OverflowError):
        raise DimensionError('must hold real numbers', subject=subject, remedy=remedy) from None


def is_positive(value: Any) -> bool:
    """Whether a value is a positive finite float or integer; a bool is not."""
    number: Any = value  # Comparison alone: an integer can be too large for a float.
    return (isinstance(value, Real) and not isinstance(value, bool)
            and bool(0.0 < number <= _LARGEST))


def _real(item: Any) -> float:
    """One number of an array of objects."""
    if isinstance(item, (str, bytes)):
        raise TypeError('text')
    return float(item)


def shaped_array(value: ArrayLike, tail: tuple[int, ...], subject: str) -> FloatArray:
    """Float64 array of shape (..., *tail)."""
    array = real_array(value, subject)
    if array.shape[-len(tail):] != tail:
        wanted = ', '.join(['...', *map(str, tail)])
        raise DimensionError(f'must have shape ({wanted}), got {array.shape}', subject=subject,
                             remedy=f'give an array of shape ({wanted})')
    return array


def frozen_array(value: ArrayLike, shape: tuple[int, ...], subject: str, *,
                 finite: bool = True) -> FloatArray:
    """Read-only float64 copy, after a check of its shape and, optionally, of finite values."""
    remedy = f'give real numbers of shape {shape}'
    array = np.array(real_array(value, subject, remedy))
    if array.shape != shape:
        raise DimensionError(f'must have shape {shape}, got {array.shape}', subject=subject,
                             remedy=remedy)
    if finite and not np.all(np.isfinite(array)):
        raise ModelError('contains NaN or inf', subject=subject,
                         remedy='give finite numbers in SI units')
    array.flags.writeable = False
    return array


def frozen_integers(value: ArrayLike, shape: tuple[int, ...], subject: str) -> IntArray:
    """Read-only int64 copy of the given shape."""
    numbers = frozen_array(value, shape, subject)
    array = numbers.astype(np.int64)
    if np.any(array != numbers):
        raise ModelError('must hold integers', subject=subject, remedy='give whole numbers')
    array.flags.writeable = False
    return array


def store(owner: Any, name: str, value: Any) -> None:
    """Set a field of a frozen dataclass while it is being built."""
    object.__setattr__(owner, name, value)


class Rebuilt:
    """A frozen dataclass with copies and pickles built by its constructor.

    The checks run again, and arrays stay read-only, which NumPy does not ensure for copies.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        values = (getattr(self, field.name) for field in fields(self))  # type: ignore[arg-type]
        return type(self), tuple(dict(value) if isinstance(value, Mapping) else value
                                 for value in values)
