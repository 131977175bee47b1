# SPDX-License-Identifier: Apache-2.0
"""Kernels that read their arrays where they lie: what they take, and what they refuse."""

import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from robot_dynamics.dynamics.kernels import quick
from robot_dynamics.dynamics.kernels.loading import Kernel
from robot_dynamics.dynamics.kernels.quick import QuickKernel, quick_kernel

SIGNATURE = 'i8(f8, f8[::1], f8[:, ::1], f8[:, :, ::1], b1[::1], f8[:, ::1])'


def weigh(factor, x, A, B, chosen, out):
    """Write factor A x + B x x; return how many entries of x are chosen."""
    count = 0
    for j in range(x.size):
        count += chosen[j]
    for i in range(A.shape[0]):
        for k in range(B.shape[0]):
            out[i, k] = 0.0
            for j in range(x.size):
                out[i, k] += factor * A[i, j] * x[j]
                for m in range(B.shape[2]):
                    out[i, k] += B[k, j, m] * x[j] * x[m]
    return count


weigh_quickly = quick_kernel(SIGNATURE)(weigh)

PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
import numpy as np
from test_quick import weigh_quickly
out = np.zeros((1, 1))
print(weigh_quickly.load()(2.0, np.ones(3), np.ones((1, 3)), np.ones((1, 3, 3)),
                           np.ones(3, bool), out), out[0, 0])
"""


def arguments():
    """Arrays of different lengths along every axis."""
    random = np.random.default_rng(0)
    return [2.5, random.normal(size=3), random.normal(size=(2, 3)), random.normal(size=(4, 3, 3)),
            np.array([True, False, True]), np.zeros((2, 4))]


def test_results_are_those_of_the_function():
    given, expected = arguments(), np.zeros((2, 4))
    assert weigh(*given[:-1], expected) == 2
    assert weigh_quickly.load()(*given) == 2
    np.testing.assert_allclose(given[-1], expected, rtol=1e-14)


class Subclass(np.ndarray):
    """Not a plain array."""


def locked(array):
    """Return it read-only."""
    array.flags.writeable = False
    return array


UNFIT = {
    'nothing': None, 'number': 1.0, 'text': 'abc', 'list': [1.0, 2.0, 3.0], 'type': np.ndarray,
    'subclass': np.zeros(3).view(Subclass), 'float32': np.zeros(3, np.float32),
    'whole numbers': np.zeros(3, np.int64), 'booleans': np.zeros(3, bool),
    'objects': np.zeros(3, object), 'complex': np.zeros(3, complex),
    'other byte order': np.zeros(3, np.dtype(np.float64).newbyteorder()),
    'strided': np.zeros(6)[::2], 'backwards': np.zeros(3)[::-1], 'read-only': locked(np.zeros(3)),
    'no axis': np.array(1.0), 'two axes': np.zeros((3, 1)),
    'unaligned': np.zeros(25, np.uint8)[1:].view(np.float64)}


@pytest.mark.parametrize('unfit', UNFIT.values(), ids=UNFIT)
def test_anything_but_plain_arrays_is_refused(unfit):
    given = arguments()
    given[1] = unfit
    with pytest.raises(TypeError, match='is no plain array'):
        weigh_quickly.load()(*given)
    assert not given[-1].any()


def test_every_argument_is_looked_at():
    for position in range(1, 6):
        given = arguments()
        given[position] = given[position][..., ::-1]
        with pytest.raises(TypeError, match='is no plain array'):
            weigh_quickly.load()(*given)
    for given in ([], arguments()[1:], [*arguments(), 1.0]):
        with pytest.raises(TypeError):
            weigh_quickly.load()(*given)


def test_fortran_order_is_refused():
    given = arguments()
    given[2] = np.asfortranarray(given[2])
    with pytest.raises(TypeError, match='is no plain array'):
        weigh_quickly.load()(*given)


def test_arrays_from_another_process_are_plain():
    """Their element type is an object of its own."""
    given = [pickle.loads(pickle.dumps(x)) for x in arguments()]
    assert given[1].dtype is not np.dtype(np.float64)
    assert weigh_quickly.load()(*given) == 2


def test_empty_arrays():
    empty = [1.0, np.zeros(0), np.zeros((2, 0)), np.zeros((4, 0, 0)), np.zeros(0, bool),
             np.ones((2, 4))]
    assert weigh_quickly.load()(*empty) == 0
    assert not empty[-1].any()


def test_no_references_are_left_or_lost():
    call, given = weigh_quickly.load(), arguments()
    before = [sys.getrefcount(x) for x in given]
    for _ in range(100):
        call(*given)
        with pytest.raises(TypeError):
            call(*given[:-1], None)
    assert [sys.getrefcount(x) for x in given] == before


def test_where_fields_lie_elsewhere_kernels_are_ordinary(monkeypatch):
    monkeypatch.setattr(quick, 'layout_is_as_expected', lambda: False)
    ordinary = quick_kernel(SIGNATURE)(weigh)
    assert type(ordinary) is Kernel
    assert type(weigh_quickly) is QuickKernel
    given, expected = arguments(), np.zeros((2, 4))
    weigh(*given[:-1], expected)
    assert ordinary.load()(*given) == 2
    np.testing.assert_allclose(given[-1], expected, rtol=1e-14)
    with pytest.raises(TypeError):
        ordinary.load()(*given[:-1], None)


def test_another_process_reads_it_from_disk(tmp_path):
    """The type of arrays is elsewhere there."""
    environment = dict(os.environ, NUMBA_CACHE_DIR=str(tmp_path))
    for remarks in (1, 0):
        process = subprocess.run(
            [sys.executable, '-c', PROGRAM, str(Path(__file__).parent)], env=environment,
            capture_output=True, text=True, check=True, timeout=120)
        assert process.stdout.split() == ['3', '15.0']
        assert len(process.stderr.splitlines()) == remarks
