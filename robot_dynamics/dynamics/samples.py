# SPDX-License-Identifier: Apache-2.0
"""Conversion of arguments to rows of float64, and errors for wrong arguments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.errors import DimensionError
from robot_dynamics.model.arrays import FloatArray, real_array


@dataclass(frozen=True)
class Samples:
    """Arguments of one call, broadcast against each other.

    Attributes
    ----------
    shape : tuple of int
        Batch shape: empty for a single sample.
    rows : list of ndarray
        Each argument as a C-contiguous, writeable float64 array of shape (N, width); the
        caller's own memory where that is one already, so nothing is written to it.
    """

    shape: tuple[int, ...]
    rows: list[FloatArray]

    def apart_from(self, out: FloatArray) -> list[FloatArray]:
        """The rows, none of which shares memory with ``out``."""
        return [row.copy() if np.may_share_memory(row, out) else row for row in self.rows]


def gather(arguments: dict[str, tuple[ArrayLike, int, str]]) -> Samples:
    """Convert and broadcast arguments.

    Parameters
    ----------
    arguments : dict
        By name: the value, the length its last axis must have, and what that counts.
    """
    if all(_is_plain(value, width) for value, width, _ in arguments.values()):
        plain: list[Any] = [value for value, _, _ in arguments.values()]
        return Samples((), [value[np.newaxis] for value in plain])
    arrays = {name: _array(name, *argument) for name, argument in arguments.items()}
    try:
        shape = np.broadcast_shapes(*(array.shape[:-1] for array in arrays.values()))
    except ValueError:
        given = ', '.join(f'{name} {array.shape}' for name, array in arrays.items())
        raise DimensionError(f'batch shapes do not fit each other: {given}', subject='arguments',
                             remedy='give all arguments the same leading axes, or none') from None
    rows = []
    for array in arrays.values():
        # What broadcasting returns is read-only, and would be copied below.
        full = array if array.shape[:-1] == shape else \
            np.broadcast_to(array, shape + array.shape[-1:])
        full = full.reshape(-1, array.shape[-1])
        rows.append(np.require(full, np.float64, ['C', 'W', 'A']))
    return Samples(shape, rows)


def check_out(out: FloatArray, shape: tuple[int, ...]) -> FloatArray:
    """``out`` as a plain array, if results of this shape can be written into it."""
    if type(out) is np.ndarray and out.dtype == _FLOAT64 and out.shape == shape \
            and out.flags.carray:
        return out
    remedy = f'give a C-contiguous, writeable float64 array of shape {shape}, or none'
    if not isinstance(out, np.ndarray):
        raise DimensionError(f'is a {type(out).__name__}, not an array', subject='out',
                             remedy=remedy)
    if out.dtype != np.float64:
        raise DimensionError(f'holds {out.dtype}, not float64', subject='out', remedy=remedy)
    if out.shape != shape:
        raise DimensionError(f'has shape {out.shape}, not {shape}', subject='out', remedy=remedy)
    if not (out.flags.c_contiguous and out.flags.writeable):
        raise DimensionError('is not C-contiguous and writeable', subject='out', remedy=remedy)
    return np.asarray(out)


def check_several(out: tuple[FloatArray, ...], names: tuple[str, ...]) -> tuple[FloatArray, ...]:
    """``out``, if it holds as many arrays as there are results."""
    if not isinstance(out, (tuple, list)) or len(out) != len(names):
        raise DimensionError(f'is not {_COUNTS[len(names)]} arrays', subject='out',
                             remedy=f'give arrays for {_listed(names)}, or none')
    return out


def write_several(out: tuple[FloatArray, ...], results: tuple[FloatArray, ...],
                  names: tuple[str, ...]) -> None:
    """Copy results to arrays of the caller's, all of them or none."""
    targets = [check_out(given, computed.shape)
               for given, computed in zip(out, results, strict=True)]
    for k, target in enumerate(targets):
        if any(np.may_share_memory(target, other) for other in targets[:k]):
            raise DimensionError('shares memory with another', subject='out',
                                 remedy=f'give each of {_listed(names)} an array of its own')
    for target, computed in zip(targets, results, strict=True):
        target[...] = computed


def finished(samples: Samples, results: tuple[FloatArray, ...],
             out: tuple[FloatArray, ...] | None = None, names: tuple[str, ...] = (),
             ) -> tuple[FloatArray, ...]:
    """Results of rows in the shape of the batch, written to ``out`` if that is given."""
    shaped = tuple(result.reshape(samples.shape + result.shape[1:]) for result in results)
    if out is None:
        return shaped
    write_several(check_several(out, names), shaped, names)
    return out


_FLOAT64 = np.dtype(np.float64)
_COUNTS = {3: 'three', 6: 'six'}


def _listed(names: tuple[str, ...]) -> str:
    return ', '.join(names[:-1]) + ' and ' + names[-1]


def _is_plain(value: ArrayLike, width: int) -> bool:
    """Whether a value is one sample that kernels can read where it lies."""
    return (type(value) is np.ndarray and value.shape == (width,)
            and value.dtype == _FLOAT64 and value.flags.carray)


def _array(name: str, value: ArrayLike, width: int, counted: str) -> FloatArray:
    array = real_array(value, name, f'give an array of shape ({width},) or (..., {width}), '
                                    f'{counted}')
    if array.ndim == 0 or array.shape[-1] != width:
        raise DimensionError(f'has shape {array.shape}, not ({width},) or (..., {width})',
                             subject=name, remedy=f'give {counted}')
    return array
