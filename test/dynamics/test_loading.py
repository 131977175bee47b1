# SPDX-License-Identifier: Apache-2.0
"""Compiling, caching and loading kernels, in processes of their own."""

import os
import shutil
import subprocess
import sys
import threading

import numpy as np
import pytest

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.dynamics.kernels import newton_euler, slotine_li
from robot_dynamics.dynamics.kernels.loading import Kernel

MODULE = """
from robot_dynamics.dynamics.kernels.loading import helper, kernel

@helper
def doubled(x):
    return {factor} * x

@kernel('float64(float64)')
def first(x):
    return doubled(x)

@kernel('float64(float64)')
def second(x):
    return doubled(x) + 1.0
"""

PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
import small
print(small.first.load()(21.0), small.second.load()(21.0))
assert 'scipy.linalg' not in sys.modules
"""


@pytest.fixture
def run(tmp_path):
    """Start a process that uses two small kernels, with a cache of its own."""
    def start(factor='2.0', **environment):
        path = tmp_path / 'small.py'
        text = MODULE.format(factor=factor)
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
            os.utime(path, (1e9, 1e9))
        variables = dict(os.environ, NUMBA_CACHE_DIR=str(tmp_path / 'cache'),
                         PYTHONDONTWRITEBYTECODE='1') | environment
        return subprocess.Popen([sys.executable, '-c', PROGRAM, str(tmp_path)], text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                env={k: v for k, v in variables.items() if v is not None})
    return start


def finish(process):
    """Output and the lines on stderr of a process that must succeed."""
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    return output.split(), errors.splitlines()


@pytest.mark.slow
def test_compiled_once_announced_then_read_from_disk(run, tmp_path):
    output, errors = finish(run())
    assert output == ['42.0', '43.0']
    assert len(errors) == 2
    for line, name in zip(errors, ('small.first', 'small.second'), strict=True):
        assert line.startswith(f'robot_dynamics: compiling {name}, once; kept in {tmp_path}')
    assert finish(run()) == (['42.0', '43.0'], [])


@pytest.mark.slow
def test_a_changed_helper_is_seen_whatever_its_date(run):
    finish(run())
    output, errors = finish(run(factor='3.0'))
    assert output == ['63.0', '64.0']
    assert len(errors) == 2


@pytest.mark.slow
def test_processes_that_start_together_compile_once(run):
    together = [run(), run()]
    lines = [line for process in together for line in finish(process)[1]]
    assert len(lines) == 2


@pytest.mark.slow
def test_without_a_place_to_write(run, tmp_path):
    """No home, no cache directory: compiled for this process alone."""
    blocked = tmp_path / 'file'
    blocked.write_text('not a directory')
    nowhere = {'NUMBA_CACHE_DIR': None, 'XDG_CACHE_HOME': str(blocked), 'HOME': str(blocked),
               'TMPDIR': str(tmp_path)}
    for _ in range(2):
        output, errors = finish(run(**nowhere))
        assert output == ['42.0', '43.0']
        assert len(errors) == 2


@pytest.mark.slow
def test_the_users_cache_is_used(run, tmp_path):
    home = {'NUMBA_CACHE_DIR': None, 'XDG_CACHE_HOME': None, 'HOME': str(tmp_path)}
    finish(run(**home))
    assert list((tmp_path / '.cache/robot_dynamics').glob('small-*'))
    assert finish(run(**home))[1] == []


def test_other_types_never_start_a_compilation(tree):
    dynamics = Dynamics(tree(0, 3))
    kernel = newton_euler.many_inverse_dynamics.load()
    rows = np.zeros((2, 3))
    kernel(dynamics._model, rows, rows, rows, rows.copy())
    with pytest.raises(TypeError):
        kernel(dynamics._model, rows.astype(np.float32), rows, rows, rows.copy())
    assert len(newton_euler.many_inverse_dynamics._dispatcher.overloads) == 1


def test_a_kernel_that_is_not_loaded_says_so(tree, monkeypatch):
    kernel = slotine_li.slotine_li_regressor
    with pytest.raises(TypeError, match=r'slotine_li.slotine_li_regressor is not loaded'):
        kernel._not_loaded(1, 2)


@pytest.fixture
def own_kernel(tmp_path, monkeypatch):
    """A kernel of the test's own, in a cache of its own."""
    monkeypatch.setattr('robot_dynamics.dynamics.kernels.loading.cache_directory',
                        lambda source: tmp_path)
    monkeypatch.setattr('robot_dynamics.dynamics.kernels.loading._KERNELS', [])

    def twice(x):
        return 2.0 * x
    return Kernel(twice, 'float64(float64)')


def test_threads_that_come_while_it_is_loaded_wait(own_kernel, monkeypatch):
    """Whoever asks between the compilation and its end gets the compiled function."""
    compiled, go_on = threading.Event(), threading.Event()

    def slowly(kernel):
        compiled.set()
        assert go_on.wait(60.0)
        return kernel._dispatcher
    monkeypatch.setattr(Kernel, '_callable', slowly)
    found = []
    threads = [threading.Thread(target=lambda: found.append(own_kernel.load()(21.0)))
               for _ in range(3)]
    threads[0].start()
    assert compiled.wait(60.0)
    for thread in threads[1:]:
        thread.start()
        thread.join(0.1)  # It must not be through: the kernel is not there yet.
    go_on.set()
    for thread in threads:
        thread.join()
    assert found == [42.0] * 3


def test_a_cache_that_was_emptied_meanwhile(own_kernel, tmp_path):
    shutil.rmtree(tmp_path)
    assert own_kernel.load()(21.0) == 42.0
    assert own_kernel.is_cached
