# SPDX-License-Identifier: Apache-2.0
"""Compiling, caching and loading kernels, in processes of their own."""

import os
import shutil
import subprocess
import sys
import threading

import numpy as np
import pytest

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
"""


@pytest.fixture
def run(tmp_path):
    """Start a process that uses two small kernels, with a cache of its own."""
    def start(factor='2.0', folder=tmp_path, **environment):
        path = folder / 'small.py'
        text = MODULE.format(factor=factor)
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
            os.utime(path, (1e9, 1e9))
        variables = dict(os.environ, NUMBA_CACHE_DIR=str(tmp_path / 'cache'),
                         PYTHONDONTWRITEBYTECODE='1') | environment
        return subprocess.Popen([sys.executable, '-c', PROGRAM, str(folder)], text=True,
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
        assert line.startswith(f'robot_dynamics: compiling {name}, about 1 s; kept in {tmp_path}')
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
    assert len([line for line in lines if 'compiling ' in line and ', about' in line]) == 2
    waiting = [line for line in lines if 'waiting for another process' in line]
    assert len(lines) == 2 + len(waiting)


@pytest.mark.slow
def test_without_a_home_the_cache_outlives_the_process(run, tmp_path):
    """No home, no cache directory: a private directory below the temporary one."""
    blocked, place = tmp_path / 'file', tmp_path / 'tmp'
    blocked.write_text('not a directory')
    place.mkdir()
    nowhere = {'NUMBA_CACHE_DIR': None, 'XDG_CACHE_HOME': str(blocked), 'HOME': str(blocked),
               'TMPDIR': str(place)}
    assert len(finish(run(**nowhere))[1]) == 2
    assert finish(run(**nowhere)) == (['42.0', '43.0'], [])
    # Others may write there: it is not used, and the user hears why it compiles again.
    (place / f'robot_dynamics-{os.getuid()}').chmod(0o777)
    for _ in range(2):
        output, errors = finish(run(**nowhere))
        assert output == ['42.0', '43.0']
        assert len(errors) == 2 and 'not kept' in errors[0]


@pytest.mark.slow
def test_the_same_code_at_another_path_is_not_compiled_again(run, tmp_path):
    finish(run())
    other = tmp_path / 'other'
    other.mkdir()
    shutil.copy(tmp_path / 'small.py', other / 'small.py')
    assert finish(run(folder=other)) == (['42.0', '43.0'], [])


@pytest.mark.slow
def test_the_users_cache_is_used(run, tmp_path):
    home = {'NUMBA_CACHE_DIR': None, 'XDG_CACHE_HOME': None, 'HOME': str(tmp_path)}
    finish(run(**home))
    assert list((tmp_path / '.cache/robot_dynamics').glob('small-*'))
    assert finish(run(**home))[1] == []


def test_other_types_never_start_a_compilation(own_kernel):
    kernel = own_kernel.load()
    assert kernel(2.0) == 4.0
    for other in ('two', np.zeros(2), None):
        with pytest.raises(TypeError):
            kernel(other)
    assert len(kernel.overloads) == 1


def test_a_kernel_that_is_not_loaded_says_so():
    def twice(x):
        return 2.0 * x
    with pytest.raises(TypeError, match=r'test_loading.twice is not loaded'):
        Kernel(twice, 'float64(float64)').call(1.0)


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

    compile_it = Kernel._compile

    def slowly(kernel):
        made = compile_it(kernel)
        compiled.set()
        assert go_on.wait(60.0)
        return made
    monkeypatch.setattr(Kernel, '_compile', slowly)
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
