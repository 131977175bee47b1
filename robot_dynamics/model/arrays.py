# SPDX-License-Identifier: Apache-2.0
"""From what a caller gives to arrays of real numbers, and arrays that nobody can change."""

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

# Kinds of numpy's types that hold real numbers: truth values, integers, floats.
_REAL = 'biuf'
_LARGEST = float(np.finfo(np.float64).max)


def real_array(value: ArrayLike, subject: str, remedy: str = 'give real numbers') -> FloatArray:
    """Return a float64 array of real numbers, the very array if it is one already.

    numpy would turn far more into float64: the real part of a complex number, a date,
    the text ``'1'``, None (into nan), and what lies hidden under a mask.

    Parameters
    ----------
    value : array_like
        Numbers.
    subject, remedy : str
        What messages call the array, and what they tell to do.

    Returns
    -------
    ndarray of float64
        Of the shape of the value.

    Raises
    ------
    DimensionError
        If a value is no real number, is masked, or the lengths differ.
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
        raise DimensionError('does not hold real numbers', subject=subject,
                             remedy=remedy) from None


def is_positive(value: Any) -> bool:
    """Return whether a value is a positive number that a float can hold; True is none."""
    return (isinstance(value, Real) and not isinstance(value, bool)
            and bool(0.0 < value <= _LARGEST))


def _real(item: Any) -> float:
    """Return one number of an array of objects; a text or a list is none."""
    if isinstance(item, (str, bytes)):
        raise TypeError('text')
    return float(item)


def frozen_array(value: ArrayLike, shape: tuple[int, ...], subject: str, *,
                 finite: bool = True) -> FloatArray:
    """Return a read-only copy of real numbers in an array of the given shape.

    Parameters
    ----------
    value : array_like
        Numbers.
    shape : tuple of int
        Shape it must have.
    subject : str
        What messages call it.
    finite : bool
        Whether all of them must be finite.
    """
    array = np.array(real_array(value, subject, f'give real numbers of shape {shape}'))
    if array.shape != shape:
        raise DimensionError(f'has shape {array.shape}, not {shape}', subject=subject,
                             remedy=f'give real numbers of shape {shape}')
    if finite and not np.all(np.isfinite(array)):
        raise ModelError('holds a value that is not finite', subject=subject,
                         remedy='give finite numbers in SI units')
    array.flags.writeable = False
    return array


def frozen_integers(value: ArrayLike, shape: tuple[int, ...], subject: str) -> IntArray:
    """Return a read-only copy of whole numbers in an int64 array of the given shape."""
    numbers = frozen_array(value, shape, subject)
    array = numbers.astype(np.int64)
    if np.any(array != numbers):
        raise ModelError('holds a value that is no whole number', subject=subject,
                         remedy='give integers')
    array.flags.writeable = False
    return array


def store(owner: Any, name: str, value: Any) -> None:
    """Set a field of a frozen dataclass while it is being built."""
    object.__setattr__(owner, name, value)


class Rebuilt:
    """A dataclass whose copies and pickles are built anew.

    So they go through its checks, and their arrays are as read-only as its own, which
    numpy alone does not promise.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        values = (getattr(self, field.name) for field in fields(self))  # type: ignore[arg-type]
        return type(self), tuple(dict(value) if isinstance(value, Mapping) else value
                                 for value in values)
