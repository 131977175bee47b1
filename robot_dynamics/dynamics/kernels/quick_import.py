# SPDX-License-Identifier: Apache-2.0
"""Keep numba from loading scipy's linear algebra when nobody asked for any.

When numba prepares its first compilation it imports ``scipy.linalg.cython_blas``, only to
see whether it is there. That takes a quarter of the time from the start of a process to
its first torque, and our kernels use none of it. So the question is answered with an
empty module while numba asks; a program that does compile linear algebra makes numba
import the real one later, as it always does at that point.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from types import ModuleType

ASKED_FOR = ('scipy.linalg', 'scipy.linalg.cython_blas')
ASKING = 'numba.np.arraymath'


def import_numba_without_blas() -> None:
    """Import the part of numba that asks for BLAS, if nothing of the kind is loaded yet."""
    if ASKING in sys.modules or any(name in sys.modules for name in ASKED_FOR):
        return
    if importlib.util.find_spec('scipy') is None:
        return
    stand_ins = {name: ModuleType(name) for name in ASKED_FOR}
    sys.modules.update(stand_ins)
    try:
        importlib.import_module(ASKING)
    finally:
        for name, stand_in in stand_ins.items():
            if sys.modules.get(name) is stand_in:
                del sys.modules[name]
