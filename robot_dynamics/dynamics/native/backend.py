# SPDX-License-Identifier: Apache-2.0
"""The C kernels of a robot in place of the general methods of its Dynamics."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics.dynamics.kernels.direct import LARGEST, layout_is_as_expected
from robot_dynamics.dynamics.kernels.layout import MARK
from robot_dynamics.dynamics.native.build import compile_library, is_built, library_path
from robot_dynamics.dynamics.native.methods import Library, load
from robot_dynamics.dynamics.native.source import library_source
from robot_dynamics.errors import BackendError
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import Robot

#: Methods of Dynamics that have a kernel in C.
METHODS = ('slotine_li_regressor', 'regressor', 'adaptive_terms', 'inverse_dynamics', 'matrices')


def native_methods(robot: Robot, model: FloatArray, general: dict[str, Callable[..., Any]],
                   choices: dict[tuple[str, ...], tuple[FloatArray, int]],
                   ) -> dict[str, Callable[..., Any]]:
    """Return the methods of a Dynamics that run in C for plain arrays of one sample.

    Parameters
    ----------
    robot : Robot
        The robot.
    model : ndarray
        The robot as `robot_dynamics.dynamics.packing.pack` gives it.
    general : dict
        The general methods, by name: they take what is no plain array of one sample.
    choices : dict
        By joint terms: their vector for kernels, and the length of a gradient.

    Raises
    ------
    BackendError
        Without a C compiler or on a Python that numpy's arrays look different to.
    ModelError
        For a robot whose joints have several degrees of freedom.
    """
    library = library_of(robot, float(model[-1, MARK]))
    n, columns = robot.n, 10 * robot.n_bodies
    shapes = {'matrices': ((n, n), (n, n), n), 'inverse_dynamics': (n,), 'adaptive_terms': (n,),
              'regressor': ((n, columns),), 'slotine_li_regressor': ((n, columns),)}
    parameters = np.array(robot.parameters)
    return {name: library.function(
        name, general[name].__doc__ or '',
        (general[name], np.empty, shapes[name], choices, choices[()], parameters,
         sys.intern('out'), sys.intern('terms'), None)) for name in METHODS}


def native_batches(robot: Robot, model: FloatArray,
                   general: Callable[[], Callable[..., None]],
                   ) -> Callable[[], Callable[..., None]]:
    """Return what takes the place of `robot_dynamics.dynamics.batches.Batches.regressor_kernel`.

    Regressors without joint terms of a robot without mimic joints run in C.

    Parameters
    ----------
    robot, model
        As for `native_methods`.
    general : callable
        What it takes the place of.
    """
    library = library_of(robot, float(model[-1, MARK]))

    def kernel() -> Callable[..., None]:
        def regressors(*arguments: Any) -> None:
            choice, q, v, v_r, a_r, _, _, out, past_cache = arguments[-9:]
            if len(choice) > 1 or not robot.is_directly_driven:
                general()(*arguments)
            else:
                library.many_regressors(q, v, v_r, a_r, out, past_cache)
        return regressors
    return kernel


def library_of(robot: Robot, mark: float) -> Library:
    """Return the kernels of a robot, compiled if nobody has before."""
    if not layout_is_as_expected():
        raise BackendError('needs the arrays of CPython on a 64-bit machine',
                           subject="backend 'c'",
                           remedy='leave out backend to use the numba kernels')
    if robot.n_bodies > LARGEST:
        raise BackendError(f'has {robot.n_bodies} moving bodies, more than the {LARGEST} that '
                           'kernels are written out for', subject=robot.name,
                           remedy='leave out backend to use the numba kernels')
    path = library_path(_key(robot))
    if is_built(path):
        try:
            return load(path)
        except BackendError:
            # Damaged on disk, by a full one say.
            path.unlink(missing_ok=True)
    compile_library(library_source(robot, mark), path, subject=robot.name)
    return load(path)


def _key(robot: Robot) -> str:
    """Digest of all that the C of a robot depends on."""
    state = hashlib.sha256(_code_digest().encode())
    for array in (robot.parents, robot.joint_types, robot.placements, robot.axes,
                  robot.link_offsets, robot.gravity, robot.coupling, robot.coupling_offset):
        state.update(f'{array.shape}{array.dtype}'.encode())
        state.update(np.ascontiguousarray(array).tobytes())
    return state.hexdigest()


@cache
def _code_digest() -> str:
    """Digest of what derives and writes C."""
    state = hashlib.sha256(sys.version.encode())
    here = Path(__file__).parent
    for folder in (here, here.parent / 'kernels', here.parents[1] / 'closed_form'):
        for path in sorted([*folder.glob('*.py'), *folder.glob('*.c')]):
            state.update(path.read_bytes())
    return state.hexdigest()
