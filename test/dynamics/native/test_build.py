# SPDX-License-Identifier: Apache-2.0
import ctypes
import os
import shutil
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from robot_dynamics.dynamics.native import build
from robot_dynamics.dynamics.native import robot as backend
from robot_dynamics.dynamics.native.build import compile_library, find_compiler, library_path
from robot_dynamics.errors import BackendError, NoCompilerError
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import resolve_robot

SOURCE = 'int answer(void)\n{\n    return 42;\n}\n'
needs_compiler = pytest.mark.skipif(shutil.which('cc') is None, reason='there is no C compiler')


def answer(path):
    return ctypes.CDLL(str(path)).answer()


@needs_compiler
def test_a_library_is_compiled_and_nothing_else_is_left(tmp_path):
    path = tmp_path / 'x.so'
    compile_library(lambda: SOURCE, path, subject='x')
    assert answer(path) == 42
    assert [entry.name for entry in tmp_path.iterdir()] == ['x.so']
    assert stat.S_IMODE(path.stat().st_mode) == 0o700


@needs_compiler
def test_several_may_compile_the_same_at_once(tmp_path):
    path = tmp_path / 'x.so'
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: compile_library(lambda: SOURCE, path, subject='x'), range(8)))
    assert answer(path) == 42
    assert [entry.name for entry in tmp_path.iterdir()] == ['x.so']


@needs_compiler
def test_what_does_not_compile_says_why_and_leaves_nothing(tmp_path):
    with pytest.raises(BackendError, match=r'failed: .*error: .*; check the compiler'):
        compile_library(lambda: 'int answer(void) { return nothing; }', tmp_path / 'x.so',
                        subject='x')
    assert not list(tmp_path.iterdir())


@needs_compiler
def test_a_compiler_that_does_not_know_this_processor_will_do(tmp_path, monkeypatch):
    compiler = tmp_path / 'old-cc'
    compiler.write_text('#!/bin/sh\ncase "$*" in *=native*) echo "error: what?" >&2; exit 1;; '
                        f'esac\nexec {shutil.which("cc")} "$@"\n')
    compiler.chmod(0o700)
    monkeypatch.setenv('CC', str(compiler))
    folder = tmp_path / 'out'
    folder.mkdir()
    compile_library(lambda: SOURCE, folder / 'x.so', subject='x')
    assert answer(folder / 'x.so') == 42


def test_the_compiler_is_the_one_that_is_named(tmp_path, monkeypatch):
    compiler = tmp_path / 'my-cc'
    compiler.write_text('#!/bin/sh\n')
    compiler.chmod(0o700)
    monkeypatch.setenv('CC', f'{compiler} -m64')
    assert find_compiler() == [str(compiler), '-m64']
    monkeypatch.setenv('CC', 'no-such-compiler')
    with pytest.raises(BackendError, match='no-such-compiler, which the variable CC names'):
        find_compiler()


def test_without_a_compiler_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.delenv('CC', raising=False)
    monkeypatch.setenv('PATH', str(tmp_path))
    with pytest.raises(BackendError, match='sudo apt install gcc') as caught:
        find_compiler()
    assert 'numba' in caught.value.remedy


def test_a_variable_that_is_no_command_counts_as_no_compiler(monkeypatch):
    monkeypatch.setenv('CC', 'gcc "')
    with pytest.raises(NoCompilerError, match='variable CC is not a command') as caught:
        find_compiler()
    assert 'correct the variable CC' in caught.value.remedy


@pytest.mark.parametrize(('command', 'complaint'), [
    ('true', 'true failed: it ended well and wrote nothing'),
    ('false', 'false failed: exit status 1'),
], ids=['writes nothing', 'fails'])
def test_a_command_that_compiles_nothing(tmp_path, monkeypatch, command, complaint):
    monkeypatch.setenv('CC', command)
    with pytest.raises(BackendError, match=complaint) as caught:
        compile_library(lambda: SOURCE, tmp_path / 'x.so', subject='x')
    assert 'numba' in caught.value.remedy
    assert list(tmp_path.iterdir()) == []


@needs_compiler
def test_a_folder_that_is_gone(tmp_path):
    with pytest.raises(BackendError, match=r'cannot write its kernels to .*No such') as caught:
        compile_library(lambda: SOURCE, tmp_path / 'gone' / 'x.so', subject='x')
    assert 'numba' in caught.value.remedy


def test_paths_differ_with_what_is_compiled(monkeypatch):
    one = library_path('a')
    assert library_path('a') == one
    assert library_path('b') != one
    monkeypatch.setattr(build, 'OPTIONS', (*build.OPTIONS, '-g'))
    assert library_path('a') != one


@pytest.fixture
def own_folder(tmp_path, monkeypatch):
    """A cache of the test's own."""
    folder = tmp_path / 'cache'
    folder.mkdir(mode=0o700)
    monkeypatch.setattr(build, 'library_folder', lambda: folder)
    return folder


@needs_compiler
def test_a_damaged_library_is_made_anew(own_folder):
    robot = Robot.from_urdf(resolve_robot('planar_2r'))
    path = library_path(backend._key(robot))
    path.write_bytes(b'\x7fELF cut short')
    path.chmod(0o700)
    backend.library_of(robot)
    assert path.stat().st_size > 1000


@needs_compiler
@pytest.mark.skipif(os.name != 'posix', reason='no modes of files')
def test_a_library_that_others_can_write_is_not_loaded(own_folder):
    robot = Robot.from_urdf(resolve_robot('planar_2r'))
    path = library_path(backend._key(robot))
    compile_library(lambda: '__attribute__((constructor)) void trap(void)\n{\n'
                    '    __builtin_trap();\n}\n', path,
                    subject='hostile')
    path.chmod(0o777)
    before = path.read_bytes()
    backend.library_of(robot)  # Loading the other would have ended this process.
    assert path.read_bytes() != before
    assert stat.S_IMODE(path.stat().st_mode) == 0o700


@pytest.mark.slow
@needs_compiler
def test_processes_that_start_together_all_get_their_kernels(tmp_path):
    script = ('import numpy as np\n'
              'from robot_dynamics import Dynamics, Robot\n'
              f'd = Dynamics(Robot.from_urdf({str(resolve_robot("planar_2r"))!r}), backend="c")\n'
              'print(d.inverse_dynamics(*np.ones((3, 2))))\n')
    environment = {**os.environ, 'XDG_CACHE_HOME': str(tmp_path),
                   'PYTHONPATH': ':'.join(filter(None, sys.path))}
    running = [subprocess.Popen([sys.executable, '-c', script], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, env=environment)
               for _ in range(3)]
    results = [process.communicate(timeout=120) for process in running]
    assert [process.returncode for process in running] == [0, 0, 0], results
    assert len({out for out, _ in results}) == 1
    kept = list((tmp_path / 'robot_dynamics' / 'native').iterdir())
    assert sorted(path.suffix for path in kept) == ['', '.so', '.so']  # with the lock
