# SPDX-License-Identifier: Apache-2.0
"""Kernels made for one robot: its formulas in C, compiled, behind the methods of Dynamics.

`source` derives and writes the C, `build` compiles it into `folder`, `methods` makes
Python functions of the library, `backend` puts them into a Dynamics.
"""

from __future__ import annotations

from robot_dynamics.errors import ParameterError, shown

BACKENDS = ('numba', 'c')


def use_native(backend: str) -> bool:
    """Whether a backend is the one of this package; refuse what is none."""
    if not isinstance(backend, str) or backend not in BACKENDS:
        raise ParameterError(f'is {shown(backend)}', subject='backend',
                             remedy='choose among ' + ', '.join(BACKENDS))
    return backend == 'c'
