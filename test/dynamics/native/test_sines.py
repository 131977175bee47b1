# SPDX-License-Identifier: Apache-2.0
"""Sines of C against those of many digits."""

import ctypes
import shutil
import subprocess

import numpy as np
import pytest

from robot_dynamics.dynamics.native.build import OPTIONS
from robot_dynamics.dynamics.native.robot import written

mpmath = pytest.importorskip('mpmath')
pytestmark = pytest.mark.skipif(shutil.which('cc') is None, reason='there is no C compiler')

HEAD = '#include <math.h>\n#include <stdint.h>\n#include <string.h>\n'
TAIL = """
void fill(const double *x, double *sine, double *cosine, int count)
{
    fill_sines(x, sine, cosine, count);
}
"""


@pytest.fixture(scope='module')
def fill(tmp_path_factory):
    """Return sine and cosine of a vector whose length is a multiple of eight."""
    folder = tmp_path_factory.mktemp('sines')
    (folder / 'x.c').write_text(HEAD + written('sines.c') + TAIL)
    strict = ['-Wall', '-Wextra', '-Wpedantic', '-Werror']
    subprocess.run(['cc', *OPTIONS, *strict, str(folder / 'x.c'), '-o', str(folder / 'x.so'),
                    '-lm'], check=True)
    function = ctypes.CDLL(str(folder / 'x.so')).fill
    function.restype = None

    def call(x):
        x = np.ascontiguousarray(x, float)
        sine, cosine = np.full((2, len(x)), 7.0)
        function(*(ctypes.c_void_p(a.ctypes.data) for a in (x, sine, cosine)), len(x))
        return sine, cosine
    return call


@pytest.mark.parametrize('largest', [1e-3, 0.8, 7.0, 100.0, 1e6, 1e9])
def test_right_to_the_last_bits(fill, largest):
    x = np.random.default_rng(0).uniform(-largest, largest, 400)
    quarters = np.round(x[:100] / (np.pi / 2)) * (np.pi / 2)
    x = np.concatenate([x, quarters, np.nextafter(quarters, np.inf)])
    x = x[x != 0.0]
    x = np.resize(x, -(-len(x) // 8) * 8)
    sine, cosine = fill(x)
    with mpmath.workprec(200):
        for angle, s, c in zip(x, sine, cosine, strict=True):
            for found, exact in ((s, mpmath.sin(mpmath.mpf(angle))),
                                 (c, mpmath.cos(mpmath.mpf(angle)))):
                assert abs((mpmath.mpf(found) - exact) / exact) < 4e-16


def test_signs_and_zero(fill):
    sine, cosine = fill([0.0, 1.0, 2.0, 4.0, 5.0, -1.0, -2.0, -4.0])
    assert sine[0] == 0.0 and cosine[0] == 1.0
    assert np.array_equal(np.sign(sine[1:]), [1, 1, -1, -1, -1, -1, 1])
    assert np.array_equal(np.sign(cosine[1:]), [1, -1, -1, 1, 1, -1, -1])


@pytest.mark.parametrize('odd', [np.nan, np.inf, 1e300])
def test_one_odd_angle_leaves_the_others_right(fill, odd):
    x = np.linspace(-3.0, 3.0, 16)
    x[5] = odd
    with np.errstate(invalid='ignore'):
        expected = np.sin(x), np.cos(x)
    for found, wanted in zip(fill(x), expected, strict=True):
        assert np.allclose(found, wanted, rtol=1e-15, atol=0, equal_nan=True)
