# SPDX-License-Identifier: Apache-2.0
"""Python functions of a compiled library.

A function of C that takes and returns objects becomes callable with `PyCFunction_NewEx`
and a `PyMethodDef`, as in any extension module, but without its headers. A call then
costs some 50 ns, ten times less than through ctypes.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from robot_dynamics.errors import BackendError
from robot_dynamics.model.arrays import FloatArray

#: What ``struct Python`` in objects.c holds, in its order.
_FUNCTIONS_OF_PYTHON = (
    'PyObject_Vectorcall', 'PyTuple_Size', 'PyTuple_GetItem', 'PyTuple_Pack',
    'PyDict_GetItemWithError', 'PyErr_Clear', 'Py_IncRef', 'Py_DecRef')

# Arguments come as a C array with the names of the last ones (methodobject.h).
_METH_FASTCALL, _METH_KEYWORDS = 0x0080, 0x0002


class _Definition(ctypes.Structure):
    """PyMethodDef."""

    _fields_ = (('name', ctypes.c_char_p), ('function', ctypes.c_void_p),
                ('flags', ctypes.c_int), ('text', ctypes.c_char_p))


class Library:
    """A loaded library of kernels; never unloaded.

    Parameters
    ----------
    path : Path
        Where it lies.

    Raises
    ------
    BackendError
        When it cannot be loaded.
    """

    def __init__(self, path: Path):
        try:
            self._library = ctypes.CDLL(str(path))
            connect = self._library.connect_to_python
        except (OSError, AttributeError) as error:
            raise BackendError(f'cannot be loaded: {error}', subject=str(path),
                               remedy='remove it, it will be made anew; where programs may not '
                                      'run from that folder, or CC compiles for another '
                                      'machine, leave out backend to use the numba kernels'
                               ) from error
        addresses = [ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p)
                     for name in _FUNCTIONS_OF_PYTHON]
        connect.restype = None
        connect((ctypes.c_void_p * len(addresses))(*addresses))
        self._many = self._library.many_regressors
        self._many.restype = None
        # Python refers to a definition as long as a function of it lives.
        self._definitions: dict[str, _Definition] = {}

    def function(self, name: str, text: str, bound: tuple[Any, ...]) -> Callable[..., Any]:
        """Make a Python function.

        Parameters
        ----------
        name : str
            Name of the function in C and in Python.
        text : str
            Its docstring.
        bound : tuple
            What it gets as its first argument, see ``enum Bound`` in objects.c.
        """
        with _thread_lock:
            definition = self._definitions.get(name)
            if definition is None:
                address = ctypes.cast(getattr(self._library, name), ctypes.c_void_p).value
                definition = _Definition(name.encode(), address,
                                         _METH_FASTCALL | _METH_KEYWORDS, text.encode())
                self._definitions[name] = definition
        make = ctypes.pythonapi.PyCFunction_NewEx
        make.restype = ctypes.py_object
        make.argtypes = (ctypes.POINTER(_Definition), ctypes.py_object, ctypes.c_void_p)
        return make(ctypes.byref(definition), bound, None)

    def many_regressors(self, q: FloatArray, v: FloatArray, v_r: FloatArray, a_r: FloatArray,
                        out: FloatArray, past_cache: bool) -> None:
        """Fill ``out``, shape (N, n, 10 nb), with regressors; Python's lock is given away.

        Arguments are C-contiguous float64 arrays of shape (N, n).
        """
        self._many(*(ctypes.c_void_p(x.ctypes.data) for x in (q, v, v_r, a_r, out)),
                   ctypes.c_ssize_t(len(q)), ctypes.c_int(past_cache))


# What functions refer to must outlive them, so that there may be one of each, whatever
# threads ask for it at the same time.
_thread_lock = threading.RLock()
_loaded: dict[Path, Library] = {}


def load(path: Path) -> Library:
    """Return the library at a path, loaded once."""
    with _thread_lock:
        if path not in _loaded:
            _loaded[path] = Library(path)
        return _loaded[path]
