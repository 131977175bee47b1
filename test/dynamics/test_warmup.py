# SPDX-License-Identifier: Apache-2.0
import sys

import pytest

from robot_dynamics.dynamics import warmup


class SlowKernel:
    """A kernel that is compiled when it is loaded."""

    def __init__(self, is_cached):
        self.is_cached = is_cached
        self.is_loaded = False

    def load(self, *, announce):
        assert not announce
        self.is_loaded = True


@pytest.mark.parametrize('is_terminal', [False, True])
def test_progress_of_a_compilation(monkeypatch, capsys, is_terminal):
    kernels = [SlowKernel(is_cached=k == 0) for k in range(31)]
    monkeypatch.setattr(warmup, 'kernels_ahead', lambda: kernels[:-1])
    monkeypatch.setattr(sys.stderr, 'isatty', lambda: is_terminal, raising=False)
    warmup.warm_up(kernels[-1:])
    assert all(kernel.is_loaded for kernel in kernels)
    first, *counts, last = capsys.readouterr().err.splitlines()
    assert first == 'robot_dynamics: compiling 30 kernels, about 15 s, once'
    assert last.startswith('robot_dynamics: compiled in 0.0 s, kept in /')
    assert max(map(len, (first, last))) <= 100
    assert [text.strip() for text in counts if text] == \
        ([f'{k} of 30' for k in range(1, 31)] if is_terminal else [])


def test_nothing_is_printed_where_everything_is_cached(monkeypatch, capsys):
    monkeypatch.setattr(warmup, 'kernels_ahead', lambda: [SlowKernel(is_cached=True)])
    warmup.warm_up()
    assert capsys.readouterr().err == ''
